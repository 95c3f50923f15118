"""A server with as much of Hugging Face's API as an upload and a download need."""

import base64
import hashlib
import http.server
import json
import re
import urllib.parse

import pytest
import yaml

from tests.file_server import serving

TOKEN = "hf_of_a_test"
LARGE = (".h5", ".spm")  # as the Hub's .gitattributes have it


class FakeHub(http.server.ThreadingHTTPServer):
    """Keeps `repos` (name -> path -> content), `private` names and the `commits`.

    `refuse` maps the start of a path to the status of the answer.
    """

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), _Handler)
        self.address = f"http://127.0.0.1:{self.server_port}"
        self.repos, self.private, self.commits = {}, set(), []
        self.large, self.refuse = {}, {}


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self, content=b"", status=200, **headers):
        if not isinstance(content, bytes):
            content = json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(content)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def route(self):
        length = int(self.headers.get("Content-Length") or 0)
        self.body = self.rfile.read(length)
        path = urllib.parse.unquote(urllib.parse.urlsplit(self.path).path)
        for start, status in self.server.refuse.items():
            if path.startswith(start):
                return self.answer({"error": f"refused by a test: {status}"}, status)
        write = self.command in ("POST", "PUT") and not path.startswith("/lfs/")
        if write and self.headers.get("authorization") != f"Bearer {TOKEN}":
            return self.answer({"error": "Invalid credentials"}, 401)
        for pattern, method in _ROUTES.items():
            if match := re.fullmatch(pattern, f"{self.command} {path}"):
                return method(self, *match.groups())
        return self.answer({"error": f"no {self.command} {path}"}, 404)

    do_GET = do_HEAD = do_POST = do_PUT = route  # noqa: N815

    def log_message(self, *args):
        pass

    def validate(self):
        front = json.loads(self.body)["content"].split("---\n")[1]
        data, errors = yaml.safe_load(front), []
        for model in data.get("model-index", []):
            for result in model["results"]:
                if not {"task", "dataset", "metrics"} <= set(result):
                    errors.append({"message": f"incomplete: {result}"})
        self.answer({"errors": errors, "warnings": []}, 400 if errors else 200)

    def create(self):
        asked = json.loads(self.body)
        name = f"{asked['organization']}/{asked['name']}"
        if asked["organization"] != "ada":
            return self.answer({"error": "You don't have the rights"}, 403)
        answer = {"url": f"{self.server.address}/{name}"}
        if name in self.server.repos:
            return self.answer({**answer, "error": "You already created it"}, 409)
        self.server.repos[name] = {".gitattributes": b"*.h5 filter=lfs"}
        if asked.get("visibility") == "private":
            self.server.private.add(name)
        return self.answer(answer)

    def preupload(self, name):
        files = [
            {
                "path": file["path"],
                "uploadMode": "lfs" if file["path"].endswith(LARGE) else "regular",
                "shouldIgnore": False,
                "oid": None,
            }
            for file in json.loads(self.body)["files"]
        ]
        self.answer({"files": files})

    def batch(self, name):
        objects = json.loads(self.body)["objects"]
        for wanted in objects:
            href = f"{self.server.address}/lfs/{wanted['oid']}"
            wanted["actions"] = {"upload": {"href": href}}
        self.answer({"objects": objects}, Content_Type="application/vnd.git-lfs+json")

    def put(self, oid):
        assert hashlib.sha256(self.body).hexdigest() == oid
        self.server.large[oid] = self.body
        self.answer()

    def commit(self, name):
        lines = [json.loads(line) for line in self.body.splitlines()]
        files = self.server.repos[name]
        for line in lines:
            value = line["value"]
            if line["key"] == "file":
                files[value["path"]] = base64.b64decode(value["content"])
            elif line["key"] == "lfsFile":
                files[value["path"]] = self.server.large[value["oid"]]
            elif line["key"] == "deletedFile":
                del files[value["path"]]
        self.server.commits.append([line["key"] for line in lines])
        oid = _oid(len(self.server.commits))
        url = f"{self.server.address}/{name}/commit/{oid}"
        self.answer({"success": True, "commitOid": oid, "commitUrl": url})

    def info(self, name, revision):
        if name not in self.server.repos:
            return self.answer({"error": "Repository not found"}, 404)
        sha = _oid(len(self.server.commits))
        return self.answer({"id": name, "sha": sha, "siblings": []})

    def tree(self, name, revision):
        self.answer(
            [
                {"type": "file", "path": path, "size": len(data), "oid": _git_oid(data)}
                for path, data in self.server.repos[name].items()
            ]
        )

    def resolve(self, name, revision, path):
        data = self.server.repos[name][path]
        headers = {"ETag": f'"{_git_oid(data)}"', "X_Repo_Commit": revision}
        self.answer(data, **headers)


def _oid(number):
    return f"{number:040x}"


def _git_oid(data):
    return hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()


_NAME = r"([\w.-]+/[\w.-]+)"
_ROUTES = {
    "POST /api/validate-yaml": _Handler.validate,
    "POST /api/repos/create": _Handler.create,
    f"POST /api/models/{_NAME}/preupload/main": _Handler.preupload,
    f"POST /{_NAME}.git/info/lfs/objects/batch": _Handler.batch,
    r"PUT /lfs/(\w+)": _Handler.put,
    f"POST /api/models/{_NAME}/commit/main": _Handler.commit,
    f"GET /api/models/{_NAME}(?:/revision/(.+))?": _Handler.info,
    f"GET /api/models/{_NAME}/tree/([^/]+)": _Handler.tree,
    f"(?:GET|HEAD) /{_NAME}/resolve/([^/]+)/(.+)": _Handler.resolve,
}


@pytest.fixture
def hub():
    with serving(FakeHub()) as server:
        yield server

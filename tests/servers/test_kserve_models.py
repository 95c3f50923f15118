"""KServe's server, started for real: the Open Inference Protocol."""

import numpy as np

from tests.servers.process import ask_by_grpc, marks, still_there

pytestmark = marks("kserve")
TEXTS = ["A dog runs.", "", "Two men sit at a table.", "qwxz 日本 dog"]


def test_v2_over_rest(server, translator):
    tensor = {"name": "text", "datatype": "BYTES", "shape": [4], "data": TEXTS}
    path = "/v2/models/luong_local"
    for place, headers in (
        (path, {}),
        (path, {"Content-Type": "application/json"}),
        (f"{path}/versions/1", {}),
    ):
        status, answer = server.ask(
            f"{place}/infer", {"id": "7", "inputs": [tensor]}, headers=headers
        )
        assert status == 200 and (answer["id"], answer["model_version"]) == ("7", "1")
    outputs = {output["name"]: output for output in answer["outputs"]}
    assert outputs["translation"]["data"] == translator.translate(TEXTS)
    assert outputs["score"]["datatype"] == "FP32" and outputs["score"]["shape"] == [4]
    request = {
        "inputs": [{**tensor, "name": "source"}, {**tensor, "name": "target"}],
        "parameters": {"signature_name": "score", "label": "stable"},
    }
    for part in request["inputs"]:
        part.update(shape=[1, 1], data=["A dog runs."])
    status, answer = server.ask(f"{path}/infer", request)
    [output] = answer["outputs"]
    wanted = translator.score(["A dog runs."], ["A dog runs."])
    np.testing.assert_allclose(output["data"], wanted, atol=1e-4)
    assert server.ask("/v2/health/ready") == (200, {"ready": True})
    for place in (path, f"{path}/versions/1"):
        assert server.ask(f"{place}/ready")[0] == 200
        status, answer = server.ask(place)
        assert answer["inputs"] == [
            {"name": "text", "datatype": "BYTES", "shape": [-1]}
        ]
    assert server.ask("/v2/repository/models/luong_local/load", {})[0] == 200

    def both(name, value):
        return {"inputs": [tensor], "parameters": {name: value}}

    for place, body, wanted in (
        (f"{path}/infer", {}, 400),
        (f"{path}/infer", b"{", 400),
        (f"{path}/infer", "é".encode("latin-1"), 400),
        (f"{path}/infer", {"inputs": [{**tensor, "shape": [3]}]}, 400),
        (f"{path}/infer", {"inputs": [{**tensor, "data": [1, 2, 3, 4]}]}, 400),
        (f"{path}/infer", {"inputs": [{**tensor, "datatype": "FP32"}]}, 400),
        (f"{path}/infer", {"inputs": [{**tensor, "data": ["a" * 10_000_000]}]}, 400),
        ("/v2/models/other/infer", {"inputs": [tensor]}, 404),
        (f"{path}/nothing", {}, 404),
        (f"{path}/versions/1/nothing", {}, 404),
        (f"{path}/versions/9/infer", {"inputs": [tensor]}, 404),
        (f"{path}/versions/9/ready", None, 404),
        (f"{path}/versions/9", None, 404),
        (f"{path}/versions/newest/infer", {"inputs": [tensor]}, 400),
        (f"{path}/versions/1/infer", both("label", "stable"), 400),
        (f"{path}/versions/1/infer", both("version", "1"), 400),
        (f"{path}/versions/{'9' * 5000}", None, 400),
        ("/v2/repository/models/luong_local/unload", {}, 501),
    ):
        status, answer = server.ask(place, body)
        assert status == wanted and list(answer) == ["error"], (place, answer)
    still_there(server)


CODES = {
    "unknown model": "NOT_FOUND",
    "unknown version": "NOT_FOUND",
    "no version": "INVALID_ARGUMENT",
    "unknown label": "INVALID_ARGUMENT",
    "unknown signature": "INVALID_ARGUMENT",
    "unknown input": "INVALID_ARGUMENT",
    "wrong type": "INVALID_ARGUMENT",
    "wrong size": "INVALID_ARGUMENT",
    "negative size": "INVALID_ARGUMENT",
    "no size": "INVALID_ARGUMENT",
    "cut off": "INVALID_ARGUMENT",
    "length of gigabytes": "INVALID_ARGUMENT",
    "many texts": "INVALID_ARGUMENT",
    "10 MB": "RESOURCE_EXHAUSTED",
    "unload": "UNIMPLEMENTED",
}


def test_v2_over_grpc(server, translator):
    found = ask_by_grpc(server, "luong_local")
    assert found["live"] and found["ready"]
    assert found["metadata"][0] == [["text", "BYTES", [-1]]]
    assert found["metadata"][1][0] == ["translation", "BYTES", [-1]]
    wanted = translator.translate(TEXTS[:3])
    for name in ("translate", "column", "raw", "version", "label", "still there"):
        assert found[name]["translation"] == [[3], wanted], name
        assert found[name]["version"] == "1" and found[name]["score"][0] == [3]
    assert found["none"]["translation"] == [[0], []]
    assert found["signature"]["translations"][0] == [3, 5]
    assert found["signature"]["translations"][1][::5] == wanted
    assert found["invalid UTF-8"]["translation"][0] == [1]
    assert {name: found[name] for name in CODES} == CODES

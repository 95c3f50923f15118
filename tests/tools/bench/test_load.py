import os
import subprocess
import sys
import threading
import time

import pytest

from tools.bench import load

pytest.importorskip("tensorflow_serving", reason="the fake server's messages")
fake_server = pytest.importorskip("tests.serving.fake_server")

pytestmark = pytest.mark.backend_free
TEXTS = ["a dog", "two men", "a", "b c"]


def upper(signature, inputs):
    import numpy as np

    texts = [text.upper() for text in inputs["text"]]
    scores = np.zeros(len(texts), "float32")
    return {"translation": np.array(texts, object), "score": scores}


@pytest.fixture
def server(monkeypatch):
    return fake_server.FakeServer({"luong_local": {1: upper}}).install(monkeypatch)


def rows(printed):
    lines = [line for line in printed.splitlines() if line.startswith("| ")]
    names, *found = [[x.strip() for x in line.strip("|").split("|")] for line in lines]
    return [dict(zip(names, values, strict=True)) for values in found]


def test_the_table(server, capsys, tmp_path):
    file = tmp_path / "texts"
    file.write_text("\n".join(TEXTS))
    options = ["--file", str(file), "--requests", "12", "--clients", "1", "3"]
    targets = [server.url, server.address]
    pid = ["--pid", str(os.getpid())]
    assert load.main([*targets, *options, "--batches", "2", *pid]) == 0
    found = rows(capsys.readouterr().out)
    assert [row["target"] for row in found] == [targets[0]] * 2 + [targets[1]] * 2
    for row, clients in zip(found, [1, 3, 1, 3], strict=True):
        assert row["clients"] == str(clients) and row["batch"] == "2"
        assert row["answers"] == row["requests"] == "12"
        assert row["errors"] == row["different"] == "0"
        twice = pytest.approx(2 * float(row["requests/s"]), abs=0.16)  # both rounded
        assert float(row["sentences/s"]) == twice
        assert 0 <= float(row["p50"]) <= float(row["p99"]) <= float(row["slowest"])
        assert float(row["MB"]) > 10
    # Each client's connection is opened by a request of its own.
    assert server.requests == [2] * (4 * 12 + 2 * (1 + 3))


def test_errors_are_counted_by_code(server):
    make = load.opener(server.url, "luong_local", "greedy", 5.0)
    server.failures = [fake_server.Failure("INVALID_ARGUMENT", "")] * 2
    server.failures += [fake_server.Failure("UNAVAILABLE", "")]
    run = load.Run(make, 1, load.take(TEXTS, 1, 6))
    assert run.errors == {"INVALID_ARGUMENT": 1, "UNAVAILABLE": 1}
    assert len(run.seconds) == 4
    assert "1 INVALID_ARGUMENT, 1 UNAVAILABLE" in run.row("x", 1)


def test_different_answers_are_seen():
    answers = iter("ABCDEFGH")
    run = load.Run(lambda: lambda texts: [next(answers)], 1, [["a"], ["b"], ["a"]])
    assert run.found == {"a": {"B", "D"}, "b": {"C"}}
    assert run.row("x", 1).endswith("| 1 |")


# === Events ===
def test_halfway_something_happens_once_under_load():
    answered, many, happened = [], threading.Event(), []

    def ask(texts):
        answered.append(texts)
        if happened and len(answered) >= happened[0] + 100:  # more than are left
            many.set()
        return texts

    def halfway():
        happened.append(len(answered))
        assert many.wait(60)  # a quick server doesn't run out of requests
        happened.append(len(answered))

    run = load.Run(lambda: ask, 2, load.take(TEXTS, 1, 61), halfway=halfway)
    before, after = happened
    opened = 2  # requests that open the connections aren't counted
    assert before >= 31 and len(answered) >= after + 30
    assert len(run.seconds) + opened == len(answered)


def test_a_version_is_added_under_load(server, capsys, tmp_path):
    server.models["luong_local"][8] = upper
    (tmp_path / "models/7").mkdir(parents=True)
    (tmp_path / "models/7/file").write_text("content")
    options = ["--requests", "2", "--clients", "1", "2", "--batches", "1"]
    options += ["--seconds", "0", "--new-version", str(tmp_path / "models")]
    assert load.main([server.url, *options]) == 0
    assert (tmp_path / "models/8/file").read_text() == "content"
    row = rows(capsys.readouterr().out)[-1]
    assert row["target"] == f"{server.url}, version 8 added" and row["clients"] == "2"
    assert row["errors"] == "0" and row["answers"] == row["requests"]
    assert int(row["answers"]) >= 4  # the least: two for each client


def test_a_version_is_waited_for(tmp_path):
    codes = ["NOT_FOUND", "NOT_FOUND", ""]

    def ask():
        if code := codes.pop(0):
            raise load.ServingError(code, "")
        return "answer"

    (tmp_path / "1").mkdir()
    assert load.add_version(tmp_path, ask) == "answer"
    assert not codes and (tmp_path / "2").is_dir()
    codes[:] = ["UNAVAILABLE"]
    with pytest.raises(load.ServingError):
        load.add_version(tmp_path, ask)


def test_a_process_of_the_server_is_killed():
    code = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'input()'])"
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE) as child:
        while len(load.processes(child.pid)) < 2:
            assert child.poll() is None
            time.sleep(0.01)
        with pytest.raises(ValueError, match="has no process ServeReplica"):
            load.kill(child.pid, "ServeReplica")
        load.kill(child.pid, "input()")
        assert child.wait(20) == 0  # its own child has ended

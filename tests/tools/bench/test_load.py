import os

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

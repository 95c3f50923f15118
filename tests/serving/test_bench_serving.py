import pytest

from tests.serving.conftest import needs_tensorflow


@pytest.fixture
def tool(tool):
    return tool("bench_serving")


def test_both_sides_get_the_same_requests(tool):
    seen = {"a": [], "b": []}

    def side(name):
        return lambda batch: seen[name].append(batch) or len(batch)

    found = tool.measure({name: side(name) for name in seen}, [["x"], ["y", "z"]])
    assert seen["a"] == seen["b"] == [["x"], ["y", "z"]] * 2  # once to warm up
    assert {name: len(seconds) for name, seconds in found.items()} == {"a": 2, "b": 2}
    assert all(second > 0 for seconds in found.values() for second in seconds)


def test_sides_that_differ_are_no_comparison(tool):
    with pytest.raises(ValueError, match="differ"):
        tool.measure({"a": len, "b": lambda batch: 0}, [["x"]])


@needs_tensorflow
@pytest.mark.filterwarnings("ignore:.*cannot be verified", "ignore:.*were cut")
def test_a_line_for_each_kind_of_request(tool, tasks, exported, tmp_path, capsys):
    tasks["translator"].save_to_preset(tmp_path / "tiny")
    folder = exported / "translator" / "1"
    options = ["--batches", "1", "2", "--requests", "2"]
    assert tool.main([str(tmp_path / "tiny"), str(folder), *options]) == 0
    lines = capsys.readouterr().out.splitlines()
    rows = [line.split()[:4] for line in lines[2:]]
    kinds = [
        ("beam", b, s, w) for b in "14" for s in "12" for w in ("served", "in-process")
    ]
    assert rows == [list(kind) for kind in kinds]

import pytest

from tests.serving.conftest import make_translator, needs_tensorflow
from tools.bench import serving


def test_both_sides_get_the_same_requests():
    seen = {"a": [], "b": []}

    def side(name):
        return lambda batch: seen[name].append(batch) or len(batch)

    found = serving.measure({name: side(name) for name in seen}, [["x"], ["y", "z"]])
    assert seen["a"] == seen["b"] == [["x"], ["y", "z"]] * 2  # once to warm up
    assert {name: len(seconds) for name, seconds in found.items()} == {"a": 2, "b": 2}
    assert all(second > 0 for seconds in found.values() for second in seconds)


def test_sides_that_differ_are_no_comparison():
    with pytest.raises(ValueError, match="differ"):
        serving.measure({"a": len, "b": lambda batch: 0}, [["x"]])


@needs_tensorflow
@pytest.mark.long
@pytest.mark.filterwarnings("ignore:.*cannot be verified", "ignore:.*were cut")
def test_a_line_for_each_kind_of_request(tmp_path, capsys):
    translator = make_translator()
    translator.save_to_preset(tmp_path / "tiny")
    folder = translator.export_savedmodel(tmp_path / "out", beam_size=4, warmup=False)
    options = ["--batches", "2", "--requests", "2"]
    assert serving.main([str(tmp_path / "tiny"), str(folder), *options]) == 0
    lines = capsys.readouterr().out.splitlines()
    rows = [line.split()[:4] for line in lines[2:]]
    kinds = [("beam", b, "2", w) for b in "14" for w in ("served", "in-process")]
    assert rows == [list(kind) for kind in kinds]

import pytest

from tools.bench import decode

pytestmark = pytest.mark.backend_free


class FakeBench:
    """Seconds of each system; what it was asked is noted."""

    asked, cores = [], 2

    def __init__(self, work, cores):
        self.work = work
        self.print_machine = lambda: None
        self.print_load = lambda when: None

    def measure(self, name, command, environment):
        self.asked.append((name, command, environment))
        if environment == {"KERAS_BACKEND": "torch"}:
            return None, "it failed"
        found = {"load": 0.5, "first": 2.5, "peak_memory": 512.0, "sentences": 1000}
        found |= {"versions": {"keras": "3"}}
        seconds = [4.0, 1.0, 2.0] if environment else [1.0, 1.0, 1.0]
        return {**found, "seconds": seconds}, {"seconds": 9.0}


def test_presets_and_exports_stand_in_a_table_for_each_beam(
    tmp_path, monkeypatch, capsys
):
    monkeypatch.setattr(decode, "Bench", FakeBench)
    for name in ("write_data", "write_test"):
        monkeypatch.setattr(decode, name, lambda folder: None)
    monkeypatch.setattr(decode, "is_export", lambda name: "onnx" in name)
    options = ["--work", str(tmp_path), "--backends", "jax,torch", "--runs", "3"]
    options += ["--precisions", "bfloat16"]
    # One backend fails: the others are printed.
    assert decode.main(["dates", "onnx/dates", "--beams", "1,5", *options]) == 1
    name, command, environment = FakeBench.asked[0]
    assert (name, environment) == (
        "dates beam 1: zoo jax bfloat16",
        {"KERAS_BACKEND": "jax"},
    )
    asked = {"--precision=bfloat16", "--beam=1", "--length=15", "--runs=3"}
    assert asked | {"dates", "--batch=64"} < set(command)
    printed = capsys.readouterr().out
    assert printed.count("\ndates beam 5\n") == 1
    rows = [row for row in printed.splitlines() if row.startswith("| ") and "." in row]
    assert rows[:2] == [
        "| ONNX | 1.00 | 1.00 – 1.00 | 1,000 | 0.5 | 2.5 | 512 |",
        "| zoo jax bfloat16 | 2.00 | 1.00 – 4.00 | 500 | 0.5 | 2.5 | 512 |",
    ]


def test_ratios_are_those_of_medians():
    found = {
        name: {"seconds": seconds, "load": 0, "first": 0, "sentences": 9}
        | {"peak_memory": 700}
        for name, seconds in {
            "zoo jax": [1.0, 2.0, 9.0],
            "opennmt-py": [5.0] * 3,
        }.items()
    }
    head, _, first, second = decode.times_table(found).splitlines()
    assert head.endswith("| × opennmt-py |")
    assert first.endswith("| 700 | 2.50 |") and second.endswith("| 700 | 1.00 |")


@pytest.mark.parametrize(
    ("option", "value"),
    [("--backends", "numpy"), ("--peers", "moses"), ("--beams", "0")],
)
def test_bad_arguments_are_named(option, value, capsys, tmp_path):
    with pytest.raises(SystemExit):
        decode.main(["--work", str(tmp_path), option, value])
    assert f"argument {option}: " in capsys.readouterr().err
    assert not any(tmp_path.iterdir())

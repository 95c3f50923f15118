import pytest

from tools.bench import train

pytestmark = pytest.mark.backend_free


def test_ratios_are_of_medians():
    rates = {"zoo": [90.0, 100.0, 300.0], "opennmt-py": [50.0], "broken": []}
    rows = train.rate_table(rates).split("\n")
    assert rows[0] == "| system | target tokens/s | spread | / opennmt-py |"
    assert rows[2:] == [
        "| zoo | 100 | 90 – 300 | 2.00 |",
        "| opennmt-py | 50 | 50 – 50 | 1.00 |",
        "| broken | failed |  |  |",
    ]
    assert train.rate_table({"zoo": [9.0]}).split("\n")[2] == "| zoo | 9 | 9 – 9 |"


class FakeBench:
    """Fails under torch; elsewhere gives what a worker prints."""

    cores = 2

    def __init__(self, work, cores):
        self.work = work
        self.print_load = self.print_machine = lambda text: None

    def measure(self, name, command, environment, read):
        if name == "opennmt-py":
            assert command == ["opennmt-py", 30, 10]
            return read("Step 1/3; 8/9 tok/s\nStep 2/3; 8/50 tok/s\n"), {"seconds": 3.0}
        if environment == {"KERAS_BACKEND": "torch"}:
            assert "--precision=mixed_bfloat16" in command
            return None, "it failed"
        assert {"--model=luong", "--windows=2", "--steps=10"} < set(command)
        assert "--precision=float32" in command
        found = {"windows": [90.0, 110.0], "padding": 0.05, "versions": {"keras": "3"}}
        return found, {"seconds": 2.0}


def test_each_round_measures_all_systems(monkeypatch, tmp_path, capsys):
    facts = {"pairs": 9, "source": 2.0, "target": 3.0}
    monkeypatch.setattr(train, "Bench", FakeBench)
    monkeypatch.setattr(train, "write_data", lambda folder: facts)
    monkeypatch.setattr(train.peers, "install", lambda *_: None)
    monkeypatch.setattr(train.peers, "versions", lambda *_: {"OpenNMT-py": "3.5"})
    monkeypatch.setattr(
        train.peers,
        "prepare",
        lambda name, run, work, steps, window: [name, steps, window],
    )
    options = ["--work", str(tmp_path), "--quick", "--backends", "jax,torch-bfloat16"]
    options += ["--peers", "opennmt-py"]
    # One backend fails: the others are printed.
    assert train.main([*options, "--json", str(tmp_path / "found.json")]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[-3:] == [
        "| zoo jax | 100 | 90 – 110 | 2.00 |",
        "| opennmt-py | 50 | 50 – 50 | 1.00 |",
        "| zoo torch-bfloat16 | failed |  |  |",
    ]
    assert '"error": "it failed"' in (tmp_path / "found.json").read_text()


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("--peers", "fairseq", "Received: fairseq"),
        ("--steps", "0", "1 or more, received '0'"),
    ],
)
def test_bad_arguments_are_named(option, value, message, capsys, tmp_path):
    with pytest.raises(SystemExit):
        train.parse(["--work", str(tmp_path), option, value])
    error = capsys.readouterr().err
    assert f"argument {option}: " in error and message in error

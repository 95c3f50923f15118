import pytest

from tools.bench import train

pytestmark = pytest.mark.backend_free


def test_systems_take_turns():
    assert train.interleave(["a", "b", "c"], ["1"]) == ["a", "1", "b", "c"]
    assert train.interleave([], ["1", "2"]) == ["1", "2"]


def test_ratios_are_of_medians():
    rates = {"zoo": [90.0, 100.0, 300.0], "peer": [50.0], "broken": []}
    rows = train.rate_table(rates, {"peer": 50.0, "absent": None}).split("\n")
    assert rows[0] == "| system | target tokens/s | spread | / peer |"
    assert rows[2:] == [
        "| zoo | 100 | 90 – 300 | 2.00 |",
        "| peer | 50 | 50 – 50 | 1.00 |",
        "| broken | failed |  |  |",
    ]


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

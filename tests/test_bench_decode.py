import json

import pytest

pytestmark = pytest.mark.once


@pytest.fixture
def data(tmp_path):
    """Vocabularies and lines to translate, of two lengths."""
    for side in ("source", "target"):
        words = "\n".join(f"{side}{place}" for place in range(9))
        (tmp_path / f"vocabulary.{side}").write_text(words + "\n", "utf-8")
    lines = ["source1 source2", "source3 unseen source4 source5"] * 3
    (tmp_path / "test.source").write_text("\n".join(lines) + "\n", "utf-8")
    return tmp_path


@pytest.mark.parametrize("model", ["luong", "transformer"])
def test_zoo_writes_as_many_words_as_are_wanted(tool, data, capsys, model):
    arguments = ["--data", str(data), "--source", str(data / "test.source")]
    arguments += ["--model", model, "--beam", "2", "--length", "3", "--runs", "2"]
    tool("bench_decode_zoo").main(arguments)
    found = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert len(found["seconds"]) == 2
    assert (found["sentences"], found["tokens"]) == (6, 18)


def test_ratios_are_of_medians_and_within_one_model_and_beam(tool):
    def result(*seconds, tokens=15):
        return {"seconds": seconds, "first": 1.0, "tokens": tokens}

    found = {
        ("zoo jax float32", "luong", 1): {**result(1.0, 2.0, 9.0), "peak_memory": 700},
        ("joeynmt", "luong", 1): result(5.0, 5.0, 5.0),
        ("joeynmt", "luong", 5): result(50.0),
        ("ctranslate2 int8", "transformer", 1): result(0.1),
    }
    head, _, *rows = tool("bench_decode").table(found, 1, "luong").splitlines()
    assert head.endswith("| × joeynmt |")
    assert rows[0] == "| zoo jax float32 | 2.00 | 1.00 – 9.00 | 1.0 | 15 | 700 | 2.50 |"
    assert rows[1].startswith("| joeynmt | 5.00 |") and rows[1].endswith("| 1.00 |")
    assert len(rows) == 2


def test_the_transformer_s_configuration(tool, data):
    files = tool("bench_decode").transformer(data, data, 4, 2)
    config = json.loads(files["config.yaml"])
    assert (config["encoder_type"], config["layers"]) == ("transformer", 3)
    assert "rnn_type" not in config


@pytest.mark.parametrize(
    ("option", "value"),
    [("--peers", "moses"), ("--beams", "0"), ("--runs", "0"), ("--models", "gru")],
)
def test_bad_arguments_are_named(tool, option, value, capsys, tmp_path):
    with pytest.raises(SystemExit):
        tool("bench_decode").main(["--work", str(tmp_path), option, value])
    assert f"{option} " in capsys.readouterr().err
    assert not any(tmp_path.iterdir())


def test_words_of_each_length_are_timed(tool, capsys, tmp_path):
    plot = tmp_path / "local.svg"
    arguments = ["--lengths", "3,30", "--runs", "1", "--plot", str(plot)]
    tool("bench_local").main(arguments)
    rows = capsys.readouterr().out.splitlines()[-3:]
    assert [row.split(" | ")[0] for row in rows] == [
        "| global",
        "| local-m",
        "| local-p",
    ]
    assert all(float(cell) > 0 for row in rows for cell in row.split(" | ")[1:2])
    assert plot.read_text("utf-8").startswith("<?xml")

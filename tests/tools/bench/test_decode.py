import json

import pytest

from tools.bench import decode

pytestmark = pytest.mark.backend_free


@pytest.fixture
def data(tmp_path):
    """Vocabularies of nine words."""
    for side in ("source", "target"):
        words = "\n".join(f"{side}{place}" for place in range(9))
        (tmp_path / f"vocabulary.{side}").write_text(words + "\n", "utf-8")
    return tmp_path


def test_ratios_are_of_medians_and_within_one_model_and_beam():
    def result(*seconds, tokens=15):
        return {"seconds": seconds, "first": 1.0, "tokens": tokens}

    found = {
        ("zoo jax float32", "luong", 1): {**result(1.0, 2.0, 9.0), "peak_memory": 700},
        ("joeynmt", "luong", 1): result(5.0, 5.0, 5.0),
        ("joeynmt", "luong", 5): result(50.0),
        ("ctranslate2 int8", "transformer", 1): result(0.1),
    }
    head, _, *rows = decode.times_table(found, 1, "luong").splitlines()
    assert head.endswith("| × joeynmt |")
    assert rows[0] == "| zoo jax float32 | 2.00 | 1.00 – 9.00 | 1.0 | 15 | 700 | 2.50 |"
    assert rows[1].startswith("| joeynmt | 5.00 |") and rows[1].endswith("| 1.00 |")
    assert len(rows) == 2


def test_the_transformer_s_configuration(data):
    files = decode.transformer(data, data, 4, 2)
    config = json.loads(files["config.yaml"])
    assert (config["encoder_type"], config["layers"]) == ("transformer", 3)
    assert "rnn_type" not in config


@pytest.mark.parametrize(
    ("option", "value"),
    [("--peers", "moses"), ("--beams", "0"), ("--runs", "0"), ("--models", "gru")],
)
def test_bad_arguments_are_named(option, value, capsys, tmp_path):
    with pytest.raises(SystemExit):
        decode.main(["--work", str(tmp_path), option, value])
    assert f"argument {option}: " in capsys.readouterr().err
    assert not any(tmp_path.iterdir())

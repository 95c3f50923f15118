import json

import pytest

from tools.bench import peers

pytestmark = pytest.mark.backend_free


@pytest.fixture
def data(tmp_path):
    """Vocabularies of five words."""
    words = ["der", "ein", "Hund", "läuft", "."]
    for side in ("source", "target"):
        (tmp_path / f"vocabulary.{side}").write_text("\n".join(words) + "\n", "utf-8")
    return tmp_path


def test_peers_get_zoo_s_vocabulary_size(data):
    files = peers.configuration(data, data, 30, 10, 99)
    lines = files["vocabulary.target"].split()
    assert len(set(lines)) == len(lines) == 5 + 4
    assert lines[4:] == ["der", "ein", "Hund", "läuft", "."]


def test_rates_of_a_log():
    line = (
        "[2026-01-01 10:00:00,000 INFO] Step 10/   30; acc: 10.1; ppl: 2267.4; "
        "xent: 7.7; lr: 0.00100; sents:     640; bsz:  750/ 804/64; 4635/4913 tok/s;"
        "    213 sec;\n"
    )
    log = "something else\n" + 2 * line + "Saved\n"
    assert peers.rates(log) == [4913.0, 4913.0]


def test_the_transformer_s_configuration(data):
    changes = peers.PEERS["opennmt-transformer"]
    files = peers.configuration(data, data, 4, 2, 4, **changes)
    config = json.loads(files["config.yaml"])
    assert (config["encoder_type"], config["layers"]) == ("transformer", 3)
    assert config["save_checkpoint_steps"] == 4 and "rnn_type" not in config

import json
import sys

import numpy as np
import pytest

pytestmark = pytest.mark.once


@pytest.fixture
def data(tmp_path):
    """Text as `write_data` leaves it: pairs of two lengths, five words a side."""
    words = ["der", "ein", "Hund", "läuft", "."]
    for side in ("source", "target"):
        (tmp_path / f"vocabulary.{side}").write_text("\n".join(words) + "\n", "utf-8")
        lines = [" ".join(words[: 3 + row % 2]) for row in range(40)]
        (tmp_path / f"train.{side}").write_text("\n".join(lines) + "\n", "utf-8")
    return tmp_path


# === Data ===


def test_most_frequent_words_by_count_then_alphabet(tool):
    choose = tool("bench_train_data").choose_words
    assert choose(["b a b", "c a d"], 3) == ["a", "b", "c"]
    assert choose(["b a b", "c a d"], 9) == ["a", "b", "c", "d"]


def test_every_word_has_one_id_and_unknown_ones_share_theirs(tool, data):
    (data / "train.target").write_text("Hund Katze der\n", "utf-8")
    ids, size = tool("bench_train_zoo").read_ids(data, "target")
    assert ids == [[6, 1, 4]]
    assert size == 9  # with pad, unknown, start and end


def test_peers_get_zoo_s_vocabulary_size(tool, data):
    peers = tool("bench_train_peers").PEERS
    for name, own in (("opennmt-py", 4), ("opennmt-tf", 3)):
        files = peers[name].configure(data, data, 30, 10)
        lines = files["vocabulary.target"].split()
        assert len(set(lines)) == len(lines) == 5 + own
        assert lines[own:] == ["der", "ein", "Hund", "läuft", "."]


# === zoo's side ===


def test_zoo_trains_and_counts_real_tokens(tool, data, capsys, monkeypatch):
    zoo_side = tool("bench_train_zoo")
    monkeypatch.setattr(zoo_side, "SETTLING_STEPS", 2)
    zoo_side.main(
        ["--data", str(data), "--steps", "2", "--windows", "2", "--batch-size", "4"]
    )
    found = tool("bench_train").last_object(capsys.readouterr().out)
    assert len(found["windows"]) == 2 and min(found["windows"]) > 0
    assert np.all(np.isfinite(found["losses"]))
    # Sentences of 3 and of 4 words and the end token, in turn; batches of 4 of them.
    assert found["tokens_per_batch"] == 4 * 4.5


# === The limit ===


def test_operations_are_those_of_the_model_s_matrices(tool):
    limit = tool("bench_train_limit")
    # Each weight matrix takes part once a position: 2 operations, 3 passes.
    encoder = 2 * (256 * 512 + 128 * 512) + 256 * 256
    decoder = 256 * 1024 + 512 * 1024 + 512 * 256 + 256 * 6000
    scores = 2 * 256 * 12  # with the annotations, and of them
    expected = 6 * (12 * encoder + 14 * (decoder + scores)) * 64
    assert limit.training_operations(64, 12, 14) == expected
    assert limit.limit(expected, 64, 12, 14) == 64 * 14


def test_large_products_count_two_operations_each(tool):
    limit = tool("bench_train_limit")
    products = {name: rest for name, *rest in limit.products(2, 3, 5, 7, 11, 13 * 2)}
    assert products["vocabulary"] == [1, 10, 26, 7]
    assert products["decoder, recurrent"] == [5, 2, 52, 104]


# === Reading and reporting ===

LOGS = {
    "opennmt-py": (
        "[2026-01-01 10:00:00,000 INFO] Step 10/   30; acc: 10.1; ppl: 2267.4; "
        "xent: 7.7; lr: 0.00100; sents:     640; bsz:  750/ 804/64; 4635/4913 tok/s;"
        "    213 sec;\n"
    ),
    "opennmt-tf": (
        "2026-01-01 10:00:00.000000: I training.py:176] Step = 10 ; steps/s = 3.40, "
        "tokens/s = 9721 (4808 source, 4913 target) ; Learning rate = 0.001000 ; "
        "Loss = 5.1\n"
    ),
    "joeynmt": (
        "2026-01-01 10:00:00,00 - INFO - joeynmt.training - Epoch   1, Step:     10, "
        "Batch Loss:     5.598596, Batch Acc: 0.073784, Tokens per Sec:     4913, "
        "Lr: 0.001000\n"
    ),
}


@pytest.mark.parametrize("name", ["opennmt-py", "opennmt-tf", "joeynmt"])
def test_rates_of_a_log(tool, name):
    module = tool("bench_train_peers")
    log = "something else\n" + 2 * LOGS[name] + "Saved\n"
    assert module.rates(module.PEERS[name], log) == [4913.0, 4913.0]


def test_last_object_of_an_output_with_warnings(tool):
    read = tool("bench_train").last_object
    assert read('a\n{"x": 1}\n{"x": 2}\nwarning\n') == {"x": 2}
    with pytest.raises(ValueError, match="no result"):
        read("warning\n")


def test_systems_take_turns(tool):
    interleave = tool("bench_train").interleave
    assert interleave(["a", "b", "c"], ["1"]) == ["a", "1", "b", "c"]
    assert interleave([], ["1", "2"]) == ["1", "2"]


def test_settings_of_threads_and_memory_are_taken_out(tool):
    before = {"PATH": "p", "OMP_NUM_THREADS": "1", "MALLOC_TOP_PAD_": "2"}
    after, removed = tool("bench_train").clean_environment(before)
    assert after == {"PATH": "p"}
    assert removed == ["MALLOC_TOP_PAD_", "OMP_NUM_THREADS"]


def test_time_in_use_and_time_stolen(tool):
    times = tool("bench_train_report").processor_times
    line = "cpu  100 20 30 4000 500 6 7 80 0 0\n"
    assert times(line, ticks=100) == (1.63, 0.8)


def test_ratios_are_of_medians(tool):
    report = tool("bench_train_report")
    rates = {"zoo": [90.0, 100.0, 300.0], "peer": [50.0], "broken": []}
    rows = report.table(rates, {"peer": 50.0, "absent": None}).split("\n")
    assert rows[0] == "| system | target tokens/s | spread | / peer |"
    assert rows[2:] == [
        "| zoo | 100 | 90 – 300 | 2.00 |",
        "| peer | 50 | 50 – 50 | 1.00 |",
        "| broken | failed |  |  |",
    ]


@pytest.mark.parametrize("option", [["--peers", "fairseq"], ["--steps", "0"]])
def test_bad_arguments_are_named(tool, option, capsys, tmp_path):
    with pytest.raises(SystemExit):
        tool("bench_train").parse(["--work", str(tmp_path), *option])
    assert f"Received: {option[1]}" in capsys.readouterr().err


def test_a_failed_command_says_why(tool, tmp_path):
    command = [sys.executable, "-c", "print('no such file'); raise SystemExit(3)"]
    log = tmp_path / "log"
    with pytest.raises(RuntimeError, match="(?s)exit code 3.*no such file"):
        tool("bench_train").execute(command, {}, log, cores=1)
    command[2] = f"print({json.dumps('done')!r})"
    assert tool("bench_train").execute(command, {}, log, 1) == '"done"\n'

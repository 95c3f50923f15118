import json
import os

import h5py
import numpy as np
import pytest

from zoo.decoding import align_ids
from zoo.models import Seq2Seq, Seq2SeqPreprocessor, Seq2SeqTranslator
from zoo.training import CheckpointError
from zoo.training.fit.run_files import (
    append_samples,
    check_weights,
    make_samples,
    read_samples,
    translation_of,
    trim_log,
    trim_samples,
)

pytestmark = pytest.mark.once


@pytest.fixture(scope="module")
def ids(translator, sentences):
    """Of three sources and their translations, the last of which is empty."""
    sources, targets = (texts[:3] for texts in sentences)
    preprocessor = translator.preprocessor
    return preprocessor.encode(sources), [*preprocessor.encode_targets(targets[:2]), []]


def samples_of(translator, ids):
    texts = [("a", "A", "x"), ("b", "B", "y"), ("c", "C", "")]
    return make_samples(translator, texts, *ids)


def test_samples_come_back_with_their_alignments(translator, ids, tmp_path):
    path = tmp_path / "samples.jsonl"
    assert read_samples(path) == {}
    samples = samples_of(translator, ids)
    for epoch in (1, 2):
        append_samples(path, [{"epoch": epoch, "set": "news", **s} for s in samples])
    found = read_samples(path)
    assert list(found) == [("news", "a", "A"), ("news", "b", "B"), ("news", "c", "C")]
    assert all(list(epochs) == [1, 2] for epochs in found.values())
    pieces = translator.preprocessor.pieces
    wanted = align_ids(translator, *ids)
    for row, key in enumerate(list(found)[:2]):
        record = translation_of(found[key][2])
        assert record.text == "xy"[row]
        assert record.source_tokens == pieces(ids[0][row])
        assert record.tokens == pieces(ids[1][row])
        weights, focus, windows = wanted[row]
        np.testing.assert_allclose(record.alignment, weights, atol=6e-4)
        np.testing.assert_allclose(record.focus, focus, atol=6e-4)
        np.testing.assert_array_equal(record.windows, windows)
        assert record.merge_words().windows.shape[1] == 2  # they are places in a list
    assert translation_of(found["news", "c", "C"][2]) is None


def test_without_attention_none_is_kept(translator, ids):
    backbone = Seq2Seq(30, num_layers=1, hidden_dim=8, embedding_dim=6)
    preprocessor = Seq2SeqPreprocessor(translator.preprocessor.tokenizer)
    samples = samples_of(Seq2SeqTranslator(backbone, preprocessor), ids)
    assert samples[1] == {"source": "b", "reference": "B", "translation": "y"}
    assert translation_of(samples[0]) is None


def test_half_a_line_is_left_out_and_an_epoch_trained_again_counts_last(tmp_path):
    path = tmp_path / "samples.jsonl"
    sample = {"epoch": 1, "set": "a", "source": "b", "reference": "ç"}
    append_samples(path, [{**sample, "translation": t} for t in ("one", "two")])
    path.write_bytes(path.read_bytes() + b'{"epoch": 2, "set": "a", "sou')
    found = read_samples(path)
    assert found == {("a", "b", "ç"): {1: {**sample, "translation": "two"}}}


@pytest.mark.parametrize(
    "damage",
    [
        lambda sample: "{",
        lambda sample: "[1]",
        lambda sample: json.dumps({**sample, "source": 7}),
        lambda sample: json.dumps({**sample, "alignment": [[1]]}),
        lambda sample: json.dumps({**sample, "alignment": [["x", 1], [1]]}),
        lambda sample: json.dumps({**sample, "epoch": float("inf")}),
        lambda sample: json.dumps({**sample, "windows": [[0, 10**12]]}),
        lambda sample: json.dumps({**sample, "tokens": [1]}),
        lambda sample: json.dumps({**sample, "alignment": [[float("nan"), 1]]}),
        lambda sample: json.dumps({k: v for k, v in sample.items() if k != "tokens"}),
    ],
)
def test_a_line_that_is_no_sample_is_named(tmp_path, damage):
    sample = {"set": "a", "source": "b c", "reference": "d", "translation": "e"}
    sample |= {"source_tokens": ["b", "c"], "tokens": ["e"], "alignment": [[0.5, 0.5]]}
    path = tmp_path / "samples.jsonl"
    append_samples(path, [{"epoch": 1, **sample}])
    assert read_samples(path)
    with open(path, "a") as file:
        file.write(damage({"epoch": 2, **sample}) + "\n")
    with pytest.raises(ValueError, match="samples.jsonl, line 2 is no sample of a run"):
        read_samples(path)


LOG = b"epoch,loss\r\n0,2.5\r\n1,1.5\r\n10,0.5\r\n"


@pytest.mark.parametrize(
    ("epochs", "found", "left"),
    [
        (2, LOG, b"epoch,loss\r\n0,2.5\r\n1,1.5\r\n"),
        (1, LOG, b"epoch,loss\r\n0,2.5\r\n"),
        (11, LOG, LOG),
        (0, LOG, b""),
        (0, b"epo", b""),  # half a header
        (1, LOG[:19] + b"1,1", LOG[:19]),  # half a row
    ],
)
def test_a_log_is_trimmed_to_the_epochs_that_are_done(tmp_path, epochs, found, left):
    path = tmp_path / "log.csv"
    path.write_bytes(found)
    trim_log(path, epochs)
    assert path.read_bytes() == left
    trim_log(tmp_path / "none.csv", epochs)
    assert os.listdir(tmp_path) == ["log.csv"]


def test_samples_are_trimmed_likewise(tmp_path):
    path = tmp_path / "samples.jsonl"
    kept = b'{"epoch": 1, "set": "a"}\n{"epoch": 2, "set": "a"}\n'
    path.write_bytes(kept + b'{"epoch": 3, "set": "a"}\n{"epo')
    trim_samples(path, 2)
    assert path.read_bytes() == kept


@pytest.mark.parametrize(
    "content",
    [
        b"\x82\x00,\n0,1\n",
        b"\n0,1\n1,2\n",
        b"epoch,lo",  # cut in the header
        b"epoch,loss\n0\n1,2\n",
        b"epoch,loss\n0,\xe8\n1,2\n",
        b'epoch,loss\n0,"1\n1,2\n',
        b"epoch,l\xffss\n0,1\n1,2\n",
        b"epoch,loss\n0,1\n1,2",  # the next row would go on with it
        b"epoch,loss\n0,1\n<html>,x\n1,2\n",
        b"",
    ],
)
def test_a_damaged_log_is_refused_with_the_way_on(tmp_path, content):
    path = tmp_path / "log.csv"
    path.write_bytes(content)
    if content:
        with pytest.raises(CheckpointError, match="log.csv is damaged. Remove it"):
            trim_log(path, 2)
    else:
        trim_log(path, 2)
    assert path.read_bytes() == content
    trim_log(path, 0)  # nothing of it is to be kept
    assert path.read_bytes() == b""


@pytest.mark.parametrize("line", [b"{", b"[1]", b"null", b"\xff", b'{"epoch": "1"}'])
def test_damaged_samples_are_refused_with_the_way_on(tmp_path, line):
    path = tmp_path / "samples.jsonl"
    told = "samples.jsonl is damaged. Remove it"
    for content in (line + b'\n{"epoch": 1}\n', b'{"epoch": 1}'):
        path.write_bytes(content)
        with pytest.raises(CheckpointError, match=told):
            trim_samples(path, 1)
    path.write_bytes(b'{"epoch": 1}\n' + line)  # the last one, cut by a kill
    trim_samples(path, 1)
    assert path.read_bytes() == b'{"epoch": 1}\n'


def test_best_weights_that_are_gone_or_cut_are_refused(tmp_path):
    path = tmp_path / "best.weights.h5"
    with pytest.raises(CheckpointError, match="best.weights.h5, .* --restart"):
        check_weights(path)
    with h5py.File(path, "w") as file:
        file["x"] = np.zeros(1000)
    check_weights(path)
    path.write_bytes(path.read_bytes()[:500])
    with pytest.raises(CheckpointError, match="truncated"):
        check_weights(path)

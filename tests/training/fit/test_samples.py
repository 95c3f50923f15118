import json

import numpy as np
import pytest

from zoo.decoding import align_ids
from zoo.models import Seq2Seq, Seq2SeqPreprocessor, Seq2SeqTranslator
from zoo.training.fit.samples import (
    append_samples,
    make_samples,
    read_samples,
    translation_of,
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
    for epoch in (1, 2, 2):  # the last one is trained again
        append_samples(path, [{"epoch": epoch, "set": "ä", **s} for s in samples])
    found = read_samples(path)
    assert list(found) == [("ä", "a", "A"), ("ä", "b", "B"), ("ä", "c", "C")]
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
    assert translation_of(found["ä", "c", "C"][2]) is None


def test_without_attention_none_is_kept(translator, ids):
    backbone = Seq2Seq(30, num_layers=1, hidden_dim=8, embedding_dim=6)
    preprocessor = Seq2SeqPreprocessor(translator.preprocessor.tokenizer)
    samples = samples_of(Seq2SeqTranslator(backbone, preprocessor), ids)
    assert samples[1] == {"source": "b", "reference": "B", "translation": "y"}
    assert translation_of(samples[0]) is None


@pytest.mark.parametrize(
    "damage",
    [
        "{",
        "[1]",
        {"source": 7},
        {"epoch": float("inf")},
        {"alignment": [["x", 1], [1]]},
        {"windows": [[0, 10**12]]},
        {"tokens": [1]},
    ],
)
def test_a_line_that_is_no_sample_is_named(tmp_path, damage):
    sample = {"set": "a", "source": "b c", "reference": "d", "translation": "e"}
    sample |= {"source_tokens": ["b", "c"], "tokens": ["e"], "alignment": [[0.5, 0.5]]}
    path = tmp_path / "samples.jsonl"
    append_samples(path, [{"epoch": 1, **sample}])
    assert read_samples(path)
    if isinstance(damage, dict):
        damage = json.dumps({"epoch": 2, **sample, **damage})
    with open(path, "a") as file:
        file.write(damage + "\n")
    with pytest.raises(ValueError, match="samples.jsonl, line 2 is no sample of a run"):
        read_samples(path)

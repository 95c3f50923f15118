import math
import threading
import time

import numpy as np
import pytest

from tests.harness import randomize
from tests.marks import once
from tests.models.test_everywhere import TRANSLATORS
from tests.translators import SOURCE, VOCABULARY
from zoo.decoding import BeamSearch, align_ids, score_ids, search_ids
from zoo.decoding.batch_decoding import in_threads
from zoo.models import LuongPreprocessor, LuongTranslator

TARGETS = ["ein hund", "die katze rennt", "", "ein", "rennt", "hund", "katze", "die"]


@pytest.mark.parametrize(
    "cls",
    [cls if "Luong" in cls.__name__ else once(cls) for cls in TRANSLATORS],
    ids=lambda cls: cls.__name__,
)
def test_what_was_found_scores_as_it_did(cls):
    options = {"vocabulary_size": VOCABULARY, **TRANSLATORS[cls]}
    model = cls(randomize(cls.backbone_cls(**options), scale=1.0))
    sources = [row[row > 0].tolist() for row in SOURCE[:3]]
    search = BeamSearch(3, 0.0, n_best=2)
    pairs = [
        (source, ids, score)
        for source, best in zip(
            sources, search_ids(model, sources, search, max_length=6), strict=True
        )
        for ids, score in best
    ]
    sources, targets, scores = (list(column) for column in zip(*pairs, strict=True))
    assert len({tuple(ids) for ids in targets}) > 2
    found = score_ids(model, sources, targets)
    assert [len(row) for row in found] == [len(ids) + 1 for ids in targets]
    np.testing.assert_allclose([row.sum() for row in found], scores, rtol=1e-4)


def test_sums_means_and_single_texts(translator, texts):
    tokens = translator.score(texts, TARGETS, per_token=True)
    scores = translator.score(texts, TARGETS, batch_size=3)
    np.testing.assert_allclose(scores, [row.sum() for row in tokens], rtol=1e-5)
    assert len(set(scores)) == len(scores) and all(type(x) is float for x in scores)
    alone = translator.score(texts[1], TARGETS[1])
    assert type(alone) is float and alone == pytest.approx(scores[1], rel=1e-5)
    single = translator.score(texts[1], TARGETS[1], per_token=True)
    np.testing.assert_allclose(single, tokens[1], rtol=1e-5)
    mean = np.concatenate(tokens).mean(dtype="float64")
    found = translator.perplexity(texts, TARGETS, batch_size=3)
    assert found == pytest.approx(math.exp(-mean), rel=1e-5)
    alone = translator.perplexity(texts[1], TARGETS[1])
    assert alone == pytest.approx(math.exp(-single.mean()), rel=1e-5)
    assert translator.score([], []) == translator.align([], []) == []


def test_alignments_are_those_of_the_search(terse, texts):
    options = {"beam_size": 2, "length_penalty": 0.0, "max_length": 9}
    records = terse.translate(texts, return_details=True, **options)
    assert len({len(record.tokens) for record in records}) > 3
    tokens = [
        [terse.preprocessor.tokenizer.token_to_id(x) for x in record.tokens]
        for record in records
    ]
    sources = terse.preprocessor.encode(texts)
    for ids, old in zip(align_ids(terse, sources, tokens, 3), records, strict=True):
        np.testing.assert_allclose(ids[0], old.alignment, atol=1e-5)
        if old.tokens:
            np.testing.assert_allclose(ids[1], old.focus, atol=1e-5)
            np.testing.assert_array_equal(ids[2], old.windows)
        assert old.log_probs is None


@pytest.mark.once
def test_alignments_of_texts(translator, texts):
    found = translator.align(texts, TARGETS)
    scores = translator.score(texts, TARGETS)
    for record, target, score in zip(found, TARGETS, scores, strict=True):
        assert record.text == target == "".join(record.tokens).replace("▁", " ").strip()
        assert record.score == pytest.approx(score, rel=1e-5)
        assert record.score == pytest.approx(record.log_probs.sum(), rel=1e-5)
        assert record.alignment.shape == (len(record.tokens), len(record.source_tokens))
        assert (record.alignment.sum(1) > 0).all()
    assert found[2].tokens == [] and found[2].log_probs.shape == (1,)
    alone = translator.align(texts[1], TARGETS[1])
    assert alone.tokens == found[1].tokens
    np.testing.assert_allclose(alone.alignment, found[1].alignment, atol=1e-5)


def test_a_long_target_counts_as_a_whole(translator, texts):
    short = LuongPreprocessor(translator.preprocessor.tokenizer, target_length=3)
    model, target = LuongTranslator(translator.backbone, short), "ein hund rennt"
    found = model.score(texts[0], target, per_token=True)
    assert len(found) > 4
    wanted = translator.score(texts[0], target, per_token=True)
    np.testing.assert_allclose(found, wanted, rtol=1e-5)


# === What is refused ===


@pytest.mark.parametrize("method", ["score", "align", "perplexity"])
@pytest.mark.parametrize(
    ("sources", "targets", "error", "message"),
    [
        (["a", "b"], ["a"], ValueError, "Received: 2 sources and 1 targets"),
        ("a", ["a"], ValueError, "one source and one target, or lists"),
        (["a"], "a", ValueError, "one source and one target, or lists"),
        (["a", "b"], ["a", None], TypeError, r"targets\[1\] must be a str"),
        ([3], ["a"], TypeError, r"sources\[0\] must be a str"),
        (["a", " "], ["a", "b"], ValueError, r"sources\[1\] must not be blank"),
    ],
)
def test_what_is_no_pair_of_texts(
    translator, monkeypatch, method, sources, targets, error, message
):
    monkeypatch.setattr("zoo.decoding.beam.compiled", None)
    with pytest.raises(error, match=message):
        getattr(translator, method)(sources, targets)


# === Threads ===


@pytest.mark.backend_free
def test_batches_run_side_by_side_and_come_back_in_order():
    both = threading.Barrier(2, timeout=10)

    def function(item):
        if item < 2:
            both.wait()  # neither ends without the other
        return 10 * item

    assert list(in_threads(2, function, iter([1, 0, 2, 3]))) == [10, 0, 20, 30]


@pytest.mark.backend_free
def test_after_an_error_no_further_batch_runs():
    done = []

    def function(item):
        done.append(item)
        if item == 0:
            raise KeyError(item)
        time.sleep(0.25)

    with pytest.raises(KeyError):
        list(in_threads(2, function, range(100)))
    assert len(done) < 20

import keras
import numpy as np
import pytest
from keras import ops

from tests.decoding.reference import check_row, compile_search, exhaustive, log_softmax
from tests.harness import close, compiled, randomize, to_numpy
from zoo.decoding import BeamSearch, Ensemble
from zoo.models import LuongTranslator, Seq2SeqTranslator, TransformerTranslator
from zoo.text import Tokenizer, train_tokenizer

START, VOCABULARY, LIMIT = 2, 7, 3
WORDS = [w for w in range(VOCABULARY) if w != 3]  # that don't end a sentence
ALL = 1 + 6 + 36  # hypotheses that end within the limit
SOURCES = np.array([[6, 5, 4], [6, 4, 0], [5, 0, 0]], "int32")
LIMITS = np.array([3, 3, 2], "int32")
TEXTS = ["ab", "b a ba", "ba ab", "b"]


def make(cls, tokenizer, seed, dtype="float32", reading=None, **options):
    sizes = {"hidden_dim": 4, "num_layers": 1, **options}
    backbone = cls.backbone_cls(VOCABULARY, dtype=dtype, **sizes)
    randomize(backbone, scale=1.5, seed=seed)
    return cls(backbone, cls.preprocessor_cls(tokenizer, **(reading or {})))


@pytest.fixture(scope="module")
def tokenizer():
    return Tokenizer(train_tokenizer(["ab ba", "a b", "b a ab"], VOCABULARY))


@pytest.fixture(scope="module")
def models(tokenizer):
    """One of each kind of state; the second has no attention."""
    return [
        make(LuongTranslator, tokenizer, 6, embedding_dim=3, window=2),
        make(Seq2SeqTranslator, tokenizer, 9, embedding_dim=5),
        make(TransformerTranslator, tokenizer, 10, ff_dim=5, num_heads=2),
    ]


@pytest.fixture(scope="module")
def ensemble(models):
    return Ensemble(models)


def answers_of(model):
    """For each row of `SOURCES`, prefix -> (log-probabilities, attention weights): a
    model's by itself, in float64."""
    answers, prefixes = [{} for _ in SOURCES], [()]
    model = model.backbone
    memory = compiled(model.encode)(SOURCES)
    state, step = model.start_for(memory, LIMIT), compiled(model.step)
    for _ in range(LIMIT):
        last = [prefix[-1] if prefix else START for prefix in prefixes]
        words = np.array(last * len(SOURCES), "int32")
        logits, state, weights = step(words, state, memory)
        logits, weights = (
            to_numpy(x).astype("float64").reshape(len(SOURCES), len(prefixes), -1)
            for x in (logits, weights)
        )
        for row, found in enumerate(answers):
            for k, prefix in enumerate(prefixes):
                found[prefix] = log_softmax(logits[row, k]), weights[row, k]
        state = keras.tree.map_structure(lambda x: ops.repeat(x, 6, axis=0), state)
        prefixes = [(*prefix, word) for prefix in prefixes for word in WORDS]
    return answers


@pytest.fixture(scope="module")
def answers(models):
    """The mean of the members' probabilities, and that of the weights of two."""
    found = [answers_of(model) for model in models]
    assert not any(weights.any() for _, weights in found[1][0].values())

    def mean(row, prefix):
        log_probs, weights = zip(*(own[row][prefix] for own in found), strict=True)
        weights = (weights[0] + weights[2]) / 2
        return np.log(np.mean(np.exp(log_probs), axis=0)), weights

    return [{prefix: mean(row, prefix) for prefix in found[0][row]} for row in range(3)]


def test_against_exhaustive_search_over_the_mean(ensemble, answers):
    search = BeamSearch(ALL, 0.6, 0.2, n_best=ALL)
    ids, scores = compile_search(ensemble.backbone, search, LIMIT)(SOURCES, LIMITS)
    for row, limit in enumerate(LIMITS):
        follow = answers[row].__getitem__
        expected = exhaustive(follow, VOCABULARY, limit, SOURCES[row], 0.6, 0.2)
        check_row(ids[row], scores[row], expected, rtol=1e-4)


@pytest.mark.once
def test_it_translates_as_a_translator_does(models):
    """One model, once and twice, is that model."""
    options = {"beam_size": 3, "max_length": 8, "return_details": True}
    for wanted, *found in zip(
        models[0].translate(TEXTS, **options),
        Ensemble(models[:1]).translate(TEXTS, **options),
        Ensemble([models[0]] * 2).translate(TEXTS, **options),
        strict=True,
    ):
        for record in found:
            assert (record.text, record.tokens) == (wanted.text, wanted.tokens)
            assert record.score == pytest.approx(wanted.score, rel=1e-4)
            close(record.alignment, wanted.alignment)
    assert Ensemble(models[:2]).translate("", beam_size=1) == ""


@pytest.mark.once
def test_given_translations_score_as_the_mean_of_the_probabilities(models):
    ensemble, targets = Ensemble(models), ["ba", "", "ab b", "a a b"]
    own = [model.score(TEXTS, targets, per_token=True) for model in models]
    found = ensemble.score(TEXTS, targets, per_token=True)
    for row, *rows in zip(found, *own, strict=True):
        close(np.exp(row), np.mean(np.exp(rows), axis=0))
    records = ensemble.align(TEXTS, targets)
    for record, row, *members in zip(
        records, found, *(model.align(TEXTS, targets) for model in models), strict=True
    ):
        close(record.log_probs, row)
        close(record.alignment, (members[0].alignment + members[2].alignment) / 2)
    mean = np.concatenate(found).mean()
    assert ensemble.perplexity(TEXTS, targets) == pytest.approx(np.exp(-mean))


@pytest.mark.once
def test_members_of_other_precisions_without_attention(tokenizer):
    half = make(Seq2SeqTranslator, tokenizer, 5, "mixed_float16", embedding_dim=4)
    int8 = make(Seq2SeqTranslator, tokenizer, 6, embedding_dim=4)
    ensemble = Ensemble([half, int8])
    int8.quantize("int8")
    # A search that was compiled before is known by these not to be theirs.
    assert {id(v) for v in ensemble.backbone.variables} == {
        id(v) for v in half.variables + int8.variables
    }
    assert "int8" in {keras.backend.standardize_dtype(v.dtype) for v in int8.weights}

    inputs = {"source_ids": SOURCES, "target_ids": SOURCES}
    run = [compiled(x.backbone) for x in (half, int8, ensemble)]
    *logits, found = [to_numpy(x(inputs)) for x in run]
    assert logits[0].dtype == "float16" and found.dtype == "float32"
    logits = [log_softmax(x.astype("float64")) for x in logits]
    close(found, np.log(np.mean(np.exp(logits), axis=0)))
    weights = to_numpy(ensemble.backbone.align_details(SOURCES, SOURCES)[0])
    assert weights.shape == (3, 3, 3) and not weights.any()


@pytest.mark.once
def test_members_that_read_or_write_otherwise(models, tokenizer):
    other = Tokenizer(train_tokenizer(["ac ca", "a c", "c a ac"], VOCABULARY))
    stranger = make(Seq2SeqTranslator, other, 1)
    ended = make(Seq2SeqTranslator, tokenizer, 1, reading={"source_end": True})
    mute = Seq2SeqTranslator(models[1].backbone)
    for given in (
        [],
        "luong_local",
        *([models[0], x] for x in (stranger, ended, mute)),
    ):
        with pytest.raises(ValueError, match="one SentencePiece model and one"):
            Ensemble(given)

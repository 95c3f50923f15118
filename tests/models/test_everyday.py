"""Every task and backbone as anybody uses a Keras model."""

import copy
import pickle

import keras
import numpy as np
import pytest

from tests.harness import randomize
from tests.models.test_everywhere import TRANSLATORS
from tests.tasks import test_classifier, test_language_model, test_tagger
from tests.translators import SOURCE, TARGET, VOCABULARY
from zoo import models
from zoo.decoding import BeamSearch
from zoo.training import SmoothedCrossEntropy

INPUTS = {"source_ids": SOURCE, "target_ids": TARGET}
LABELS = np.roll(TARGET, -1, axis=1)
WEIGHTS = (LABELS > 0).astype("float32")
SMALL = {"num_layers": 1, "hidden_dim": 8, "embedding_dim": 8}
TAGS = [["DET", "NOUN"], ["X"]]


def translator(cls=models.LuongTranslator, tokenizer=None, dtype=None, **changes):
    options = TRANSLATORS[cls] if cls is not models.LuongTranslator else SMALL
    options = {"vocabulary_size": VOCABULARY, **options, **changes}
    backbone = randomize(cls.backbone_cls(**options, dtype=dtype))
    lengths = {"source_length": 6, "target_length": 6, "dtype": "float32"}
    return cls(backbone, tokenizer and cls.preprocessor_cls(tokenizer, **lengths))


def without_logits(task, rate=0.0, **options):
    options = {"weighted_metrics": [], **options}
    task.compile(keras.optimizers.SGD(rate), SmoothedCrossEntropy(0.1), **options)
    return task


def fit(task, **options):
    options = {"sample_weight": WEIGHTS, "batch_size": len(LABELS), **options}
    return task.fit(INPUTS, LABELS, **options, verbose=0).history


# === Training ===
QUANTIZED = pytest.mark.filterwarnings(
    "ignore:.*have a `quantize` method", "ignore:Invalid quant", "ignore:Gradients do"
)


@QUANTIZED
@pytest.mark.once
@pytest.mark.parametrize("tie", [None, "all"])
def test_a_quantized_model_is_fine_tuned_by_its_own_loss(tie):
    task = translator(tie_embeddings=tie, dropout=0.0)
    task.quantize("int8")
    without_logits(task)
    wanted = task.evaluate(INPUTS, LABELS, sample_weight=WEIGHTS, verbose=0)
    assert fit(task)["loss"][0] == pytest.approx(wanted, rel=1e-4)
    losses = fit(without_logits(task, rate=0.1), epochs=4)["loss"]
    assert losses[-1] < losses[0] < 1.01 * wanted


# === Generation ===
@pytest.mark.once
@pytest.mark.parametrize("kind", ["translator", "language_model"])
def test_each_text_ends_at_its_own_stop(kind, tokenizer):
    if kind == "translator":
        task, texts = translator(tokenizer=tokenizer), ["ab cd", "ba", "dad cab", "c"]
    else:
        task, texts = test_language_model.task_of(), ["a dog", "cat", "runs", ""]
    ids = {}
    for stop in range(3, task.preprocessor.tokenizer.vocabulary_size()):
        together = task.generate(texts, max_length=9, stop_token_ids=[stop])
        alone = [
            task.generate(text, max_length=9, stop_token_ids=[stop]) for text in texts
        ]
        assert together == alone
        ids[stop] = together
    assert len({tuple(found) for found in ids.values()}) > 1
    # Without a stop a text goes on behind an end token.
    longest = task.generate(texts, max_length=9, stop_token_ids=None)
    assert task.generate(texts, max_length=9, stop_token_ids=[]) == longest
    for found in ids.values():
        for text, whole in zip(found, longest, strict=True):
            assert whole.startswith(text)


def test_a_language_model_returns_all_that_it_wrote_without_the_prompt():
    task = test_language_model.task_of()
    for prompt in ("a dog", "", "cat"):
        whole = task.generate(prompt, max_length=9)
        new = task.generate(prompt, max_length=9, strip_prompt=True)
        assert f"{prompt} {new}".split() == whole.split()
    both = task.generate(["a dog", "cat"], max_length=9, strip_prompt=True)
    assert both == [
        task.generate(prompt, max_length=9, strip_prompt=True)
        for prompt in ("a dog", "cat")
    ]


def test_beam_search_is_no_sampler():
    with pytest.raises(ValueError, match=r"`translate\(texts, beam_size=3\)`. R"):
        translator().compile(sampler=BeamSearch(3))


# === Saving ===
@pytest.mark.filterwarnings("ignore:.*cannot be verified", "ignore:.*automatically con")
@pytest.mark.once
def test_a_model_in_mixed_precision_is_saved_in_float32(tokenizer, tmp_path):
    policy = "mixed_bfloat16"
    task = translator(tokenizer=tokenizer, dtype=policy)
    task.save_to_preset(str(tmp_path / "new"))
    again = models.LuongTranslator.from_preset(tmp_path / "new")
    assert again.dtype_policy.name == "float32"
    for got, own in zip(again.get_weights(), task.get_weights(), strict=True):
        np.testing.assert_array_equal(got, own)
    half = models.LuongTranslator.from_preset(tmp_path / "new", dtype=policy)
    assert half.backbone.compute_dtype == "bfloat16"


def tasks(tokenizer):
    """Each kind of task, and what it makes of some text."""

    def score(task):
        return [round(float(x), 3) for x in task.score(["a dog", "runs"])]

    return {
        "translator": (
            translator(tokenizer=tokenizer),
            lambda task: task.translate(["ab", "cd ba"], beam_size=2, max_length=5),
        ),
        "language_model": (test_language_model.task_of(), score),
        "classifier": (
            test_classifier.task_of("lstm"),
            lambda task: task.classify(test_classifier.TEXTS),
        ),
        "tagger": (test_tagger.task_of(), lambda task: task.tag("A dog runs.")),
    }


@pytest.mark.once
@pytest.mark.parametrize(
    "kind", ["translator", "language_model", "classifier", "tagger"]
)
def test_a_task_is_copied_with_all_that_it_knows(kind, tokenizer, tmp_path):
    task, use = tasks(tokenizer)[kind]
    wanted, path = use(task), tmp_path / "task.keras"
    task.save(path)
    pickled = pickle.loads(pickle.dumps(task))
    for other in (keras.models.load_model(path), pickled, copy.deepcopy(task)):
        assert type(other) is type(task)
        assert use(other) == wanted


# === Text ===
@pytest.mark.once
def test_a_language_models_loss_is_the_mean_over_the_real_words():
    task, texts = test_language_model.task_of(), test_language_model.TEXTS
    words = sum(len(text.split()) + 1 for text in texts)
    found = task.evaluate(texts, verbose=0)[0]
    assert found == pytest.approx(-sum(task.score(texts)) / words, rel=1e-4)


def test_a_tagger_is_trained_on_sentences_and_tags():
    task, sentences = test_tagger.task_of(), ["A dog", ["cat"]]
    task.compile(keras.optimizers.Adam(0.0))
    history = task.fit(
        sentences, TAGS, validation_data=(sentences, TAGS), verbose=0
    ).history
    logits = keras.Model.predict(task, task.preprocessor(sentences), verbose=0)
    tags = [[0, 1], [2]]
    chances = np.log(np.exp(logits) / np.exp(logits).sum(-1, keepdims=True))
    total = -sum(
        chances[b, t, tag] for b, row in enumerate(tags) for t, tag in enumerate(row)
    )
    # Keras divides by all real steps, 3 of the 4: the logits carry the words' mask.
    assert history["val_loss"][0] == pytest.approx(total / 3, rel=1e-5)
    with pytest.raises(ValueError, match="a tag for each word.*sentences of .* words"):
        task.fit(sentences, [TAGS[0], TAGS[0]], verbose=0)
    with pytest.raises(ValueError, match="takes words and tags as equally long lists"):
        task.fit(sentences, TAGS[:1], verbose=0)

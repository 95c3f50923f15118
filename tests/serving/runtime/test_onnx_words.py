import keras
import numpy as np
import pytest

from tests.harness import randomize
from tests.marks import long
from tests.serving.conftest import needs_onnx
from zoo.models import (
    RecurrentClassifier,
    RecurrentClassifierPreprocessor,
    SentimentClassifier,
)
from zoo.serving import export_onnx, runtime
from zoo.serving.runtime.exported_text import (
    PromptPreprocessor,
    TaggingPreprocessor,
    Words,
    WordsPreprocessor,
)
from zoo.serving.runtime.onnx import _chooser
from zoo.text import TaggerPreprocessor, WordPreprocessor, WordTokenizer

LANGUAGE_MODELS = ["lstm", long("gru"), long("lstmn_lm")]
ODD = [
    "",
    "  ",
    "\t\n",
    "<unk> </s> <pad> <s>",
    "qwxz 日本語 the",
    "e\u0301a cafe\u0301 ﬁ ß İ",
    "👍🏽👍👍! 👨\u200d👩\u200d👧 🇩🇪",
    "lone \ud83d surrogate",
    "a\u00a0b\u2003c\u2028d\x1ce",
    "I can't, don’t and won't... U.S. 3.50",
    "supercalifragilisticexpialidocious-word",
    "\x00 \u200b \u200d n't 's",
]
SUBJECTS = ["the company", "a man", "two dogs", "he", "mr. N said"]
VERBS = ["said", "runs quickly", "is", "will have been", "sees n't"]
TEXTS = ODD + [f"{subject} {verb}" for subject in SUBJECTS for verb in VERBS]
TEXTS += [" ".join(TEXTS[12:n]) for n in (15, 20, 27)]


# === Text ===
def content_of(preprocessor, folder):
    preprocessor.save_assets(str(folder))
    [file] = folder.iterdir()
    return file.read_bytes()


@pytest.mark.once
@pytest.mark.parametrize("lowercase", [False, True])
@pytest.mark.filterwarnings("ignore:.*were cut")
def test_ids_and_texts_are_those_of_the_preprocessors(tmp_path, lowercase):
    tokenizer = WordTokenizer(["the", "company", "said", "é", "I"], lowercase)
    words = Words(content_of(tokenizer, tmp_path), lowercase)
    assert words.tokenize(TEXTS) == tokenizer.tokenize(TEXTS)
    assert words.get_vocabulary() == tokenizer.get_vocabulary()
    classified = WordsPreprocessor(words).encode(TEXTS)
    assert classified == tokenizer.tokenize(TEXTS)
    wanted, found = WordPreprocessor(tokenizer, 6), PromptPreprocessor(words, 6)
    for length in (None, 4):
        prompts = wanted.generate_preprocess(TEXTS, length)
        for name, array in found.prompts(TEXTS, length).items():
            given = keras.ops.convert_to_numpy(prompts[name])
            np.testing.assert_array_equal(array, given)
    ids = np.random.default_rng(1).integers(0, 9, (30, 7))
    mask = np.random.default_rng(2).integers(0, 2, (30, 7)) > 0
    rows = zip(ids.tolist(), mask.tolist(), strict=True)
    given = {"token_ids": ids, "padding_mask": mask}
    texts = wanted.generate_postprocess(given)
    assert [found.written(*row) for row in rows] == texts


@pytest.mark.once
def test_a_taggers_arrays_are_those_of_the_preprocessor(tmp_path):
    rows = [["the", "company", "é", "👍🏽"], ["n't"]]
    wanted = TaggerPreprocessor.of(rows, [["A", "B", "C", "D"], ["E"]], word_length=5)
    found = TaggingPreprocessor(content_of(wanted, tmp_path), 5)
    assert found.split(TEXTS) == wanted.split(TEXTS)
    arrays = found.arrays(found.split(TEXTS), 99)
    for name, array in wanted.arrays(wanted.split(TEXTS), 99).items():
        np.testing.assert_array_equal(arrays[name], array)
    assert found.decode([4, 0]) == ["E", "A"]


# === Language models ===
@pytest.mark.parametrize("name", LANGUAGE_MODELS)
@pytest.mark.filterwarnings("ignore:.*were cut")
def test_continuations_are_those_of_keras(export, name):
    task, folder = export(name)
    task.compile(sampler="greedy")
    found = runtime.load(folder)
    assert found.generate(TEXTS, max_length=40) == task.generate(TEXTS, max_length=40)
    one = TEXTS[12]
    assert found.generate(one) == task.generate(one)
    assert found.generate(TEXTS, 9, batch_size=7) == task.generate(TEXTS, max_length=9)
    assert found.generate([]) == []


@pytest.mark.parametrize("name", LANGUAGE_MODELS)
def test_scores_are_those_of_keras(export, name):
    task, folder = export(name)
    found = runtime.load(folder)
    np.testing.assert_allclose(found.score(TEXTS), task.score(TEXTS), atol=1e-3)
    assert found.score(TEXTS[4]) == pytest.approx(task.score(TEXTS[4]), abs=1e-3)
    for options in ({}, {"carry_over": True, "batch_size": 3}):
        wanted = task.perplexity(TEXTS, **options)
        assert found.perplexity(TEXTS, **options) == pytest.approx(wanted, rel=1e-4)


@pytest.mark.parametrize("name", ["lstm", long("lstmn_lm")])
@pytest.mark.filterwarnings("ignore:.*were read in parts")
def test_a_long_text_is_scored_in_parts(export, name):
    task, folder = export(name)
    text = " ".join(TEXTS[12:] * 8)
    assert len(text.split()) > 600
    found = runtime.load(folder).score([text, "a man"])
    np.testing.assert_allclose(found, task.score([text, "a man"]), rtol=1e-5)


def test_drawn_words_do_not_depend_on_the_batch(export):
    found = runtime.load(export("lstm")[1])
    options = {"max_length": 12, "temperature": 1.5, "seed": 3}
    texts = TEXTS[10:17]
    drawn = found.generate(texts, **options)
    assert drawn == found.generate(texts, batch_size=5, **options)
    assert len({found.generate("a", 12, top_k=9, seed=seed) for seed in range(4)}) > 2
    greedy = found.generate(texts, 12)
    assert drawn != greedy
    assert found.generate(texts, 12, top_k=1, temperature=3.0) == greedy
    assert found.generate(texts, 12, top_p=1e-9) == greedy
    generator = np.random.default_rng(3)
    options["seed"] = generator
    assert found.generate(texts, **options) == drawn  # as the number 3, and goes on:
    assert found.generate(texts, **options) != drawn


def test_what_generate_refuses(export):
    found = runtime.load(export("lstm")[1])
    with pytest.raises(TypeError, match=r"texts\[1\] must be a str. Received: None"):
        found.generate(["a", None])
    for options, message in (
        ({"max_length": 1}, "`max_length` must be an integer from 2"),
        ({"batch_size": 0}, "`batch_size` must be a positive integer"),
        ({"top_k": 0}, "`top_k` must be a positive integer"),
        ({"top_p": 1.1}, r"`top_p` must be in \(0, 1\]. Received: top_p=1.1"),
        ({"top_p": 0}, "`top_p` must be above 0"),
        ({"temperature": 0.0}, "`temperature` must be above 0"),
    ):
        with pytest.raises(ValueError, match=message):
            found.generate("a", **options)


CHANCES = np.array([0.05, 0.3, 0.0, 0.1, 0.15, 0.4])


@pytest.mark.once
@pytest.mark.parametrize(
    ("options", "kept"),
    [
        ({"temperature": 1.0}, [0, 1, 3, 4, 5]),
        ({"top_k": 3}, [1, 4, 5]),
        ({"top_k": 99}, [0, 1, 3, 4, 5]),
        ({"top_p": 0.75}, [1, 4, 5]),  # 0.4 + 0.3 is not more than it
        ({"top_p": 0.65}, [1, 5]),
        ({"top_p": 0.999, "top_k": 2}, [1, 5]),
    ],
)
@pytest.mark.parametrize("temperature", [1.0, 2.0])
def test_words_are_drawn_by_their_probabilities(options, kept, temperature):
    """As often as by the definition."""
    logits = np.log(np.maximum(CHANCES, 1e-30)) * temperature
    options = {**options, "temperature": temperature}
    choose = _chooser(**{"top_k": None, "top_p": None, **options})
    streams = np.random.default_rng(5).spawn(3)
    rows = np.tile(logits, (3, 1)).astype("float32")
    drawn = np.concatenate([choose(rows, streams) for _ in range(4000)])
    wanted = np.zeros(6)
    wanted[kept] = CHANCES[kept] / CHANCES[kept].sum()
    counts = np.bincount(drawn, minlength=6)
    assert (counts[wanted == 0] == 0).all()
    # Five standard deviations of a binomial.
    off = 5 * np.sqrt(len(drawn) * wanted * (1 - wanted))
    assert (np.abs(counts - len(drawn) * wanted) <= off).all()


# === Labels ===
@pytest.mark.filterwarnings("ignore:.*were read in parts")
def test_tags_are_those_of_keras(export):
    task, folder = export("birnn")
    found = runtime.load(folder)
    texts = [*TEXTS, ["already", "split", "words"], " ".join(["a dog runs"] * 250)]
    assert found.tag(texts) == task.tag(texts)
    assert found.tag(texts, batch_size=5) == task.tag(texts)
    assert found.tag(TEXTS[9]) == task.tag(TEXTS[9])
    assert found.tag([]) == [] and found.tag("") == []
    with pytest.raises(TypeError, match=r"sentences\[0\] must be a str or a list"):
        found.tag([3])


@pytest.mark.skipif(
    keras.backend.backend() != "tensorflow",
    reason="graphs are written under the TensorFlow backend alone",
)
@pytest.mark.parametrize("cell", ["lstm", long("lstmn"), long("gru")])
@pytest.mark.filterwarnings("ignore:.*were cut")
def test_classes_are_those_of_keras(cell, tmp_path):
    needs_onnx()
    words = sorted({word for text in TEXTS[12:] for word in text.split()})
    backbone = RecurrentClassifier(
        len(words) + 4,
        classes=["dull", "good", "odd"],
        embedding_dim=6,
        hidden_dim=5,
        num_layers=2,
        cell=cell,
    )
    randomize(backbone, seed=4, scale=2)
    preprocessor = RecurrentClassifierPreprocessor(WordTokenizer(words, lowercase=True))
    task = SentimentClassifier(backbone, preprocessor)
    texts = [*TEXTS, *(text.upper() for text in TEXTS), " ".join(["a man"] * 300)]
    ids = preprocessor(texts)
    backbone.output_layer.bias.assign_sub(np.median(task.logits(ids), axis=0))
    wanted = task.classify(texts)
    assert len(set(wanted)) > 1
    found = runtime.load(export_onnx(task, tmp_path / "classifier"))
    assert found.classify(texts) == wanted
    assert found.classify(texts, batch_size=5) == wanted
    assert found.classify("a man") == task.classify("a man")
    np.testing.assert_allclose(found.logits(ids), task.logits(ids), atol=1e-4)

import json

import numpy as np
import pytest
from keras import ops

import zoo
from tests.harness import close, compiled, gradients, randomize, to_numpy
from tests.layers import reference
from zoo.models import BiRNNTagger, BiRNNWords
from zoo.text import TaggerPreprocessor

SMALL = {
    "embedding_dim": 5,
    "character_dim": 3,
    "filters": 4,
    "window": 3,
    "hidden_dim": 6,
}
SIZES = {"vocabulary_size": 9, "character_size": 7, "output_dim": 4, **SMALL}
RNG = np.random.default_rng(2)
LENGTHS = np.array([5, 3, 1, 0])
REAL = np.arange(5)[None] < LENGTHS[:, None]
LETTERS = np.arange(6) < RNG.integers(1, 7, (4, 5, 1))
INPUTS = {
    "word_ids": np.where(REAL, RNG.integers(1, 9, (4, 5)), 0).astype("int32"),
    "character_ids": np.where(
        LETTERS & REAL[..., None], RNG.integers(1, 7, (4, 5, 6)), 0
    ).astype("int32"),
}


@pytest.fixture(scope="module")
def backbone():
    return randomize(BiRNNWords(**SIZES))


def letters_of(model, ids):
    """The convolution's largest responses for one word, in NumPy."""
    table = to_numpy(model.character_embedding.embeddings).astype("float64")
    weights = reference.named(model.convolution)
    ids = [i for i in ids if i]
    if not ids:
        return np.zeros(4)
    rows = [np.zeros(3), *(table[i] for i in ids), np.zeros(3)]
    found = [
        np.tanh(np.concatenate(rows[j : j + 3]) @ weights["kernel"] + weights["bias"])
        for j in range(len(ids))
    ]
    return np.max(found, axis=0)


def test_the_model_is_what_it_says(backbone):
    """Words and letters in NumPy, then the `BiRNN`, sentence by sentence."""
    logits = to_numpy(compiled(backbone)(INPUTS))
    table = to_numpy(backbone.token_embedding.embeddings)
    for b, length in enumerate(LENGTHS[:3]):
        frames = [
            np.concatenate(
                [
                    table[INPUTS["word_ids"][b, t]],
                    letters_of(backbone, INPUTS["character_ids"][b, t].tolist()),
                ]
            )
            for t in range(length)
        ]
        wanted = compiled(backbone.birnn)(np.array([frames], "float32"))[0]
        close(logits[b, :length], wanted)


def test_padding_changes_nothing(backbone):
    call = compiled(backbone)
    logits = to_numpy(call(INPUTS))
    wider = {
        "word_ids": np.pad(INPUTS["word_ids"], ((0, 0), (0, 4))),
        "character_ids": np.pad(INPUTS["character_ids"], ((0, 0), (0, 4), (0, 5))),
    }
    close(to_numpy(call(wider))[:, :5][REAL], logits[REAL])
    turned = {name: ids[::-1].copy() for name, ids in INPUTS.items()}
    close(to_numpy(call(turned))[::-1][REAL], logits[REAL])


@pytest.mark.once
def test_each_variable_has_a_gradient(backbone):
    """Along it, the loss rises as its finite difference does."""
    variables, step = backbone.trainable_variables, 1e-3

    def loss():
        return ops.sum(ops.sin(backbone(INPUTS)))

    _, found = gradients(variables, loss)
    for gradient, variable in zip(found, variables, strict=True):
        assert np.abs(gradient).max() > 0, variable.path
    values = backbone.get_weights()
    size = np.sqrt(sum((x**2).sum() for x in found))
    sides = []
    for sign in (1, -1):
        for x, value, gradient in zip(variables, values, found, strict=True):
            x.assign(value + sign * step / size * gradient)
        sides.append(float(to_numpy(loss())))
    backbone.set_weights(values)
    assert (sides[0] - sides[1]) / (2 * step) == pytest.approx(size, rel=1e-2)


def test_words_are_forgotten_in_training_alone():
    model = BiRNNWords(**SIZES, word_dropout=0.4, dropout=0.0)
    ids = np.full((50, 40), 5, "int32")
    ids[:, 30:] = 0
    found = to_numpy(model._forget(ids))
    assert not found[:, 30:].any()
    assert np.mean(found[:, :30] == 1) == pytest.approx(0.4, abs=0.05)
    close(model(INPUTS), model(INPUTS))


# === The task ===


def task_of():
    words = ["a", "dog", "runs", "cat", "."]
    preprocessor = TaggerPreprocessor(words, list("acdgort."), ["DET", "NOUN", "X"])
    return BiRNNTagger(
        randomize(BiRNNWords(**preprocessor.sizes(), **SMALL), 3.0), preprocessor
    )


@pytest.fixture(scope="module")
def tagger():
    return task_of()


def test_it_tags(tagger):
    found = tagger.tag("A dog runs.")
    assert [word for word, _ in found] == ["A", "dog", "runs", "."]
    assert {tag for _, tag in found} <= {"DET", "NOUN", "X"}
    assert tagger.tag(["A dog runs.", "", ["A", "dog", "runs", "."]]) == [
        found,
        [],
        found,
    ]
    assert tagger.tag([]) == [] and tagger.tag("") == []
    with pytest.raises(ValueError, match="positive integer. Received: batch_size=0"):
        tagger.tag("A dog", batch_size=0)
    # The batch never changes a result.
    many = [["dog", "cat", "a"][: n % 4] + ["runs"] * (n % 11) for n in range(30)]
    alone = [tagger.tag([row])[0] for row in many]
    assert tagger.tag(many) == alone == tagger.tag(many, batch_size=7)
    assert len({tag for row in alone for _, tag in row}) > 1


@pytest.mark.filterwarnings("ignore:.*has no card")
def test_a_preset_with_foreign_vocabularies_is_refused(tagger, tmp_path):
    tagger.save_to_preset(tmp_path)
    path = tmp_path / "assets" / "tagger.json"
    found = json.loads(path.read_text())
    path.write_text(json.dumps({**found, "words": found["words"][:-1]}))
    with pytest.raises(zoo.presets.PresetError, match="`vocabulary_size` must be"):
        zoo.load(tmp_path)
    path.unlink()
    with pytest.raises(zoo.presets.PresetError, match="tagger.json"):
        zoo.load(tmp_path)

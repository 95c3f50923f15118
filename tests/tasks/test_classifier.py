import keras
import numpy as np
import pytest

from tests.harness import close, compiled, randomize, to_numpy
from tests.layers import reference
from tests.marks import once
from zoo.models import (
    RecurrentClassifier,
    RecurrentClassifierPreprocessor,
    SentimentClassifier,
)
from zoo.text import WordTokenizer

SMALL = {"embedding_dim": 5, "hidden_dim": 4, "classes": ("bad", "so", "good")}
IDS = np.array([[4, 5, 6, 7], [8, 4, 0, 0], [0, 0, 0, 0]], "int32")
TEXTS = ["a dog sees", "runs", "", "cat cat cat sees a dog a dog"]


def task_of(cell="lstm", **options):
    backbone = randomize(RecurrentClassifier(9, cell=cell, **{**SMALL, **options}))
    preprocessor = RecurrentClassifierPreprocessor(
        WordTokenizer("a dog cat runs sees".split()), sequence_length=8
    )
    return SentimentClassifier(backbone, preprocessor)


def test_it_is_the_mean_state_and_two_layers():
    model = task_of().backbone
    got = to_numpy(compiled(model)({"token_ids": IDS}))
    ((cell,),) = model.recurrent.cells
    weights = reference.named(cell)
    first, second = reference.named(model.hidden), reference.named(model.output_layer)
    E = to_numpy(model.token_embedding.embeddings).astype("float64")
    for b, row in enumerate(IDS):
        states, h, c = [np.zeros(4)], np.zeros(4), np.zeros(4)
        for word in row[row > 0]:
            kernels = weights["kernel"], weights["recurrent_kernel"], weights["bias"]
            h, c = reference.lstm_step(E[word], h, c, *kernels)
            states.append(h)
        v = np.sum(states, axis=0) / max(1, len(states) - 1)
        hidden = np.maximum(v @ first["kernel"] + first["bias"], 0)
        close(got[b], hidden @ second["kernel"] + second["bias"])


@pytest.mark.parametrize("cell", ["lstmn", once("gru")])
def test_pads_change_nothing(cell):
    model = task_of(cell, num_layers=2).backbone
    run = compiled(model)
    wanted = to_numpy(run({"token_ids": IDS}))
    wider = np.pad(IDS, ((0, 0), (0, 3)))[[1, 2, 0]]
    close(run({"token_ids": wider}), wanted[[1, 2, 0]])
    assert np.isfinite(wanted).all()


def test_classify_names_the_most_probable_class():
    task = task_of("gru")
    ids = task.preprocessor(TEXTS)["token_ids"]
    assert ids.shape == (4, 8)
    best = to_numpy(compiled(task)({"token_ids": ids})).argmax(-1)
    wanted = [SMALL["classes"][i] for i in best]
    for batch_size in (1, 3):
        assert task.classify(TEXTS, batch_size=batch_size) == wanted
    assert task.classify(TEXTS[0]) == wanted[0]
    with pytest.warns(UserWarning, match="1 of 2 texts have more than 8 words"):
        task.preprocessor([TEXTS[3] + " a", "a"])
    with pytest.raises(ValueError, match="preprocessor=None"):
        SentimentClassifier(task.backbone).classify("a")


def test_fit_takes_strings_and_every_variable_learns():
    task = task_of("lstmn", dropout=0.0)
    task.compile(keras.optimizers.SGD(0.5))
    before = [to_numpy(v.value) for v in task.trainable_variables]
    history = task.fit(TEXTS, np.array([0, 1, 2, 1]), epochs=2, verbose=0).history
    assert history["loss"][-1] < history["loss"][0]
    for old, variable in zip(before, task.trainable_variables, strict=True):
        assert np.abs(to_numpy(variable.value) - old).max() > 0, variable.path
    assert task.predict(TEXTS[:2], verbose=0).shape == (2, 3)

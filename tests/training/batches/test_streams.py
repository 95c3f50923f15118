import keras
import numpy as np
import pytest

from tests.harness import close, compiled, gradients, randomize, to_numpy
from tests.marks import once
from zoo.models import RecurrentLM
from zoo.training import (
    CarriedState,
    SmoothedCrossEntropy,
    StreamBatches,
    compile_for_training,
)

ROWS = [[4, 5, 6], [7, 8], [4, 4, 8, 6, 5], [6], [8, 8, 7]]


def make(cell="lstm", rate=1e-9):
    backbone = RecurrentLM(9, 4, 5, num_layers=2, cell=cell, initializer_range=0.8)
    model = CarriedState(randomize(backbone), 2)
    compile_for_training(model, keras.optimizers.SGD(rate), loss=SmoothedCrossEntropy())
    return model, StreamBatches(ROWS, batch_size=2, length=4)


def whole(batches):
    return [
        np.concatenate([pick(batches[i]) for i in range(len(batches))], axis=1)
        for pick in (lambda b: b[0]["token_ids"], lambda b: b[1])
    ]


def test_batches_follow_each_other():
    batches = StreamBatches(ROWS, batch_size=2, length=4)
    assert (len(batches), batches.tokens, batches.unit) == (3, 19, "words")
    keeps = [batches[i][0]["keep"].tolist() for i in range(3)]
    assert keeps == [[0, 0], [1, 1], [1, 1]]
    for i in range(3):
        (inputs, labels, weights) = batches[i]
        assert (weights == (labels > 0)).all() and inputs["token_ids"].shape == (2, 4)
    batches.set_epoch(1, start=1)
    assert len(batches) == 2 and batches[0][0]["keep"].tolist() == [1, 1]


@pytest.mark.parametrize("cell", ["lstm", once("gru")])
def test_the_state_goes_on_and_starts_anew_with_each_epoch(cell):
    model, batches = make(cell)
    ids, labels = whole(batches)
    run = compiled(lambda inputs: model.backbone(inputs, return_states=True))
    logits, final = run({"token_ids": ids})
    weights = (labels > 0).astype("float32")
    wanted = float(SmoothedCrossEntropy()(labels, logits, sample_weight=weights))
    sizes = [float(batches[i][2].sum()) for i in range(len(batches))]
    seen = []

    class Watch(keras.callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            seen.append(float(logs["loss"]))

    model.fit(batches, epochs=2, shuffle=False, verbose=0, callbacks=[Watch()])
    # Keras logs the mean of the batches so far, unweighted.
    for epoch in (seen[:3], seen[3:]):
        own = np.diff([0, *(x * (i + 1) for i, x in enumerate(epoch))])
        assert np.dot(own, sizes) / sum(sizes) == pytest.approx(wanted, rel=1e-4)
    for state, variable in zip(keras.tree.flatten(final), model.carried, strict=True):
        close(variable.value, to_numpy(state))


def test_no_gradient_passes_into_the_batch_before():
    """The gradient of the second segment is that of a segment that starts from the
    first one's state as a constant."""
    model, batches = make()
    backbone = model.backbone
    (first, _, _), (second, labels, weights) = batches[0], batches[1]
    _, states = backbone({"token_ids": first["token_ids"]}, return_states=True)
    states = keras.tree.map_structure(
        lambda s: keras.ops.convert_to_tensor(to_numpy(s)), states
    )
    loss = SmoothedCrossEntropy()

    def plain():
        logits = backbone({"token_ids": second["token_ids"], "states": states})
        return loss(labels, logits, sample_weight=weights)

    value, wanted = gradients(backbone.trainable_variables, plain)
    model.train_on_batch(first, batches[0][1], batches[0][2])

    def carried():
        features = model(second, training=True)
        return model.compute_loss(second, labels, features, weights)

    same, found = gradients(backbone.trainable_variables, carried)
    assert same == pytest.approx(value, rel=1e-5)
    for a, b in zip(found, wanted, strict=True):
        close(a, b)

import numpy as np

from zoo.training.batches.padded_batches import GeneratedBatches


def draw(count, epoch):
    x = np.random.default_rng((7, epoch)).normal(size=(count, 2))
    return {"x": x}, x.sum(1)


def test_an_epochs_examples_are_drawn_anew_and_the_same_again():
    batches = GeneratedBatches(draw, count=12, batch_size=4)
    assert (len(batches), batches.tokens, batches.unit) == (3, 12, "sequences")
    first = [batches[i][0]["x"] for i in range(3)]
    np.testing.assert_array_equal(np.concatenate(first), draw(12, 0)[0]["x"])
    batches.set_epoch(3)
    assert (batches[0][0]["x"] != first[0]).all()
    batches.set_epoch(3, start=1)  # resumed
    assert len(batches) == 2
    np.testing.assert_array_equal(batches[0][1], draw(12, 3)[1][4:8])
    batches.set_epoch(0)
    np.testing.assert_array_equal(batches[0][0]["x"], first[0])

"""Truncated backpropagation through a long text, with the state carried over."""

from typing import Any

import keras
import numpy as np
from keras import ops

from zoo.backend import Tensor
from zoo.checks import positive
from zoo.ids import PAD_ID
from zoo.layers.functional import cast_weights
from zoo.text.vocabulary import lay_out
from zoo.training.fast.logit_free import LogitFreeTrainer


class StreamBatches(keras.utils.PyDataset):
    """One text as parallel streams, cut into segments that follow each other.

    Row b of a batch goes on where row b of the batch before ended. Each batch is
    `({"token_ids", "keep"}, labels, weights)`: `keep` `(B,)` is 0 for the first of an
    epoch, whose state is to be zero, and 1 for the others.

    Args:
        rows: list of lists of word ids, the sentences in their order; an end token is
            put behind each.
        batch_size: streams B.
        length: words of a segment.

    Raises:
        ValueError: if a size is no positive integer, or there are no rows.

    Example:
        >>> batches = StreamBatches([[4, 5, 6], [7, 8]], batch_size=2, length=2)
        >>> len(batches), batches[0][0]["token_ids"].tolist(), batches[0][1].tolist()
        (2, [[3, 4], [3, 7]], [[4, 5], [7, 8]])
    """

    unit = "words"

    def __init__(self, rows: Any, batch_size: int, length: int, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        size = positive("batch_size", batch_size)
        self.length = positive("length", length)
        self._inputs, self._labels = lay_out(rows, size, self.length)
        self.tokens = int((self._labels != PAD_ID).sum())
        self.set_epoch(0)

    def set_epoch(self, epoch: Any, start: int = 0) -> None:
        """See `PairBatches.set_epoch`; the order is always that of the text."""
        self.start = start
        self._order = list(range(self._inputs.shape[1] // self.length))[start:]

    def __len__(self):
        return len(self._order)

    def __getitem__(self, index):
        place = self._order[index]
        part = slice(place * self.length, (place + 1) * self.length)
        labels = self._labels[:, part]
        first = index == 0 and self.start == 0
        keep = np.full(len(labels), 0.0 if first else 1.0, "float32")
        inputs = {"token_ids": self._inputs[:, part], "keep": keep}
        return inputs, labels, (labels != PAD_ID).astype("float32")


@keras.saving.register_keras_serializable(package="zoo")
class CarriedState(LogitFreeTrainer):
    """A language model in training, whose state goes on from batch to batch.

    The state is in variables that are not trained; no gradient passes from one
    batch into the one before. Called, it gives what the output layer reads,
    `(B, T, hidden_dim)`; `fit` it on `StreamBatches`, in their order, with a
    `SmoothedCrossEntropy`, which does without the logits of a whole batch. (`evaluate`
    would start from what training left: `RecurrentCausalLM.perplexity` doesn't.)

    Args:
        backbone: a `zoo.models.RecurrentLM`; what is learned is in it.
        batch_size: streams.

    Example:
        >>> from zoo.models import RecurrentLM
        >>> backbone = RecurrentLM(9, embedding_dim=4, hidden_dim=4)
        >>> batches = StreamBatches([[4, 5, 6], [7, 8]], batch_size=2, length=2)
        >>> CarriedState(backbone, 2)(batches[0][0]).shape
        (2, 2, 4)
    """

    def __init__(self, backbone: Any, batch_size: int, **kwargs: Any) -> None:
        super().__init__(backbone, **kwargs)
        self.batch_size = positive("batch_size", batch_size)
        states = keras.tree.flatten(backbone.initial_states(batch_size))
        options = {"initializer": "zeros", "trainable": False}
        self.carried = [
            self.add_weight(tuple(state.shape), name=f"state_{number}", **options)
            for number, state in enumerate(states)
        ]
        self.built = True

    @property
    def backbone(self) -> Any:
        return self.task

    def call(self, inputs: Tensor, training: bool = False) -> Tensor:
        dtype = self.backbone.compute_dtype
        keep = ops.cast(inputs["keep"], dtype)[:, None]
        states = keras.tree.pack_sequence_as(
            self.backbone.initial_states(self.batch_size),
            [keep * cast_weights(state, dtype) for state in self.carried],
        )
        features, states = self.backbone.read(inputs["token_ids"], states, training)
        if training:
            states = keras.tree.flatten(states)
            for variable, state in zip(self.carried, states, strict=True):
                variable.assign(ops.stop_gradient(ops.cast(state, variable.dtype)))
        return features

    def projected_loss(
        self, features: Tensor, y: Tensor, sample_weight: Tensor | None
    ) -> Tensor:
        weights = self.backbone.output_weights()
        return self.loss.projected(features, *weights, y, sample_weight)

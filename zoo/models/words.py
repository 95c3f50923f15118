"""The tasks that read words."""

from typing import Any

import keras
import numpy as np

from zoo.backend import Shape, Tensor
from zoo.models.base import Presets, TaskMethods, holds_ids
from zoo.text.preprocessor import needed_preprocessor


class TextTask(TaskMethods, Presets):
    """A backbone and a preprocessor that turns text into arrays.

    `fit`, `evaluate` and `predict` work on text, which the preprocessor turns into
    arrays all at once, or batch by batch from a `tf.data.Dataset`; or on ids: a dict of
    integer arrays, a `keras.utils.PyDataset`, a `tf.data.Dataset` without strings, or
    any data without a preprocessor. The same holds for `validation_data`.
    """

    def build(self, input_shape: Shape | None = None) -> None:
        self.built = True

    def call(self, inputs: Tensor, training: bool = False) -> Any:
        return self.backbone(inputs, training=training)

    def _arrays(self, x, y=None, sample_weight=None):
        y, sample_weight = (
            np.asarray(v) if isinstance(v, (list, tuple)) and _is_plain(v) else v
            for v in (y, sample_weight)
        )
        if self.preprocessor is None or holds_ids(x):
            return x, y, sample_weight
        if hasattr(x, "element_spec"):
            return x.map(self.preprocessor), y, sample_weight
        arrays = self.preprocessor(x, y=y, sample_weight=sample_weight)
        return keras.utils.unpack_x_y_sample_weight(arrays)

    def fit(
        self,
        x: Tensor | None = None,
        y: Tensor | None = None,
        *args: Any,
        sample_weight: Tensor | None = None,
        **kwargs: Any,
    ) -> Any:
        """`keras.Model.fit`."""
        x, y, weights = self._arrays(x, y, sample_weight)
        if kwargs.get("validation_data") is not None:
            parts = keras.utils.unpack_x_y_sample_weight(kwargs["validation_data"])
            arrays = self._arrays(*parts)
            kwargs["validation_data"] = arrays[0] if arrays[1] is None else arrays
        options = {"sample_weight": weights, **kwargs}
        return keras.Model.fit(self, x, y, *args, **options)

    def evaluate(
        self,
        x: Tensor | None = None,
        y: Tensor | None = None,
        *args: Any,
        sample_weight: Tensor | None = None,
        **kwargs: Any,
    ) -> Any:
        """`keras.Model.evaluate`."""
        x, y, sample_weight = self._arrays(x, y, sample_weight)
        options = {"sample_weight": sample_weight, **kwargs}
        with self.values_kept():
            return keras.Model.evaluate(self, x, y, *args, **options)

    def predict(self, x: Tensor | None = None, *args: Any, **kwargs: Any) -> Any:
        """`keras.Model.predict`."""
        with self.values_kept():
            return keras.Model.predict(self, self._arrays(x)[0], *args, **kwargs)


def _is_plain(values):
    """Whether a list is of numbers, or of lists of them of equal length."""
    try:
        return np.asarray(values).dtype.kind in "iufb"
    except ValueError:
        return False


class WordTask(TextTask):
    """A `TextTask` whose preprocessor's tokenizer is a `zoo.text.WordTokenizer`."""

    def __init__(self, backbone: Any, preprocessor: Any = None, **kwargs: Any) -> None:
        # Before any attribute: layers set earlier are not tracked under torch.
        super().__init__(**kwargs)
        self.check_vocabulary(backbone, preprocessor)
        self.backbone = backbone
        self.preprocessor = preprocessor
        self.build(None)

    @classmethod
    def _from_folder(cls, folder: Any, **kwargs: Any) -> Any:
        task = super()._from_folder(folder, **kwargs)
        # Once more: the vocabulary is read last of all.
        task.check_vocabulary(task.backbone, task.preprocessor)
        return task

    def check_vocabulary(self, backbone: Any, preprocessor: Any) -> Any:
        """A model reads the ids of its tokenizer, no fewer and no more."""
        tokenizer = getattr(preprocessor, "tokenizer", None)
        if tokenizer is None or tokenizer.empty:
            return  # before a preset's files are read
        size = tokenizer.vocabulary_size()
        if backbone.vocabulary_size != size:
            raise ValueError(
                "The backbone's `vocabulary_size` must be that of the tokenizer, "
                f"{size}. Received: vocabulary_size={backbone.vocabulary_size}"
            )

    def encoded(self, texts: str | list[str]) -> Any:
        """The words' ids of each text: a list of lists of int."""
        return needed_preprocessor(self, "Reading text").encode(texts)

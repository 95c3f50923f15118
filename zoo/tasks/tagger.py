"""Part-of-speech tagging by Schuster & Paliwal's bidirectional net."""

from typing import Any

import keras
import keras_hub

from zoo.decoding.labels import Tagging
from zoo.models.birnn import BiRNNWords
from zoo.tasks.task_base import TextTask
from zoo.text.tagger_preprocessor import TaggerPreprocessor

TaggerPreprocessor.backbone_cls = BiRNNWords  # by which KerasHub finds it


@keras.saving.register_keras_serializable(package="zoo")
class BiRNNTagger(Tagging, TextTask, keras_hub.models.Task):
    """Tags the words of sentences with a `BiRNNWords`.

    Args:
        backbone: a `BiRNNWords`.
        preprocessor: a `TaggerPreprocessor` of its sizes, or None to work on ids.

    Raises:
        ValueError: if the preprocessor's vocabularies are not of the backbone's sizes.

    Example:
        >>> from zoo.text import TaggerPreprocessor
        >>> sentences, tags = [["a", "dog", "runs"]], [["DET", "NOUN", "VERB"]]
        >>> preprocessor = TaggerPreprocessor.of(sentences, tags)
        >>> tagger = BiRNNTagger(BiRNNWords(**preprocessor.sizes()), preprocessor)
        >>> [word for word, tag in tagger.tag("A dog runs.")]
        ['A', 'dog', 'runs', '.']
    """

    backbone_cls = BiRNNWords
    preprocessor_cls = TaggerPreprocessor
    task_name = "tag"
    text_columns = ("words", "tags")

    def __init__(self, backbone: Any, preprocessor: Any = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.backbone = backbone
        self.preprocessor = preprocessor
        self._check()
        self.build(None)

    def compile(
        self,
        optimizer: str = "auto",
        loss: str = "auto",
        *,
        weighted_metrics: Any = "auto",
        **kwargs: Any,
    ) -> None:
        """`keras.Model.compile`.

        Args:
            optimizer: "auto", the default, for Adam with a rate of 1e-3.
            loss: "auto", the default, for the cross-entropy of the tags.
            weighted_metrics: "auto", the default, for the accuracy.
            **kwargs: further arguments.
        """
        if loss == "auto":
            loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        if weighted_metrics == "auto":
            weighted_metrics = [keras.metrics.SparseCategoricalAccuracy()]
        super().compile(optimizer, loss, weighted_metrics=weighted_metrics, **kwargs)

    @property
    def class_names(self) -> list[str]:
        """The tags, which `fit`'s `class_weight` may name."""
        return self.preprocessor.get_vocabularies()["tags"] if self.preprocessor else []

    @classmethod
    def _from_folder(cls, folder: Any, **kwargs: Any) -> Any:
        task = super()._from_folder(folder, **kwargs)
        task._check()  # the vocabularies have come in the meantime
        return task

    def _check(self):
        if self.preprocessor is None or self.preprocessor.empty:
            return
        for name, size in self.preprocessor.sizes().items():
            received = getattr(self.backbone, name)
            if received != size:
                raise ValueError(
                    f"The backbone's `{name}` must be that of the preprocessor, "
                    f"{size}. Received: {name}={received}"
                )

    def logits(self, inputs: Any) -> Any:
        return keras.Model.predict_on_batch(self, inputs)

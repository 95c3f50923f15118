"""Part-of-speech tagging by Schuster & Paliwal's bidirectional net."""

from typing import Any

import keras
import keras_hub

from zoo.decoding.word_methods import Tagging
from zoo.models.birnn import BiRNNWords
from zoo.tasks.task_base import TextTask
from zoo.text.word_preprocessors import TaggerPreprocessor

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

    def _vocabulary_sizes(self) -> dict[str, int]:
        if self.preprocessor is None or self.preprocessor.empty:
            return {}
        return self.preprocessor.sizes()

    def logits(self, inputs: Any) -> Any:
        return keras.Model.predict_on_batch(self, inputs)

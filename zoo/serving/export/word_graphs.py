"""The signatures of models over words: language models, taggers, classifiers."""

from typing import Any

import keras_hub
import tensorflow as tf

from zoo.backend import Tensor
from zoo.checks import integer
from zoo.serving.export.search_signatures import log_probability, padded_frame
from zoo.serving.protocol import SIGNATURES
from zoo.text.graph import CHARACTERS_PER_PIECE, frame, pad_to_longest, valid_text
from zoo.text.graph_words import TaggerGraph, WordGraph, sentence_words
from zoo.text.tokenizer import END_ID, PAD_ID

MAX_WORDS = 256  # of an input


class _WordSignatures:
    """Signatures of a task over words; see `SearchSignatures` for the attributes."""

    takes: tuple[str, ...] = ()

    def __init__(self, task):
        self.model = task
        self.limits: dict[str, Any] = {"max_source_length": MAX_WORDS}
        self.graph = self._graph(task.preprocessor)
        self.resources = self.graph.resources

    def functions(self):
        """Returns the signatures of `zoo.serving.protocol.SIGNATURES` by name."""
        return {name: getattr(self, name) for name in SIGNATURES[self.model.task_name]}

    def _graph(self, preprocessor: Any) -> Any:
        return WordGraph(preprocessor.tokenizer)

    def _read(self, text, limit):
        """Returns the first words of each text, ragged; the end may not be read."""
        size = limit * CHARACTERS_PER_PIECE
        text = tf.strings.substr(valid_text(text), 0, size, unit="UTF8_CHAR")
        return self._words(text)[:, :limit]

    def _words(self, text):
        return self.graph.tokenize(text)


class LanguageModelSignatures(_WordSignatures):
    """The signatures of a `zoo.models.RecurrentCausalLM`."""

    takes = ("max_length",)

    def __init__(self, task: Any, max_length: int | None = None) -> None:
        super().__init__(task)
        call = type(task.sampler).__call__
        if call is not keras_hub.samplers.Sampler.__call__:
            raise ValueError(
                "A language model is served with a sampler that draws one word after "
                f"another. Received: {type(task.sampler).__name__}"
            )
        if max_length is not None:
            integer("max_length", max_length, 2)
        self.length = max_length or task.preprocessor.sequence_length
        self.limits["max_length"] = self.length

    def generate(self, text: Tensor) -> dict[str, Tensor]:
        """Returns `text`, each prompt with the sampler's continuation."""
        rows = self._read(text, self.length - 1)
        # They follow the end of the previous text.
        inputs, _ = frame(rows, END_ID, END_ID)
        ids = inputs.to_tensor(shape=[None, self.length])
        return {"text": self.graph.detokenize(self._continue(ids)[:, 1:])}

    def _continue(self, ids):
        """Continues prompts `(B, T)` as `generate_step` does.

        KerasHub's loop writes words with an XLA operation, which this avoids.
        """
        sampler, is_prompt = self.model.sampler, ids != PAD_ID

        def unfinished(index, ids, states):
            ended = tf.reduce_any((ids == END_ID) & ~is_prompt, axis=1)
            return (index < self.length) & ~tf.reduce_all(ended)

        def body(index, ids, states):
            logits, states = self.model.next_word(ids[:, index - 1], states)
            drawn = sampler.get_next_token(sampler.compute_probabilities(logits))
            # Prompts stay as they are.
            new = (tf.range(self.length) == index) & ~is_prompt
            ids = tf.where(new, tf.cast(drawn, ids.dtype)[:, None], ids)
            return index + 1, ids, states

        states = self.model.backbone.start(tf.shape(ids)[0], self.length)
        return tf.while_loop(unfinished, body, (tf.constant(1), ids, states))[1]

    def score(self, text: Tensor) -> dict[str, Tensor]:
        """Returns `log_probability` of each text, its end token included."""
        rows = self._read(text, MAX_WORDS)
        backbone, (inputs, labels) = self.model.backbone, padded_frame(rows, END_ID)
        features, _ = backbone.read(inputs)
        return {
            "log_probability": log_probability(features, labels, backbone.output_layer)
        }


class TaggerSignatures(_WordSignatures):
    """The signature of a `zoo.models.BiRNNTagger`."""

    def _graph(self, preprocessor):
        return TaggerGraph(preprocessor)

    def _words(self, text):
        return sentence_words(text)

    def tag(self, text: Tensor) -> dict[str, Tensor]:
        """Returns `words` and `tags` `(B, T)`, padded with the empty string."""
        words = self._read(text, MAX_WORDS)
        inputs = self.graph.arrays(words)
        best = tf.argmax(self.model.backbone(inputs), axis=-1)
        real = inputs["word_ids"] != PAD_ID
        tags = tf.where(real, tf.gather(tf.constant(self.graph.tags), best), "")
        return {"words": pad_to_longest(words), "tags": tags}


class ClassifierSignatures(_WordSignatures):
    """The signature of a `zoo.models.SentimentClassifier`."""

    def classify(self, text: Tensor) -> dict[str, Tensor]:
        """Returns `class`, the most probable, and `probabilities` `(B, classes)`."""
        rows = self._read(text, MAX_WORDS)
        logits = self.model.backbone({"token_ids": pad_to_longest(rows)})
        logits = tf.cast(logits, "float32")
        names = tf.constant(self.model.backbone.classes)
        return {
            "class": tf.gather(names, tf.argmax(logits, axis=-1)),
            "probabilities": tf.nn.softmax(logits),
        }

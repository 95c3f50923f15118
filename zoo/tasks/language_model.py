"""Continues and scores text with a recurrent language model."""

from typing import Any

import keras
import keras_hub
from keras import ops

from zoo.backend import Tensor
from zoo.decoding.compiled import compiled, label_log_probs
from zoo.decoding.word_methods import Scoring
from zoo.ids import END_ID, PAD_ID
from zoo.models.recurrent_lm import RecurrentLM
from zoo.tasks.task_base import Generating, TextTask
from zoo.text import WordPreprocessor


@keras.saving.register_keras_serializable(package="zoo")
class RecurrentLMPreprocessor(WordPreprocessor):
    """Strings to ids and back for `RecurrentLM`."""

    backbone_cls = RecurrentLM


@keras.saving.register_keras_serializable(package="zoo")
class RecurrentCausalLM(Generating, Scoring, TextTask, keras_hub.models.CausalLM):
    """Continues and scores text with a `RecurrentLM`.

    A sentence begins behind the end token of the one before, which is what the model
    reads first. `generate` writes words of the vocabulary, `<unk>` never: it is left
    out at each step.

    Args:
        backbone: a `RecurrentLM`.
        preprocessor: a `RecurrentLMPreprocessor`, or None to work on ids.

    Raises:
        ValueError: if the preprocessor's vocabulary is not the backbone's.

    Example:
        >>> from zoo.text import WordTokenizer
        >>> tokenizer = WordTokenizer(["a", "dog", "runs"])
        >>> model = RecurrentCausalLM(
        ...     RecurrentLM(7, embedding_dim=4, hidden_dim=4),
        ...     RecurrentLMPreprocessor(tokenizer, sequence_length=8),
        ... )
        >>> model.generate("a dog", max_length=5).startswith("a dog")
        True
        >>> model.perplexity(["a dog runs"]) > 1
        True
    """

    backbone_cls = RecurrentLM
    preprocessor_cls = RecurrentLMPreprocessor
    task_name = "generate"

    def next_word(self, token_ids: Tensor, states: Any) -> Any:
        """The `backbone.step` of `generate`: `(logits (B, V), states)`.

        It writes no unknown word, and of the special tokens the end alone.
        """
        logits, states = self.backbone.step(token_ids, states)
        places = ops.arange(logits.shape[-1], dtype="int32")
        return ops.where(places < END_ID, -3e4, logits), states

    def generate_step(
        self, inputs: Tensor, stop_token_ids: list[int] | None = None
    ) -> Any:
        """One batch of `generate`, by the sampler that `compile` was given.

        Args:
            inputs: dict of `token_ids` int (B, T), the prompts, and `padding_mask`
                (B, T), true where they are.
            stop_token_ids: ids that end a text; None for none.

        Returns:
            The same dict, filled up; the mask is true up to each row's first stop
            token.
        """
        token_ids = ops.cast(inputs["token_ids"], "int32")
        token_ids, counts = self.sample(
            self.next_word,
            token_ids,
            ops.cast(inputs["padding_mask"], "bool"),
            self.backbone.start(*ops.shape(token_ids)),
            stop_token_ids,
        )
        return {"token_ids": token_ids, "padding_mask": counts}

    def label_sums(self, inputs: Tensor, labels: Tensor, states: Any) -> Any:
        """`segment` of tensors, from states as `backbone.initial_states` gives them."""
        logits, states = self.backbone(
            {"token_ids": inputs, "states": states}, return_states=True
        )
        real = ops.cast(ops.not_equal(labels, PAD_ID), "float32")
        return ops.sum(label_log_probs(logits, labels) * real, axis=-1), states

    def segment(self, inputs: Any, labels: Any, states: Any = None) -> tuple[Any, Any]:
        """Sums the log-probabilities of the real labels of each row.

        Args:
            inputs: word ids int `(B, T)`, padded with 0.
            labels: the words that follow them, likewise.
            states: those that the segment before returned; None at the beginning.

        Returns:
            Sums `(B,)` and the states behind the segment, arrays both.
        """
        if states is None:
            states = keras.tree.map_structure(
                ops.convert_to_numpy, self.backbone.initial_states(len(inputs))
            )

        def function(inputs, labels, *leaves):
            given = keras.tree.pack_sequence_as(states, leaves)
            sums, after = self.label_sums(inputs, labels, given)
            return sums, *keras.tree.flatten(after)

        run = compiled(self, "segment", function)
        sums, *leaves = run(inputs, labels, *keras.tree.flatten(states))
        return sums, keras.tree.pack_sequence_as(states, leaves)

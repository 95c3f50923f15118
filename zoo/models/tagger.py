"""Part-of-speech tagging by Schuster & Paliwal's bidirectional net."""

from typing import Any

import keras
import keras_hub
from keras import ops

from zoo.backend import Shape, Tensor
from zoo.decoding.labels import Tagging
from zoo.models.base import Backbone
from zoo.models.birnn import CELLS, BiRNN
from zoo.models.words import TextTask
from zoo.text.tags import TaggerPreprocessor
from zoo.text.tokenizer import PAD_ID, UNKNOWN_ID


@keras.saving.register_keras_serializable(package="zoo")
class BiRNNWords(Backbone):
    """Words, by their vectors and their letters, read by a `BiRNN`.

        e_t = [w_t E; max_j tanh(K c_{j..j+k})]        the word's vector and letters
        y_t = BiRNN(e_1 … e_T)                          logits of the tags

    None of this but the `BiRNN` is in the paper, which tags frames of speech. The
    letters are read by a convolution whose largest response counts (as in dos Santos &
    Zadrozny 2014); a word's end is where the zeros begin. The defaults are those of the
    preset: an LSTM in each direction instead of the paper's simple cells, dropout, and
    words that are unknown now and then in training, so that the net learns to go by
    their letters.

    Args:
        vocabulary_size: word ids, 0 for pads and 1 for unknown words included.
        character_size: character ids, likewise.
        output_dim: tags.
        embedding_dim: size of a word's vector. Default 100.
        character_dim: size of a character's vector. Default 32.
        filters: features of a word's letters. Default 128.
        window: characters that a filter sees, an odd number. Default 5.
        hidden_dim: units of each chain. Default 128.
        cell: "lstm", the default, "gru" or "rnn".
        dropout: on the BiRNN's inputs and states. Default 0.4.
        word_dropout: share of the words that are unknown in training. Default 0.2.
        initializer_range: r of U(-r, r) for all weights. Default 0.1.
        dtype: dtype policy.

    Call arguments:
        inputs: dict of `word_ids` int `(B, T)` and `character_ids` int `(B, T, C)`,
            both padded at the right with 0.

    Returns:
        Logits `(B, T, output_dim)`; at padding they are undefined. They carry the mask
        of the words, so Keras's losses are means over real words.

    Raises:
        ValueError: for a size or range that is not positive, a rate outside [0, 1), an
            even window, or a cell that there isn't.

    Example:
        >>> import numpy as np
        >>> model = BiRNNWords(vocabulary_size=20, character_size=9, output_dim=3)
        >>> letters = np.ones((2, 5, 4), "int32")
        >>> model({"word_ids": letters[:, :, 0], "character_ids": letters}).shape
        (2, 5, 3)
    """

    def __init__(
        self,
        vocabulary_size: int,
        character_size: int,
        output_dim: int,
        embedding_dim: int = 100,
        character_dim: int = 32,
        filters: int = 128,
        window: int = 5,
        hidden_dim: int = 128,
        cell: str = "lstm",
        dropout: float = 0.4,
        word_dropout: float = 0.2,
        initializer_range: float = 0.1,
        dtype: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(dtype=dtype, **kwargs)
        self.configure(
            sizes={
                "vocabulary_size": vocabulary_size,
                "character_size": character_size,
                "output_dim": output_dim,
                "embedding_dim": embedding_dim,
                "character_dim": character_dim,
                "filters": filters,
                "window": window,
                "hidden_dim": hidden_dim,
            },
            rates={"dropout": dropout, "word_dropout": word_dropout},
            ranges={"initializer_range": initializer_range},
            choices={"cell": (cell, CELLS)},
        )
        if window % 2 == 0:
            raise ValueError(f"`window` must be odd. Received: window={window}")
        self.seed_generator = keras.random.SeedGenerator()
        self.token_embedding = self._embedding(vocabulary_size, embedding_dim, "words")
        self.character_embedding = self._embedding(
            character_size, character_dim, "characters"
        )
        self.convolution = keras.layers.Dense(
            filters,
            kernel_initializer=self._uniform(),
            dtype=self.dtype_policy,
            name="convolution",
        )
        self.birnn = BiRNN(
            embedding_dim + filters,
            output_dim,
            hidden_dim,
            cell=cell,
            dropout=dropout,
            initializer_range=initializer_range,
            dtype=self.dtype_policy,
            name="birnn",
        )
        self.build(None)

    def _uniform(self):
        limit = self.initializer_range
        return keras.initializers.RandomUniform(-limit, limit)

    def _embedding(self, count, size, name):
        return keras.layers.Embedding(
            count,
            size,
            embeddings_initializer=self._uniform(),
            dtype=self.dtype_policy,
            name=name,
        )

    def build(self, input_shape: Shape | None = None) -> None:
        self.token_embedding.build((None, None))
        self.character_embedding.build((None, None, None))
        self.convolution.build((None, None, self.window * self.character_dim))
        self.built = True

    def input_signature(self) -> Any:
        axes = {"word_ids": 2, "character_ids": 3}
        return {x: keras.InputSpec("int32", (None,) * n) for x, n in axes.items()}

    def call(self, inputs: Tensor, training: bool = False) -> Any:
        word_ids = ops.cast(inputs["word_ids"], "int32")
        letters = self.read_letters(inputs["character_ids"])
        mask = ops.not_equal(word_ids, PAD_ID)
        if training and self.word_dropout:
            word_ids = self._forget(word_ids)
        words = self.token_embedding(word_ids)
        frames = ops.concatenate([words, letters], axis=-1)
        return self.birnn(frames, mask=mask, training=training)

    @property
    def output_layer(self) -> Any:
        """The layer that gives the tags' logits, that of the `BiRNN`."""
        return self.birnn.output_layer

    def read_letters(self, character_ids: Tensor) -> Any:
        """Features of each word's letters: `(B, T, C)` to `(B, T, filters)`."""
        ids = ops.cast(character_ids, "int32")
        batch, time, length = ops.shape(ids)
        ids = ops.reshape(ids, (-1, length))
        real = ops.not_equal(ids, PAD_ID)[..., None]
        letters = self.character_embedding(ids)
        letters = letters * ops.cast(real, letters.dtype)
        side = self.window // 2
        padded = ops.pad(letters, ((0, 0), (side, side), (0, 0)))
        windows = [padded[:, i : i + length] for i in range(self.window)]
        responses = ops.tanh(self.convolution(ops.concatenate(windows, axis=-1)))
        # Above -1, the least that tanh can give; a word without letters has zeros.
        responses = ops.where(real, responses, -1.0)
        responses = ops.where(ops.any(real, axis=1), ops.max(responses, axis=1), 0.0)
        return ops.reshape(responses, (batch, time, self.filters))

    def _forget(self, word_ids):
        """Makes some words unknown, but no pads."""
        drawn = keras.random.uniform(ops.shape(word_ids), seed=self.seed_generator)
        forgotten = ops.logical_and(drawn < self.word_dropout, word_ids != PAD_ID)
        return ops.where(forgotten, UNKNOWN_ID, word_ids)


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

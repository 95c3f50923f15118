"""Show, Attend and Tell: Xu et al. 2015 (arXiv 1502.03044).

"Neural Image Caption Generation with Visual Attention"; here it reads text.
"""

from typing import Any

import keras
from keras import ops

from zoo.backend import Shape, Tensor
from zoo.checks import zero_or_above
from zoo.layers import (
    AdditiveAttention,
    ContextCell,
    ContextDecoder,
    HardAttention,
    LSTMCell,
    RecurrentStack,
)
from zoo.layers.context import doubly_stochastic_penalty
from zoo.layers.hard_attention import reinforce
from zoo.layers.initializers import PerGate
from zoo.models.seq2seq import PAD_ID, Seq2SeqBackbone, Translator, shift_right
from zoo.text.preprocessor import TranslatorPreprocessor

ATTENTIONS = ("soft", "hard")


@keras.saving.register_keras_serializable(package="zoo")
class ShowAttendTell(Seq2SeqBackbone):
    """Xu et al. 2015's decoder, soft or hard, over the annotations of a sentence.

        e_ti = f_att(a_i, h_{t-1}),  α_t = softmax(e_t)          equations 4 and 5
        soft:  z_t = β_t Σ_i α_ti a_i,  β_t = σ(f_β(h_{t-1}))    section 4.2.1
        hard:  s_t ~ Multinoulli(α_t),  z_t = β_t Σ_i s_ti a_i   equations 8 and 9
        h_t, c_t = LSTM([E y_{t-1}; z_t], h_{t-1}, c_{t-1})      equations 1 to 3
        c_0 = f_c(mean_i a_i),  h_0 = f_h(mean_i a_i)            section 3.1.2
        p(y_t) ∝ exp(L_o (E y_{t-1} + L_h h_t + L_z z_t))        equation 7

    The paper's annotations a_i are the 196 places of a convolutional net's map of an
    image; here they are the states of a bidirectional LSTM, so that the decoder can be
    studied on the zoo's text. (The paper has β with soft attention; here hard attention
    has it too.) f_att is additive attention, f_c and f_h are one tanh
    layer each (the authors' script has two layers in each of the three). `output_tanh`
    puts a tanh before L_o, as their code does and equation 7 doesn't. The paper does
    not say how weights start: matrices are Glorot uniform, recurrent ones orthogonal,
    each gate's by itself, biases 0.

    With `attention="hard"` the model must be trained by its own task,
    `ShowAttendTellTranslator`, whose loss has the estimator of section 4.1. Where it
    decodes, it takes the most probable place.

    Args:
        vocabulary_size: source vocabulary. Paper: 10,000 (of the captions).
        target_vocabulary_size: None, the default, for that of the source.
        hidden_dim: LSTM cells of the decoder. Paper: 1800 (COCO).
        embedding_dim: m. Paper: 512.
        annotation_dim: D, both directions of the encoder together. Paper: 512.
        attention_dim: hidden layer of f_att. Default 512, as D.
        attention: "soft" or "hard".
        gate: whether there is β. Paper: True.
        doubly_stochastic: λ of equation 14, 1 in the authors' script; it is made for a
            loss per sentence, see `zoo.layers.ContextDecoder`.
        output_tanh: see above.
        dropout: on word vectors and before L_o.
        dtype: dtype policy.

    Call arguments:
        inputs: dict of `source_ids` int (B, S) and `target_ids` int (B, T), the target
            shifted right (start token first), both padded at the right with 0.

    Returns:
        Logits `(B, T, target vocabulary)` of the next target token.

    Raises:
        ValueError: for another attention, sizes that are not positive, an odd
            `annotation_dim`, λ below 0, or a dropout rate outside [0, 1).

    Example:
        >>> import numpy as np
        >>> model = ShowAttendTell(20, hidden_dim=8, embedding_dim=6, annotation_dim=4,
        ...                        attention_dim=5)
        >>> ids = np.array([[4, 5, 6, 0], [7, 8, 0, 0]])
        >>> model({"source_ids": ids, "target_ids": ids}).shape
        (2, 4, 20)
    """

    def __init__(
        self,
        vocabulary_size: int = 10000,
        target_vocabulary_size: int | None = None,
        hidden_dim: int = 1800,
        embedding_dim: int = 512,
        annotation_dim: int = 512,
        attention_dim: int = 512,
        attention: str = "soft",
        gate: bool = True,
        doubly_stochastic: float = 1.0,
        output_tanh: bool = False,
        dropout: float = 0.0,
        dtype: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(dtype=dtype, **kwargs)
        self.configure(
            sizes={
                "vocabulary_size": vocabulary_size,
                "hidden_dim": hidden_dim,
                "embedding_dim": embedding_dim,
                "annotation_dim": annotation_dim,
                "attention_dim": attention_dim,
            },
            optional={"target_vocabulary_size": target_vocabulary_size},
            rates={"dropout": dropout},
            choices={"attention": (attention, ATTENTIONS)},
            flags={"gate": gate, "output_tanh": output_tanh},
            others={
                "doubly_stochastic": zero_or_above(
                    "doubly_stochastic", doubly_stochastic
                )
            },
        )
        policy = self.dtype_policy
        self.make_embeddings(embedding_dim, keras.initializers.GlorotUniform)
        self.encoder = RecurrentStack(
            annotation_dim,
            bidirectional=True,
            recurrent_initializer=PerGate("orthogonal", 4),
            dtype=policy,
            name="encoder",
        )
        self.start_h, self.start_c = (
            keras.layers.Dense(hidden_dim, activation="tanh", dtype=policy, name=name)
            for name in ("f_h", "f_c")
        )
        layer = AdditiveAttention(attention_dim, dtype=policy, name="f_att")
        if attention == "hard":
            layer = HardAttention(layer, dtype=policy, name="hard_attention")
        cell = ContextCell(
            LSTMCell(
                hidden_dim,
                unit_forget_bias=False,
                recurrent_initializer=PerGate("orthogonal", 4),
                dtype=policy,
                name="decoder_lstm",
            ),
            layer,
            gate=gate,
            dtype=policy,
            name="decoder_cell",
        )
        # Hard attention's penalty is not that of its draws: see `run`.
        penalty = doubly_stochastic if attention == "soft" else 0.0
        self.decoder = ContextDecoder(cell, penalty, dtype=policy, name="decoder")
        self.L_h, self.L_z = (
            keras.layers.Dense(embedding_dim, use_bias=bias, dtype=policy, name=name)
            for name, bias in (("L_h", True), ("L_z", False))
        )
        self.drop = keras.layers.Dropout(dropout, dtype=policy)
        self.seed_generator = keras.random.SeedGenerator()
        self.output_layer = keras.layers.Dense(
            self.target_size, dtype=policy, name="L_o"
        )
        self.build(None)

    def build(self, input_shape: Shape | None = None) -> None:
        words = (None, None, self.embedding_dim)
        annotations = (None, None, self.annotation_dim)
        self.encoder.build(words)
        for layer in (self.start_h, self.start_c):
            layer.build((None, self.annotation_dim))
        self.decoder.build(words, annotations)
        self.L_h.build((None, None, self.hidden_dim))
        self.L_z.build(annotations)
        self.output_layer.build(words)
        self.built = True

    # === The contract ===
    def encode(self, source_ids: Tensor, training: bool = False) -> dict[str, Any]:
        source_ids = ops.cast(source_ids, "int32")
        mask = ops.not_equal(source_ids, PAD_ID)
        words = self.drop(self.source_embedding(source_ids), training=training)
        annotations, _ = self.encoder(words, mask=mask, training=training)
        real = ops.cast(mask, annotations.dtype)
        count = ops.maximum(ops.sum(real, axis=1, keepdims=True), 1.0)
        mean = ops.sum(annotations, axis=1) / count  # pads are zeros
        return {
            "annotations": annotations,
            "keys": self.decoder.cell.attention.project(annotations),
            "mask": mask,
            "start": [self.start_h(mean), self.start_c(mean)],
        }

    def start(self, memory: Tensor) -> Any:
        batch = ops.shape(memory["annotations"])[0]
        return self.decoder.cell.get_initial_state(batch, memory["start"])

    def step(
        self, token_ids: Tensor, state: Tensor, memory: Tensor
    ) -> tuple[Tensor, list[Tensor], Tensor]:
        words = self.token_embedding(token_ids)  # E y_{t-1}
        output, context, weights, state = self.decoder.cell(  # h_t, z_t, α_t
            words,
            state,
            memory["annotations"],
            mask=memory["mask"],
            keys=memory["keys"],
        )
        return self.logits(self._readout(words, output, context)), state, weights

    def _readout(self, words, states, contexts, training=False):
        """The factor of L_o in equation 7: E y_{t-1} + L_h h_t + L_z z_t."""
        features = words + self.L_h(states) + self.L_z(contexts)
        features = ops.tanh(features) if self.output_tanh else features
        return self.drop(features, training=training)

    def run(
        self,
        inputs: Tensor,
        training: bool = False,
        noise: Tensor | None = None,
        return_alignments: bool = True,
    ) -> tuple[Tensor, Tensor | None, Tensor | None]:
        """Features, alignments and, with noise, α as it was before the draws.

        Args:
            inputs: as in the call.
            training: whether to train.
            noise: from `draw_noise`, for hard attention. The losses then have its
                doubly stochastic penalty.
            return_alignments: whether they are wanted.

        Returns:
            `(features (B, T, m), alignments (B, T, S) or None, alphas (B, T, S) or
            None)`.
        """
        memory = self.encode(inputs["source_ids"], training=training)
        target_ids = ops.cast(inputs["target_ids"], "int32")
        words = self.token_embedding(target_ids)
        words = self.drop(words, training=training)
        steps_mask = ops.not_equal(target_ids, PAD_ID)
        states, contexts, _, *alignments = self.decoder(
            words,
            memory["annotations"],
            mask=memory["mask"],
            initial_states=memory["start"],
            keys=memory["keys"],
            training=training,
            return_alignments=return_alignments,
            steps_mask=steps_mask,
            noise=noise,
        )
        alphas = None
        if noise is not None:
            _, alphas = self.decoder.cell.attention.attention(
                shift_right(states, memory["start"][0]),
                memory["annotations"],
                mask=memory["mask"],
                keys=memory["keys"],
            )
            penalty = doubly_stochastic_penalty(alphas, memory["mask"], steps_mask)
            self.add_loss(self.doubly_stochastic * penalty)
        features = self._readout(words, states, contexts, training)
        return features, alignments[0] if alignments else None, alphas

    def draw_noise(self, inputs: Tensor) -> Tensor:
        """New noise for hard attention to these inputs."""
        shape = (*ops.shape(inputs["target_ids"]), ops.shape(inputs["source_ids"])[1])
        return self.decoder.cell.attention.draw_noise(shape, self.seed_generator)

    def features(self, inputs: Tensor, training: bool = False) -> Tensor:
        return self.run(inputs, training, return_alignments=False)[0]

    def align(self, source_ids: Tensor, target_ids: Tensor) -> Tensor:
        return self.run({"source_ids": source_ids, "target_ids": target_ids})[1]


@keras.saving.register_keras_serializable(package="zoo")
class ShowAttendTellPreprocessor(TranslatorPreprocessor):
    """Strings to ids and back for `ShowAttendTell`."""

    backbone_cls = ShowAttendTell


@keras.saving.register_keras_serializable(package="zoo")
class ShowAttendTellTranslator(Translator):
    """Translates text with `ShowAttendTell`; see `zoo.models.Translator`.

    With hard attention its training loss has section 4.1's estimator: places are drawn,
    the baseline is b ← 0.9 b + 0.1 log p(y | s, a) (the batch's mean), and `reinforce`
    is added to the loss, divided by the same number. `baseline` is b, a state of
    training: checkpoints have it, another training begins with 0.

    Args:
        backbone, preprocessor, augmentation: as in `Translator`.
        reward: λ_r. 1/10 in the authors' code.
        entropy: λ_e. 0.002 there.

    Raises:
        ValueError: if λ_r or λ_e is below 0.
        ValueError: where hard attention is trained otherwise than by the model that
            `zoo.training.compile_for_training` returns.
    """

    backbone_cls = ShowAttendTell
    preprocessor_cls = ShowAttendTellPreprocessor

    def __init__(
        self,
        backbone: Any,
        *args: Any,
        reward: float = 0.1,
        entropy: float = 0.002,
        **kwargs: Any,
    ) -> None:
        super().__init__(backbone, *args, **kwargs)
        self.reward = zero_or_above("reward", reward)
        self.entropy = zero_or_above("entropy", entropy)

    def build(self, input_shape: Shape | None = None) -> None:
        self.baseline = self.add_weight(
            name="baseline", shape=(), initializer="zeros", trainable=False
        )
        self.built = True

    def call(self, inputs: Tensor, training: bool = False) -> Any:
        if training and self.backbone.attention == "hard":
            raise ValueError(
                "Hard attention is trained by the model that zoo.training."
                "compile_for_training returns, in float32 or bfloat16, not quantized, "
                "in one process. "
                f"Received: loss={getattr(self, 'loss', None)!r}, "
                f"dtype={self.backbone.compute_dtype}"
            )
        return super().call(inputs, training=training)

    def features(self, inputs: Tensor, training: bool = False) -> Any:
        """As a translator's; hard attention in training adds its draws.

        Then a dict of `features`, `choices`, the places drawn, and `alphas`, which is
        α.
        """
        if not (training and self.backbone.attention == "hard"):
            return super().features(inputs, training=training)
        inputs = self.augmented(inputs, training)
        noise = self.backbone.draw_noise(inputs)
        features, choices, alphas = self.backbone.run(inputs, True, noise)
        return {"features": features, "choices": choices, "alphas": alphas}

    def projected_loss(
        self,
        loss: Any,
        features: Tensor,
        y: Tensor,
        sample_weight: Tensor | None = None,
    ) -> Tensor:
        if not isinstance(features, dict):
            return super().projected_loss(loss, features, y, sample_weight)
        drawn, features = features, features["features"]
        total = super().projected_loss(loss, features, y, sample_weight)
        if sample_weight is None:
            sample_weight = ops.not_equal(ops.cast(y, "int32"), PAD_ID)
        weights = ops.cast(sample_weight, "float32")
        # No gradient passes through it: nothing is kept for one.
        logits = self.backbone.logits(ops.stop_gradient(features))
        losses = keras.losses.sparse_categorical_crossentropy(
            y, ops.cast(logits, "float32"), from_logits=True
        )
        log_likelihood = ops.stop_gradient(-ops.sum(losses * weights, axis=-1))
        real = ops.cast(weights > 0, "float32")[..., None]
        added = reinforce(
            log_likelihood,
            ops.cast(drawn["alphas"], "float32") * real,
            ops.cast(drawn["choices"], "float32") * real,
            self.baseline,
            self.reward,
            self.entropy,
        )
        mean = ops.mean(log_likelihood)
        self.baseline.assign(0.9 * self.baseline + 0.1 * mean)
        return total + ops.sum(added) / ops.maximum(loss.count(weights), 1.0)

    def get_config(self) -> dict[str, Any]:
        arguments = {"reward": self.reward, "entropy": self.entropy}
        return {**super().get_config(), **arguments}

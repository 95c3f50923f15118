"""Show, Attend and Tell: Xu et al. 2015 (arXiv 1502.03044).

"Neural Image Caption Generation with Visual Attention".
"""

from typing import Any, Literal, NamedTuple

import keras
from keras import ops

from zoo.backend import Shape, Tensor
from zoo.checks import check_image_shape
from zoo.ids import PAD_ID
from zoo.layers import (
    AdditiveAttention,
    ContextCell,
    ContextDecoder,
    HardAttention,
    ImageEncoder,
    LSTMCell,
)
from zoo.layers.configured import PerGate, Rate, Size, ZeroOrAbove
from zoo.layers.functional import apply_dense, columns, join
from zoo.layers.hard_attention import doubly_stochastic_penalty
from zoo.models.seq2seq import Seq2SeqBackbone, shift_right


class Memory(NamedTuple):
    """All that decoding needs of the source; see `ShowAttendTell.encode`."""

    annotations: Tensor  # a, (B, S, D)
    keys: Tensor  # what f_att makes of them, (B, S, k)
    mask: Tensor  # bool (B, S)
    start: list[Tensor]  # h_0 and c_0, (B, n)


class State(NamedTuple):
    """The decoder's state between two words, in R rows."""

    cells: list[Tensor]  # h_{t-1} and c_{t-1}, (R, n)
    t: Tensor  # the target position, int32 (R,)


@keras.saving.register_keras_serializable(package="zoo")
class ShowAttendTell(Seq2SeqBackbone):
    """Xu et al. 2015: a decoder that attends, softly or hard, to places of an image.

        e_ti = f_att(a_i, h_{t-1}),  α_t = softmax(e_t)          equations 4 and 5
        soft:  z_t = β_t Σ_i α_ti a_i,  β_t = σ(f_β(h_{t-1}))    section 4.2.1
        hard:  s_t ~ Multinoulli(α_t),  z_t = β_t Σ_i s_ti a_i   equations 8 and 9
        h_t, c_t = LSTM([y_{t-1} E; z_t], h_{t-1}, c_{t-1})      equations 1 to 3
        c_0 = f_c(mean_i a_i),  h_0 = f_h(mean_i a_i)            section 3.1.2
        p(y_t) ∝ exp((y_{t-1} E + h_t L_h + z_t L_z) L_o)        equation 7

    The annotations a_i are the places of a convolutional net's map of an image. The
    paper's net is VGG's, trained before and fixed: 196 vectors of 512. The default
    here, `zoo.layers.ImageEncoder`, is small and trained with the decoder; another can
    be passed.

    (The paper has β with soft attention; here hard attention has it too.) f_att is
    additive attention, f_c and f_h are one tanh layer each (the authors' script has two
    layers in each of the three). `output_tanh` puts a tanh before L_o, as their code
    does and equation 7 doesn't. The paper does not say how weights start: matrices are
    Glorot uniform, recurrent ones orthogonal, each gate's by itself, biases 0.

    With `attention="hard"` the model must be trained by its own task,
    `ShowAttendTellCaptioner`, whose loss has the estimator of section 4.1. Where it
    decodes, it takes the most probable place.

    Args:
        vocabulary_size: of the captions. Paper: 10,000.
        target_vocabulary_size: None, the default, for `vocabulary_size`.
        hidden_dim: LSTM cells of the decoder. Paper: 1800 (COCO).
        embedding_dim: m. Paper: 512.
        annotation_dim: D. Paper: 512.
        attention_dim: hidden layer of f_att. Default 512, as D.
        attention: "soft" or "hard".
        gate: whether there is β. Paper: True.
        doubly_stochastic: λ of equation 14, 1 in the authors' script; it is made for a
            loss per sentence: next to a mean over tokens it weighs more.
        output_tanh: see above.
        dropout: on word vectors and before L_o.
        image_shape: (height, width, channels) of the images. Paper: (224, 224, 3).
        image_encoder: Keras layer or model from float32 images `(B, H, W, C)`, numbers
            from 0 to 255, to a grid `(B, h, w, annotation_dim)`, channels last, such as
            a backbone of `keras_hub` or `keras.applications` that scales its inputs
            itself. It keeps its own dtype; `trainable = False` keeps its weights.
            `keras.layers.Identity()` for grids computed elsewhere. None, the default,
            for `ImageEncoder((D // 8, D // 2, D))`.
        dtype: dtype policy.

    Call arguments:
        inputs: dict of `images` (B, H, W, C), from 0 to 255 of any dtype, and
            `target_ids` int (B, T), the target shifted right (start token first),
            padded at the right with 0.

    Returns:
        Logits `(B, T, target vocabulary)` of the next target token.

    Raises:
        ValueError: for another attention, sizes that are not positive, λ below 0, a
            dropout rate outside [0, 1), an image encoder of another output, or images
            of another shape.

    Example:
        >>> import numpy as np
        >>> model = ShowAttendTell(20, hidden_dim=8, embedding_dim=6, annotation_dim=4,
        ...                        attention_dim=5, image_shape=(16, 24, 3))
        >>> images = np.zeros((2, 16, 24, 3), "uint8")
        >>> ids = np.array([[4, 5, 6, 0], [7, 8, 0, 0]])
        >>> model({"images": images, "target_ids": ids}).shape, model.grid
        ((2, 4, 20), (2, 3))
    """

    vocabulary_size: Size = 10000
    target_vocabulary_size: Size | None = None
    hidden_dim: Size = 1800
    embedding_dim: Size = 512
    annotation_dim: Size = 512
    attention_dim: Size = 512
    attention: Literal["soft", "hard"] = "soft"
    gate: bool = True
    doubly_stochastic: ZeroOrAbove = 1.0
    output_tanh: bool = False
    dropout: Rate = 0.0
    image_shape: Any = (224, 224, 3)
    image_encoder: Any = None

    def setup(self) -> None:
        self.image_shape = check_image_shape(self.image_shape)
        self.make_embeddings(
            self.embedding_dim, keras.initializers.GlorotUniform, source=False
        )
        self.encoder = self.image_encoder
        if self.encoder is None:
            filters = [max(self.annotation_dim // n, 1) for n in (8, 2, 1)]
            self.encoder = ImageEncoder(filters, **self.named("encoder"))
        self.start_h = self.dense(self.hidden_dim, "f_h", activation="tanh")
        self.start_c = self.dense(self.hidden_dim, "f_c", activation="tanh")
        layer = AdditiveAttention(self.attention_dim, **self.named("f_att"))
        if self.attention == "hard":
            layer = HardAttention(layer, **self.named("hard_attention"))
        cell = ContextCell(
            LSTMCell(
                self.hidden_dim,
                unit_forget_bias=False,
                recurrent_initializer=PerGate("orthogonal", 4),
                **self.named("decoder_lstm"),
            ),
            layer,
            gate=self.gate,
            **self.named("decoder_cell"),
        )
        self.decoder = ContextDecoder(cell, **self.named("decoder"))
        self.L_h = self.dense(self.embedding_dim, "L_h")
        self.L_z = self.dense(self.embedding_dim, "L_z", use_bias=False)
        self.drop = keras.layers.Dropout(self.dropout, dtype=self.dtype_policy)
        self.seed_generator = keras.random.SeedGenerator()
        self.output_layer = self.dense(self.target_size, "L_o")
        self.build(None)

    def parts(self) -> Any:
        m, n, d = self.embedding_dim, self.hidden_dim, self.annotation_dim
        return [
            (self.start_h, d),
            (self.start_c, d),
            (self.decoder, m, d),
            (self.L_h, n),
            (self.L_z, d),
            (self.output_layer, m),
        ]

    def build(self, input_shape: Shape | None = None) -> None:
        shape = (None, *self.image_shape)
        if not self.encoder.built:
            self.encoder.build(shape)
        grid = tuple(self.encoder.compute_output_shape(shape))
        if len(grid) != 4 or None in grid[1:] or grid[3] != self.annotation_dim:
            raise ValueError(
                "`image_encoder` must give grids of known size whose vectors have "
                f"`annotation_dim` numbers, (None, h, w, {self.annotation_dim}). "
                f"Received: one of output shape {grid} for images of {shape}"
            )
        self.grid: tuple[int, int] = grid[1:3]
        self.places = grid[1] * grid[2]
        super().build(input_shape)

    # === The contract ===
    source_name = "images"

    def encode(self, images: Tensor, training: bool = False) -> Memory:
        if tuple(images.shape[1:]) != self.image_shape:
            raise ValueError(
                f"images must have the shape {(None, *self.image_shape)}. "
                f"Received: {tuple(images.shape)}"
            )
        grid = self.encoder(ops.cast(images, "float32"), training=training)
        annotations = ops.reshape(grid, (-1, self.places, self.annotation_dim))
        annotations = ops.cast(annotations, self.compute_dtype)
        mask = ops.ones(ops.shape(annotations)[:2], dtype="bool")
        keys = self.decoder.cell.attention.project(annotations)
        mean = ops.mean(annotations, axis=1)
        start = [self.start_h(mean), self.start_c(mean)]
        return Memory(annotations, keys, mask, start)

    def start(self, memory: Memory) -> State:
        batch = ops.shape(memory.annotations)[0]
        *cells, t = self.decoder.cell.get_initial_state(batch, memory.start)
        return State(cells, t)

    def step(
        self, token_ids: Tensor, state: State, memory: Memory
    ) -> tuple[Tensor, State, Tensor]:
        decoder, (a, keys, mask, _), (h, _) = self.decoder.cell, memory, state.cells
        word = self.token_embedding(token_ids)  # y_{t-1} E
        # e_t, α_t, β_t and z_t: equations 4, 5, 8 and 9
        z, alpha = decoder.attend(h, a, mask, keys, state.t)
        h, cells = decoder.recur([word, z], state.cells)  # equations 1 to 3
        features = self.readout(word, h, z)  # the factor of L_o in equation 7
        return self.logits(features), State(cells, state.t + 1), alpha

    # Computed after the loop, for all steps at once.
    loop_parts = {"readout": lambda word, state, context: join(state, context)}

    def readout(
        self, words: Tensor, states: Tensor, contexts: Tensor, training: bool = False
    ) -> Tensor:
        """The factor of L_o in equation 7: y_{t-1} E + h_t L_h + z_t L_z."""
        features = words + apply_dense(self.L_h, states)
        features = features + apply_dense(self.L_z, contexts)
        features = ops.tanh(features) if self.output_tanh else features
        return self.drop(features, training=training)

    def target_words(self, target_ids: Tensor, training: bool = False) -> Tensor:
        return self.drop(super().target_words(target_ids), training=training)

    def run(
        self,
        inputs: dict[str, Tensor],
        training: bool = False,
        noise: Tensor | None = None,
    ) -> tuple[Tensor, Any, Any]:
        """Features, alignments and, with noise, α as it was before the draws."""
        memory, words = self.read(inputs, training)
        soft = training and self.attention == "soft" and self.doubly_stochastic
        wanted = bool(soft) or noise is not None
        outputs, alignments = self.run_steps(memory, words, training, wanted, noise)
        n, size, alphas = self.hidden_dim, self.annotation_dim, None
        states, contexts = columns(outputs, 0, n), columns(outputs, n, n + size)
        if noise is not None:
            _, alphas = self.decoder.cell.attention.attention(
                shift_right(states, memory.start[0]),
                memory.annotations,
                mask=memory.mask,
                keys=memory.keys,
            )
        if wanted:
            looked = alignments if alphas is None else alphas
            real = ops.not_equal(inputs["target_ids"], PAD_ID)
            penalty = doubly_stochastic_penalty(looked, memory.mask, real)
            self.add_loss(self.doubly_stochastic * penalty)
        return self.readout(words, states, contexts, training), alignments, alphas

    def draw_noise(self, inputs: Tensor) -> Tensor:
        """New noise for hard attention to these inputs."""
        shape = (*ops.shape(inputs["target_ids"]), self.places)
        return self.decoder.cell.attention.draw_noise(shape, self.seed_generator)

    def features(self, inputs: dict[str, Tensor], training: bool = False) -> Tensor:
        return self.run(inputs, training)[0]

"""Attention to one place, drawn at random (Xu et al. 2015, section 4.1)."""

from typing import Annotated, Any

import keras
from keras import ops

from zoo.backend import Shape, Tensor
from zoo.layers.attention import Attention, weighted_sum
from zoo.layers.configured import Rate, instance


@keras.saving.register_keras_serializable(package="zoo")
class HardAttention(Attention):
    """Stochastic "hard" attention around another attention layer.

        s_t ~ Multinoulli(α_t),  z_t = Σ_i s_ti a_i              equations 8 and 9

    α_t are the weights of the layer inside. In training, by `noise`, one place is
    drawn; a share of the images keeps α itself, which lowers the estimator's variance
    (section 4.1). Without noise the most probable place is taken.

    No gradient passes through a draw: `reinforce` is a loss that has the estimator's.

    Args:
        attention: an attention layer of zoo's, which gives α.
        soft_share: probability that an image keeps α at all of its steps. (The
            authors' code throws one coin for the whole batch.)

    Call arguments: those of the attention layers, and
        noise: `(B, T, S + 1)` from `draw_noise`, `(B, S + 1)` for a query `(B, d)`.

    Returns:
        `context` `(B[, T], d_m)` and `weights` `(B[, T], S)`: one-hot rows, or α_t; a
        row with nothing to attend to gives zeros.

    Raises:
        ValueError: for a share outside [0, 1), or another kind of layer.

    Example:
        >>> import numpy as np
        >>> from zoo.layers import AdditiveAttention
        >>> layer = HardAttention(AdditiveAttention(4))
        >>> memory = np.arange(10.0).reshape(1, 5, 2)
        >>> context, weights = layer(np.ones((1, 3)), memory)
        >>> sorted(keras.ops.convert_to_numpy(weights)[0].tolist())
        [0.0, 0.0, 0.0, 0.0, 1.0]
    """

    takes_noise = True

    attention: Annotated[Any, instance(Attention)]
    soft_share: Rate = 0.5

    def setup(self) -> None:
        self.score_layer = self.attention  # which is built and projects as a score does
        self.needs_position = self.attention.needs_position

    def draw_noise(self, shape: Shape, seed: Any) -> Tensor:
        """Gumbel noise of each place and the image's coin, `(*shape[:-1], S + 1)`.

        Args:
            shape: tuple that ends in S, such as `(B, T, S)`.
            seed: a `keras.random.SeedGenerator`.
        """
        uniform = keras.random.uniform(
            (*shape[:-1], shape[-1] + 1), 1e-7, 1.0, seed=seed, dtype="float32"
        )
        places, coin = uniform[..., :-1], uniform[..., -1:]
        gumbel = -ops.log(-ops.log(ops.minimum(places, 1 - 1e-7)))
        drawn = ops.cast(coin[:, :1] >= self.soft_share, "float32")
        return ops.concatenate([gumbel, drawn * ops.ones_like(coin)], axis=-1)

    def attend(
        self, query: Tensor, memory: Tensor, *given: Any, noise: Any = None
    ) -> tuple[Tensor, Tensor]:
        mask, keys, position = given
        _, alpha = self.attention(
            query, memory, mask=mask, keys=keys, position=position
        )
        weights = choose(alpha, noise)
        return weighted_sum(weights, ops.cast(memory, weights.dtype)), weights


def choose(alpha: Tensor, noise: Tensor | None = None) -> Tensor:
    """Chooses one place of each row of α `(..., S)`, one-hot.

    With noise `(..., S + 1)` it is drawn, or α itself is kept where the coin says so;
    without noise it is the most probable one.
    """
    scores = ops.log(ops.maximum(ops.cast(alpha, "float32"), 1e-30))
    if noise is not None:
        scores = scores + noise[..., :-1]  # the Gumbel-max trick
    place = ops.argmax(scores, axis=-1)
    chosen = ops.cast(ops.one_hot(place, ops.shape(alpha)[-1]), alpha.dtype)
    # With nothing to attend to there is no place either.
    chosen = ops.stop_gradient(chosen * ops.cast(alpha > 0, alpha.dtype))
    if noise is None:
        return chosen
    return ops.where(noise[..., -1:] > 0, chosen, alpha)


def reinforce(
    log_likelihood: Tensor,
    alphas: Tensor,
    choices: Tensor,
    baseline: Tensor,
    reward: float = 0.1,
    entropy: float = 0.002,
) -> Tensor:
    """The term that hard attention adds to the loss -log p(y | s, a).

    It has the draws' part of the estimator (Xu et al. 2015, section 4.1).

        - λ_r (log p(y | s, a) - b) Σ_t log p(s_t | a) - λ_e Σ_t H[α_t]

    Args:
        log_likelihood: log p(y | s, a) `(B,)`; no gradient passes through it.
        alphas: α `(B, T, S)`, rows of zeros at steps that are pads.
        choices: s `(B, T, S)`, the layer's weights. A step that kept α has no gradient
            in the first term: Σ_i α_ti is 1 whatever is learned.
        baseline: b, a scalar.
        reward: λ_r; 1/10 in the authors' code, there of log p per word.
        entropy: λ_e; 0.002 there.

    Returns:
        Tensor `(B,)`.
    """
    alphas = ops.cast(alphas, "float32")
    choices = ops.stop_gradient(ops.cast(choices, "float32"))
    log_alphas = ops.log(ops.maximum(alphas, 1e-20))
    drawn = ops.sum(choices * log_alphas, axis=(1, 2))
    gain = ops.stop_gradient(log_likelihood - baseline)
    return -reward * gain * drawn + entropy * ops.sum(alphas * log_alphas, axis=(1, 2))


def doubly_stochastic_penalty(
    alignments: Tensor, mask: Tensor | None = None, steps_mask: Tensor | None = None
) -> Tensor:
    """Σ_i (1 - Σ_t α_ti)², the mean of the batch (Xu et al. 2015, equation 14).

    Args:
        alignments: α `(B, T, S)`.
        mask: bool `(B, S)`, true where a place is real, or None.
        steps_mask: bool `(B, T)`, true where a step is real, or None.

    Returns:
        A scalar, float32.
    """
    alignments = ops.cast(alignments, "float32")
    if steps_mask is not None:
        alignments = alignments * ops.cast(steps_mask, "float32")[..., None]
    missing = ops.square(1.0 - ops.sum(alignments, axis=1))
    if mask is not None:
        missing = missing * ops.cast(mask, "float32")
    return ops.mean(ops.sum(missing, axis=-1))

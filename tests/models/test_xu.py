"""The decoder over images: its contract, and its equations."""

import keras
import numpy as np
import pytest

from tests.harness import close, compiled, gradients, randomize, same_config, to_numpy
from tests.layers import reference
from tests.marks import once
from tests.translators import TARGET, VOCABULARY, check_gradients
from zoo.layers.hard_attention import doubly_stochastic_penalty
from zoo.models import ShowAttendTell

SHAPE = (16, 24, 3)
RNG = np.random.default_rng(7)
IMAGES = RNG.integers(0, 256, (3, *SHAPE)).astype("uint8")
INPUTS = {"images": IMAGES, "target_ids": TARGET[:3]}
SMALL = {
    "hidden_dim": 8,
    "embedding_dim": 6,
    "annotation_dim": 4,
    "attention_dim": 5,
    "doubly_stochastic": 0.0,
    "image_shape": SHAPE,
}
HARD = {**SMALL, "attention": "hard", "doubly_stochastic": 1.0}


def model_of(scale=0.7, **options):
    return randomize(ShowAttendTell(VOCABULARY, **{**SMALL, **options}), scale)


@pytest.mark.parametrize(
    "options", [{}, once({"gate": False, "output_tanh": True}), once(HARD)]
)
def test_call_is_the_scan_of_step(options):
    model = model_of(**options)
    logits = to_numpy(compiled(model)(INPUTS))
    memory = compiled(model.encode)(IMAGES)
    state, step, stepped, weights = model.start(memory), compiled(model.step), [], []
    for word in INPUTS["target_ids"].T:
        out, state, alpha = step(word, state, memory)
        stepped.append(to_numpy(out))
        weights.append(to_numpy(alpha))
    close(np.stack(stepped, 1), logits)
    weights = np.stack(weights, 1)
    close(compiled(model.align)(IMAGES, INPUTS["target_ids"]), weights)
    close(weights.sum(-1), 1.0)
    assert weights.shape[-1] == 2 * 3 and model.grid == (2, 3)
    if options is not HARD:
        check_gradients(same_config(model), INPUTS)


def test_the_whole_model_is_the_papers():
    """Against NumPy from the grid on, sentence by sentence, without hoisting."""
    model = model_of(0.5)
    grid = to_numpy(compiled(model.encoder)(IMAGES)).astype("float64")
    logits = to_numpy(compiled(model)(INPUTS))
    cell = model.decoder.cell
    lstm, score = reference.named(cell.cell), reference.named(cell.attention)
    kernels = lstm["kernel"], lstm["recurrent_kernel"], lstm["bias"]
    f_h, f_c, L_h, L_z, L_o = map(
        reference.named,
        (model.start_h, model.start_c, model.L_h, model.L_z, model.output_layer),
    )
    words = to_numpy(model.token_embedding.embeddings).astype("float64")
    for b, a in enumerate(grid.reshape(3, 6, 4)):
        h, c = (np.tanh(a.mean(0) @ w["kernel"] + w["bias"]) for w in (f_h, f_c))
        for t, word in enumerate(words[INPUTS["target_ids"][b]]):
            z, _ = reference.attend("additive", h, a, score)
            beta = h @ to_numpy(cell.w_beta) + to_numpy(cell.b_beta)
            z = reference.sigmoid(beta) * z
            h, c = reference.lstm_step(np.concatenate([word, z]), h, c, *kernels)
            features = word + h @ L_h["kernel"] + L_h["bias"] + z @ L_z["kernel"]
            close(logits[b, t], features @ L_o["kernel"] + L_o["bias"], atol=2e-5)


@pytest.mark.once
def test_hard_attentions_penalty_is_that_of_alpha():
    """Of α as it was before the draws, and with a gradient."""
    model = model_of(**HARD)
    model.decoder.cell.attention.soft_share = 0.0
    noise = to_numpy(model.draw_noise(INPUTS))
    variables = model.decoder.cell.attention.trainable_variables

    def penalty():
        _, _, alphas = model.run(INPUTS, True, noise)
        return doubly_stochastic_penalty(alphas, None, INPUTS["target_ids"] > 0)

    _, found = gradients(variables, penalty)
    assert all(np.abs(gradient).max() > 1e-4 for gradient in found)
    _, choices, alphas = (to_numpy(x) for x in model.run(INPUTS, True, noise))
    assert set(np.unique(choices)) == {0.0, 1.0}
    assert not np.isclose(alphas, choices).all()


def test_the_penalty_is_a_loss_of_training():
    """Equation 14 by NumPy, target pads left out."""
    model = model_of(doubly_stochastic=0.5)
    ids = INPUTS["target_ids"]
    alpha = to_numpy(compiled(model.align)(IMAGES, ids)).astype("float64")
    sums = (alpha * (ids > 0)[..., None]).sum(1)
    model(INPUTS, training=True)
    [penalty] = model.losses
    close(penalty, 0.5 * ((1 - sums) ** 2).sum() / len(IMAGES), rtol=1e-4)
    model(INPUTS, training=False)
    assert not model.losses


def test_images_of_any_dtype_and_precision():
    model = model_of(0.2)
    given = {"images": IMAGES, "target_ids": np.array([[2, 4], [2, 5], [2, 0]])}
    wanted = to_numpy(compiled(model)(given))
    close(compiled(model)({**given, "images": IMAGES.astype("float32")}), wanted)
    half = ShowAttendTell(**model.get_config() | {"dtype": "mixed_bfloat16"})
    half.set_weights(model.get_weights())
    logits = compiled(half)(given)
    assert keras.backend.standardize_dtype(logits.dtype) == "bfloat16"
    close(keras.ops.cast(logits, "float32"), wanted, atol=0.1, rtol=0.1)


@pytest.mark.once
def test_another_encoder_can_be_passed():
    """A Keras model, saved in the configuration and trained with the rest."""
    inputs = keras.Input(SHAPE)
    x = keras.layers.Rescaling(1 / 255)(inputs)
    x = keras.layers.AveragePooling2D(8, data_format="channels_last")(x)
    net = keras.Model(inputs, keras.layers.Dense(4)(x))
    model = ShowAttendTell(10, **{**SMALL, "image_encoder": net})
    assert model.grid == (2, 3)
    again = same_config(model)
    again.set_weights(model.get_weights())
    inputs = {"images": IMAGES, "target_ids": np.array([[2, 4]] * 3)}
    close(again(inputs), to_numpy(model(inputs)))
    names = [v.path for v in model.trainable_variables]
    assert any(name.startswith("dense") for name in names)
    net.trainable = False
    assert len(model.trainable_variables) == len(names) - 2


@pytest.mark.once
def test_grids_made_elsewhere_are_read():
    """The paper's case: features of a fixed net."""
    grids = RNG.normal(size=(2, 2, 3, 4)).astype("float32")
    options = {"image_shape": (2, 3, 4), "image_encoder": keras.layers.Identity()}
    model = randomize(ShowAttendTell(10, **{**SMALL, **options}))
    memory = model.encode(grids)
    close(memory.annotations, grids.reshape(2, 6, 4))
    same_config(model)

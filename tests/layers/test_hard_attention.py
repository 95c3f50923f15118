import functools
import itertools

import keras
import numpy as np
from keras import ops

from tests.harness import close, compiled, gradients, randomize, same_config, to_numpy
from tests.layers import reference
from zoo.layers import AdditiveAttention, ContextCell, ContextDecoder, GRUCell
from zoo.layers.hard_attention import HardAttention, choose, reinforce

RNG = np.random.default_rng(9)
QUERY = RNG.normal(size=(3, 4, 6)).astype("float32")
MEMORY = RNG.normal(size=(3, 7, 5)).astype("float32")
MASK = np.arange(7)[None] < np.array([7, 3, 0])[:, None]


def built(**options):
    layer = HardAttention(AdditiveAttention(8), **options)
    layer.build(QUERY.shape, MEMORY.shape)
    return randomize(layer)


def test_without_noise_it_takes_the_most_probable_place():
    layer = built()
    context, weights = to_numpy(compiled(layer)(QUERY, MEMORY, mask=MASK))
    scores = reference.named(layer.attention.score_layer)
    for b, length in enumerate(MASK.sum(1)):
        for t in range(4):
            wanted = np.zeros(7)
            if length:
                _, alpha = reference.attend(
                    "additive", QUERY[b, t], MEMORY[b, :length], scores
                )
                wanted[alpha.argmax()] = 1
            close(weights[b, t], wanted)
            close(context[b, t], wanted @ MEMORY[b])
    one, _ = compiled(layer)(QUERY[:, 2], MEMORY, mask=MASK)
    close(one, context[:, 2])
    copy = same_config(layer)
    assert copy.soft_share == 0.5 and copy.attention.units == 8


def test_draws_are_alphas():
    """Of 20,000 draws each place has its share, within five standard errors; one in
    four images keeps α, at all of its steps."""
    alpha = np.array([0.5, 0.3, 0.2, 0.0], "float32")
    rows = np.tile(alpha, (20_000, 1))
    layer = HardAttention(AdditiveAttention(2), soft_share=0.25)
    noise = layer.draw_noise(rows.shape, keras.random.SeedGenerator(3))
    found = to_numpy(choose(ops.convert_to_tensor(rows), noise))
    kept = np.isclose(found, alpha).all(1)
    assert abs(kept.mean() - 0.25) < 5 * (0.25 * 0.75 / 20_000) ** 0.5
    drawn = found[~kept]
    assert (drawn.max(1) == 1).all() and (drawn.sum(1) == 1).all()
    errors = 5 * (alpha * (1 - alpha) / len(drawn)) ** 0.5
    assert (abs(drawn.mean(0) - alpha) <= errors).all()
    noise = to_numpy(layer.draw_noise((100, 3, 4), keras.random.SeedGenerator(3)))
    assert set(noise[:, 0, -1]) == {0, 1} and not np.ptp(noise[..., -1], axis=1).any()


def test_the_estimator_is_unbiased():
    """Summed over all draws with their probabilities, the gradient is the exact one of
    -Σ_s p(s) log p(y | s) - λ_e H, whatever the baseline; log p(y | s) is `rewards`."""
    keras.utils.set_random_seed(4)
    scores = keras.Variable(RNG.normal(size=(1, 2, 3)).astype("float32"))
    rewards = ops.convert_to_tensor(RNG.normal(size=(3, 3)).astype("float32"))

    def exact():
        alpha = ops.softmax(scores)[0]
        joint = alpha[0][:, None] * alpha[1][None]
        entropy = -ops.sum(alpha * ops.log(alpha))
        return -ops.sum(joint * rewards) - 0.1 * entropy

    def estimated():
        alpha = ops.softmax(scores)
        total = 0.0
        for s in itertools.product(range(3), range(3)):
            choice = np.eye(3, dtype="float32")[list(s)][None]
            share = ops.stop_gradient(alpha[0, 0, s[0]] * alpha[0, 1, s[1]])
            loss = reinforce(rewards[s][None], alpha, choice, 0.7, 1.0, 0.1)
            total = total + share * loss[0]
        return total

    _, wanted = gradients([scores], exact)
    _, found = gradients([scores], estimated)
    close(found[0], wanted[0], atol=1e-5)
    assert np.abs(wanted[0]).max() > 0.05


def test_in_a_decoder_each_step_has_its_own_draw():
    layer = built(soft_share=0.0)
    cell = ContextCell(GRUCell(6), layer)
    decoder = ContextDecoder(cell)
    inputs = RNG.normal(size=(3, 4, 2)).astype("float32")
    decoder.build(inputs.shape, MEMORY.shape)
    noise = to_numpy(layer.draw_noise((3, 4, 7), keras.random.SeedGenerator(5)))
    run = compiled(functools.partial(decoder, training=True))
    options = {"mask": MASK, "noise": noise}
    outputs, contexts, _, choices = run(inputs, MEMORY, **options)
    choices, states = to_numpy(choices), np.zeros((3, 6), "float32")
    attend = compiled(layer.attention)
    for t in range(4):
        _, alpha = attend(states, MEMORY, mask=MASK)
        wanted = to_numpy(choose(alpha, ops.convert_to_tensor(noise[:, t])))
        close(choices[:, t], wanted)
        close(contexts[:, t], np.einsum("bs,bsd->bd", wanted, MEMORY))
        states = to_numpy(outputs)[:, t]
    assert (choices.sum(-1)[:2] == 1).all() and not choices[2].any()
    assert not choices[~MASK[:, None].repeat(4, 1)].any()

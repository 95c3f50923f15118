import keras
import numpy as np
import pytest

from tests.harness import (
    close,
    compiled,
    gradients,
    randomize,
    same_config,
    to_numpy,
)
from tests.layers import reference
from tests.marks import once
from tests.translators import (
    SOURCE,
    TARGET,
    VOCABULARY,
    check_inference,
    check_training,
    check_translator,
)
from zoo.layers.hard_attention import doubly_stochastic_penalty
from zoo.models import (
    ShowAttendTell,
    ShowAttendTellTranslator,
)
from zoo.training import (
    PairBatches,
    Perplexity,
    SmoothedCrossEntropy,
    compile_for_training,
)

SMALL = {
    "hidden_dim": 8,
    "embedding_dim": 6,
    "annotation_dim": 4,
    "attention_dim": 5,
    "doubly_stochastic": 0.0,
}
HARD = {**SMALL, "attention": "hard", "doubly_stochastic": 1.0}
WORDS = {"vocabulary_size": VOCABULARY}


@pytest.mark.parametrize("options", [{}, once({"gate": False, "output_tanh": True})])
def test_contract(options):
    check_translator(ShowAttendTellTranslator, {**SMALL, **options}, not options)


@pytest.mark.once
def test_hard_attention_keeps_the_contract_and_trains():
    backbone = randomize(ShowAttendTell(**WORDS, **HARD))
    check_inference(backbone)
    check_training(ShowAttendTellTranslator, {**WORDS, **HARD})


@pytest.mark.once
def test_hard_attentions_penalty_is_that_of_alpha():
    """Of α as it was before the draws, and with a gradient."""
    model = ShowAttendTell(**WORDS, **HARD)
    model.decoder.cell.attention.soft_share = 0.0
    randomize(model)
    inputs = {"source_ids": SOURCE, "target_ids": TARGET}
    noise = to_numpy(model.draw_noise(inputs))
    variables = model.decoder.cell.attention.trainable_variables

    def penalty():
        _, choices, alphas = model.run(inputs, True, noise)
        mask, steps = SOURCE > 0, TARGET > 0
        return doubly_stochastic_penalty(alphas, mask, steps)

    _, found = gradients(variables, penalty)
    assert all(np.abs(gradient).max() > 1e-4 for gradient in found)
    _, choices, alphas = (to_numpy(x) for x in model.run(inputs, True, noise))
    assert set(np.unique(choices)) == {0.0, 1.0}
    assert not np.isclose(alphas, choices).all()


def test_the_whole_model_is_the_papers():
    """Against NumPy, sentence by sentence, no padding, no batching, no hoisting."""
    model = randomize(ShowAttendTell(**WORDS, **SMALL), 0.5)
    logits = to_numpy(compiled(model)({"source_ids": SOURCE, "target_ids": TARGET}))
    ahead, back = (reference.named(cell) for cell in model.encoder.cells[0])
    cell = model.decoder.cell
    lstm, score = reference.named(cell.cell), reference.named(cell.attention)
    gate = {name: to_numpy(getattr(cell, name)) for name in ("w_beta", "b_beta")}
    f_h, f_c, L_h, L_z, L_o = (
        reference.named(layer)
        for layer in (
            model.start_h, model.start_c, model.L_h, model.L_z, model.output_layer
        )
    )  # fmt: skip
    E_x = to_numpy(model.source_embedding.embeddings).astype("float64")
    E_y = to_numpy(model.token_embedding.embeddings).astype("float64")

    def step(x, h, c, w):
        kernels = w["kernel"], w["recurrent_kernel"], w["bias"]
        return reference.lstm_step(x, h, c, *kernels)

    for b in range(len(SOURCE)):
        source = [i for i in SOURCE[b].tolist() if i]
        both = []
        for words, weights in ((source, ahead), (source[::-1], back)):
            h, c, states = np.zeros(2), np.zeros(2), []
            for word in words:
                h, c = step(E_x[word], h, c, weights)
                states.append(h)
            both.append(states)
        a = np.array([[*f, *g] for f, g in zip(both[0], both[1][::-1], strict=True)])
        a = a.reshape(-1, 4)
        mean = a.mean(0) if source else np.zeros(4)
        h, c = (np.tanh(mean @ w["kernel"] + w["bias"]) for w in (f_h, f_c))
        for t, word in enumerate(TARGET[b].tolist()):
            z = np.zeros(4)
            if source:
                z, _ = reference.attend("additive", h, a, score)
            beta = reference.sigmoid(h @ gate["w_beta"] + gate["b_beta"])
            z = beta * z
            h, c = step(np.concatenate([E_y[word], z]), h, c, lstm)
            features = E_y[word] + h @ L_h["kernel"] + L_h["bias"] + z @ L_z["kernel"]
            close(logits[b, t], features @ L_o["kernel"] + L_o["bias"], atol=2e-5)


def hard_task(**options):
    keras.utils.set_random_seed(2)
    task = ShowAttendTellTranslator(ShowAttendTell(**WORDS, **HARD), **options)
    return task, compile_for_training(task, keras.optimizers.SGD(0.0))


def batches():
    rows = [[i for i in row.tolist() if i] for row in SOURCE if row.any()]
    words = [[4, 5], [6, 7, 8], [9], [4]]
    return PairBatches(rows, words, batch_size=4, buckets=[(12, 8)])


@pytest.mark.once
@pytest.mark.parametrize("normalize", ["tokens", "sentences"])
def test_the_estimator_is_divided_as_the_loss(normalize):
    """With λ_r = 1 and b = 0 the added term of one sentence and one draw is
    -log p(y) log p(s), over the same number as -log p(y)."""
    task, trained = hard_task(reward=1.0, entropy=0.0)
    task.backbone.decoder.cell.attention.soft_share = 0.0
    task.backbone.doubly_stochastic = 0.0
    trained.loss = SmoothedCrossEntropy(normalize=normalize)
    x = {"source_ids": SOURCE[:1, :4], "target_ids": TARGET[:1]}
    y = np.roll(TARGET[:1], -1, axis=1)
    y[:, -1] = 3
    outputs = trained(x, training=True)
    alphas, choices = (to_numpy(outputs[name]) for name in ("alphas", "choices"))
    logits = to_numpy(task.backbone.logits(outputs["features"])).astype("float64")
    logs = logits - np.log(np.exp(logits).sum(-1, keepdims=True))
    log_y = np.take_along_axis(logs, y[..., None], -1).sum()
    log_s = np.log((alphas * choices).sum(-1)).sum()
    count = 7 if normalize == "tokens" else 1
    found = trained.compute_loss(x, y, outputs, np.ones(y.shape, "float32"))
    assert float(to_numpy(found)) == pytest.approx(
        (-log_y - log_y * log_s) / count, rel=1e-4
    )


@pytest.mark.once
def test_the_baseline_follows_the_log_likelihood():
    task, trained = hard_task()
    trained.fit(batches(), epochs=1, verbose=0)
    first = float(to_numpy(task.baseline.value))
    # Untrained, log p is near -log V for each of the 2, 3, 1 and 1 words and ends.
    assert -0.1 * 11 / 4 * np.log(VOCABULARY) * 1.3 < first
    assert first < -0.1 * 11 / 4 * np.log(VOCABULARY) * 0.7
    trained.fit(batches(), epochs=30, verbose=0)
    last = float(to_numpy(task.baseline.value))
    assert last == pytest.approx(first / 0.1, rel=0.1)
    assert same_config(task).get_config()["reward"] == 0.1


def test_hard_attention_refuses_what_it_cannot_learn_by():
    task = ShowAttendTellTranslator(ShowAttendTell(**WORDS, **HARD))
    metrics = [Perplexity()]
    task.compile("sgd", SmoothedCrossEntropy(), weighted_metrics=metrics)
    with pytest.raises(ValueError, match="trained by the model.*for_training"):
        task.fit(batches(), epochs=1, verbose=0)


def test_the_penalty_is_a_loss_of_training():
    """Equation 14 by NumPy, source and target pads left out."""
    model = randomize(ShowAttendTell(**WORDS, **{**SMALL, "doubly_stochastic": 0.5}))
    inputs = {"source_ids": SOURCE, "target_ids": TARGET}
    alpha = to_numpy(compiled(model.align)(SOURCE, TARGET)).astype("float64")
    total = 0.0
    for b in range(len(SOURCE)):
        steps, places = (TARGET[b] > 0).sum(), (SOURCE[b] > 0).sum()
        total += ((1 - alpha[b, :steps, :places].sum(0)) ** 2).sum()
    model(inputs, training=True)
    [penalty] = model.losses
    close(penalty, 0.5 * total / len(SOURCE), rtol=1e-4)
    model(inputs, training=False)
    assert not model.losses

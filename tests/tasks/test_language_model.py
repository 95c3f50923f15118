import math

import keras
import numpy as np
import pytest

from tests.harness import close, compiled, gradients, randomize, same_config, to_numpy
from tests.layers import reference
from tests.marks import once
from zoo.models import RecurrentCausalLM, RecurrentLM, RecurrentLMPreprocessor
from zoo.tasks import language_model
from zoo.tasks.language_model import document_scores, perplexity_of, score_rows
from zoo.text import WordTokenizer
from zoo.text import rows as text_rows

CELLS = ("lstm", "gru", "rnn")
SMALL = {"embedding_dim": 5, "hidden_dim": 4, "num_layers": 2, "initializer_range": 0.8}
IDS = np.array([[3, 4, 5, 6, 7], [3, 8, 4, 0, 0], [0, 0, 0, 0, 0]], "int32")
TEXTS = ["a dog sees a cat", "a cat", "", "runs runs dog"]


def task_of(cell="lstm", seed=0):
    tokenizer = WordTokenizer("a dog cat runs sees".split())
    backbone = randomize(RecurrentLM(9, **SMALL, cell=cell), seed=seed)
    preprocessor = RecurrentLMPreprocessor(tokenizer, sequence_length=12)
    return RecurrentCausalLM(backbone, preprocessor)


@pytest.fixture(scope="module")
def task():
    return task_of()


def step(cell, x, states, weights):
    kernels = weights["kernel"], weights["recurrent_kernel"], weights["bias"]
    if cell == "lstm":
        h, c = reference.lstm_step(x, *states, *kernels)
        return [h, c]
    if cell == "gru":
        return [reference.gru_step(x, *states, *kernels)]
    return [np.tanh(x @ kernels[0] + states[0] @ kernels[1] + kernels[2])]


def log_probabilities(backbone, words):
    """Of each next word, in float64, word by word: `(T, V)`."""
    layers = [reference.named(cell) for (cell,) in backbone.recurrent.cells]
    W = reference.named(backbone.output_layer)
    E = to_numpy(backbone.token_embedding.embeddings).astype("float64")
    count = 2 if backbone.cell == "lstm" else 1
    states = [[np.zeros(backbone.hidden_dim)] * count for _ in layers]
    found = []
    for word in words:
        x = E[word]
        for place, weights in enumerate(layers):
            states[place] = step(backbone.cell, x, states[place], weights)
            x = states[place][0]
        logits = x @ W["kernel"] + W["bias"]
        found.append(logits - np.log(np.exp(logits).sum()))
    return np.array(found), states


def of_words(task, first, words):
    """The log-probability of each word after the `first` one."""
    found, _ = log_probabilities(task.backbone, [first, *words[:-1]])
    return [found[t, word] for t, word in enumerate(words)]


@pytest.mark.parametrize("cell", ["lstm", *map(once, CELLS[1:])])
def test_it_is_the_recurrence_and_a_softmax(cell):
    model = task_of(cell).backbone
    run = compiled(lambda ids: model({"token_ids": ids}, return_states=True))
    logits, states = run(IDS)
    got = to_numpy(keras.ops.log_softmax(logits))
    for b, row in enumerate(IDS[:2]):
        words = row[row > 0]
        wanted, final = log_probabilities(model, words)
        close(got[b, : len(words)], wanted)
        for layer, of_row in zip(to_numpy(states), final, strict=True):
            for state, right in zip(layer, of_row, strict=True):
                close(state[b], right)


@pytest.mark.parametrize("cell", ["lstm", *map(once, CELLS[1:])])
def test_the_state_is_all_that_goes_on(cell):
    model = task_of(cell).backbone
    run = compiled(
        lambda ids, states: model(
            {"token_ids": ids, "states": states}, return_states=True
        )
    )
    whole, final = run(IDS, model.initial_states(3))
    first, states = run(IDS[:, :3], model.initial_states(3))
    second, last = run(IDS[:, 3:], states)
    close(
        np.concatenate([to_numpy(first), to_numpy(second)], 1)[:2], to_numpy(whole)[:2]
    )
    for a, b in zip(keras.tree.flatten(last), keras.tree.flatten(final), strict=True):
        close(a, b)
    assert all((to_numpy(s)[2] == 0).all() for s in keras.tree.flatten(final))


@pytest.mark.parametrize("tapes", ["sentence", once("call")])
def test_how_far_tapes_go(tapes):
    """Of sentences in one call each has tapes of its own, or they share them."""
    model = randomize(RecurrentLM(9, **SMALL, cell="lstmn", tapes=tapes))
    read = compiled(lambda ids: model({"token_ids": ids}, return_states=True))
    on = compiled(lambda ids, *states: model({"token_ids": ids, "states": [*states]}))
    ids = np.array([[3, 4, 5, 3, 6, 7, 8, 4]])
    _, states = read(ids[:, :3])
    alone = to_numpy(on(ids[:, 3:], *states))
    logits = to_numpy(read(ids)[0])
    same = np.abs(logits[:, 3:] - alone).max() < 1e-5
    assert same == (tapes == "sentence")
    step, states = compiled(model.step), model.start(1, 8)
    for t in range(8):
        found, states = step(ids[:, t], states)
        close(found, logits[:, t])
    assert same_config(model).tapes == tapes


def test_the_papers_size():
    """The vocabulary's matrices and an LSTM of 300 units over words of 150."""
    known = RecurrentLM(1000)
    lstm = 4 * 300 * (150 + 300 + 1)
    assert known.count_params() == 1000 * 150 + lstm + 301 * 1000
    sizes = (known.embedding_dim, known.hidden_dim, known.num_layers, known.cell)
    assert sizes == (150, 300, 1, "lstm")


@pytest.mark.parametrize("cell", ["lstm", *map(once, ["gru", "lstmn"])])
def test_word_by_word_it_is_the_whole(cell):
    """More padding, steps and scores, and the gradients of steps."""
    task, real = task_of(cell), IDS > 0
    model = task.backbone
    run, step = compiled(model), compiled(model.step)
    logits = to_numpy(run({"token_ids": IDS}))
    wider = to_numpy(run({"token_ids": np.pad(IDS, ((0, 0), (0, 3)))}))
    close(wider[:, :5][real], logits[real])
    stepped, states = [], model.start(3, 5)
    for t in range(5):
        found, states = step(IDS[:, t], states)
        stepped.append(to_numpy(found).astype("float64"))
    close(np.stack(stepped, 1)[real], logits[real])
    logs = np.stack(stepped, 1)
    logs -= np.log(np.exp(logs).sum(-1, keepdims=True))
    rows = [[4, 5, 6, 7], [8, 4]]  # of `IDS`, behind the end token
    close(
        score_rows(task, rows),
        [
            sum(logs[b, t, x] for t, x in enumerate([*row, 3]))
            for b, row in enumerate(rows)
        ],
    )

    def stepwise():
        states, total = model.start(2, 3), 0.0
        for t in range(3):
            found, states = model.step(IDS[:2, t], states)
            total += keras.ops.sum(keras.ops.square(found))
        return total

    def whole():
        found = model({"token_ids": IDS[:2, :3]}, training=True)
        return keras.ops.sum(keras.ops.square(found))

    variables = model.trainable_variables
    for a, b in zip(
        gradients(variables, whole)[1], gradients(variables, stepwise)[1], strict=True
    ):
        close(a, b, atol=1e-4, rtol=1e-4)
        assert np.abs(b).max() > 0


@pytest.mark.parametrize("cell", ["lstm", *map(once, [*CELLS[1:], "lstmn"])])
def test_generate_is_greedy_search_behind_the_prompt(cell):
    task = task_of(cell, seed=3)
    prompts = ["a dog", "", "runs"]
    wanted, call = [], compiled(task.backbone)
    for prompt in prompts:
        words = [3, *task.preprocessor.encode([prompt])[0]]
        start = len(words)
        while len(words) < 7 and 3 not in words[start:]:
            ids = np.array([words + [0] * (7 - len(words))])  # one shape
            logits = to_numpy(call({"token_ids": ids}))
            # The end token, 3, and words: no other special token, and none unknown.
            words.append(3 + int(logits[0, len(words) - 1, 3:].argmax()))
        wanted.append(
            task.preprocessor.tokenizer.detokenize([i for i in words if i > 3])
        )
    assert task.generate(prompts, max_length=7) == wanted
    assert task.generate(prompts[0], max_length=7) == wanted[0]


@pytest.mark.once
@pytest.mark.parametrize("sampler", ["top_k", "beam"])
def test_samplers_of_kerashub(task, sampler):
    task.compile(sampler=sampler)
    texts = task.generate(["a dog", "cat"], max_length=6)
    assert [text[:3] for text in texts] == ["a d", "cat"]
    task.compile()


def test_scores_and_perplexity(task):
    scores, count = [], 0
    for row in task.preprocessor.encode(TEXTS):
        scores.append(sum(of_words(task, 3, [*row, 3])))
        count += len(row) + 1
    for batch_size in (1, 3):
        close(task.score(TEXTS, batch_size=batch_size), scores)
    assert task.score(TEXTS[0]) == pytest.approx(scores[0], rel=1e-5)
    expected = math.exp(-sum(scores) / count)
    assert task.perplexity(TEXTS) == pytest.approx(expected, rel=1e-5)


def test_perplexity_of_one_document(task):
    text = [i for row in task.preprocessor.encode(TEXTS) for i in [*row, 3]]
    halves = [(3, text[:7]), (text[6], text[7:])]  # 14 words
    for batch_size, parts in ((1, [(3, text)]), (2, halves)):
        got = task.perplexity(TEXTS, batch_size=batch_size, carry_over=True)
        total = sum(sum(of_words(task, *part)) for part in parts)
        assert got == pytest.approx(math.exp(-total / len(text)), rel=1e-5)


def test_scores_of_a_document_by_segment_and_stream(task):
    rows = task.preprocessor.encode(TEXTS)
    text = [i for row in rows for i in [*row, 3]]
    found = document_scores(task, rows, streams=2, length=4)
    assert found.shape == (2, 2)
    for stream, part in enumerate([(3, text[:7]), (text[6], text[7:])]):
        each = of_words(task, *part)
        expected = [sum(each[:4]), sum(each[4:])]
        np.testing.assert_allclose(found[:, stream], expected, rtol=1e-5)


# === Texts of any length ===
ROWS = [[4, 5, 6, 7, 8, 4, 5], [], [6], [7, 8, 4, 5, 6, 7, 8, 4, 5, 6, 7]]


def expected(task, row):
    """Of the whole row at once, in float64."""
    ids = np.array([[3, *row]], "int32")
    logits = to_numpy(task.backbone({"token_ids": ids})).astype("float64")[0]
    logs = logits - np.log(np.exp(logits).sum(axis=-1, keepdims=True))
    return sum(logs[t, word] for t, word in enumerate([*row, 3]))


@pytest.fixture
def short(monkeypatch):
    """Four words are read at once, and eight in a batch."""
    monkeypatch.setattr(language_model, "LONGEST", 4)
    monkeypatch.setattr(text_rows, "POSITIONS", 8)


@pytest.mark.parametrize("cell", ["lstm", once("gru"), once("lstmn")])
@pytest.mark.parametrize("batch_size", [once(1), 32])
def test_rows_by_themselves(cell, batch_size):
    task = task_of(cell)
    found = score_rows(task, ROWS, batch_size)
    np.testing.assert_allclose(found, [expected(task, r) for r in ROWS], rtol=1e-5)


def test_a_state_goes_on_from_part_to_part(short):
    task = task_of("lstm")
    found = score_rows(task, ROWS)
    np.testing.assert_allclose(found, [expected(task, r) for r in ROWS], rtol=1e-5)
    count = sum(len(row) + 1 for row in ROWS)
    assert perplexity_of(task, ROWS) == pytest.approx(np.exp(-found.sum() / count))


@pytest.mark.once
def test_an_lstmns_tapes_do_not_go_on_and_that_is_told(short):
    task = task_of("lstmn")
    with pytest.warns(UserWarning, match="2 of 4 texts have more than 3 words"):
        found = score_rows(task, ROWS)
    wanted = np.array([expected(task, row) for row in ROWS])
    short_ones = [1, 2]
    np.testing.assert_allclose(found[short_ones], wanted[short_ones], rtol=1e-5)
    assert np.abs(found - wanted)[[0, 3]].min() > 1e-4


@pytest.mark.filterwarnings("ignore:.*cannot be verified")
def test_a_vocabulary_of_another_model_is_refused(task, tmp_path):
    task.save_to_preset(str(tmp_path))
    path = tmp_path / "assets" / "tokenizer" / "vocabulary.txt"
    words = path.read_text()
    for broken, message in (
        (words + "bird\n", "vocabulary_size"),
        (words.replace("<s>", "<S>"), "must begin"),
        (words.replace("cat", "dog"), "different words"),
    ):
        path.write_text(broken)
        with pytest.raises(ValueError, match=message):
            RecurrentCausalLM.from_preset(tmp_path)

import keras
import numpy as np
import pytest

import zoo
from tests.harness import close, compiled, randomize, same_config, to_numpy
from tests.layers import reference
from tests.marks import once
from zoo.decoding import Caption
from zoo.models import (
    ShowAttendTell,
    ShowAttendTellCaptioner,
    ShowAttendTellCaptionerPreprocessor,
)
from zoo.text import Tokenizer, train_tokenizer
from zoo.training import ArrayBatches, compile_for_training

SHAPE = (16, 24, 3)
TEXTS = ["a red ring", "a blue star above a red ring", "a star"]
RNG = np.random.default_rng(7)
IMAGES = RNG.integers(0, 256, (3, *SHAPE)).astype("uint8")
SMALL = {
    "hidden_dim": 8,
    "embedding_dim": 6,
    "annotation_dim": 4,
    "attention_dim": 5,
    "doubly_stochastic": 0.0,
    "image_shape": SHAPE,
}
HARD = {**SMALL, "attention": "hard", "doubly_stochastic": 1.0}


@pytest.fixture(scope="module")
def tokenizer():
    return Tokenizer(train_tokenizer(TEXTS, 10, model_type="word"))


def task_of(tokenizer, scale=0.7, **options):
    sizes = {"vocabulary_size": tokenizer.vocabulary_size(), **SMALL, **options}
    preprocessor = ShowAttendTellCaptionerPreprocessor(tokenizer, SHAPE, 10)
    backbone = randomize(ShowAttendTell(**sizes), scale)
    return ShowAttendTellCaptioner(backbone, preprocessor)


# === The backbone on images ===
@pytest.mark.parametrize("options", [SMALL, once(HARD)], ids=["soft", "hard"])
def test_call_is_the_scan_of_step(options, tokenizer):
    model = task_of(tokenizer, **options).backbone
    x, _, _ = task_of(tokenizer).preprocessor({"image": IMAGES, "caption": TEXTS})
    logits = to_numpy(compiled(model)(x))
    memory = compiled(model.encode)(IMAGES)
    state, step, stepped, weights = model.start(memory), compiled(model.step), [], []
    for t in range(x["target_ids"].shape[1]):
        out, state, alpha = step(x["target_ids"][:, t], state, memory)
        stepped.append(to_numpy(out))
        weights.append(to_numpy(alpha))
    close(np.stack(stepped, 1), logits)
    weights = np.stack(weights, 1)
    close(compiled(model.align)(IMAGES, x["target_ids"]), weights)
    close(weights.sum(-1), 1.0)
    assert weights.shape[-1] == 2 * 3 and model.grid == (2, 3)


def test_the_start_and_the_first_word_are_the_papers(tokenizer):
    """Against NumPy, from the grid on."""
    model = task_of(tokenizer).backbone
    grid = to_numpy(compiled(model.encoder)(IMAGES)).astype("float64")
    grid = grid.reshape(3, 6, 4)
    f_h, f_c = (reference.named(f) for f in (model.start_h, model.start_c))
    mean = grid.mean(1)
    h = np.tanh(mean @ f_h["kernel"] + f_h["bias"])
    c = np.tanh(mean @ f_c["kernel"] + f_c["bias"])
    memory, step = compiled(model.encode)(IMAGES), compiled(model.step)
    close(memory.start, [h, c])
    logits, _, alpha = step(np.array([2, 2, 2]), model.start(memory), memory)
    cell = model.decoder.cell
    lstm, score = reference.named(cell.cell), reference.named(cell.attention)
    L_h, L_z, L_o = map(reference.named, (model.L_h, model.L_z, model.output_layer))
    word = to_numpy(model.token_embedding.embeddings).astype("float64")[2]
    for b in range(3):
        z, weights = reference.attend("additive", h[b], grid[b], score)
        close(to_numpy(alpha)[b], weights)
        beta = h[b] @ to_numpy(cell.w_beta) + to_numpy(cell.b_beta)
        z = z * reference.sigmoid(beta)
        kernels = lstm["kernel"], lstm["recurrent_kernel"], lstm["bias"]
        new, _ = reference.lstm_step(np.concatenate([word, z]), h[b], c[b], *kernels)
        features = word + new @ L_h["kernel"] + L_h["bias"] + z @ L_z["kernel"]
        close(logits[b], features @ L_o["kernel"] + L_o["bias"], atol=2e-5)


def test_images_of_any_dtype_and_precision(tokenizer):
    model = task_of(tokenizer, 0.2).backbone
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


# === The captioner ===
def test_captions_of_one_image_and_of_several(tokenizer):
    model = task_of(tokenizer)
    texts = model.caption(IMAGES, max_length=6)
    assert len(texts) == 3 and all(isinstance(text, str) for text in texts)
    assert model.caption(IMAGES[1], max_length=6) == texts[1]
    assert model.caption(list(IMAGES / 255.0), max_length=6) == texts
    assert model.caption(IMAGES, max_length=6, batch_size=2) == texts
    assert model.caption([]) == []
    best = model.caption(IMAGES[0], max_length=6, n_best=2)
    assert best[0] == texts[0] and len(best) == 2


@pytest.mark.once
def test_a_record_has_the_attention_of_each_token(tokenizer):
    model = task_of(tokenizer)
    record = model.caption(
        IMAGES[0], max_length=5, length_penalty=0, return_details=True
    )
    assert isinstance(record, Caption)
    assert record.alignment.shape == (len(record.tokens), 2, 3)
    close(record.alignment.sum((1, 2)), 1.0)
    assert (record.image == IMAGES[0]).all()
    assert record.text == " ".join(record.merge_words().tokens)
    assert record.score == pytest.approx(model.score(IMAGES[0], record.text), abs=1e-4)


def test_given_captions_are_scored_and_aligned(tokenizer):
    model = task_of(tokenizer)
    scores = model.score(IMAGES, TEXTS)
    tokens = model.score(IMAGES, TEXTS, per_token=True, batch_size=2)
    assert [len(row) for row in tokens] == [4, 8, 3]
    assert scores == pytest.approx([float(row.sum()) for row in tokens], abs=1e-4)
    # By hand: the softmax of the logits of teacher forcing.
    x, y, weights = model.preprocessor({"image": IMAGES, "caption": TEXTS})
    logits = to_numpy(compiled(model.backbone)(x)).astype("float64")
    logits -= np.log(np.exp(logits).sum(-1, keepdims=True))
    gold = np.take_along_axis(logits, y[..., None], -1)[..., 0] * weights
    assert scores == pytest.approx(gold.sum(1).tolist(), abs=1e-4)
    records = model.align(IMAGES, TEXTS)
    assert [record.text for record in records] == TEXTS
    alphas = to_numpy(compiled(model.backbone.align)(IMAGES, x["target_ids"]))
    for record, alpha in zip(records, alphas, strict=True):
        close(record.alignment.reshape(-1, 6), alpha[: len(record.tokens)])
        assert len(record.log_probs) == len(record.tokens) + 1


@pytest.mark.once
@pytest.mark.filterwarnings("ignore:.*cannot be verified")
@pytest.mark.parametrize("options", [SMALL, HARD], ids=["soft", "hard"])
def test_a_preset_comes_back(options, tokenizer, tmp_path):
    model = task_of(tokenizer, **options)
    model.save_to_preset(tmp_path / "mine")
    again = zoo.load(tmp_path / "mine")
    assert type(again) is ShowAttendTellCaptioner
    assert again.backbone.image_shape == SHAPE == again.preprocessor.image_shape
    assert again.caption(IMAGES, max_length=6) == model.caption(IMAGES, max_length=6)
    half = zoo.load(tmp_path / "mine", dtype="mixed_bfloat16")
    assert half.backbone.encoder.compute_dtype == "bfloat16"


@pytest.mark.once
def test_it_learns_to_tell_images_apart(tokenizer):
    """`fit(images, captions)`, without any other preparation."""
    keras.utils.set_random_seed(4)
    model = task_of(tokenizer, hidden_dim=24, annotation_dim=12)
    plain = np.zeros((3, *SHAPE), "uint8")
    for number, image in enumerate(plain):
        image[..., number] = 255
    model.compile(keras.optimizers.Adam(0.02), jit_compile=False)
    model.fit(plain, TEXTS, epochs=60, batch_size=3, verbose=0)
    assert model.caption(plain) == TEXTS


@pytest.mark.once
def test_hard_attention_is_trained_by_its_estimator(tokenizer):
    keras.utils.set_random_seed(4)
    task = task_of(tokenizer, **{**HARD, "hidden_dim": 16})
    x, y, weights = task.preprocessor({"image": IMAGES, "caption": TEXTS})
    with pytest.raises(ValueError, match="compile_for_training"):
        task(x, training=True)
    trained = compile_for_training(task, keras.optimizers.Adam(0.02))
    batches = ArrayBatches((x, y, weights), batch_size=3)
    before = sum(task.score(IMAGES, TEXTS))
    trained.fit(batches, epochs=40, verbose=0)
    # Its loss may rise: the estimator is no likelihood.
    assert sum(task.score(IMAGES, TEXTS)) > 0.6 * before
    assert float(to_numpy(task.baseline.value)) < 0
    assert same_config(task).get_config()["entropy"] == 0.002


@pytest.mark.parametrize(
    ("use", "message"),
    [
        (lambda x: x.score(IMAGES, TEXTS[:2]), "3 sources and 2 targets"),
        (lambda x: x.align(IMAGES[0], [TEXTS[0]]), "one source and one target"),
        (
            lambda x: x.caption(IMAGES, max_length=3, min_length=4),
            "exceed `max_length`",
        ),
        (lambda x: x.backbone.encode(IMAGES[:, :8]), r"\(None, 16, 24, 3\)"),
        (lambda x: type(x)(x.backbone).caption(IMAGES), "needs a preprocessor"),
        (
            lambda x: type(x)(
                x.backbone,
                ShowAttendTellCaptionerPreprocessor(
                    x.preprocessor.tokenizer, (8, 8, 3)
                ),
            ),
            r"`image_shape` must be that.*\(8, 8, 3\)",
        ),
        (
            lambda x: type(x)(ShowAttendTell(10, annotation_dim=4, attention_dim=5)),
            "must read images.*ShowAttendTell of text",
        ),
        (lambda x: type(x)(x.backbone, reward=-1), "`reward` must be 0 or above"),
    ],
)
def test_wrong_input(use, message, tokenizer):
    with pytest.raises(ValueError, match=message):
        use(task_of(tokenizer))

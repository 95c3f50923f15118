import keras
import numpy as np
import pytest

import zoo
from tests.harness import close, compiled, randomize, same_config, to_numpy
from tests.models.test_xu import HARD, IMAGES, SHAPE, SMALL
from tests.translators import TARGET
from zoo.decoding import Caption
from zoo.models import (
    ShowAttendTell,
    ShowAttendTellCaptioner,
    ShowAttendTellCaptionerPreprocessor,
)
from zoo.text import Tokenizer, train_tokenizer
from zoo.training import ArrayBatches, SmoothedCrossEntropy, compile_for_training

TEXTS = ["a red ring", "a blue star above a red ring", "a star"]


@pytest.fixture(scope="module")
def tokenizer():
    return Tokenizer(train_tokenizer(TEXTS, 10, model_type="word"))


def task_of(tokenizer, scale=0.7, **options):
    sizes = {"vocabulary_size": tokenizer.vocabulary_size(), **SMALL, **options}
    preprocessor = ShowAttendTellCaptionerPreprocessor(tokenizer, SHAPE, 10)
    backbone = randomize(ShowAttendTell(**sizes), scale)
    return ShowAttendTellCaptioner(backbone, preprocessor)


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


# === Hard attention ===
def hard_task(tokenizer, rate=0.0, **options):
    keras.utils.set_random_seed(4)
    backbone = task_of(tokenizer, **{**HARD, "hidden_dim": 16}).backbone
    task = ShowAttendTellCaptioner(backbone, task_of(tokenizer).preprocessor, **options)
    return task, compile_for_training(task, keras.optimizers.Adam(rate))


def arrays(task):
    return task.preprocessor({"image": IMAGES, "caption": TEXTS})


@pytest.mark.once
def test_hard_attention_is_trained_by_its_estimator(tokenizer):
    task, trained = hard_task(tokenizer, rate=0.02)
    with pytest.raises(ValueError, match="compile_for_training"):
        task(arrays(task)[0], training=True)
    before = sum(task.score(IMAGES, TEXTS))
    trained.fit(ArrayBatches(arrays(task), batch_size=3), epochs=40, verbose=0)
    # Its loss may rise: the estimator is no likelihood.
    assert sum(task.score(IMAGES, TEXTS)) > 0.6 * before


@pytest.mark.once
@pytest.mark.parametrize("normalize", ["tokens", "sentences"])
def test_the_estimator_is_divided_as_the_loss(normalize, tokenizer):
    """With λ_r = 1 and b = 0 the added term of one sentence and one draw is
    -log p(y) log p(s), over the same number as -log p(y)."""
    task, trained = hard_task(tokenizer, reward=1.0, entropy=0.0)
    task.backbone.decoder.cell.attention.soft_share = 0.0
    task.backbone.doubly_stochastic = 0.0
    trained.loss = SmoothedCrossEntropy(normalize=normalize)
    x = {"images": IMAGES[:1], "target_ids": TARGET[:1]}
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
def test_the_baseline_follows_the_log_likelihood(tokenizer):
    """b ← 0.9 b + 0.1 log p, of weights that stay: it draws near the mean."""
    task, trained = hard_task(tokenizer)
    task.backbone.decoder.cell.attention.soft_share = 0.0
    batches = ArrayBatches(arrays(task), batch_size=3)
    for variable in task.backbone.trainable_variables:
        variable.assign(0.01 * variable)  # log p is near -log V for each word and end
    wanted = -np.log(10) * np.mean([4, 8, 3])
    for epochs, share in ((1, 0.1), (30, 1 - 0.9**31)):
        trained.fit(batches, epochs=epochs, verbose=0)
        found = float(to_numpy(task.baseline.value))
        assert found == pytest.approx(share * wanted, rel=0.05)
    assert same_config(task).get_config()["entropy"] == 0.002


def test_hard_attention_refuses_what_it_cannot_learn_by(tokenizer):
    task, _ = hard_task(tokenizer)
    task.compile("sgd", SmoothedCrossEntropy())
    with pytest.raises(ValueError, match="trained by the model.*for_training"):
        task.fit(ArrayBatches(arrays(task), batch_size=3), epochs=1, verbose=0)


# === Wrong input ===
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
        (lambda x: type(x)(x.backbone, reward=-1), "`reward` must be 0 or above"),
    ],
)
def test_wrong_input(use, message, tokenizer):
    with pytest.raises(ValueError, match=message):
        use(task_of(tokenizer))

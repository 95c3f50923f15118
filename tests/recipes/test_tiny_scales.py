"""Each recipe at its tiny scale: it learns its task, and a few steps leave a preset.

tests/training/test_tiny_recipe.py has luong_local's, of shorter sentences.
"""

import csv
import json

import pytest

import zoo
from tests.harness import load_recipe
from tests.marks import long, proved_under
from zoo.analysis import caption_scores
from zoo.data import CorpusError, Labelled, draw_scenes, reversal_pairs
from zoo.training.recipes import translation_run


def reverses(share):
    """So many of 200 unseen sentences come out right."""
    return lambda found: found["generated"]["exact"] >= share


def near(factor):
    """A perplexity close to the best possible one; a model that goes by the last noun,
    whatever the subject, is 7.4 % off."""

    def check(found):
        best = found["test"]["optimum"]
        return 0.995 * best < found["test"]["perplexity"] < factor * best

    return check


def captions(found):
    found = found["scenes"]
    looks = found["attention peak"] > 2 * found["attention mass by chance"]
    return looks and found["true captions"] >= 20


# What the results must show, and the backend on which a recipe is proved; few under
# torch, which takes several times as long for so small a model. What they train is
# trained under each backend in the tests of the models.
REVERSED = {
    "bahdanau": (reverses(0.95), "tensorflow"),
    "lstmn": (reverses(0.95), "tensorflow"),
    "luong_concat": (reverses(0.95), "tensorflow"),
    "luong_dot": (reverses(0.95), "torch"),
    "luong_global": (reverses(0.95), "jax"),
    "luong_local": (reverses(0.95), "torch"),
    "luong_local_m": (reverses(0.95), "tensorflow"),
    "luong_location": (reverses(0.95), "tensorflow"),
    "rnn_encoder_decoder": (reverses(0.85), "jax"),
    "seq2seq": (reverses(0.85), "jax"),
    "transformer": (reverses(0.95), "tensorflow"),
}
LEARNED = {
    **REVERSED,
    "lstm": (near(1.02), "jax"),
    "gru": (near(1.02), "tensorflow"),
    "lstmn_lm": (near(1.06), "jax"),
    # A bag of words stays at one half.
    "lstmn_sentiment": (lambda found: found["accuracy"]["test"] >= 0.98, "jax"),
    "show_attend_tell": (captions, "jax"),
}


def run(name, folder, *options):
    argv = ["--scale", "tiny", "--output", str(folder), *options]
    assert load_recipe(name).RECIPE.main(argv) == 0
    return json.loads((folder / "results.json").read_text())


@pytest.mark.long
@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=proved_under(LEARNED[name][1])) for name in LEARNED],
)
def test_the_tiny_recipe_learns(name, tmp_path):
    found = run(name, tmp_path)
    assert LEARNED[name][0](found), found


def translates(model, found):
    assert isinstance(model.translate("sa po", beam_size=2, max_length=3), str)


def scores(model, found):
    # Of as many words as it knows, none is more probable than another at first.
    assert 1 < found["test"]["perplexity"] < model.backbone.vocabulary_size
    assert len(model.score(["a", "b"])) == 2


def classifies(model, found):
    assert set(model.classify(["a b", "c"])) <= set(model.backbone.classes)


def tells(model, found):
    [scene] = draw_scenes(1, "test")
    assert isinstance(model.caption(scene.draw(), beam_size=2), str)


PAIRS = ("pairs=300", "buckets=1")
IMAGES = ("images=200", "model.hidden_dim=16", "model.annotation_dim=8")
IMAGES += ("model.doubly_stochastic=0.01",)
# What hard attention is trained by is no likelihood: it may rise at first.
TRANSLATORS = {
    name: (name, PAIRS, "val_perplexity", translates)
    for name in REVERSED
    if name != "luong_local"
}
FEW = [
    # Luong's differ in the attention alone, as test_paper_scales.py says.
    *(
        long(*case) if "luong" in name and name != "luong_global" else case
        for name, case in TRANSLATORS.items()
    ),
    ("lstm", ("sentences=100",), "loss", scores),
    long("gru", ("sentences=100",), "loss", scores),
    ("lstmn_lm", ("sentences=100",), "loss", scores),
    ("lstmn_sentiment", ("sentences=400",), "loss", classifies),
    ("show_attend_tell", (*IMAGES, "model.attention=soft"), "loss", tells),
    long("show_attend_tell", (*IMAGES, "model.attention=hard"), None, tells),
]


@pytest.mark.once
@pytest.mark.parametrize(("name", "changes", "falls", "use"), FEW)
def test_a_few_steps_lower_the_loss_and_leave_a_preset(
    name, changes, falls, use, tmp_path, monkeypatch
):
    def few_pairs(count, seed):
        """Few to decode: what has learned so little writes to the last step."""
        return reversal_pairs(count if count > 200 else 8, seed, longest=3)

    monkeypatch.setattr(translation_run, "reversal_pairs", few_pairs)
    monkeypatch.setattr(caption_scores, "TESTED", 10)
    monkeypatch.setattr(caption_scores, "VALID", 10)
    sets = [f"--set={change}" for change in changes]
    found = run(name, tmp_path, "--epochs=2", *sets)
    with open(tmp_path / "log.csv") as file:
        first, second = csv.DictReader(file)
    assert falls is None or float(second[falls]) < float(first[falls])
    with pytest.warns(UserWarning, match="has no card.json"):
        model = zoo.load(tmp_path / "preset" / name)
    recipe = load_recipe(name).RECIPE
    if "model" in recipe.classes:
        assert type(model.backbone) is recipe.classes["model"].load()
    use(model, found)


@pytest.mark.once
def test_phrases_of_the_treebank(tmp_path, monkeypatch):
    monkeypatch.setenv("ZOO_DATA_DIR", str(tmp_path))
    path = tmp_path / "sst_trees" / "train.txt"
    path.parent.mkdir()
    path.write_text("(0 Bad)\n(4 (2 So) (3 GOOD))\n")
    add = load_recipe("lstmn_sentiment")._add_phrases
    fine, binary = Labelled(["bad"], [1], "abcde"), Labelled([], [], "ab")
    add(fine, 1)
    assert fine == Labelled(["bad", "so", "good"], [1, 2, 3], "abcde")
    add(binary, 2)
    assert binary == Labelled(["bad", "good", "so good"], [0, 1, 1], "ab")
    for wrong in ("(0 Bad", "(5 Bad)"):
        path.write_text(wrong)
        with pytest.raises(CorpusError, match="line 1 should be a tree"):
            add(fine, 2)
    assert load_recipe("lstmn_sentiment").RECIPE.main(["--set", "phrases=2"]) == 2

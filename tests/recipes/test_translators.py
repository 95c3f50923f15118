"""Each translator's recipe, at tiny scale, learns to reverse sentences."""

import json

import pytest

from tests.harness import load_recipe
from tests.marks import long, proved_under
from tests.recipes.few_steps import check_few_steps
from zoo.data import reversal_pairs
from zoo.training import parallel

# The share of 200 unseen sentences that must come out right, and the backend on which a
# recipe is proved; few under torch, which takes several times as long for so small a
# model. tests/training/test_tiny_recipe.py has luong_local's under all three, of
# shorter sentences.
LEARNED = {
    "bahdanau": (0.95, "tensorflow"),
    "lstmn": (0.95, "tensorflow"),
    "luong_concat": (0.95, "tensorflow"),
    "luong_dot": (0.95, "torch"),
    "luong_global": (0.95, "jax"),
    "luong_local": (0.95, "torch"),
    "luong_local_m": (0.95, "tensorflow"),
    "luong_location": (0.95, "tensorflow"),
    "rnn_encoder_decoder": (0.85, "jax"),
    "seq2seq": (0.85, "jax"),
    "show_attend_tell_text": (0.85, "jax"),
    "transformer": (0.95, "tensorflow"),
}


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=proved_under(LEARNED[name][1])) for name in LEARNED],
)
@pytest.mark.long
def test_the_tiny_recipe_learns(name, tmp_path):
    module = load_recipe(name)
    assert module.main(["--scale", "tiny", "--output", str(tmp_path)]) == 0
    results = json.loads((tmp_path / "results.json").read_text())["generated"]
    assert results["exact"] >= LEARNED[name][0]


@pytest.mark.once
@pytest.mark.parametrize(
    "name",
    [
        # Luong's differ in the attention alone, as a test below says.
        long(name) if "luong" in name and name != "luong_global" else name
        for name in LEARNED
        if name != "luong_local"
    ],
)
def test_a_few_steps_lower_the_loss_and_leave_a_preset(name, tmp_path, monkeypatch):
    def few_pairs(count, seed):
        """Few to decode: what has learned so little writes to the last step."""
        return reversal_pairs(count if count > 200 else 8, seed, longest=3)

    monkeypatch.setattr(parallel, "reversal_pairs", few_pairs)
    few = ("--set", "pairs=300", "--set", "buckets=1")
    # What hard attention is trained by is no likelihood: it may rise at first.
    model = check_few_steps(name, tmp_path, *few, loss="val_perplexity")
    assert type(model.backbone) is load_recipe(name).RECIPE.classes["model"].load()
    assert isinstance(model.translate("sa po", beam_size=2, max_length=3), str)


def test_luongs_recipes_differ_in_the_attention_alone():
    names = {name for name in LEARNED if name.startswith("luong")}
    kinds = {}
    for name in names:
        scales = load_recipe(name).RECIPE.scales
        [kind] = {
            (scale.model["attention"], scale.model["score"])
            for scale in scales.values()
        }
        kinds[name] = kind
        for size in ("tiny", "small"):
            own, other = (
                {**recipe.scales[size].model, "attention": None, "score": None}
                for recipe in (
                    load_recipe("luong_local").RECIPE,
                    load_recipe(name).RECIPE,
                )
            )
            assert own == other
    assert kinds == {
        "luong_local": ("local_p", "general"),
        "luong_local_m": ("local_m", "general"),
        "luong_global": ("global", "general"),
        "luong_dot": ("global", "dot"),
        "luong_concat": ("global", "concat"),
        "luong_location": ("location", "dot"),
    }


def test_luong_reversed_is_luong_global_with_the_papers_encoder():
    scales, others = (
        load_recipe(name).RECIPE.scales for name in ("luong_reversed", "luong_global")
    )
    for size in ("small", "tatoeba", "multi30k"):
        other = others.pop(size).model
        assert scales.pop(size).model == {**other, "bidirectional": False}
    for size in scales:
        assert scales[size].model == others[size].model
        assert not scales[size].model.get("bidirectional")


@pytest.mark.parametrize("name", LEARNED)
def test_the_paper_scale_has_the_papers_sizes(name):
    """They are the class's defaults, which the tests of the models count."""
    sizes = ("num_layers", "hidden_dim", "embedding_dim", "ff_dim", "maxout_dim")
    assert not set(sizes) & set(load_recipe(name).RECIPE.scales["paper"].model)

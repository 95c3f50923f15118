"""The scales of the papers' sizes, and of variants of one model."""

import pytest

from tests.harness import load_recipe
from tests.recipes.test_tiny_scales import TRANSLATORS

KINDS = {
    "luong_local": ("local_p", "general"),
    "luong_local_m": ("local_m", "general"),
    "luong_global": ("global", "general"),
    "luong_dot": ("global", "dot"),
    "luong_concat": ("global", "concat"),
    "luong_location": ("location", "dot"),
}


@pytest.mark.parametrize("name", KINDS)
def test_luongs_recipes_differ_in_the_attention_alone(name):
    first = load_recipe("luong_local").RECIPE.scales
    scales = load_recipe(name).RECIPE.scales
    for size, scale in scales.items():
        kind = dict(zip(("attention", "score"), KINDS[name], strict=True))
        assert scale.model == {**first[size].model, **kind}


def test_luong_reversed_is_luong_global_with_the_papers_encoder():
    scales, others = (
        load_recipe(name).RECIPE.scales for name in ("luong_reversed", "luong_global")
    )
    for size in ("small", "long", "tatoeba", "multi30k"):
        other = others.pop(size).model
        assert scales.pop(size).model == {**other, "bidirectional": False}
    for size in scales:
        assert scales[size].model == others[size].model
        assert not scales[size].model.get("bidirectional")


@pytest.mark.parametrize("name", ["luong_local", *TRANSLATORS])
def test_the_paper_scale_has_the_papers_sizes(name):
    """They are the class's defaults, which the tests of the models count."""
    sizes = ("num_layers", "hidden_dim", "embedding_dim", "ff_dim", "maxout_dim")
    assert not set(sizes) & set(load_recipe(name).RECIPE.scales["paper"].model)

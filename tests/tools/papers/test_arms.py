"""The arms of the study: what they share, and in what order they are run."""

import dataclasses

import pytest

from tools.papers.arms import ARMS, SEEDS, choices, digest, plan
from tools.papers.claims import CLAIMS
from tools.papers.counts import measure_of
from zoo.models import RecurrentLM


@pytest.mark.backend_free
def test_runs_go_seed_by_seed():
    runs = plan()
    assert len(runs) == len(set(runs)) == len(ARMS) * SEEDS
    assert [seed for _, seed in runs] == sorted(seed for _, seed in runs)


@pytest.mark.backend_free
def test_the_digest_changes_with_what_a_run_is(monkeypatch):
    digests = [digest(name) for name in ARMS]
    assert len(set(digests)) == len(ARMS)
    arm, before = ARMS["dot"], digest("dot")
    for change in ({"beams": (5, 1)}, {"recipe": ARMS["general"].recipe}):
        monkeypatch.setitem(ARMS, "dot", dataclasses.replace(arm, **change))
        assert digest("dot") != before
    # Words for the page are none of it.
    monkeypatch.setitem(ARMS, "dot", dataclasses.replace(arm, words="another"))
    assert digest("dot") == before


@pytest.mark.backend_free
def test_each_rung_of_the_ladder_changes_one_thing():
    def model(name):
        return choices(name).model

    def differ(one, other):
        keys = model(one).keys() | model(other).keys()
        return {key for key in keys if model(one).get(key) != model(other).get(key)}

    assert differ("general", "general_plain") == {"input_feeding"}
    assert differ("location", "location_plain") == {"input_feeding"}
    assert differ("general", "general_forward") == {"reverse_source"}
    assert differ("general", "general_both") == {"bidirectional"}
    assert differ("none", "none_forward") == {"reverse_source"}
    for name in ("dot", "concat"):
        assert differ("general", name) == {"score"}
    for name in ("local_p", "local_m", "location"):
        assert differ("general", name) == {"attention"}
    assert differ("soft", "hard") == {"attention"}
    for name in ("soft", "hard"):
        assert differ(name, f"{name}_plain") == {"doubly_stochastic"}
    assert differ("pre", "post") == differ("pre_cold", "post_cold") == {"norm"}


@pytest.mark.once
def test_language_models_have_equal_weights():
    sizes = {}
    for cell in ("lstm", "gru", "lstmn"):
        scale = choices(cell)
        assert scale.cell == cell and scale.embedding_dim == 100
        model = RecurrentLM(
            10_000,
            embedding_dim=scale.embedding_dim,
            hidden_dim=scale.hidden_dim,
            cell=cell,
        )
        sizes[cell] = model.count_params()
    assert max(sizes.values()) < 1.005 * min(sizes.values())


@pytest.mark.backend_free
def test_every_claim_is_about_arms_and_measures_that_there_are():
    kinds = {
        "reading": ("translator", "language model"),
        "links": ("translator",),
        "captions": ("captioner",),
    }
    for claim in CLAIMS:
        assert claim.study
        for contrast in claim.study:
            for _, arm, name in contrast.terms:
                counts = measure_of(name).counts
                if counts is None:
                    assert ARMS[arm].kind == "errors"
                elif counts.startswith("beam"):
                    assert int(counts.split()[1]) in ARMS[arm].beams
                else:
                    assert ARMS[arm].kind in kinds[counts]
                    assert counts != "links" or ARMS[arm].attends
    texts = [claim.text for claim in CLAIMS]
    assert len(texts) == len(set(texts))


@pytest.mark.backend_free
def test_the_nets_of_the_claims_are_the_recipes():
    settings = choices("birnn")
    from tools.papers.claims import DELAYS

    assert settings.delays == DELAYS

import dataclasses
import json

import pytest

from zoo.models import LuongTranslator
from zoo.training import ConfigurationError, Optimizer, Scale, translation_recipe
from zoo.training.config import to_jsonable
from zoo.training.recipes import choices

pytestmark = pytest.mark.once


@dataclasses.dataclass(frozen=True)
class Wide(Scale):
    """Fields of every kind."""

    rates: tuple[float, ...] = ()
    vectors: str | None = "file.vec"


SCALE = Wide(
    model={"num_layers": 1, "hidden_dim": 8, "embedding_dim": 6, "window": 2},
    optimizer=Optimizer("adam", 1e-3, "linear", warmup=10, options={"beta_2": 0.98}),
    epochs=5,
    vocabulary_size=30,
    batch={"batch_tokens": 100},
    pairs=50,
)
RECIPE = translation_recipe("my_recipe", lambda: LuongTranslator, {"tiny": SCALE})


def flatten(value, prefix=""):
    """A scale's values by dotted keys."""
    if not isinstance(value, dict):
        return {prefix[:-1]: value}
    parts = [flatten(part, f"{prefix}{name}.") for name, part in value.items()]
    return {key: value for part in parts for key, value in part.items()}


def change(*texts, scale=SCALE):
    changed = choices.change(RECIPE, scale, texts)
    choices.check(RECIPE, changed)
    return changed


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("epochs=3", 3),
        ("patience=4", 4),
        ("patience=null", None),
        ("loss.smoothing=0.1", 0.1),
        ("loss.normalize=sentences", "sentences"),
        ("model.hidden_dim=16", 16),
        ("model.input_feeding=false", False),
        ("model.attention=global", "global"),
        ("model.dropout=0.5", 0.5),
        ("optimizer.learning_rate=2e-2", 0.02),
        ("optimizer.clip=null", None),
        ("optimizer.clip=2", 2.0),
        ("optimizer.schedule=constant", "constant"),
        ("optimizer.options.beta_2=0.9", 0.9),
        ("optimizer.options.amsgrad=true", True),
        ("optimizer.options.weight_decay=0.01", 0.01),
        ("batch.batch_tokens=64", 64),
        ('corpora=[["multi30k", 2]]', [["multi30k", 2]]),
        ("rates=[1, 0.5]", [1.0, 0.5]),
        ("vectors=null", None),
        ("vectors=" + "9" * 5000, "9" * 5000),  # more than Python reads as an integer
    ],
    ids=lambda value: str(value)[:40],
)
def test_a_key_sets_this_value_and_nothing_else(text, value):
    key, before = text.partition("=")[0], flatten(to_jsonable(SCALE))
    found = flatten(to_jsonable(change(text)))
    assert found[key] == value and type(found[key]) is type(value)
    found.pop("rates"), before.pop("rates")  # flattened alike, but for its length
    assert {**found, key: None} == {**before, key: None}


def test_several_keys_are_set_together_and_the_last_of_one_counts():
    # Neither alone would do: the warmup and the schedule go together.
    texts = ("model.window=3", "model.window=4", "optimizer.warmup=7")
    changed = change(*texts, "optimizer.schedule=noam")
    assert changed.model == {**SCALE.model, "window": 4}
    noam = dataclasses.replace(SCALE.optimizer, warmup=7, schedule="noam")
    assert changed.optimizer == noam and SCALE.model["window"] == 2


def test_a_batch_size_takes_the_place_of_batch_tokens_and_the_other_way_round():
    changed = change("batch.batch_size=16")
    assert changed.batch == {"batch_size": 16, "batch_tokens": None}
    changed = change("batch.batch_tokens=80", scale=changed)
    assert changed.batch == {"batch_size": None, "batch_tokens": 80}


def test_the_optimizers_name_decides_which_options_there_are():
    plain = dataclasses.replace(SCALE.optimizer, options={})
    scale = dataclasses.replace(SCALE, optimizer=plain)
    texts = ("optimizer.options.momentum=0.9", "optimizer.name=sgd")
    assert change(*texts, scale=scale).optimizer(10, 2).momentum == 0.9
    with pytest.raises(
        ConfigurationError, match="Received: .optimizer.options.momentum"
    ):
        change(*texts[:1], scale=scale)
    with pytest.raises(ConfigurationError, match="optimizer: .*beta_2"):
        change("optimizer.name=sgd")  # with an option that only Adam has


def test_every_key_that_is_listed_takes_its_own_value():
    values = flatten(to_jsonable(SCALE))
    assert set(values) <= set(choices.settable(RECIPE, SCALE))
    texts = [
        f"{k}={v if isinstance(v, str) else json.dumps(v)}" for k, v in values.items()
    ]
    assert change(*texts) == SCALE


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("epochs", "--set needs key=value, .* Received: 'epochs'"),
        ("zzz=1", "key is one of .*epochs, .*model.window.* Received: 'zzz=1'"),
        ("model=3", "key is one of"),
        ("model.vocabulary_size=3", "key is one of"),
        ("model.target_vocabulary_size=3", "key is one of"),
        ("model.dtype=float16", "key is one of"),
        ("optimizer.options.learning_rate=1", "key is one of"),
        ("epochs=many", "--set epochs: must be int. Received: 'many'"),
        ("epochs=2.0", "--set epochs: must be int. Received: '2.0'"),
        ("epochs=null", "--set epochs: must be int. Received: 'null'"),
        ("patience=x", r"--set patience: must be int \| None. Received: 'x'"),
        ("optimizer.learning_rate=NaN", "must be float. Received: 'NaN'"),
        ("pieces=words", "`pieces` must be one of .*Received: pieces='words'"),
        ('corpora=[["multi30k"]]', "--set corpora: must be tuple"),
        ('corpora=[["multi30k", 0]]', "at least once. Received: 0 times 'multi30k'"),
        ("epochs=0", "`epochs` must be at least 1. Received: 0"),
        ("optimizer.learning_rate=-1", "`learning_rate` must be above 0"),
        ("batch.batch_size=0", "batch: `batch_size` must be a positive integer"),
        ("loss.smoothing=1.5", r"loss: `smoothing` must be in \[0, 1\)"),
        ("loss.smoothing=NaN", "loss.smoothing: must be"),
        ("model.hidden_dim=-3", "model: `hidden_dim` must be a positive integer"),
        ("model.bidirectional=no", "--set model.bidirectional: must be bool"),
        ("model.dropout=true", "--set model.dropout: must be float"),
        ("optimizer.options.amsgrad=1", "amsgrad: must be bool"),
        ("optimizer.options.gradient_accumulation_steps=2.5", "an integer from 2"),
        ("model.attention=globl", "model: `attention` must be one of .*'globl'"),
    ],
)
def test_what_is_wrong_and_what_is_allowed_are_named(text, message):
    with pytest.raises(ConfigurationError, match=message):
        change(text)

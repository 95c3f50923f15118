import dataclasses
import json
from typing import Literal

import keras
import pytest

from zoo.models import LuongTranslator
from zoo.training import ConfigurationError, Optimizer, Scale, translation_recipe
from zoo.training.config import to_jsonable
from zoo.training.recipes import choices
from zoo.training.recipes.choices import settable

pytestmark = pytest.mark.once

SCALE = Scale(
    model={"num_layers": 1, "hidden_dim": 8, "embedding_dim": 6, "window": 2},
    optimizer=Optimizer("adam", 1e-3, "linear", warmup=10, options={"beta_2": 0.98}),
    epochs=5,
    vocabulary_size=30,
    batch={"batch_tokens": 100},
    pairs=50,
)


def make_recipe(scale=SCALE):
    return translation_recipe("my_recipe", lambda: LuongTranslator, {"tiny": scale})


def flatten(scale):
    """The scale's values by dotted keys."""

    def walk(prefix, value):
        if not isinstance(value, dict):
            return {prefix[:-1]: value}
        parts = [walk(f"{prefix}{name}.", part) for name, part in value.items()]
        return {key: value for part in parts for key, value in part.items()}

    return walk("", to_jsonable(scale))


def change(*texts, scale=SCALE):
    recipe = make_recipe(scale)
    changed = choices.change(recipe, scale, texts)
    choices.check(recipe, changed, texts)
    return changed


# === What is set ===


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("epochs=3", 3),
        ("epochs=+3", 3),
        ("patience=4", 4),
        ("patience=null", None),
        ("max_length=7", 7),
        ("loss.smoothing=0.1", 0.1),
        ("loss.normalize=sentences", "sentences"),
        ("model.hidden_dim=16", 16),
        ("model.input_feeding=false", False),
        ("model.bidirectional=true", True),
        ("model.attention=global", "global"),
        ("model.dropout=0", 0.0),
        ("optimizer.learning_rate=2e-2", 0.02),
        ("optimizer.learning_rate=.5", 0.5),
        ("optimizer.clip=null", None),
        ("optimizer.clip=2", 2.0),
        ("optimizer.schedule=constant", "constant"),
        ("optimizer.options.beta_2=0.9", 0.9),
        ("optimizer.options.amsgrad=true", True),
        ("optimizer.options.weight_decay=0.01", 0.01),
        ("batch.batch_tokens=64", 64),
        (
            'corpora=[["multi30k", 2], ["tatoeba", 1]]',
            [["multi30k", 2], ["tatoeba", 1]],
        ),
    ],
)
def test_a_key_sets_this_value_and_nothing_else(text, value):
    changed, key = change(text), text.partition("=")[0]
    found = flatten(changed)
    assert found[key] == value and type(found[key]) is type(value)
    assert {**found, key: None} == {**flatten(SCALE), key: None}
    assert json.loads(json.dumps(found)) == found


def test_several_keys_are_set_together_and_the_last_of_one_counts():
    # Neither alone would do: the warmup and the schedule go together.
    changed = change("model.window=3", "model.window=4", "optimizer.warmup=7")
    assert changed.model == {**SCALE.model, "window": 4}
    assert changed.optimizer == dataclasses.replace(SCALE.optimizer, warmup=7)
    assert SCALE.model["window"] == 2


def test_arguments_of_one_callable_are_set_together():
    average = change("average.which=best", "average.keep=3").average
    assert average == {"which": "best", "keep": 3}


def test_a_batch_size_takes_the_place_of_batch_tokens_and_the_other_way_round():
    changed = change("batch.batch_size=16")
    assert changed.batch == {"batch_size": 16}
    assert change("batch.batch_tokens=80", scale=changed).batch == {"batch_tokens": 80}


def test_the_optimizers_name_decides_which_options_there_are():
    plain = dataclasses.replace(SCALE.optimizer, options={})
    scale = dataclasses.replace(SCALE, optimizer=plain)
    texts = ("optimizer.options.momentum=0.9", "optimizer.name=sgd")
    assert change(*texts, scale=scale).optimizer(10, 2).momentum == 0.9
    with pytest.raises(ConfigurationError, match="no hyper-parameter .*momentum"):
        change(*texts[:1], scale=scale)
    with pytest.raises(ConfigurationError, match="optimizer: .*beta_2"):
        change("optimizer.name=sgd")  # with an option that only Adam has


def test_every_key_that_is_listed_takes_its_own_value():
    values, kinds = flatten(SCALE), settable(make_recipe(), SCALE)
    assert set(values) <= set(kinds) | {"corpora"}
    texts = [
        f"{key}={json.dumps(value)}" if not isinstance(value, str) else f"{key}={value}"
        for key, value in values.items()
    ]
    assert change(*texts) == SCALE


# === What is refused ===


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("epochs", "--set needs key=value. Received: 'epochs'"),
        (
            "hidden_dim=3",
            "no hyper-parameter 'hidden_dim' .did you mean model.hidden_d",
        ),
        ("model.atention=dot", "'model.atention' .did you mean model.attention"),
        ("optimizer.lerning_rate=1", "did you mean optimizer.learning_rate"),
        ("zzz=1", "no hyper-parameter 'zzz'. There are: .*epochs, .*model.window"),
        ("model=3", "no hyper-parameter 'model'"),
        ("model.vocabulary_size=3", "no hyper-parameter"),
        ("model.dtype=float16", "no hyper-parameter"),
        ("optimizer.options.learning_rate=1", "no hyper-parameter"),
        ("epochs=many", "--set epochs: must be an integer. Received: 'many'"),
        ("epochs=2.0", "--set epochs: must be an integer. Received: '2.0'"),
        ("epochs=null", "--set epochs: must be an integer. Received: 'null'"),
        ("epochs= 3", "--set epochs: must be an integer"),
        ("epochs=1_0", "--set epochs: must be an integer"),
        ("patience=x", "--set patience: must be an integer or null. Received: 'x'"),
        ("loss.smoothing=nan", "must be a finite number. Received: 'nan'"),
        ("loss.smoothing=1e999", "must be a finite number"),
        ("model.input_feeding=1", "must be true or false. Received: '1'"),
        ("model.input_feeding=True", "must be true or false. Received: 'True'"),
        ("optimizer.options.weight_decay=x", "must be .*number.* or null"),
        ("corpora=multi30k", "--set corpora: must be JSON"),
        ('corpora=[["multi30k"]]', "--set corpora: must be JSON"),
        ('corpora=[["multi30k", "2"]]', "--set corpora: must be JSON"),
        ('corpora=[["multi30k", 0]]', "at least once. Received: 0 times 'multi30k'"),
        ("epochs=0", "`epochs` must be at least 1. Received: 0"),
        ("max_length=0", "`max_length` must be at least 1. Received: 0"),
        ("subword_regularization=-1", "`subword_reg.*` must be 0 or above.*=-1"),
        ("subword_regularization=x", "must be a finite number or null"),
        ("patience=-1", "`patience` must be at least 1. Received: -1"),
        ("optimizer.learning_rate=-1", "`learning_rate` must be above 0"),
        (
            "optimizer.schedule=cos",
            "`schedule` must be one of .*Received: schedule='cos'",
        ),
        ("batch.batch_size=0", "batch: `batch_size` must be a positive integer"),
        ("loss.smoothing=1.5", r"loss: `smoothing` must be in \[0, 1\)"),
        ("model.dropout=1.5", r"model: `dropout` must be in \[0, 1\)"),
        ("model.attention=globl", "model: `attention` must be one of .*'globl'"),
        ("average.which=worst", "average: `which` must be one of .*'last', 'best'"),
        ("average.folder=x", "no hyper-parameter 'average.folder'"),
        ("model.num_layers=0", "model: `num_layers` must be a positive integer"),
    ],
)
def test_what_is_wrong_and_what_is_allowed_are_named(text, message):
    with pytest.raises(ConfigurationError, match=message):
        change(text)


def test_characters_have_no_other_pieces():
    with pytest.raises(ConfigurationError, match="=0.2, pieces='char'"):
        change("pieces=char", "subword_regularization=0.2")


def test_a_function_as_optimizer_has_no_keys_but_is_told_of():
    def sgd(steps, epochs):
        return keras.optimizers.SGD(0.25)

    scale = dataclasses.replace(SCALE, optimizer=sgd)
    with pytest.raises(ConfigurationError, match="no hyper-parameter 'optimizer.clip'"):
        change("optimizer.clip=1", scale=scale)
    told = to_jsonable(scale)["optimizer"]
    assert told["class"] == "SGD" and told["learning_rate"] == 0.25
    assert to_jsonable(scale) == to_jsonable(scale)


# === Any field of a scale ===


@dataclasses.dataclass(frozen=True)
class Wide(Scale):
    rates: tuple[float, ...] = ()
    kind: Literal["ema", "last"] = "ema"
    vectors: str | None = "file.vec"
    extra: dict[str, float] = dataclasses.field(default_factory=lambda: {"a": 1.0})


WIDE = Wide(**vars(SCALE))


def test_null_is_no_text_and_digits_are_some():
    assert change("vectors=null", scale=WIDE).vectors is None
    digits = "9" * 5000  # more than Python reads as an integer
    assert change(f"vectors={digits}", scale=WIDE).vectors == digits
    with pytest.raises(ConfigurationError, match="epochs: must be an integer"):
        change(f"epochs={digits}", scale=WIDE)


def test_tuples_dicts_and_literals_of_a_new_field():
    assert change("rates=[1, 0.5]", scale=WIDE).rates == (1.0, 0.5)
    assert change("extra.a=2", scale=WIDE).extra == {"a": 2.0}
    with pytest.raises(ConfigurationError, match="no hyper-parameter 'extra.b'"):
        change("extra.b=2", scale=WIDE)
    assert change("kind=last", scale=WIDE).kind == "last"
    with pytest.raises(ConfigurationError, match=r"one of \['ema', 'last'\]"):
        change("kind=first", scale=WIDE)

import json
import os
import sys

import keras
import pytest

from zoo.training import (
    Arguments,
    ConfigurationError,
    Optimizer,
    Scale,
    translation_recipe,
)
from zoo.training.config import (
    choose_backend,
    commit,
    cpu,
    read_configuration,
    to_jsonable,
    versions,
    write_configuration,
)
from zoo.training.recipes.arguments import TEXT, recorded_options

pytestmark = pytest.mark.backend_free

SCALE = Scale(
    model={"hidden_dim": 8},
    optimizer=Optimizer("sgd", 0.1),
    epochs=5,
    vocabulary_size=30,
    batch={"batch_size": 4},
    pairs=9,
)
RECIPE = translation_recipe("my_recipe", lambda: None, {"tiny": SCALE}, file=__file__)


def write(folder, command="zoo train my_recipe"):
    arguments = Arguments("runs/x", changes=["pairs=9"], seed=3)
    choices = {
        "arguments": {n: getattr(arguments, n) for n in recorded_options(RECIPE)},
        "set": arguments.changes,
        "hyper_parameters": to_jsonable(SCALE),
        "command": command,
    }
    write_configuration(folder, RECIPE, choices)
    return read_configuration(folder)


def test_it_tells_of_everything_that_a_run_is_made_of(tmp_path):
    found = write(tmp_path)
    assert os.listdir(tmp_path) == ["config.json"]
    assert found["recipe"]["name"] == "my_recipe"
    assert found["recipe"]["file"] == os.path.abspath(__file__)
    assert len(found["recipe"]["sha256"]) == 64
    assert found["arguments"] == {
        "scale": "tiny",
        "seed": 3,
        "precision": "float32",
        "limit": None,
        "distribute": "none",
        **dict.fromkeys(TEXT),
        "keep_all": False,
    }
    assert found["set"] == ["pairs=9"]
    assert found["hyper_parameters"]["model"] == {"hidden_dim": 8}
    assert found["hyper_parameters"]["optimizer"]["learning_rate"] == 0.1
    assert found["hyper_parameters"]["patience"] is None
    assert found["backend"] == keras.backend.backend()
    assert found["commit"] == commit()
    assert found["machine"].endswith(cpu())
    assert found["command"] == "zoo train my_recipe"
    assert found["date"][:2] == "20"
    assert found["before"] == []


@pytest.mark.parametrize("backend", ["tensorflow", "jax", "torch"])
def test_versions_are_those_that_are_installed(backend):
    found = versions(backend)
    assert found["keras"] == keras.__version__
    assert found["python"] == sys.version.split()[0]
    assert {"zoo", "keras-hub", "numpy", "sentencepiece", "sacrebleu"} <= set(found)
    assert backend in found  # None where it is not installed
    assert not {"tensorflow", "jax", "torch"} - {backend} & set(found)


def test_the_commands_of_a_run_that_goes_on_are_kept(tmp_path):
    write(tmp_path, "first")
    (tmp_path / "checkpoint.npz").touch()
    write(tmp_path, "second")
    found = write(tmp_path, "third")
    assert found["command"] == "third"
    assert [entry["command"] for entry in found["before"]] == ["first", "second"]
    assert found["before"][0]["versions"]["keras"] == keras.__version__
    (tmp_path / "checkpoint.npz").unlink()
    assert write(tmp_path, "another")["before"] == []


@pytest.mark.parametrize("content", ["", "{", "[]", "{}", '"x"', '{"recipe": 3}'])
def test_a_damaged_file_is_refused_with_its_name(tmp_path, content):
    (tmp_path / "config.json").write_text(content)
    with pytest.raises(ConfigurationError, match="config.json is damaged"):
        read_configuration(tmp_path)


@pytest.mark.parametrize("key", ["recipe", "arguments", "set", "backend"])
def test_an_incomplete_file_is_refused(tmp_path, key):
    (tmp_path / "config.json").write_text(json.dumps({**write(tmp_path), key: 7}))
    with pytest.raises(ConfigurationError, match="config.json is damaged"):
        read_configuration(tmp_path)


def test_a_folder_without_it_is_none_of_a_run(tmp_path):
    with pytest.raises(ConfigurationError, match="not the folder of a run"):
        read_configuration(tmp_path / "nowhere")


# === The backend ===


def test_a_run_brings_its_backend_where_nothing_says_another(monkeypatch):
    monkeypatch.setenv("KERAS_BACKEND", "")  # put back as it was in the end
    monkeypatch.delitem(sys.modules, "keras")
    assert choose_backend("torch", "runs/x") is True
    assert os.environ["KERAS_BACKEND"] == "torch"
    assert choose_backend("torch", "runs/x") is False
    with pytest.raises(ConfigurationError, match="trained under jax, .* says torch"):
        choose_backend("jax", "runs/x")


def test_the_backend_that_runs_already_can_not_be_changed(monkeypatch):
    running = keras.backend.backend()
    other = "jax" if running != "jax" else "torch"
    monkeypatch.delenv("KERAS_BACKEND", raising=False)
    with pytest.raises(ConfigurationError, match=f"says {running}. Unset KERAS_BACK"):
        choose_backend(other, "runs/x")
    assert "KERAS_BACKEND" not in os.environ
    assert choose_backend(running, "runs/x") is False


@pytest.mark.skipif(
    not hasattr(os, "sched_setaffinity"), reason="the system can't pin a process"
)
def test_a_pinned_process_names_the_cores_that_it_may_use():
    own = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(own)})
    try:
        assert cpu().startswith("1 CPU core (")
    finally:
        os.sched_setaffinity(0, own)

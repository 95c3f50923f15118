import json
import os
import sys

import keras
import pytest

from tests.training.tiny_run import SCALE
from zoo.training import Arguments, ConfigurationError, Run, config, translation_recipe
from zoo.training.config import read_configuration, write_configuration

pytestmark = pytest.mark.backend_free

RECIPE = translation_recipe("my_recipe", lambda: None, {"tiny": SCALE}, file=__file__)


@pytest.fixture
def written(tmp_path):
    run = Run(RECIPE, SCALE, Arguments(tmp_path, changes=["epochs=3"], seed=3))
    write_configuration(run, "zoo train my_recipe")
    return read_configuration(tmp_path)


def test_it_tells_of_everything_that_a_run_is_made_of(written):
    backend = keras.backend.backend()
    assert written["recipe"] == {"name": "my_recipe", "file": os.path.abspath(__file__)}
    assert written["arguments"].items() >= {"scale": "tiny", "seed": 3}.items()
    assert not set(config.UNRECORDED) & set(written["arguments"])
    assert written["set"] == ["epochs=3"]
    assert written["command"] == "zoo train my_recipe"
    assert written["hyper_parameters"]["model"] == SCALE.model
    assert written["hyper_parameters"]["optimizer"]["learning_rate"] == 0.005
    assert written["backend"] == backend and backend in written["versions"]
    assert written["versions"]["python"] == sys.version.split()[0]
    assert written["commit"] == config.commit()
    assert written["machine"].endswith(config.cpu())


@pytest.mark.parametrize("content", ["", "[]", "{}", "recipe", "set", "backend"])
def test_a_damaged_file_is_refused_with_its_name(tmp_path, written, content):
    if content in written:
        content = json.dumps({**written, content: 7})
    (tmp_path / "config.json").write_text(content)
    with pytest.raises(ConfigurationError, match="config.json is damaged"):
        read_configuration(tmp_path)


def test_a_folder_without_it_is_none_of_a_run(tmp_path):
    with pytest.raises(ConfigurationError, match="not the folder of a run"):
        read_configuration(tmp_path / "nowhere")

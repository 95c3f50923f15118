"""`import zoo` is enough for Keras and KerasHub to load what zoo has saved."""

import keras
import pytest

from tests.models.conftest import tokenizer  # noqa: F401
from tests.models.test_everyday import translator
from tests.test_import import python
from zoo import layers
from zoo.training import ScheduledSampling, SmoothedCrossEntropy

LOAD = """
model = keras.saving.load_model(f"{folder}/layers.keras")
assert type(model.loss).__module__ == "zoo.training.losses"
"""
LOAD_TASK = """
task = keras.saving.load_model(f"{folder}/task.keras")
assert type(task.augmentation[0]).__name__ == "ScheduledSampling"
assert known >= {f"zoo>{name}" for name in zoo.tasks.__all__ if name != "Translator"}
"""
FROM_PRESET = """
for name in ("Seq2SeqLMPreprocessor", "Backbone", "Seq2SeqLM"):
    cls = getattr(keras_hub.models, name)
    print(type(cls.from_preset(folder)).__name__)
"""
UNLOADED = """
import sys
folder = sys.argv[1]
assert "zoo.models" not in sys.modules
known = set(keras.saving.get_custom_objects())
"""


@pytest.fixture(scope="module")
def folder(tokenizer, tmp_path_factory):  # noqa: F811
    folder = tmp_path_factory.mktemp("saved")
    task = translator(tokenizer=tokenizer)
    augmentation = [ScheduledSampling(0.9)]
    task = type(task)(task.backbone, task.preprocessor, augmentation=augmentation)
    inputs = keras.Input((5, 4))
    outputs, _ = layers.RecurrentStack(4, 1)(inputs)
    outputs = keras.layers.Dense(3, activation=layers.logistic_1)(outputs)
    model = keras.Model(inputs, outputs)
    model.compile("sgd", SmoothedCrossEntropy())
    model.save(folder / "layers.keras")
    task.save(folder / "task.keras")
    task.save_to_preset(str(folder))
    return folder


@pytest.mark.once
def test_keras_loads_layers_and_tasks(folder):
    python("import zoo, keras" + UNLOADED + LOAD + UNLOADED + LOAD_TASK, str(folder))


@pytest.mark.once
def test_kerashub_loads_each_part_of_a_preset_and_keras_the_rest(folder):
    code = "import keras_hub, keras, zoo" + UNLOADED + FROM_PRESET + LOAD + LOAD_TASK
    wanted = ["LuongPreprocessor", "Luong", "LuongTranslator"]
    assert python(code, str(folder)).splitlines() == wanted

"""`import zoo` is enough for Keras and KerasHub to load what zoo has saved."""

import keras
import pytest

from tests.models.conftest import tokenizer  # noqa: F401
from tests.models.test_everyday import translator
from tests.test_import import python
from zoo import layers
from zoo.training import ScheduledSampling, SmoothedCrossEntropy

LOAD = """
import sys
folder, unloaded = sys.argv[1], "zoo.models" not in sys.modules
model = keras.saving.load_model(f"{folder}/layers.keras")
assert unloaded and "zoo.models" not in sys.modules
assert type(model.loss).__module__ == "zoo.training.losses"
task = keras.saving.load_model(f"{folder}/task.keras")
assert type(task.augmentation[0]).__name__ == "ScheduledSampling"
"""
FROM_PRESET = """
import sys
import keras_hub, zoo
assert "zoo.models" not in sys.modules
for name in ("Seq2SeqLMPreprocessor", "Backbone", "Seq2SeqLM"):
    cls = getattr(keras_hub.models, name)
    print(type(cls.from_preset(sys.argv[1])).__name__)
"""


@pytest.fixture(scope="module")
def task(tokenizer):  # noqa: F811
    task = translator(tokenizer=tokenizer)
    augmentation = [ScheduledSampling(0.9)]
    return type(task)(task.backbone, task.preprocessor, augmentation=augmentation)


@pytest.mark.parametrize("imports", ["import zoo, keras", "import keras, zoo"])
def test_keras_loads_layers_and_tasks(imports, task, tmp_path):
    inputs = keras.Input((5, 4))
    outputs, _ = layers.RecurrentStack(4, 1)(inputs)
    outputs = keras.layers.Dense(3, activation=layers.logistic_1)(outputs)
    model = keras.Model(inputs, outputs)
    model.compile("sgd", SmoothedCrossEntropy())
    model.save(tmp_path / "layers.keras")
    task.save(tmp_path / "task.keras")
    python(imports + LOAD, str(tmp_path))


@pytest.mark.once
def test_kerashub_loads_each_part_of_a_preset(task, tmp_path):
    task.save_to_preset(str(tmp_path))
    wanted = ["LuongPreprocessor", "Luong", "LuongTranslator"]
    assert python(FROM_PRESET, str(tmp_path)).splitlines() == wanted

import keras
import numpy as np

from zoo.models import Luong, LuongTranslator
from zoo.training import compile_for_training


def test_a_compiled_task_trains():
    model = LuongTranslator(Luong(20, num_layers=1, hidden_dim=8, embedding_dim=8))
    optimizer = keras.optimizers.Adam()
    compile_for_training(model, optimizer, smoothing=0.1, normalize="sentences")
    assert (model.loss.smoothing, model.loss.normalize) == (0.1, "sentences")
    assert len(optimizer.variables) > 2 * len(model.trainable_variables)  # is built
    before = [keras.ops.convert_to_numpy(v) for v in model.trainable_variables]
    ids = np.array([[4, 5, 6]], "int32")
    inputs = {"source_ids": ids, "target_ids": ids}
    model.fit(inputs, ids, sample_weight=np.ones((1, 3), "float32"), verbose=0)
    after = [keras.ops.convert_to_numpy(v) for v in model.trainable_variables]
    assert all(np.any(a != b) for a, b in zip(before, after, strict=True))

"""The sentiment recipe starts from GloVe's vectors."""

import keras
import numpy as np
import pytest

from tests.harness import load_recipe
from zoo.training import ConfigurationError


@pytest.mark.once
def test_vectors_are_copied_and_other_rows_stay(tmp_path):
    copy_vectors = load_recipe("lstmn_sentiment").copy_vectors
    layer, path = keras.layers.Embedding(3, 2), tmp_path / "glove.txt"
    layer.build()
    before = keras.ops.convert_to_numpy(layer.embeddings).copy()
    path.write_text("dog 1 2\n. . 3 4\ncat 5 6e-1\n", "utf-8")
    assert copy_vectors(path, ["a", "cat", ". ."], layer) == 2
    after = keras.ops.convert_to_numpy(layer.embeddings)
    np.testing.assert_allclose(after, [before[0], [5, 0.6], [3, 4]])
    for line, message in (("cat 1", "2 numbers"), ("cat 1 x", "could not convert")):
        path.write_text(f"dog 1 2\n{line}\n", "utf-8")
        with pytest.raises(ConfigurationError, match=f"line 2: .*{message}"):
            copy_vectors(path, ["cat"], layer)

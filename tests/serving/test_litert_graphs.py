import pytest

from zoo.serving.litert_graphs import _refusal

pytestmark = pytest.mark.backend_free
# As TensorFlow 2.21's converter has it.
MESSAGE = """Could not translate MLIR to FlatBuffer.<unknown>:0: error: failed
<unknown>:0: note: Error code: ERROR_NEEDS_FLEX_OPS
Some ops are not supported by the native TFLite runtime, you can enable TF kernels
TF Select ops: Bitcast, Betainc
Details:
"""


def test_a_refusal_names_the_operations():
    assert str(_refusal(RuntimeError(MESSAGE))).endswith("lacks: Bitcast, Betainc")
    assert str(_refusal(RuntimeError("no\nroom"))).endswith("LiteRT lacks: no")

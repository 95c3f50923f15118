import pytest

from zoo.serving.export.onnx_graphs import _check_loads

pytestmark = pytest.mark.backend_free


def test_a_graph_that_does_not_load_is_refused(tmp_path):
    pytest.importorskip("onnxruntime", reason="an export needs the extra `onnx`")
    (tmp_path / "encode.onnx").write_bytes(b"no graph")
    with pytest.raises(ValueError, match="cannot be exported in float16.*encode.onnx"):
        _check_loads(tmp_path / "encode.onnx")

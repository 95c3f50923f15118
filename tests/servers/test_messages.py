"""The messages against TensorFlow Serving's own."""

import pytest

from zoo.servers.messages import message

pytestmark = pytest.mark.backend_free

OURS = (
    "ModelSpec PredictRequest PredictResponse SignatureDefMap GetModelMetadataRequest "
    "GetModelMetadataResponse GetModelStatusRequest GetModelStatusResponse "
    "ModelVersionStatus StatusProto TensorProto TensorShapeProto TensorInfo SignatureDef"
).split()


@pytest.fixture(scope="module")
def theirs():
    """TensorFlow's classes of messages by name."""
    pytest.importorskip("tensorflow_serving", reason="it is of the extra `serving`")
    from tensorflow.core.framework import tensor_pb2, tensor_shape_pb2
    from tensorflow.core.protobuf import meta_graph_pb2
    from tensorflow_serving.apis import (
        get_model_metadata_pb2,
        get_model_status_pb2,
        model_pb2,
        predict_pb2,
    )
    from tensorflow_serving.util import status_pb2

    modules = [model_pb2, predict_pb2, get_model_metadata_pb2, get_model_status_pb2]
    modules += [tensor_pb2, tensor_shape_pb2, meta_graph_pb2, status_pb2]
    return {
        name: getattr(m, name) for m in modules for name in OURS if hasattr(m, name)
    }


def same_fields(ours, theirs, seen):
    """Whether a message's fields, and those of their messages, are TensorFlow's."""
    if ours.full_name in seen or ours.full_name.startswith("google.protobuf."):
        return
    seen.add(ours.full_name)
    for field in ours.fields:
        other = theirs.fields_by_name[field.name]
        assert (field.number, field.type) == (other.number, other.type), field.full_name
        assert field.is_repeated == other.is_repeated, field.full_name
        if field.message_type:
            assert field.message_type.name == other.message_type.name
            same_fields(field.message_type, other.message_type, seen)
        if field.enum_type:
            for name, value in field.enum_type.values_by_name.items():
                assert other.enum_type.values_by_name[name].number == value.number


@pytest.mark.parametrize("name", OURS)
def test_fields_are_tensorflows(name, theirs):
    ours, other = message(name).DESCRIPTOR, theirs[name].DESCRIPTOR
    assert ours.full_name == other.full_name
    same_fields(ours, other, set())


def test_bytes_are_tensorflows(theirs):
    for classes in (message, theirs.__getitem__):
        request = classes("PredictRequest")()
        request.model_spec.name, request.model_spec.version.value = "a", 3
        request.inputs["text"].dtype = 7
        request.inputs["text"].string_val.extend([b"\xff", b""])
        request.inputs["text"].tensor_shape.dim.add(size=2)
        for other in (message, theirs.__getitem__):
            found = other("PredictRequest").FromString(request.SerializeToString())
            assert str(found) == str(request)


def test_fields_that_are_unknown_are_skipped(theirs):
    tensor = theirs["TensorProto"](dtype=7, string_val=[b"a"], int64_val=[1, 2])
    found = message("TensorProto").FromString(tensor.SerializeToString())
    assert found.string_val == [b"a"]


def test_an_unknown_message():
    with pytest.raises(KeyError, match="Other"):
        message("Other")

"""The messages against TensorFlow Serving's own."""

import pytest

from zoo.servers.messages import message

pytestmark = pytest.mark.backend_free

# With those in their fields.
OURS = (
    "PredictRequest PredictResponse SignatureDefMap GetModelMetadataRequest "
    "GetModelMetadataResponse GetModelStatusRequest GetModelStatusResponse"
).split()


@pytest.fixture(scope="module")
def theirs():
    """Function that returns TensorFlow's class of a message."""
    pytest.importorskip("tensorflow_serving", reason="it is of the extra `serving`")
    from tensorflow.core.framework import tensor_pb2
    from tensorflow_serving.apis import (
        get_model_metadata_pb2,
        get_model_status_pb2,
        predict_pb2,
    )

    modules = predict_pb2, get_model_metadata_pb2, get_model_status_pb2, tensor_pb2

    def find(name):
        return next(getattr(m, name) for m in modules if hasattr(m, name))

    return find


def same_fields(ours, theirs, seen):
    """Asserts that a message's fields, and those in them, are TensorFlow's."""
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
    ours, other = message(name).DESCRIPTOR, theirs(name).DESCRIPTOR
    assert ours.full_name == other.full_name
    same_fields(ours, other, set())


def test_bytes_are_tensorflows(theirs):
    for classes in (message, theirs):
        request = classes("PredictRequest")()
        request.model_spec.name, request.model_spec.version.value = "a", 3
        request.inputs["text"].dtype = 7
        request.inputs["text"].string_val.extend([b"\xff", b""])
        request.inputs["text"].tensor_shape.dim.add(size=2)
        for other in (message, theirs):
            found = other("PredictRequest").FromString(request.SerializeToString())
            assert str(found) == str(request)


def test_fields_that_are_unknown_are_skipped(theirs):
    tensor = theirs("TensorProto")(dtype=7, string_val=[b"a"], int64_val=[1, 2])
    found = message("TensorProto").FromString(tensor.SerializeToString())
    assert found.string_val == [b"a"]


def test_an_unknown_message():
    with pytest.raises(KeyError, match="Other"):
        message("Other")

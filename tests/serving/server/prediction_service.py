"""TensorFlow Serving's own stubs, for what `zoo.serving.Client` does not ask."""

import grpc
from tensorflow.core.framework import types_pb2
from tensorflow_serving.apis import (
    classification_pb2,
    get_model_metadata_pb2,
    get_model_status_pb2,
    predict_pb2,
)
from tensorflow_serving.apis.model_service_pb2_grpc import ModelServiceStub
from tensorflow_serving.apis.prediction_service_pb2_grpc import PredictionServiceStub

TYPES = types_pb2.DataType


class Stubs:
    def __init__(self, address):
        self.channel = grpc.insecure_channel(address)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.channel.close()

    def status(self, name, version=None):
        request = get_model_status_pb2.GetModelStatusRequest()
        request.model_spec.name = name
        if version is not None:
            request.model_spec.version.value = version
        return ModelServiceStub(self.channel).GetModelStatus(request, timeout=60)

    def metadata(self, name, field="signature_def"):
        request = get_model_metadata_pb2.GetModelMetadataRequest(metadata_field=[field])
        request.model_spec.name = name
        stub = PredictionServiceStub(self.channel)
        answer = stub.GetModelMetadata(request, timeout=60)
        found = get_model_metadata_pb2.SignatureDefMap()
        assert answer.metadata[field].Unpack(found)
        return answer, found.signature_def

    def classify(self):
        request = classification_pb2.ClassificationRequest()
        PredictionServiceStub(self.channel).Classify(request, timeout=60)

    def predict(self, data):
        """The answer to the bytes of a request."""
        call = self.channel.unary_unary("/tensorflow.serving.PredictionService/Predict")
        return predict_pb2.PredictResponse.FromString(call(data, timeout=60))


def code(ask):
    """The code of the error that a question leads to."""
    try:
        ask()
    except grpc.RpcError as error:
        return error.code().name
    return "OK"


def request(values=(b"A dog runs.",), shape=None, dtype="DT_STRING", **more):
    """The bytes of a PredictRequest with such a tensor."""
    made = predict_pb2.PredictRequest(output_filter=more.pop("output_filter", []))
    made.model_spec.name = "luong_local"
    tensor = made.inputs["text"]
    tensor.dtype = TYPES.Value(dtype)
    tensor.string_val.extend(values)
    for size in [len(values)] if shape is None else shape:
        tensor.tensor_shape.dim.add(size=size)
    for name, value in more.items():
        getattr(tensor, name).extend(value)
    return made.SerializeToString()

"""The messages of TensorFlow Serving's gRPC API, without TensorFlow.

    request = message("PredictRequest").FromString(data)

They have the fields that a server of texts reads or writes, with the numbers and types
of TensorFlow Serving's `apis/*.proto` and TensorFlow's; others are skipped when a
message is read. Their pool is their own, so that TensorFlow may be in the process too.
"""

import functools
from typing import Any

from google.protobuf import (
    any_pb2,
    descriptor_pb2,
    descriptor_pool,
    message_factory,
    wrappers_pb2,
)

_PACKAGES = {
    "tensorflow": """
        enum DataType: DT_INVALID 0, DT_FLOAT 1, DT_STRING 7
        Dim: int64 size 1, string name 2
        TensorShapeProto: repeated Dim dim 2, bool unknown_rank 3
        TensorProto: DataType dtype 1, TensorShapeProto tensor_shape 2,
            bytes tensor_content 4, repeated float float_val 5,
            repeated bytes string_val 8
        TensorInfo: string name 1, DataType dtype 2, TensorShapeProto tensor_shape 3
        SignatureDef: map TensorInfo inputs 1, map TensorInfo outputs 2,
            string method_name 3
    """,
    "tensorflow.error": """
        enum Code: OK 0, CANCELLED 1, UNKNOWN 2, INVALID_ARGUMENT 3, NOT_FOUND 5
    """,
    "tensorflow.serving": """
        ModelSpec: string name 1, Int64Value version 2, string signature_name 3,
            string version_label 4
        PredictRequest: ModelSpec model_spec 1, map TensorProto inputs 2,
            repeated string output_filter 3
        PredictResponse: map TensorProto outputs 1, ModelSpec model_spec 2
        SignatureDefMap: map SignatureDef signature_def 1
        GetModelMetadataRequest: ModelSpec model_spec 1,
            repeated string metadata_field 2
        GetModelMetadataResponse: ModelSpec model_spec 1, map Any metadata 2
        GetModelStatusRequest: ModelSpec model_spec 1
        enum State: UNKNOWN 0, START 10, LOADING 20, AVAILABLE 30, UNLOADING 40, END 50
        StatusProto: Code error_code 1, string error_message 2
        ModelVersionStatus: int64 version 1, State state 2, StatusProto status 3
        GetModelStatusResponse: repeated ModelVersionStatus model_version_status 1
    """,
}
_Field: Any = descriptor_pb2.FieldDescriptorProto


@functools.cache
def message(name: str) -> Any:
    """Returns the class of a message, such as "PredictRequest".

    Raises:
        KeyError: if there is none of that name.
    """
    package = _declared()[name][0]
    found = _pool().FindMessageTypeByName(f"{package}.{name}")
    return message_factory.GetMessageClass(found)


@functools.cache
def _declared():
    """Returns of each message and enum its package, kind and members."""
    found = {}
    for package, text in _PACKAGES.items():
        *lines, _ = text.replace(",\n", ", ").split("\n")
        for line in lines[1:]:
            head, members = line.split(":")
            *kind, name = head.split()
            found[name] = package, bool(kind), [m.split() for m in members.split(",")]
    return found


@functools.cache
def _pool():
    pool = descriptor_pool.DescriptorPool()
    files = [any_pb2.DESCRIPTOR.name, wrappers_pb2.DESCRIPTOR.name]
    for module in (any_pb2, wrappers_pb2):
        pool.AddSerializedFile(module.DESCRIPTOR.serialized_pb)
    for package in _PACKAGES:
        file = descriptor_pb2.FileDescriptorProto(
            name=f"{package}.proto", package=package, syntax="proto3", dependency=files
        )
        for name, (home, is_enum, members) in _declared().items():
            if home == package and is_enum:
                values = file.enum_type.add(name=name).value
                for value, number in members:
                    values.add(name=value, number=int(number))
            elif home == package:
                _add_message(file.message_type.add(name=name), package, members)
        pool.AddSerializedFile(file.SerializeToString())
        files.append(file.name)
    return pool


def _add_message(made, package, members):
    for *label, kind, name, number in members:
        if label == ["map"]:
            # A map is a repeated message of a key and a value.
            entry = f"{name.title().replace('_', '')}Entry"
            pair = made.nested_type.add(name=entry)
            pair.options.map_entry = True
            _add_field(pair, "string", "key", 1)
            _add_field(pair, kind, "value", 2)
            kind = f".{package}.{made.name}.{entry}"
        _add_field(made, kind, name, int(number), repeated=bool(label))


def _add_field(made, kind, name, number, repeated=False):
    field = made.field.add(name=name, number=number)
    field.label = _Field.LABEL_REPEATED if repeated else _Field.LABEL_OPTIONAL
    if kind.islower() and not kind.startswith("."):
        field.type = getattr(_Field, f"TYPE_{kind.upper()}")
        return
    package, is_enum, _ = _declared().get(kind, ("google.protobuf", False, None))
    field.type = _Field.TYPE_ENUM if is_enum else _Field.TYPE_MESSAGE
    field.type_name = kind if kind.startswith(".") else f".{package}.{kind}"

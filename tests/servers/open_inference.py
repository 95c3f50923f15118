"""Asks a KServe server by the Open Inference Protocol, where kserve is installed.

    python open_inference.py GRPC_ADDRESS MODEL [IMAGE]

Prints what came out as JSON, by the name of each question: the outputs, or the code of
the error. With the file of an image it asks a captioner instead of a translator, in
both forms of BYTES, and prints a list of the two answers.
"""

import json
import struct
import sys
from pathlib import Path

import grpc
from kserve.protocol.grpc import grpc_predict_v2_pb2 as pb
from kserve.protocol.grpc.grpc_predict_v2_pb2_grpc import GRPCInferenceServiceStub

TEXTS = ["A dog runs.", "", "Two men sit at a table."]


def main(address, model, image=None):
    stub = GRPCInferenceServiceStub(grpc.insecure_channel(address))

    def infer(texts=TEXTS, name="text", datatype="BYTES", shape=None, raw=None, **more):
        request = pb.ModelInferRequest(
            model_name=more.pop("model", model), model_version=more.pop("version", "")
        )
        tensor = request.inputs.add(name=name, datatype=datatype)
        tensor.shape.extend([len(texts)] if shape is None else shape)
        if raw is None:
            tensor.contents.bytes_contents.extend(
                text if isinstance(text, bytes) else text.encode() for text in texts
            )
        else:
            request.raw_input_contents.append(raw)
        for key, value in more.items():
            request.parameters[key].string_param = value
        answer = stub.ModelInfer(request, timeout=60)
        found = {"version": answer.model_version}
        for place, output in enumerate(answer.outputs):
            if answer.raw_output_contents:
                values = read_raw(output.datatype, answer.raw_output_contents[place])
            elif output.datatype == "BYTES":
                values = [text.decode() for text in output.contents.bytes_contents]
            else:
                values = list(output.contents.fp32_contents)
            found[output.name] = [list(output.shape), values]
        return found

    if image is not None:
        content = Path(image).read_bytes()
        raw = pack([content])
        question = {"texts": [content], "name": "image_bytes"}
        print(json.dumps([infer(**question), infer(**question, raw=raw)]))
        return
    metadata = stub.ModelMetadata(pb.ModelMetadataRequest(name=model))
    raw = pack([text.encode() for text in TEXTS])
    questions = {
        "live": lambda: stub.ServerLive(pb.ServerLiveRequest()).live,
        "ready": lambda: stub.ModelReady(pb.ModelReadyRequest(name=model)).ready,
        "metadata": lambda: [
            [[t.name, t.datatype, list(t.shape)] for t in tensors]
            for tensors in (metadata.inputs, metadata.outputs)
        ],
        "translate": infer,
        "column": lambda: infer(shape=[3, 1]),
        "raw": lambda: infer(raw=raw),
        "none": lambda: infer([]),
        "invalid UTF-8": lambda: infer([b"A dog \xff runs."]),
        "signature": lambda: infer(signature_name="translate_n_best"),
        "version": lambda: infer(version="1"),
        "label": lambda: infer(label="stable"),
        "unknown model": lambda: infer(model="other"),
        "unknown version": lambda: infer(version="77"),
        "no version": lambda: infer(version="newest"),
        "unknown label": lambda: infer(label="other"),
        "unknown signature": lambda: infer(signature_name="other"),
        "unknown input": lambda: infer(name="other"),
        "wrong type": lambda: infer(datatype="INT32"),
        "wrong size": lambda: infer(shape=[7]),
        "negative size": lambda: infer(shape=[-1]),
        "no size": lambda: infer(shape=[]),
        "cut off": lambda: infer(raw=raw[:-3]),
        "length of gigabytes": lambda: infer(raw=b"\xff\xff\xff\x7fa"),
        "many texts": lambda: infer(["a"] * 513),
        "10 MB": lambda: infer(["a" * 10_000_000]),
        "unload": lambda: (
            stub.RepositoryModelUnload(
                pb.RepositoryModelUnloadRequest(model_name=model)
            ).isUnloaded
        ),
        "still there": infer,
    }
    found = {}
    for name, ask in questions.items():
        try:
            found[name] = ask()
        except grpc.RpcError as error:
            found[name] = error.code().name
    print(json.dumps(found))


def pack(values):
    return b"".join(struct.pack("<I", len(value)) + value for value in values)


def read_raw(datatype, content):
    if datatype == "FP32":
        return list(struct.unpack(f"<{len(content) // 4}f", content))
    values, start = [], 0
    while start < len(content):
        (size,) = struct.unpack_from("<I", content, start)
        values.append(content[start + 4 : start + 4 + size].decode())
        start += 4 + size
    return values


if __name__ == "__main__":
    main(*sys.argv[1:])

"""Fakes of served models, and the export that the real servers serve."""

import asyncio

import pytest

from zoo.serving.protocol import DEFAULT
from zoo.serving.runtime import onnx
from zoo.serving.server.model_versions import ServedModel
from zoo.serving.server.signatures import Signature

BEST = {"translation": ("text", 1), "score": ("number", 1)}


def fake_signatures(folder):
    """Upper-cases texts and says which version did it; `pair` has two inputs."""
    if (folder / "broken").exists():
        raise ValueError(f"{folder} is broken")
    number = float(folder.name)

    def upper(inputs):
        texts = [text.upper() for text in inputs["text"]]
        return {"translation": texts, "score": [number] * len(texts)}

    def pair(inputs):
        both = zip(inputs["source"], inputs["target"], strict=True)
        return {"log_probability": [-float(len(s + t)) for s, t in both]}

    def size(inputs):
        return {"score": [float(len(content)) for content in inputs["image_bytes"]]}

    def fail(inputs):
        raise RuntimeError("no translation today")

    translate = Signature(upper, ("text",), BEST)
    return {
        DEFAULT: translate,
        "translate": translate,
        "score": Signature(
            pair, ("source", "target"), {"log_probability": ("number", 1)}
        ),
        "size": Signature(size, ("image_bytes",), {"score": ("number", 1)}),
        "fail": Signature(fail, ("text",), BEST),
    }


async def run(request):
    """Runs a request by itself, in the place of Ray's batches."""
    return await asyncio.to_thread(request.signature.run, request.inputs)


@pytest.fixture
def folder(tmp_path):
    """The folder of a model with the versions 1 and 2."""
    for number in (1, 2):
        (tmp_path / "made" / str(number)).mkdir(parents=True)
    return tmp_path / "made"


@pytest.fixture
def model(folder):
    model = ServedModel("made", folder, run, fake_signatures)
    model.refresh()
    return model


# === The real servers ===


@pytest.fixture(scope="module")
def exported(export):
    return export("luong_local")[1]


@pytest.fixture(scope="module")
def translator(exported):
    return onnx.load(exported)

"""A fake of a served model, and the export that the real servers serve."""

import pytest

from zoo.serving.protocol import DEFAULT, SIGNATURES, ServingError
from zoo.serving.runtime import onnx
from zoo.serving.server.served_model import ServedModel, run_together


class FakeModel(ServedModel):
    """Upper-cases texts; `score` has two inputs."""

    def __init__(self):
        self.name, self.version, self.batches = "made", 2, []
        specs = SIGNATURES["translate"]
        translate, score = specs["translate"], specs["score"]
        self.signatures = {DEFAULT: translate, "translate": translate}
        self.signatures |= {"score": score, "fail": translate}

    def run(self, signature, inputs):
        rows = list(zip(*inputs.values(), strict=True))
        self.batches.append(len(rows))
        if signature == "fail" or ("bad",) in rows:
            raise RuntimeError("no translation today")
        if signature == "score":
            return {"log_probability": [-float(len(s + t)) for s, t in rows]}
        return {
            "translation": [text.upper() for (text,) in rows],
            "score": [2.0] * len(rows),
        }


async def run(request):
    """Runs a request by itself, in the place of Ray's batches."""
    [result] = run_together([request])
    if isinstance(result, ServingError):
        raise result
    return result


@pytest.fixture
def model():
    return FakeModel()


# === The real servers ===


@pytest.fixture(scope="module")
def exported(export):
    return export("luong_local")[1]


@pytest.fixture(scope="module")
def translator(exported):
    return onnx.load(exported)

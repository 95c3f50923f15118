import keras
import pytest

from tools.bench.core import last_object
from tools.bench.workers import gpu

pytestmark = pytest.mark.skipif(
    keras.backend.backend() != "torch", reason="the peers are PyTorch's"
)


@pytest.mark.parametrize("model", ["luong", "transformer"])
def test_plain_pytorch_trains(model, capsys):
    gpu.main(["plain", f"--model={model}", *"--size=dry --steps=1".split()])
    found = last_object(capsys.readouterr().out)
    assert found["tokens_per_second"] == max(found["eager"], found["compiled"]) > 0

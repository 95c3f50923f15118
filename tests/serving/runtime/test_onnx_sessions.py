import numpy as np
import pytest

from zoo.serving.runtime.onnx_sessions import Graphs

pytestmark = pytest.mark.backend_free


class FakeGraph:
    """A function of a dict of arrays, in the place of a graph."""

    def __init__(self, function, inputs=()):
        self.function, self.described = function, {"inputs": list(inputs)}

    def __call__(self, arrays):
        return self.function(arrays)


def test_a_state_that_is_full_becomes_larger():
    """Tapes are one place longer than the steps that were asked for, as an LSTMN's."""

    def start(arrays):
        tape = np.zeros((2, int(arrays["length"]) + 1, 3), "float32")
        return {"state.0": tape, "state.1": np.zeros(2, "int32")}

    def step(arrays):
        tape, place = arrays["state.0"].copy(), arrays["state.1"]
        assert place[0] + 1 < tape.shape[1]  # else a graph gives NaN
        tape[:, place[0] + 1] = arrays["token_ids"][:, None]
        new = {"new_state.0": tape, "new_state.1": place + 1}
        return {"logits": tape.sum((1, 2)), "weights": None, **new}

    tape = {"name": "state.0", "shape": ["R", "L", 3]}
    place = {"name": "state.1", "shape": ["R"]}
    ids = {"name": "source_ids", "dtype": "int32", "shape": ["B", "S"]}
    graphs = Graphs(
        {
            "encode": FakeGraph(lambda arrays: {}, [ids]),
            "start": FakeGraph(start),
            "step": FakeGraph(step, [place, tape]),
        }
    )
    target = np.arange(2 * 75).reshape(2, 75)
    logits = [step[0] for step in graphs.read(np.ones((2, 4)), target)]
    wanted = 3 * np.cumsum(target, axis=1)
    np.testing.assert_array_equal(np.transpose(logits), wanted)
    assert graphs.start_for({}, 75)["state.0"].shape[1] < 30

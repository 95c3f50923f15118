import json
import sys

import numpy as np
import pytest

from tools.bench.gpu import Parts, report, start_timings, worst

pytestmark = pytest.mark.backend_free


def test_the_worst_layer_is_that_of_the_largest_share(tmp_path):
    arrays = {
        "A/outputs": np.array([2.0, -4.0]),
        "A/kernel": np.array([1.0, 1.0]),
        "B/outputs": np.array([10.0, 0.0]),
        "B/kernel": np.array([0.5, 0.25]),
    }
    np.savez(tmp_path / "wanted.npz", **arrays)
    arrays["A/outputs"] = np.array([2.0, -3.0])  # off by a quarter of the largest
    arrays["B/kernel"] = np.array([0.5, 0.0])  # by a half
    np.savez(tmp_path / "found.npz", **arrays)
    found = worst(np.load(tmp_path / "found.npz"), np.load(tmp_path / "wanted.npz"))
    assert found["layers"]["A"] == {
        "outputs": 0.25,
        "outputs, 99 %": pytest.approx(0.2475),
        "gradients": 0.0,
    }
    assert found["layers"]["B"]["gradients"] == 0.5
    assert found["worst"].startswith("B: ")


@pytest.mark.parametrize(
    ("code", "seconds", "expected"),
    [
        ("print('{\"rate\": 2.0}')", 60, {"rate": 2.0}),
        ("raise SystemExit('no GPU')", 60, {"error": "no GPU\n"}),
        ("print('nothing')", 60, {"error": "no result in the output: 'nothing\\n'"}),
        ("import time; time.sleep(60)", 0.5, {"error": "out of time"}),
    ],
)
def test_what_a_part_returns_is_kept_or_why_there_is_nothing(
    tmp_path, capsys, code, seconds, expected
):
    parts = Parts(tmp_path, seconds, dry=True)
    parts.finish("a/part", parts.start("a/part", [sys.executable, "-c", code]))
    assert parts.found == {"a/part": expected}
    assert json.loads((tmp_path / "gpu.json").read_text()) == parts.found


def test_the_report_has_what_was_trained_and_decoded():
    trained = {"tokens_per_second": 12345.6, "teraflops": 98.9, "share_of_peak": 0.1}
    trained |= {"peak_memory": None, "plain_step_seconds": 0.0123}
    decoded = {"seconds": {"beam 1": 0.5}, "first": {"beam 1": 7.2}, "device": "H100"}
    peer = {"tokens_per_second": 10000.0, "peak_memory": 2048.0}
    found = {"machine": {}, "jax/x": trained, "plain/x": peer, "y": decoded}
    lines = report(found).splitlines()
    assert lines[2] == "| jax/x | 12,346 | 1.23 | 98.9 | 10.0% | 12 |  |"
    assert lines[3] == "| plain/x | 10,000 |  |  |  |  | 2,048 |"
    assert lines[-1] == "| y, beam 1 | 0.5000 | 7 |"


@pytest.mark.parametrize(("dry", "size"), [(False, "paper"), (True, "dry")])
def test_peers_train_beside_the_papers_sizes(dry, size):
    class Plan:
        def worker(self, name, backend, part, *_, batch_size=None, **options):
            return backend, part, batch_size

    Plan.dry = dry
    found = start_timings(Plan(), ["jax", "torch"])
    ending = f"/{size}/mixed_bfloat16"
    for model, peers in {
        "luong": ["plain"],
        "transformer": ["plain", "marian"],
    }.items():
        beside = {x: found[f"{x}/train/{model}{ending}"] for x in ("jax", *peers)}
        assert [beside[x][:2] for x in peers] == [("torch", x) for x in peers]
        assert len({batch for *_, batch in beside.values()}) == 1
    assert sum(part in ("plain", "marian") for _, part, _ in found.values()) == 3

"""tools/tfa/record.py, in the environment of its own that it needs."""

import os
import subprocess
from pathlib import Path

import numpy as np
import pytest

from tools import ROOT

pytestmark = [pytest.mark.long, pytest.mark.backend_free]

PYTHON = os.environ.get("ZOO_TFA_PYTHON")
RECORDED = Path(ROOT, "tests", "presets", "tfa")


@pytest.mark.skipif(
    not PYTHON,
    reason="ZOO_TFA_PYTHON names no Python with tensorflow 2.13 and addons 0.21",
)
def test_it_computes_from_its_checkpoints_what_was_recorded(tmp_path):
    """The recorded weights, read by the old program, give the recorded numbers."""
    command = [PYTHON, Path(ROOT, "tools", "tfa", "record.py"), tmp_path, "--from"]
    subprocess.run([*command, RECORDED], check=True, capture_output=True)
    with np.load(RECORDED / "recorded.npz") as old:
        with np.load(tmp_path / "recorded.npz") as new:
            assert set(old) == set(new)
            assert old["versions"].tolist() == new["versions"].tolist()
            for name in set(old) - {"versions"}:
                np.testing.assert_allclose(
                    new[name], old[name], atol=1e-5, rtol=1e-5, err_msg=name
                )


@pytest.mark.skipif(
    not PYTHON,
    reason="ZOO_TFA_PYTHON names no Python with tensorflow 2.13 and addons 0.21",
)
def test_it_trains_and_writes_checkpoints(tmp_path):
    command = [PYTHON, Path(ROOT, "tools", "tfa", "record.py"), tmp_path, "--steps"]
    subprocess.run([*command, "2"], check=True, capture_output=True)
    written = {path.name for path in tmp_path.iterdir()}
    assert written == {path.name for path in RECORDED.iterdir()}

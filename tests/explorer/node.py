"""Node and Chromium, for the tests of the explorer's page."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

EXPLORER = Path(__file__).resolve().parents[2] / "explorer"
CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")


def need_node():
    """The path of Node; skips the test without it or the explorer's packages."""
    node = shutil.which("node")
    if node is None or not (EXPLORER / "node_modules").is_dir():
        pytest.skip("needs Node, and `npm ci` in explorer/")
    return node


def run_engine(address, jobs):
    """Runs jobs by the engine of a page; see explorer/tests/engine.mjs."""
    node = need_node()
    if CHROMIUM is None:
        pytest.skip("needs Chromium or Chrome")
    done = subprocess.run(
        [node, "tests/engine.mjs", address],
        input=json.dumps(jobs),
        cwd=EXPLORER,
        env={**os.environ, "CHROMIUM": CHROMIUM},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return json.loads(done.stdout)

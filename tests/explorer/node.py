"""Node and Chromium, for the tests of the explorer's page."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

EXPLORER = Path(__file__).resolve().parents[2] / "explorer"


def run_node(*command, given=None, check=True, **environment):
    """Runs a command of Node in explorer/ and returns the finished process; skips the
    test without Node or the explorer's packages."""
    node = shutil.which("node")
    if node is None or not (EXPLORER / "node_modules").is_dir():
        pytest.skip("needs Node, and `npm ci` in explorer/")
    done = subprocess.run(
        [node, *command],
        input=given,
        cwd=EXPLORER,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
    )
    assert not check or done.returncode == 0, done.stderr[-4000:]
    return done


def build(folder, *options):
    """Builds the page into a folder."""
    run_node("node_modules/vite/bin/vite.js", "build", *options, "--outDir", folder)


def run_browser(script, *arguments, given=None):
    """Runs a script of explorer/tests in Chromium; returns what it reports."""
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        pytest.skip("needs Chromium or Chrome")
    script = f"tests/{script}"
    done = run_node(script, *arguments, given=given, CHROMIUM=chromium)
    return json.loads(done.stdout)


def run_engine(address, jobs):
    """Runs jobs by the engine of a page; see explorer/tests/engine.mjs."""
    return run_browser("engine.mjs", address, given=json.dumps(jobs))

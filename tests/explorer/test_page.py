"""The explorer's page by real clicks and keys, in headless Chromium."""

from pathlib import Path

import pytest

from tests.explorer.node import build, run_browser
from tests.serving.conftest import needs_tensorflow
from zoo.cli import main
from zoo.cli.export import EXPLORED
from zoo.decoding import Translation

pytestmark = pytest.mark.long


def visit(folder, downloads):
    """Runs every check of explorer/tests/page.mjs; returns what it reports."""
    report = run_browser("page.mjs", folder, downloads)
    failed = {name: error for name, error in report["checks"].items() if error}
    assert not failed, "\n".join(f"{name}: {error}" for name, error in failed.items())
    assert report["problems"] == []
    assert {name[0] for name in report["checks"]} >= set("1234567")


@pytest.mark.backend_free
def test_the_page_with_an_engine_that_knows_a_dictionary(tmp_path, capsys):
    build(tmp_path / "page", "--config", "tests/fake.config.ts")
    visit(tmp_path / "page", tmp_path / "saved")
    # What the page saves, Python reads and draws.
    saved = tmp_path / "saved" / "luong_local.json"
    record = Translation.from_json(saved.read_text("utf-8"))
    assert record.tokens[:2] == ["▁ein", "▁klein"]
    assert record.windows[0].tolist() == [0, 5]
    pytest.importorskip("matplotlib", reason="drawing needs the extra `plot`")
    picture = str(tmp_path / "dog.png")
    assert main(["plot", "--json", str(saved), "--output", picture]) == 0
    assert Path(picture).read_bytes()[1:4] == b"PNG"


@needs_tensorflow
def test_the_page_with_the_exported_presets(tmp_path):
    pytest.importorskip("tf2onnx", reason="an export needs the extra `onnx`")
    command = ["explore", *EXPLORED, "--export", str(tmp_path / "page")]
    assert main([*command, "--site", "https://a.example"]) == 0
    visit(tmp_path / "page", tmp_path / "saved")

"""zoo/explorer/static is what the sources in explorer/ build."""

import gzip
import re

import pytest

from tests.explorer.node import build
from zoo.explorer.folder import STATIC

pytestmark = pytest.mark.backend_free


def contents(folder):
    """Paths and contents, unpacked: versions of zlib pack differently."""
    files = {
        p.relative_to(folder): p.read_bytes() for p in folder.rglob("*") if p.is_file()
    }
    return {p: gzip.decompress(x) if p.suffix == ".gz" else x for p, x in files.items()}


def test_the_build_is_that_of_the_source(tmp_path):
    build(tmp_path)
    built, kept = contents(tmp_path), contents(STATIC)
    assert sorted(built) == sorted(kept)
    assert not [path for path in built if built[path] != kept[path]], "make explorer"


def test_the_page_is_strict_and_small():
    page = (STATIC / "index.html").read_text("utf-8")
    policy = re.search('Content-Security-Policy[^>]*content="([^"]*)"', page)[1]
    assert "default-src 'none'" in policy
    assert "unsafe-inline" not in policy and "'unsafe-eval'" not in policy
    assert not re.search("<script(?![^>]*src=)|<style|\\son[a-z]+=|style=", page)
    assert not re.search('(src|href)="(/|https?:)', page), "relative links alone"
    for path in (STATIC / "assets").iterdir():  # but those that the page doesn't name
        if path.name not in ("engine.js", "ort.wasm.gz"):
            assert re.search(r"-[\w-]{8}\.\w+$", path.name), path.name
    size = sum(path.stat().st_size for path in STATIC.rglob("*") if path.is_file())
    assert size < 6e6
    assert (STATIC / "assets" / "ort.wasm.gz").stat().st_size < 4e6


def test_the_licences_of_what_is_shipped_are_with_it():
    text = (STATIC / "licenses.txt").read_text("utf-8")
    for package in ("@noble/hashes", "katex", "onnxruntime-web", "preact"):
        assert re.search(rf"^{package} [\d.]+ \(MIT\)\n\n.*\n\nCopy", text, re.M), (
            package
        )

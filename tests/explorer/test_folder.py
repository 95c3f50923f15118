"""The explorer's folder, in headless Chromium: its strings are Python's."""

import json
import os
import random
import subprocess
import sys
import threading

import httpx2
import numpy as np
import pytest

import zoo
from tests.explorer.node import EXPLORER, run_engine
from tests.marks import proved_under
from tests.presets_for_tests import WORDS, save_translator
from tests.serving.conftest import needs_onnx, needs_tensorflow
from zoo.data.generated.dates import date_pairs
from zoo.explorer.folder import MODELS, STATIC, model_info, static_server, write_folder
from zoo.explorer.graphs import write_model
from zoo.presets import find, list_presets

SENTENCES = EXPLORER.parent / "docs" / "multi30k" / "transformer-de-en.txt"
TEXTS = [
    "a dog runs",
    "die katze",
    " ".join(WORDS),
    "x",
    "",
    "<b>ein</b> 👩‍👩‍👧 hund\u202e",
]


def options(beam_size, **others):
    given = {"beamSize": beam_size, "nBest": 1, "lengthPenalty": 1}
    return {**given, "coveragePenalty": 0, **others}


@pytest.fixture(scope="module")
def served():
    """Returns a function of a folder to its address, within another folder's."""
    servers = []

    def serve(folder):
        server = static_server(folder.parent, port=0)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        servers.append(server)
        return f"http://127.0.0.1:{server.server_port}/{folder.name}/"

    yield serve
    for server in servers:
        server.shutdown()


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    """A preset, and the folder of its page."""
    needs_onnx()
    base = tmp_path_factory.mktemp("explorer")
    save_translator(base / "tiny")
    (base / "graphs").mkdir()
    write_model(zoo.load(base / "tiny"), base / "graphs")
    write_folder(base / "page", {"tiny": (base / "tiny", base / "graphs")})
    return base / "tiny", base / "page"


@needs_tensorflow
def test_a_folder_has_the_page_and_what_it_fetches(tiny):
    preset, page = tiny
    for path in STATIC.rglob("*"):
        assert path.is_dir() or (page / path.relative_to(STATIC)).is_file()
    listed = json.loads((page / MODELS).read_text("utf-8"))
    [entry] = listed["models"]
    home = page / entry["folder"]
    files = {path.name: path.stat().st_size for path in home.iterdir()}
    assert entry["info"]["bytes"] == sum(files.values()) - files["manifest.json"]
    assert files["manifest.json"] == entry["manifest"]["bytes"]
    assert (
        entry["info"]["window"]
        == json.loads((preset / "config.json").read_text("utf-8"))["config"]["window"]
    )
    # Again: it is replaced. But nothing else is.
    models = {"tiny": (preset, preset.parent / "graphs")}
    link = preset.parent / "link"
    link.symlink_to(page)
    write_folder(link, models)
    assert link.is_symlink() and (page / MODELS).is_file()
    other = preset.parent / "other"
    other.mkdir()
    (other / "mine.txt").write_text("mine")
    with pytest.raises(ValueError, match="new, empty or an earlier export"):
        write_folder(other, models)
    assert [path.name for path in other.iterdir()] == ["mine.txt"]


@needs_tensorflow
def test_a_small_model_writes_in_the_browser_what_it_writes_in_python(tiny, served):
    preset, page = tiny
    model, address = zoo.load(preset), served(page)
    draw, jobs, asked = random.Random(5), [], []
    more = [" ".join(draw.choices(WORDS, k=draw.randint(1, 9))) for _ in range(20)]
    # In a net of large random weights a rounding grows from step to step.
    for texts, limit in ((TEXTS, {}), (more, {"maxLength": 16})):
        for k, n in ((1, 1), (5, 2)):
            chosen = options(k, nBest=n, trace=True, **limit)
            jobs += [{"name": "tiny", "text": x, "options": chosen} for x in texts]
            given = {"beam_size": k, "n_best": n, "max_length": limit.get("maxLength")}
            found = model.translate(texts, **given, return_details=True)
            records = found if n > 1 else [[record] for record in found]
            asked += zip(texts, records, strict=True)
    given = options(1, trace=True, attention={1: [1, 0, 0, 0]}, window=1)
    count = len(model.preprocessor.encode([TEXTS[0]])[0])
    given["attention"] = {1: [0] * (count - 1) + [2]}
    jobs += [
        {"name": "tiny", "text": TEXTS[0], "options": given},
        {"name": "tiny", "text": TEXTS[0], "options": options(1, nBest=2)},
        {"name": "tiny", "aborted": "a dog " * 500, "options": options(5)},
        {"name": "none", "text": "a", "options": options(1)},
    ]
    found = run_engine(address, jobs)
    *results, changed, refused, aborted, missing = found["results"]
    for (text, wanted), result in zip(asked, results, strict=True):
        if not text:
            assert [x["text"] for x in result["translations"]] == [""]
            continue
        for got, record in zip(result["translations"], wanted, strict=True):
            assert got["text"] == record.text
            assert got["tokens"] == record.tokens
            assert got["source_tokens"] == record.source_tokens
            assert got["score"] == pytest.approx(record.score, abs=1e-3)
            if not record.tokens:
                assert got["alignment"] == [] and got["windows"] is got["focus"] is None
                continue
            assert got["windows"] == record.windows.tolist()
            for name in ("alignment", "focus"):
                value = getattr(record, name)
                np.testing.assert_allclose(got[name], value, rtol=1e-4, atol=1e-4)
        best = result["translations"][0]
        chosen = [step["chosen"]["piece"] for step in result["steps"]]
        assert chosen[: len(best["tokens"])] == best["tokens"]
    assert changed["steps"][1]["weights"] == [0.0] * (count - 1) + [1.0]
    assert changed["steps"][0]["window"] != results[0]["steps"][0]["window"]
    assert "nBest must not exceed beamSize" in refused["error"]
    assert aborted == "AbortError"
    assert "no model is called none" in missing["error"]
    done, total = found["progress"]["tiny"][-1]
    assert done == total == found["models"][0]["bytes"]
    assert all(x.startswith(address) for x in found["fetched"] if "favicon" not in x)
    assert not [x for x in found["complaints"] if "404" not in x]


# === Its server ===
@pytest.mark.backend_free
@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("", "text/html"),
        ("assets/engine.js", "text/javascript"),
        ("assets/ort.wasm.gz", "application/gzip"),
        ("nothing", None),
        ("%2e%2e/%2e%2e/cli/__init__.py", None),
    ],
)
def test_files_are_served(served, path, kind):
    answer = httpx2.get(served(STATIC) + path)
    assert answer.headers["Cache-Control"] == "no-cache"
    assert answer.status_code == (200 if kind else 404)
    if kind:
        assert answer.headers["Content-Type"].startswith(kind)
        assert answer.content == (STATIC / (path or "index.html")).read_bytes()


# === Bundled presets ===

TRANSLATORS = [card.name for card in list_presets() if card.task == "translate"]


def export(name, page):
    """Writes the page of a preset by the command, whatever the backend."""
    needs_onnx()
    command = [sys.executable, "-m", "zoo", "explore", name, "--export", str(page)]
    environment = {**os.environ, "PYTHONPATH": str(EXPLORER.parent)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == str(page)


def sentences(name, count):
    """Sentences that a preset reads: dates, or those of Multi30k's test set."""
    if name == "dates":
        pytest.importorskip("babel", reason="dates need the extra `train`")
        return date_pairs(split="test").sources[:count]
    return SENTENCES.read_text("utf-8").splitlines()[:count]


@pytest.mark.long
@proved_under("torch")
@pytest.mark.parametrize("name", TRANSLATORS)
def test_a_preset_writes_in_the_browser_what_it_writes_in_python(
    served, tmp_path, name
):
    texts = sentences(name, 1000)
    assert len(texts) == 1000
    export(name, tmp_path / "page")
    model = zoo.load(name)
    jobs = [
        {"name": name, "text": text, "options": options(beam_size)}
        for beam_size in (1, 5)
        for text in texts
    ]
    found = run_engine(served(tmp_path / "page"), jobs)
    [info] = found["models"]
    assert info["bytes"] < 20e6 and info["dtype"] == "float16"
    got = [result["translations"][0]["text"] for result in found["results"]]
    wanted = model.translate(texts, beam_size=1) + model.translate(texts, beam_size=5)
    assert [x for x in zip(got, wanted, strict=True) if x[0] != x[1]] == []


# === The description of a model ===
# Keys of the equations that explorer/src/equations.ts draws.
EQUATIONS = {
    *("bahdanau", "luong_dot", "luong_general", "luong_concat", "luong_location"),
    *("luong_local_m", "luong_local", "lstmn", "transformer", "seq2seq"),
    "rnn_encoder_decoder",
}


@pytest.mark.backend_free
@pytest.mark.parametrize("name", TRANSLATORS)
def test_a_translator_has_its_paper_lesson_and_equation(name):
    info = model_info(find(name), name, "https://example.org/")
    assert info["name"] == name
    assert info["equation"] in EQUATIONS
    assert info["paper"].startswith("https://arxiv.org/abs/")
    for link, folder in ((info["page"], "papers"), (info["lesson"], "lessons")):
        page = link.removeprefix(f"https://example.org/{folder}/")
        source = EXPLORER.parent / "docs" / folder / page.replace(".html", ".md")
        assert source.is_file(), link
    assert (info["heads"] is not None) == (info["attention"] == "multi_head")
    assert (info["window"] is not None) == (info["attention"] == "local")
    json.dumps(info, allow_nan=False)


@pytest.mark.backend_free
@pytest.mark.parametrize(
    ("name", "attention", "window", "heads", "feeding"),
    [
        ("luong_local", "local", 5, None, True),
        ("luong_concat", "global", None, None, True),
        ("transformer", "multi_head", None, [3, 4], False),
        ("seq2seq", "none", None, None, False),
        ("lstmn", "memory", None, None, False),
    ],
)
def test_what_can_be_drawn(name, attention, window, heads, feeding):
    info = model_info(find(name), name)
    names = ("attention", "window", "heads", "inputFeeding")
    assert [info[x] for x in names] == [attention, window, heads, feeding]
    assert (info["page"], info["lesson"]) == ("", None)


@pytest.mark.backend_free
def test_of_another_class_nothing_is_known(tmp_path):
    config = {"class_name": "Mine", "config": {"hidden_dim": 4}}
    (tmp_path / "config.json").write_text(json.dumps(config))
    info = model_info(tmp_path, "mine", "https://example.org")
    assert info["attention"] == "none" and info["equation"] == ""
    assert info["title"] == "mine" and info["languages"] is None

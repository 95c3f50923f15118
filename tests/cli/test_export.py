"""Exporting, serving and exploring."""

import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import keras
import pytest

import zoo
from tests.marks import UNVERIFIED
from tests.presets_for_tests import save_translator
from tests.serving.conftest import needs_onnx
from zoo.cli import export, main
from zoo.presets.card import digest
from zoo.serving.export.manifest import write_manifest

pytestmark = [pytest.mark.once, UNVERIFIED]
ROOT = Path(__file__).resolve().parents[2]


def test_a_preset_is_exported_from_any_backend(tmp_path, monkeypatch, capfd):
    """The whole way, in this process or, under the others, in one of TensorFlow's."""
    pytest.importorskip("tensorflow_text", reason="an export needs it")
    preset = save_translator(tmp_path / "tiny")
    # What the child must find is not necessarily where this process found it.
    monkeypatch.chdir(tmp_path)
    assert main(["export", str(preset), "--beam-size", "5", "out"]) == 0
    out, err = capfd.readouterr()
    assert out == f"{Path('out/tiny/1')}\n"
    backend = keras.backend.backend()
    switched = f"Keras uses {backend}: exporting in a process with tensorflow"
    assert (switched in err) == (backend != "tensorflow")
    file = tmp_path / "out/tiny/1/manifest.json"
    assert json.loads(file.read_text())["preset"] == digest(preset)


def test_graphs_are_exported_from_any_backend(tmp_path, monkeypatch, capfd):
    needs_onnx()
    from zoo.serving import runtime

    folder = save_translator(tmp_path / "tiny")
    monkeypatch.chdir(tmp_path)
    assert main(["export", str(folder), "--format", "onnx"]) == 0
    assert capfd.readouterr().out == f"{Path('exports/onnx/tiny/1')}\n"
    texts = ["a dog", "", "two men"]
    options = {"beam_size": 3, "max_length": 5}
    found = runtime.load("exports/onnx/tiny").translate(texts, **options)
    assert found == zoo.load(folder).translate(texts, **options)
    search = ["--beam=3", "--max-length=5"]
    assert main(["translate", "exports/onnx/tiny", *search, *texts]) == 0
    assert capfd.readouterr().out.splitlines() == found


@pytest.mark.parametrize(
    "arguments, reason",
    [
        (["export", "nothing"], "unknown preset"),
        (["export", "birnn", "--quantize", "int4"], "--quantize"),
        (["export", "birnn", "--format=onnx", "--beam-size=3"], "take beam_size"),
        (["export", "gru", "--format=onnx"], "is for translate, tag, classify; gru"),
        (["export", "luong_local", "--format=ctranslate2"], "is for a TransformerTr"),
        (["translate", "dates", "a", "--engine=ctranslate2"], "dates is a Bahdanau"),
        (["serve", "gru", "--engine=ray", "--no-start"], "gru can generate"),
        (["serve"], "PRESET"),
        (["serve", "a", "--engine", "tensorflow", "--host", "b"], "go with --engine r"),
        (["explore", "birnn"], "birnn cannot translate; the presets for it are"),
        (["explore", "dates", "dates"], "model names must be unique"),
    ],
)
def test_bad_input_is_one_line(arguments, reason, capfd):
    assert main(arguments) == 2
    err = capfd.readouterr().err
    assert reason in err and err.count("\n") == 1


# === Servers ===


@pytest.fixture
def version(tmp_path):
    """A folder with a model that seems exported."""
    (tmp_path / "out" / "made" / "2").mkdir(parents=True)
    return tmp_path / "out"


def serve(version, *arguments, programs):
    """`zoo serve` in a process that has nothing but `programs` on its PATH."""
    programs_folder = version.parent / "bin"
    programs_folder.mkdir(exist_ok=True)
    for program in programs:
        path = programs_folder / program
        path.write_text('#!/bin/sh\necho started "$@"\n')
        path.chmod(path.stat().st_mode | stat.S_IEXEC)
    command = [sys.executable, "-m", "zoo", "serve", *arguments, "--folder", version]
    path = {"PATH": str(programs_folder), "PYTHONPATH": str(ROOT)}
    return subprocess.run(
        command, env={**os.environ, **path}, capture_output=True, text=True
    )


def test_serve_becomes_the_server(version):
    done = serve(version, "made", programs=["tensorflow_model_server", "docker"])
    printed, started = done.stdout.splitlines()
    assert printed.startswith("tensorflow_model_server --port=8500")
    assert started.startswith("started --port=8500 --rest_api_port=8501")
    assert 'name: "made"' in (version / "models.config").read_text()
    docker = version.parent / "bin" / "tensorflow_model_server"
    docker.unlink()
    done = serve(version, "made", "--port", "9", programs=["docker"])
    assert done.stdout.startswith("docker run ") and "-p 9:8500" in done.stdout


def test_without_its_server_the_error_names_the_other(version):
    arguments = ["made", "--engine", "tensorflow"]
    done = serve(version, *arguments, programs=[])
    assert done.returncode == 1 and "`--engine ray` needs neither" in done.stderr
    assert not (version / "models.config").exists()
    done = serve(version, *arguments, "--no-start", programs=[])
    assert done.returncode == 0 and not done.stdout and "wrote" in done.stderr
    done = serve(version, "made", "--no-start", programs=[])
    assert done.returncode == 0 and "serving by Ray Serve" in done.stderr
    done = serve(version, "made", "--replicas", "2", programs=["docker"])
    assert done.returncode == 2 and "go with --engine ray" in done.stderr


@pytest.fixture
def exports(monkeypatch):
    """Ray is here; exports write as much of a version as tells its preset. Gives what
    was exported, and the commands that replace this process."""
    calls, started = [], []

    def run(words):
        name, out = Path(words[1]), Path(words[2])
        calls.append(words[1:])
        number = len(list((out / name.name).glob("*"))) + 1
        version = out / name.name / str(number)
        version.mkdir(parents=True)
        described = {"task": "tag", "settings": {}, "graphs": {}}
        write_manifest(version, {**described, "preset": digest(name)})

    monkeypatch.setattr(export, "run_under_tensorflow", run)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: name)
    monkeypatch.setattr("os.execvp", lambda program, command: started.append(command))
    return calls, started


def test_serve_exports_what_is_missing_or_of_another_preset(
    version, preset, exports, capsys
):
    calls, started = exports
    options = ["--folder", str(version), "--engine", "ray", "--max-replicas", "3"]
    for _ in range(2):
        assert main(["serve", "made", str(preset), *options]) == 0
    assert calls == [[str(preset), str(version), "--format", "onnx"]]
    models = [f"{name}={version}/{name}" for name in ("made", "tiny_tagger")]
    assert started[0][1:3] == ["-m", "zoo.serving.server.ray_serve"]
    options_of_ray = "--port 8500 --rest-port 8501 --max-replicas 3"
    assert started[0][3:] == [*options_of_ray.split(), *models]
    config = preset / "config.json"
    content = config.read_text()
    config.write_text(f"{content} ")
    assert main(["serve", "tiny_tagger", *options]) == 0 and len(calls) == 1
    assert main(["serve", str(preset), *options]) == 0 and len(calls) == 2
    config.write_text(content)


# === The explorer ===


@pytest.fixture
def page(monkeypatch, tmp_path):
    """Models are exported to an empty cache without being computed."""
    monkeypatch.setenv("ZOO_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(export, "needs_process", lambda: False)
    monkeypatch.setattr("zoo.cli.export.zoo.load", Path, raising=False)
    monkeypatch.setattr(
        "zoo.explorer.graphs.write_model",
        lambda _, folder: write_manifest(folder, {"dtype": "float16", "graphs": {}}),
    )
    return tmp_path / "page"


def names(page):
    listed = json.loads((page / "models.json").read_text("utf-8"))
    return [model["info"]["name"] for model in listed["models"]]


def test_the_page_is_written(page, capsys):
    assert main(["explore", "--export", str(page)]) == 0
    captured = capsys.readouterr()
    assert captured.out == f"{page}\n" and names(page) == export.EXPLORED
    assert captured.err.count("exporting") == 3
    assert main(["explore", "dates", "luong_local", "--export", str(page)]) == 0
    assert names(page) == ["dates", "luong_local"]
    assert capsys.readouterr().err.count("exporting") == 1


def test_the_page_is_served_and_opened(page, monkeypatch, capsys):
    import contextlib
    import webbrowser

    from zoo.explorer import folder

    class Server:
        def serve_forever(self):
            assert opened == ["http://127.0.0.1:9"]

    opened = []
    monkeypatch.setattr(webbrowser, "open", opened.append)
    monkeypatch.setattr(
        folder, "static_server", lambda *_, port: contextlib.nullcontext(Server())
    )
    assert main(["explore", "dates", "--open", "--port", "9"]) == 0
    assert "http://127.0.0.1:9" in capsys.readouterr().err


@pytest.mark.parametrize("words", [["export", "birnn"], ["explore", "dates"]])
def test_the_command_itself_runs_under_tensorflow(words, page, monkeypatch):
    calls = []
    monkeypatch.setattr(export, "needs_process", lambda: True)
    monkeypatch.setattr(
        export, "run_under_tensorflow", lambda words: calls.append(words) or 5
    )
    assert main(words) == 5 and calls == [words]

import json
import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import keras
import pytest

import zoo
from tests.presets_for_tests import save_translator
from tests.serving.conftest import make_tagger, needs_tensorflow
from zoo import cli_serve
from zoo.cards import digest
from zoo.cli import main
from zoo.serving import read_metadata, versions, write_server_files

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="module")
def preset(tmp_path_factory):
    folder = tmp_path_factory.mktemp("presets") / "tiny_tagger"
    make_tagger().save_to_preset(folder)
    return folder


@pytest.fixture
def version(tmp_path):
    """A folder with a model that seems exported."""
    (tmp_path / "out" / "made" / "2").mkdir(parents=True)
    return tmp_path / "out"


@pytest.mark.filterwarnings("ignore:.*cannot be verified")
def test_a_preset_is_exported_from_any_backend(preset, tmp_path, monkeypatch, capfd):
    """The whole way, in this process or, under the others, in one of TensorFlow's."""
    pytest.importorskip("tensorflow_text", reason="an export needs it")
    # What the child must find is not necessarily where this process found it.
    monkeypatch.chdir(tmp_path)
    options = ["--no-warmup", "--max-source-length", "9"]
    assert main(["export", str(preset), "out", *options]) == 0
    out, err = capfd.readouterr()
    assert out == f"{Path('out/tiny_tagger/1')}\n"
    backend = keras.backend.backend()
    switched = f"Keras is set to {backend}: exporting in a process with tensorflow"
    assert (switched in err) == (backend != "tensorflow")
    file = tmp_path / "out/tiny_tagger/1/assets.extra/zoo.json"
    found = json.loads(file.read_text())
    assert found["limits"] == {"max_source_length": 9}
    assert found["preset"] == digest(preset)


@needs_tensorflow
@pytest.mark.filterwarnings("ignore:.*cannot be verified")
@pytest.mark.parametrize("option", ["--dtype=float16", "--quantize=int8"])
def test_a_smaller_model_translates_as_in_this_process(tmp_path, option, capsys):
    import tensorflow as tf

    folder = save_translator(tmp_path / "tiny")
    if "float16" in option:
        task = zoo.load(folder, dtype="float16")
    else:
        task = zoo.load(folder)
        task.quantize("int8")
    arguments = ["export", str(folder), str(tmp_path), "--no-warmup", option]
    assert main([*arguments, "--max-length=4", "--beam-size=2"]) == 0
    version = capsys.readouterr().out.strip()
    loaded = tf.saved_model.load(version)
    texts = ["a dog", "", "two men"]
    found = loaded.signatures["translate"](text=tf.constant(texts))
    records = task.translate(texts, beam_size=2, max_length=4, return_details=True)
    wanted = [record.text for record in records]
    assert [text.decode() for text in found["translation"].numpy()] == wanted
    scores = [record.score for record in records]
    assert found["score"].numpy() == pytest.approx(scores, abs=0.01)
    assert min(scores) > -1e8  # that of NaN is -1e9
    said = read_metadata(version)
    wanted = ("float16", None) if "float16" in option else ("float32", "int8")
    assert (said["dtype"], said["quantize"]) == wanted
    small = {v.dtype for v in loaded._all_variables}  # noqa: SLF001
    assert (tf.float16 if "float16" in option else tf.int8) in small


@pytest.mark.parametrize(
    "arguments, reason",
    [
        (["export", "nothing"], "unknown preset"),
        (["export", "{preset}", "{out}", "--beam-size", "3"], "has the limits"),
        (["export", "{preset}", "{out}", "--quantize", "int4"], "--quantize"),
        (["serve"], "NAME"),
    ],
)
@pytest.mark.filterwarnings("ignore:.*cannot be verified")
def test_bad_input_is_one_line(preset, tmp_path, arguments, reason, capfd):
    if "--beam-size" in arguments and keras.backend.backend() != "tensorflow":
        pytest.skip("the child under TensorFlow says it: seconds for the same line")
    places = {"preset": preset, "out": tmp_path}
    assert main([part.format(**places) for part in arguments]) == 2
    assert reason in capfd.readouterr().err


def test_without_tensorflow_the_extra_is_named(preset, monkeypatch, capsys):
    import importlib.util

    real = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util,
        "find_spec",
        lambda name, *rest: None if name == "tensorflow" else real(name, *rest),
    )
    assert main(["export", str(preset)]) == 1
    assert 'pip install "attention-zoo[serving]"' in capsys.readouterr().err


@needs_tensorflow
@pytest.mark.filterwarnings("ignore:.*cannot be verified")
def test_labels_follow_an_export(preset, version, monkeypatch, capsys):
    pytest.importorskip("tensorflow_serving", reason="models.config needs it")

    def export(task, path, warmup, preset, **limits):
        newest = versions(path)[-1] if path.is_dir() else 0
        (path / str(newest + 1)).mkdir(parents=True)
        return path / str(newest + 1)

    monkeypatch.setattr("zoo.serving.export_savedmodel", export)
    assert main(["export", str(preset), str(version)]) == 0
    write_server_files(version, ["made", "tiny_tagger"])
    assert main(["export", str(preset), str(version)]) == 0
    out, err = capsys.readouterr()
    assert out.splitlines()[-1].endswith("2") and "labelled it in" in err
    text = (version / "models.config").read_text()
    assert 'key: "previous"' in text  # of the one model that has two versions


def test_a_model_has_its_cards_name(preset, tmp_path):
    assert cli_serve.model_name(str(preset), preset) == "tiny_tagger"
    assert cli_serve.model_name("hf://user/some", tmp_path) == "some"
    from tests.presets_for_tests import make_preset

    made = tmp_path / "folder"
    make_preset(made, name="carded")
    assert cli_serve.model_name(str(made), made) == "carded"


# === zoo serve ===
def fake_server(folder, name):
    """A program that prints its arguments."""
    path = folder / name
    path.write_text('#!/bin/sh\necho started "$@"\n')
    path.chmod(path.stat().st_mode | stat.S_IEXEC)


def exported_from(preset, path):
    """As much of a version as tells its preset."""
    (path / "assets.extra").mkdir(parents=True)
    text = json.dumps({"preset": preset and digest(preset)})
    (path / "assets.extra" / "zoo.json").write_text(text)


def serve(version, *names, programs, arguments=()):
    """`zoo serve` in a process that has nothing but `programs` on its PATH."""
    pytest.importorskip("tensorflow_serving", reason="models.config needs it")
    bin_folder = version.parent / "bin"
    bin_folder.mkdir()
    for program in programs:
        fake_server(bin_folder, program)
    return subprocess.run(
        [sys.executable, "-m", "zoo", "serve", *names, "--folder", version, *arguments],
        env={**os.environ, "PATH": str(bin_folder), "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )


def test_serve_becomes_the_server(version):
    done = serve(version, "made", programs=["tensorflow_model_server", "docker"])
    printed, started = done.stdout.splitlines()
    assert printed.startswith("tensorflow_model_server --port=8500")
    assert started.startswith("started --port=8500 --rest_api_port=8501")
    assert 'name: "made"' in (version / "models.config").read_text()


def test_serve_prints_dockers_command(version):
    options = ["--dry-run", "--port", "9", "--no-batching", "--image", "mine:1"]
    options += ["--intra-op-threads", "0"]
    done = serve(version, "made", programs=["docker"], arguments=options)
    [printed] = done.stdout.splitlines()
    assert printed.startswith("docker run --rm --init ")
    assert "-p 9:8500" in printed
    assert "batching" not in printed
    assert " mine:1 " in printed and "_intra_op_parallelism=0" in printed


def test_serve_with_neither_says_how_to_get_one(version):
    done = serve(version, "made", programs=[])
    assert done.returncode == 1 and "docs.docker.com" in done.stderr
    assert not (version / "models.config").exists()


def test_a_dry_run_needs_no_server(version):
    options = ["--dry-run", "--allowed-batch-sizes", "4", "2"]
    done = serve(version, "made", "made", programs=[], arguments=options)
    assert done.returncode == 0 and not done.stdout
    assert "docs.docker.com" in done.stderr and "models.config" in done.stderr
    assert (version / "models.config").read_text().count('name: "made"') == 1
    batching = (version / "batching.config").read_text()
    assert "max_batch_size { value: 4 }" in batching


def test_a_path_is_no_models_name(version, preset, monkeypatch):
    """That of a preset beside what was exported from it, as in savedmodels."""
    shutil.copytree(preset, version / "tiny_tagger")
    exported_from(preset, version / "tiny_tagger" / "1")
    monkeypatch.setattr("shutil.which", lambda name: name)
    pytest.importorskip("tensorflow_serving", reason="models.config needs it")
    path = str(version / "tiny_tagger")
    options = ["--folder", str(version), "--dry-run"]
    assert main(["serve", path, f"{path}/", "tiny_tagger", *options]) == 0
    text = (version / "models.config").read_text()
    assert text.count("name:") == 1 and 'name: "tiny_tagger"' in text


def test_serve_exports_what_is_missing(version, preset, monkeypatch, capsys):
    calls = []

    def export(arguments):
        calls.append((arguments.name, arguments.out))
        found = versions(Path(arguments.out) / "tiny_tagger")
        path = Path(arguments.out) / "tiny_tagger" / str(len(found) + 1)
        exported_from(arguments.name, path)

    monkeypatch.setattr(cli_serve, "export", export)
    monkeypatch.setattr("shutil.which", lambda name: name)
    pytest.importorskip("tensorflow_serving", reason="models.config needs it")
    options = ["--folder", str(version), "--dry-run"]
    assert main(["serve", "made", str(preset), *options]) == 0
    assert calls == [(str(preset), str(version))]
    text = (version / "models.config").read_text()
    assert 'name: "made"' in text and 'name: "tiny_tagger"' in text
    assert main(["serve", "made", str(preset), *options]) == 0 and len(calls) == 1
    assert "is not in" in capsys.readouterr().err
    # Another preset of that name is not the one that lies there.
    other = shutil.copytree(preset, version / "other" / "tiny_tagger")
    config = json.loads((other / "config.json").read_text())
    (other / "config.json").write_text(json.dumps({**config, "more": 1}))
    assert main(["serve", str(other), *options]) == 0 and len(calls) == 2
    assert "1 was not exported from" in capsys.readouterr().err
    assert main(["serve", str(other), "tiny_tagger", *options]) == 0
    assert len(calls) == 2
    capsys.readouterr()
    assert main(["serve", str(other), str(preset), *options]) == 2
    assert "two presets are named tiny_tagger" in capsys.readouterr().err
    # One that `export_savedmodel` wrote, with limits of its own, is not put aside.
    exported_from(None, version / "tiny_tagger" / "3")
    assert main(["serve", str(preset), *options]) == 0 and len(calls) == 2
    assert "doesn't say what preset" in capsys.readouterr().err


def test_serve_stops_where_an_export_fails(version, preset, monkeypatch):
    monkeypatch.setattr(cli_serve, "export", lambda _: 1)
    monkeypatch.setattr("shutil.which", lambda name: name)
    options = ["--folder", str(version), "--dry-run"]
    assert main(["serve", str(preset), *options]) == 1
    assert not (version / "models.config").exists()

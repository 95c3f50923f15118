import importlib.util
import json
import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from zoo.cli import main
from zoo.presets.card import digest
from zoo.serving import versions
from zoo.serving.export.manifest import write_manifest

pytestmark = pytest.mark.once

ROOT = Path(__file__).resolve().parents[2]


def fake_server(folder, name, script='echo started "$@"'):
    """A program that prints its arguments."""
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}\n")
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
    bin_folder.mkdir(exist_ok=True)
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
    options = ["--no-start", "--port", "9", "--no-batching", "--image", "mine:1"]
    options += ["--intra-op-threads", "0"]
    done = serve(version, "made", "made", programs=["docker"], arguments=options)
    [printed] = done.stdout.splitlines()
    assert printed.startswith("docker run --rm --init ")
    assert "-p 9:8500" in printed
    assert "batching" not in printed
    assert " mine:1 " in printed and "_intra_op_parallelism=0" in printed
    assert (version / "models.config").read_text().count('name: "made"') == 1


@pytest.mark.parametrize("docker", [False, True])
def test_without_its_server_the_error_names_the_other(version, docker):
    """Docker may be there without a daemon, which its every command but one needs."""
    if docker:
        (version.parent / "bin").mkdir()
        fake_server(version.parent / "bin", "docker", "exit 1")
    arguments = ["--engine", "tensorflow"]
    done = serve(version, "made", programs=[], arguments=arguments)
    assert done.returncode == 1 and "docs.docker.com" in done.stderr
    assert "`--engine ray` needs neither" in done.stderr
    assert not (version / "models.config").exists()
    done = serve(version, "made", programs=[], arguments=[*arguments, "--no-start"])
    assert done.returncode == 0 and not done.stdout and "wrote" in done.stderr
    assert (version / "models.config").exists()
    done = serve(version, "made", programs=[], arguments=["--no-start"])
    assert "serving by Ray Serve" in done.stderr


@pytest.fixture
def started(monkeypatch):
    """TensorFlow's and Ray's servers are here; gives the commands that replace this
    process."""
    pytest.importorskip("tensorflow_serving", reason="models.config needs it")
    found, started = importlib.util.find_spec, []
    packages = ("ray", "fastapi", "uvicorn", "grpc")
    monkeypatch.setattr(
        importlib.util,
        "find_spec",
        lambda name, *given: name if name in packages else found(name, *given),
    )
    monkeypatch.setattr("shutil.which", lambda name: name)
    monkeypatch.setattr("os.execvp", lambda program, command: started.append(command))
    return started


@pytest.fixture
def exports(monkeypatch):
    """Exports write as much of a version as tells its preset; gives what was asked."""
    calls = []

    def export(name, out, form, warmup):
        calls.append((name, str(out), form, warmup))
        served = Path(name).name
        number = len(versions(Path(out) / served)) + 1
        exported_from(name, Path(out) / served / str(number))

    monkeypatch.setattr("zoo.cli.serve.export_preset", export)
    return calls


def test_a_path_is_no_models_name(version, preset, started):
    """That of a preset beside what was exported from it, as in savedmodels."""
    shutil.copytree(preset, version / "tiny_tagger")
    exported_from(preset, version / "tiny_tagger" / "1")
    path = str(version / "tiny_tagger")
    options = ["--folder", str(version), "--no-start"]
    assert main(["serve", path, f"{path}/", "tiny_tagger", *options]) == 0
    text = (version / "models.config").read_text()
    assert text.count("name:") == 1 and 'name: "tiny_tagger"' in text


def test_serve_exports_what_is_missing(version, preset, started, exports, capsys):
    options = ["--folder", str(version), "--no-start"]
    assert main(["serve", "made", str(preset), *options]) == 0
    assert exports == [(str(preset), str(version), "savedmodel", True)]
    text = (version / "models.config").read_text()
    assert 'name: "made"' in text and 'name: "tiny_tagger"' in text
    assert main(["serve", "made", str(preset), *options]) == 0 and len(exports) == 1
    assert "is not in" in capsys.readouterr().err
    # Another preset of that name is not the one that lies there.
    other = shutil.copytree(preset, version / "other" / "tiny_tagger")
    config = json.loads((other / "config.json").read_text())
    (other / "config.json").write_text(json.dumps({**config, "more": 1}))
    assert main(["serve", str(other), *options]) == 0 and len(exports) == 2
    assert "1 was not exported from" in capsys.readouterr().err
    assert main(["serve", str(other), "tiny_tagger", *options]) == 0
    assert len(exports) == 2
    capsys.readouterr()
    assert main(["serve", str(other), str(preset), *options]) == 2
    assert "two presets are named tiny_tagger" in capsys.readouterr().err
    # One that `export_savedmodel` wrote, with limits of its own, is not put aside.
    exported_from(None, version / "tiny_tagger" / "3")
    assert main(["serve", str(preset), *options]) == 0 and len(exports) == 2
    assert "doesn't say what preset" in capsys.readouterr().err
    assert not started


def test_serve_stops_where_an_export_fails(version, preset, started, monkeypatch):
    monkeypatch.setattr("zoo.cli.serve.export_preset", lambda *_, **__: 1)
    assert main(["serve", str(preset), "--folder", str(version)]) == 1
    assert not (version / "models.config").exists() and not started


# === Ray's server ===
def test_ray_starts_with_what_is_exported(version, started, capsys):
    options = ["--folder", str(version), "--engine", "ray", "--port", "9"]
    assert main(["serve", "made", *options, "--no-batching"]) == 0
    [command] = started
    server = ["-m", "zoo.serving.server.ray_serve", f"made={version}/made"]
    assert command[1:4] == server
    chosen = "--threads 1 --port 9 --rest-port 8501 --batch-size 1"
    assert command[4:] == chosen.split()
    assert capsys.readouterr().out.split() == command
    assert [path.name for path in version.iterdir()] == ["made"]  # no server's files
    assert main(["serve", "made", *options, "--no-start"]) == 0
    assert len(started) == 1


def test_ray_starts_with_its_options(version, started):
    """They choose it, too."""
    options = ["--folder", str(version), "--host", "0.0.0.0"]
    assert main(["serve", "made", *options, "--max-replicas", "3"]) == 0
    assert main(["serve", "made", *options, "--min-replicas", "2"]) == 0
    for command, name, count in zip(
        started, ("--max-replicas", "--replicas"), "32", strict=True
    ):
        given = dict(zip(command[4::2], command[5::2], strict=True))
        assert given[name] == count and given["--host"] == "0.0.0.0"
        assert len(given) == 5


@pytest.mark.parametrize("form", ["onnx", "savedmodel"])
def test_ray_exports_what_is_missing(
    preset, started, exports, form, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    choice = ["--format", form] if form == "savedmodel" else []
    assert main(["serve", str(preset), "--engine", "ray", *choice]) == 0
    folder = {"onnx": "exports/onnx", "savedmodel": "exports"}[form]
    assert exports == [(str(preset), folder, form, False)]
    assert f"tiny_tagger={tmp_path}/{folder}/tiny_tagger" in started[0]


def test_an_onnx_export_of_another_preset_is_replaced(
    version, preset, started, exports
):
    exported = version / "tiny_tagger" / "1"
    exported.mkdir(parents=True)
    described = {"task": "tag", "settings": {}, "graphs": {}}
    options = ["serve", str(preset), "--engine", "ray", "--folder", str(version)]
    for found, count in ((digest(preset), 0), ("another", 1)):
        (exported / "manifest.json").unlink(missing_ok=True)
        (exported / "large").touch()
        write_manifest(exported, {**described, "preset": found})
        (exported / "large").unlink()  # only the manifest is read
        assert main(options) == 0
        assert len(exports) == count


def test_without_ray_the_error_names_the_extra(version, monkeypatch, capsys):
    found = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util,
        "find_spec",
        lambda name, *given: None if name == "ray" else found(name, *given),
    )
    options = ["serve", "made", "--folder", str(version), "--engine", "ray"]
    assert main(options) == 1
    assert 'pip install "attention-zoo[ray]"' in capsys.readouterr().err
    assert main([*options, "--no-start"]) == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--engine", "tensorflow", "--host", "a"], "--host goes with --engine ray"),
        (["--engine", "ray", "--image", "mine:1"], "--image goes with --engine ten"),
        (["--host", "a", "--image", "b"], "goes with --engine"),
        (["--engine", "tensorflow", "--format", "onnx"], "--format savedmodel alone"),
        (["--format", "other"], "invalid choice"),
        (["--host", "a", "--intra-op-threads", "0"], "0 goes with --engine tensorflow"),
        (["--intra-op-threads", "-1"], "--intra-op-threads: should be 1 or more"),
        (["--replicas", "3", "--max-replicas", "2"], "must be 3 or more, received 2"),
    ],
)
def test_options_of_the_other_engine(version, options, message, started, capsys):
    assert main(["serve", "made", "--folder", str(version), *options]) == 2
    assert message in capsys.readouterr().err and not started

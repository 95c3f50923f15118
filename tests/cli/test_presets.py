import sys
import types
from pathlib import Path

import keras
import pytest

import zoo
from tests.cli.fakes import FakeTask, load, translate
from tests.marks import UNVERIFIED
from tests.presets_for_tests import FACTS, make_preset, save_translator
from zoo.cli import main
from zoo.cli.presets import model_name
from zoo.decoding import Ensemble
from zoo.presets import registry
from zoo.presets.pages import write_card

pytestmark = [pytest.mark.once, UNVERIFIED]


def test_the_process_is_tuned_before_a_preset_is_loaded(monkeypatch):
    from zoo.training.fast import process

    order = []
    monkeypatch.setattr(process, "tune_process", lambda: order.append("tuned"))
    load(monkeypatch, lambda: order.append("loaded") or FakeTask())
    assert translate("a") == 0
    assert order == ["tuned", "loaded"]


def test_the_backend_cannot_change_under_a_running_keras(task, capsys):
    running = keras.config.backend()
    other = "jax" if running != "jax" else "torch"
    assert translate("--backend", other, "a") == 2
    assert f"already runs on {running}" in capsys.readouterr().err
    assert translate("--backend", running, "a") == 0


def test_several_presets_are_an_ensemble(tmp_path, capsys):
    for name, seed in {"one": 5, "two": 6}.items():
        folder = save_translator(tmp_path / name, seed)
        write_card(folder, {**FACTS, "name": name})
    folders = [str(tmp_path / name) for name in ("one", "two")]
    ensemble, texts = Ensemble(list(map(zoo.load, folders))), ["a dog", "die katze"]
    wanted = ensemble.translate(texts, beam_size=2, max_length=6)
    command = ["translate", ",".join(folders), *texts, "--beam", "2"]
    assert main([*command, "--max-length", "6"]) == 0
    captured = capsys.readouterr()
    assert captured.out.splitlines() == wanted
    assert captured.err.count("zoo: loading ") == 2
    assert main([*command, "--engine", "onnx"]) == 2
    assert "takes one preset" in capsys.readouterr().err


def test_a_model_has_its_cards_name(tmp_path):
    assert model_name("hf://user/some", tmp_path) == "some"
    make_preset(tmp_path / "folder", name="carded")
    assert model_name("hf://user/some", tmp_path / "folder") == "carded"


# === Exports ===


@pytest.fixture
def engine(monkeypatch, tmp_path):
    """Exports are made by a stand-in, which notes their commands."""
    commands = []

    def export(command, env, stdout):
        commands.append(command)
        assert env["KERAS_BACKEND"] == "tensorflow"
        assert stdout is sys.stderr  # standard output is the translations'
        version = Path(command[5]) / Path(command[4]).name / "1"
        if "broken" not in command[4]:
            version.mkdir(parents=True)
            (version / "manifest.json").write_text("{}")
        return types.SimpleNamespace(returncode=2 * ("broken" in command[4]))

    monkeypatch.setenv("ZOO_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr("zoo.cli.presets.subprocess.run", export)
    monkeypatch.setattr("zoo.serving.runtime.load", lambda path: FakeTask())
    return commands


def test_an_engine_exports_once_for_each_content(engine, tmp_path, capsys):
    preset = str(make_preset(tmp_path / "mine", name="mine") and tmp_path / "mine")

    def run(engine, name=preset):
        code = main(["translate", name, "a dog", "--engine", engine])
        return code, capsys.readouterr().out

    for _ in range(2):
        assert run("onnx") == (0, "A DOG\n")
    assert len(engine) == 1 and engine[0][-2:] == ["--format", "onnx"]
    assert run("onnx-int8") == (0, "A DOG\n")
    assert len(engine) == 2 and engine[1][-2:] == ["--quantize", "int8"]
    config = tmp_path / "mine" / "config.json"
    config.write_text(config.read_text() + " ")
    assert run("onnx") == (0, "A DOG\n")
    assert len(engine) == 3 and engine[2][5] != engine[0][5]
    make_preset(tmp_path / "broken")
    assert run("onnx", str(tmp_path / "broken"))[0] == 2


def test_an_export_of_another_task_is_refused(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(registry, "load", lambda *_, **__: pytest.fail("loaded"))
    (tmp_path / "2").mkdir()
    (tmp_path / "2/manifest.json").write_text("{}")
    assert main(["tag", str(tmp_path), "a"]) == 2
    assert "should be of the format zoo-onnx" in capsys.readouterr().err
    model = types.SimpleNamespace(task_name="classify")
    monkeypatch.setattr(zoo.serving.runtime, "load", lambda path: model, raising=False)
    assert main(["tag", str(tmp_path), "a"]) == 2
    assert f"{tmp_path} cannot tag; the presets for it" in capsys.readouterr().err

import json
import sys
import types
from pathlib import Path

import keras
import pytest

import zoo
from tests.cli.fakes import FakeTask
from tests.presets_for_tests import save_translator
from tests.serving.conftest import needs_onnx, needs_tensorflow
from zoo.cli import main
from zoo.presets.card import digest
from zoo.serving import read_metadata, versions, write_server_files

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.once
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
    switched = f"Keras uses {backend}: exporting in a process with tensorflow"
    assert (switched in err) == (backend != "tensorflow")
    file = tmp_path / "out/tiny_tagger/1/assets.extra/zoo.json"
    found = json.loads(file.read_text())
    assert found["limits"] == {"max_source_length": 9}
    assert found["preset"] == digest(preset)


@needs_tensorflow
@pytest.mark.long
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
        (["export", "birnn", "--format=onnx", "--beam-size=3"], "received --beam-size"),
        (["export", "birnn", "--format=onnx", "--dtype=float16"], "received --dtype"),
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


@pytest.mark.once
@pytest.mark.filterwarnings("ignore:.*cannot be verified")
def test_graphs_are_exported_from_any_backend(tmp_path, monkeypatch, capfd):
    needs_onnx()
    from zoo.serving import runtime

    folder = save_translator(tmp_path / "tiny")
    monkeypatch.chdir(tmp_path)
    assert main(["export", str(folder), "--format", "onnx"]) == 0
    out, err = capfd.readouterr()
    assert out == f"{Path('exports/onnx/tiny/1')}\n"
    switched = "exporting in a process with tensorflow" in err
    assert switched == (keras.backend.backend() != "tensorflow")
    texts = ["a dog", "", "two men"]
    options = {"beam_size": 3, "max_length": 5}
    found = runtime.load("exports/onnx/tiny").translate(texts, **options)
    assert found == zoo.load(folder).translate(texts, **options)
    search = ["--beam=3", "--max-length=5"]
    assert main(["translate", "exports/onnx/tiny", *search, *texts]) == 0
    assert capfd.readouterr().out.splitlines() == found


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


# === Exports that `zoo translate --engine` runs ===


@pytest.fixture
def engine(monkeypatch, tmp_path):
    """Exports are made by a stand-in, which notes their commands."""
    commands = []

    def export(command, env, stdout):
        commands.append(command)
        assert env["KERAS_BACKEND"] == "tensorflow"
        assert stdout is sys.stderr  # standard output is the translations'
        if "broken" in command[4]:
            return types.SimpleNamespace(returncode=2)
        version = Path(command[5]) / Path(command[4]).name / "1"
        version.mkdir(parents=True)
        (version / "manifest.json").write_text("{}")
        return types.SimpleNamespace(returncode=0)

    monkeypatch.setenv("ZOO_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr("zoo.cli.export.subprocess.run", export)
    monkeypatch.setattr("zoo.serving.runtime.load", lambda path: FakeTranslator(path))
    return commands


class FakeTranslator(FakeTask):
    task_name = "translate"

    def __init__(self, path):
        super().__init__()
        self.path = path


@pytest.mark.once
def test_an_engine_exports_once_for_each_content(engine, tmp_path, capsys):
    preset = tmp_path / "mine"
    save_translator(preset)

    def run(*options):
        code = main(["translate", str(preset), "a dog", *options])
        return code, capsys.readouterr().out

    for _ in range(2):
        assert run("--engine", "onnx") == (0, "A DOG\n")
    assert len(engine) == 1 and engine[0][-2:] == ["--format", "onnx"]
    assert run("--engine", "onnx-int8") == (0, "A DOG\n")
    assert len(engine) == 2 and engine[1][-2:] == ["--quantize", "int8"]
    assert engine[0][5] != engine[1][5]
    save_translator(preset)
    config = preset / "config.json"
    config.write_text(config.read_text() + " ")
    assert run("--engine", "onnx") == (0, "A DOG\n")
    assert len(engine) == 3 and engine[2][5] != engine[0][5]


@pytest.mark.once
def test_what_an_engine_refuses(engine, tmp_path, capsys):
    preset = tmp_path / "broken"
    save_translator(preset)
    for words, message in (
        ([str(preset)], "broken cannot be exported; --engine keras needs no export"),
        ([str(preset), "--backend", "jax"], "takes one preset and no --backend"),
        (["--preset", str(preset), "--preset", "b"], "takes one preset"),
    ):
        assert main(["translate", *words, "--engine", "onnx", "a dog"]) == 2
        assert message in capsys.readouterr().err

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import keras
import pytest

import zoo

ROOT = Path(__file__).resolve().parent.parent
HEAVY = ("tensorflow", "jax", "torch", "keras", "keras_hub", "numpy", "sentencepiece")
HEAVY += ("matplotlib",)

# As if TensorFlow and tensorflow-text were not installed.
BLOCK_TENSORFLOW = """
import importlib.machinery, sys
finder = importlib.machinery.PathFinder
real = finder.find_spec
def find_spec(name, path=None, target=None):
    if name.split(".")[0] in ("tensorflow", "tensorflow_text"):
        return None
    return real(name, path, target)
finder.find_spec = staticmethod(find_spec)
"""


def python(code, *arguments, **environment):
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        cwd=ROOT,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def subpackages():
    """Of zoo, and of its folders, by their dotted names."""
    folder = ROOT / "zoo"
    found = (
        path.parent.relative_to(folder) for path in folder.glob("*/**/__init__.py")
    )
    return sorted(".".join(path.parts) for path in found)


@pytest.mark.backend_free
@pytest.mark.parametrize(
    "code",
    [
        "import zoo; dir(zoo)",
        "import zoo; zoo.list_presets()",
        "import zoo; zoo.analysis",
        "from zoo.cli import main; main(['--help'])",
        "from zoo.cli import main; main(['list'])",
        "from zoo.cli import main; main(['train', '--help'])",
    ],
)
def test_start_imports_nothing_heavy(code):
    out = python(f"{code}; import sys; print(*sys.modules, sep='\\n')")
    assert "zoo" in out.splitlines()
    assert not set(HEAVY) & set(out.splitlines())


def test_public_names_are_there_when_they_are_used():
    for name in zoo.__all__:
        assert getattr(zoo, name) is getattr(zoo, name)
        assert name in dir(zoo)
    assert callable(zoo.load) and zoo.layers.__name__ == "zoo.layers"
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = zoo.no_such_name


@pytest.mark.backend_free
def test_every_subpackage_is_public_and_packaged():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    packages = project["tool"]["setuptools"]["packages"]
    assert sorted(packages) == sorted(
        ["zoo", "zoo._presets", "zoo._recipes", *(f"zoo.{n}" for n in subpackages())]
    )
    programs = {"cli", "explorer"}  # no API: they are run by commands
    public = {name.split(".")[0] for name in subpackages()} - programs
    assert public <= set(zoo.__all__)


SAVE_LOAD_TRANSLATE = """
import sys
import keras
import zoo
from zoo.cli import main
from zoo.models import Luong, LuongPreprocessor, LuongTranslator
from zoo.text import Tokenizer, train_tokenizer

for name in zoo.__all__:
    getattr(zoo, name)
folder, texts = sys.argv[1], ["a dog runs", "ein hund rennt", "a cat", "eine katze"]
tokenizer = Tokenizer(proto=train_tokenizer(texts, vocabulary_size=22))
backbone = Luong(vocabulary_size=22, num_layers=1, hidden_dim=4, embedding_dim=3)
model = LuongTranslator(backbone, LuongPreprocessor(tokenizer))
model.save_to_preset(folder)
expected = model.translate(texts, max_length=3)
assert zoo.load(folder).translate(texts, max_length=3) == expected
preprocessor = LuongPreprocessor(tokenizer, 30, 30, source_end=True)
rows = preprocessor.encode(["a dog", "", "\\ud800"])
assert rows[0][-1] == 3 and rows[1] == [] and 1 in rows[2], rows
assert preprocessor.decode(rows) == ["a dog", "", " ⁇ "]
x, y, weight = preprocessor({"source": texts[:2], "target": texts[2:]})
assert x["source_ids"].shape == y.shape == weight.shape == (2, 30)
assert preprocessor.decode(y) == texts[2:]
ids = preprocessor.generate_preprocess(["a dog"])["source_ids"]
assert ids.shape == (1, 8)
assert preprocessor.generate_postprocess({"token_ids": ids}) == ["a dog"]
config = keras.saving.serialize_keras_object(preprocessor)
keras.saving.deserialize_keras_object(config)
options = [folder, "--beam", "2", "--alignments"]
assert main(["translate", *options, "cat"]) == 0
assert not {"tensorflow", "tensorflow_text"} & set(sys.modules)
"""


@pytest.mark.skipif(
    keras.backend.backend() == "tensorflow", reason="about the other backends"
)
def test_everything_works_without_tensorflow(tmp_path):
    """Preprocess, save, load and translate, from Python and the command."""
    out = python(
        BLOCK_TENSORFLOW + SAVE_LOAD_TRANSLATE,
        str(tmp_path / "preset"),
        KERAS_BACKEND=keras.backend.backend(),
    )
    assert len(out.splitlines()) >= 3  # a translation and its alignment

"""A fine-tuned task as KerasHub's users save, upload and load it."""

import shutil
import types
from pathlib import Path

import keras_hub
import pytest

import zoo
from tests.harness import to_numpy
from tests.tasks.test_fitting import COLUMNS, make

pytestmark = [
    pytest.mark.once,
    pytest.mark.filterwarnings("ignore:.*has no card"),
]
# KerasHub's own classes that load each kind of task; it has none of taggers.
GENERIC = {
    "translator": keras_hub.models.Seq2SeqLM,
    "classifier": keras_hub.models.TextClassifier,
    "language_model": keras_hub.models.CausalLM,
}


@pytest.fixture
def hub(tmp_path, monkeypatch):
    """A folder that the calls of huggingface_hub read and write for the hub."""
    home = tmp_path / "hub"

    def upload_folder(repo_id, folder_path, **_):
        shutil.copytree(folder_path, home / repo_id, dirs_exist_ok=True)

    calls = {
        "create_repo": lambda repo_id, **_: types.SimpleNamespace(repo_id=repo_id),
        "file_exists": lambda repo_id, filename: (home / repo_id / filename).exists(),
        "upload_folder": upload_folder,
        "snapshot_download": lambda repo_id, **_: str(home / repo_id),
        "hf_hub_download": lambda repo_id, filename, **_: str(
            home / repo_id / filename
        ),
    }
    module = pytest.importorskip("huggingface_hub")
    for name, call in calls.items():
        monkeypatch.setattr(module, name, call)
    return home


@pytest.mark.parametrize("kind", [*COLUMNS])
def test_a_fine_tuned_task_goes_to_a_hub_and_comes_back(kind, tokenizer, hub, tmp_path):
    task = make(kind, tokenizer)
    columns = [column for _, column in COLUMNS[kind]]
    task.compile("adam")
    task.fit(*columns, verbose=0)
    texts = tuple(columns) if kind == "translator" else columns[0]
    wanted = task.predict(texts, verbose=0)
    folder = tmp_path / "mine"
    task.save_to_preset(folder)
    written = {p.relative_to(folder): p.read_bytes() for p in files(folder)}
    keras_hub.upload_preset("hf://ada/mine", str(folder))
    uploaded = {p.relative_to(hub / "ada/mine"): p for p in files(hub / "ada/mine")}
    assert (
        written.items()
        == {
            path: found.read_bytes()
            for path, found in uploaded.items()
            if path != Path("README.md")  # KerasHub's own
        }.items()
    )
    assert {p.relative_to(folder) for p in files(folder)} == {*written}
    for load in (
        lambda: zoo.load(folder),
        lambda: zoo.load("hf://ada/mine"),
        lambda: type(task).from_preset("hf://ada/mine"),
        lambda: GENERIC.get(kind, type(task)).from_preset(str(folder)),
    ):
        again = load()
        assert type(again) is type(task)
        assert (again.predict(texts, verbose=0) == wanted).all()
    backbone = type(task.backbone).from_preset(folder)
    generic = keras_hub.models.Backbone.from_preset(str(folder))
    for found in (backbone, generic):
        for got, own in zip(found.weights, task.backbone.weights, strict=True):
            assert (to_numpy(got.value) == to_numpy(own.value)).all()


def files(folder):
    return [path for path in Path(folder).rglob("*") if path.is_file()]

"""Presets from and to model hubs, by their handles."""

import fnmatch
import importlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from zoo.files import StrPath
from zoo.presets.card import CARD_FILE, Card, read_card
from zoo.presets.pages import HUB_DATASETS, README_FILE, readme

# No code, and no other checkpoint formats.
_FILES = ["*.json", "*.h5", "assets/*", "README.md"]
_SCORES = ".eval_results"
# Scheme -> name, pattern and form of handles, package, its function and arguments.
_HUBS = {
    "hf": (
        "Hugging Face",
        r"[\w.-]+/[\w.-]+",
        "hf://user/name",
        ("huggingface_hub", "snapshot_download", {"allow_patterns": _FILES}),
    ),
    "kaggle": (
        "Kaggle",
        r"[\w.-]+(/[\w.-]+){3,4}",
        "kaggle://user/model/keras/variation[/version]",
        ("kagglehub", "model_download", {}),
    ),
}


def fetch(name: str) -> str | None:
    """Fetches a preset by its handle, unless it is in the hub's own cache.

    Returns:
        The path of its folder; None for a name that is not a handle.
    """
    scheme, separator, handle = name.partition("://")
    if not separator or scheme not in _HUBS:
        return None
    package, function, options = _HUBS[scheme][-1]
    _check(scheme, handle, name)
    return getattr(_import(package, name), function)(handle, **options)


def upload(folder: StrPath, name: str, private: bool = False) -> str:
    """Uploads a preset to Hugging Face in one commit, with its page and scores.

    The page, README.md, has the scores as its `model-index`. Those on corpora that the
    hub has (`HUB_DATASETS`) are in `.eval_results` as well, a file each:
    https://huggingface.co/docs/hub/eval-results. Other files of the repository that
    loading would fetch (JSON, HDF5, assets) and other scores are deleted.

    A task that was saved by `save_to_preset` has no card: KerasHub's `upload_preset`
    uploads its folder, to Kaggle too, with a short page of its own.

    Args:
        folder: a preset folder with its card; see `zoo.presets.verify`.
        name: `hf://user/name`; the repository is made if there is none.
        private: whether a new repository is private.

    Returns:
        The address of the commit.

    Raises:
        ValueError: for a malformed handle, or that of another hub.
        PresetError: (a ValueError) without a card.
        PermissionError: without a token.
        OSError: if the hub cannot be reached, or refuses.
        ImportError: if huggingface_hub is not installed.

    Example:
        ```python
        folder = zoo.presets.locate("runs/mine")
        zoo.presets.upload(folder, "hf://ada/mine", private=True)
        ```
    """
    scheme, _, handle = name.partition("://")
    if scheme != "hf":
        raise ValueError(f"a preset is uploaded to {_HUBS['hf'][2]}, received {name!r}")
    _check(scheme, handle, name)
    card = read_card(folder)
    hub, errors = (_import(f"huggingface_hub{x}", name) for x in ("", ".errors"))
    if not hub.get_token():
        raise PermissionError(
            f"uploading to {name} needs a token of Hugging Face that may write: set "
            "HF_TOKEN, or run hf auth login"
        )
    content: dict[str, Any] = {
        file: str(Path(folder) / file) for file in (CARD_FILE, *card.files)
    }
    content[README_FILE] = readme(card, name).encode()
    content |= {path: text.encode() for path, text in _scores(hub, card, handle)}
    try:
        api = hub.HfApi()
        api.create_repo(handle, private=private or None, exist_ok=True)
        stale = [
            hub.CommitOperationDelete(path)
            for path in api.list_repo_files(handle)
            if path not in content
            and any(fnmatch.fnmatch(path, form) for form in (*_FILES, f"{_SCORES}/*"))
        ]
        added = [hub.CommitOperationAdd(*item) for item in content.items()]
        text = f"Preset {card.name}"
        return api.create_commit(handle, stale + added, commit_message=text).commit_url
    # A file's upload fails with a RuntimeError.
    except (errors.HTTPError, OSError, RuntimeError) as error:
        reason = " ".join(str(error).split())
        raise OSError(f"cannot upload to {name}: {reason}") from error


def _scores(hub: Any, card: Card, handle: str) -> Iterator[tuple[str, str]]:
    """Yields path and content of the files with a card's scores on public corpora."""
    dump = importlib.import_module("huggingface_hub.utils").yaml_dump
    for score in card.scores:
        if not (dataset := HUB_DATASETS.get(score["data"])):
            continue
        notes = [score[key] for key in ("metric", "split", "signature", "command")]
        entry = hub.EvalResultEntry(
            dataset_id=dataset,
            task_id="default",  # required; no task of theirs is known
            value=score["value"],
            date=card.date,
            source_url=f"https://huggingface.co/{handle}",
            source_name=f"card of {card.name}",
            notes="; ".join(filter(None, notes)),
        )
        words = re.findall(r"\w+", " ".join([score["data"], *notes[1::-1]]).lower())
        content = dump(hub.eval_result_entries_to_yaml([entry]), sort_keys=False)
        yield f"{_SCORES}/{'-'.join(words)}.yaml", content


def _check(scheme, handle, name):
    hub, pattern, form, _ = _HUBS[scheme]
    if not re.fullmatch(pattern, handle):
        raise ValueError(f"a {hub} handle is {form}, received {name!r}")


def _import(module, name):
    try:
        return importlib.import_module(module)
    except ImportError:
        package = module.partition(".")[0]
        raise ImportError(
            f"{name} needs the package {package}: pip install {package}"
        ) from None

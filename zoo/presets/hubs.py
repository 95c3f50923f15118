"""Presets from and to model hubs, by their handles."""

import fnmatch
import re
from pathlib import Path
from typing import Any

from zoo.files import StrPath
from zoo.presets.card import CARD_FILE, read_card
from zoo.presets.pages import README_FILE, readme

# No code, and no other checkpoint formats.
_FILES = ["*.json", "*.h5", "assets/*", "README.md"]
# Scheme -> form and pattern of its handles.
_HANDLES = {
    "hf": ("hf://user/name", r"[\w.-]+/[\w.-]+"),
    "kaggle": ("kaggle://user/model/keras/variation", r"[\w.-]+(/[\w.-]+){3,4}"),
}


def fetch(name: str) -> str | None:
    """Fetches a preset by its handle, unless it is in the hub's own cache.

    Returns:
        The path of its folder; None for a name that is not a handle.
    """
    scheme, separator, handle = name.partition("://")
    if not separator or scheme not in _HANDLES:
        return None
    _check(scheme, handle, name)
    if scheme == "kaggle":
        import kagglehub

        return kagglehub.model_download(handle)
    import huggingface_hub

    return huggingface_hub.snapshot_download(handle, allow_patterns=_FILES)


def upload(folder: StrPath, name: str, private: bool = False) -> str:
    """Uploads a preset to Hugging Face in one commit, with its page and scores.

    The page, README.md, has the scores as its `model-index`. Other files of the
    repository that loading would fetch (JSON, HDF5, assets) are deleted.

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

    Example:
        ```python
        folder = zoo.presets.locate("runs/mine")
        zoo.presets.upload(folder, "hf://ada/mine", private=True)
        ```
    """
    import huggingface_hub as hub
    from huggingface_hub.errors import HTTPError

    scheme, _, handle = name.partition("://")
    _check("hf", handle if scheme == "hf" else "", name)
    card = read_card(folder)
    if not hub.get_token():
        raise PermissionError(
            f"uploading to {name} needs a token of Hugging Face that may write: set "
            "HF_TOKEN, or run hf auth login"
        )
    files = {file: str(Path(folder) / file) for file in (CARD_FILE, *card.files)}
    page = readme(card, name).encode()
    content: dict[str, Any] = {**files, README_FILE: page}
    try:
        api = hub.HfApi()
        api.create_repo(handle, private=private or None, exist_ok=True)
        changes: list[Any] = [hub.CommitOperationAdd(*item) for item in content.items()]
        changes += [
            hub.CommitOperationDelete(path)
            for path in api.list_repo_files(handle)
            if path not in content
            and any(fnmatch.fnmatch(path, form) for form in _FILES)
        ]
        text = f"Preset {card.name}"
        return api.create_commit(handle, changes, commit_message=text).commit_url
    # A file's upload fails with a RuntimeError.
    except (HTTPError, OSError, RuntimeError) as error:
        reason = " ".join(str(error).split())
        raise OSError(f"cannot upload to {name}: {reason}") from error


def _check(scheme, handle, name):
    form, pattern = _HANDLES[scheme]
    if not re.fullmatch(pattern, handle):
        raise ValueError(f"a handle of this hub is {form}, received {name!r}")

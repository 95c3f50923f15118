"""Presets from and to model hubs, by their handles."""

import shutil
import tempfile
from pathlib import Path

from zoo.files import StrPath
from zoo.presets.card import CARD_FILE, read_card
from zoo.presets.pages import README_FILE, readme

# No code, and no other checkpoint formats.
_FILES = ["*.json", "*.h5", "assets/*"]


def fetch(name: str) -> str | None:
    """Fetches a preset by its handle, unless it is in the hub's own cache.

    Returns:
        The path of its folder; None for a name that is not a handle.
    """
    scheme, _, handle = name.partition("://")
    if scheme == "hf":
        import huggingface_hub

        return huggingface_hub.snapshot_download(handle, allow_patterns=_FILES)
    if scheme == "kaggle":
        import kagglehub

        return kagglehub.model_download(handle)
    return None


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
        ValueError: for anything but a handle of Hugging Face.
        PresetError: (a ValueError) without a card.
        OSError: without a token, or if the hub cannot be reached, or refuses.

    Example:
        ```python
        folder = zoo.presets.locate("runs/mine")
        zoo.presets.upload(folder, "hf://ada/mine", private=True)
        ```
    """
    import huggingface_hub

    scheme, _, handle = name.partition("://")
    if scheme != "hf" or handle.count("/") != 1:
        raise ValueError(f"a handle must be hf://user/name, received {name!r}")
    card = read_card(folder)
    api = huggingface_hub.HfApi()
    api.create_repo(handle, private=private or None, exist_ok=True)
    with tempfile.TemporaryDirectory() as staged:
        for file in (CARD_FILE, *card.files):
            (Path(staged) / file).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(Path(folder) / file, Path(staged) / file)
        (Path(staged) / README_FILE).write_text(readme(card, name), encoding="utf-8")
        return api.upload_folder(
            repo_id=handle,
            folder_path=staged,
            commit_message=f"Preset {card.name}",
            delete_patterns=_FILES,
        ).commit_url

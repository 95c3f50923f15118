"""Presets of model hubs, fetched by their handles."""

import re

# No code, and no foreign checkpoint formats.
_FILES = ["*.json", "*.h5", "assets/*", "README.md"]


def fetch(name):
    """Fetches a preset, unless the hub's own cache has it.

    Args:
        name: str. `hf://user/name` or `kaggle://user/model/keras/variation`.

    Returns:
        str, the path of its folder; None for a name that is no handle.

    Raises:
        ValueError: for a malformed handle.
        ImportError: if the package that fetches it is not installed.
    """
    for scheme, fetch_from in (("hf://", _fetch_hf), ("kaggle://", _fetch_kaggle)):
        if name.startswith(scheme):
            return fetch_from(name.removeprefix(scheme))
    return None


def _fetch_hf(handle):
    if not re.fullmatch(r"[\w.-]+/[\w.-]+", handle):
        raise ValueError(
            f"a Hugging Face handle is hf://user/name, received 'hf://{handle}'"
        )
    try:
        import huggingface_hub
    except ImportError:
        raise ImportError(
            f"hf://{handle} needs the package huggingface_hub: "
            "pip install huggingface_hub"
        ) from None
    return huggingface_hub.snapshot_download(handle, allow_patterns=_FILES)


def _fetch_kaggle(handle):
    if not re.fullmatch(r"[\w.-]+(/[\w.-]+){3,4}", handle):
        raise ValueError(
            "a Kaggle handle is kaggle://user/model/keras/variation[/version], "
            f"received 'kaggle://{handle}'"
        )
    try:
        import kagglehub
    except ImportError:
        raise ImportError(
            f"kaggle://{handle} needs the package kagglehub: pip install kagglehub"
        ) from None
    return kagglehub.model_download(handle)

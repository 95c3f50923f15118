"""Presets from model hubs, fetched by their handles."""

import re

# No code, and no other checkpoint formats.
_FILES = ["*.json", "*.h5", "assets/*", "README.md"]


def fetch(name: str) -> str | None:
    """Fetches a preset, unless it is in the hub's own cache.

    Args:
        name: `hf://user/name` or `kaggle://user/model/keras/variation`.

    Returns:
        The path of its folder; None for a name that is not a handle.

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

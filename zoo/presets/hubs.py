"""Presets from model hubs, fetched by their handles."""

import importlib
import re

# No code, and no other checkpoint formats.
_FILES = ["*.json", "*.h5", "assets/*", "README.md"]
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
    """Fetches a preset, unless it is in the hub's own cache.

    Args:
        name: `hf://user/name` or `kaggle://user/model/keras/variation`.

    Returns:
        The path of its folder; None for a name that is not a handle.

    Raises:
        ValueError: for a malformed handle.
        ImportError: if the package that fetches it is not installed.
    """
    scheme, separator, handle = name.partition("://")
    if not separator or scheme not in _HUBS:
        return None
    hub, pattern, form, (package, function, options) = _HUBS[scheme]
    if not re.fullmatch(pattern, handle):
        raise ValueError(f"a {hub} handle is {form}, received {name!r}")
    try:
        module = importlib.import_module(package)
    except ImportError:
        raise ImportError(
            f"{name} needs the package {package}: pip install {package}"
        ) from None
    return getattr(module, function)(handle, **options)

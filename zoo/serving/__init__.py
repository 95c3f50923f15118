"""Serving: a preset as a SavedModel for TensorFlow Serving, and a client for it.

    model.export_savedmodel("exports/luong_local")
    zoo.serving.Client("localhost:8500", "luong_local").translate("A dog runs.")

The client needs no Keras, and an export none of the client's packages: each name is
loaded when it is first used.
"""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from zoo.serving.client import Client, ServingError
    from zoo.serving.export import export_savedmodel
    from zoo.serving.folder import read_metadata, versions
    from zoo.serving.limits import Limits
    from zoo.serving.server import (
        refresh_labels,
        server_command,
        write_server_files,
    )
    from zoo.serving.warmup import write_warmup

_HOMES = {
    "Client": "client",
    "Limits": "limits",
    "ServingError": "client",
    "export_savedmodel": "export",
    "read_metadata": "folder",
    "refresh_labels": "server",
    "server_command": "server",
    "versions": "folder",
    "write_server_files": "server",
    "write_warmup": "warmup",
}

__all__ = [
    "Client",
    "Limits",
    "ServingError",
    "export_savedmodel",
    "read_metadata",
    "refresh_labels",
    "server_command",
    "versions",
    "write_server_files",
    "write_warmup",
]


def __getattr__(name):
    if name not in _HOMES:
        raise AttributeError(f"module 'zoo.serving' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"zoo.serving.{_HOMES[name]}"), name)
    globals()[name] = value  # the next use does not come through here
    return value


def __dir__():
    return sorted(set(globals()) | set(__all__))

"""Serving: presets as SavedModels, for ONNX Runtime and CTranslate2, and a client.

    model.export_savedmodel("exports/luong_local")
    zoo.serving.Client("localhost:8500", "luong_local").translate("A dog runs.")

The client needs no Keras, and an export needs none of the client's packages: each name
is loaded on first use.
"""

from typing import TYPE_CHECKING

import lazy_loader

if TYPE_CHECKING:
    from zoo.serving import runtime
    from zoo.serving.client import Client, ServingError
    from zoo.serving.export.ctranslate2_export import export_ctranslate2
    from zoo.serving.export.manifest import read_manifest, versions
    from zoo.serving.export.model_server import server_command, write_server_files
    from zoo.serving.export.onnx_export import export_onnx
    from zoo.serving.export.savedmodel import export_savedmodel

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submodules=["runtime"],
    submod_attrs={
        "client": ["Client", "ServingError"],
        "export.savedmodel": ["export_savedmodel"],
        "export.ctranslate2_export": ["export_ctranslate2"],
        "export.manifest": ["read_manifest", "versions"],
        "export.onnx_export": ["export_onnx"],
        "export.model_server": ["server_command", "write_server_files"],
    },
)

"""Registers zoo's classes with Keras without importing them.

Keras and KerasHub look up a saved object's class among those that are registered, and a
class is registered when its module is imported. So that `import zoo` is enough, each
class has a stand-in until then.
"""

import importlib
import importlib.abc
import importlib.util
import re
import sys
from pathlib import Path
from typing import Any

_CLASS = re.compile(
    r'^@keras\.saving\.register_keras_serializable\(package="zoo"\)\nclass (\w+)', re.M
)


def register_with_keras() -> None:
    """Registers the stand-ins: now, or as soon as Keras has been imported."""
    if "keras" in sys.modules:
        _register()
    else:
        sys.meta_path.insert(0, _KerasFinder())


def _register():
    import keras

    importlib.import_module("zoo.layers")  # functions among them; light beside Keras
    registered = keras.saving.get_custom_objects()
    for path in sorted(Path(__file__).parent.glob("*/*.py")):
        for name in _CLASS.findall(path.read_text(encoding="utf-8")):
            module = f"zoo.{path.parent.name}.{path.stem}"
            registered.setdefault(f"zoo>{name}", _StandIn(module, name))


class _StandIn:
    """A class that is imported when Keras or KerasHub looks at it."""

    def __init__(self, module: str, name: str) -> None:
        self._module, self._name = module, name

    def _cls(self):
        return getattr(importlib.import_module(self._module), self._name)

    def __getattr__(self, name: str) -> Any:  # such as `from_config` or `__bases__`
        return getattr(self._cls(), name)

    def __eq__(self, other: object) -> bool:
        return self._cls() == other

    def __hash__(self) -> int:
        return hash(self._name)


class _KerasFinder(importlib.abc.MetaPathFinder):
    """Finds Keras as others do, and registers the stand-ins once it is imported."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        if name != "keras":
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.loader is not None:
            run = spec.loader.exec_module

            def exec_module(module):
                run(module)
                _register()

            spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec

"""Registers zoo's classes with Keras without importing them.

Keras and KerasHub look up a saved object's class among those that are registered, and a
class is registered when its module is imported. So that `import zoo` is enough, each
class has a stand-in until then.
"""

import importlib
import re
from pathlib import Path
from typing import Any

try:
    import wrapt
except ModuleNotFoundError:  # an environment for ONNX Runtime alone, without Keras
    wrapt = None  # type: ignore[assignment]

_CLASS = re.compile(
    r'^@keras\.saving\.register_keras_serializable\(package="zoo"\)\nclass (\w+)', re.M
)
_PAIR = re.compile(r"^(\w+), (\w+) = classes_for\(", re.M)  # of `zoo.tasks.translator`


def register_with_keras() -> None:
    """Registers the stand-ins: now, or as soon as Keras has been imported."""
    if wrapt is not None:
        wrapt.register_post_import_hook(_register, "keras")
        # KerasHub looks for a backbone's tasks among the classes that are there.
        wrapt.register_post_import_hook(import_tasks, "zoo.models")


def _register(keras):
    importlib.import_module("zoo.layers")  # functions among them; light beside Keras
    registered = keras.saving.get_custom_objects()
    home = Path(__file__).parent
    for path in sorted(home.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        for name in [*_CLASS.findall(text), *sum(_PAIR.findall(text), ())]:
            module = ".".join(("zoo", *path.relative_to(home).with_suffix("").parts))
            registered.setdefault(f"zoo>{name}", _StandIn(module, name))


def import_tasks(_: Any = None) -> None:
    """Imports the tasks, which registers every class of theirs with Keras."""
    importlib.import_module("zoo.tasks")


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

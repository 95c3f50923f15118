"""Served models: folders of versions that are loaded, labelled and replaced."""

import functools
import logging
import threading
from collections.abc import Awaitable, Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from zoo.files import StrPath
from zoo.serving.export.export_folder import versions
from zoo.serving.export.model_server import LABELS, MAX_BATCH_SIZE, VERSIONS
from zoo.serving.protocol import DEFAULT
from zoo.serving.server.load_version import load_version
from zoo.serving.server.signatures import (
    Inputs,
    Refusal,
    Request,
    Rows,
    Signature,
    invalid,
    stack,
)

logger = logging.getLogger("zoo.serving.server")
Run = Callable[[Request], Awaitable[Rows]]


class ServedModel:
    """The versions of a model, in the folder that `zoo export` writes.

    The newest `VERSIONS` are served, the newest of them under the label "stable", the
    one before it as "previous". `refresh` takes over what has changed in the folder. A
    version that cannot be loaded is passed over until its files change.

    Args:
        name: the name of the model.
        folder: its folder.
        run: what runs requests.
        load: function of a version's folder that returns its signatures by name.

    Attributes:
        loaded: version -> its signatures by name, the oldest first.
        failures: version -> why it could not be loaded.

    Example:
        ```python
        model = ServedModel("luong_local", "exports/onnx/luong_local", run)
        model.refresh()
        translate = model.signature("translate", version=1)
        await model.answer(translate, {"text": ["A dog runs."]})
        ```
    """

    def __init__(
        self,
        name: str,
        folder: StrPath,
        run: Run,
        load: Callable[[Path], dict[str, Signature]] = load_version,
    ) -> None:
        self.name, self.folder = name, Path(folder)
        self._run, self._load = run, load
        # Both are replaced as a whole, since other threads read them.
        self.loaded: dict[int, dict[str, Signature]] = {}
        self.failures: dict[int, str] = {}
        self._broken: dict[int, Any] = {}  # the files of versions that failed
        self._refreshing = threading.Lock()

    # === Versions ===
    def refresh(self) -> bool:
        """Loads new versions of the folder, and unloads those that are too old.

        Requests that have been accepted are answered by the version they were for.
        Returns whether anything has changed.
        """
        with self._refreshing:
            there = versions(self.folder)
            if not there:  # a volume that is away for a moment
                return False
            loaded = {n: found for n, found in self.loaded.items() if n in there}
            self.failures = {n: why for n, why in self.failures.items() if n in there}
            for number in there[-VERSIONS:]:
                if number not in loaded:
                    loaded |= self._load_version(number)
            newest = sorted(loaded)[-VERSIONS:]
            changed = newest != list(self.loaded)
            self.loaded = {number: loaded[number] for number in newest}
            return changed

    def _load_version(self, number):
        """Returns a version's signatures by its number, unless it cannot be loaded."""
        folder = self.folder / str(number)
        stats = [(path, path.stat()) for path in sorted(folder.rglob("*"))]
        files = [(path, stat.st_size, stat.st_mtime_ns) for path, stat in stats]
        if number in self.failures and self._broken[number] == files:
            return {}
        others = {n: why for n, why in self.failures.items() if n != number}
        try:
            found = {number: self._load(folder)}
        except Exception as error:
            logger.error("%s: version %d: %s", self.name, number, error)
            self._broken[number], self.failures = files, {**others, number: str(error)}
            return {}
        logger.info("%s: loaded version %d", self.name, number)
        self.failures = others
        return found

    def find(self, version: int | None = None, label: str | None = None) -> int:
        """Returns the version that a request names. Default: the newest."""
        served = list(self.loaded)
        if label is not None:
            labelled = dict(zip(LABELS, reversed(served), strict=False))
            if label not in labelled:
                raise invalid(
                    f"{self.name} has the labels {list(labelled)}, received {label!r}"
                )
            return labelled[label]
        if not served or version not in (None, *served):
            wanted = "" if version is None else f", received {version}"
            raise Refusal("NOT_FOUND", f"{self.name} has the versions {served}{wanted}")
        return served[-1] if version is None else version

    def signatures(self, version: int) -> dict[str, Signature]:
        """Returns the signatures of a version by name."""
        return self.loaded[self.find(version)]

    # === Requests ===
    def signature(self, name: str | None, version: int) -> Signature:
        """Returns a signature of a version; `serving_default` for no name."""
        signatures = self.signatures(version)
        if (name or DEFAULT) not in signatures:
            raise invalid(
                f"{self.name} has the signatures {sorted(signatures)}, received "
                f"{name!r}"
            )
        return signatures[name or DEFAULT]

    async def answer(
        self, signature: Signature, inputs: Inputs
    ) -> dict[str, np.ndarray]:
        """Runs a signature of this model's.

        Returns output name -> array, text as str objects, numbers as float32.
        """
        counts = {name: len(texts) for name, texts in inputs.items()}
        if set(counts) != set(signature.inputs) or len(set(counts.values())) != 1:
            raise invalid(
                f"there must be equally many rows of {list(signature.inputs)}, "
                f"received {counts}"
            )
        request = Request(signature, inputs)
        if request.rows() > MAX_BATCH_SIZE:
            raise invalid(
                f"a request may have {MAX_BATCH_SIZE} rows, received {request.rows()}"
            )
        rows = await self._run(request)
        return {
            name: stack(rows[name], *like) for name, like in signature.outputs.items()
        }


def open_models(
    folders: Mapping[str, StrPath], run: Run, threads: int = 1
) -> dict[str, ServedModel]:
    """Loads models, name -> folder; `threads` are those of one operation.

    Raises:
        ValueError: if no version of one can be loaded.
    """
    load = functools.partial(load_version, threads=threads)
    models = {name: ServedModel(name, f, run, load) for name, f in folders.items()}
    for model in models.values():
        model.refresh()
        if not model.loaded:
            why = model.failures or f"there is no version in {model.folder}"
            raise ValueError(f"{model.name} cannot be served: {why}")
    return models


def watch(models: Iterable[ServedModel], seconds: float = 1.0) -> threading.Event:
    """Refreshes models in a thread, again and again, until the event is set."""
    models, stop = list(models), threading.Event()

    def run():
        while not stop.wait(seconds):
            for model in models:
                try:
                    model.refresh()
                except Exception:
                    logger.exception("%s: its folder cannot be read", model.name)

    threading.Thread(target=run, daemon=True).start()
    return stop

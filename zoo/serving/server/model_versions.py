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
from zoo.serving.server.request_batching import Request
from zoo.serving.server.signatures import (
    DEFAULT,
    Inputs,
    Refusal,
    Rows,
    Signature,
    load_version,
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

    Example:
        ```python
        model = ServedModel("luong_local", "exports/onnx/luong_local", run)
        model.refresh()
        await model.answer(model.signature("translate", 1), {"text": ["A dog runs."]})
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
        # Replaced as a whole, since other threads read it.
        self._loaded: dict[int, dict[str, Signature]] = {}
        self._failed: dict[int, tuple[Any, str]] = {}  # its files, and what was wrong
        self._refreshing = threading.Lock()

    # === Versions ===
    def refresh(self) -> bool:
        """Loads new versions of the folder, and unloads those that are too old.

        Requests that have been accepted are answered by the version they were for.

        Returns:
            Whether anything has changed.
        """
        with self._refreshing:
            return self._refresh(versions(self.folder))

    def _refresh(self, there):
        if not there:  # a volume that is away for a moment
            return False
        loaded = {n: found for n, found in self._loaded.items() if n in there}
        self._failed = {n: why for n, why in self._failed.items() if n in there}
        for number in there[-VERSIONS:]:
            files = _files(self.folder / str(number))
            failed = self._failed.get(number, (None, ""))[0]
            if number not in loaded and failed != files:
                self._failed.pop(number, None)
                try:
                    loaded[number] = self._load(self.folder / str(number))
                    logger.info("%s: loaded version %d", self.name, number)
                except Exception as error:
                    logger.error("%s: version %d: %s", self.name, number, error)
                    self._failed[number] = files, str(error)
        newest = sorted(loaded)[-VERSIONS:]
        changed = newest != sorted(self._loaded)
        self._loaded = {number: loaded[number] for number in newest}
        return changed

    @property
    def versions(self) -> list[int]:
        """The versions that are served, in ascending order."""
        return sorted(self._loaded)

    def failures(self) -> dict[int, str]:
        """Returns why versions could not be loaded."""
        return {number: message for number, (_, message) in self._failed.items()}

    def find(self, version: int | None = None, label: str | None = None) -> int:
        """Returns the version that a request names. Default: the newest.

        Raises:
            Refusal: NOT_FOUND for a version that is not served, INVALID_ARGUMENT for a
                label that no version has.
        """
        served = self.versions
        if label is not None:
            labelled = dict(zip(LABELS, reversed(served), strict=False))
            if label not in labelled:
                raise Refusal(
                    "INVALID_ARGUMENT",
                    f"{self.name} has the labels {list(labelled)}, received {label!r}",
                )
            return labelled[label]
        if not served or version not in (None, *served):
            wanted = "" if version is None else f", received {version}"
            raise Refusal("NOT_FOUND", f"{self.name} has the versions {served}{wanted}")
        return served[-1] if version is None else version

    def signatures(self, version: int) -> dict[str, Signature]:
        """Returns the signatures of a version by name.

        Raises:
            Refusal: NOT_FOUND if it is not served.
        """
        found = self._loaded.get(version)
        if found is None:
            raise Refusal("NOT_FOUND", f"{self.name} has the versions {self.versions}")
        return found

    # === Requests ===
    def signature(self, name: str | None, version: int) -> Signature:
        """Returns a signature of a version; `serving_default` for no name.

        Raises:
            Refusal: NOT_FOUND for the version, INVALID_ARGUMENT for the name.
        """
        signatures = self.signatures(version)
        if (name or DEFAULT) not in signatures:
            raise Refusal(
                "INVALID_ARGUMENT",
                f"{self.name} has the signatures {sorted(signatures)}, received "
                f"{name!r}",
            )
        return signatures[name or DEFAULT]

    async def answer(
        self, signature: Signature, inputs: Inputs
    ) -> dict[str, np.ndarray]:
        """Runs a request.

        Args:
            signature: one of this model's.
            inputs: input name -> texts, or bytes.

        Returns:
            Output name -> array, text as str objects, numbers as float32.

        Raises:
            Refusal: INVALID_ARGUMENT for other inputs than the signature's, of unequal
                length, or too long; INTERNAL for anything else that goes wrong.
        """
        counts = {name: len(texts) for name, texts in inputs.items()}
        if set(counts) != set(signature.inputs) or len(set(counts.values())) != 1:
            raise Refusal(
                "INVALID_ARGUMENT",
                f"there must be equally many rows of {list(signature.inputs)}, "
                f"received {counts}",
            )
        request = Request(signature, inputs)
        if request.count > MAX_BATCH_SIZE:
            raise Refusal(
                "INVALID_ARGUMENT",
                f"a request may have {MAX_BATCH_SIZE} rows, received {request.count}",
            )
        try:
            rows = await self._run(request)
        except Refusal:
            raise
        except Exception as error:
            logger.exception("%s failed", self.name)
            raise Refusal("INTERNAL", f"{type(error).__name__}: {error}") from error
        return {
            name: stack(rows[name], *like) for name, like in signature.outputs.items()
        }


def open_models(
    folders: Mapping[str, StrPath], run: Run, threads: int = 1
) -> dict[str, ServedModel]:
    """Loads models.

    Args:
        folders: name -> folder of versions.
        run: what runs requests.
        threads: threads that one operation may use.

    Raises:
        ValueError: if no version of one can be loaded.
    """
    load = functools.partial(load_version, threads=threads)
    models = {name: ServedModel(name, f, run, load) for name, f in folders.items()}
    for model in models.values():
        model.refresh()
        if not model.versions:
            why = model.failures() or f"there is no version in {model.folder}"
            raise ValueError(f"{model.name} cannot be served: {why}")
    return models


def watch(models: Iterable[ServedModel], seconds: float = 1.0) -> Callable[[], None]:
    """Refreshes models in a thread, again and again.

    Args:
        models: the models.
        seconds: pause between two looks at their folders.

    Returns:
        A function that ends the thread.
    """
    models, stop = list(models), threading.Event()

    def run():
        while not stop.wait(seconds):
            for model in models:
                try:
                    model.refresh()
                except Exception:
                    logger.exception("%s: its folder cannot be read", model.name)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()

    def end():
        stop.set()
        thread.join()

    return end


def _files(folder):
    """Returns what changes when a file of a folder does."""
    found = [(path, path.stat()) for path in sorted(folder.rglob("*"))]
    return [(path, stat.st_size, stat.st_mtime_ns) for path, stat in found]

"""Served models: folders of versions that are loaded, labelled and replaced."""

import functools
import logging
import threading
import time
from collections.abc import Awaitable, Callable, Mapping
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
from zoo.strings import describe

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
        self._tried: dict[int, float] = {}  # version that failed -> its newest file

    # === Versions ===
    def refresh(self) -> None:
        """Loads new versions of the folder, and unloads those that are too old.

        Requests that have been accepted are answered by the version they were for.
        """
        there = versions(self.folder)
        if not there:  # a volume that is away for a moment
            return
        loaded = {n: found for n, found in self.loaded.items() if n in there}
        failures = {n: why for n, why in self.failures.items() if n in there}
        for number in there[-VERSIONS:]:
            if number in loaded:
                continue
            folder = self.folder / str(number)
            changed = max(x.stat().st_mtime for x in (folder, *folder.rglob("*")))
            if number in failures and self._tried[number] == changed:
                continue
            failures.pop(number, None)
            try:
                loaded[number] = self._load(folder)
                logger.info("%s: loaded version %d", self.name, number)
            except Exception as error:
                logger.error("%s: version %d: %s", self.name, number, error)
                self._tried[number], failures[number] = changed, str(error)
        self.failures = failures
        self.loaded = {number: loaded[number] for number in sorted(loaded)[-VERSIONS:]}

    def watch(self, seconds: float = 1.0) -> None:
        """Refreshes again and again, in a thread that lives as long as the process."""

        def run():
            while True:
                time.sleep(seconds)
                try:
                    self.refresh()
                except OSError:
                    logger.exception("%s: its folder cannot be read", self.name)

        threading.Thread(target=run, daemon=True).start()

    # === Requests ===
    def find(self, version: int | None = None, label: str | None = None) -> int:
        """Returns the version that a request names. Default: the newest."""
        served = list(self.loaded)
        if label:
            labelled = dict(zip(LABELS, reversed(served), strict=False))
            if label not in labelled:
                raise invalid(
                    f"{self.name} has the labels {list(labelled)}, received "
                    f"{describe(label)}"
                )
            return labelled[label]
        if not served or version not in (None, *served):
            wanted = "" if version is None else f", received {version}"
            raise Refusal("NOT_FOUND", f"{self.name} has the versions {served}{wanted}")
        return served[-1] if version is None else version

    def signature(self, name: str, version: int) -> Signature:
        """Returns a signature of a version; `serving_default` for no name."""
        signatures = self.loaded[self.find(version)]
        if (name or DEFAULT) not in signatures:
            raise invalid(
                f"{self.name} has the signatures {sorted(signatures)}, received "
                f"{describe(name)}"
            )
        return signatures[name or DEFAULT]

    async def answer(
        self, signature: Signature, inputs: Inputs
    ) -> dict[str, np.ndarray]:
        """Runs a signature of this model's.

        Returns output name -> array, text as str objects, numbers as float32.
        """
        counts = {name: len(values) for name, values in inputs.items()}
        if len(set(counts.values())) != 1:
            raise invalid(f"inputs need equally many rows, received {counts}")
        request = Request(signature, inputs)
        if request.rows() > MAX_BATCH_SIZE:
            raise invalid(
                f"a request may have {MAX_BATCH_SIZE} rows, received {request.rows()}"
            )
        rows = await self._run(request)
        return {
            name: stack(rows[name], *like) for name, like in signature.outputs.items()
        }

    # === What is served ===
    def status(
        self, version: int | None = None, label: str | None = None
    ) -> dict[str, Any]:
        """Returns the states of all versions, or of one: a GetModelStatusResponse."""
        states = dict.fromkeys(self.loaded, ("AVAILABLE", "OK", ""))
        states |= {n: ("END", "UNKNOWN", why) for n, why in self.failures.items()}
        if label or version not in (None, *states):
            version = self.find(version, label)
        return {
            "model_version_status": [
                {
                    "version": str(number),
                    "state": state,
                    "status": {"error_code": code, "error_message": message},
                }
                for number, (state, code, message) in sorted(states.items())[::-1]
                if version in (None, number)
            ]
        }

    def metadata(self, version: int) -> dict[str, Any]:
        """Returns the signatures of a version: a GetModelMetadataResponse."""
        signatures = {
            name: {
                "inputs": _tensors(dict.fromkeys(signature.inputs, ("text", 1))),
                "outputs": _tensors(signature.outputs),
                "method_name": "tensorflow/serving/predict",
            }
            for name, signature in self.loaded[self.find(version)].items()
        }
        spec = {"name": self.name, "signature_name": "", "version": str(version)}
        return {
            "model_spec": spec,
            "metadata": {"signature_def": {"signature_def": signatures}},
        }


def _tensors(likes):
    dtypes = {"text": "DT_STRING", "number": "DT_FLOAT"}
    dim = {"size": "-1", "name": ""}
    return {
        name: {
            "dtype": dtypes[kind],
            "tensor_shape": {"dim": [dim] * rank, "unknown_rank": False},
            "name": name,
        }
        for name, (kind, rank) in likes.items()
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

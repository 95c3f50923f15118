"""Served models: an ONNX export's signatures, as functions of many requests."""

import functools
import logging
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from zoo.decoding import search_ids
from zoo.files import StrPath
from zoo.serving.export.manifest import newest
from zoo.serving.protocol import (
    DEFAULT,
    MAX_ROWS,
    NO_SCORE,
    NUMBERS,
    SIGNATURES,
    ServingError,
    SignatureSpec,
)
from zoo.serving.runtime import onnx
from zoo.strings import describe

logger = logging.getLogger("zoo.serving.server")
MAX_REQUEST_BYTES = 8 * 2**20
BEAM_SIZE = 5
Inputs = dict[str, list[str]]


def invalid(message: str) -> ServingError:
    """Returns the error of a request that is wrong in itself."""
    return ServingError("INVALID_ARGUMENT", message)


class ServedModel:
    """The newest version of a model that `zoo export --format onnx` wrote.

    A folder that is no export, or a damaged one, is a ValueError.

    Attributes:
        version: the number of its version.
        signatures: the `SignatureSpec`s by name, `serving_default` among them.
    """

    def __init__(self, name: str, folder: StrPath) -> None:
        version = newest(folder)
        model = onnx.load(version, workers=1)  # Ray has replicas
        self.name, self.version = name, int(version.name)
        specs, runs = SIGNATURES[model.task_name], _RUNS[model.task_name](model)
        first = next(iter(specs))
        self.signatures: dict[str, SignatureSpec] = {DEFAULT: specs[first], **specs}
        self._runs = {DEFAULT: runs[first], **runs}

    def signature(self, name: str) -> SignatureSpec:
        """Returns a signature by its name; `serving_default` for no name."""
        if (name or DEFAULT) not in self.signatures:
            names = sorted(self.signatures)
            text = f"{self.name} has the signatures {names}, received {describe(name)}"
            raise invalid(text)
        return self.signatures[name or DEFAULT]

    def request(self, signature: str, inputs: Inputs) -> "Request":
        """Returns a request, whose inputs are as many rows each, at most 512."""
        counts = {name: len(values) for name, values in inputs.items()}
        if len(set(counts.values())) != 1 or max(counts.values()) > MAX_ROWS:
            text = f"inputs need equally many rows, at most {MAX_ROWS}, received"
            raise invalid(f"{text} {counts}")
        return Request(self, signature or DEFAULT, inputs)

    def run(self, signature: str, inputs: Inputs) -> dict[str, Sequence[Any]]:
        """Returns the rows of each output of a signature."""
        spec = self.signatures[signature]
        values = self._runs[signature](*(inputs[name] for name in spec.inputs))
        return dict(zip(spec.outputs, values, strict=True))


class Request(NamedTuple):
    """A signature of a model and its inputs, equally many of each."""

    model: ServedModel
    signature: str
    inputs: Inputs

    @property
    def rows(self) -> int:
        """The number of its rows."""
        return len(next(iter(self.inputs.values())))


# === Requests that run together ===
def run_together(requests: Sequence[Request]) -> list[Any]:
    """Returns each request's arrays or error; those of a signature run together."""
    groups: dict[Any, list[int]] = {}
    for place, request in enumerate(requests):
        groups.setdefault((request.model, request.signature), []).append(place)
    results: dict[int, Any] = {}
    for places in groups.values():
        found = _run([requests[place] for place in places])
        results.update(zip(places, found, strict=True))
    return [results[place] for place in range(len(requests))]


def _run(group):
    """Runs requests for one signature: together, or alone where one of them fails."""
    (model, signature, first), start, results = group[0], 0, []
    names = model.signatures[signature].outputs
    joined = {
        key: [x for request in group for x in request.inputs[key]] for key in first
    }
    try:
        outputs = model.run(signature, joined)
    except Exception as error:
        if len(group) > 1:
            return [result for request in group for result in _run([request])]
        if isinstance(error, ServingError):
            return [error]
        logger.exception("%s: %s failed", model.name, signature)
        return [ServingError("INTERNAL", f"{type(error).__name__}: {error}")]
    for request in group:
        rows = slice(start, start + request.rows)
        results.append({key: stack(outputs[key][rows], key, names) for key in names})
        start = rows.stop
    return results


def stack(rows: Any, name: str, outputs: Mapping[str, str]) -> np.ndarray:
    """Returns an output's rows as str objects or float32, padded with "" or 0."""
    dtype, padding = ("float32", 0) if name in NUMBERS else (object, "")
    arrays = [np.asarray(row, dtype) for row in rows]
    shape = np.max([array.shape for array in arrays], axis=0, initial=0)
    sizes = np.broadcast_to(shape, len(outputs[name]) - 1).astype(int)
    result = np.full((len(arrays), *sizes), padding, dtype)
    for place, array in enumerate(arrays):
        part: Any = (place, *map(slice, array.shape))
        result[part] = array if array.ndim else array.item()
    return result


# === Signatures ===
# Each of the following returns functions by signature: of the inputs' values, to those
# of the outputs, both in the order of `SIGNATURES`.
def _tagger(model):
    def tag(texts):
        rows = model.tag(texts)
        return [[[pair[i] for pair in row] for row in rows] for i in (0, 1)]

    return {"tag": tag}


def _classifier(model):
    def classify(texts):
        records = model.classify(texts, return_details=True)
        shares = [list(record.probabilities.values()) for record in records]
        return [record.label for record in records], shares

    return {"classify": classify}


def _translator(model):
    def several(beam_size, n_best, texts):
        """The best of each text, "" where there are no more, and their scores."""
        search = model.search_class(beam_size, n_best=n_best)
        sources = model.preprocessor.encode(texts)
        found, scores = [], []
        for ids, best in zip(sources, search_ids(model, sources, search), strict=True):
            best = best if ids else best[:1]  # of nothing there is one
            missing = n_best - len(best)
            written = model.preprocessor.decode([ids for ids, _ in best])
            found.append([*written, *[""] * missing])
            scores.append([*(score for _, score in best), *[NO_SCORE] * missing])
        return found, scores

    def best(beam_size, texts):
        found, scores = several(beam_size, 1, texts)
        return [text for (text,) in found], [score for (score,) in scores]

    def align(texts):
        records = model.translate(texts, beam_size=BEAM_SIZE, return_details=True)
        names = "text", "score", "tokens", "source_tokens", "alignment"
        return [[getattr(record, name) for record in records] for name in names]

    def score(sources, targets):
        try:
            return [model.score(sources, targets)]
        except ValueError as error:  # a blank source
            raise invalid(str(error)) from None

    return {
        "translate": functools.partial(best, BEAM_SIZE),
        "greedy": functools.partial(best, 1),
        "translate_n_best": functools.partial(several, BEAM_SIZE, BEAM_SIZE),
        "align": align,
        "score": score,
    }


_RUNS = {"translate": _translator, "tag": _tagger, "classify": _classifier}

"""A run's files beside its checkpoint: `log.csv`, `samples.jsonl`, best weights."""

import contextlib
import csv
import dataclasses
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from zoo.decoding import Translation, align_ids
from zoo.files import write_bytes
from zoo.training.fit.checkpoint import CheckpointError

_ROW = re.compile(rb"\d+(,[-+.\w]*)*\r?\n")


# === Trimming ===
def trim_log(path: Path, epochs: int) -> None:
    """Drops rows of a `log.csv` newer than the checkpoint; they will be rewritten.

    Args:
        path: the file, which need not exist.
        epochs: completed epochs; if there are none, the header goes too.

    Raises:
        CheckpointError: if one of the remaining rows is damaged.
    """
    names: list[str] = []

    def epoch_of(line):
        if not names:
            with contextlib.suppress(ValueError, csv.Error):
                names.extend(*csv.reader([line.decode()], strict=True))
            if names[:1] != ["epoch"]:
                raise _damaged(path, line)
            return -1
        epoch = int(line.split(b",")[0])
        whole = _ROW.fullmatch(line) and line.count(b",") + 1 == len(names)
        if epoch < epochs and not whole:
            raise _damaged(path, line)
        return epoch

    _trim(path, epochs, epoch_of)


def trim_samples(path: Path, epochs: int) -> None:
    """Drops samples newer than the checkpoint; their epochs count from 1."""
    _trim(path, epochs, lambda line: json.loads(line)["epoch"] - 1)


def _trim(path, epochs, epoch_of):
    lines = path.read_bytes().splitlines(keepends=True) if path.exists() else []
    kept = []
    for line in lines if epochs else ():
        try:
            known = epoch_of(line) < epochs
        except CheckpointError:
            raise
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            if line is not lines[-1]:  # the last one may be cut off
                raise _damaged(path, line) from error
            known = False
        if known and not line.endswith(b"\n"):  # the next line would continue it
            raise _damaged(path, line)
        kept += [line] * known
    if kept != lines:
        write_bytes(path, b"".join(kept))


def _damaged(path, line):
    return CheckpointError(
        f"{path} is damaged. Remove it to go on without its record of the epochs so "
        f"far, or start afresh with --restart. Received the line: {line[:80]!r}"
    )


# === Best weights ===
def check_weights(path: Path) -> None:
    """Reads a weights file to the end, to find out whether it is damaged.

    Raises:
        CheckpointError: if the file is missing or damaged.
    """
    with _best_weights(path), h5py.File(path) as file:
        file.visititems(
            lambda _, item: item[()] if isinstance(item, h5py.Dataset) else None
        )


def load_weights(model: Any, path: Path) -> None:
    """Loads the best weights of a run into a model; raises as `check_weights` does."""
    with _best_weights(path):
        model.load_weights(path)


@contextlib.contextmanager
def _best_weights(path):
    try:
        yield
    # Which error it is depends on what is damaged: OSError, KeyError, RuntimeError, …
    except Exception as error:
        raise CheckpointError(
            f"{path}, the weights of the best epoch so far, can't be read: put it "
            f"back, or start afresh with --restart. Received: {error}"
        ) from error


# === Samples ===
def make_samples(
    model: Any,
    texts: Sequence[tuple[str, str, str]],
    source_ids: Sequence[Sequence[int]],
    target_ids: Sequence[Sequence[int]],
) -> list[dict[str, Any]]:
    """Describes translations, and what the model attended to, ready for JSON.

    Args:
        model: a `zoo.models.Translator` that has a preprocessor.
        texts: (source, reference, translation) of each sentence.
        source_ids, target_ids: ids of the sources and of the translations.

    Returns:
        For each translation a dict of source, reference and translation. If the model
        has attention, it also has tokens, source_tokens and alignment, and for local
        attention focus and windows: the fields of a `zoo.decoding.Translation`.
    """
    pieces, samples = model.preprocessor.pieces, []
    names = ("source", "reference", "translation")
    ids = zip(source_ids, target_ids, strict=True)
    alignments = align_ids(model, source_ids, target_ids)
    for text, pair, arrays in zip(texts, ids, alignments, strict=True):
        sample: dict[str, Any] = dict(zip(names, text, strict=True))
        if arrays[0].any():
            sample["source_tokens"], sample["tokens"] = map(pieces, pair)
            fields = ("alignment", "focus", "windows")[: len(arrays)]
            sample |= zip(fields, map(_rounded, arrays), strict=True)
        samples.append(sample)
    return samples


def _rounded(array):
    if np.issubdtype(array.dtype, np.integer):
        return array.tolist()
    return np.round(array.astype("float64"), 3).tolist()


def append_samples(path: str | Path, samples: Sequence[dict[str, Any]]) -> None:
    """Appends to a `samples.jsonl`: `make_samples` with their "epoch" and "set"."""
    lines = [json.dumps(sample, ensure_ascii=False) for sample in samples]
    with Path(path).open("a", encoding="utf-8") as file:
        file.write("".join(f"{line}\n" for line in lines))


def read_samples(path: str | Path) -> dict[tuple[str, ...], dict[int, dict[str, Any]]]:
    """Reads a `samples.jsonl`.

    Returns:
        `{(set, source, reference): {epoch: sample}}`, empty without such a file. If an
        epoch was trained again, its last sample counts.

    Raises:
        ValueError: if a line is no sample.
    """
    samples: dict[tuple[str, ...], dict[int, dict[str, Any]]] = {}
    path = Path(path)
    lines = path.read_bytes().splitlines(keepends=True) if path.exists() else []
    for number, line in enumerate(lines, 1):
        if not line.endswith(b"\n"):
            continue  # the run was killed while writing it
        try:
            sample = json.loads(line)
            key = tuple(sample[name] for name in ("set", "source", "reference"))
            if not all(isinstance(text, str) for text in (*key, sample["translation"])):
                raise ValueError("a text is no str")
            translation_of(sample)
            samples.setdefault(key, {})[int(sample["epoch"])] = sample
        # JSON and NumPy raise ValueError, OverflowError, KeyError, …
        except Exception as error:
            raise ValueError(
                f"{path}, line {number} is no sample of a run: remove the file for "
                "a report without samples. "
                f"Received: {type(error).__name__}: {error}"
            ) from error
    return samples


def translation_of(sample: dict[str, Any]) -> Translation | None:
    """Returns a sample as a `Translation` without a score; None without attention.

    Raises:
        ValueError: see `Translation.from_json`.
    """
    if "alignment" not in sample:
        return None
    names = ("tokens", "source_tokens", "alignment", "focus", "windows")
    members = {name: sample[name] for name in names if name in sample}
    record = {"text": sample["translation"], "score": 0.0, **members}
    translation = Translation.from_json(json.dumps(record))
    return dataclasses.replace(translation, score=np.nan)

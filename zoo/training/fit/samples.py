"""Translations after each epoch, with what the model attended to: `samples.jsonl`."""

import dataclasses
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from zoo.decoding import Translation, align_ids
from zoo.files import write_bytes
from zoo.training.fit.checkpoint import CheckpointError


def make_samples(
    model: Any,
    texts: Sequence[tuple[str, str, str]],
    source_ids: Sequence[Sequence[int]],
    target_ids: Sequence[Sequence[int]],
) -> list[dict[str, Any]]:
    """Describes (source, reference, translation) of each sentence, ready for JSON.

    If the model has attention, tokens, source_tokens and alignment are added, and for
    local attention focus and windows: the fields of a `zoo.decoding.Translation`.
    """
    pieces, samples = model.preprocessor.pieces, []
    names = ("source", "reference", "translation")
    ids = zip(source_ids, target_ids, strict=True)
    alignments = align_ids(model, source_ids, target_ids)
    for text, pair, arrays in zip(texts, ids, alignments, strict=True):
        sample: dict[str, Any] = dict(zip(names, text, strict=True))
        if arrays[0].any():
            sample["source_tokens"], sample["tokens"] = map(pieces, pair)
            kinds = {"alignment": "float64", "focus": "float64", "windows": "int64"}
            for (name, kind), array in zip(kinds.items(), arrays, strict=False):
                sample[name] = np.round(array.astype(kind), 3).tolist()
        samples.append(sample)
    return samples


def append_samples(path: str | Path, samples: Sequence[dict[str, Any]]) -> None:
    """Adds to a `samples.jsonl`: `make_samples` with their "epoch" and "set"."""
    lines = [json.dumps(sample, ensure_ascii=False) + "\n" for sample in samples]
    path = Path(path)
    earlier = path.read_bytes() if path.exists() else b""
    write_bytes(path, earlier + "".join(lines).encode())


def read_samples(path: str | Path) -> dict[tuple[str, ...], dict[int, dict[str, Any]]]:
    """Reads a `samples.jsonl`: `{(set, source, reference): {epoch: sample}}`.

    Empty without such a file. If an epoch was trained again, its last sample counts.

    Raises:
        CheckpointError: if a line is no sample.
    """
    samples: dict[tuple[str, ...], dict[int, dict[str, Any]]] = {}
    path = Path(path)
    lines = path.read_bytes().splitlines(keepends=True) if path.exists() else []
    for number, line in enumerate(lines, 1):
        if not line.endswith(b"\n"):
            continue  # of a run that was killed while writing it
        try:
            sample = json.loads(line)
            key = tuple(sample[name] for name in ("set", "source", "reference"))
            if not all(isinstance(text, str) for text in (*key, sample["translation"])):
                raise ValueError("a text is no str")
            translation_of(sample)
            samples.setdefault(key, {})[int(sample["epoch"])] = sample
        # JSON and NumPy raise ValueError, OverflowError, KeyError, …
        except Exception as error:
            raise CheckpointError(
                f"{path}, line {number} is no sample of a run: remove the file for a "
                "report without samples. "
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

"""Sample translations of a run: written after each epoch, read by the report."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from zoo.decoding import Translation, align_ids


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
        source_ids: ids of the sources.
        target_ids: ids of the translations.

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
    """Appends samples to a `samples.jsonl`, one a line.

    Args:
        path: the file.
        samples: dicts from `make_samples`, with the epoch (from 1) and the name of the
            validation set, "set", added.
    """
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
    if Path(path).exists():
        with Path(path).open("rb") as file:
            lines = file.readlines()
        for number, line in enumerate(lines, 1):
            if not line.endswith(b"\n"):
                continue  # the run was killed while writing it
            try:
                sample = json.loads(line)
                key = tuple(sample[name] for name in ("set", "source", "reference"))
                texts = [*key, sample["translation"], *sample.get("tokens", ())]
                texts += sample.get("source_tokens", ())
                if not all(isinstance(text, str) for text in texts):
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
    """Returns a sample as a `zoo.decoding.Translation` without a score.

    Returns:
        The translation; None if no attention was kept.

    Raises:
        KeyError, TypeError, ValueError: if the arrays don't fit the tokens.
    """
    if "alignment" not in sample:
        return None
    tokens: Any = {name: sample[name] for name in ("tokens", "source_tokens")}
    height, width = map(len, tokens.values())
    shapes = {"alignment": (height, width), "focus": (height,), "windows": (height, 2)}
    arrays: Any = {
        name: np.asarray(sample[name], "int32" if name == "windows" else "float64")
        for name in shapes
        if name in sample
    }
    for name, array in arrays.items():
        if array.shape != shapes[name] or not np.isfinite(array).all():
            raise ValueError(
                f"{name} must be finite and of shape {shapes[name]}. "
                f"Received: {array.shape}"
            )
    return Translation(sample["translation"], np.nan, **tokens, **arrays)

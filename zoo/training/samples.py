"""Sample translations of a run: written after each epoch, read by the report."""

import json
import os

import numpy as np

from zoo.decoding import Translation, align_ids


def make_samples(model, sources, references, translations, source_ids, target_ids):
    """Describes translations, and what the model attended to, as JSON can hold it.

    Args:
        model: a `zoo.models.Translator` that has a preprocessor.
        sources, references, translations: lists of str.
        source_ids, target_ids: lists of lists of ids, of sources and translations.

    Returns:
        For each translation a dict of source, reference and translation; where the
        model has attention also of tokens, source_tokens and alignment, and of focus
        and windows where it is local: the fields of a `zoo.decoding.Translation`.
    """
    pieces, samples = model.preprocessor.pieces, []
    found = align_ids(model, source_ids, target_ids)
    texts = zip(sources, references, translations, strict=True)
    ids = zip(source_ids, target_ids, strict=True)
    for (source, reference, translation), own, arrays in zip(
        texts, ids, found, strict=True
    ):
        sample = {"source": source, "reference": reference, "translation": translation}
        if arrays[0].any():
            sample["source_tokens"], sample["tokens"] = map(pieces, own)
            names = ("alignment", "focus", "windows")[: len(arrays)]
            sample |= zip(names, map(_rounded, arrays), strict=True)
        samples.append(sample)
    return samples


def _rounded(array):
    if np.issubdtype(array.dtype, np.integer):
        return array.tolist()
    return np.round(array.astype("float64"), 3).tolist()


def append_samples(path, samples):
    """Appends dicts to a `samples.jsonl`, one a line.

    Each has the epoch, from 1, and the name of the validation set, besides what
    `make_samples` gives.
    """
    lines = [json.dumps(sample, ensure_ascii=False) for sample in samples]
    with open(path, "a", encoding="utf-8") as file:
        file.write("".join(f"{line}\n" for line in lines))


def read_samples(path):
    """Reads a `samples.jsonl`.

    Returns:
        `{(set, source, reference): {epoch: sample}}`, empty without such a file. Of an
        epoch that was trained again the last sample counts.

    Raises:
        ValueError: if a line of it is no sample.
    """
    samples = {}
    if os.path.exists(path):
        with open(path, "rb") as file:
            lines = file.readlines()
        for number, line in enumerate(lines, 1):
            if not line.endswith(b"\n"):
                continue  # the run was killed while it wrote
            try:
                sample = json.loads(line)
                key = tuple(sample[name] for name in ("set", "source", "reference"))
                texts = [*key, sample["translation"], *sample.get("tokens", ())]
                texts += sample.get("source_tokens", ())
                if not all(isinstance(text, str) for text in texts):
                    raise ValueError("a text is no str")
                translation_of(sample)
                samples.setdefault(key, {})[int(sample["epoch"])] = sample
            # Of what JSON or NumPy makes of it: ValueError, OverflowError, KeyError, …
            except Exception as error:
                raise _no_sample(path, number, error) from error
    return samples


def _no_sample(path, number, error):
    return ValueError(
        f"{path}, line {number} is no sample of a run: remove the file for a report "
        f"without samples. Received: {type(error).__name__}: {error}"
    )


def translation_of(sample):
    """The `zoo.decoding.Translation` of a sample, without its score; None where no
    attention was kept.

    Raises:
        KeyError, TypeError, ValueError: if the arrays are none, or not of the tokens.
    """
    if "alignment" not in sample:
        return None
    tokens = {name: sample[name] for name in ("tokens", "source_tokens")}
    height, width = map(len, tokens.values())
    shapes = {"alignment": (height, width), "focus": (height,), "windows": (height, 2)}
    arrays = {
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

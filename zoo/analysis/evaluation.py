"""Scores of what models write, and the worst translations for cards."""

import itertools
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from zoo.checks import need_packages
from zoo.text.word_splitting import UNSPACED

# sacreBLEU's tokenisation for languages that put no spaces between words; of those
# without one that needs no dictionary, the BLEU is that of characters.
_TOKENIZERS = dict.fromkeys("zh zho chi cmn yue".split(), "zh") | dict.fromkeys(
    "ja jpn th tha lo lao km khm my mya bo bod".split(), "char"
)


def corpus_scores(
    hypotheses: Sequence[str], references: Sequence[Sequence[str]], language: str = ""
) -> dict[str, dict[str, Any]]:
    """Computes cased BLEU and chrF of a corpus.

    BLEU has the tokenisation 13a; for Chinese "zh", and "char" for other languages
    without spaces between words. The signature tells.

    Args:
        hypotheses: the translations.
        references: one or more references for each hypothesis.
        language: code of the language, as "de". Without one, BLEU is that of
            characters if most characters are of a script without spaces.

    Returns:
        `{"bleu": {"score", "signature"}, "chrf": {"score", "signature"}}`.

    Raises:
        ValueError: if the lengths differ or a sentence has no reference.
        ImportError: without sacrebleu (extra `train`).

    Example:
        >>> scores = corpus_scores(["ein Hund rennt ."], [["ein Hund rennt ."]])
        >>> round(scores["bleu"]["score"], 6)
        100.0
    """
    need_packages("Scoring", "train", "sacrebleu")
    from sacrebleu.metrics import BLEU, CHRF

    if len(hypotheses) != len(references) or not hypotheses:
        raise ValueError(
            "There must be as many hypotheses as reference lists, and at least one. "
            f"Received: {len(hypotheses)} and {len(references)}"
        )
    for row, alternatives in enumerate(references):
        if isinstance(alternatives, str) or not alternatives:
            raise ValueError(
                "`references` must hold a list of at least one str for each "
                f"hypothesis. Received: references[{row}]={alternatives!r}"
            )
    streams, scores = list(itertools.zip_longest(*references)), {}
    # By force: without a warning about text that looks tokenised.
    bleu = BLEU(tokenize=_tokenizer(language, references), force=True)
    for name, metric in {"bleu": bleu, "chrf": CHRF()}.items():
        score = metric.corpus_score(list(hypotheses), streams).score
        scores[name] = {"score": score, "signature": str(metric.get_signature())}
    return scores


def _tokenizer(language, references):
    """The name of sacreBLEU's tokenisation for a language; see `corpus_scores`."""
    code = re.split("[-_]", language.lower())[0]
    if code in ("", "und"):
        text = "".join(several[0] for several in references)
        return "char" if 2 * len(UNSPACED.findall(text)) > len(text) else "13a"
    return _TOKENIZERS.get(code, "13a")


EXACT_SIGNATURE = "percent of sentences equal to a reference, white space aside"


def exact_share(
    hypotheses: Sequence[str], references: Sequence[Sequence[str]]
) -> float:
    """Returns the share of translations that are equal to one of their references.

    Differences in white space do not count.

    Example:
        >>> exact_share(["a  b", "b"], [["a b "], ["c", "d"]])
        0.5
    """
    pairs = list(zip(hypotheses, references, strict=True))
    right = [text.split() in map(str.split, several) for text, several in pairs]
    return sum(right) / len(pairs)


def worst_translations(
    sources: Sequence[str],
    references: Sequence[Sequence[str]],
    texts: Sequence[str],
    count: int = 2,
) -> list[dict[str, str]]:
    """Returns the translations with the lowest sentence chrF, for a model's card.

    They are worst first, with the closest of their one or more references each.

    Example:
        >>> worst_translations(["a", "b"], [["x y"], ["u v"]], ["x y", "w"], count=1)
        [{'source': 'b', 'reference': 'u v', 'output': 'w'}]
    """
    from sacrebleu.metrics import CHRF

    metric, scored = CHRF(), []
    for source, several, text in zip(sources, references, texts, strict=True):
        scores = [(metric.sentence_score(text, [r]).score, r) for r in several]
        score, nearest = max(scores, key=lambda pair: pair[0])
        example = {"source": source, "reference": nearest, "output": text}
        scored.append((score, example))
    return [example for _, example in sorted(scored, key=lambda x: x[0])[:count]]


def tag_accuracy(
    predicted: Sequence[Sequence[tuple[str, str]]], tags: Sequence[Sequence[str]]
) -> tuple[float, int]:
    """Computes the share of words that were tagged correctly.

    Args:
        predicted: (word, tag) pairs, as `BiRNNTagger.tag` returns them.
        tags: the correct tags of each sentence.

    Returns:
        The accuracy and the number of words.

    Raises:
        ValueError: if a sentence has another number of tags, or there are no words.

    Example:
        >>> tag_accuracy([[("a", "DET"), ("dog", "VERB")]], [["DET", "NOUN"]])
        (0.5, 2)
    """
    right = [
        tag == correct
        for row, correct_row in zip(predicted, tags, strict=True)
        for (_, tag), correct in zip(row, correct_row, strict=True)
    ]
    if not right:
        raise ValueError("There must be a word to score. Received: none")
    return sum(right) / len(right), len(right)


def sst_accuracy(task: Any, split: str = "test") -> dict[str, float]:
    """Computes a classifier's accuracy on the Stanford Sentiment Treebank.

    A model of the treebank's five classes has two: "fine", of all of them, and
    "binary", of the sentences that are not neutral, where its two negative classes
    together stand against its two positive ones. A model of two classes has "binary".

    Args:
        task: a `zoo.models.SentimentClassifier` of the treebank's classes.
        split: see `zoo.data.load_sst`.

    Returns:
        dict of shares from 0 to 1.

    Raises:
        ValueError: for a model of other classes.
    """
    from zoo.data.corpora import BINARY, FINE, load_sst
    from zoo.decoding.word_methods import class_logits, softmax

    classes = tuple(task.backbone.classes)
    if classes not in (BINARY, FINE):
        raise ValueError(
            f"The model's classes must be {FINE} or {BINARY}. Received: {classes}"
        )
    five, found = classes == FINE, {}
    for labels in ("fine", "binary") if five else ("binary",):
        data = load_sst(split, labels)
        logits = class_logits(task, task.preprocessor.encode(data.texts), 64)
        if five and labels == "binary":
            shares = softmax(logits)
            logits = np.stack([shares[:, :2].sum(-1), shares[:, 3:].sum(-1)], -1)
        found[labels] = float((logits.argmax(-1) == np.array(data.labels)).mean())
    return found


def grounding(
    alignments: Sequence[Any], boxes: Sequence[Sequence[Any]]
) -> dict[str, float]:
    """Scores whether a captioner looks at what its words name.

    Args:
        alignments: for each caption attention over the image's grid, `(words, h, w)`.
        boxes: for each caption and word None, or left, top, right and bottom of the
            thing that the word names, as shares of the image's width and height.

    Returns:
        Shares of the words that name something, in percent: "peak", those whose place
        of most attention meets the thing's box; "centre", those the centre of whose
        attention lies in it; "mass", the mean attention of places that meet it;
        "chance", the mass if attention were even. "words" is their number.

    Raises:
        ValueError: for captions and boxes of different numbers, or if no word names
            anything.

    Example:
        >>> weights = np.array([[[0.75, 0.25]], [[0.5, 0.5]]])
        >>> scores = grounding([weights], [[(0.0, 0.2, 0.45, 0.8), None]])
        >>> scores["peak"], scores["centre"], scores["mass"], scores["chance"]
        (100.0, 100.0, 75.0, 50.0)
    """
    rows = []
    for weights, row in zip(alignments, boxes, strict=True):
        for alpha, box in zip(np.asarray(weights), row, strict=True):
            if box is not None:
                rows.append(_on_box(alpha, box))
    if not rows:
        raise ValueError("A word must name something. Received: none that does")
    means = 100 * np.mean(rows, axis=0)
    names = ("peak", "centre", "mass", "chance")
    scores = {name: float(mean) for name, mean in zip(names, means, strict=True)}
    return {**scores, "words": len(rows)}


def _on_box(alpha, box):
    """Peak and centre (0 or 1), mass and chance of one word's attention."""
    height, width = alpha.shape
    left, top, right, bottom = box
    x, y = (np.arange(width) + 0.5) / width, (np.arange(height) + 0.5) / height
    across = (x + 0.5 / width > left) & (x - 0.5 / width < right)
    down = (y + 0.5 / height > top) & (y - 0.5 / height < bottom)
    meets = down[:, None] & across
    total = max(float(alpha.sum()), 1e-12)
    centre = float((alpha @ x).sum()) / total, float((y @ alpha).sum()) / total
    inside = left <= centre[0] <= right and top <= centre[1] <= bottom
    peak = meets.reshape(-1)[alpha.argmax()]
    return float(peak), float(inside), float(alpha[meets].sum()) / total, meets.mean()

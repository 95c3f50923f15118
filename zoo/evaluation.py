"""Scores: of translations by sacreBLEU, of tags by their share that is right."""

import logging

_shown = set()


def _is_new(record):
    """Whether a message of the log is new: sacreBLEU warns of texts that look tokenised
    at every score."""
    new = record.getMessage() not in _shown
    _shown.add(record.getMessage())
    return new


def corpus_scores(hypotheses, references):
    """Cased BLEU (13a tokenisation) and chrF of a corpus.

    Args:
        hypotheses: list of str.
        references: for each hypothesis a list of one or more references, of any number.

    Returns:
        `{"bleu": {"score", "signature"}, "chrf": {"score", "signature"}}`.

    Raises:
        ValueError: if the lengths differ, or a sentence has no reference.
        ImportError: without sacrebleu (extra `train`).

    Example:
        >>> scores = corpus_scores(["ein Hund rennt ."], [["ein Hund rennt ."]])
        >>> round(scores["bleu"]["score"], 6)
        100.0
    """
    try:
        from sacrebleu.metrics import BLEU, CHRF
    except ImportError as error:
        raise ImportError(
            "Scores need sacrebleu; install it with: pip install 'attention-zoo[train]'"
        ) from error
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
    streams, scores = reference_streams(references), {}
    logger = logging.getLogger("sacrebleu")
    logger.addFilter(_is_new)
    try:
        for name, metric in (("bleu", BLEU()), ("chrf", CHRF())):
            score = metric.corpus_score(list(hypotheses), streams).score
            scores[name] = {"score": score, "signature": str(metric.get_signature())}
    finally:
        logger.removeFilter(_is_new)
    return scores


def reference_streams(references):
    """The references as sacreBLEU wants them: one list per reference, None where a
    sentence has no more.

    Args:
        references: for each sentence a list of one or more references.

    Example:
        >>> reference_streams([["a", "b"], ["c"]])
        [['a', 'c'], ['b', None]]
    """
    return [
        [several[k] if k < len(several) else None for several in references]
        for k in range(max(map(len, references)))
    ]


def worst_translations(sources, references, texts, count=2):
    """The translations that are least like their references, for a model's card.

    Args:
        sources: list of str.
        references: for each source a list of one or more references.
        texts: their translations.
        count: how many are wanted.

    Returns:
        List of dicts of "source", "reference" (the one that is nearest) and "output":
        those of lowest sentence chrF, the worst first, source order among equals.

    Example:
        >>> worst_translations(["a", "b"], [["x y"], ["u v"]], ["x y", "w"], count=1)
        [{'source': 'b', 'reference': 'u v', 'output': 'w'}]
    """
    from sacrebleu.metrics import CHRF

    metric, found = CHRF(), []
    for source, several, text in zip(sources, references, texts, strict=True):
        scored = [(metric.sentence_score(text, [r]).score, r) for r in several]
        score, nearest = max(scored, key=lambda pair: pair[0])
        found.append((score, {"source": source, "reference": nearest, "output": text}))
    found.sort(key=lambda pair: pair[0])
    return [example for _, example in found[:count]]


def worst_tags(found, tags, count=3):
    """The sentences with the most wrong tags, for a model's card.

    Args:
        found, tags: as in `tag_accuracy`.
        count: how many are wanted.

    Returns:
        List of dicts of "source", "reference" and "output": the words, and those that
        got a wrong tag, with the right one and with the wrong one.

    Example:
        >>> worst_tags([[("a", "DET"), ("dog", "VERB")]], [["DET", "NOUN"]])
        [{'source': 'a dog', 'reference': 'dog/NOUN', 'output': 'dog/VERB'}]
    """
    ranked = []
    for row, wanted_row in zip(found, tags, strict=True):
        pairs = zip(row, wanted_row, strict=True)
        wrong = [(word, tag, right) for (word, tag), right in pairs if tag != right]
        if wrong:
            ranked.append((row, wrong))
    ranked.sort(key=lambda entry: -len(entry[1]))
    return [
        {
            "source": " ".join(word for word, _ in row),
            "reference": " ".join(f"{word}/{right}" for word, _, right in wrong),
            "output": " ".join(f"{word}/{tag}" for word, tag, _ in wrong),
        }
        for row, wrong in ranked[:count]
    ]


def worst_continuations(model, texts, words=4, count=3):
    """The texts that a language model goes on with least well, for its card: those with
    the least share of words that differ and are known. Those that it ends at once show
    nothing and are left out.

    Args:
        model: a `zoo.models.RecurrentCausalLM`.
        texts: list of str.
        words: how many of each text the model is given.
        count: how many are wanted.

    Returns:
        List of dicts of "source", what was given, "reference", how the text goes on,
        and "output", how the model does; texts without more words are left out.
    """
    cut = [text.split() for text in texts]
    cut = [row for row in cut if len(row) > words]
    prompts = [" ".join(row[:words]) for row in cut]
    ranked = []
    for row, prompt, text in zip(cut, prompts, model.generate(prompts), strict=True):
        if not (found := text.split()[words:]):
            continue
        good = len(set(found) - {"<unk>"}) / len(found)
        example = {"source": prompt, "reference": " ".join(row[words:])}
        ranked.append((good, {**example, "output": " ".join(found)}))
    ranked.sort(key=lambda pair: pair[0])
    return [example for _, example in ranked[:count]]


def tag_accuracy(found, tags):
    """The share of the words that got their tag.

    Args:
        found: for each sentence a list of (word, tag), as `BiRNNTagger.tag` gives.
        tags: for each sentence a list of its tags.

    Returns:
        `(accuracy, words)`: a float, and how many words there are.

    Raises:
        ValueError: if a sentence has another number of tags, or if there is no word.

    Example:
        >>> tag_accuracy([[("a", "DET"), ("dog", "VERB")]], [["DET", "NOUN"]])
        (0.5, 2)
    """
    right = [
        tag == wanted
        for row, wanted_row in zip(found, tags, strict=True)
        for (_, tag), wanted in zip(row, wanted_row, strict=True)
    ]
    if not right:
        raise ValueError("There must be a word to score. Received: none")
    return sum(right) / len(right), len(right)

"""Scores: of translations by sacreBLEU, of tags by their share that is right."""


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
    # sacreBLEU wants one stream per reference; None where a sentence has no more.
    streams = [
        [refs[k] if k < len(refs) else None for refs in references]
        for k in range(max(map(len, references)))
    ]
    scores = {}
    for name, metric in (("bleu", BLEU()), ("chrf", CHRF())):
        score = metric.corpus_score(list(hypotheses), streams).score
        scores[name] = {"score": score, "signature": str(metric.get_signature())}
    return scores


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

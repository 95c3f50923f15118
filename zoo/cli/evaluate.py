"""The command `evaluate`."""

import argparse
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from zoo import presets
from zoo.checks import need_packages
from zoo.cli.answers import tagged_line
from zoo.cli.common import (
    BACKEND,
    SEARCH,
    BadInput,
    command,
    count,
    given,
    option,
    preset,
    progress,
)
from zoo.cli.presets import ENGINE, find_preset, load_task, load_translator
from zoo.cli.texts import check_files, open_output
from zoo.presets.card import card_of
from zoo.strings import counted

# Task -> the kind of one's own text; the corpus of its presets (translators' differ).
_TESTS = {
    "translate": ("pairs", None),
    "tag": ("tagged", "ud_english_ewt"),
    "generate": ("sentences", "ptb"),
    "classify": ("labelled", "sst"),
}


@command(
    "zoo evaluate luong_local --data tatoeba --split test",
    preset("; several, as NAME,NAME, are an ensemble"),
    option("--data CORPUS", "as multi30k"),
    option("--split SPLIT", "of the corpus (default test)", default="test"),
    option(
        "--test FILE",
        "instead of a corpus, your own text, as zoo train takes it: t.en t.de, or a "
        "table",
        nargs="+",
    ),
    option("--columns A,B", "a table's columns"),
    option("--source LANGUAGE", "of the text, if the preset reads several"),
    option("--limit LIMIT", "only the first LIMIT sentences", count),
    option("--output FILE", "write the answers here"),
    ENGINE,
    BACKEND,
    *SEARCH,
)
def evaluate(arguments: argparse.Namespace) -> None:
    """Scores a preset (several: an ensemble) on a corpus or your text.

    Translators get BLEU and chrF, taggers and classifiers accuracy, language models
    perplexity.
    """
    if bool(arguments.data) == bool(arguments.test):
        raise BadInput("give --data CORPUS, or --test FILE ...")
    check_files([], arguments.output)
    card = card_of(find_preset(arguments.preset.split(",")[0]))
    task = card.task if card else "translate"
    if task not in _TESTS:
        raise BadInput(presets.cannot(arguments.preset, "translate"))
    need_packages("Scoring", "train", *["sacrebleu"] * (task == "translate"))
    corpus = _TESTS[task][1] or arguments.data
    if arguments.data not in (None, corpus):
        raise BadInput(f"{arguments.preset} is scored on {corpus} or your own text")
    source, target = card.languages if card and task == "translate" else ("en", "de")
    source = arguments.source or source
    if arguments.data == "sst":
        from zoo.analysis.evaluation import sst_accuracy

        classifier = load_task(arguments.preset, arguments, "classify")
        for labels, share in sst_accuracy(classifier, arguments.split).items():
            print(f"accuracy {labels} {100 * share:.2f}")
        return
    found = _read(arguments, task, (source, target))
    texts, truth = (part[: arguments.limit] for part in found)
    answers = _answers(arguments, task, texts)
    print(*_scores(task, answers, truth, target), sep="\n")


def _read(arguments, task, languages):
    """Returns the texts of a corpus or file, and what a model should make of them."""
    from zoo import data
    from zoo.data import corpora
    from zoo.data.own import read_test
    from zoo.data.text_sets import columns_of

    found: Any
    if arguments.test:
        columns = arguments.columns and arguments.columns.split(",")
        files, report = tuple(map(Path, arguments.test)), list[str]()
        options = {"columns": columns, "languages": languages, "report": report}
        found = read_test(_TESTS[task][0], files, **options)
        progress("; ".join(report))
    elif task == "translate":
        found = data.load(arguments.data, *languages, arguments.split)
    else:
        load: Any = corpora.load_ud if task == "tag" else corpora.load_ptb
        found = load(arguments.split)
    if isinstance(found, list):
        return found, found
    texts, truth = columns_of(found)
    return texts, getattr(found, "references", truth)


def _answers(arguments, task, texts):
    """Returns a model's answers, and prints the speed; `--output` gets them too."""
    if task == "translate":
        work, options = load_translator(arguments).translate, given(arguments, SEARCH)
    elif task == "generate":
        # As in the paper: one text, with the state carried over.
        work = load_task(arguments.preset, arguments, task).perplexity
        options = {"batch_size": 1, "carry_over": True}
    else:
        work = getattr(load_task(arguments.preset, arguments, task), task)
        options = {"batch_size": arguments.batch_size}
    began = time.perf_counter()
    answers = work(texts, **options)
    seconds = time.perf_counter() - began
    progress(
        f"{len(texts) / seconds:.1f} sentences/s ({counted(len(texts), 'sentence')} in "
        f"{seconds:.1f} s, compilation included)"
    )
    if arguments.output and task != "generate":
        form = tagged_line if task == "tag" else str
        with open_output(arguments.output) as output:
            output.writelines(f"{form(answer)}\n" for answer in answers)
    return answers


def _scores(task: str, answers: Any, truth: Any, language: str) -> Iterator[str]:
    from zoo.analysis import evaluation

    if task == "translate":
        scores = evaluation.corpus_scores(answers, truth, language)
        for key, label in (("bleu", "BLEU"), ("chrf", "chrF")):
            yield f"{label} {scores[key]['score']:.2f} {scores[key]['signature']}"
        exact = 100 * evaluation.exact_share(answers, truth)
        yield f"exact {exact:.2f} {evaluation.EXACT_SIGNATURE}"
    elif task == "generate":
        words = sum(len(text.split()) + 1 for text in truth)
        yield (
            f"perplexity {answers:.2f} of {words} words and ends of sentences, "
            "state carried over"
        )
    elif task == "tag":
        accuracy, words = evaluation.tag_accuracy(answers, truth)
        yield f"accuracy {100 * accuracy:.2f} of {counted(words, 'word')}"
    else:
        right = sum(a == label for a, label in zip(answers, truth, strict=True))
        share = 100 * right / len(truth)
        yield f"accuracy {share:.2f} of {counted(len(truth), 'text')}"

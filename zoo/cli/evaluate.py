"""The command `zoo evaluate`."""

import argparse
import time
from collections.abc import Callable, Sequence
from typing import Any

from zoo.cli.common import (
    BadInput,
    add_presets,
    add_search,
    count,
    every_preset,
    option,
    progress,
    search_options,
)
from zoo.cli.export import add_engine, use_engine
from zoo.cli.presets import describe, load_task, load_translator
from zoo.cli.tag import tagged_line
from zoo.cli.texts import check_files, open_output, places_in_warnings
from zoo.strings import counted

HELP = "score a preset (several: an ensemble) on a corpus or your text"
EXAMPLE = "zoo evaluate luong_local --data tatoeba --split test"


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Adds the arguments of `zoo evaluate` to its parser."""
    add_presets(command, "[PRESET ...]", several=True)
    command.usage = (
        f"{command.prog} PRESET ... --data CORPUS --split SPLIT [option ...]\n"
        f"       {command.prog} PRESET ... --test FILE ... [option ...]"
    )
    option(command, "--data CORPUS", "as multi30k")
    option(command, "--split SPLIT", "as test_2016_flickr")
    text = "your own text, as zoo train takes it: t.en t.de, or a table"
    option(command, "--test FILE", text, nargs="+")
    option(command, "--columns A,B", "a table's columns")
    text = "accept a newer snapshot of a corpus; scores are then not comparable"
    option(command, "--allow-newer", text)
    option(command, "--source SOURCE", "language (default: the preset's)")
    option(command, "--target TARGET", "language (default: the preset's)")
    option(command, "--limit LIMIT", "only the first LIMIT sentences", count)
    option(command, "--output FILE", "write the answers here")
    add_engine(command)
    add_search(command)


def run(arguments: argparse.Namespace) -> None:
    """Runs `zoo evaluate`: prints a preset's scores and speed, one line each.

    Translators get BLEU and chrF, several of them as an ensemble; taggers and
    classifiers accuracy; language models perplexity.
    """
    names = every_preset(arguments)
    check_files([], arguments.output)
    corpus = [arguments.data, arguments.split]
    if arguments.test is None and None in corpus:
        raise BadInput("give --data CORPUS and --split SPLIT, or --test FILE ...")
    if arguments.test is not None and corpus != [None, None]:
        raise BadInput("--test is your own text and takes no --data or --split")
    arguments.columns = arguments.columns and arguments.columns.split(",")
    # Several presets have to be translators.
    task, languages = describe(names[0])
    kinds = {"tag": _tagger, "generate": _language_model, "classify": _classifier}
    if len(names) == 1 and task in kinds:
        kinds[task](names, arguments)
    else:
        _translators(names, arguments, languages)


# === Translators ===


def _translators(names, arguments, languages):
    from zoo.analysis.evaluation import EXACT_SIGNATURE, corpus_scores, exact_share

    pairs = _read_pairs(names[0], arguments, languages)
    sources = pairs.sources[: arguments.limit]
    references = pairs.references[: arguments.limit]
    corpus_scores(["."], [["."]])  # without sacrebleu, fail before the work
    names = use_engine(names, arguments, "translate")
    task = load_translator(names, arguments.backend)
    progress(f"translating {counted(len(sources), 'sentence')}")
    place = arguments.split or " ".join(arguments.test)
    with places_in_warnings(lambda i: f"sentence {i + 1} of {place}"):
        hypotheses, seconds = _timed(
            task.translate, sources, **search_options(arguments)
        )
    _write(hypotheses, arguments)
    scores = corpus_scores(hypotheses, references, pairs.target_language)
    for key, label in (("bleu", "BLEU"), ("chrf", "chrF")):
        print(f"{label} {scores[key]['score']:.2f} {scores[key]['signature']}")
    exact = 100 * exact_share(hypotheses, references)
    print(f"exact {exact:.2f} {EXACT_SIGNATURE}")
    _print_speed(len(sources), "sentence", seconds)


def _read_pairs(name, arguments, languages):
    from zoo import data
    from zoo.data import own

    given = [arguments.source, arguments.target]
    # What reads several languages, "mul", can be scored on any one.
    for chosen, language in zip(given, languages or ["mul"] * 2, strict=True):
        if chosen not in (None, language) and language != "mul":
            raise BadInput(
                f"{name} translates from {' to '.join(languages)}, received {chosen}"
            )
    pair = zip(given, languages or ["en", "de"], strict=True)
    source, target = (chosen or language for chosen, language in pair)
    if arguments.test:
        options = {"columns": arguments.columns, "languages": (source, target)}
        return _read_own(own.read_test, arguments, **options)
    progress(f"reading {arguments.data} {arguments.split}")
    options = {"split": arguments.split, "allow_newer": arguments.allow_newer}
    return data.load(arguments.data, source=source, target=target, **options)


# === Taggers, language models and classifiers ===


def _tagger(names, arguments):
    from zoo.analysis.evaluation import tag_accuracy
    from zoo.data import own
    from zoo.data.word_corpora import UD_ENGLISH, load_ud

    if arguments.test:
        column = arguments.columns and arguments.columns[0]
        data = _read_own(own.read_one, arguments, kind=own.tagged_kind(column))
    else:
        _check_corpus(arguments, "taggers", UD_ENGLISH.name)
        data = load_ud(arguments.split, allow_newer=arguments.allow_newer)
    sentences, tags = data.sentences[: arguments.limit], data.tags[: arguments.limit]
    task = _load(names, arguments, "tag")
    tagged, seconds = _timed(task.tag, sentences, batch_size=arguments.batch_size)
    _write(map(tagged_line, tagged), arguments)
    accuracy, words = tag_accuracy(tagged, tags)
    about = (
        "of {} words as the file"
        if arguments.test
        else "UPOS, {} words as the treebank"
    )
    print(f"accuracy {100 * accuracy:.2f} {about.format(words)} has them")
    _print_speed(words, "word", seconds)


def _language_model(names, arguments):
    from zoo.data import own
    from zoo.data.word_corpora import load_ptb

    if arguments.output:
        raise BadInput("a language model has no answers to write: omit --output")
    if arguments.test:
        kind = own.sentences_kind(arguments.columns)
        texts = _read_own(own.read_one, arguments, kind=kind)
    else:
        _check_corpus(arguments, "language models", "ptb")
        texts = load_ptb(arguments.split)
    texts = texts[: arguments.limit]
    task = _load(names, arguments, "generate")
    # As in the paper: one text, with the state carried over.
    options = {"batch_size": 1, "carry_over": True}
    perplexity, seconds = _timed(task.perplexity, texts, **options)
    words = sum(len(text.split()) + 1 for text in texts)
    print(
        f"perplexity {perplexity:.2f} of {words} words and ends of sentences, "
        "state carried over"
    )
    _print_speed(words, "word", seconds)


def _classifier(names, arguments):
    from zoo.analysis.evaluation import sst_accuracy
    from zoo.data import own

    if not arguments.test:
        _check_corpus(arguments, "classifiers", "sst")
        if arguments.output or arguments.limit:
            raise BadInput("--data sst scores all sentences and writes none")
        task = _load(names, arguments, "classify")
        for labels, share in sst_accuracy(task, arguments.split).items():
            print(f"accuracy {labels} {100 * share:.2f}")
        return
    data = _read_own(own.read_one, arguments, kind=own.labelled_kind(arguments.columns))
    texts = data.texts[: arguments.limit]
    labels = [data.names[label] for label in data.labels[: arguments.limit]]
    task = _load(names, arguments, "classify")
    answers, seconds = _timed(task.classify, texts, batch_size=arguments.batch_size)
    _write(answers, arguments)
    right = sum(a == label for a, label in zip(answers, labels, strict=True))
    print(f"accuracy {100 * right / len(texts):.2f} of {counted(len(texts), 'text')}")
    _print_speed(len(texts), "text", seconds)


def _check_corpus(arguments, models, corpus):
    if arguments.data != corpus:
        raise BadInput(
            f"{models} are scored on {corpus}, or on --test FILE, received "
            f"{arguments.data!r}"
        )


def _read_own(read, arguments, **options):
    """Reads one's own text and tells what is left out."""
    from zoo.data import own

    report: list[str] = []
    found = read(own.TextFiles.parse(arguments.test), report=report, **options)
    progress("; ".join(report))
    return found


def _load(names, arguments, task):
    [name] = use_engine(names, arguments, task)
    return load_task(name, arguments.backend, task)


def _timed(work: Callable, texts: Sequence[str], **options: Any) -> tuple[Any, float]:
    """Returns what a model makes of texts, and the seconds that it took."""
    began = time.perf_counter()
    return work(texts, **options), time.perf_counter() - began


def _print_speed(number, unit, seconds):
    print(
        f"speed {number / seconds:.1f} {unit}s/s ({counted(number, unit)} in "
        f"{seconds:.1f} s, compilation included)"
    )


def _write(lines, arguments):
    if arguments.output:
        with open_output(arguments.output) as output:
            output.writelines(f"{line}\n" for line in lines)

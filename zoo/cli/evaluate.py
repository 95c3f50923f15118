"""The command `zoo evaluate`."""

import argparse
import time

from zoo.cli.common import (
    BadInput,
    add_presets,
    add_search,
    bad_input,
    check_search,
    count,
    counted,
    every_preset,
    no_search,
    progress,
    search_options,
)
from zoo.cli.presets import find_preset, load_task, load_translator, read_direction
from zoo.cli.tag import tagged_line
from zoo.cli.texts import check_files, open_output, places_in_warnings
from zoo.presets.card import CARD_FILE, read_card

HELP = "score a preset on a corpus; several translators: their ensemble"


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Adds the arguments of `zoo evaluate` to its parser."""
    add_presets(command, "[PRESET ...] --data CORPUS --split SPLIT", several=True)
    command.add_argument("--data", required=True, help="corpus, as multi30k")
    command.add_argument("--split", required=True, help="as test_2016_flickr")
    text = "accept a newer snapshot of a corpus; scores are then not comparable"
    command.add_argument("--allow-newer", action="store_true", help=text)
    command.add_argument("--source", help="language (default: the preset's)")
    command.add_argument("--target", help="language (default: the preset's)")
    command.add_argument("--limit", type=count, help="only the first LIMIT sentences")
    command.add_argument("--output", metavar="FILE", help="write the answers here")
    add_search(command)


def run(arguments: argparse.Namespace) -> None:
    """Runs `zoo evaluate`: prints a preset's scores and speed, one line each.

    Translators get BLEU and chrF, several of them as an ensemble; taggers accuracy;
    language models perplexity.

    Raises:
        BadInput: if there is no such corpus, split or preset.
    """
    names = every_preset(arguments)
    check_search(arguments)
    check_files([], arguments.output)
    task_of = {"tag": _tagger, "generate": _language_model}
    # Several presets have to be translators.
    task = _task(names[0]) if len(names) == 1 else None
    if task and (evaluate := task_of.get(task)):
        no_search(arguments, names[0], task)
        return evaluate(names[0], arguments)
    _translators(names, arguments)
    return None


def _task(name):
    """Returns a preset's task from its card, or None without a card."""
    folder = find_preset(name)
    return read_card(folder).task if (folder / CARD_FILE).is_file() else None


# === Translators ===


def _translators(names, arguments):
    from zoo.evaluation import EXACT_SIGNATURE, corpus_scores, exact_share

    pairs = _read_corpus(names, arguments)
    sources = pairs.sources[: arguments.limit]
    references = pairs.references[: arguments.limit]
    corpus_scores(["."], [["."]])  # without sacrebleu, fail before the work
    task = load_translator(names, arguments.backend)
    progress(f"translating {counted(len(sources), 'sentence')}")
    began = time.perf_counter()
    with places_in_warnings(lambda i: f"sentence {i + 1} of {arguments.split}"):
        hypotheses = task.translate(sources, **search_options(arguments))
    seconds = time.perf_counter() - began
    _write(hypotheses, arguments)
    scores = corpus_scores(hypotheses, references)
    for key, label in (("bleu", "BLEU"), ("chrf", "chrF")):
        print(f"{label} {scores[key]['score']:.2f} {scores[key]['signature']}")
    exact = 100 * exact_share(hypotheses, references)
    print(f"exact {exact:.2f} {EXACT_SIGNATURE}")
    print(
        f"speed {len(sources) / seconds:.1f} sentences/s "
        f"({counted(len(sources), 'sentence')} in {seconds:.1f} s, compilation "
        "included)"
    )


def _read_corpus(names, arguments):
    from zoo import data

    source, target = _languages(names, arguments)
    progress(f"reading {arguments.data} {arguments.split}")
    wrong = (ValueError, FileNotFoundError, PermissionError)
    with bad_input(wrong, keep=data.DownloadError):
        return data.load(
            arguments.data,
            source=source,
            target=target,
            split=arguments.split,
            allow_newer=arguments.allow_newer,
        )


def _languages(names, arguments):
    """Returns the presets' languages, which the arguments have to match.

    A preset that reads several languages, "mul", can be scored on any one.
    """
    given = [arguments.source, arguments.target]
    languages = read_direction(names)
    if languages is None:
        return [given[0] or "en", given[1] or "de"]
    if any(
        g not in (None, language) and language != "mul"
        for g, language in zip(given, languages, strict=True)
    ):
        options = (("--source", given[0]), ("--target", given[1]))
        received = " ".join(f"{option} {value}" for option, value in options if value)
        raise BadInput(
            f"{names[0]} translates from {languages[0]} to {languages[1]}, "
            f"received {received}"
        )
    return [g or language for g, language in zip(given, languages, strict=True)]


# === Words ===


def _tagger(name, arguments):
    from zoo.data import DownloadError
    from zoo.data.tagged import UD_ENGLISH, load_ud

    if arguments.data != UD_ENGLISH.name:
        raise BadInput(
            f"taggers are scored on {UD_ENGLISH.name}, received {arguments.data!r}"
        )
    progress(f"reading {arguments.data} {arguments.split}")
    with bad_input((ValueError, OSError), keep=DownloadError):
        data = load_ud(arguments.split, allow_newer=arguments.allow_newer)
    sentences, tags = data.sentences[: arguments.limit], data.tags[: arguments.limit]
    task = load_task(name, arguments.backend, "tag")
    from zoo.evaluation import tag_accuracy

    began = time.perf_counter()
    tagged = task.tag(sentences, batch_size=arguments.batch_size)
    seconds = time.perf_counter() - began
    _write([tagged_line(row) for row in tagged], arguments)
    accuracy, words = tag_accuracy(tagged, tags)
    print(f"accuracy {100 * accuracy:.2f} UPOS, {words} words as the treebank has them")
    _print_speed(words, seconds)


def _language_model(name, arguments):
    from zoo.data import DownloadError
    from zoo.data.texts import load_ptb

    if arguments.data != "ptb":
        raise BadInput(
            f"language models are scored on ptb, received {arguments.data!r}"
        )
    if arguments.output:
        raise BadInput("a language model has no answers to write: omit --output")
    progress(f"reading {arguments.data} {arguments.split}")
    with bad_input((ValueError, OSError), keep=DownloadError):
        texts = load_ptb(arguments.split)[: arguments.limit]
    task = load_task(name, arguments.backend, "generate")
    began = time.perf_counter()
    # As in the paper: one text, with the state carried over.
    perplexity = task.perplexity(texts, batch_size=1, carry_over=True)
    seconds = time.perf_counter() - began
    words = sum(len(text.split()) + 1 for text in texts)
    print(
        f"perplexity {perplexity:.2f} of {words} words and ends of sentences, "
        "state carried over"
    )
    _print_speed(words, seconds)


def _print_speed(words, seconds):
    print(
        f"speed {words / seconds:.0f} words/s ({seconds:.1f} s, compilation included)"
    )


def _write(lines, arguments):
    if arguments.output:
        with open_output(arguments.output) as output:
            output.writelines(f"{line}\n" for line in lines)

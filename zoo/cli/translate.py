"""The command `zoo translate`."""

import argparse

from zoo.cli.common import (
    add_search,
    count,
    given_options,
    option,
    progress,
    search_options,
    split_presets,
)
from zoo.cli.export import add_engine, use_engine
from zoo.cli.presets import load_translator
from zoo.cli.prompt import in_terminal
from zoo.cli.texts import add_texts, check_texts, run_texts, skip_empty

HELP = "translate text with a preset, or with several as an ensemble"
EXAMPLE = 'zoo translate luong_local "A dog runs through the snow."'

_DEFAULT = "luong_local"  # preset of the interactive prompt
_OPTIONS = ("prefix", "banned", "terms", "replace_unknown", "no_repeat_ngram_size")


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Adds the arguments of `zoo translate` to its parser."""
    add_texts(command, several=True)
    command.description = (
        f"{HELP};\nin a terminal and without TEXT: a prompt that draws alignments, too "
        f"\n(of {_DEFAULT}, if no preset is given)"
    )
    text = "translations per line; more than 1 are printed as 'line number from 0 ||| "
    text += "text ||| score'"
    option(command, "--n-best N", text, count, default=1)
    text = "draw the attention weights under each translation"
    option(command, "--alignments", text)
    option(command, "--prefix TEXT", "beginning of each translation")
    text = "piece or word of the vocabulary to avoid; may be repeated"
    option(command, "--ban PIECE", text, dest="banned", action="append")
    text = "what must translate a word of the text; may be repeated"
    more = {"dest": "terms", "action": "append"}
    option(command, "--term WORD=TRANSLATION", text, _term, **more)
    text = "replace each <unk> by the source word with the highest attention"
    option(command, "--replace-unknown", text, default=None)
    text = "no N pieces in a row twice in a translation"
    option(command, "--no-repeat-ngram-size N", text, count)
    add_engine(command)
    add_search(command)


def run(arguments: argparse.Namespace) -> None:
    """Runs `zoo translate`."""
    terminal = in_terminal(arguments)
    if terminal and not arguments.words and not arguments.preset:
        progress(f"no preset given: using {_DEFAULT} (zoo list shows others)")
        arguments.preset = [_DEFAULT]
    names, texts = split_presets(arguments, several=True)
    check_texts(arguments, texts)
    names = use_engine(names, arguments, "translate")
    task = load_translator(names, arguments.backend)
    arguments.alignments |= terminal and not texts
    options = search_options(arguments) | given_options(arguments, _OPTIONS)
    if arguments.terms:
        options["terms"] = dict(arguments.terms)
    options["n_best"] = arguments.n_best
    options["return_details"] = arguments.alignments or arguments.n_best > 1
    first = 0

    def work(chunk):
        nonlocal first
        results = skip_empty(chunk, lambda lines: task.translate(lines, **options))
        for number, result in enumerate(results, start=first):
            yield from _formatted(result, number, arguments)
        first += len(chunk)

    if arguments.alignments:
        from zoo.decoding.alignment_text import SHADES_KEY

        progress(SHADES_KEY)
    run_texts(arguments, texts, work)


def _term(text):
    """Splits "WORD=TRANSLATION", of which neither may be blank."""
    word, _, translation = text.partition("=")
    if not word.strip() or not translation.strip():
        raise argparse.ArgumentTypeError(
            f'must be a word, "=" and its translation. Received: {text!r}'
        )
    return word, translation


def _formatted(result, number, arguments):
    """Yields the output lines for one line's result."""
    if arguments.n_best > 1:
        if result is None:
            yield f"{number} |||  ||| 0.0000"
        for record in result or []:
            yield f"{number} ||| {record.text} ||| {record.score:.4f}"
            yield from _alignment(record, arguments)
    elif arguments.alignments and result is not None:
        yield result.text
        yield from _alignment(result, arguments)
    else:
        yield result or ""


def _alignment(record, arguments):
    if arguments.alignments:
        from zoo.decoding import format_alignment

        yield f"\n{format_alignment(record).rstrip()}\n"

"""The command `zoo plot`: draws alignments of sentences, or training curves."""

import argparse
from pathlib import Path

from zoo import analysis
from zoo.analysis.figure import check_ending, short_names
from zoo.cli.common import (
    BadInput,
    add_presets,
    add_search,
    option,
    progress,
    search_options,
    split_presets,
)
from zoo.cli.export import add_engine, use_engine
from zoo.cli.presets import load_translator
from zoo.cli.texts import check_files, places_in_warnings

HELP = "draw alignments or training curves as a picture"
EXAMPLE = 'zoo plot luong_local "A dog runs." --output dog.svg'


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Adds the arguments of `zoo plot` to its parser."""
    add_presets(command, "TEXT ...", several=True)
    command.usage = (
        "zoo plot PRESET TEXT ... --output FILE [option ...]\n"
        "       zoo plot --preset PRESET [--preset ...] TEXT ... --output FILE\n"
        "       zoo plot --json RECORD [--json ...] --output FILE\n"
        "       zoo plot --log DIR [--log ...] --output FILE"
    )
    command.description = f"{HELP}:\nsentences below each other, presets side by side"
    text = "draw the training curves of the run in this folder, as runs/NAME; may be "
    option(command, "--log DIR", f"{text}repeated to compare runs", action="append")
    text = "draw the translation or the caption in this JSON file, as the explorer or a"
    text += " record's to_json writes it; may be repeated, for translations"
    option(command, "--json RECORD", text, action="append")
    option(command, "--output FILE", "picture: FILE.png or FILE.svg", required=True)
    text = "draw the model's pieces instead of words; single characters always"
    option(command, "--pieces", text)
    add_engine(command)
    add_search(command)


def run(arguments: argparse.Namespace) -> None:
    """Runs `zoo plot`."""
    preset = bool(arguments.preset or arguments.words)
    if preset + bool(arguments.log) + bool(arguments.json) != 1:
        raise BadInput(
            "give PRESET and TEXT, or --json, or --log (see zoo plot --help)"
        )
    check_ending(arguments.output)
    check_files(arguments.json or [], arguments.output)
    if arguments.log:
        figure = analysis.plot_training(arguments.log)
    elif arguments.json:
        figure = _records(arguments)
    else:
        figure = _alignments(arguments)
    analysis.save(figure, arguments.output)
    print(arguments.output)


def _records(arguments):
    """Draws what JSON files hold: translations or a caption."""
    from zoo.decoding import Caption, Translation  # here, since they import NumPy
    from zoo.decoding.records import read_object

    records = []
    for path in arguments.json:
        text = Path(path).read_text(encoding="utf-8")
        try:
            kind = Caption if "image" in read_object(text) else Translation
            records.append(kind.from_json(text))
        except ValueError as error:
            raise BadInput(f"{path}: {error}") from error
    if any(isinstance(record, Caption) for record in records):
        if len(records) > 1:
            raise BadInput(f"--json draws one caption, received {len(records)} files")
        return records[0].plot(words=not arguments.pieces, title=records[0].text)
    titles = [Path(path).stem for path in arguments.json]
    return analysis.plot_alignments(records, titles, _words(arguments))


def _words(arguments):
    return False if arguments.pieces else None


def _alignments(arguments):
    names, texts = split_presets(arguments, several=True)
    if not texts:
        raise BadInput("give both PRESET and TEXT (see zoo plot --help)")
    texts = [" ".join(text.splitlines()) for text in texts]
    results = {}
    for name in dict.fromkeys(names):
        engine = use_engine([name], arguments, "translate")
        task = load_translator(engine, arguments.backend)
        progress(f"translating with {name}")
        with places_in_warnings(lambda i: f"TEXT {i + 1}"):
            results[name] = task.translate(
                texts, return_details=True, **search_options(arguments)
            )
    return analysis.plot_alignments(
        [results[name][row] for row in range(len(texts)) for name in names],
        short_names(names) * len(texts),
        words=_words(arguments),
        columns=len(names),
    )

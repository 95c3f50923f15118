"""The commands `list`, `info`, `upload`, `plot` and `completion`."""

import argparse
from pathlib import Path

from zoo import analysis, presets
from zoo.analysis.figure import check_ending, printable
from zoo.cli.common import (
    BACKEND,
    SEARCH,
    BadInput,
    command,
    given,
    option,
    preset,
    progress,
    words,
)
from zoo.cli.presets import ENGINE, find_preset, load_task
from zoo.cli.texts import check_files
from zoo.presets import registry
from zoo.presets.card import (
    UNSTATED,
    format_bytes,
    format_task,
    read_card,
    short_paper,
    unstated,
)
from zoo.presets.pages import readme, write_card


@command("zoo list")
def list_(arguments: argparse.Namespace) -> None:
    """Lists the presets that can be loaded by name."""
    rows = [["name", "paper", "task", "size", "licence", "score"]]
    for card in presets.list_presets():
        scores = [f"{s['metric']} {s['value']:.1f}" for s in card.scores[:1]]
        row = card.name, short_paper(card), format_task(card), format_bytes(card.bytes)
        # A terminal would obey control characters in a card.
        rows.append([*map(printable, (*row, card.license, *(scores or [""])))])
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for cells in rows:
        print("  ".join(map(str.ljust, cells, widths)).rstrip())
    absent = registry.not_installed()
    for package in dict.fromkeys(absent.values()):
        names = ", ".join(name for name in absent if absent[name] == package)
        print(f"\nnot installed: {names} (pip install {package})")


@command(
    "zoo info luong_local",
    preset(),
    option("--license ID", "state the licence of your own model, as cc-by-4.0"),
    option("--terms TEXT", "state the terms of the text it was trained on"),
)
def info(arguments: argparse.Namespace) -> None:
    """Prints a preset's card, or states in it what was unknown."""
    folder = find_preset(arguments.preset)
    if arguments.license or arguments.terms:
        _state(folder, arguments.license, arguments.terms)
    card = read_card(folder)
    print(readme(card))
    if missing := _missing(card, arguments.preset):
        progress(missing)


def _missing(card, name):
    if missing := unstated(card.to_dict()):
        text = f"the card lacks {' and '.join(missing)}; state it by zoo info {name}"
        return f"{text} --license ID --terms TEXT"
    return None


def _state(folder, licence, terms):
    """Writes licence and terms into a card; what it states already stays."""
    card = read_card(folder).to_dict()
    del card["files"]
    unknown = [corpus for corpus in card["data"] if corpus["terms"] == UNSTATED]
    if (licence and card["license"] != UNSTATED) or (terms and not unknown):
        raise BadInput(f"the card of {folder} states its licence or terms already")
    card["license"] = licence or card["license"]
    for corpus in unknown if terms else ():
        corpus["terms"] = terms
    write_card(folder, card)


@command(
    "zoo upload runs/mine hf://user/name",
    preset(),
    words("handle", "HANDLE", "hf://user/name; a missing repository is made"),
    option("--private", "make it a private repository, if there is none yet"),
)
def upload(arguments: argparse.Namespace) -> None:
    """Puts a preset on Hugging Face, with its card and scores.

    It is one commit, with the token of HF_TOKEN or of `hf auth login`.
    """
    folder = presets.locate(arguments.preset)
    if missing := _missing(read_card(folder), arguments.preset):
        raise BadInput(missing)
    progress(f"uploading {folder} to {arguments.handle}")
    print(presets.upload(folder, arguments.handle, arguments.private))


@command(
    'zoo plot luong_local "A dog runs." --output dog.svg',
    preset("; several, as NAME,NAME, are side by side", nargs="?"),
    words("texts", "TEXT", "sentences, below each other", nargs="*"),
    option("--log DIR", "draw the training curves of runs, as runs/NAME", nargs="+"),
    option("--json RECORD", "draw a translation of the explorer or of to_json"),
    option("--output FILE", "picture: FILE.png or FILE.svg", required=True),
    ENGINE,
    BACKEND,
    *SEARCH,
)
def plot(arguments: argparse.Namespace) -> None:
    """Draws alignments or training curves as a picture."""
    texts, record, logs = arguments.texts, arguments.json, arguments.log
    several = sum(map(bool, (texts, record, logs))) != 1
    if several or bool(arguments.preset) != bool(texts):
        raise BadInput(
            "give PRESET and TEXT, or --json, or --log (see zoo plot --help)"
        )
    check_ending(arguments.output)
    check_files([record] if record else [], arguments.output)
    if logs:
        figure = analysis.plot_training(logs)
    else:
        figure = _record(Path(record)).plot() if record else _alignments(arguments)
    analysis.save(figure, arguments.output)
    print(arguments.output)


def _record(path):
    """Returns the translation in a JSON file."""
    from zoo.decoding import Translation  # here, since it imports NumPy

    try:
        return Translation.from_json(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise BadInput(f"{path}: {error}") from error


def _alignments(arguments):
    names = arguments.preset.split(",")
    texts = [" ".join(text.splitlines()) for text in arguments.texts]
    results = []
    for name in names:
        task = load_task(name, arguments, "translate")
        progress(f"translating with {name}")
        options = given(arguments, SEARCH)
        results.append(task.translate(texts, return_details=True, **options))
    return analysis.plot_alignments(
        [record for row in zip(*results, strict=True) for record in row],
        [Path(name).name for name in names] * len(texts),
        columns=len(names),
    )


@command(
    'eval "$(zoo completion bash)"',
    words("shell", "SHELL", "%(choices)s", choices=("bash", "zsh", "fish")),
)
def completion(arguments: argparse.Namespace) -> None:
    """Prints a shell's script for completion by TAB."""
    import argcomplete

    print(argcomplete.shellcode(["zoo"], shell=arguments.shell).strip())

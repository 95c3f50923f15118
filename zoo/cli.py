"""The command `zoo`: list, info, translate, train, report, plot, evaluate, export,
serve.

Results go to standard output, everything else to standard error. Exit codes: 0 done,
1 failure at work, 2 bad usage or bad input, 130 interrupted, 141 the reader of
standard output has gone. Nothing heavy is imported before a command needs it.
"""

import argparse
import contextlib
import json
import os
import sys
import warnings

import zoo

BACKENDS = ("tensorflow", "jax", "torch")
_PRESET = "name, folder or handle"


class BadInput(Exception):
    """What the user gave cannot be used: exit code 2."""


def main(argv=None):
    """Runs one command.

    Args:
        argv: list of str. The arguments; those of the process by default.

    Returns:
        int. The exit code.
    """

    def command():
        arguments = _parser().parse_args(_with_recipe(argv))
        return arguments.run(arguments)

    return exit_code(command)


def exit_code(command):
    """Runs a function as a command: errors become one line, and the exit code.

    Args:
        command: function of no arguments that returns an exit code, or None for 0.

    Returns:
        int. The exit code.
    """
    try:
        with warnings.catch_warnings():
            warnings.showwarning = lambda message, *_: progress(f"warning: {message}")
            code = command() or 0
        sys.stdout.flush()  # a reader that has gone shows here, not at exit
        return code
    except SystemExit as stop:  # --help and --version, and the parser of a recipe
        if isinstance(stop.code, str):
            return _error(stop.code, 1)
        return stop.code or 0
    except KeyboardInterrupt:
        return _error("interrupted", 130)
    except BrokenPipeError:
        # Python flushes standard output once more at exit: let that go nowhere.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except Exception as error:
        if os.environ.get("ZOO_DEBUG") == "1":
            raise
        return _error(_reason(error), 2 if isinstance(error, BadInput) else 1)


def _error(message, code):
    progress(f"error: {message}")
    return code


def _reason(error):
    missing = error.name if isinstance(error, ModuleNotFoundError) else None
    if missing in BACKENDS:
        return (
            f"the backend {missing} is not installed; choose another one with "
            f"--backend or KERAS_BACKEND, out of {', '.join(BACKENDS)}"
        )
    if isinstance(error, (BadInput, ValueError, OSError, ImportError)):
        return str(error)
    return f"{type(error).__name__}: {error}"


def progress(message):
    """Prints one line for the person who waits, on standard error."""
    print(f"zoo: {' '.join(str(message).split())}", file=sys.stderr, flush=True)


# === Arguments ===


def _with_recipe(argv):
    """Puts an empty name where `train` is given options and no recipe: argparse passes
    options on only behind a positional argument."""
    argv = sys.argv[1:] if argv is None else list(argv)
    if argv[:1] == ["train"] and argv[1:2] not in (["-h"], ["--help"]):
        if not argv[1:] or argv[1].startswith("-"):
            argv.insert(1, "")
    return argv


class Parser(argparse.ArgumentParser):
    """A parser whose errors are `BadInput`."""

    def error(self, message):
        raise BadInput(f"{message} (see {self.prog} --help)")


def count(text):
    """A type of argument: an integer of at least 1."""
    if not text.isascii() or not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"should be 1 or more, received {text!r}")
    return int(text)


def penalty(text):
    """A type of argument: a finite number of at least 0."""
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < float("inf"):  # NaN too
        raise argparse.ArgumentTypeError(
            f"should be a finite number from 0, received {text!r}"
        )
    return value


def _parser():
    from zoo import cli_plot, cli_serve

    parser = Parser(
        prog="zoo", description="Classic sequence-to-sequence models on Keras 3."
    )
    parser.add_argument("--version", action="version", version=zoo.__version__)
    commands = parser.add_subparsers(required=True, metavar="COMMAND", dest="command")

    def add(name, run, text):
        command = commands.add_parser(name, help=text, description=text)
        command.set_defaults(run=run)
        return command

    command = add("list", _list, "list the presets that can be loaded by name")
    command.add_argument("--json", action="store_true", help="print the cards as JSON")

    command = add("info", _info, "print a preset's card")
    command.add_argument("name", metavar="NAME", help=_PRESET)
    command.add_argument("--json", action="store_true", help="print it as JSON")

    _add_translate(add("translate", _translate, "translate text with a preset"))

    command = add("train", _train, "run a recipe, or go on with a run")
    command.usage = (
        "zoo train RECIPE [argument of the recipe ...]\n"
        "       zoo train --resume DIR [--epochs N] [--finish]\n"
        "       zoo train --list"
    )
    command.add_argument("recipe", metavar="RECIPE", help="name, or path of a .py file")
    command.add_argument(
        "options",
        metavar="...",
        nargs=argparse.REMAINDER,
        help="arguments of the recipe, as --scale small --set model.hidden_dim=512 "
        "(all of them: zoo train RECIPE --help); --resume DIR goes on with the run in "
        "DIR (of a recipe of your own: zoo train FILE.py --resume DIR), --list prints "
        "the names of the recipes",
    )

    command = add("report", _report, "write a run's curves, scores and samples")
    command.add_argument("folder", metavar="FOLDER", help="of a run, as runs/NAME")

    text = "draw alignments or training curves as a picture"
    cli_plot.add_arguments(add("plot", cli_plot.plot, text))

    command = add("evaluate", _evaluate, "score a preset on a corpus")
    command.add_argument(
        "names", metavar="NAME", nargs="+", help=f"{_PRESET}; several: their ensemble"
    )
    command.add_argument("--data", required=True, help="corpus, as multi30k")
    command.add_argument("--split", required=True, help="as test_2016_flickr")
    text = "a newer snapshot of a corpus will do: scores compare with no other then"
    command.add_argument("--allow-newer", action="store_true", help=text)
    command.add_argument("--source", help="language (default: the preset's)")
    command.add_argument("--target", help="language (default: the preset's)")
    command.add_argument("--limit", type=count, help="only the first LIMIT sentences")
    command.add_argument("--output", metavar="FILE", help="write the translations here")
    add_search(command)

    command = add("export", cli_serve.export, "write a SavedModel that takes text")
    cli_serve.add_export_arguments(command)

    command = add("serve", cli_serve.serve, "run a TensorFlow model server")
    cli_serve.add_serve_arguments(command)
    return parser


def add_search(command):
    """Adds the arguments of a search to a parser."""
    command.add_argument("--beam", type=count, default=5, help="beam size (default 5)")
    command.add_argument(
        "--length-penalty",
        type=penalty,
        metavar="ALPHA",
        help="of Wu et al. 2016; 0 for none (default 1)",
    )
    command.add_argument(
        "--length-normalization",
        choices=("gnmt", "plain"),
        help="what divides a score: ((5 + length) / 6)^ALPHA (gnmt, the default) or "
        "length^ALPHA (plain)",
    )
    command.add_argument(
        "--coverage-penalty",
        type=penalty,
        metavar="BETA",
        help="of Wu et al. 2016 (default 0, none)",
    )
    command.add_argument(
        "--max-length",
        type=count,
        metavar="N",
        help="longest translation in pieces (default: twice the source's, plus 10)",
    )
    command.add_argument(
        "--min-length", type=count, metavar="N", help="shortest translation in pieces"
    )
    command.add_argument(
        "--batch-size", type=count, default=64, help="sentences at once (default 64)"
    )
    command.add_argument("--backend", choices=BACKENDS, help="default: Keras's own")


def _add_translate(command):
    command.add_argument("text", metavar="TEXT", nargs="*", help="sentences")
    command.add_argument(
        "--preset",
        metavar="NAME",
        action="append",
        required=True,
        help=f"{_PRESET}; may be repeated: an ensemble of presets with one tokenizer",
    )
    command.add_argument(
        "--input",
        metavar="FILE",
        action="append",
        help="text to translate, one sentence a line; may be repeated "
        "(without TEXT and --input: standard input)",
    )
    command.add_argument(
        "--output", metavar="FILE", help="write here (default: standard output)"
    )
    command.add_argument(
        "--n-best",
        type=count,
        default=1,
        help="translations of each line; more than 1 are printed as "
        "'line number from 0 ||| text ||| score'",
    )
    command.add_argument(
        "--alignments",
        action="store_true",
        help="draw the attention weights under each translation",
    )
    command.add_argument(
        "--prefix", metavar="TEXT", help="what each translation begins with"
    )
    command.add_argument(
        "--ban",
        metavar="PIECE",
        dest="banned",
        action="append",
        help="piece or word of the vocabulary that is never written; may be repeated",
    )
    command.add_argument(
        "--replace-unknown",
        action="store_true",
        default=None,
        help="put the source word of the highest attention in the place of each <unk>",
    )
    add_search(command)


# === Commands ===


def _list(arguments):
    from zoo import presets
    from zoo.cards import (
        format_bytes,
        format_scores,
        format_speed,
        short_machine,
        short_paper,
    )

    cards = presets.list_presets()
    if arguments.json:
        return _print_json([card.to_dict() for card in cards])
    heads = ("name", "paper", "task", "parameters", "size", "scores", "training")
    rows = [(*heads, "CPU speed")]
    for card in cards:
        rows.append(
            (
                card.name,
                short_paper(card),
                f"{card.task} {'-'.join(card.languages)}",
                f"{card.sizes['parameters']:,}",
                format_bytes(card.bytes),
                format_scores(card),
                f"{card.training_time}, {short_machine(card)}",
                format_speed(card),
            )
        )
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        print("  ".join(cells).rstrip())


def _info(arguments):
    from zoo.cards import format_bytes, format_speed, read_card
    from zoo.cli_presets import find_preset

    card = read_card(find_preset(arguments.name))
    if arguments.json:
        return _print_json(card.to_dict())
    paper = card.paper
    lines = [
        ("name", card.name),
        ("title", card.title),
        ("paper", f"{paper['authors']}: {paper['title']}, {paper['year']}"),
        ("", paper["url"]),
        ("equations", card.equations),
        ("class", card.architecture),
        ("task", f"{card.task} {'-'.join(card.languages)}"),
        ("parameters", f"{card.sizes['parameters']:,}"),
        ("vocabulary", f"{card.sizes['vocabulary']:,}"),
        ("size", format_bytes(card.bytes)),
        ("licence", card.license),
        *(("data", f"{corpus['name']}: {corpus['terms']}") for corpus in card.data),
        ("trained by", card.recipe),
        ("", f"seed {card.seed}, commit {card.commit}, {card.date}"),
        ("", f"{card.machine}, {card.training_time}"),
        ("with", json.dumps(card.configuration, ensure_ascii=False)),
    ]
    for score in card.scores:
        where = f"{score['data']} {score['split']}"
        lines.append(("score", f"{score['metric']} {score['value']:.2f} on {where}"))
        lines.append(("", score["signature"]))
        lines.append(("", score["command"]))
    if card.speed:
        lines.append(("speed", f"{format_speed(card)}, {card.speed['machine']}"))
        lines.append(("", card.speed["command"]))
    lines.append(("about", card.description))
    lines.append(("use", card.intended_use))
    lines += [("weakness", line) for line in card.weaknesses]
    for example in card.examples:
        lines.append(("bad output", example["source"]))
        lines.append(("  should be", example["reference"]))
        lines.append(("  comes out", example["output"]))
    for label, value in lines:
        print(f"{label:<11} {value}")


def _print_json(value):
    print(json.dumps(value, indent=2, ensure_ascii=False))


def _translate(arguments):
    from zoo import cli_text

    cli_text.translate(arguments)


def _evaluate(arguments):
    from zoo import cli_text

    cli_text.evaluate(arguments)


def _train(arguments):
    from zoo import cli_train

    return cli_train.train(arguments)


def _report(arguments):
    from zoo.training import write_report

    if not os.path.isdir(arguments.folder):
        raise BadInput(f"no folder {arguments.folder}")
    print(write_report(arguments.folder))


# === Shared ===


@contextlib.contextmanager
def bad_input(take=ValueError, message=None, keep=()):
    """Takes errors of the types `take` as the user's, except those of `keep`.

    `message`, if there is one, is said before what the error says.
    """
    try:
        yield
    except keep:
        raise
    except take as error:
        reason = getattr(error, "strerror", None) or error
        raise BadInput(f"{message}: {reason}" if message else error) from error

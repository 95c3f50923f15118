"""The command `zoo completion`, and what a shell asks when TAB is pressed."""

import argparse
import os
from typing import Any

HELP = "print a shell's script for completion by TAB"
EXAMPLE = 'eval "$(zoo completion bash)"'

_SHELLS = ("bash", "zsh", "fish")
_SEVERAL = ("evaluate", "serve")  # commands whose words are all presets


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Adds the arguments of `zoo completion` to its parser."""
    command.description = (
        f"{HELP}:\n\n"
        '  bash   eval "$(zoo completion bash)" in ~/.bashrc\n'
        '  zsh    eval "$(zoo completion zsh)" in ~/.zshrc, after compinit\n'
        "  fish   zoo completion fish > ~/.config/fish/completions/zoo.fish"
    )
    command.add_argument("shell", metavar="SHELL", choices=_SHELLS, help="%(choices)s")


def run(arguments: argparse.Namespace) -> None:
    """Runs `zoo completion`."""
    import argcomplete

    print(argcomplete.shellcode(["zoo"], shell=arguments.shell).strip())


def complete(parser: argparse.ArgumentParser) -> None:
    """Answers a shell that asks for completions, and ends the process.

    Otherwise, nothing happens. Names of presets, recipes and corpora are completed
    where the metavar says so, choices where there are some, files elsewhere.
    """
    if "_ARGCOMPLETE" not in os.environ:
        return
    import argcomplete

    completer: Any = _names_or_files
    argcomplete.autocomplete(
        parser, always_complete_options=False, default_completer=completer
    )


def _names_or_files(prefix, action, parsed_args, **_):
    from argcomplete.completers import FilesCompleter

    names = _NAMES.get(action.metavar, lambda _: [])(parsed_args)
    return [x for x in names if x.startswith(prefix)] or FilesCompleter()(prefix)


def _presets(arguments):
    from zoo.presets import list_presets
    from zoo.presets.pages import KINDS

    command = arguments.command
    if getattr(arguments, "words", None) and command not in _SEVERAL:
        return []
    # The others take any preset.
    task = {"plot": "translate"}.get(command, command if command in KINDS else None)
    return [card.name for card in list_presets() if task in (None, card.task)]


def _recipes(_):
    from zoo.training.train_by_name import recipes

    return list(recipes())


def _corpora(_):
    from zoo.data import list_corpora
    from zoo.data.word_corpora import UD_ENGLISH

    return [*list_corpora(), UD_ENGLISH.name, "ptb"]


_NAMES = {"PRESET": _presets, "RECIPE": _recipes, "CORPUS": _corpora}

"""The command `zoo completion`, and what a shell asks when TAB is pressed."""

import argparse
import os
from typing import Any

HELP = "print a shell's script for completion by TAB"
EXAMPLE = 'eval "$(zoo completion bash)"'


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Adds the arguments of `zoo completion` to its parser."""
    command.description = (
        f"{HELP}:\n\n"
        '  bash   eval "$(zoo completion bash)" in ~/.bashrc\n'
        '  zsh    eval "$(zoo completion zsh)" in ~/.zshrc, after compinit\n'
        "  fish   zoo completion fish > ~/.config/fish/completions/zoo.fish"
    )
    shells = ("bash", "zsh", "fish")
    command.add_argument("shell", metavar="SHELL", choices=shells, help="%(choices)s")


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

    names = _names(action.metavar, parsed_args)
    return [x for x in names if x.startswith(prefix)] or FilesCompleter()(prefix)


def _names(metavar, arguments):
    from zoo import data, presets
    from zoo.training.train_by_name import recipes

    if metavar == "PRESET":
        # The words after the first are presets for few commands.
        only = arguments.command not in ("evaluate", "explore", "serve")
        taken = only and getattr(arguments, "words", None)
        return [] if taken else [card.name for card in presets.list_presets()]
    if metavar == "RECIPE":
        return list(recipes())
    corpora = [*data.list_corpora(), "ptb", "sst", "ud_english_ewt"]
    return corpora if metavar == "CORPUS" else []

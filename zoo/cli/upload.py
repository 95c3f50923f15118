"""The command `zoo upload`."""

import argparse

from zoo import presets
from zoo.cli.common import BadInput, option, progress
from zoo.presets.card import read_card, unstated

HELP = "put a preset on Hugging Face, with its card and scores"
EXAMPLE = "zoo upload runs/mine hf://user/name"


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Adds the arguments of `zoo upload` to its parser."""
    command.description = (
        f"{HELP}:\none commit, by huggingface_hub, with the token of HF_TOKEN or of "
        "hf auth login"
    )
    text = "name, or folder of a preset or of a run"
    command.add_argument("preset", metavar="PRESET", help=text)
    text = "hf://user/name; the repository is made if there is none"
    command.add_argument("handle", metavar="HANDLE", help=text)
    option(command, "--private", "make it a private repository, if there is none yet")


def run(arguments: argparse.Namespace) -> None:
    """Runs `zoo upload`: verifies and uploads a preset, and prints the address."""
    folder = presets.locate(arguments.preset)
    if missing := unstated(read_card(folder).to_dict()):
        raise BadInput(
            f"the card of {arguments.preset} lacks {' and '.join(missing)}; state it "
            f"by zoo info {arguments.preset} --license ID --terms TEXT"
        )
    progress(f"uploading {folder} to {arguments.handle}")
    print(presets.upload(folder, arguments.handle, arguments.private))

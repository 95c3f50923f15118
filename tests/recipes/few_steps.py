"""The short check of a recipe that `make test` runs."""

import csv

import pytest

import zoo
from tests.harness import load_recipe


def check_few_steps(name, folder, *options, loss="loss"):
    """Trains a recipe's tiny scale for a few dozen steps: the loss, that of the
    log's column, falls.

    Returns:
        The preset that it left, loaded.
    """
    argv = ["--scale", "tiny", "--epochs", "2", "--output", str(folder), *options]
    assert load_recipe(name).main(argv) == 0
    with open(folder / "log.csv") as file:
        losses = [float(row[loss]) for row in csv.DictReader(file)]
    assert len(losses) == 2 and losses[1] < losses[0]
    with pytest.warns(UserWarning, match="has no card.json"):
        return zoo.load(folder / "preset" / name)

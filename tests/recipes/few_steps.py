"""The short check of a recipe that `make test` runs."""

import csv

import pytest

import zoo
from tests.harness import load_recipe


def check_few_steps(name, folder, *options, loss="loss"):
    """Trains a recipe's tiny scale for a few dozen steps: the loss falls.

    Args:
        loss: its column of the log; None where it may rise, as that of hard attention
            may, which is no likelihood.

    Returns:
        The preset that it left, loaded.
    """
    argv = ["--scale", "tiny", "--epochs", "2", "--output", str(folder), *options]
    assert load_recipe(name).main(argv) == 0
    with open(folder / "log.csv") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 2
    assert loss is None or float(rows[1][loss]) < float(rows[0][loss])
    with pytest.warns(UserWarning, match="has no card.json"):
        return zoo.load(folder / "preset" / name)

"""A translator's run on two invented corpora, of a few seconds."""

import csv
import dataclasses
import os

import numpy as np

from tests.presets_for_tests import FACTS
from tests.training import tiny_run
from zoo.data import Pairs, reversal_pairs
from zoo.models import LuongTranslator
from zoo.training import Arguments, Run, Translation, translation_recipe

KNOWN = "title description equations intended_use weaknesses license paper task data"
CARD = {name: FACTS[name] for name in KNOWN.split()}
SCALE = dataclasses.replace(
    tiny_run.SCALE,
    corpora=(("multi30k", 2), ("tatoeba", 1)),
    pairs=0,
    batch={"batch_size": 16},
)
RECIPE = translation_recipe(
    "test_recipe", lambda: LuongTranslator, {"tiny": SCALE}, CARD
)


def load(name, source, target, split, allow_newer=False):
    """Stands for `zoo.data.load`: invented words, and the same in reverse."""
    assert (source, target) == ("en", "de")
    # Few sizes: a compiler takes its time for each.
    count = {"train": 60, "valid": 9, "test": 8, "test_2016_flickr": 8}[split]
    sources, targets = reversal_pairs(count, seed=len(name + split), longest=2)
    references = [[target] for target in targets]
    if name == "tatoeba" and split != "train":
        references[0].append("ba de")
    if split == "train":
        sources, targets = [*sources, "ba " * 30], [*targets, "ba"]  # too long
        references = None
    return Pairs(name, split, source, target, sources, targets, references)


def make(folder, scale=SCALE, seed=1, **options):
    os.makedirs(folder, exist_ok=True)
    run = Run(RECIPE, scale, Arguments(folder, seed=seed, **options))
    return Translation(run, LuongTranslator)


def read_log(folder):
    with open(folder / "log.csv") as file:
        rows = list(csv.DictReader(file))
    for row in rows:  # what no seed can repeat
        del row["tokens_per_second"], row["seconds"]
    return rows


def read_arrays(folder):
    with np.load(folder / "checkpoint.npz") as file:
        return {name: file[name] for name in file.files if name != "state"}


class Killed(BaseException):
    pass

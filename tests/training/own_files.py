"""Small files of a user's own text, for the tests of runs on it."""

from zoo.data import reversal_pairs
from zoo.training.recipe import load_recipe, recipes

# A model of a few hundred weights, and few shapes to compile.
SMALL = {
    "model.hidden_dim": 8,
    "model.embedding_dim": 8,
    "model.num_layers": 1,
    "vocabulary_size": 40,
    "buckets": 1,
    "epochs": 2,
    "batch.batch_size": 32,
    "samples": 1,
}


def recipe(name):
    return load_recipe(recipes()[name]).RECIPE


def pairs(count, seed=1):
    sources, targets = reversal_pairs(count, seed, longest=4)
    return list(zip(sources, targets, strict=True))


def write_pairs(folder, name, count, seed=1):
    """Writes `name.en` and `name.de`, and returns their paths as str."""
    paths = [folder / f"{name}.{language}" for language in ("en", "de")]
    for path, side in zip(paths, zip(*pairs(count, seed), strict=True), strict=True):
        path.write_text("".join(f"{text}\n" for text in side), encoding="utf-8")
    return list(map(str, paths))


def options():
    """`SMALL` as words of a command line."""
    return [f"--set={key}={value}" for key, value in SMALL.items()]

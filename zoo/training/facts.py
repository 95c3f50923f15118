"""What a run tells its preset's card."""

import datetime
import shlex

import keras

from zoo.data import list_corpora
from zoo.training.configuration import machine, plain

NAMES = {"en": "English", "de": "German", "fr": "French"}
# Of translations into a language, whatever the model.
WEAKNESSES = {
    "de": ["It can't know which form of address is meant, the formal or the familiar."]
}
TESTS = {"multi30k": "test_2016_flickr", "tatoeba": "test"}


def card_facts(run, results):
    """What the card says of a finished run.

    Args:
        run: a `zoo.training.Trainer` that has trained.
        results: dict of test set to its scores and its `worst_translations`.

    Returns:
        dict for `zoo.presets.pages.write_card`.
    """
    name, scores = run.recipe.name, []
    for corpus, found in results.items():
        command = f"zoo evaluate {name} --data {corpus} --split {TESTS[corpus]}"
        for metric, title in (("bleu", "BLEU"), ("chrf", "chrF")):
            scores.append(
                {
                    "data": corpus,
                    "split": TESTS[corpus],
                    "metric": title,
                    "value": round(found[metric]["score"], 4),
                    "signature": found[metric]["signature"],
                    "command": command,
                }
            )
    return {
        **run.recipe.card,
        **origin(run),
        "configuration": plain(run.scale),
        "architecture": run.recipe.translator().__name__,
        "data": [
            {"name": corpus, "terms": list_corpora()[corpus].terms}
            for corpus, _ in run.scale.corpora
        ],
        "title": f"{run.recipe.card['title']}, {_in_words(run.scale)}",
        "weaknesses": [
            *run.recipe.card["weaknesses"],
            *WEAKNESSES.get(run.scale.target, ()),
        ],
        "languages": [run.scale.source, run.scale.target],
        "sizes": {
            "parameters": run.backbone.count_params(),
            "vocabulary": run.preprocessor.tokenizer.vocabulary_size(),
        },
        "scores": scores,
        "examples": [bad for found in results.values() for bad in found["worst"]],
    }


def _in_words(scale):
    source, target = (NAMES.get(code, code) for code in (scale.source, scale.target))
    return f"{source} to {target}"


def origin(run):
    """The facts of where a preset comes from: its name, command, seed, machine, …

    Args:
        run: a `zoo.training.Trainer` or `zoo.training.Run` that has trained.
    """
    saved = run.loop.checkpoint
    minutes = saved.seconds / 60
    return {
        "name": run.recipe.name,
        "recipe": training_command(run),
        "seed": run.seed,
        "commit": ", ".join(dict.fromkeys(commit for *_, commit in saved.plans)),
        "date": datetime.date.today().isoformat(),
        "machine": f"{machine()}, Keras {keras.__version__}",
        "training_time": f"{minutes:.0f} minutes, {_epochs(run)}",
    }


def _epochs(run):
    """How many epochs were trained, and whose weights were taken, in words."""
    saved, planned = run.loop.checkpoint, run.loop.epochs
    done, best = saved.epochs, saved.best_epoch + 1
    text = f"{done} of {planned} epochs" if done < planned else f"{done} epochs"
    if averaged := getattr(run, "epoch_weights", None):
        count = len(averaged.paths())
        return f"{text}, the mean of the {averaged.which} {count} epochs' weights"
    return text if best == done else f"{text}, weights of epoch {best}"


def training_command(run):
    """The command, or the commands one after another, that trained the weights."""
    plans = run.loop.checkpoint.plans
    default = run.recipe.scales[run.scale_name].epochs
    commands = []
    for number, (_, epochs, backend, _) in enumerate(plans):
        command = (
            f"KERAS_BACKEND={backend} python recipes/{run.recipe.name}.py "
            f"--scale {run.scale_name} --seed {run.seed}"
        )
        if epochs != default or len(plans) > 1:
            command += f" --epochs {epochs}"
        if getattr(run, "limit", None):
            command += f" --limit {run.limit}"
        if run.precision != "float32":
            command += f" --precision {run.precision}"
        for text in run.changes:
            if not text.startswith("epochs="):
                command += f" --set {shlex.quote(text)}"
        if number + 1 < len(plans):
            command += f" (epochs done: {plans[number + 1][0]})"
        commands.append(command)
    return ", then ".join(commands)

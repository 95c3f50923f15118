"""A run of a second or two, in processes that may be killed.

As a program it imports a backend once and forks a process for each line `FOLDER PLACE
COUNT STEPS` that it reads: that trains in FOLDER, with checkpoints every STEPS steps.
Having come to PLACE for the COUNT-th time, it says so and waits to be stopped.
"""

import os
import resource
import signal
import sys
import time
import traceback

import numpy as np

from zoo.analysis.evaluation import corpus_scores
from zoo.data import reversal_pairs
from zoo.models import LuongTranslator
from zoo.training import (
    Arguments,
    Optimizer,
    Run,
    Scale,
    Translation,
    translation_recipe,
)
from zoo.training.fit import checkpoint, interrupts, loop, validation
from zoo.training.recipes import translation_run

SCALE = Scale(
    model={
        "num_layers": 1,
        "hidden_dim": 12,
        "embedding_dim": 8,
        "window": 2,
        "dropout": 0.2,
    },
    pairs=100,
    optimizer=Optimizer("adam", 5e-3, "linear", warmup=4, clip=1.0),
    loss={"smoothing": 0.1},
    epochs=3,
    vocabulary_size=30,
    batch={"batch_size": 12},
    max_length=12,
    buckets=1,  # nine batches, the last one not full: a shape more takes seconds
)
RECIPE = translation_recipe("tiny_run", lambda: LuongTranslator, {"tiny": SCALE})


def few_pairs(count, seed):
    """Stands for `reversal_pairs`: little to train on and to decode."""
    return reversal_pairs(min(count, 100) if count < 200 else 8, seed, longest=2)


def make(folder, scale=SCALE, seed=1, steps=None):
    """`steps`: between two checkpoints within an epoch; None for no such."""
    loop.EpochGuard._due = lambda self, step: bool(steps) and step % steps == 0
    os.makedirs(folder, exist_ok=True)
    return Translation(
        Run(RECIPE, scale, Arguments(folder, seed=seed)), LuongTranslator
    )


# === Places to be stopped at ===


def _stopping(call, say, count, before):
    """The function, which at its `count`-th call does something else before."""
    calls = iter(range(1, sys.maxsize))

    def stopping(*arguments, **options):
        if next(calls) == count:
            before(say, *arguments, **options)
        return call(*arguments, **options)

    return stopping


def _wait(say, *arguments, **options):
    say("here")
    for _ in range(6000):
        if interrupts.received():
            return
        time.sleep(0.02)


def _write_half(say, aside, **arrays):
    content = b"".join(array.tobytes() for array in arrays.values())
    aside.write(content[: len(content) // 2])
    aside.flush()
    _wait(say)


def _fill_the_disk(say, *arguments, **options):
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, resource.RLIM_INFINITY))


PLACES = {
    "half a checkpoint": (np, "savez", _write_half),
    "before a rename": (os, "replace", _wait),
    "evaluating": (validation.Validation, "translate", _wait),
    "validated": (checkpoint.Checkpoint, "on_epoch_end", _wait),
    "a step": (loop.Progress, "on_train_batch_end", _wait),
    "a full disk": (np, "savez", _fill_the_disk),
}


# === The program ===


def _train(folder, place, count, steps, say):
    """Returns the exit code."""
    translation_run.reversal_pairs = few_pairs
    if place in PLACES:
        home, name, before = PLACES[place]
        call = _stopping(getattr(home, name), say, count, before)
        setattr(home, name, call)
    try:
        with interrupts.catching():
            make(folder, steps=steps).train()
    except interrupts.Interrupted as stop:
        return stop.exit_code
    except OSError as error:
        say(f"error {error}")
        return 2
    return 0


def main():
    # A background job of a shell ignores it, and so would its children.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    corpus_scores(["."], [["."]])  # its imports take their time
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)

    def say(text):
        answers.write(f"{text}\n")
        answers.flush()

    say("ready")
    for line in sys.stdin:
        folder, place, count, steps = line.rstrip("\n").split("\t")
        child = os.fork()
        if not child:
            code = 1
            try:
                code = _train(folder, place, int(count), int(steps) or None, say)
            except BaseException:
                traceback.print_exc()
            finally:
                sys.stderr.flush()
                os._exit(code)
        say(f"started {child}")
        _, status = os.waitpid(child, 0)
        if os.WIFSIGNALED(status):
            say(f"killed {signal.Signals(os.WTERMSIG(status)).name}")
        else:
            say(f"ended {os.WEXITSTATUS(status)}")


if __name__ == "__main__":
    main()

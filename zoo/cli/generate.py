"""The command `zoo generate`."""

import argparse

from zoo.checks import above_zero
from zoo.cli.common import BadInput, add_model_options, count, number, option
from zoo.cli.texts import add_texts, load_for_texts, places_in_warnings, run_texts

HELP = "continue texts with a language model"
EXAMPLE = 'zoo generate lstm "the company said" --top-p 0.9 --seed 1'


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Adds the arguments of `zoo generate` to its parser."""
    add_texts(command)
    text = "longest text in words, the given one included (default: the preset's)"
    option(command, "--max-length N", text, count)
    text = "sample each word from the K most probable (default: the most probable word)"
    option(command, "--top-k K", text, count)
    text = "sample from the smallest set of words whose probabilities sum to P"
    option(command, "--top-p P", text, number)
    text = "divisor of the scores before sampling (default 1)"
    option(command, "--temperature T", text, number)
    option(command, "--seed N", "seed of the sampling (default 0)", int, default=0)
    add_model_options(command)


def run(arguments: argparse.Namespace) -> None:
    """Runs `zoo generate`: prints each line of the input with its continuation.

    An empty line is continued too: the model starts a text.
    """
    if arguments.top_k and arguments.top_p:
        raise BadInput("give --top-k or --top-p, not both")
    if arguments.temperature is not None:
        above_zero("temperature", arguments.temperature)
    if (arguments.top_p or 0) > 1:
        raise BadInput(f"--top-p should be at most 1, received {arguments.top_p}")
    task, texts = load_for_texts(arguments, "generate")
    options = {"max_length": arguments.max_length} if arguments.max_length else {}
    if hasattr(task, "compile"):
        task.compile(sampler=_sampler(arguments, task.backbone.vocabulary_size))
    else:
        options |= _sampling(arguments)
    size = arguments.batch_size

    def work(chunk):
        for start in range(0, len(chunk), size):
            lines, places = zip(*chunk[start : start + size], strict=True)
            with places_in_warnings(places.__getitem__):
                continued = task.generate([*lines], **options)
            yield from (" ".join(text.splitlines()) for text in continued)

    run_texts(arguments, texts, work)


def _sampling(arguments):
    """The arguments of an export, which runs without Keras's samplers."""
    import numpy as np

    names = ("top_k", "top_p", "temperature")
    options = {name: getattr(arguments, name) for name in names}
    # One generator, so that the draws go on from a batch to the next.
    return {**options, "seed": np.random.default_rng(arguments.seed)}


def _sampler(arguments, vocabulary_size):
    from keras_hub import samplers

    options = {"seed": arguments.seed, "temperature": arguments.temperature or 1.0}
    if arguments.top_k:
        return samplers.TopKSampler(min(arguments.top_k, vocabulary_size), **options)
    if arguments.top_p:
        return samplers.TopPSampler(arguments.top_p, **options)
    if arguments.temperature:
        return samplers.RandomSampler(**options)
    return "greedy"

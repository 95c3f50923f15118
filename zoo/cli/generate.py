"""The command `zoo generate`."""

import argparse

from zoo.cli.common import (
    BadInput,
    add_model_options,
    add_presets,
    bad_input,
    count,
    number,
    split_presets,
)
from zoo.cli.presets import is_export
from zoo.cli.texts import add_texts, load_for_texts, places_in_warnings, run_texts

HELP = "continue texts with a language model"
EXAMPLE = 'zoo generate lstm "the company said" --top-p 0.9 --seed 1'


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Adds the arguments of `zoo generate` to its parser."""
    add_presets(command, "[TEXT ...]")
    add_texts(command)
    text = "longest text in words, the given one included (default: the preset's)"
    command.add_argument("--max-length", type=count, metavar="N", help=text)
    text = "sample each word from the K most probable (default: the most probable word)"
    command.add_argument("--top-k", type=count, metavar="K", help=text)
    text = "sample from the smallest set of words whose probabilities sum to P"
    command.add_argument(
        "--top-p", type=number(0, 1, above=True), metavar="P", help=text
    )
    text = "divisor of the scores before sampling (default 1)"
    command.add_argument(
        "--temperature", type=number(0, above=True), metavar="T", help=text
    )
    text = "seed of the sampling (default 0)"
    command.add_argument("--seed", type=int, default=0, help=text)
    add_model_options(command)


def run(arguments: argparse.Namespace) -> None:
    """Runs `zoo generate`: prints each line of the input with its continuation.

    An empty line is continued too: the model starts a text.

    Raises:
        BadInput: if the preset does not exist or is no language model, or a file cannot
            be used.
    """
    if arguments.top_k and arguments.top_p:
        raise BadInput("give --top-k or --top-p, not both")
    (name,), _ = split_presets(arguments)
    task, texts = load_for_texts(arguments, "generate")
    options = {"max_length": arguments.max_length} if arguments.max_length else {}
    if is_export(name):
        options |= _sampling(arguments)
    else:
        task.compile(sampler=_sampler(arguments, task.backbone.vocabulary_size))
    size = arguments.batch_size

    def work(chunk):
        for start in range(0, len(chunk), size):
            part = chunk[start : start + size]
            with (
                places_in_warnings(lambda i: part[i][1]),  # noqa: B023 (used at once)
                bad_input(),
            ):
                continued = task.generate([line for line, _ in part], **options)
            yield from (" ".join(text.splitlines()) for text in continued)

    run_texts(arguments, texts, work)


def _sampling(arguments):
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

"""The commands `translate`, `tag`, `classify`, `generate` and `caption`."""

import argparse
from collections.abc import Iterable

from zoo.cli.common import (
    BACKEND,
    BATCH,
    BEAM,
    SEARCH,
    BadInput,
    command,
    count,
    given,
    option,
    preset,
    progress,
    words,
)
from zoo.cli.presets import ENGINE, load_task, load_translator
from zoo.cli.texts import (
    OUTPUT,
    TEXTS,
    check_files,
    check_texts,
    in_terminal,
    open_output,
    run_texts,
)

_N_BEST = option(
    "--n-best N",
    "results each; more than 1 are printed as 'line number from 0 ||| text ||| score'",
    count,
    default=1,
)


@command(
    'zoo translate luong_local "A dog runs through the snow."',
    preset("; several, as NAME,NAME, are an ensemble"),
    *TEXTS,
    ENGINE,
    _N_BEST,
    option("--alignments", "draw the attention weights under each translation"),
    *SEARCH,
)
def translate(arguments: argparse.Namespace) -> None:
    """Translates text with a preset, or with several as an ensemble."""
    check_texts(arguments)
    model = load_translator(arguments)
    drawn = arguments.alignments or in_terminal(arguments)
    options = given(arguments, SEARCH)
    n_best = options["n_best"] = arguments.n_best
    if drawn:
        from zoo.decoding import format_alignment
        from zoo.decoding.records import SHADES_KEY

        progress(SHADES_KEY)

    def work(lines):
        found = model.translate(lines, return_details=drawn or n_best > 1, **options)
        return found if n_best > 1 else [[result] for result in found]

    def form(line, results):
        if results is None:
            return f"{line} |||  ||| 0.0000" if n_best > 1 else ""
        return "\n".join(
            _row(line, result, n_best)
            + (f"\n\n{format_alignment(result).rstrip()}\n" if drawn else "")
            for result in results
        )

    run_texts(arguments, work, form)


def _row(number, result, n_best):
    if n_best > 1:
        return f"{number} ||| {result.text} ||| {result.score:.4f}"
    return getattr(result, "text", result)


@command(
    'zoo tag birnn "A dog runs through the snow."', preset(), *TEXTS, ENGINE, BATCH
)
def tag(arguments: argparse.Namespace) -> None:
    """Tags each word of a text with its part of speech."""
    _answer(arguments, "tag", tagged_line)


def tagged_line(row: Iterable[tuple[str, str]]) -> str:
    """Formats a tagged sentence: `word/TAG word/TAG`."""
    return " ".join(f"{word}/{tag}" for word, tag in row)


@command("zoo classify runs/mine --input reviews.txt", preset(), *TEXTS, ENGINE, BATCH)
def classify(arguments: argparse.Namespace) -> None:
    """Classifies texts with a preset."""
    _answer(arguments, "classify", str)


def _answer(arguments, task, form):
    """Answers by the task's method."""
    check_texts(arguments)
    work = getattr(load_task(arguments.preset, arguments, task), task)
    run_texts(
        arguments,
        lambda lines: work(lines, batch_size=arguments.batch_size),
        lambda _, result: "" if result is None else form(result),
    )


_SAMPLING = (
    option("--top-k K", "sample each word from the K most probable", count),
    option("--top-p P", "sample from the most probable words, of sum P", float),
    option("--temperature T", "divisor of the scores before sampling", float),
)


@command(
    'zoo generate lstm "the company said" --top-p 0.9 --seed 1',
    preset(),
    *TEXTS,
    option("--max-length N", "longest text in words, the given one included", count),
    *_SAMPLING,
    option("--seed N", "seed of the sampling (default 0)", int, default=0),
    BATCH,
)
def generate(arguments: argparse.Namespace) -> None:
    """Continues texts with a language model; without sampling, by the likeliest word.

    An empty line is continued too: the model starts a text.
    """
    check_texts(arguments)
    task = load_task(arguments.preset, arguments, "generate")
    task.compile(sampler=_sampler(arguments, task.backbone.vocabulary_size))
    size, options = arguments.batch_size, {"max_length": arguments.max_length}

    def work(lines):
        starts = range(0, len(lines), size)
        batches = (task.generate(lines[i : i + size], **options) for i in starts)
        return [" ".join(text.splitlines()) for batch in batches for text in batch]

    run_texts(arguments, work, skip=False)


def _sampler(arguments, vocabulary_size):
    from keras_hub import samplers

    options = {"seed": arguments.seed, "temperature": arguments.temperature or 1.0}
    k = arguments.top_k and min(arguments.top_k, vocabulary_size)
    if arguments.top_p:
        return samplers.TopPSampler(arguments.top_p, k=k, **options)
    if k:
        return samplers.TopKSampler(k, **options)
    return samplers.RandomSampler(**options) if arguments.temperature else "greedy"


@command(
    "zoo caption show_attend_tell scene.png --plot attention.png",
    preset(),
    words("images", "IMAGE", "a picture's file", nargs="+"),
    option("--plot FILE", "draw where it looks, FILE.png or FILE.svg"),
    OUTPUT,
    _N_BEST,
    BEAM,
    BATCH,
    BACKEND,
)
def caption(arguments: argparse.Namespace) -> None:
    """Describes images in words."""
    from zoo import analysis

    images, n_best = arguments.images, arguments.n_best
    if arguments.plot and len(images) > 1:
        raise BadInput(f"--plot draws one image, received {len(images)}")
    for written in (arguments.output, arguments.plot):
        check_files(images, written)
    task = load_task(arguments.preset, arguments, "caption")
    options = given(arguments, [BEAM, BATCH, _N_BEST])
    results = task.caption(images, return_details=True, **options)
    results = results if n_best > 1 else [[record] for record in results]
    with open_output(arguments.output) as output:
        for line, records in enumerate(results):
            output.writelines(f"{_row(line, each, n_best)}\n" for each in records)
    if arguments.plot:
        record = results[0][0]
        analysis.save(record.plot(title=record.text), arguments.plot)
        progress(f"drawn: {arguments.plot}")

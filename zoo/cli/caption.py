"""The command `zoo caption`."""

import argparse

from zoo.analysis.figure import check_ending, need_matplotlib
from zoo.cli.common import (
    BEAM_SIZE,
    BadInput,
    add_model_options,
    add_presets,
    bad_input,
    count,
    progress,
    split_presets,
)
from zoo.cli.export import add_engine, use_engine
from zoo.cli.presets import load_task
from zoo.cli.texts import check_files, open_output

HELP = "tell what is in images"
EXAMPLE = "zoo caption show_attend_tell scene.png --plot attention.png"


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Adds the arguments of `zoo caption` to its parser."""
    add_presets(command, "IMAGE ...")
    command.add_argument(
        "--plot", metavar="FILE", help="draw where it looks, FILE.png or FILE.svg"
    )
    command.add_argument(
        "--output", metavar="FILE", help="write here (default: standard output)"
    )
    command.add_argument(
        "--n-best",
        type=count,
        default=1,
        help="captions per image; more than 1 are printed as 'image number from 0 ||| "
        "text ||| score'",
    )
    command.add_argument(
        "--beam-size",
        "--beam",
        type=count,
        metavar="K",
        default=BEAM_SIZE,
        help=f"hypotheses kept at each step (default {BEAM_SIZE})",
    )
    add_engine(command)
    add_model_options(command)


def run(arguments: argparse.Namespace) -> None:
    """Runs `zoo caption`: prints a caption of each image.

    Raises:
        BadInput: if the arguments contradict each other, an image or a file cannot be
            used, or the preset does not exist or caption.
    """
    (name,), images = split_presets(arguments)
    if not images:
        raise BadInput("give both PRESET and IMAGE (see zoo caption --help)")
    if arguments.n_best > arguments.beam_size:
        raise BadInput(
            f"--n-best can be at most --beam-size, received {arguments.n_best} and "
            f"{arguments.beam_size}"
        )
    check_files(images, arguments.output)
    if arguments.plot:
        _check_plot(arguments.plot, images)
    [name] = use_engine([name], arguments, "caption")
    task = load_task(name, arguments.backend, "caption")
    with bad_input((ValueError, OSError)):
        found = task.caption(
            images,
            beam_size=arguments.beam_size,
            n_best=arguments.n_best,
            batch_size=arguments.batch_size,
            return_details=True,
        )
    if arguments.n_best == 1:
        found = [[record] for record in found]
    with open_output(arguments.output) as output:
        for number, records in enumerate(found):
            for record in records:
                line = record.text
                if arguments.n_best > 1:
                    line = f"{number} ||| {line} ||| {record.score:.4f}"
                output.write(f"{line}\n")
    if arguments.plot:
        from zoo import analysis as plots

        record = found[0][0]
        plots.save(record.plot(title=record.text), arguments.plot)
        progress(f"drawn: {arguments.plot}")


def _check_plot(path, images):
    if len(images) > 1:
        raise BadInput(f"--plot draws one image, received {len(images)}")
    with bad_input():
        check_ending(path)
    check_files(images, path)
    need_matplotlib()

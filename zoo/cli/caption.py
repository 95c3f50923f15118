"""The command `zoo caption`."""

import argparse

from zoo.analysis.figure import check_ending, need_matplotlib
from zoo.cli.common import (
    BEAM_SIZE,
    BadInput,
    add_beam_size,
    add_model_options,
    add_presets,
    bad_input,
    check_search,
    count,
    option,
    progress,
    split_presets,
)
from zoo.cli.export import add_engine, use_engine
from zoo.cli.presets import load_task
from zoo.cli.texts import add_output, check_files, open_output

HELP = "tell what is in images"
EXAMPLE = "zoo caption show_attend_tell scene.png --plot attention.png"


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Adds the arguments of `zoo caption` to its parser."""
    add_presets(command, "IMAGE ...")
    option(command, "--plot FILE", "draw where it looks, FILE.png or FILE.svg")
    add_output(command)
    text = "captions per image; more than 1 are printed as 'image number from 0 ||| "
    text += "text ||| score'"
    option(command, "--n-best N", text, count, default=1)
    add_beam_size(command)
    add_engine(command)
    add_model_options(command)


def run(arguments: argparse.Namespace) -> None:
    """Runs `zoo caption`: prints a caption of each image."""
    (name,), images = split_presets(arguments)
    if not images:
        raise BadInput("give both PRESET and IMAGE (see zoo caption --help)")
    check_search(arguments, arguments.n_best)
    check_files(images, arguments.output)
    if arguments.plot:
        _check_plot(arguments.plot, images)
    [name] = use_engine([name], arguments, "caption")
    task = load_task(name, arguments.backend, "caption")
    with bad_input((ValueError, OSError)):
        results = task.caption(
            images,
            beam_size=arguments.beam_size or BEAM_SIZE,
            n_best=arguments.n_best,
            batch_size=arguments.batch_size,
            return_details=True,
        )
    with open_output(arguments.output) as output:
        for number, result in enumerate(results):
            for record in result if arguments.n_best > 1 else [result]:
                line = record.text
                if arguments.n_best > 1:
                    line = f"{number} ||| {line} ||| {record.score:.4f}"
                output.write(f"{line}\n")
    if arguments.plot:
        from zoo import analysis

        record = results[0] if arguments.n_best == 1 else results[0][0]
        analysis.save(record.plot(title=record.text), arguments.plot)
        progress(f"drawn: {arguments.plot}")


def _check_plot(path, images):
    if len(images) > 1:
        raise BadInput(f"--plot draws one image, received {len(images)}")
    with bad_input():
        check_ending(path)
    check_files(images, path)
    need_matplotlib()

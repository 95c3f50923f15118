"""The command `zoo caption`."""

import argparse

from zoo.cli.common import (
    BadInput,
    add_beam_size,
    add_model_options,
    add_presets,
    count,
    option,
    progress,
    search_options,
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
    from zoo import analysis

    (name,), images = split_presets(arguments)
    if not images:
        raise BadInput("give both PRESET and IMAGE (see zoo caption --help)")
    if arguments.plot and len(images) > 1:
        raise BadInput(f"--plot draws one image, received {len(images)}")
    for written in (arguments.output, arguments.plot):
        check_files(images, written)
    [name] = use_engine([name], arguments, "caption")
    task = load_task(name, arguments.backend, "caption")
    options = {**search_options(arguments), "n_best": arguments.n_best}
    results = task.caption(images, return_details=True, **options)
    if arguments.n_best == 1:
        results = [[record] for record in results]
    with open_output(arguments.output) as output:
        for number, records in enumerate(results):
            for record in records:
                line = f"{number} ||| {record.text} ||| {record.score:.4f}"
                output.write(f"{line if arguments.n_best > 1 else record.text}\n")
    if arguments.plot:
        record = results[0][0]
        analysis.save(record.plot(title=record.text), arguments.plot)
        progress(f"drawn: {arguments.plot}")

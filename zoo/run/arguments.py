"""The arguments of a recipe's command line, and those of a run that is resumed."""

import argparse
import re
import sys

from zoo.backend import MODES
from zoo.run.config import (
    FREE,
    ConfigurationError,
    choose_backend,
    read_configuration,
    source_digest,
)

PRECISIONS = ("float32", "mixed_bfloat16", "mixed_float16")
# What a run is made of beside its recipe's scale, with the defaults; `--resume` brings
# back from `config.json` those that the recipe's kind has, `recipe.arguments`.
RECORDED = {
    "scale": "tiny",
    "seed": 1,
    "limit": None,
    "precision": "float32",
    "distribute": "auto",
}


def parse(recipe, argv):
    """Reads the command line of a recipe.

    With `--resume DIR` the arguments are those of the run in DIR, and its backend is
    chosen where neither the environment nor an imported Keras says another one.

    Args:
        recipe: a `Recipe`.
        argv: list of str.

    Returns:
        `argparse.Namespace`.

    Raises:
        ConfigurationError: if DIR holds no run of this recipe, or a run of another
            backend.
        SystemExit: for `--help`, and with code 2 for bad arguments.
    """
    parser = _parser(recipe)
    args = _parse(recipe, parser, argv)
    return args if args.resume is None else _resumed(recipe, parser, args)


def recorded(recipe, args):
    """The run's arguments, as `config.json` keeps them."""
    return {name: getattr(args, name) for name in recipe.arguments}


def _parser(recipe):
    parser = argparse.ArgumentParser(
        prog=recipe.name, description=f"Runs the recipe {recipe.name}."
    )
    add = parser.add_argument
    add("--scale", choices=list(recipe.scales), help="default: tiny")
    add("--output", metavar="DIR", help="default: runs/NAME-SCALE")
    add(
        "--set",
        metavar="KEY=VALUE",
        action="append",
        default=[],
        help="another value of a hyper-parameter, as model.hidden_dim=512, "
        "optimizer.learning_rate=1e-3 or loss.smoothing=0.1; may be repeated (a key "
        "that doesn't exist lists those that do)",
    )
    add("--seed", type=int, help="default: 1")
    add("--epochs", type=int, help="instead of the recipe's number")
    if "limit" in recipe.arguments:
        add("--limit", type=int, help="train on the first LIMIT pairs only")
    add(
        "--precision",
        choices=PRECISIONS,
        help="what the model computes in; its weights are float32 (default: float32)",
    )
    add("--restart", action="store_true", help="start afresh")
    add(
        "--resume",
        metavar="DIR",
        help="go on with the run in DIR, by its config.json; "
        "with --epochs to another number of epochs",
    )
    add(
        "--finish",
        action="store_true",
        help="train no further: take the best weights so far",
    )
    if "distribute" in recipe.arguments:
        add(
            "--distribute",
            choices=MODES,
            help="data parallelism: over all devices there are (auto, the default), "
            "none, or an error where there is one device only (data)",
        )
    return parser


def _parse(recipe, parser, argv):
    args = parser.parse_args(argv)
    for name, least in (("epochs", 1), ("limit", 1), ("seed", 0)):
        value = getattr(args, name, None)
        if value is not None and value < least:
            parser.error(f"--{name} must be at least {least}. Received: {value}")
    if args.seed is not None and args.seed >= 2**32:
        parser.error(f"--seed must be below 2 ** 32. Received: {args.seed}")
    if args.resume is not None:
        names = {*recipe.arguments, "output"} - {"distribute"}
        given = sorted(name for name in names if getattr(args, name) is not None)
        given += ["restart"] * args.restart
        given += [text for text in args.set if re.split("[.=]", text)[0] not in FREE]
        if given:
            parser.error(
                "--resume goes on with the run's own choices: it takes --epochs, "
                f"--finish, {'--distribute, ' * ('distribute' in recipe.arguments)}"
                f"and --set of {', '.join(FREE)}. Received: {given[0]}"
            )
        return args
    if args.epochs:
        args.set.append(f"epochs={args.epochs}")
    # Of a key that stands there twice, the last.
    args.set = list({text.partition("=")[0]: text for text in args.set}.values())
    for name in recipe.arguments:
        if getattr(args, name) is None:
            setattr(args, name, RECORDED[name])
    return args


def _resumed(recipe, parser, args):
    """The arguments of the run that stands in a folder."""
    told = read_configuration(args.resume)
    name = told["recipe"]["name"]
    if name != recipe.name:
        raise ConfigurationError(
            f"{args.resume} holds a run of the recipe {name}. Received: {recipe.name}"
        )
    if choose_backend(told["backend"], args.resume):
        _say(recipe, f"KERAS_BACKEND={told['backend']}, as the run began")
    if told["recipe"]["sha256"] != source_digest(recipe):
        _say(recipe, "the recipe's file has changed since the run began")
    argv = [f"--output={args.resume}", *(["--finish"] * args.finish)]
    # Nothing else that may stand there: it would be an argument too.
    arguments = {k: v for k, v in told["arguments"].items() if k in recipe.arguments}
    if getattr(args, "distribute", None) is not None:
        arguments["distribute"] = args.distribute
    for name, value in arguments.items():
        argv += [f"--{name}={value}"] if value is not None else []
    texts = [*told["set"], *args.set]
    if args.epochs:
        texts.append(f"epochs={args.epochs}")
    return _parse(recipe, parser, argv + [f"--set={text}" for text in texts])


def _say(recipe, text):
    print(f"[{recipe.name}] {text}", file=sys.stderr, flush=True)

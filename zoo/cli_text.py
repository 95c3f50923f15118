"""The commands that run a model on text: `zoo translate`, `zoo evaluate`."""

import contextlib
import itertools
import os
import sys
import time

from zoo.cli import BadInput, bad_input, load_task, progress

# Lines held at once are this many batches: enough to batch by length, and the
# memory that a translation takes does not grow with its input.
_BATCHES_AT_ONCE = 64


def translate(arguments):
    """Runs `zoo translate`.

    Args:
        arguments: `argparse.Namespace` of the command.

    Raises:
        BadInput: if the arguments contradict each other or a file cannot be used.
    """
    if arguments.text and arguments.input:
        raise BadInput("give TEXT or --input, not both")
    _check_search(arguments, arguments.n_best)
    _check_files(arguments.input or [], arguments.output)
    task = load_task(arguments.preset, arguments.backend)

    chunk_size = _BATCHES_AT_ONCE * arguments.batch_size
    if not arguments.text and not arguments.input and sys.stdin.isatty():
        chunk_size = 1  # somebody types, and waits for an answer
    first, began = 0, time.perf_counter()
    with _open_output(arguments.output) as output:
        for lines in _chunks(_lines(arguments), chunk_size):
            results = _translate_lines(task, lines, arguments)
            for number, result in enumerate(results, start=first):
                _write(result, number, arguments, output)
            output.flush()
            first += len(lines)
            progress(f"{first} lines in {time.perf_counter() - began:.1f} s")


def evaluate(arguments):
    """Runs `zoo evaluate`: prints BLEU, chrF and speed, one line each.

    Args:
        arguments: `argparse.Namespace` of the command.

    Raises:
        BadInput: if there is no such corpus, split or preset.
    """
    _check_search(arguments)
    _check_files([], arguments.output)
    task = load_task(arguments.name, arguments.backend)
    from zoo import data
    from zoo.training.evaluation import corpus_scores

    corpus_scores(["."], [["."]])  # without sacrebleu, fail before the work
    progress(f"reading {arguments.data} {arguments.split}")
    with bad_input(keep=OSError):
        pairs = data.load(
            arguments.data,
            source=arguments.source,
            target=arguments.target,
            split=arguments.split,
        )
    sources = pairs.sources[: arguments.limit]
    references = pairs.references[: arguments.limit]
    progress(f"translating {len(sources)} sentences")
    began = time.perf_counter()
    hypotheses = task.translate(sources, **_search(arguments))
    seconds = time.perf_counter() - began
    if arguments.output:
        with _open_output(arguments.output) as output:
            output.writelines(f"{line}\n" for line in hypotheses)
    scores = corpus_scores(hypotheses, references)
    for key, label in (("bleu", "BLEU"), ("chrf", "chrF")):
        print(f"{label} {scores[key]['score']:.2f} {scores[key]['signature']}")
    print(
        f"speed {len(sources) / seconds:.1f} sentences/s ({len(sources)} sentences in "
        f"{seconds:.1f} s, compilation included)"
    )


# === Input ===


def _check_search(arguments, n_best=1):
    if n_best > arguments.beam:
        raise BadInput(
            f"--n-best can be at most --beam, received {n_best} and {arguments.beam}"
        )


def _check_files(inputs, output):
    """Says what is wrong with a file before a model is loaded."""
    for path in inputs:
        try:
            open(path, "rb").close()
        except OSError as error:
            raise BadInput(f"cannot read {path}: {error.strerror}") from None
        if output and os.path.exists(output) and os.path.samefile(path, output):
            raise BadInput(f"--output would overwrite its own --input, received {path}")
    if output and not os.path.isdir(os.path.dirname(output) or "."):
        raise BadInput(f"cannot write {output}: there is no such folder")


def _lines(arguments):
    """Yields the input's lines without their ends. Only a newline ends a line."""
    if arguments.text:
        yield from (" ".join(text.splitlines()) for text in arguments.text)
        return
    for path in arguments.input or ["-"]:
        with _open_input(path) as file:
            try:
                for line in file:
                    yield line.rstrip("\r\n")
            except UnicodeDecodeError as error:
                name = "standard input" if path == "-" else path
                raise BadInput(f"{name} is not UTF-8 text: {error}") from None


def _open_input(path):
    if path != "-":
        return open(path, encoding="utf-8", newline="\n")
    sys.stdin.reconfigure(encoding="utf-8", errors="strict", newline="\n")
    return contextlib.nullcontext(sys.stdin)


def _chunks(lines, size):
    while chunk := list(itertools.islice(lines, size)):
        yield chunk


# === Translation ===


def _search(arguments):
    options = {"beam_size": arguments.beam, "batch_size": arguments.batch_size}
    if arguments.length_penalty is not None:
        options["length_penalty"] = arguments.length_penalty
    return options


def _translate_lines(task, lines, arguments):
    """One result a line, in order; None for an empty one, which no model is asked."""
    full = [line for line in lines if line.strip()]
    details = arguments.alignments or arguments.n_best > 1
    results = iter(
        task.translate(
            full,
            n_best=arguments.n_best,
            return_details=details,
            **_search(arguments),
        )
        if full
        else []
    )
    return [next(results) if line.strip() else None for line in lines]


def _write(result, number, arguments, output):
    if arguments.n_best > 1:
        if result is None:
            output.write(f"{number} |||  ||| 0.0000\n")
        for record in result or []:
            output.write(f"{number} ||| {record.text} ||| {record.score:.4f}\n")
            _write_alignment(record, arguments, output)
    elif arguments.alignments:
        output.write("\n" if result is None else f"{result.text}\n")
        if result is not None:
            _write_alignment(result, arguments, output)
    else:
        output.write(f"{result or ''}\n")


def _write_alignment(record, arguments, output):
    if arguments.alignments:
        from zoo.decoding import format_alignment

        output.write(f"\n{format_alignment(record).rstrip()}\n\n")


def _open_output(path):
    if path:
        return open(path, "w", encoding="utf-8", newline="\n")
    sys.stdout.reconfigure(encoding="utf-8")
    return contextlib.nullcontext(sys.stdout)

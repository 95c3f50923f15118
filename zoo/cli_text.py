"""The commands that run a model on text: `zoo translate`, `zoo evaluate`."""

import contextlib
import itertools
import os
import re
import shutil
import sys
import time
import warnings

from zoo.cards import CARD_FILE, read_card
from zoo.cli import BadInput, bad_input, progress
from zoo.cli_presets import find_preset, load_task, load_translator, read_direction

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
    check_search(arguments, arguments.n_best)
    check_files(arguments.input or [], arguments.output)
    if len(arguments.preset) > 1:
        read_direction(arguments.preset)  # fail before the work
    task = load_translator(arguments.preset, arguments.backend)
    if arguments.prefix or arguments.banned:  # that the vocabulary must suit
        with bad_input():
            task.translate([""], **search_options(arguments))
    chunk_size = _BATCHES_AT_ONCE * arguments.batch_size
    if not arguments.text and not arguments.input and sys.stdin.isatty():
        chunk_size = 1  # somebody types, and waits for an answer
    first, began = 0, time.perf_counter()
    with _open_output(arguments.output) as output:
        for chunk in _chunks(_lines(arguments), chunk_size):
            results = translate_chunk(task, chunk, arguments)
            for number, result in enumerate(results, start=first):
                _write(result, number, arguments, output)
            output.flush()
            first += len(chunk)
            progress(f"{first} lines in {time.perf_counter() - began:.1f} s")


def evaluate(arguments):
    """Runs `zoo evaluate`: prints BLEU, chrF and speed, one line each; of a preset
    that tags words their accuracy, of a language model the perplexity, and its speed.
    Several translators are scored as an ensemble.

    Args:
        arguments: `argparse.Namespace` of the command.

    Raises:
        BadInput: if there is no such corpus, split or preset.
    """
    check_search(arguments)
    check_files([], arguments.output)
    task_of = {"tag": _evaluate_tagger, "generate": _evaluate_language_model}
    several = len(arguments.names) > 1  # translators, or an error
    if run := not several and task_of.get(_task(arguments.names[0])):
        return run(arguments)
    pairs = _read_corpus(arguments)
    sources = pairs.sources[: arguments.limit]
    references = pairs.references[: arguments.limit]
    task = load_translator(arguments.names, arguments.backend)
    from zoo.training.evaluation import corpus_scores

    corpus_scores(["."], [["."]])  # without sacrebleu, fail before the work
    progress(f"translating {len(sources)} sentences")
    began = time.perf_counter()
    with places_in_warnings(lambda i: f"sentence {i + 1} of {arguments.split}"):
        hypotheses = task.translate(sources, **search_options(arguments))
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


def _task(name):
    """What a preset does, as its card says."""
    folder = find_preset(name)
    return read_card(folder).task if (folder / CARD_FILE).is_file() else None


def _evaluate_tagger(arguments):
    from zoo.data import DownloadError
    from zoo.data.tagged import UD_ENGLISH, load_ud

    if arguments.data != UD_ENGLISH.name:
        raise BadInput(
            f"taggers are scored on {UD_ENGLISH.name}, received {arguments.data!r}"
        )
    progress(f"reading {arguments.data} {arguments.split}")
    with bad_input((ValueError, OSError), keep=DownloadError):
        data = load_ud(arguments.split, allow_newer=arguments.allow_newer)
    sentences, tags = data.sentences[: arguments.limit], data.tags[: arguments.limit]
    task = load_task(arguments.names[0], arguments.backend)
    from zoo.training.evaluation import tag_accuracy

    began = time.perf_counter()
    found = task.tag(sentences, batch_size=arguments.batch_size)
    seconds = time.perf_counter() - began
    if arguments.output:
        with _open_output(arguments.output) as output:
            for row in found:
                output.write(" ".join(f"{word}/{tag}" for word, tag in row) + "\n")
    accuracy, words = tag_accuracy(found, tags)
    print(f"accuracy {100 * accuracy:.2f} UPOS, {words} words as the treebank has them")
    print(
        f"speed {words / seconds:.0f} words/s ({seconds:.1f} s, compilation included)"
    )


def _evaluate_language_model(arguments):
    from zoo.data import DownloadError
    from zoo.data.texts import load_ptb

    if arguments.data != "ptb":
        raise BadInput(
            f"language models are scored on ptb, received {arguments.data!r}"
        )
    if arguments.output:
        raise BadInput("a language model writes no output: leave --output out")
    progress(f"reading {arguments.data} {arguments.split}")
    with bad_input((ValueError, OSError), keep=DownloadError):
        texts = load_ptb(arguments.split)[: arguments.limit]
    task = load_task(arguments.names[0], arguments.backend)
    began = time.perf_counter()
    # As the paper reads it: one text, the state carried over.
    perplexity = task.perplexity(texts, batch_size=1, carry_over=True)
    seconds = time.perf_counter() - began
    words = sum(len(text.split()) + 1 for text in texts)
    print(
        f"perplexity {perplexity:.2f} of {words} words and ends of sentences, "
        "state carried over"
    )
    print(
        f"speed {words / seconds:.0f} words/s ({seconds:.1f} s, compilation included)"
    )


# === Input ===


def check_search(arguments, n_best=1):
    if n_best > arguments.beam:
        raise BadInput(
            f"--n-best can be at most --beam, received {n_best} and {arguments.beam}"
        )
    least, most = arguments.min_length, arguments.max_length
    if least and most and least > most:
        raise BadInput(
            f"--min-length can be at most --max-length, received {least} and {most}"
        )


def check_files(inputs, output):
    """Says what is wrong with a file before a model is loaded."""
    for path in inputs:
        with bad_input(OSError, f"cannot read {path}"):
            open(path, "rb").close()
        for written in (output, output and _partial(output)):
            if written and os.path.exists(written) and os.path.samefile(path, written):
                raise BadInput(
                    f"--output would overwrite its own --input, received {path}"
                )
    if not output:
        return
    folder = os.path.dirname(os.path.realpath(output))
    if not os.path.isdir(folder):
        raise BadInput(f"cannot write {output}: there is no such folder")
    if os.path.isdir(output):
        raise BadInput(f"cannot write {output}: it is a folder")
    for path in (output, folder) if os.path.exists(output) else (folder,):
        if not os.access(path, os.W_OK):
            raise BadInput(f"cannot write {output}: no permission to write {path}")


def _languages(arguments):
    """Source and target language: the presets', which those given must be."""
    given = [arguments.source, arguments.target]
    languages = read_direction(arguments.names)
    if languages is None:
        return [given[0] or "en", given[1] or "de"]
    if any(g not in (None, own) for g, own in zip(given, languages, strict=True)):
        names = (("--source", given[0]), ("--target", given[1]))
        received = " ".join(f"{name} {value}" for name, value in names if value)
        raise BadInput(
            f"{arguments.names[0]} translates from {languages[0]} to {languages[1]}, "
            f"received {received}"
        )
    return languages


def _read_corpus(arguments):
    from zoo import data

    source, target = _languages(arguments)
    progress(f"reading {arguments.data} {arguments.split}")
    wrong = (ValueError, FileNotFoundError, PermissionError)
    with bad_input(wrong, keep=data.DownloadError):
        return data.load(
            arguments.data,
            source=source,
            target=target,
            split=arguments.split,
            allow_newer=arguments.allow_newer,
        )


def _lines(arguments):
    """Yields the input's lines without their ends, and where each one stands.

    Only a newline ends a line.
    """
    for number, text in enumerate(arguments.text, start=1):
        yield " ".join(text.splitlines()), f"TEXT {number}"
    if arguments.text:
        return
    for path in arguments.input or ["-"]:
        name = "standard input" if path == "-" else path
        with _open_input(path) as file:
            for number, line in enumerate(file, start=1):
                place = f"line {number} of {name}"
                with bad_input(UnicodeDecodeError, f"{place} is not UTF-8 text"):
                    text = line.decode("utf-8").rstrip("\r\n")
                yield text, place


def _open_input(path):
    return contextlib.nullcontext(sys.stdin.buffer) if path == "-" else open(path, "rb")


def _chunks(lines, size):
    while chunk := list(itertools.islice(lines, size)):
        yield chunk


# === Translation ===


# Arguments that go to `translate` by their own names, where they are given.
SEARCH_OPTIONS = (
    "length_penalty",
    "length_normalization",
    "coverage_penalty",
    "max_length",
    "min_length",
)
_OPTIONS = (*SEARCH_OPTIONS, "prefix", "banned", "replace_unknown")


def search_options(arguments):
    options = {"beam_size": arguments.beam, "batch_size": arguments.batch_size}
    given = {name: getattr(arguments, name, None) for name in _OPTIONS}
    return options | {name: x for name, x in given.items() if x is not None}


def translate_chunk(task, chunk, arguments):
    """Translates lines, each of which comes with its place for warnings.

    Args:
        task: a `zoo.models.Translator`.
        chunk: list of `(line, place)`, both str.
        arguments: `argparse.Namespace` of `zoo translate`.

    Returns:
        One result a line, in order; None for an empty one, which no model is asked.
    """
    full = [(line, place) for line, place in chunk if line.strip()]
    details = arguments.alignments or arguments.n_best > 1
    results = iter(())
    if full:
        with places_in_warnings(lambda i: full[i][1]):
            results = iter(
                task.translate(
                    [line for line, _ in full],
                    n_best=arguments.n_best,
                    return_details=details,
                    **search_options(arguments),
                )
            )
    return [next(results) if line.strip() else None for line, _ in chunk]


@contextlib.contextmanager
def places_in_warnings(place):
    """Says `place(12)` where a warning of the model's speaks of `texts[12]`."""
    with warnings.catch_warnings():
        # Those of two chunks may be the same before the place is put in.
        warnings.filterwarnings("always", message=r".*\btexts\[\d+\]")
        show = warnings.showwarning

        def show_place(message, *rest):
            text = re.sub(r"texts\[(\d+)\]", lambda m: place(int(m[1])), str(message))
            show(text, *rest)

        warnings.showwarning = show_place
        yield


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


# === Output ===


def _partial(path):
    return f"{os.path.realpath(path)}.part"


@contextlib.contextmanager
def _open_output(path):
    """The file to write, or standard output.

    The file takes its name only when all is written: until then it is `PATH.part`, and
    what stood at `PATH` before stays. A device or a pipe is written directly.
    """
    if not path:
        sys.stdout.reconfigure(encoding="utf-8")
        yield sys.stdout
        return
    special = os.path.exists(path) and not os.path.isfile(path)
    part = path if special else _partial(path)
    try:
        with open(part, "w", encoding="utf-8", newline="\n") as file:
            yield file
        if not special:
            if os.path.exists(path):
                shutil.copymode(path, part)
            os.replace(part, os.path.realpath(path))
    except BaseException:
        if not special and os.path.exists(part):
            if os.path.getsize(part):
                progress(f"{path} was not touched; what was translated is in {part}")
            else:
                os.remove(part)
        raise

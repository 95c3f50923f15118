"""Trains the papers' models with several seeds, and judges their claims by that.

    KERAS_BACKEND=jax OMP_NUM_THREADS=1 python -m tools.papers.study [--work DIR]
    KERAS_BACKEND=jax OMP_NUM_THREADS=1 python -m tools.papers.study --run ARM SEED
    python -m tools.papers.study --page

The first works through all runs of `tools.papers.arms` that the table,
docs/reproduction/study.jsonl, doesn't have, one after another, each in a process of its
own; the second is one of them. Each adds its line to the table. Stopped, and started
again, it goes on where it was, within a run too. `--page` writes docs/reproduction.md
and the study's pictures: nothing is trained.
"""

import argparse
import datetime
import json
import os
import shutil
import sys
import time
import warnings
from pathlib import Path

import numpy as np

from tools import ROOT
from tools.papers import aligner
from tools.papers.arms import ARMS, BLOCK, SEGMENT, choices, digest, plan
from tools.papers.counts import MEASURES, bleu_counts, pack, reading_counts
from tools.papers.reproduce import DECODING, TRAINING, digest_of_zoo
from tools.papers.study_table import append, read
from zoo.backend import configured_backend
from zoo.training.config import checkpoints, commit, cpu, to_jsonable


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--work", type=Path, default=ROOT / "runs" / "study", metavar="DIR")
    add("--run", nargs=2, metavar=("ARM", "SEED"), help="one run alone")
    add("--page", action="store_true", help="write the page")
    arguments = parser.parse_args(argv)
    if arguments.page:
        from tools.papers.page import write_page

        write_page()
        return 0
    if not arguments.run:
        return run_all(arguments.work)
    name, seed = arguments.run
    if name not in ARMS or not seed.isdecimal():
        parser.error(
            f"--run takes an arm ({', '.join(ARMS)}) and a seed. "
            f"Received: {name} {seed}"
        )
    return run(name, int(seed), arguments.work)


def run_all(work):
    """Does the first run that the table lacks, then the rest in another process.

    Returns:
        0 when all are done; else the exit code of the run that broke off.
    """
    jobs = [job for job in plan() if not is_done(*job)]
    if not jobs:
        return 0
    print("{}, seed {}".format(*jobs[0]), flush=True)
    if code := run(*jobs[0], work):
        return code
    command = [sys.executable, "-m", "tools.papers.study", "--work", str(work)]
    return os.execv(sys.executable, command)


def is_done(name, seed):
    results, failed = read()
    return (name, seed) in results or (name, seed) in failed


# === One run ===


def run(name, seed, work):
    """Trains an arm with a seed, measures it, and adds its line to the table.

    Returns:
        Exit code: 0; 130 or 143 after a signal, when the same command goes on.
    """
    from zoo.training.fast.process import start_backend, tune_process
    from zoo.training.fit import interrupts

    if is_done(name, seed):
        return 0
    tune_process()
    start_backend()
    try:
        append(row_of(name, seed, work))
    except interrupts.Interrupted as stop:
        print(f"{name}, seed {seed}: {stop}. The same command goes on", file=sys.stderr)
        return stop.exit_code
    clear(work / f"{name}-{seed}")
    return 0


def clear(folder):
    """Removes all of a run but its preset."""
    for path in folder.glob("*"):
        if path.is_file():
            path.unlink()
        elif path.name != "preset":
            shutil.rmtree(path)


def row_of(name, seed, work):
    """The line of a run."""
    import keras

    arm, folder = ARMS[name], work / f"{name}-{seed}"
    command = f"KERAS_BACKEND={configured_backend()} python -m tools.papers.study"
    row = {
        "arm": name,
        "seed": seed,
        "settings": to_jsonable(choices(name)),
        "digest": digest(name),
        "command": f"{command} --run {name} {seed}",
        "commit": commit(),
        "code": digest_of_zoo((*TRAINING, *DECODING))[:12],
        "machine": f"{cpu()}, Keras {keras.__version__}",
        "date": datetime.date.today().isoformat(),
    }
    try:
        train(arm, seed, folder, row["command"])
    except FloatingPointError as error:
        return {**row, "failed": str(error)}
    states = [json.loads(str(np.load(path)["state"])) for path in checkpoints(folder)]
    row["seconds"] = round(sum(state["seconds"] for state in states))
    began = time.monotonic()
    row |= measure(arm, folder)
    print(f"{name}, seed {seed}: measured in {time.monotonic() - began:.0f} s")
    return row


def train(arm, seed, folder, command):
    """Trains a run in its folder, going on from its checkpoint if there is one."""
    from zoo.training.fit import interrupts
    from zoo.training.recipe import run_with
    from zoo.training.recipes.arguments import Arguments

    options = {"scale": arm.scale, "seed": seed, "precision": "float32"}
    arguments = Arguments(output=folder, **options)
    with interrupts.catching():
        run_with(arm.recipe(), arguments, command)


def measure(arm, folder):
    """The scores and counts of a trained run, and the number of its weights."""
    if arm.kind == "errors":
        results = json.loads((folder / "results.json").read_text(encoding="utf-8"))
        scores = {
            f"{problem} {net}": found["error"]
            for problem in ("regression", "classification")
            for net, found in results[problem].items()
        }
        return {"parameters": None, "scores": scores, "counts": {}}
    import zoo

    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "(?s).*card.json")  # it needs none
        model = zoo.load(folder)
    if arm.kind == "language model":
        counts = language_model_counts(model)
    elif arm.kind == "captioner":
        counts = captioner_counts(model)
    else:
        corpus, split = aligner.TEST
        data = zoo.data.load(corpus, "en", "de", split=split)
        known = aligner.read() if arm.attends else None
        counts = translator_counts(
            model, data.sources, data.references, arm.beams, known
        )
    scores = {
        name: round(one.of(counts[one.counts]), 4)
        for name, one in MEASURES.items()
        if one.counts in counts
    }
    counts = {kind: pack(table) for kind, table in counts.items()}
    return {"parameters": model.count_params(), "scores": scores, "counts": counts}


def translator_counts(model, sources, references, beams, known=None):
    """The counts of a translator on a test set.

    Args:
        model: a `zoo.models.Translator`.
        sources: list of str.
        references: list of lists of str.
        beams: sizes of the beam.
        known: an aligner's links of each source and its first reference, as
            `tools.papers.aligner.read` returns them; None for a model whose attention
            isn't measured.

    Returns:
        Dict of "beam N", "reading" and "links" to counts (sentences, columns).
    """
    counts = {}
    for beam in beams:
        texts = model.translate(sources, beam_size=beam)
        counts[f"beam {beam}"] = bleu_counts(sources, references, texts)
    targets = [several[0] for several in references]
    records = model.align(sources, targets)
    counts["reading"] = reading_counts([record.log_probs for record in records])
    if known is not None:
        merged = [record.merge_words() for record in records]
        pairs = zip(sources, targets, known, strict=True)
        known = [(source, target, *links) for source, target, links in pairs]
        counts["links"] = aligner.link_counts(merged, known)
    return counts


def captioner_counts(model, count=None):
    """The counts of a captioner on new scenes.

    Args:
        model: a `zoo.models.ShowAttendTellCaptioner`.
        count: scenes. Default: as the recipe tests.

    Returns:
        Dict of "captions" to counts (scenes, 6): 1 if the caption is true of the scene,
        1; of the phrases ("a small red star") those at whose sharpest look the place of
        most attention meets the thing, and all; and of their words likewise. (Hard
        attention has no sharpest look: each of its weights is 1.)
    """
    from zoo.analysis.caption_scores import outputs, sharpest_looks
    from zoo.analysis.evaluation import grounding

    rows = []
    for scene, text, weights in zip(*outputs(model, "scenes", count), strict=True):
        sharpest = sharpest_looks(scene, weights)
        words = [place for phrase in scene.phrases for place in range(*phrase)]
        ends = [end - 1 for first, end in scene.phrases for _ in range(first, end)]
        each = weights[words], [scene.boxes[place] for place in ends]
        row = [int(scene.is_true(text)), 1]
        for looks, boxes in (sharpest, each):
            found = grounding([looks], [boxes])
            row += [round(found["peak"] * found["words"] / 100), found["words"]]
        rows.append(row)
    return {"captions": np.array(rows)}


def language_model_counts(model, texts=None):
    """The counts of a language model on the Penn Treebank's test text, or on another,
    read as one with the state carried over; `BLOCK` segments count as one sentence."""
    from zoo.data.corpora import load_ptb
    from zoo.tasks.language_model import document_scores

    rows = model.preprocessor.encode(load_ptb("test") if texts is None else texts)
    scores = document_scores(model, rows, length=SEGMENT)[:, 0]
    words = np.full(len(scores), SEGMENT)
    words[-1] = sum(len(row) + 1 for row in rows) - SEGMENT * (len(scores) - 1)
    starts = np.arange(0, len(scores), BLOCK)
    sums = [np.add.reduceat(values, starts) for values in (scores, words)]
    table = reading_counts([[total] for total in sums[0]])
    table[:, 1] = sums[1]
    return {"reading": table}


if __name__ == "__main__":
    sys.exit(main())

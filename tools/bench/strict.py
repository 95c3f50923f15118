"""Scores models of Multi30k alone beside published figures: docs/multi30k.md.

    pip install sacremoses spacy
    export KERAS_BACKEND=jax
    for recipe in bahdanau luong_global luong_local transformer; do
        python recipes/$recipe.py --scale multi30k --output runs/$recipe-en-de
        python recipes/$recipe.py --scale multi30k --output runs/$recipe-de-en \\
            --set source=de --set target=en
    done
    python -m tools.bench.strict runs/*-en-de runs/*-de-en
    python -m tools.bench.strict --tried runs/other    # what came out worse

Each run's preset translates test_2016_flickr with beam 5, and by greedy search. Its
translations and what is told of it are kept in docs/multi30k/, those of other choices
that came out worse in docs/multi30k/tried/, and the page is made of all that stands
there: cased and lower-cased, on sacreBLEU's, Moses's and spaCy's words, as the
published figures are. A `note` written into a record's JSON is printed after its run.
Without a run the page is made anew from the kept translations, without Keras.
"""

import argparse
import json
import sys
from importlib.metadata import version
from pathlib import Path

import zoo
from tools import ROOT
from tools.markdown import table
from zoo.files import write_bytes

RECIPES = ("bahdanau", "luong_global", "luong_local", "transformer")
DIRECTIONS = ("en-de", "de-en")
SPLIT = "test_2016_flickr"
BEAM, GREEDY = 5, 1
TRIED = "tried"
# (words, whether lower-cased, the beam): the heading of its column.
WAYS = {
    ("13a", False, BEAM): "sacreBLEU 13a",
    ("13a", True, BEAM): "13a, lower-cased",
    ("moses", False, BEAM): "Moses",
    ("moses", True, BEAM): "Moses, lower-cased",
    ("spacy", True, BEAM): "spaCy, lower-cased",
    ("spacy", True, GREEDY): "spaCy, lower-cased, greedy",
}
# Repositories of github.com, the model, its parameters, the direction, BLEU, and the
# column that it is nearest to: bentrevett's notebooks cut by spaCy, lower-case and
# decode greedily; LividWo scores the words of its prepared files, 12,103 of references;
# msarmi9 doesn't say.
NOTEBOOKS, GREEDILY = "bentrevett/pytorch-seq2seq", ("spacy", True, GREEDY)
PUBLISHED = (
    (NOTEBOOKS, "no attention", "", "de-en", 13.8, GREEDILY),
    (NOTEBOOKS, "GRU", "", "de-en", 20.6, GREEDILY),
    (NOTEBOOKS, "Bahdanau", "", "de-en", 28.30, GREEDILY),
    (NOTEBOOKS, "convolutions (older)", "", "de-en", 34.14, GREEDILY),
    (NOTEBOOKS, "Transformer (older)", "9.0 M", "de-en", 36.52, GREEDILY),
    ("msarmi9/multi30k", "Bahdanau, subwords", "", "de-en", 33.47, ("13a", False, 5)),
    ("LividWo/Revisit-MMT", "transformer-tiny", "", "en-de", 41.02, ("moses", True, 5)),
)

# What else is unlike, of its README-baseline.md and the recipe.
DIFFERENCES = {
    "LividWo/Revisit-MMT": (
        "Another seed may change it by more than 0.1. The published model has the "
        "layers of `transformer` here, but another BPE, post-norm and another "
        "schedule, and trains for up to 8,000 updates of 4,096 tokens on each of two "
        "GPUs, more than 100 epochs, where `transformer` here has 30 and "
        "`luong_global`, three times as large, 40."
    )
}


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("runs", nargs="*", type=Path, help="folders of finished runs")
    parser.add_argument("--output", type=Path, default=ROOT / "docs")
    parser.add_argument("--tried", action="store_true", help="keep as not better")
    arguments = parser.parse_args(argv)
    kept = arguments.output / "multi30k"
    tried = kept / TRIED
    told = [read(run) for run in arguments.runs]  # all of them, before any work
    for run, (name, languages) in zip(arguments.runs, told, strict=True):
        print(f"{run}: {name} {'-'.join(languages)}", file=sys.stderr, flush=True)
        keep(tried if arguments.tried else kept, *translated(run, name, languages))
    text = page(*([row(*x) for x in records(folder)] for folder in (kept, tried)))
    text = text.encode()
    write_bytes(arguments.output / "multi30k.md", text)
    return 0


def read(run):
    """The recipe's name and the languages of a finished run."""
    config = json.loads((run / "config.json").read_text(encoding="utf-8"))
    choices, name = config["hyper_parameters"], config["recipe"]["name"]
    if [corpus for corpus, _ in choices["corpora"]] != ["multi30k"]:
        raise SystemExit(
            f"{run} is no run on Multi30k alone. Received: {choices['corpora']}"
        )
    if not (run / "preset" / name).is_dir():
        raise SystemExit(f"{run} has no preset yet: the run is not finished")
    return name, (choices["source"], choices["target"])


def translated(run, name, languages):
    """Describes a run, with its translations of the test set by beam."""
    data = zoo.data.load("multi30k", *languages, split=SPLIT)
    model = zoo.load(run / "preset" / name)
    card = json.loads((run / "preset" / name / "card.json").read_text())
    told = {
        "name": name,
        "direction": "-".join(languages),
        "parameters": model.backbone.count_params(),
        "command": card["recipe"],
        "training": f"{card['training_time']}, {card['machine']}",
        "commit": card["commit"],
    }
    sources = list(data.sources)
    return told, {
        beam: model.translate(sources, beam_size=beam) for beam in (BEAM, GREEDY)
    }


def text_file(folder, told, beam):
    """The file of a run's translations."""
    search = "-greedy" if beam == GREEDY else ""
    return folder / f"{told['name']}-{told['direction']}{search}.txt"


def keep(folder, told, found):
    """Writes a run's record and its translations by beam, a line each."""
    folder.mkdir(parents=True, exist_ok=True)
    for beam, texts in found.items():
        lines = "".join(" ".join(text.split()) + "\n" for text in texts)
        write_bytes(text_file(folder, told, beam), lines.encode())
    record = json.dumps(told, ensure_ascii=False, indent=2)
    path = text_file(folder, told, BEAM).with_suffix(".json")
    write_bytes(path, f"{record}\n".encode())


def records(folder):
    """`[(what is told, translations by beam)]` of all kept runs, as the page has
    them."""
    found = []
    for direction in DIRECTIONS:
        for name in RECIPES:
            path = folder / f"{name}-{direction}.json"
            if not path.exists():
                continue
            told = json.loads(path.read_text(encoding="utf-8"))
            files = {beam: text_file(folder, told, beam) for beam in (BEAM, GREEDY)}
            texts = {
                beam: file.read_text(encoding="utf-8").split("\n")[:-1]
                for beam, file in files.items()
                if beam == BEAM or file.exists()
            }
            found.append((told, texts))
    return found


def row(told, found):
    """The page's section on a run."""
    source, target = told["direction"].split("-")
    data = zoo.data.load("multi30k", source, target, split=SPLIT)
    references = [several[0] for several in data.references]
    for beam, texts in found.items():
        if len(texts) != len(references):
            raise SystemExit(
                f"{text_file(Path(), told, beam)} has not a line for each of the "
                f"{len(references)} sentences of {SPLIT}. Received: {len(texts)} lines"
            )
    cut = tokenizer("moses", target)
    return {
        **told,
        "bleu": {
            (words, lower, beam): bleu(found[beam], references, target, words, lower)
            for words, lower, beam in WAYS
            if beam in found
        },
        "reference_words": sum(len(cut(text).split()) for text in references),
    }


def bleu(texts, references, language, words, lower):
    """Corpus BLEU of 4-grams over these words, one reference each."""
    from sacrebleu.metrics import BLEU

    cut = tokenizer(words, language)
    texts, references = ([cut(text) for text in x] for x in (texts, references))
    if lower:  # words first: spaCy's rules look at the case
        texts, references = ([t.lower() for t in x] for x in (texts, references))
    kind = "13a" if words == "13a" else "none"
    # torchtext and multi-bleu.pl smooth nothing; over 1,000 sentences it is the same.
    metric = BLEU(tokenize=kind, smooth_method="none", force=True)
    return metric.corpus_score(texts, [references]).score


def tokenizer(words, language):
    """A function from a text to its words, joined by spaces."""
    if words == "13a":
        return lambda text: text
    if words == "moses":
        from sacremoses import MosesPunctNormalizer, MosesTokenizer

        normal, cut = MosesPunctNormalizer(lang=language), MosesTokenizer(lang=language)
        return lambda text: cut.tokenize(
            normal.normalize(text), return_str=True, escape=False
        )
    import spacy

    # The rules that a model's tokenizer has too.
    pipeline = spacy.blank(language).tokenizer
    return lambda text: " ".join(token.text for token in pipeline(text))


def page(rows, tried=()):
    """The page, Markdown."""
    heads = ["", "parameters", *WAYS.values()]
    parts = [
        "# Multi30k alone",
        "Made by `python -m tools.bench.strict` from the translations in "
        "`docs/multi30k`. Trained on the 29,000 captions of Multi30k and "
        "nothing else, one seed; the weights are the mean of the last five epochs' "
        "where [Runs](#runs) says so, else those of the epoch that is best on the "
        "validation set. "
        f"Scored on test_2016_flickr, beam {BEAM} but for the last column, where a "
        "dash tells that no greedy search was kept. A published figure "
        "stands in the column whose scoring is nearest to its own: bentrevett cuts "
        "words by spaCy, lower-cases and decodes greedily; LividWo scores the words of "
        "its prepared files, 12,103 of references, doesn't tell the case, and takes "
        "the mean of ten checkpoints, beam 5; msarmi9 doesn't say. BLEU over words of "
        "spaCy or Moses is that of detokenised output cut again. sacreBLEU "
        f"{version('sacrebleu')}.",
    ]
    for direction in dict.fromkeys(row["direction"] for row in rows):
        found = [row for row in rows if row["direction"] == direction]
        lines = [_line(row) for row in found]
        for who, what, parameters, where, value, way in PUBLISHED:
            if where == direction:
                cells = [_figure(value) if way == other else "" for other in WAYS]
                link = f"[{who}](https://github.com/{who}): {what}"
                lines.append([link, parameters, *cells])
        counts = ", ".join(str(n) for n in {row["reference_words"] for row in found})
        parts.append(f"## {direction}")
        parts.append(f"References of {counts} words by Moses.")
        parts.append(table(heads, lines))
        parts += filter(None, (_reached(best, found) for best in _best(direction)))
    parts.append("## Runs")
    parts.append(
        "A command's defaults are those of its commit: before 134a4aa `luong_global` "
        "and `luong_local` read the source backwards only, unless "
        "`model.bidirectional=true` is set, and only `transformer` took the mean of "
        "five epochs; before 739192e `luong_global` and `luong_local` had 10 epochs, "
        "dropout of 0.3 and batches of 768 tokens. Of these two, only `luong_global` "
        "has been trained since: the rows don't compare the models. The machines were "
        "not the same and did other work as well: times can't be compared."
    )
    parts.append(_runs(rows))
    if tried:
        parts.append("## Tried, and not better")
        heads = ["", "direction", *heads[1:]]
        lines = [_line(row) for row in tried]
        for line, row in zip(lines, tried, strict=True):
            line.insert(1, row["direction"])
        parts.append(table(heads, lines))
        parts.append(_runs(tried))
    found = {(row["name"], row["direction"]) for row in rows}
    wanted = [(name, direction) for name in RECIPES for direction in DIRECTIONS]
    if missing := [" ".join(pair) for pair in wanted if pair not in found]:
        parts.append(f"Not run yet: {', '.join(missing)}.")
    return "\n\n".join(parts) + "\n"


def _line(row):
    values = [_figure(row["bleu"].get(way)) or "–" for way in WAYS]
    return [f"`{row['name']}`", f"{row['parameters']:,}", *values]


def _runs(rows):
    return "\n".join(
        f"- `{row['command']}`: {row['training']}, commit {row['commit']}"
        + (f"; {row['note']}" if "note" in row else "")
        for row in rows
    )


def _figure(value):
    return "" if value is None else f"{value:.2f}"


def _best(direction):
    """The published figure that is the highest of its column, for each column."""
    there = [published for published in PUBLISHED if published[3] == direction]
    found = {way: p for *p, way in sorted(there, key=lambda published: published[4])}
    return [(*found[way], way) for way in WAYS if way in found]


def _reached(published, rows):
    """The best run beside a published figure, in words; None where no run was
    scored so."""
    who, what, _, _, value, way = published
    scored = [(row["bleu"][way], row["name"]) for row in rows if way in row["bleu"]]
    if not scored:
        return None
    best, name = max(scored)
    text = f"{WAYS[way]}: `{name}` has {best:.2f}, {abs(best - value):.2f} "
    text += f"{'more' if best >= value else '**less**'} than {who}'s {what}."
    return f"{text} {DIFFERENCES[who]}" if who in DIFFERENCES else text


if __name__ == "__main__":
    sys.exit(main())

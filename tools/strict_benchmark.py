"""Scores models of Multi30k alone beside published figures: docs/multi30k.md.

    pip install sacremoses spacy
    export KERAS_BACKEND=jax
    for recipe in bahdanau luong_global luong_local transformer; do
        python recipes/$recipe.py --scale multi30k --output runs/$recipe-en-de
        python recipes/$recipe.py --scale multi30k --output runs/$recipe-de-en \\
            --set source=de --set target=en
    done
    python tools/strict_benchmark.py runs/*-en-de runs/*-de-en

Each run's preset translates test_2016_flickr with beam 5. Its translations and what is
told of it are kept in docs/multi30k/, and the page is made of all that stands there:
cased and lower-cased, on sacreBLEU's, Moses's and spaCy's words, as the published
figures are. Without a run it is made anew from the kept translations, without Keras.
"""

import argparse
import json
import sys
from importlib.metadata import version
from pathlib import Path

import zoo
from zoo.files import write_bytes

ROOT = Path(__file__).resolve().parent.parent
RECIPES = ("bahdanau", "luong_global", "luong_local", "transformer")
DIRECTIONS = ("en-de", "de-en")
SPLIT = "test_2016_flickr"
# (words, whether lower-cased): the heading of its column.
WAYS = {
    ("13a", False): "sacreBLEU 13a",
    ("13a", True): "13a, lower-cased",
    ("moses", False): "Moses",
    ("moses", True): "Moses, lower-cased",
    ("spacy", True): "spaCy, lower-cased",
}
# Repositories of github.com, the direction, BLEU, and the column that it is nearest
# to: bentrevett's notebooks cut by spaCy and lower-case; LividWo scores the words of
# its prepared files, 12,103 of references; msarmi9 doesn't say.
PUBLISHED = (
    ("bentrevett/pytorch-seq2seq: no attention", "de-en", 13.8, ("spacy", True)),
    ("bentrevett/pytorch-seq2seq: GRU", "de-en", 20.6, ("spacy", True)),
    ("bentrevett/pytorch-seq2seq: Bahdanau", "de-en", 28.30, ("spacy", True)),
    ("bentrevett/pytorch-seq2seq: convolutions", "de-en", 34.14, ("spacy", True)),
    ("bentrevett/pytorch-seq2seq: Transformer", "de-en", 36.52, ("spacy", True)),
    ("msarmi9/multi30k: Bahdanau, subwords", "de-en", 33.47, ("13a", False)),
    ("LividWo/Revisit-MMT: transformer-tiny", "en-de", 41.02, ("moses", True)),
)


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("runs", nargs="*", type=Path, help="folders of finished runs")
    parser.add_argument("--output", type=Path, default=ROOT / "docs")
    arguments = parser.parse_args(argv)
    kept = arguments.output / "multi30k"
    told = [read(run) for run in arguments.runs]  # all of them, before any work
    for run, (name, languages) in zip(arguments.runs, told, strict=True):
        print(f"{run}: {name} {'-'.join(languages)}", file=sys.stderr, flush=True)
        keep(kept, *translated(run, name, languages))
    rows = [row(*found) for found in records(kept)]
    text = page(rows).encode()
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
    """What is told of a run, and its translations of the test set."""
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
    return told, model.translate(list(data.sources))


def keep(folder, told, texts):
    """Writes a run's record and its translations, a line each."""
    path = folder / f"{told['name']}-{told['direction']}"
    folder.mkdir(parents=True, exist_ok=True)
    lines = "".join(" ".join(text.split()) + "\n" for text in texts)
    write_bytes(path.with_suffix(".txt"), lines.encode())
    record = json.dumps(told, ensure_ascii=False, indent=2)
    write_bytes(path.with_suffix(".json"), f"{record}\n".encode())


def records(folder):
    """`[(what is told, translations)]` of all kept runs, in the page's order."""
    found = []
    for direction in DIRECTIONS:
        for name in RECIPES:
            path = folder / f"{name}-{direction}"
            if path.with_suffix(".json").exists():
                told = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
                texts = path.with_suffix(".txt").read_text(encoding="utf-8").split("\n")
                found.append((told, texts[:-1]))
    return found


def row(told, texts):
    """What the page says of a run."""
    source, target = told["direction"].split("-")
    data = zoo.data.load("multi30k", source, target, split=SPLIT)
    references = [several[0] for several in data.references]
    if len(texts) != len(references):
        raise SystemExit(
            f"{told['name']}-{told['direction']}.txt has not a line for each of the "
            f"{len(references)} sentences of {SPLIT}. Received: {len(texts)} lines"
        )
    cut = tokenizer("moses", target)
    return {
        **told,
        "bleu": {way: bleu(texts, references, target, *way) for way in WAYS},
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


def page(rows):
    """The page, Markdown."""
    heads = ["", "parameters", *WAYS.values()]
    parts = [
        "# Multi30k alone",
        "Made by `python tools/strict_benchmark.py`, whose first lines have all "
        "commands, from the translations in [docs/multi30k](multi30k). Trained on the "
        "29,000 captions of Multi30k and nothing else, scored on test_2016_flickr, "
        "beam 5. A published figure (of a repository of github.com) stands in the "
        "column whose scoring is nearest to its own: bentrevett cuts words by spaCy "
        "and lower-cases; LividWo scores the words of its prepared files, 12,103 of "
        "references, doesn't tell the case, and takes the mean of ten checkpoints; "
        "msarmi9 doesn't say. BLEU over words of spaCy or Moses is that of "
        "detokenised output cut again. sacreBLEU "
        f"{version('sacrebleu')}.",
    ]
    for direction in dict.fromkeys(row["direction"] for row in rows):
        lines = [heads, ["---", *["---:"] * (len(heads) - 1)]]
        for found in (row for row in rows if row["direction"] == direction):
            values = [f"{found['bleu'][way]:.2f}" for way in WAYS]
            lines.append([f"`{found['name']}`", f"{found['parameters']:,}", *values])
        for who, where, value, way in PUBLISHED:
            if where == direction:
                cells = [f"{value:.2f}" if way == other else "" for other in WAYS]
                lines.append([who, "", *cells])
        counts = {r["reference_words"] for r in rows if r["direction"] == direction}
        parts.append(f"## {direction}")
        parts.append(f"References of {', '.join(map(str, counts))} words by Moses.")
        parts.append("\n".join(f"| {' | '.join(line)} |" for line in lines))
    parts.append("## Runs")
    parts.append(
        "\n".join(
            f"- `{found['command']}`: {found['training']}, commit {found['commit']}"
            for found in rows
        )
    )
    found = {(row["name"], row["direction"]) for row in rows}
    wanted = [(name, direction) for name in RECIPES for direction in DIRECTIONS]
    if missing := [" ".join(pair) for pair in wanted if pair not in found]:
        parts.append(f"Not run yet: {', '.join(missing)}.")
    return "\n\n".join(parts) + "\n"


if __name__ == "__main__":
    sys.exit(main())

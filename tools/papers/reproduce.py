"""Compares the committed presets, and writes docs/reproduction.md.

    KERAS_BACKEND=jax python -m tools.papers.reproduce

BLEU of every translator, by the length of the source and by the size of the beam; an
ensemble against its best member; alignments side by side; the perplexity of the
language models; the artificial tasks of 1997, trained on the spot; and which of the
papers' claims hold for presets of this size.
Translations are kept in a folder (`--work`), by the sha256 of the presets' files and of
the code: a run that was stopped goes on.
"""

import argparse
import datetime
import hashlib
import json
import subprocess
import sys
from pathlib import Path

import zoo
from tools import ROOT
from tools.papers.claims import compared, compared_models, judge
from tools.papers.page import write_page
from tools.papers.pictures import draw_alignments, draw_lengths
from tools.papers.verdicts import BLOCK
from tools.presets.card import cards
from zoo.backend import configured_backend
from zoo.files import write_bytes
from zoo.presets.card import digest, format_task
from zoo.training.config import commit, cpu

TESTS = {"multi30k": "test_2016_flickr", "tatoeba": "test"}
BEAMS = (1, 2, 5, 12)
# Words of a source: from the first number on, below the next.
LENGTHS = (1, 9, 11, 13, 16, 20)
JOINED = (2, 3, 4)  # captions in one source, for lengths that the test set hasn't
ARTIFICIAL = ("birnn_tasks", "lstm_tasks")  # recipes that leave no preset
ALIGNED = (
    "bahdanau",
    "luong_global",
    "luong_reversed",
    "luong_local",
    "luong_location",
    "lstmn",
    "transformer",
)
SENTENCES = (
    "A man in an orange hat starring at something.",
    "Two young, White males are outside near many bushes.",
    "Where did you buy the book that you were reading yesterday?",
    "I wouldn't have called you if it hadn't been important.",
)


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--work", type=Path, default=ROOT / "runs" / "reproduction")
    parser.add_argument("--output", type=Path, default=ROOT / "docs")
    parser.add_argument("--limit", type=int, help="sentences of each test set")
    arguments = parser.parse_args(argv)
    if arguments.limit is not None and arguments.limit < max(JOINED):
        parser.error(f"--limit must be at least {max(JOINED)}")
    work = Work(arguments.work, arguments.limit)
    results = measure(work, cards(ROOT))
    results["made"] = made(arguments.limit)
    folder = arguments.output / "reproduction"
    folder.mkdir(parents=True, exist_ok=True)
    draw(work, results, folder)
    text = json.dumps(summary(results), indent=1, ensure_ascii=False)
    write_bytes(folder / "presets.json", text.encode())
    write_page(arguments.output / "reproduction.md")
    return 0


def summary(results):
    """The results that the page and docs/reproduction/presets.json hold."""
    names = "made bleu chrf lengths joined_sources joined beams ensemble perplexity"
    found = {name: results[name] for name in names.split() if name in results}
    tasks = results["artificial"]
    found["nets"] = {
        task: {net: max(value["error"], 0) for net, value in nets.items()}
        for task, nets in tasks["birnn_tasks"].items()
    }
    found["lags"] = tasks["lstm_tasks"]
    found["claims"] = {claim: told for claim, _, *told in judge(results)}
    found["sentences"] = list(SENTENCES)
    return json.loads(json.dumps(found))  # keys become strings


def draw(work, results, folder):
    """Draws the alignments and the curves by length."""
    details = {
        name: work.model([name]).translate(list(SENTENCES), return_details=True)
        for name in ALIGNED
        if name in results["bleu"]
    }
    draw_alignments(details, folder)
    draw_lengths(results, folder)


def measure(work, cards):
    """All figures of the page."""
    # All of the same text: presets of Tatoeba alone are left out.
    translators = [
        card.name
        for card in cards
        if format_task(card) == "translate en-de"
        and {*TESTS} <= {corpus["name"] for corpus in card.data}
    ]
    models = [card.name for card in cards if card.task == "generate"]
    recurrent = [name for name in translators if name != "transformer"]
    results = {
        "cards": {card.name: card.to_dict() for card in cards},
        "bleu": {name: {} for name in translators},
        "chrf": {name: {} for name in translators},
        "beams": {},
        "lengths": {},
        "joined": {},
        "joined_sources": {n: work.joined_sources(n) for n in JOINED},
        "perplexity": {name: work.perplexity(name) for name in models},
        "p": {},
        "artificial": {name: work.recipe(name) for name in ARTIFICIAL},
    }
    for name in translators:
        for corpus in TESTS:
            found = work.scores([name], corpus)
            results["bleu"][name][corpus] = found["bleu"]
            results["chrf"][name][corpus] = found["chrf"]
        beams = {beam: work.scores([name], "multi30k", beam)["bleu"] for beam in BEAMS}
        results["beams"][name] = beams
        results["lengths"][name] = by_length(work, name)
        joined = {n: work.scores([name], "multi30k", joined=n) for n in JOINED}
        results["joined"][name] = joined
    if len(recurrent) > 1:
        scores = {corpus: work.scores(recurrent, corpus)["bleu"] for corpus in TESTS}
        results["ensemble"] = {"members": recurrent, "bleu": scores}
    for corpus, pairs in compared(results).items():
        results["p"][corpus] = {pair: work.p(results, *pair, corpus) for pair in pairs}
    pairs = compared_models(results)
    results["p"]["ptb"] = {pair: work.p_of_segments(*pair) for pair in pairs}
    return results


def by_length(work, name):
    """`[(first, last or None, sentences, BLEU)]` on Multi30k."""
    data, texts = work.data("multi30k"), work.translate([name], "multi30k")
    found = []
    for low, high in zip(LENGTHS, (*LENGTHS[1:], None), strict=True):
        rows = [
            row
            for row, source in enumerate(data["sources"])
            if low <= len(source.split()) < (high or 10**9)
        ]
        references = [data["references"][row] for row in rows]
        bleu = score([texts[row] for row in rows], references)["bleu"] if rows else None
        found.append((low, high and high - 1, len(rows), bleu))
    return found


def paired_p(some, others):
    """The p of a difference of means, by a paired t-test. 1, which decides nothing, of
    less than 30 pairs."""
    from scipy.stats import ttest_rel

    if len(some) < 30 or list(some) == list(others):
        return 1.0
    return float(ttest_rel(some, others).pvalue)


def blocks(scores):
    """The sums of `BLOCK` neighbours each, and of the rest."""
    starts = range(0, len(scores), BLOCK)
    return [sum(scores[start : start + BLOCK]) for start in starts]


def score(texts, references):
    from zoo.analysis.evaluation import corpus_scores

    found = corpus_scores(texts, references)
    words = sum(len(text.split()) for text in texts)
    wanted = sum(len(several[0].split()) for several in references)
    return {
        **{name: found[name]["score"] for name in ("bleu", "chrf")},
        "length": words / wanted,  # words for each of the (first) reference
    }


class Work:
    """Translations of presets, each made once and kept in a folder.

    Args:
        folder: path of the folder.
        limit: sentences of each test set, None for all.
    """

    def __init__(self, folder, limit=None):
        self.folder, self.limit, self._loaded = folder, limit, {}
        self._code = [digest_of_zoo(DECODING), configured_backend()]
        folder.mkdir(parents=True, exist_ok=True)

    def data(self, corpus, joined=1):
        """Sources and references; `joined` neighbours of the test set in each."""
        data = zoo.data.load(corpus, "en", "de", split=TESTS[corpus])
        sources = list(data.sources)[: self.limit]
        references = [list(several) for several in data.references][: self.limit]
        starts = range(0, len(sources) - joined + 1, joined)
        if joined == 1:
            return {"sources": sources, "references": references}
        return {
            "sources": [" ".join(sources[i : i + joined]) for i in starts],
            "references": [
                [" ".join(several[0] for several in references[i : i + joined])]
                for i in starts
            ],
        }

    def joined_sources(self, joined):
        """How many sources there are, and their mean number of words."""
        words = [len(text.split()) for text in self.data("multi30k", joined)["sources"]]
        return len(words), sum(words) / len(words)

    def p(self, results, one, other, corpus):
        """The p of the difference of BLEU of these two, by sacreBLEU's paired bootstrap
        over the sentences."""
        from sacrebleu.metrics import BLEU
        from sacrebleu.significance import PairedTest

        from zoo.analysis.evaluation import reference_streams

        members = {"ensemble": results.get("ensemble", {}).get("members")}
        systems = [
            (name, self.translate(members.get(name, [name]), corpus))
            for name in (one, other)
        ]
        references = reference_streams(self.data(corpus)["references"])
        test = PairedTest(systems, {"BLEU": BLEU()}, references, "bs", n_samples=1000)
        return test()[1]["BLEU"][1].p_value

    def scores(self, names, corpus, beam=5, joined=1):
        texts = self.translate(names, corpus, beam, joined)
        return score(texts, self.data(corpus, joined)["references"])

    def translate(self, names, corpus, beam=5, joined=1):
        """The translations of a test set by a preset, or by several as an ensemble."""

        def run():
            print(f"{'+'.join(names)}: {corpus} × {joined}, beam {beam}", flush=True)
            return self.model(names).translate(sources, beam_size=beam)

        sources = self.data(corpus, joined)["sources"]
        told = _sha256("\n".join(sources))
        return self._kept(names, told, beam, run)

    def perplexity(self, name):
        from zoo.decoding.score import perplexity_from

        found = self.segments(name)
        return perplexity_from(sum(found["scores"]), found["words"])

    def segments(self, name):
        """Log-probabilities of the segments of the test text, which are read one after
        another, and the number of words and ends of sentences."""
        from zoo.data.word_corpora import load_ptb
        from zoo.decoding.score import document_scores

        def run():
            print(f"{name}: perplexity", flush=True)
            model = self.model([name])
            rows = model.preprocessor.encode(texts)
            scores = document_scores(model, rows)[:, 0].tolist()
            return {"scores": scores, "words": sum(len(row) + 1 for row in rows)}

        texts = load_ptb("test")[: self.limit]
        told = _sha256("\n".join(texts))
        return self._kept([name], told, run)

    def p_of_segments(self, one, other):
        """The p of the difference of perplexity of these two."""
        return paired_p(*(blocks(self.segments(n)["scores"]) for n in (one, other)))

    def recipe(self, name):
        """The results of a recipe on artificial data, trained now."""
        path = ROOT / "recipes" / f"{name}.py"
        code = [digest_of_zoo(TRAINING), path.read_text(encoding="utf-8"), *self._code]
        key = _sha256(json.dumps(code))[:12]
        output = self.folder / f"{name}-{key}"
        results = output / "results.json"
        if not results.exists():
            print(f"{name}: training", flush=True)
            command = [sys.executable, path, "--scale", "small", "--output", output]
            subprocess.run(command, check=True)
        return json.loads(results.read_text(encoding="utf-8"))

    def model(self, names):
        """A preset, or an ensemble; one is held in memory."""
        if tuple(names) not in self._loaded:
            from zoo.decoding import Ensemble

            self._loaded.clear()
            found = [zoo.load(ROOT / "savedmodels" / name) for name in names]
            self._loaded[tuple(names)] = (
                found[0] if len(names) == 1 else Ensemble(found)
            )
        return self._loaded[tuple(names)]

    def _kept(self, names, *what):
        *what, run = what
        files = [digest(ROOT / "savedmodels" / name) for name in names]
        key = _sha256(json.dumps([files, what, self.limit, *self._code]))
        path = self.folder / f"{key[:24]}.json"
        if not path.exists():
            write_bytes(path, json.dumps(run(), ensure_ascii=False).encode())
        return json.loads(path.read_text(encoding="utf-8"))


_FOLDERS = ("decoding", "layers", "models", "tasks", "text")
DECODING = ("*.py", *(f"{name}/**/*.py" for name in _FOLDERS))
TRAINING = ("training/**/*.py", "data/**/*.py")


def _sha256(text):
    return hashlib.sha256(text.encode()).hexdigest()


def digest_of_zoo(parts):
    """Sha256 of the code that the results depend on."""
    found = hashlib.sha256()
    for part in parts:
        for path in sorted((ROOT / "zoo").glob(part)):
            found.update(path.read_bytes())
    return found.hexdigest()


def made(limit):
    """The command, date, commit and machine of the page."""
    import keras

    command = f"KERAS_BACKEND={configured_backend()} python -m tools.papers.reproduce"
    digits, *dirty = commit().split("-")  # "-dirty" where something differs from it
    return {
        "command": command + (f" --limit {limit}" if limit else ""),
        "date": datetime.date.today().isoformat(),
        "commit": "-".join([digits[:7], *dirty]),
        "machine": f"{cpu()}, Keras {keras.__version__}",
    }


if __name__ == "__main__":
    sys.exit(main())

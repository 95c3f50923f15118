"""Compares the committed presets, and writes docs/reproduction.md.

    KERAS_BACKEND=jax python -m tools.papers.reproduce

BLEU of every translator, by the size of the beam; an ensemble against its best member;
alignments side by side; the perplexity of the language models; and the artificial tasks
of 1997, trained on the spot. Translations are kept in a folder (`--work`), by the
sha256 of the presets' files and of the code: a run that was stopped resumes.
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
from tools.papers.page import write_page
from tools.papers.pictures import draw_alignments
from tools.presets.card import cards
from zoo.backend import configured_backend
from zoo.files import write_bytes
from zoo.presets.card import digest, format_task
from zoo.training.config import commit, cpu

TESTS = {"multi30k": "test_2016_flickr", "tatoeba": "test"}
BEAMS = (1, 2, 5, 12)
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
    names = "made bleu chrf beams ensemble perplexity"
    found = {name: results[name] for name in names.split() if name in results}
    tasks = results["artificial"]
    found["nets"] = {
        task: {net: max(value["error"], 0) for net, value in nets.items()}
        for task, nets in tasks["birnn_tasks"].items()
    }
    found["lags"] = tasks["lstm_tasks"]
    found["sentences"] = list(SENTENCES)
    return json.loads(json.dumps(found))  # keys become strings


def draw(work, results, folder):
    """Draws the alignments."""
    details = {
        name: work.model([name]).translate(list(SENTENCES), return_details=True)
        for name in ALIGNED
        if name in results["bleu"]
    }
    draw_alignments(details, folder)


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
        "perplexity": {name: work.perplexity(name) for name in models},
        "artificial": {name: work.recipe(name) for name in ARTIFICIAL},
    }
    for name in translators:
        for corpus in TESTS:
            found = work.scores([name], corpus)
            results["bleu"][name][corpus] = found["bleu"]
            results["chrf"][name][corpus] = found["chrf"]
        beams = {beam: work.scores([name], "multi30k", beam)["bleu"] for beam in BEAMS}
        results["beams"][name] = beams
    if len(recurrent) > 1:
        scores = {corpus: work.scores(recurrent, corpus)["bleu"] for corpus in TESTS}
        results["ensemble"] = {"members": recurrent, "bleu": scores}
    return results


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

    def data(self, corpus):
        """Sources and references of a test set."""
        data = zoo.data.load(corpus, "en", "de", split=TESTS[corpus])
        sources = list(data.sources)[: self.limit]
        references = [list(several) for several in data.references][: self.limit]
        return {"sources": sources, "references": references}

    def scores(self, names, corpus, beam=5):
        """The BLEU and chrF of a preset, or of several as an ensemble."""
        from zoo.analysis.evaluation import corpus_scores

        texts = self.translate(names, corpus, beam)
        found = corpus_scores(texts, self.data(corpus)["references"])
        return {name: found[name]["score"] for name in ("bleu", "chrf")}

    def translate(self, names, corpus, beam=5):
        """The translations of a test set by a preset, or by several as an ensemble."""

        def run():
            print(f"{'+'.join(names)}: {corpus}, beam {beam}", flush=True)
            return self.model(names).translate(sources, beam_size=beam)

        sources = self.data(corpus)["sources"]
        told = _sha256("\n".join(sources))
        return self._kept(names, told, beam, run)

    def perplexity(self, name):
        """The perplexity of the Penn Treebank's test, read as one text."""
        from zoo.data.corpora import load_ptb
        from zoo.decoding.word_methods import document_scores, perplexity_from

        def run():
            print(f"{name}: perplexity", flush=True)
            model = self.model([name])
            rows = model.preprocessor.encode(texts)
            total = float(document_scores(model, rows)[:, 0].sum())
            return perplexity_from(total, sum(len(row) + 1 for row in rows))

        texts = load_ptb("test")[: self.limit]
        return self._kept([name], _sha256("\n".join(texts)), run)

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

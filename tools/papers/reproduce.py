"""Compares the committed presets, and writes docs/reproduction.md.

    KERAS_BACKEND=jax python -m tools.papers.reproduce

BLEU of every translator, by the size of the beam; an ensemble against its best member;
alignments side by side; the perplexity of the language models; and the artificial tasks
of 1997, trained on the spot. Translations are kept in a folder (`--work`), by the
sha256 of the presets' files and of the code: a run that was stopped resumes.
"""

import argparse
import datetime
import functools
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
    arguments = parser.parse_args(argv)
    work, folder = Work(arguments.work), arguments.output / "reproduction"
    results = measure(work, cards(ROOT))
    details = {
        name: load(name).translate(list(SENTENCES), return_details=True)
        for name in ALIGNED
    }
    folder.mkdir(parents=True, exist_ok=True)
    draw_alignments(details, folder)
    text = json.dumps(results, indent=1, ensure_ascii=False)
    write_bytes(folder / "presets.json", text.encode())
    write_page(arguments.output / "reproduction.md")


def measure(work, cards):
    """All figures of the page, which docs/reproduction/presets.json holds."""
    # All of the same text: presets of Tatoeba alone are left out.
    translators = [
        card.name
        for card in cards
        if format_task(card) == "translate en-de"
        and {*TESTS} <= {corpus["name"] for corpus in card.data}
    ]
    recurrent = [name for name in translators if name != "transformer"]
    models = [card.name for card in cards if card.task == "generate"]

    def scores(names, kind="bleu"):
        return {corpus: work.scores(names, corpus)[kind] for corpus in TESTS}

    def beams(name):
        return {b: work.scores([name], "multi30k", b)["bleu"] for b in BEAMS}

    return {
        "made": made(),
        "bleu": {name: scores([name]) for name in translators},
        "chrf": {name: scores([name], "chrf") for name in translators},
        "beams": {name: beams(name) for name in translators},
        "ensemble": {"members": recurrent, "bleu": scores(recurrent)},
        "perplexity": {name: work.perplexity(name) for name in models},
        "nets": {
            task: {net: max(value["error"], 0) for net, value in nets.items()}
            for task, nets in work.recipe("birnn_tasks").items()
        },
        "lags": work.recipe("lstm_tasks"),
        "sentences": list(SENTENCES),
    }


@functools.lru_cache(maxsize=1)
def load(*names):
    """A preset, or an ensemble of several; the last one is kept."""
    from zoo.decoding import Ensemble

    found = [zoo.load(ROOT / "savedmodels" / name) for name in names]
    return found[0] if len(names) == 1 else Ensemble(found)


class Work:
    """Translations of presets, each made once and kept in a folder.

    Args:
        folder: path of the folder.
    """

    def __init__(self, folder):
        self.folder = folder
        self._code = [digest_of_zoo(DECODING), configured_backend()]
        folder.mkdir(parents=True, exist_ok=True)

    def data(self, corpus):
        """Sources and references of a test set."""
        data = zoo.data.load(corpus, "en", "de", split=TESTS[corpus])
        return list(data.sources), [list(several) for several in data.references]

    def scores(self, names, corpus, beam=5):
        """The BLEU and chrF of a preset, or of several as an ensemble."""
        from zoo.analysis.evaluation import corpus_scores

        texts = self.translate(names, corpus, beam)
        found = corpus_scores(texts, self.data(corpus)[1])
        return {name: found[name]["score"] for name in ("bleu", "chrf")}

    def translate(self, names, corpus, beam=5):
        """The translations of a test set by a preset, or by several as an ensemble."""

        def run():
            print(f"{'+'.join(names)}: {corpus}, beam {beam}", flush=True)
            return load(*names).translate(sources, beam_size=beam)

        sources, _ = self.data(corpus)
        return self._kept(run, names, sources, beam)

    def perplexity(self, name):
        """The perplexity of the Penn Treebank's test, read as one text."""
        from zoo.data.corpora import load_ptb

        def run():
            print(f"{name}: perplexity", flush=True)
            return load(name).perplexity(texts, 1, carry_over=True)

        texts = load_ptb("test")
        return self._kept(run, [name], texts)

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

    def _kept(self, run, names, texts, beam=None):
        files = [digest(ROOT / "savedmodels" / name) for name in names]
        key = _sha256(json.dumps([files, texts, beam, *self._code]))
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
    paths = [path for part in parts for path in sorted((ROOT / "zoo").glob(part))]
    return hashlib.sha256(b"".join(path.read_bytes() for path in paths)).hexdigest()


def made():
    """The command, date, commit and machine of the page."""
    import keras

    command = f"KERAS_BACKEND={configured_backend()} python -m tools.papers.reproduce"
    digits, *dirty = commit().split("-")  # "-dirty" where something differs from it
    return {
        "command": command,
        "date": datetime.date.today().isoformat(),
        "commit": "-".join([digits[:7], *dirty]),
        "machine": f"{cpu()}, Keras {keras.__version__}",
    }


if __name__ == "__main__":
    main()

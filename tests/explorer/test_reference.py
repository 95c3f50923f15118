"""The page's tokenizer and search, in TypeScript, against Python's."""

import json
import random

import numpy as np
import pytest

from tests.explorer.node import EXPLORER, run_node
from zoo.decoding.beam_state import LOW, candidates, extend, step
from zoo.presets import find
from zoo.serving.runtime.arrays import ArraySearch, log_sum_exp
from zoo.serving.runtime.pieces import Pieces
from zoo.text import train_tokenizer
from zoo.text.rows import pad_rows

pytestmark = pytest.mark.backend_free

WORDS, LENGTH, STEPS = 9, 4, 6  # of the tables
# Letters with and without marks, Greek, Cyrillic, Hebrew, Arabic, Indian ones, Thai,
# CJK, Hangul, forms that NFKC takes apart, spaces and what is invisible, symbols,
# emoji, modifiers, tags, private letters.
RANGES = """
    20-7e 20-7e 61-7a a0-24f 250-2af 300-36f 370-3ff 400-4ff 590-5ff 600-6ff 900-9ff
    e00-e7f 1100-11ff 1e00-1fff 2000-206f 2070-20cf 2100-218f 2190-23ff 2460-24ff
    2500-27bf 3000-30ff 3130-318f 3200-33ff 4e00-4fff ac00-adff e000-e0ff f900-faff
    fb00-fdff fe00-fe6f ff00-ffef 1d400-1d7ff 1f100-1f2ff 1f300-1f64f 1f900-1f9ff
    20000-200ff e0000-e007f 0-1f 7f-9f
""".split()


def odd_lines(count, seed=7):
    draw = random.Random(seed)
    spans = [tuple(int(x, 16) for x in span.split("-")) for span in RANGES]
    for _ in range(count):
        kinds = draw.sample(spans, draw.randint(1, 3))
        line = "".join(
            chr(draw.randint(*draw.choice(kinds))) for _ in range(draw.randint(0, 24))
        )
        if draw.random() < 0.3:  # words of the vocabulary and spaces between
            line = f"{line} {'  ' * draw.randint(0, 2)}a man {line[::-1]} läuft"
        yield line


# Between bars, since white space counts.
ODD = (
    "||   |\u3000|\u00a0 \u2003|\t\n|▁|▁▁ a|<s>|</s><unk>|\0|a\0b|\ufeffa|\u200b|"
    "a\u200db|\u202e abc|ﬁne ﬀ|½ ⅷ|e\u0301|é|👩‍👩‍👧‍👦 🏳️‍🌈|🇩🇪|\U0001f468\u200d|"
    "ｆｕｌｌ　ｗｉｄｔｈ|"
    "가각힣|각|\U0010ffff|\ufffd|¨ a ¨"
).split("|")
ODD += [" ", "x" * 1000, "AAA" + "\u0301" * 50, "的" * 200]


@pytest.fixture(scope="module")
def reference(tmp_path_factory):
    folder = tmp_path_factory.mktemp("reference")
    (folder / "tokenizers.json").write_text(json.dumps(list(tokenizers(folder))))
    (folder / "searches.json").write_text(json.dumps(searches()))
    return folder


def tokenizers(folder):
    draw = random.Random(8)
    sentences = (EXPLORER.parent / "docs/multi30k/transformer-de-en.txt").read_text(
        "utf-8"
    )
    texts = [*ODD, *sentences.splitlines(), *odd_lines(10_000)]
    nfc = folder / "nfc.spm"
    nfc.write_bytes(train_tokenizer([*ODD, *sentences.splitlines()], 1000))
    presets = [find(name) / "assets" / "tokenizer" for name in ("luong_local", "dates")]
    for path in (*(preset / "vocabulary.spm" for preset in presets), nfc):
        pieces = Pieces(path.read_bytes())
        size = pieces.vocabulary_size()
        rows = [
            [
                draw.choice([1, 4, 5, draw.randrange(size)])
                for _ in range(draw.randint(0, 9))
            ]
            for _ in range(1000)
        ]
        yield {
            "vocabulary": str(path),
            "texts": texts,
            "ids": pieces.tokenize(texts),
            "rows": rows,
            "decoded": pieces.detokenize(rows),
        }


class Table:
    """Logits and weights by position and last token, from tables."""

    def __init__(self, logits, weights):
        self.logits, self.weights = logits, weights

    def encode(self, source_ids):
        return ()

    def start(self, memory):
        return (np.zeros(1, "int32"),)

    def step(self, token_ids, state, memory):
        place = int(state[0][0]) % len(self.logits)
        self.last = self.logits[place][token_ids]
        return self.last, (state[0] + 1,), self.weights[place][token_ids]


class TracingSearch(ArraySearch):
    """A search of one sentence by a `Table` that keeps its tree.

    Attributes:
        tree: the best 2 K extensions of each step: lists of the parent's place, the id,
            "live", "finished" or "dropped", and whether it is of the best hypothesis.
    """

    def _run(self, model, initial, sentences, steps):
        beam, self.tree = initial, []
        nodes, done = [-1] * self.beam_size, []  # of the live and finished hypotheses
        while beam.step < steps and (beam.live > LOW / 2).any():
            before, beam = beam, step(self, model, beam, sentences)
            scores, words, parents = extend(self, model.last, before, sentences)
            parents = np.zeros((1, 1), int) if self.beam_size == 1 else parents
            first = len(self.tree)
            self.grow(model.last, before, sentences, nodes)
            live = [-1] * self.beam_size
            free = self.beam_size - len(done)
            for place, word in enumerate(words[0].tolist()[:free]):
                if not scores[0, place] > LOW / 2:
                    break
                node, parent = first + place, nodes[int(parents[0, place])]
                if parent >= 0:
                    self.tree[parent][2] = "live"
                if word == self.end_id:
                    self.tree[node][2] = "finished"
                    done.append(node)
                else:
                    live[place] = node
            nodes = live
        order = np.argsort(-beam.done[0, : len(done)], kind="stable")
        node = done[order[0]] if done else -1
        while node >= 0:
            self.tree[node][3] = True
            node = self.tree[node][0]
        return beam

    def grow(self, logits, beam, sentences, nodes):
        best, words = candidates(self, logits, beam, sentences)
        own = best - log_sum_exp(logits)  # (K, k)
        sums = (own + beam.live[0][:, None]).reshape(-1)
        for pick in np.argsort(-sums, kind="stable")[: 2 * self.beam_size].tolist():
            if not sums[pick] > LOW / 2:
                break
            word = int(words.reshape(-1)[pick])
            self.tree.append([nodes[pick // own.shape[1]], word, "dropped", False])


def searches():
    """Tables whose values are rough, so that hypotheses tie, and one that is not."""
    draw = np.random.default_rng(3)
    source, models, cases = [7, 5, 8, 3], [], []
    assert len(source) == LENGTH
    for rough in (1.0, 0.5, 0.25, 0.0):
        logits = draw.normal(size=(STEPS, WORDS, WORDS)).astype("float32") * 2
        logits = np.round(logits / rough) * rough if rough else logits
        weights = draw.dirichlet(np.ones(LENGTH) / 2, (STEPS, WORDS)).astype("float32")
        models.append({"logits": logits.tolist(), "weights": weights.tolist()})
        for _ in range(40):
            beam = int(draw.integers(1, 7))
            given = {
                "beamSize": beam,
                "nBest": int(draw.integers(1, beam + 1)),
                "lengthPenalty": float(draw.choice([0, 0.6, 1, 2])),
                "coveragePenalty": float(draw.choice([0, 0, 0.2, 1])),
                "prefix": draw.integers(4, WORDS, draw.choice([0, 0, 1, 3])).tolist(),
                "banned": draw.choice(
                    [4, 5, 6, 7], draw.choice([0, 0, 2]), False
                ).tolist(),
                "trace": True,
            }
            if draw.random() < 0.4:
                given["maxLength"] = len(given["prefix"]) + int(draw.integers(1, 9))
            models_here = Table(logits.astype("float32"), weights)
            cases.append(searched(models_here, len(models) - 1, source, given))
    return {"models": models, "cases": cases}


def searched(table, model, source, given):
    prefix = given["prefix"]
    limit = given.get("maxLength") or 2 * len(source) + 10 + len(prefix)
    search = TracingSearch(
        given["beamSize"],
        given["lengthPenalty"],
        given["coveragePenalty"],
        given["nBest"],
        banned_ids=given["banned"],
    )
    rows = pad_rows([prefix], limit) if prefix else None
    ids, scores = search(table, np.array([source]), np.array([limit]), limit, rows)
    best = given["nBest"]
    found = [row[: 1 + row.index(3)] if 3 in row else row for row in ids[0].tolist()]
    kept = [k for k in range(best) if scores[0, k] > -5e8]
    return {
        "model": model,
        "source": source,
        "options": given,
        "ids": [found[k] for k in kept],
        "scores": [float(scores[0, k]) for k in kept],
        "tree": search.tree,
    }


def test_the_page_s_own_tests_pass(reference):
    """`npm test`, with Python's answers: none of them is skipped."""
    command = ["node_modules/vitest/vitest.mjs", "run", "--reporter=json"]
    done = run_node(*command, check=False, ZOO_REFERENCE=str(reference))
    assert done.stdout, done.stderr[-4000:]
    report = json.loads(done.stdout)
    failures = [
        (test["fullName"], test["failureMessages"])
        for file in report["testResults"]
        for test in file["assertionResults"]
        if test["status"] == "failed"
    ]
    assert not failures, failures
    # A file that fails as a whole, or what no test has caught, ends it otherwise.
    assert done.returncode == 0, (done.stdout + done.stderr)[-4000:]
    assert report["numPassedTests"] >= 3
    assert report["numPendingTests"] == 0

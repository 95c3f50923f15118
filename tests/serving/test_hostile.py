"""Input that no sentence should be: an answer for each, and none for its neighbours."""

import concurrent.futures
import os
import random
from pathlib import Path

import numpy as np
import pytest

from tests.serving.conftest import ask, needs_tensorflow, odd_texts, strings

pytestmark = needs_tensorflow
HOSTILE = {
    "empty": "",
    "spaces": " \t\n\u3000 ",
    "long": "a brown dog waits. " * 5300,  # 100,000 characters
    "one long word": "a" * 100_000,
    "one long unknown word": "日" * 100_000,
    "unknown": "日本語 עברית",
    "control": "\x00\x01\x1b[31m\x7f\x9f",
    "emoji": "👍🏽 👨‍👩‍👧 🏳️‍🌈",
    "right to left": "\u202eשלום\u202c مرحبا",
    "invalid UTF-8": b"a \xff\xfe dog \xc3",
    "noncharacters": "\ufdd0\ufdd1\ufdd2\ufffe a",
    "signs": "'" * 3000 + "a.b.c@" * 3000,
}
NEIGHBOURS = ["a brown dog", "the old man sits down", "er rennt."]


@pytest.mark.parametrize("kind", HOSTILE)
def test_an_answer_for_each_and_its_neighbours_stay(signatures, kind):
    found = signatures["translator"]
    for signature in sorted(set(found) - {"translate"}):  # it is `serving_default`
        several = 2 if signature == "score" else 1
        alone = [ask(found[signature], *[[text]] * several) for text in NEIGHBOURS]
        texts = [*NEIGHBOURS[:2], HOSTILE[kind], NEIGHBOURS[2]]
        mixed = ask(found[signature], *[texts] * several)
        for output, values in mixed.items():
            assert len(values) == 4
            if values.dtype == np.float32:
                # A beam that finds only NaN answers with -1e9; so does the place of
                # a hypothesis that does not exist.
                best = values[:, 0] if output == "scores" else values
                assert np.isfinite(values).all() and (best > -1e8).all()
                for row, single in zip(values[[0, 1, 3]], alone, strict=True):
                    wanted = np.zeros_like(row)  # padded to the longest of the batch
                    own = single[output][0]
                    wanted[tuple(slice(size) for size in own.shape)] = own
                    least = 1e-6 if output == "alignment" else 0
                    np.testing.assert_allclose(row, wanted, rtol=1e-5, atol=least)
                continue
            rows = strings(values)  # valid UTF-8
            for row, single in zip([rows[0], rows[1], rows[3]], alone, strict=True):
                [wanted] = strings(single[output])
                if isinstance(row, list):  # padded to the longest of the batch
                    row, wanted = [w for w in row if w], [w for w in wanted if w]
                assert row == wanted


def test_nothing_to_read_gives_nothing(signatures):
    found = ask(signatures["translator"]["translate_n_best"], ["", " "])
    assert strings(found["translations"]) == [["", "", "", ""]] * 2
    assert found["scores"].tolist() == [[0.0, -1e9, -1e9, -1e9]] * 2


def test_no_texts_give_no_rows(signatures):
    for key, signature in signatures["translator"].items():
        several = 2 if key == "score" else 1
        for tensor in ask(signature, *[[]] * several).values():
            assert tensor.shape[0] == 0


def test_a_large_batch_with_one_very_long_row(signatures):
    texts = odd_texts(7, seed=1) * 73 + ["a brown dog " * 5000]
    random.Random(1).shuffle(texts)
    assert len(texts) == 512
    greedy = signatures["translator"]["greedy"]
    found = dict(zip(texts, strings(ask(greedy, texts)["translation"]), strict=True))
    alone = strings(ask(greedy, sorted(found))["translation"])
    assert [found[text] for text in sorted(found)] == alone


def test_fuzzed_requests_from_eight_threads_leave_memory_flat(signatures):
    """The later half of the rounds adds only noise."""
    rng, score = random.Random(13), signatures["translator"]["score"]
    letters = [chr(code) for code in (32, 97, 98, 233, 8232, 128077)]

    def fuzz(texts):
        return ask(score, texts, texts)["log_probability"].tolist()

    memory = []
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        for _ in range(10):
            sizes = rng.choices(range(30), k=20)
            texts = ["".join(rng.choices(letters, k=size)) for size in sizes]
            first, *others = pool.map(fuzz, [texts] * 16)
            assert others == [first] * 15
            pages = int(Path("/proc/self/statm").read_text().split()[1])
            memory.append(pages * os.sysconf("SC_PAGE_SIZE") / 2**20)
    assert max(memory[5:]) - max(memory[:5]) < 10  # MB

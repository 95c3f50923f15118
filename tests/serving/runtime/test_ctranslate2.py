import shutil

import numpy as np
import pytest

from tests.harness import randomize
from tests.serving.conftest import TEXTS
from tests.serving.runtime.test_onnx import rewrite, same
from zoo.models import Transformer, TransformerPreprocessor, TransformerTranslator
from zoo.serving import export_ctranslate2, runtime
from zoo.text import Tokenizer, train_tokenizer

pytest.importorskip("ctranslate2", reason="it needs the extra `ctranslate2`")
pytestmark = pytest.mark.once  # an export holds arrays, whatever the backend
SOURCES = [*TEXTS, "", "dog 日本", "a"]
FORMS = [("pre", "all", True), ("post", "target", False), ("pre", None, False)]


def make(norm, tie, source_end):
    proto = train_tokenizer(TEXTS, vocabulary_size=30)
    if norm == "post":  # special pieces may have other names
        proto = proto.replace(b"</s>", b"[E1]").replace(b"<s>", b"[S]")
    tokenizer = Tokenizer(proto)
    sizes = {"num_layers": 2, "hidden_dim": 12, "ff_dim": 20, "num_heads": 3}
    backbone = Transformer(30, **sizes, norm=norm, tie_embeddings=tie)
    randomize(backbone, seed=5)
    preprocessor = TransformerPreprocessor(tokenizer, 24, 20, source_end)
    return TransformerTranslator(backbone, preprocessor)


@pytest.fixture(scope="module", params=FORMS, ids=str)
def pair(request, tmp_path_factory):
    task = make(*request.param)
    folder = export_ctranslate2(task, tmp_path_factory.mktemp("ct2") / "tiny")
    return task, runtime.load(folder.parent), folder


def test_translations_are_those_of_keras(pair):
    task, found, _ = pair
    for options in ({}, {"max_length": 4}, {"max_length": 1}):
        options |= {"return_details": True}
        greedy = [x.translate(SOURCES, 1, **options) for x in (found, task)]
        for one, other in zip(*greedy, strict=True):
            same(one, other)
        wide = [
            x.translate(SOURCES, 3, 0.6, n_best=2, **options) for x in (found, task)
        ]
        for one, other in zip(*wide, strict=True):
            assert one[0].score > other[0].score - 1e-4
            scores = [record.score for record in one]
            assert scores == sorted(scores, reverse=True)
            texts = {tuple(record.tokens) for record in one}
            assert len(texts) == len(one) or not one[0].source_tokens


def test_given_translations_are_scored_and_aligned_alike(pair):
    task, found, _ = pair
    targets = ["ein Hund", "", "er", "ein brauner Hund", "a dog", "er"]
    sources = [text for text in SOURCES if text]
    given = sources, targets
    for one, other in zip(found.align(*given), task.align(*given), strict=True):
        same(one, other)
    scores = found.score(*given, batch_size=4)
    np.testing.assert_allclose(scores, task.score(*given), atol=1e-4)


def test_options_that_ctranslate2_lacks_are_named(pair):
    _, found, _ = pair
    for options in (
        {"coverage_penalty": 0.1},
        {"min_length": 2},
        {"banned": "<unk>"},
        {"no_repeat_ngram_size": 2},
        {"prefix": "ein"},
        {"max_length": 1035},
    ):
        [name] = options
        with pytest.raises(ValueError, match=f"CTranslate2 has no equal.*: {name}"):
            found.translate("a dog", **options)
    record = found.translate(TEXTS[0], max_length=1034, return_details=True)
    assert len(record.alignment) == len(record.tokens) == 1033


def truncate(folder):
    content = (folder / "model.bin").read_bytes()
    (folder / "model.bin").write_bytes(content[: len(content) // 2])


SPOILERS = {
    "truncated": (truncate, "model.bin is not the file that was exported"),
    "no_model": (rewrite(lambda m: m["files"].pop("model.bin")), "no model of CTr"),
    "no_positions": (rewrite(lambda m: m.pop("positions")), "damaged: 'positions'"),
}


@pytest.mark.parametrize(("spoil", "message"), SPOILERS.values(), ids=SPOILERS)
def test_a_spoilt_folder_is_refused(pair, tmp_path, spoil, message):
    folder = shutil.copytree(pair[2], tmp_path / "1")
    spoil(folder)
    with pytest.raises(ValueError, match=message):
        runtime.load(folder)

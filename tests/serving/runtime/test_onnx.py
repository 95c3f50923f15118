import json
import shutil

import numpy as np
import pytest

from tests.marks import long
from zoo.decoding import format_alignment
from zoo.serving.runtime import onnx

# Of 0, 4 to 8 and 11 to 16 pieces: Keras's own search compiles for each bucket.
TEXTS = [
    "A man in a blue shirt is standing on a ladder cleaning a window.",
    "",
    "Two dogs play in the snow while a small child watches them.",
    "A dog runs.",
    "qwxz 日本 dog",
    "Three people sit at a table, eat and talk.",
]
OTHERS = """
    bahdanau dates lstmn luong_concat luong_dot luong_global luong_local_m
    luong_location luong_reversed rnn_encoder_decoder seq2seq transformer
""".split()


@pytest.fixture(scope="module")
def pair(export):
    """luong_local in this process, and its export in the runtime."""
    task, folder = export("luong_local")
    return task, onnx.load(folder)


def same(found, wanted):
    """Two records are of the same translation, with the same numbers."""
    assert (found.text, found.tokens) == (wanted.text, wanted.tokens)
    assert found.source_tokens == wanted.source_tokens
    assert found.score == pytest.approx(wanted.score, abs=1e-3)
    assert found.alignment.shape == wanted.alignment.shape
    np.testing.assert_allclose(found.alignment, wanted.alignment, atol=1e-4)
    assert (found.log_probs is None) == (wanted.log_probs is None)
    if found.log_probs is not None:
        np.testing.assert_allclose(found.log_probs, wanted.log_probs, atol=1e-3)


@pytest.mark.parametrize("name", ["luong_local", *map(long, OTHERS)])
def test_translations_are_those_of_keras(export, name):
    task, folder = export(name)
    found = onnx.load(folder)
    texts = TEXTS if name != "dates" else ["3 May 1994", "", "den 12. März 2001", "x"]
    for options in ({"beam_size": 1}, {"beam_size": 5, "n_best": 3}):
        several = options["beam_size"] > 1
        pairs = zip(
            found.translate(texts, return_details=True, **options),
            task.translate(texts, return_details=True, **options),
            strict=True,
        )
        for one, other in pairs:
            records = zip(one, other, strict=True) if several else [(one, other)]
            for record, wanted in records:
                same(record, wanted)


OPTIONS = [
    {},
    {"coverage_penalty": 0.2, "min_length": 40},
    {"prefix": ["Ein", "", "Zwei", "Der", "", ""], "banned": ["Hund", "<unk>"]},
    long({"replace_unknown": True, "beam_size": 2}),
    {"no_repeat_ngram_size": 1, "beam_size": 3},
]


@pytest.mark.parametrize("options", OPTIONS, ids=lambda options: "-".join(options))
def test_every_option_does_the_same(pair, options):
    task, found = pair
    assert found.translate(TEXTS, **options) == task.translate(TEXTS, **options)


def test_given_translations_are_scored_and_aligned_alike(pair):
    task, found = pair
    sources = [text for text in TEXTS if text]
    targets = ["Ein Mann.", "", "Ein Hund rennt.", "Hund", "Drei Leute sitzen da."]
    for one, other in zip(
        found.align(sources, targets), task.align(sources, targets), strict=True
    ):
        same(one, other)
    scores = found.score(sources, targets)
    np.testing.assert_allclose(scores, task.score(sources, targets), atol=1e-3)
    tokens = found.score(sources[0], targets[0], per_token=True)
    assert scores[0] == pytest.approx(tokens.sum(), abs=1e-4)
    wanted = task.perplexity(sources, targets)
    assert found.perplexity(sources, targets) == pytest.approx(wanted, rel=1e-4)


TRANSLATE = """
import zoo
model = zoo.serving.runtime.onnx.load(sys.argv[1])
texts = json.loads(sys.argv[2])
print(json.dumps([model.translate(texts, beam_size=beams) for beams in (1, 5)]))
"""
COMMANDS = """
from zoo.cli import main
for words in json.loads(sys.argv[1]):
    assert main(words) == 0
"""


def test_a_process_without_keras_translates(export, alone):
    task, folder = export("luong_local")
    found = json.loads(alone(TRANSLATE, folder, json.dumps(TEXTS)))
    assert found == [task.translate(TEXTS, beam_size=beams) for beams in (1, 5)]


def test_the_commands_take_an_export_without_keras(export, alone):
    translator, folder = export("luong_local")
    tagger, tagging = export("birnn")
    texts = ["A dog runs.", "Two men sit."]
    runs = [
        ["translate", str(folder), *texts, "--beam", "3"],
        ["translate", str(folder / "1"), texts[0], "--alignments"],
        ["tag", str(tagging), *texts],
    ]
    lines = alone(COMMANDS, json.dumps(runs)).splitlines()
    wanted = translator.translate(texts, beam_size=3)
    assert lines[:2] == wanted
    record = translator.translate(texts[0], return_details=True)
    assert lines[2] == record.text
    drawn = format_alignment(record).rstrip().splitlines()
    assert [line.rstrip() for line in lines[4 : 4 + len(drawn)]] == [
        line.rstrip() for line in drawn
    ]
    tagged = [" ".join(map("/".join, row)) for row in tagger.tag(texts)]
    assert lines[-2:] == tagged


# === Folders ===


@pytest.fixture
def folder(export, tmp_path):
    """A copy of a version's folder."""
    return shutil.copytree(export("luong_local")[1] / "1", tmp_path / "model/1")


def truncate(folder):
    content = (folder / "step.onnx").read_bytes()
    (folder / "step.onnx").write_bytes(content[: len(content) // 2])


def alter(folder):
    content = bytearray((folder / "step.onnx").read_bytes())
    content[len(content) // 2] ^= 1
    (folder / "step.onnx").write_bytes(content)


def rewrite(change):
    def spoil(folder):
        path = folder / "manifest.json"
        manifest = json.loads(path.read_text())
        change(manifest)
        path.write_text(json.dumps(manifest))

    return spoil


def forget_step(manifest):
    del manifest["graphs"]["step"]


SPOILERS = {
    "truncated": (truncate, "step.onnx is not the file that was exported"),
    "altered": (alter, "step.onnx is not the file that was exported"),
    "incomplete": (
        lambda folder: (folder / "vocabulary.spm").unlink(),
        "is not complete: vocabulary.spm",
    ),
    "no_json": (
        lambda folder: (folder / "manifest.json").write_text("{"),
        "should be a version of `zoo export`",
    ),
    "foreign": (rewrite(lambda m: m.update(format="other")), "of the format zoo-onnx"),
    "newer": (rewrite(lambda m: m.update(format_version=2)), "Received: 'zoo-onnx', 2"),
    "another_task": (rewrite(lambda m: m.update(task="sing")), "Received: 'sing'"),
    "other_settings": (rewrite(lambda m: m["settings"].update(x=1)), "is damaged"),
    "no_step": (rewrite(forget_step), "is damaged: 'step'"),
    "list_of_files": (rewrite(lambda m: m.update(files=[])), "is damaged: 'list'"),
    "no_tokenizer": (
        rewrite(lambda m: m["files"].pop("vocabulary.spm")),
        "is damaged: 'vocabulary.spm'",
    ),
}


@pytest.mark.parametrize(("spoil", "message"), SPOILERS.values(), ids=SPOILERS)
def test_a_folder_that_is_not_as_it_was_exported_is_refused(folder, spoil, message):
    spoil(folder)
    with pytest.raises(ValueError, match=message):
        onnx.load(folder.parent)


@pytest.mark.backend_free
def test_no_model_there(tmp_path):
    with pytest.raises(ValueError, match="with a manifest.json in it"):
        onnx.load(tmp_path)
    with pytest.raises(ValueError, match="`threads` must be a positive integer"):
        onnx.load(tmp_path, threads=0)
    with pytest.raises(ValueError, match="`workers` must be a positive integer"):
        onnx.load(tmp_path, workers=0)

import json
import shutil
from types import SimpleNamespace

import numpy as np
import pytest

from tests.harness import randomize
from tests.marks import long
from tests.runtime.conftest import needs_extra
from tests.runtime.test_onnx import COMMANDS, TEXTS, TRANSLATE, same
from zoo.models import Transformer, TransformerPreprocessor, TransformerTranslator
from zoo.runtime import litert, onnx
from zoo.runtime.arrays import ArraySearch
from zoo.runtime.litert import Buckets, ByLength, BySentence, FirstStates
from zoo.serving import export_litert

SHORT = ["a brown dog", "the old man sits down", "", "dog", "er rennt. the dog waits."]
PRESETS = """
    bahdanau dates lstmn luong_concat luong_dot luong_global luong_local luong_local_m
    luong_location luong_reversed rnn_encoder_decoder seq2seq transformer
""".split()


# === Without LiteRT ===
class FakeGraph:
    """A step for one sentence: `rows` tokens, states (rows, 2), a memory (1, 3)."""

    inputs = ("token_ids", "state_0", "memory_0")

    def __init__(self, rows):
        self.rows, self.described, self.calls = rows, {"inputs": []}, 0

    def __call__(self, arrays):
        self.calls += 1
        shapes = {name: arrays[name].shape for name in self.inputs}
        wanted = {"token_ids": (self.rows,), "state_0": (self.rows, 2)}
        assert shapes == {**wanted, "memory_0": (1, 3)}
        logits = arrays["token_ids"][:, None] * arrays["memory_0"]
        return {"logits": logits, "new_state_0": arrays["state_0"] + 1}


@pytest.mark.backend_free
@pytest.mark.parametrize(
    ("sentences", "rows", "calls"), [(3, 1, 3), (1, 5, 1), (3, 2, 3), (2, 7, 4)]
)
def test_sentences_and_rows_of_any_number(sentences, rows, calls):
    one, several = FakeGraph(1), FakeGraph(5)
    tokens = np.arange(1, 1 + sentences * rows)
    states = np.arange(2.0 * len(tokens)).reshape(-1, 2)
    memory = np.arange(3.0 * sentences).reshape(-1, 3)
    outputs = BySentence([one, several])(
        {"token_ids": tokens, "state_0": states, "memory_0": memory, "length": 7}
    )
    wanted = tokens[:, None] * np.repeat(memory, rows, axis=0)
    np.testing.assert_array_equal(outputs["logits"], wanted)
    np.testing.assert_array_equal(outputs["new_state_0"], states + 1)
    assert (one.calls, several.calls) == ((calls, 0) if rows == 1 else (0, calls))


def encoder(length):
    graph = FakeGraph(1)
    graph.length = length
    return {"encode": graph, "start": graph, "step": graph}


@pytest.mark.backend_free
def test_the_smallest_graphs_that_fit_are_chosen():
    for room in (None, 42), (None, None):
        buckets = Buckets([(16, room[1], encoder(16)), (32, None, encoder(32))])
        for width, length, wanted in (
            (9, 42, 16),
            (16, 43, 32 if room[1] else 16),
            (17, 1, 32),
        ):
            graphs, ids = buckets.fit(np.full((2, width), 7), length)
            assert graphs.graphs["encode"].length == wanted
            assert ids.shape == (2, wanted) and (ids[:, width:] == 0).all()
    with pytest.raises(ValueError, match="room for 32 pieces .* Received: 33 pieces"):
        buckets.fit(np.ones((1, 33)), 1)
    buckets = Buckets([(16, 42, encoder(16))])
    with pytest.raises(ValueError, match="16 pieces .* and 42 steps .* 43 steps"):
        buckets.fit(np.ones((1, 9)), 43)


def reader(length):
    """A graph for texts of a length, whose state has a place more."""

    def run(arrays):
        return arrays

    shapes = {"token_ids": [1, length], "state_0": [1, 2, length + 1]}
    inputs = [{"name": name, "shape": shape} for name, shape in shapes.items()]
    run.described = {"inputs": inputs}
    return run


@pytest.mark.backend_free
def test_texts_are_padded_to_the_first_graph_with_room():
    graph = ByLength([reader(3), reader(7)])
    for width, places, wanted in ((2, 4, 3), (3, 4, 3), (2, 8, 7), (4, 8, 7)):
        ids = np.arange(1, 1 + 2 * width, dtype="int32").reshape(2, width)
        ids = np.pad(ids, [(0, 0), (0, 5)])
        states = np.ones((2, 2, places))
        found = graph({"token_ids": ids, "state_0": states, "other": ids})
        assert set(found) == {"token_ids", "state_0"}
        assert found["token_ids"].shape == (2, wanted)
        np.testing.assert_array_equal(found["token_ids"], ids[:, :wanted])
        np.testing.assert_array_equal(found["state_0"], states)
    with pytest.raises(ValueError, match=r"of \[\[7\].*Received: \[\[9\]"):
        graph({"token_ids": np.ones((1, 9), "int32"), "state_0": np.ones((1, 2, 8))})


@pytest.mark.backend_free
def test_first_states_are_those_of_the_room_and_the_texts():
    def graph(size):
        return lambda arrays: {"state_0": np.arange(size, dtype="float32")[None]}

    grow = FirstStates([(4, graph(5)), (9, graph(10))])
    for length, size in ((4, 5), (5, 10)):
        found = grow({"batch": np.array(3), "length": np.array(length)})
        np.testing.assert_array_equal(found["state_0"], [np.arange(size)] * 3)
    with pytest.raises(ValueError, match="a `max_length` of 9. Received: 10"):
        grow({"batch": np.array(3), "length": np.array(10)})
    alike = FirstStates([(None, graph(2)), (None, graph(2))])
    assert alike({"batch": 1, "length": 10**6})["state_0"].shape == (1, 2)


@pytest.mark.backend_free
def test_a_translation_has_the_room_of_the_last_bucket(monkeypatch):
    calls = []
    monkeypatch.setattr(
        ArraySearch, "__call__", lambda self, *given: calls.append(given)
    )
    model = SimpleNamespace(
        backbone=Buckets([(8, 26, encoder(8)), (16, 42, encoder(16))])
    )
    sources, limits = np.full((2, 9), 7), np.array([50, 30])
    prefix = np.zeros((2, 50), "int32")
    prefix[0, :41] = 5
    litert.BucketSearch(2)(model, sources, limits, 50, prefix)
    _, ids, found, steps, cut = calls.pop()
    assert ids.shape == (2, 16) and steps == 42
    assert found.tolist() == [42, 30] and cut.shape == (2, 42)
    prefix[0, 41] = 5
    with pytest.raises(ValueError, match="among the 42 steps .* one of 42 pieces"):
        litert.BucketSearch(2)(model, sources, limits, 50, prefix)
    litert.BucketSearch(2)(model, sources, limits, 42)
    assert calls.pop()[2] is limits


# === With LiteRT ===
@pytest.fixture(scope="module")
def folder(graphs):
    """An untrained translator's export of two buckets, for 8 and 24 pieces."""
    needs_extra("litert")
    return graphs("translator", "litert")


@pytest.fixture(scope="module")
def pair(tasks, folder):
    """The translator in this process, and its export in the runtime."""
    return tasks["translator"], litert.load(folder)


def test_records_are_those_of_keras(pair):
    task, found = pair
    assert len({len(ids) > 8 for ids in task.preprocessor.encode(SHORT)}) == 2
    for beam in (1, 5):
        options = {"beam_size": beam, "max_length": 9, "return_details": True}
        records, wanted = (x.translate(SHORT, **options) for x in (found, task))
        for record, other in zip(records, wanted, strict=True):
            same(record, other)
        assert len({record.text for record in wanted}) > 1


OPTIONS = [
    {"beam_size": 7, "n_best": 4},
    long({"beam_size": 2, "batch_size": 2, "length_penalty": 0.0}),
    long({"coverage_penalty": 0.2, "length_normalization": "plain", "min_length": 5}),
    long({"prefix": "ein", "beam_size": 3}),
    long({"replace_unknown": True, "banned": ["n"]}),
]


@pytest.mark.parametrize("options", OPTIONS, ids=lambda options: "-".join(options))
def test_every_option_does_the_same(pair, options):
    wanted, found = (
        model.translate(SHORT, **{"max_length": 9, **options}) for model in pair
    )
    assert found == wanted


def test_given_translations_are_scored_and_aligned_alike(pair):
    task, found = pair
    sources = [text for text in SHORT if text]
    targets = ["ein brauner Hund rennt.", "", "er rennt. er rennt. er rennt.", "ein"]
    for one, other in zip(
        found.align(sources, targets), task.align(sources, targets), strict=True
    ):
        same(one, other)
    scores = found.score(sources, targets)
    np.testing.assert_allclose(scores, task.score(sources, targets), atol=1e-4)


def test_a_source_is_cut_where_the_largest_graphs_end(pair):
    text = "the old man waits. " * 9
    with pytest.warns(UserWarning, match="1 of 1 texts have more than 24 pieces"):
        found = pair[1].translate(text, max_length=5)
    with pytest.warns(UserWarning, match="1 of 1 texts have more than 24 pieces"):
        assert found == pair[0].translate(text, max_length=5)


def test_a_state_that_grows_has_a_limit(pair, tmp_path):
    tokenizer = pair[0].preprocessor.tokenizer
    sizes = {"num_layers": 1, "hidden_dim": 8, "num_heads": 2, "ff_dim": 12}
    backbone = randomize(Transformer(tokenizer.vocabulary_size(), **sizes), seed=4)
    task = TransformerTranslator(backbone, TransformerPreprocessor(tokenizer, 24, 20))
    found = litert.load(export_litert(task, tmp_path / "tiny", lengths=(12,)))
    options = {"beam_size": 2, "return_details": True}
    records, wanted = (x.translate(SHORT[::3], **options) for x in (found, task))
    for record, other in zip(records, wanted, strict=True):
        same(record, other)
    longest = found.translate("dog", max_length=34, min_length=34)
    assert found.translate("dog", max_length=99, min_length=34) == longest
    with pytest.raises(ValueError, match="and 34 steps of a target. Received: "):
        found.score("dog", "dog " * 40)


@pytest.mark.parametrize("name", [*map(long, PRESETS)])
def test_translations_of_presets_are_those_of_keras(export, name):
    task, folder = export(name, "litert")
    found = litert.load(folder)
    texts = TEXTS if name != "dates" else ["3 May 1994", "", "den 12. März 2001", "x"]
    for beam in (1, 5):
        records = found.translate(texts, beam, return_details=True)
        wanted = task.translate(texts, beam, return_details=True)
        for record, other in zip(records, wanted, strict=True):
            same(record, other)


@pytest.fixture
def load(graphs):
    """Function that loads a model's export for texts of 4 and 12 words."""
    needs_extra("litert")
    return lambda name: litert.load(graphs(name, "litert"))


WORDS = ["a dog", "", "the cat sees a dog runs a cat", "dog", "runs runs runs"]


@pytest.mark.filterwarnings("ignore:.*were cut")
def test_a_language_model_s_buckets(tasks, load):
    task = tasks["language_model"]  # an LSTMN, whose state grows
    found = load("language_model")
    for length in (4, 5, 12):
        wanted = task.generate(WORDS, max_length=length)
        assert found.generate(WORDS, length) == wanted
        assert found.generate(WORDS, length, batch_size=2) == wanted
    assert found.generate("a dog") == task.generate("a dog")
    assert found.generate("a dog", top_k=1) == task.generate("a dog")
    np.testing.assert_allclose(found.score(WORDS), task.score(WORDS), atol=1e-4)
    wanted = task.perplexity(WORDS)
    assert found.perplexity(WORDS) == pytest.approx(wanted, rel=1e-4)
    with pytest.raises(ValueError, match="a `max_length` of 12. Received: 13"):
        found.generate("a dog", 13)
    with pytest.raises(ValueError, match="room for inputs of .*12"):
        found.score("a dog " * 8)


def test_a_tagger_s_buckets(tasks, load):
    task = tasks["tagger"]
    found, texts = load("tagger"), [*WORDS, "A dog runs."]
    assert len({tag for row in task.tag(texts) for _, tag in row}) > 1
    assert found.tag(texts) == task.tag(texts)
    assert found.tag(texts, batch_size=1) == task.tag(texts)
    with pytest.raises(ValueError, match="This export has room for"):
        found.tag("A dog runs. " * 5)


# === The folder ===
def test_a_process_without_keras_translates(pair, folder, alone):
    runs = [["translate", str(folder), "a dog", "the old man", "--max-length=9"]]
    code = TRANSLATE.replace("onnx.load", "load")
    found = json.loads(alone(code, folder, json.dumps(SHORT), more="onnxruntime"))
    assert found == [pair[1].translate(SHORT, beam_size=beams) for beams in (1, 5)]
    lines = alone(COMMANDS, json.dumps(runs), more="onnxruntime").splitlines()
    assert lines == pair[1].translate(["a dog", "the old man"], max_length=9)


def test_another_program_needs_only_the_manifest(pair, folder):
    """The loop that docs/serving.md has in Kotlin."""
    from ai_edge_litert.interpreter import Interpreter

    task, found = pair
    interpreter = Interpreter(str(folder / "1/model.tflite"))
    manifest = json.loads((folder / "1/manifest.json").read_text())

    def run(signature, given):
        names = [tensor["name"] for tensor in manifest["graphs"][signature]["inputs"]]
        runner = interpreter.get_signature_runner(signature)
        return runner(**{name: given[name] for name in names})

    [source] = task.preprocessor.encode("a dog")
    lengths = [bucket["source"] for bucket in manifest["buckets"]]
    length = next(length for length in lengths if length >= len(source))
    ids = np.zeros((1, length), "int32")
    ids[0, : len(source)] = source
    memory = run(f"encode_{length}", {"source_ids": ids})
    state = run(f"start_{length}", memory)
    token, written = 2, []
    while len(written) < 2 * len(source) + 9:
        given = {"token_ids": np.array([token], "int32"), **memory, **state}
        outputs = run(f"step_{length}", given)
        token = int(outputs["logits"].argmax())
        if token == 3:
            break
        written.append(token)
        state = {name: outputs[f"new_{name}"] for name in state}
    assert task.preprocessor.decode([written]) == found.translate(["a dog"], 1)


def spoil_file(folder):
    content = bytearray((folder / "model.tflite").read_bytes())
    content[len(content) // 2] ^= 1
    (folder / "model.tflite").write_bytes(content)


def spoil_manifest(change):
    def spoil(folder):
        path = folder / "manifest.json"
        manifest = json.loads(path.read_text())
        change(manifest)
        path.write_text(json.dumps(manifest))

    return spoil


SPOILERS = {
    "altered": (spoil_file, "model.tflite is not the file that was exported"),
    "other_inputs": (
        spoil_manifest(lambda m: m["graphs"]["step_8"]["inputs"].pop()),
        "step_8 should have the inputs and outputs",
    ),
    "no_bucket": (spoil_manifest(lambda m: m.pop("buckets")), "damaged: 'buckets'"),
    "no_signature": (spoil_manifest(lambda m: m["graphs"].pop("step_8")), "damaged"),
    "another_task": (spoil_manifest(lambda m: m.update(task="sum")), "Received: 'sum'"),
    "onnx": (
        spoil_manifest(lambda m: m.update(format="zoo-onnx")),
        "should be an export to LiteRT; zoo.runtime.onnx loads it",
    ),
}


@pytest.mark.parametrize(("spoil", "message"), SPOILERS.values(), ids=SPOILERS)
def test_a_folder_that_is_not_as_it_was_exported_is_refused(
    folder, tmp_path, spoil, message
):
    copy = shutil.copytree(folder, tmp_path / "model")
    spoil(copy / "1")
    with pytest.raises(ValueError, match=message):
        litert.load(copy)


def test_onnx_runtime_is_not_given_it(folder):
    with pytest.raises(ValueError, match="export to ONNX; zoo.runtime.litert loads it"):
        onnx.load(folder)

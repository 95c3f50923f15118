import keras
import numpy as np
import pytest
from keras import ops

from tests.harness import by_hand
from zoo.decoding import BeamSearch, Translation, search_ids
from zoo.models import LuongTranslator

START, END = 2, 3
BUCKETS = {8, 16, 24}  # the lengths that the tests' sentences fall into


@pytest.fixture(scope="module")
def lines(translator, texts):
    """Each text translated in a batch of its own, greedily."""
    return translator.translate(texts, beam_size=1, max_length=9, batch_size=1)


# === Shapes of the answer ===


def test_a_list_gives_a_list_in_its_order(translator, texts, lines):
    order = [7, 2, 0, 4, 1, 3, 6, 5]
    found = translator.translate([texts[i] for i in order], beam_size=1, max_length=9)
    assert found == [lines[i] for i in order]
    assert len(set(found)) > 3  # or the order would not show


def test_the_batch_size_changes_nothing(translator, texts, lines):
    options = {"beam_size": 1, "max_length": 9, "batch_size": 3}
    assert translator.translate(texts, **options) == lines


def test_a_str_gives_a_str_and_no_text_no_translation(translator, texts, lines):
    assert translator.translate(texts[2], beam_size=1, max_length=9) == lines[2]
    assert translator.translate([texts[2]], beam_size=1, max_length=9) == [lines[2]]
    assert translator.translate([]) == []
    assert translator.translate([], n_best=2, return_details=True) == []


@pytest.mark.once
def test_n_best_gives_a_list_for_each_text(translator, texts):
    options = {"beam_size": 4, "max_length": 9, "batch_size": 1}
    single = translator.translate(texts[2], n_best=3, **options)
    several = translator.translate(texts[1:3], n_best=3, **options)
    assert len(single) == 3 and all(isinstance(text, str) for text in single)
    assert several[1] == single and len(several) == 2
    records = translator.translate(texts[2], n_best=3, return_details=True, **options)
    assert [record.text for record in records] == single
    scores = [record.score for record in records]
    assert scores == sorted(scores, reverse=True)
    # Wanting one hypothesis only may stop the search earlier, with the same best.
    assert translator.translate(texts[2], **options) == single[0]


@pytest.mark.parametrize("blank", ["", " ", " \t\n "])
def test_a_blank_text_translates_to_nothing(translator, texts, lines, blank):
    options = {"beam_size": 1, "max_length": 9}
    assert translator.translate(blank, **options) == ""
    assert translator.translate([blank, texts[4], blank], **options) == [
        "",
        lines[4],
        "",
    ]
    assert translator.translate(blank, beam_size=4, n_best=2) == ["", ""]
    record = translator.translate(blank, return_details=True, **options)
    assert record.text == "" and record.score == 0.0
    assert record.tokens == [] and record.source_tokens == []
    assert record.alignment.shape == (0, 0)


# === Details ===


def test_details_agree_with_stepping_through_the_model(translator, texts):
    records = translator.translate(
        texts, beam_size=1, length_penalty=0.0, max_length=9, return_details=True
    )
    preprocessor = translator.preprocessor
    tokenizer = preprocessor.tokenizer
    begin, step = by_hand(translator, width=24)
    for row in (0, 2):
        record = records[row]
        assert isinstance(record, Translation)
        source = preprocessor.encode([texts[row]])[0]
        assert record.source_tokens == preprocessor.pieces(source)
        memory, state = begin(source)
        token, score = START, 0.0
        words, alignment = [], []
        while token != END:
            logits, state, weights = step(token, state, memory)
            logits = ops.convert_to_numpy(logits)[0].astype("float64")
            token = END if len(words) == 8 else int(np.argmax(logits))
            score += logits[token] - np.log(np.exp(logits).sum())
            if token != END:
                words.append(token)
                alignment.append(ops.convert_to_numpy(weights)[0, : len(source)])
        assert record.tokens == [tokenizer.id_to_token(word) for word in words]
        assert record.text == preprocessor.decode([words])[0]
        assert record.score == pytest.approx(score, rel=1e-4)
        assert isinstance(record.alignment, np.ndarray)
        assert record.alignment.shape == (len(words), len(source))
        assert words  # or there would be nothing to compare
        np.testing.assert_allclose(record.alignment, alignment, atol=1e-5)


# === Length ===


def test_without_max_length_twice_the_source_and_ten(translator):
    """A model that never ends by itself uses its limit up, not its bucket's."""
    readout = translator.backbone.output_layer.kernel
    values = ops.convert_to_numpy(readout)
    # Words 5 and 6 have opposite logits, so that one is above the end's 0.
    silent = np.zeros_like(values)
    silent[:, 5], silent[:, 6] = values[:, 5], -values[:, 5]
    readout.assign(silent)
    sources = [[4] * 3, [5] * 9, [6] * 7]
    try:
        found = search_ids(translator, sources, BeamSearch(1, 0.0))
    finally:
        readout.assign(values)
    assert [len(ids) + 1 for ((ids, _),) in found] == [16, 28, 24]


@pytest.mark.once
def test_min_length_counts_the_end_token(terse, texts):
    options = {"beam_size": 5, "length_penalty": 0.0, "max_length": 9}
    options["return_details"] = True
    free = terse.translate(texts, **options)
    found = terse.translate(texts, min_length=9, **options)
    assert min(len(record.tokens) for record in free) < 8
    assert {len(record.tokens) for record in found} == {8}
    # The usual limit gives way: a source of 3 pieces or so has 16 or so.
    record = terse.translate("ein", beam_size=1, min_length=60, return_details=True)
    assert len(record.tokens) == 59


# === Compilation ===


def test_one_program_for_each_length_bucket(translator, texts, monkeypatch):
    traces = []
    search = BeamSearch.__call__

    def counted(self, model, source_ids, *others, **given):
        traces.append(tuple(source_ids.shape))
        return search(self, model, source_ids, *others, **given)

    monkeypatch.setattr(BeamSearch, "__call__", counted)
    monkeypatch.setattr("zoo.decoding.compiled._cores", lambda: 1)
    backbone = type(translator.backbone).from_config(translator.backbone.get_config())
    clone = LuongTranslator(backbone, translator.preprocessor)
    sizes = [len(ids) for ids in translator.preprocessor.encode(texts)]
    buckets = {min(b for b in BUCKETS if b >= size) for size in sizes}
    assert len(buckets) >= 2 and len(set(sizes)) > len(buckets)

    first = clone.translate(texts, beam_size=1, batch_size=1)
    # Torch, which compiles nothing, has a function and a traced step of each.
    each = 2 if keras.backend.backend() == "torch" else 1
    assert len(clone.backbone.__dict__["_compiled"][1]) == each * len(buckets)
    assert {shape[1] for shape in traces} <= buckets | {None}
    if keras.backend.backend() != "torch":
        assert len(traces) == len(buckets)
        assert clone.translate(texts[::-1], beam_size=1, batch_size=1) == first[::-1]
        assert len(traces) == len(buckets)  # other lengths, the same programs
    clone.translate(texts, beam_size=1, batch_size=1)
    # Nor does another penalty need another one.
    before = len(traces)
    clone.translate(texts, beam_size=1, batch_size=1, length_penalty=0.5)
    assert keras.backend.backend() == "torch" or len(traces) == before
    assert len(clone.backbone.__dict__["_compiled"][1]) == each * len(buckets)


# === What is refused ===


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_best": 6}, "n_best=6, beam_size=5"),
        ({"max_length": 0}, "max_length=0"),
        ({"min_length": 6, "max_length": 5}, "min_length=6, max_length=5"),
        ({"batch_size": 0}, "batch_size=0"),
        ({"texts": ["a", 3]}, r"texts\[1\] must be a str"),
    ],
)
def test_bad_values_are_refused_before_any_computation(
    translator, monkeypatch, arguments, message
):
    monkeypatch.setattr(BeamSearch, "__call__", None)
    with pytest.raises((ValueError, TypeError), match=message):
        translator.translate(**{"texts": ["a dog"], **arguments})


def test_a_model_of_nan_is_reported(translator, texts):
    readout = translator.backbone.output_layer.kernel
    values = ops.convert_to_numpy(readout)
    readout.assign(values * np.nan)
    try:
        translator.compile(sampler=BeamSearch(2))
        with pytest.raises(ValueError, match=r"source_ids\[0\].*finite"):
            translator.generate(texts[2], max_length=9)
    finally:
        translator.compile()
        readout.assign(values)

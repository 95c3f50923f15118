import keras
import numpy as np
import pytest
from keras import ops

from tests.harness import by_hand, randomize
from zoo.decoding import BeamSearch, Translation, score_ids, search_ids
from zoo.decoding.translating import source_words
from zoo.models import Luong, LuongPreprocessor, LuongTranslator
from zoo.text import Tokenizer, train_tokenizer

START, END = 2, 3
BUCKETS = {8, 16, 24}  # the lengths that the tests' sentences fall into
OPTIONS = {"beam_size": 3, "max_length": 9, "length_penalty": 0.0}
DETAILS = {**OPTIONS, "return_details": True}


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


# === Prefixes ===


@pytest.mark.once
def test_a_translation_begins_with_its_prefix(terse, texts):
    records = terse.translate(texts, prefix="ein hund", n_best=2, **DETAILS)
    best = [record for found in records for record in found]
    assert len(best) > len(texts)
    assert all(record.text.startswith("ein hund") for record in best)
    assert len({record.text for record in best}) > 3
    alone = terse.translate(texts[3], prefix="ein hund", **OPTIONS)
    assert alone == records[3][0].text
    assert terse.translate("", prefix="ein", **OPTIONS) == ""
    assert terse.translate([], prefix="ein") == []
    assert terse.translate(texts, prefix="", **OPTIONS) == terse.translate(
        texts, **OPTIONS
    )


@pytest.mark.once
def test_a_prefix_longer_than_the_usual_limit(translator, terse):
    prefix = "hund " * 30
    [own] = translator.preprocessor.encode_targets([prefix])
    # A model that ends nothing by itself.
    found = translator.translate("ein", 2, prefix=prefix, return_details=True)
    assert found.text.startswith(prefix.strip())
    source = len(found.source_tokens)
    assert len(own) < len(found.tokens) < len(own) + 2 * source + 10
    ids = terse.preprocessor.encode(["ein"])
    with pytest.raises(ValueError, match=r"prefix\[0\] of 5 pieces, max_length=5"):
        search_ids(terse, ids, BeamSearch(1), max_length=5, prefixes=[[4] * 5])


# === Banned pieces ===


@pytest.mark.once
def test_banned_pieces_are_not_written(terse, texts):
    vocabulary = terse.preprocessor.tokenizer
    free = terse.translate(texts, **DETAILS)
    written = {token for record in free for token in record.tokens}
    banned = sorted(written - {"▁"})[::2]
    found = terse.translate(texts, banned=banned, **DETAILS)
    tokens = {token for record in found for token in record.tokens}
    assert banned and tokens and not tokens & set(banned)
    # What is written is as probable as ever.
    ids = [[vocabulary.token_to_id(x) for x in record.tokens] for record in found]
    log_probs = score_ids(terse, terse.preprocessor.encode(texts), ids)
    scores = [record.score for record in found]
    np.testing.assert_allclose([x.sum() for x in log_probs], scores, rtol=1e-4)
    # A prefix may have them.
    [ids] = terse.preprocessor.encode_targets("hund")
    pieces = terse.preprocessor.pieces(ids)
    record = terse.translate(texts[0], prefix="hund", banned=pieces, **DETAILS)
    assert record.tokens[: len(pieces)] == pieces
    assert not set(record.tokens[len(pieces) :]) & set(pieces)


# === Unknown words ===


@pytest.fixture(scope="module")
def reader():
    """A translator with a vocabulary of words."""
    texts = ["a dog runs", "ein hund rennt", "a cat sleeps", "die katze rennt"]
    tokenizer = Tokenizer(train_tokenizer(texts, 14, model_type="word"))
    sizes = {"num_layers": 1, "hidden_dim": 6, "embedding_dim": 5}
    backbone = Luong(14, **sizes, attention="global")
    randomize(backbone, scale=1.0, seed=3)
    return LuongTranslator(backbone, LuongPreprocessor(tokenizer, source_end=True))


@pytest.mark.once
def test_an_unknown_word_becomes_the_one_that_is_attended_to(reader):
    texts = ["a Mops runs", "Uhu sleeps", "a dog runs"]
    # Nothing is left but unknown words.
    known = reader.preprocessor.tokenizer.get_vocabulary()[4:]
    options = {**DETAILS, "banned": ["<pad>", "<s>", *known], "min_length": 4}
    records = reader.translate(texts, **options)
    found = reader.translate(texts, replace_unknown=True, **options)
    taken = []
    for old, new, text in zip(records, found, texts, strict=True):
        assert set(old.tokens) == {"<unk>"} and len(old.tokens) >= 3
        # Not its end token: a word.
        rows = old.alignment[:, : len(text.split())]
        wanted = [f"▁{text.split()[place]}" for place in rows.argmax(axis=1)]
        assert new.tokens == wanted
        assert new.text == " ".join(token[1:] for token in wanted)
        assert new.score == old.score
        taken += wanted
    assert "▁Mops" in taken or "▁Uhu" in taken
    plain = {**options, "return_details": False}
    assert reader.translate(texts, replace_unknown=True, **plain) == [
        record.text for record in found
    ]
    best = reader.translate(texts, replace_unknown=True, n_best=2, **plain)
    assert [first for first, _ in best] == [record.text for record in found]


@pytest.mark.once
def test_a_word_is_more_than_its_unknown_piece(terse):
    [ids] = terse.preprocessor.encode(["a dogßX"])
    [words] = source_words(terse.preprocessor, ["a dogßX"], [ids])
    assert words[-1] == "dogßX" and set(words) == {"a", "dogßX"}


# === What is refused ===


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_best": 6}, "n_best=6, beam_size=5"),
        ({"max_length": 0}, "max_length=0"),
        ({"min_length": 6, "max_length": 5}, "min_length=6, max_length=5"),
        ({"batch_size": 0}, "batch_size=0"),
        ({"texts": ["a", 3]}, r"texts\[1\] must be a str"),
        ({"prefix": "ein hund rennt", "max_length": 3}, r"prefix\[0\] of \d+ pieces"),
        ({"prefix": ["ein"]}, "Received: 1 prefixes and 2 texts"),
        ({"prefix": ["ein", 3]}, r"prefix\[1\] must be a str"),
        ({"prefix": "Uhu"}, "known to the vocabulary. Received: 'Uhu'"),
        ({"banned": ["ein", "nobody"]}, r"banned\[1\]='nobody'"),
        ({"banned": ""}, r"banned\[0\]=''"),
        ({"banned": "</s>"}, r"banned_ids=\[3\]"),
    ],
)
def test_bad_values_are_refused_before_any_computation(
    reader, monkeypatch, arguments, message
):
    monkeypatch.setattr(BeamSearch, "__call__", None)
    with pytest.raises((ValueError, TypeError), match=message):
        reader.translate(**{"texts": ["a dog", "a cat"], **arguments})


def test_a_model_of_nan_is_reported(translator, texts):
    readout = translator.backbone.output_layer.kernel
    values = ops.convert_to_numpy(readout)
    readout.assign(values * np.nan)
    try:
        with pytest.raises(ValueError, match=r"texts\[0\].*finite"):
            translator.translate(texts[2], beam_size=2, max_length=9)
    finally:
        readout.assign(values)

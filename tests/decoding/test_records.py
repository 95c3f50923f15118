import dataclasses
import json

import numpy as np
import pytest

from zoo.decoding import Caption, Translation, format_alignment
from zoo.decoding.records import SHADES_KEY

pytestmark = pytest.mark.backend_free


def record(tokens, source_tokens, alignment):
    return Translation("text", -1.0, tokens, source_tokens, np.array(alignment))


@pytest.mark.parametrize(
    ("tokens", "source", "weights", "grid"),
    [
        (
            ["▁Hun", "d"],
            ["▁the", "▁do", "g"],
            [[0.0, 0.99, 0.01], [0.3, 0.3, 0.4]],
            ["    ┌ the", "    │ ┌ do", "    │ │ ┌ -g", "Hun   █", " -d ░ ░ ▒"],
        ),
        (  # wide characters take two columns
            ["▁犬", "走", "e\u0301a"],
            ["▁a"],
            np.ones((3, 1)),
            ["    ┌ a", " 犬 █", " 走 █", "-e\u0301a █"],
        ),
        (  # lines from right to left keep their cells in order
            ["▁كلب", "▁a"],
            ["▁b", "▁הכלב"],
            np.eye(2),
            ["    ┌ b", "\u200e    │ ┌ הכלב", "\u200eكلب █", "  a   █"],
        ),
        (  # characters have no dash
            ["▁", "5"],
            ["▁", "M", "a", "y"],
            np.ones((2, 4)),
            ["  ┌ ␣", "  │ ┌ M", "  │ │ ┌ a", "  │ │ │ ┌ y", "␣ █ █ █ █", "5 █ █ █ █"],
        ),
        ([], ["▁a"], np.zeros((0, 1)), ["(nothing to align)"]),
    ],
)
def test_the_grid_has_a_row_for_each_piece(tokens, source, weights, grid):
    assert format_alignment(record(tokens, source, weights)).splitlines() == grid


def test_more_attention_is_darker():
    weights = [[0.049, 0.05, 0.199, 0.2, 0.4, 0.6, 0.8, 1.0]]
    grid = format_alignment(record(["▁x"], ["▁a"] * 8, weights))
    assert grid.splitlines()[-1] == "x   · · ░ ▒ ▓ █ █"
    for shade, weight in zip("·░▒▓█", (0.05, 0.2, 0.4, 0.6, 0.8), strict=True):
        assert f"{shade} from {100 * weight:.0f} %" in SHADES_KEY


# === Words ===


@pytest.mark.parametrize(
    ("pieces", "words"),
    [
        ("▁Hun d . ▁rennt", "Hund . rennt"),
        ("▁A ▁T - shirt , ▁it ' s ▁7 : 30 .", "A T-shirt , it's 7:30 ."),
        ('▁ ( wi th ▁" qu o te s " )', '( with " quotes ")'),
        ("▁ straße ▁ <unk> ▁ ▁x", "straße <unk> ␣ x"),
        ("▁do g . </s>", "dog . </s>"),
        ("▁ 犬 が 大きな 走 る 。", "犬 が 大きな 走 る 。"),
        ("▁T 恤 s ▁개 가 .", "T 恤 s 개가 ."),
        ("Ein Hund .", "Ein Hund ."),
        ("▁", "␣"),
        ("", ""),
    ],
)
def test_words_of_pieces(pieces, words):
    pieces, words = pieces.split(), words.split()
    merged = record(pieces, pieces, np.eye(len(pieces))).merge_words()
    assert merged.tokens == merged.source_tokens == words
    assert merged.text == "text" and merged.focus is merged.windows is None
    # All that a word pays goes to its own pieces.
    np.testing.assert_allclose(merged.alignment, np.eye(len(words)))


def test_a_words_attention_is_a_sum_over_the_source_and_a_mean_over_the_target():
    weights = np.random.default_rng(2).dirichlet(np.ones(6), 5)
    target, source = "▁Ei n ▁Hu n d".split(), "▁A ▁d o g ▁run s".split()
    log_probs = np.arange(-6.0, 0.0)
    old = Translation("", 0.0, target, source, weights, log_probs=log_probs)
    merged = old.merge_words()
    rows = [weights[:2].mean(0), weights[2:].mean(0)]
    wanted = [[row[0], row[1:4].sum(), row[4:].sum()] for row in rows]
    np.testing.assert_allclose(merged.alignment, wanted)
    assert merged.log_probs.tolist() == [-11.0, -9.0, -1.0]


def test_windows_and_focus_go_with_the_words():
    target, source = "▁Ei n ▁Hund".split(), "▁A ▁do g ▁ru n s".split()
    weights, focus = np.full((3, 6), 0.1), np.array([0.0, 1.5, 6.0])
    windows = np.array([[0, 1], [1, 3], [4, 5]])
    new = Translation("", 0.0, target, source, weights, focus, windows).merge_words()
    # Piece 0 is word 0; the edge between 1 and 2 is the middle of word 1; p_t = S
    # stands half a word beyond the last.
    np.testing.assert_allclose(new.focus, [0.5, 3.0])
    assert new.windows.tolist() == [[0, 2], [2, 2]]


def test_words_of_captions_have_the_mean_attention_of_their_pieces():
    weights = np.array([[[0.5, 0.25, 0.25]], [[0.0, 0.5, 0.5]], [[1.0, 0.0, 0.0]]])
    log_probs, image = np.array([-1.0, -2.0, -0.5, -0.25]), np.zeros((4, 12, 3))
    pieces = ["▁ri", "ng", "▁star"]
    old = Caption("ring star", -3.75, pieces, image, weights, log_probs)
    merged = old.merge_words()
    assert merged.tokens == ["ring", "star"] and merged.image is image
    assert merged.alignment.tolist() == [[[0.25, 0.375, 0.375]], [[1.0, 0.0, 0.0]]]
    assert merged.log_probs.tolist() == [-3.0, -0.5, -0.25]
    empty = Caption("", 0.0, [], image, np.zeros((0, 2, 2))).merge_words()
    assert empty.tokens == [] and empty.alignment.shape == (0, 2, 2)


# === JSON ===


def local_record():
    return Translation(
        "Hund –",
        np.float32(-1.5),
        ["▁Hun", "d", "–"],
        ["▁do", "g"],
        np.array([[0.75, 0.25], [0.5, 0.25], [0.0, 1.0]], "float32"),
        focus=np.array([0.25, 0.5, 1.0], "float32"),
        windows=np.array([[0, 1], [0, 1], [1, 1]]),
        log_probs=np.array([-0.5, -0.25, -0.5, -0.25]),
    )


def test_a_record_comes_back_from_json():
    record = local_record()
    read = Translation.from_json(record.to_json())
    assert (read.text, read.score) == (record.text, -1.5)
    assert (read.tokens, read.source_tokens) == (record.tokens, record.source_tokens)
    for name in ("alignment", "focus", "windows", "log_probs"):
        np.testing.assert_array_equal(getattr(read, name), getattr(record, name))
    assert read.windows.dtype.kind == "i"
    with pytest.raises(ValueError, match="not JSON compliant"):
        dataclasses.replace(record, alignment=np.array([[np.nan]])).to_json()


@pytest.mark.parametrize(("tokens", "source"), [([], ["▁a"]), (["▁a"], [])])
def test_an_empty_record_keeps_its_shape(tokens, source):
    record = Translation("", 0.0, tokens, source, np.zeros((len(tokens), len(source))))
    read = Translation.from_json(record.to_json())
    assert read.alignment.shape == record.alignment.shape
    assert read.focus is None and read.windows is None and read.log_probs is None


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"alignment": [[0.5, 0.5]]}, r"`alignment` must be .* shape \(3, 2\)"),
        ({"alignment": [[0.5, 0.5], [1], [0, 1]]}, "inhomogeneous"),
        ({"alignment": [["a", "b"]] * 3}, "finite numbers"),
        ({"alignment": [[float("nan"), 0.5]] * 3}, "finite numbers"),
        ({"text": None}, "must be strings"),
        ({"tokens": [1, 2, 3]}, "must be strings"),
        ({"tokens": "abc"}, "tokens in lists"),
        ({"score": "high"}, r"`score` must be .* shape \(\)"),
        ({"windows": None}, "`focus` and `windows` go together"),
        ({"windows": [[0, 2]] * 3}, "`windows` must be source positions"),
        ({"log_probs": [0.0]}, r"shape \(4,\)"),
        ({"weights": []}, "weights"),
    ],
)
def test_other_json_is_refused(change, message):
    values = json.loads(local_record().to_json()) | change
    with pytest.raises(ValueError, match=message):
        Translation.from_json(json.dumps(values))


@pytest.mark.parametrize("text", ["{", "[" * 100_000, "[]", "3", '{"text": "Hund"}'])
def test_what_is_not_a_record_is_refused(text):
    with pytest.raises(ValueError, match="as `to_json` writes it.*Received"):
        Translation.from_json(text)

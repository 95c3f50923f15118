import dataclasses
import json

import numpy as np
import pytest

from zoo.decoding import Classification, Translation, format_alignment
from zoo.decoding.alignment_text import SHADES_KEY

pytestmark = pytest.mark.backend_free


def record(tokens, source_tokens, alignment):
    return Translation("text", -1.0, tokens, source_tokens, np.array(alignment))


def test_a_record_cannot_be_changed():
    with pytest.raises(dataclasses.FrozenInstanceError):
        record(["▁a"], ["▁b"], [[1.0]]).text = "other"


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
        (["▁a"], [], np.zeros((1, 0)), ["(nothing to align)"]),
    ],
)
def test_the_grid_has_a_row_for_each_piece(tokens, source, weights, grid):
    assert format_alignment(record(tokens, source, weights)).splitlines() == grid


def test_the_grid_of_words():
    pieces = ["▁Hun", "d", "."], ["▁the", "▁do", "g"]
    merged = record(*pieces, np.ones((3, 3))).merge_words()
    assert format_alignment(merged).splitlines()[2:] == ["Hund █ █", "   . █ █"]


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
        ("▁ $ 5 ▁and ▁ . . . ▁end", "$ 5 and ... end"),
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
    weights = np.eye(len(pieces))
    merged = record(pieces, pieces, weights).merge_words()
    assert merged.tokens == merged.source_tokens == words
    assert merged.text == "text" and merged.focus is merged.windows is None
    # All that a word pays goes to its own pieces.
    np.testing.assert_allclose(merged.alignment, np.eye(len(words)))


def test_a_words_attention_is_a_sum_over_the_source_and_a_mean_over_the_target():
    rng = np.random.default_rng(2)
    weights = rng.dirichlet(np.ones(6), 5)
    target, source = "▁Ei n ▁Hu n d".split(), "▁A ▁d o g ▁run s".split()
    found = record(target, source, weights).merge_words().alignment
    rows = [weights[:2].mean(0), weights[2:].mean(0)]
    wanted = [[row[0], row[1:4].sum(), row[4:].sum()] for row in rows]
    np.testing.assert_allclose(found, wanted)
    np.testing.assert_allclose(found.sum(1), 1)


def test_windows_and_focus_go_with_the_words():
    target, source = "▁Ei n ▁Hund".split(), "▁A ▁do g ▁ru n s".split()
    weights, focus = np.full((3, 6), 0.1), np.array([0.0, 1.5, 6.0])
    windows = np.array([[0, 1], [1, 3], [4, 5]])
    old = Translation("", 0.0, target, source, weights, focus, windows)
    new = old.merge_words()
    # Piece 0 is word 0; the edge between 1 and 2 is the middle of word 1; p_t = S
    # stands half a word beyond the last.
    np.testing.assert_allclose(new.focus, [0.5, 3.0])
    assert new.windows.tolist() == [[0, 2], [2, 2]]
    assert old.windows is windows and old.tokens is target


def test_a_words_log_probability_is_the_sum_of_its_pieces():
    target, log_probs = "▁Ei n ▁Hu n d".split(), np.arange(-6.0, 0.0)
    old = Translation("", 0.0, target, ["▁A"], np.ones((5, 1)), log_probs=log_probs)
    assert old.merge_words().log_probs.tolist() == [-11.0, -9.0, -1.0]
    assert old.log_probs is log_probs


def test_a_record_without_pieces_merges_to_one_without_words():
    old = Translation("", 0.0, [], ["▁a"], np.zeros((0, 1)), np.zeros(0), None)
    assert old.merge_words().alignment.shape == (0, 1)
    assert record([], [], np.zeros((0, 0))).merge_words().alignment.shape == (0, 0)


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


def test_json_has_a_member_for_each_attribute():
    assert json.loads(local_record().to_json()) == {
        "text": "Hund –",
        "score": -1.5,
        "tokens": ["▁Hun", "d", "–"],
        "source_tokens": ["▁do", "g"],
        "alignment": [[0.75, 0.25], [0.5, 0.25], [0.0, 1.0]],
        "focus": [0.25, 0.5, 1.0],
        "windows": [[0, 1], [0, 1], [1, 1]],
        "log_probs": [-0.5, -0.25, -0.5, -0.25],
    }


def test_a_record_comes_back_from_json():
    record = local_record()
    read = Translation.from_json(record.to_json())
    assert (read.text, read.score) == (record.text, -1.5)
    assert (read.tokens, read.source_tokens) == (record.tokens, record.source_tokens)
    for name in ("alignment", "focus", "windows", "log_probs"):
        np.testing.assert_array_equal(getattr(read, name), getattr(record, name))
    assert read.windows.dtype.kind == "i"
    assert read.merge_words().tokens == ["Hund", "–"]


@pytest.mark.parametrize(
    ("tokens", "source", "alignment"), [([], ["▁a"], []), (["▁a"], [], [[]])]
)
def test_an_empty_record_keeps_its_shape(tokens, source, alignment):
    record = Translation("", 0.0, tokens, source, np.zeros((len(tokens), len(source))))
    assert json.loads(record.to_json())["alignment"] == alignment
    read = Translation.from_json(record.to_json())
    assert read.alignment.shape == record.alignment.shape
    assert read.focus is None and read.windows is None and read.log_probs is None


def test_json_of_a_number_that_is_not_finite():
    with pytest.raises(ValueError, match="not JSON compliant"):
        record(["▁a"], ["▁b"], [[np.nan]]).to_json()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"alignment": [[0.5, 0.5]]}, r"`alignment` of the shape \(3, 2\)"),
        ({"alignment": [[0.5, 0.5], [1], [0, 1]]}, "`alignment` of the shape"),
        ({"alignment": [["a", "b"]] * 3}, "finite numbers"),
        ({"alignment": [[-0.5, 0.5]] * 3}, "without negative weights"),
        ({"alignment": [[float("nan"), 0.5]] * 3}, "finite numbers"),
        ({"text": None}, "`text`, a string"),
        ({"tokens": "Hund"}, "`tokens`, a list of strings"),
        ({"score": "high"}, r"`score` of the shape \(\)"),
        ({"focus": [1.0]}, r"`focus` of the shape \(3,\)"),
        ({"windows": None}, "both `focus` and `windows`, or neither"),
        ({"windows": [[0, 0.5]] * 3}, "`windows` of source positions"),
        ({"log_probs": [0.0]}, r"`log_probs` of the shape \(4,\)"),
        ({"weights": []}, r"Received: \['weights'\]"),
    ],
)
def test_other_json_is_refused(change, message):
    values = json.loads(local_record().to_json()) | change
    with pytest.raises(ValueError, match=message):
        Translation.from_json(json.dumps(values))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "must be JSON"),
        ("[" * 100_000, "must be JSON"),
        ("[]", "a JSON object. Received: list"),
        ("null", "a JSON object. Received: NoneType"),
        ('{"text": "Hund"}', r"Received: \['score',"),
    ],
)
def test_what_is_not_a_record_is_refused(text, message):
    with pytest.raises(ValueError, match=message):
        Translation.from_json(text)


def test_a_classification_comes_back_from_json():
    weights = np.array([[1.0, 0.0, 0.0], [0.5, 0.5, 0.0]])
    shares = {"no": 0.25, "yes": 0.75}
    record = Classification("good film", "yes", shares, ["good", "film"], weights)
    read = Classification.from_json(record.to_json())
    assert (read.label, read.probabilities) == ("yes", shares)
    np.testing.assert_array_equal(read.attention, weights)
    for change, message in (
        ({"label": "so"}, "one of them its `label`"),
        ({"probabilities": {"yes": "much"}}, "finite numbers"),
        ({"attention": [[1.0]]}, r"`attention` of the shape \(2, 3\)"),
    ):
        values = json.loads(record.to_json()) | change
        with pytest.raises(ValueError, match=message):
            Classification.from_json(json.dumps(values))

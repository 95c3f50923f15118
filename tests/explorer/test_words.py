"""The cases by which the explorer's own tests check how it merges pieces into words."""

import json
from pathlib import Path

import numpy as np
import pytest

from zoo.decoding import Translation
from zoo.text.word_splitting import labels

pytestmark = pytest.mark.backend_free

CASES = Path(__file__).parents[2] / "explorer" / "src" / "draw" / "words.cases.json"


@pytest.mark.parametrize("number", range(7))
def test_the_explorers_cases_are_what_python_gives(number):
    case = json.loads(CASES.read_text("utf-8"))[number]
    record = Translation.from_json(json.dumps(case["record"]))
    expected = Translation.from_json(json.dumps(case["words"]))
    words = record.merge_words()
    assert words.tokens == expected.tokens
    assert words.source_tokens == expected.source_tokens
    for name in ("alignment", "focus", "windows"):
        value, wanted = getattr(words, name), getattr(expected, name)
        assert (value is None) == (wanted is None)
        if value is not None:
            np.testing.assert_allclose(value, wanted, atol=1e-12)
    assert [labels(record.tokens), labels(record.source_tokens)] == case["labels"]

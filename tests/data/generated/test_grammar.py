import math

import pytest

from zoo.data import agreement_sentences
from zoo.data.generated.grammar import _NOUNS, _PLURALS, _VERBS

pytestmark = pytest.mark.backend_free


def probability(text):
    """Of a sentence, from its words alone; fails for one that is not of the grammar."""
    words = text.split()
    nouns = [*_NOUNS, *_PLURALS.values()]
    forms = [*_VERBS, *(verb[:-1] for verb in _VERBS)]
    verb = next(i for i, word in enumerate(words) if word in forms)
    subject, found = words[:verb], 1.0
    assert subject[0] == "the" and subject[1] in nouns
    assert (words[verb] in _VERBS) == (subject[1] in _NOUNS), text
    found *= 1 / 16
    for place in range(2, verb, 3):
        near, the, noun = subject[place : place + 3]
        assert (near, the) == ("near", "the") and noun in nouns
        found *= 0.4 / 16
    found *= 0.6 / 6
    rest = words[verb + 1 :]
    assert not rest or (rest[0] == "the" and rest[1] in nouns and len(rest) == 2)
    return found * (0.5 / 16 if rest else 0.5)


def test_their_probability_is_that_of_the_choices():
    texts, total = agreement_sentences(300, seed=2)
    expected = sum(math.log(probability(text)) for text in texts)
    assert total == pytest.approx(expected, rel=1e-9)
    assert len(set(nouns := [*_NOUNS, *_PLURALS.values()])) == len(nouns) == 16
    assert agreement_sentences(300, seed=2)[0] == texts
    assert agreement_sentences(300, seed=3)[0] != texts

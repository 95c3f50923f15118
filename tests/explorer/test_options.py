"""The options that the page sends: read and checked."""

import pytest

from zoo.explorer.options import Options

pytestmark = pytest.mark.backend_free


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([], "options must be an object"),
        ({"beam": 1}, "options must be of .*beamSize"),
        ({"beamSize": 0}, "beamSize must be an integer from 1 to 20. Received: 0"),
        ({"beamSize": True}, "beamSize must be an integer"),
        ({"beamSize": 2.0}, "beamSize must be an integer"),
        ({"nBest": 2}, "nBest must not exceed beamSize"),
        ({"lengthPenalty": -1}, "lengthPenalty must be a number from 0"),
        ({"lengthPenalty": float("nan")}, "lengthPenalty must be a number from 0"),
        ({"coveragePenalty": "1"}, "coveragePenalty must be a number"),
        ({"maxLength": 501}, "maxLength must be an integer from 1 to 500"),
        ({"prefix": [5, -1]}, "prefix must be at most 500 ids"),
        ({"prefix": [20]}, "ids must be below 20"),
        ({"prefix": [5, 6], "maxLength": 2}, "fewer ids than maxLength"),
        ({"banned": "no"}, "banned must be"),
        ({"banned": [3]}, "the end token cannot be banned"),
        ({"attention": {"x": [1]}}, "attention must be weights"),
        ({"attention": {"0.1": [1]}}, "attention must be weights"),
        ({"attention": {"²": [1]}}, "attention must be weights"),
        ({"attention": {"0": [-1]}}, "attention must be weights"),
        ({"window": 0}, "window must be an integer from 1"),
        ({"trace": 1}, "trace must be true or false"),
    ],
)
def test_options_are_checked(given, message):
    with pytest.raises(ValueError, match=message):
        Options.from_json(given, vocabulary=20)


def test_options_are_read():
    attention = {"1": [0, 1.5], "2.0.3": [1, 0]}
    given = {"beamSize": 4, "nBest": 2, "attention": attention, "window": None}
    options = Options.from_json({**given, "trace": True, "prefix": [7]}, 20)
    assert options == Options(
        4, 2, prefix=(7,), attention={(1,): (0, 1.5), (2, 0, 3): (1, 0)}, trace=True
    )

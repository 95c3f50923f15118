import numpy as np
import pytest

from zoo.serving.answers import OUTPUTS, fits, in_requests, most_bytes
from zoo.serving.transport import MOST_BYTES, Output

pytestmark = pytest.mark.backend_free
MIB = 2**20


def sizes(inputs, batch_size):
    parts = list(in_requests(inputs, batch_size))
    for name, values in inputs.items():
        assert [value for part in parts for value in part[name]] == values
    return [len(next(iter(part.values()))) for part in parts]


def test_a_request_has_so_many_rows_and_bytes():
    assert sizes({"text": []}, 3) == []
    assert sizes({"text": ["a"] * 7}, 3) == [3, 3, 1]
    assert sizes({"source": ["a"] * 4, "target": ["é"] * 4}, 4) == [4]
    files = [bytes(5 * MIB), b"a", bytes(4 * MIB - 1), bytes(3 * MIB), "é", b""]
    assert sizes({"image_bytes": files}, 32) == [1, 2, 3]
    # Both inputs of a row count.
    assert sizes({"image_bytes": [bytes(MIB)] * 3, "text": ["a" * MIB] * 3}, 9) == [
        2,
        1,
    ]


def output(kind, *shape):
    return Output(kind, shape, np.zeros(shape))


def test_what_fits():
    align = {
        "caption": output("text", 2),
        "score": output("number", 2),
        "tokens": output("text", 2, 5),
        "alignment": output("number", 2, 5, 3, 4),
    }
    assert fits(align, OUTPUTS["align_caption"])
    for name, wrong in (
        ("alignment", output("number", 2, 6, 3, 4)),
        ("alignment", output("number", 2, 5, 12)),
        ("alignment", output("text", 2, 5, 3, 4)),
        ("caption", output("text", 3)),
    ):
        assert not fits({**align, name: wrong}, OUTPUTS["align_caption"])
    del align["tokens"]
    assert not fits(align, OUTPUTS["align_caption"])
    only = {"any": output("number", 2)}
    assert fits(only, OUTPUTS["score"]) and not fits(
        {**only, **align}, OUTPUTS["score"]
    )


def test_an_answers_size_has_a_limit():
    texts, files = {"text": ["a dog"] * 3}, {"image_bytes": [bytes(100)] * 3}
    assert most_bytes(texts, OUTPUTS["translate"]) > 3 * 2**18
    aligned = most_bytes(files, OUTPUTS["align_caption"])
    assert aligned > most_bytes(files, OUTPUTS["caption"])
    assert most_bytes({"text": ["a" * MIB] * 512}, None) == MOST_BYTES

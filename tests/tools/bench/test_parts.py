import keras
import pytest

from tools.bench import parts
from zoo.models import Luong, LuongTranslator


@pytest.mark.backend_free
@pytest.mark.parametrize(
    ("path", "operation", "expected"),
    [
        ("a/part_step/part_model/aten::mm/", "aten::mm", parts.PRODUCTS),
        ("while/body/part_step/part_model/W_1/dot", "ynn_fusion.2", parts.PRODUCTS),
        ("part_step/part_model/MatMul", "MatMul", parts.PRODUCTS),
        ("part_step/part_model/Tanh", "Tanh", "the model, but products"),
        # A product outside the model is none of the model's.
        ("part_step/part_choice/MatMul", "MatMul", "softmax and the k best"),
        ("part_step/part_order/take", "gather.1", "rows of the state"),
        ("part_step/add", "add.1", "bookkeeping"),
        ("encode/dot", "dot.1", None),
    ],
)
def test_an_operation_belongs_to_its_innermost_part(path, operation, expected):
    assert parts.part_of(path, operation) == expected


@pytest.mark.skipif(
    keras.backend.backend() != "torch", reason="a profiler's run, under one backend"
)
def test_a_table_of_the_parts_is_printed(monkeypatch, capsys):
    small = Luong(30, num_layers=1, hidden_dim=8, embedding_dim=8)
    monkeypatch.setattr(parts, "make_model", lambda *_: LuongTranslator(small))
    for name, size in {"VOCABULARY": 30, "BATCH": 3, "WORDS": 4}.items():
        monkeypatch.setattr(parts, name, size)
    monkeypatch.setenv("XLA_FLAGS", "")
    parts.main(["--beam", "2"])
    out = capsys.readouterr().out
    assert out.startswith("luong, beam 2, torch: the call took ")
    rows = [line.split(" | ") for line in out.splitlines() if line.startswith("| ")]
    shares = {row[0].strip("| "): row[2].strip("%| ") for row in rows[2:]}
    assert set(shares) == {parts.PRODUCTS, parts.OUTSIDE, *parts.SCOPES.values()}
    assert abs(sum(map(int, shares.values())) - 100) <= 3

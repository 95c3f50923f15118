import pytest

from tests.presets_for_tests import save_translator
from tools.presets.formats import measure

pytestmark = pytest.mark.once


@pytest.mark.filterwarnings("ignore:.*have a `quantize` method", "ignore:.*verified")
@pytest.mark.parametrize("formats", [("float32", "int8"), ("int8",)])
def test_a_row_for_each_format(formats, tmp_path):
    pytest.importorskip("sacrebleu", reason="scores need it")
    folder = save_translator(tmp_path / "tiny")
    texts, references = ["a dog", "the man waits."], [["a"], ["b"]]
    rows = list(measure(folder, texts, references, formats, 1, False))
    assert [row[1] for row in rows] == list(formats)
    # Speed is a share of that in float32, and of nothing else.
    assert rows[0][5] == ("1.00" if "float32" in formats else "")
    assert all(row[6].endswith(" MB") for row in rows)

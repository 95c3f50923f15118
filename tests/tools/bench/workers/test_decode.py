import json

import pytest

from tests.presets_for_tests import save_translator
from tools.bench.workers import decode

pytestmark = pytest.mark.once


@pytest.fixture
def data(tmp_path):
    """Vocabularies and lines to translate, of two lengths."""
    for side in ("source", "target"):
        words = "\n".join(f"{side}{place}" for place in range(9))
        (tmp_path / f"vocabulary.{side}").write_text(words + "\n", "utf-8")
    lines = ["source1 source2", "source3 unseen source4 source5"] * 3
    for kind in ("source", "text"):
        (tmp_path / f"test.{kind}").write_text("\n".join(lines) + "\n", "utf-8")
    return tmp_path


@pytest.mark.filterwarnings("ignore:.*cannot be verified", "ignore:.*were cut")
@pytest.mark.parametrize(
    ("model", "precision"),
    [("luong", "float32"), ("transformer", "bfloat16"), ("preset", "int8")],
)
def test_zoo_writes_as_many_words_as_are_wanted(
    data, capsys, monkeypatch, model, precision
):
    if model == "preset":
        model = str(save_translator(data / "tiny"))
    report, lengths = decode.print_report, []

    def count(translate, *rest):
        lengths.extend(len(x) for x in translate() if not isinstance(x, str))
        report(translate, *rest)

    monkeypatch.setattr(decode, "print_report", count)
    options = ["--data", str(data), "--beam", "2", "--length", "3", "--runs", "2"]
    options += ["--precision", precision]
    decode.main([model, *options])
    found = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert len(found["seconds"]) == 2 and found["sentences"] == 6
    assert lengths == ([3] * 6 if "/" not in model else [])

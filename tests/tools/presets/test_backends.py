import pytest

from tests.serving.conftest import make_translator, needs_tensorflow
from tools.presets.backends import load_served


@needs_tensorflow
@pytest.mark.long
@pytest.mark.filterwarnings("ignore:.*cannot be verified", "ignore:.*were cut")
def test_each_text_gets_its_own_outputs(tmp_path):
    translator = make_translator()
    ask = load_served(translator.export_savedmodel(tmp_path / "out"))
    texts = [f"{'the old ' * (count % 5)}man" for count in range(70)]  # two batches
    found = [row["translation"].decode() for row in ask("translate", texts)]
    assert found == translator.translate(texts)
    assert len(set(found)) > 1

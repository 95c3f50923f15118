import json

import pytest

from tests.serving.runtime.test_ctranslate2 import FORMS, make
from zoo.models import Transformer, TransformerTranslator
from zoo.serving import export_ctranslate2, runtime
from zoo.serving.export.manifest import read_version

pytest.importorskip("ctranslate2", reason="it needs the extra `ctranslate2`")


def test_the_folder_describes_the_model(tmp_path):
    task = make(*FORMS[0])
    version = export_ctranslate2(task, tmp_path / "tiny", "int8", preset="01ab")
    manifest, files = read_version(version)
    wanted = {
        "format": "zoo-ctranslate2",
        "name": "tiny",
        "preset": "01ab",
        "architecture": "TransformerTranslator",
        "quantize": "int8",
        "settings": {"source_length": 24, "target_length": 20, "source_end": True},
    }
    assert {key: manifest[key] for key in wanted} == wanted
    tokenizer = task.preprocessor.tokenizer
    pieces = [tokenizer.id_to_token(i) for i in range(30)]
    assert json.loads(files["shared_vocabulary.json"]) == pieces
    assert files["vocabulary.spm"] == tokenizer.proto
    texts = "a brown dog waits.", "ein Hund"
    score, whole = runtime.load(version).score(*texts), task.score(*texts)
    assert 1e-5 < abs(score - whole) < 0.1 * abs(whole)


def test_what_is_not_exported(tasks, tmp_path):
    task = make(*FORMS[1])
    with pytest.raises(TypeError, match="CTranslate2 runs the Transformer.*: Luong"):
        export_ctranslate2(tasks["translator"], tmp_path / "out")
    with pytest.raises(ValueError, match="`quantize` must be one of"):
        export_ctranslate2(task, tmp_path / "out", quantize="int16")
    half = Transformer.from_config({**task.backbone.get_config(), "dtype": "float16"})
    with pytest.raises(ValueError, match=r"must be float32.*\['float16'\]"):
        export_ctranslate2(
            TransformerTranslator(half, task.preprocessor), tmp_path / "out"
        )
    assert not (tmp_path / "out").exists()

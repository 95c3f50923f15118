import json

import numpy as np
import pytest

from tests.serving.conftest import make_translator
from tools.bench.workers import translate

pytestmark = pytest.mark.once


@pytest.mark.parametrize("batch", ["1", "2"])
def test_as_many_pieces_are_written_as_are_wanted(tmp_path, monkeypatch, capsys, batch):
    task = make_translator()
    monkeypatch.setattr(translate, "load", lambda *_: (task, ["numpy"]))
    tokenizer = task.preprocessor.tokenizer
    rows = np.random.default_rng(1).integers(4, 30, (5, 7)).tolist()
    lines = [" ".join(map(tokenizer.id_to_token, row)) for row in rows]
    (tmp_path / "test").write_text("\n".join(lines), "utf-8")
    arguments = ["tiny", "--source", str(tmp_path / "test"), "--beam", "2"]
    translate.main([*arguments, "--length", "3", "--runs", "2", "--batch", batch])
    found = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert len(found["seconds"]) == 2 and found["peak_memory"] > 10
    assert (found["sentences"], found["tokens"]) == (5, 15)
    assert found["versions"] == {"numpy": np.__version__}

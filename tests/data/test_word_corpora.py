import os
from pathlib import Path

import pytest

from zoo.data import CorpusError, load_ptb, load_sst
from zoo.data.word_corpora import BINARY, FINE, UPOS, load_ud

pytestmark = pytest.mark.backend_free

CONLLU = """# sent_id = 1
# text = I don't.
1\tI\tI\tPRON\tPRP\t_\t2\tnsubj\t_\t_
2-3\tdon't\t_\t_\t_\t_\t_\t_\t_\t_
2\tdo\tdo\tAUX\tVB\t_\t0\troot\t_\t_
3\tn't\tnot\tPART\tRB\t_\t2\tadvmod\t_\t_
3.1\tgo\tgo\tVERB\tVB\t_\t_\t_\t_\t_
4\t.\t.\tPUNCT\t.\t_\t2\tpunct\t_\t_

# sent_id = 2
1\tYes\tyes\tINTJ\tUH\t_\t0\troot\t_\t_
"""


@pytest.fixture
def put(tmp_path, monkeypatch):
    """Writes a file below ZOO_DATA_DIR."""
    monkeypatch.setenv("ZOO_DATA_DIR", str(tmp_path))

    def write(name, text):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, "utf-8")

    return write


def test_ptb(put):
    put("ptb/ptb.valid.txt", " a <unk> dog N \n\n  runs\n")
    assert load_ptb("valid") == ["a <unk> dog N", "runs"]


def test_sst(put):
    put("sst/fine.dev.txt", "4 a café .\n0 no .\n")
    put("sst/binary.dev.txt", "1 good\n2 bad\n")
    found = load_sst("dev")
    assert (found.texts, found.labels) == (["a café .", "no ."], [4, 0])
    assert found.names == FINE and len(found) == 2 == len(BINARY)
    with pytest.raises(CorpusError, match="line 2 should be .* from 0 to 1.*2 bad"):
        load_sst("dev", "binary")


def test_ud(put):
    put("ud_english_ewt/dev.conllu", CONLLU)
    found = load_ud("dev")
    assert found.sentences == [["I", "do", "n't", "."], ["Yes"]]
    assert found.tags == [["PRON", "AUX", "PART", "PUNCT"], ["INTJ"]]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("PRON\tPRP", "PRON PRP", "line 3 should have the ten fields"),
        ("PRON\t", "PRP\t", "line 3 should .* one of the tags.*'I' and 'PRP'"),
        (CONLLU, "# nothing\n", "should hold sentences, received none"),
    ],
)
def test_what_is_no_conllu_is_refused(put, old, new, message):
    put("ud_english_ewt/dev.conllu", CONLLU.replace(old, new))
    with pytest.raises(CorpusError, match=message):
        load_ud("dev")


@pytest.mark.parametrize(
    ("load", "arguments", "message"),
    [
        (load_ptb, (), "ptb.train.txt is missing"),
        (load_ptb, ("valit",), "`split` must be .*'valid'.*'valit'"),
        (load_sst, ("dev", "coarse"), "`labels` must be .*'coarse'"),
        (load_ud, ("train",), "train.conllu is missing"),
        (load_ud, ("valid",), "`split` must be .*split='valid'"),
    ],
)
def test_what_there_is_not(put, load, arguments, message):
    with pytest.raises(ValueError, match=message):
        load(*arguments)


@pytest.mark.skipif(
    not Path(os.environ.get("ZOO_DATA_DIR", "/-"), "ud_english_ewt").is_dir(),
    reason="ZOO_DATA_DIR has no ud_english_ewt",
)
def test_the_treebank():
    counts = {"train": (12544, 204577), "dev": (2001, 25147), "test": (2077, 25094)}
    for split, (sentences, words) in counts.items():
        found = load_ud(split)
        assert len(found) == sentences
        assert sum(map(len, found.sentences)) == words
        assert {tag for row in found.tags for tag in row} == set(UPOS)

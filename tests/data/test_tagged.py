import collections
import os

import pytest

from zoo.data import CorpusError
from zoo.data.tagged import UD_ENGLISH, UPOS, load_ud, read_conllu, toy_sentences

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


def test_words_and_tags_are_read(tmp_path, monkeypatch):
    folder = tmp_path / "ud_english_ewt"
    folder.mkdir()
    (folder / "dev.conllu").write_text(CONLLU)
    monkeypatch.setenv("ZOO_DATA_DIR", str(tmp_path))
    found = load_ud("dev")
    assert found.sentences == [["I", "do", "n't", "."], ["Yes"]]
    assert found.tags == [["PRON", "AUX", "PART", "PUNCT"], ["INTJ"]]
    with pytest.raises(ValueError, match="allowed are train, dev, test.*'valid'"):
        load_ud("valid")
    with pytest.raises(FileNotFoundError, match="train.conllu is missing"):
        load_ud("train")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("PRON\tPRP", "PRON PRP", "line 3 should have the ten fields"),
        ("PRON\t", "PRP\t", "line 3 should .* one of the tags.*'I' and 'PRP'"),
        (CONLLU, "# nothing\n", "should hold sentences, received none"),
    ],
)
def test_what_is_no_conllu_is_refused(tmp_path, old, new, message):
    path = tmp_path / "dev.conllu"
    path.write_text(CONLLU.replace(old, new))
    with pytest.raises(CorpusError, match=message):
        read_conllu(path)


def test_the_files_have_their_source():
    assert set(UD_ENGLISH.urls) == set(UD_ENGLISH.sha256) == set(UD_ENGLISH.sizes)
    assert UD_ENGLISH.urls["dev.conllu"].endswith("/en_ewt-ud-dev.conllu")


@pytest.mark.skipif(
    not os.path.isdir(
        os.path.join(os.environ.get("ZOO_DATA_DIR", "/-"), UD_ENGLISH.name)
    ),
    reason="ZOO_DATA_DIR has no ud_english_ewt",
)
def test_the_treebank():
    counts = {"train": (12544, 204577), "dev": (2001, 25147), "test": (2077, 25094)}
    for split, (sentences, words) in counts.items():
        found = load_ud(split)
        path = os.path.join(os.environ["ZOO_DATA_DIR"], UD_ENGLISH.name)
        size = os.path.getsize(os.path.join(path, f"{split}.conllu"))
        assert size == UD_ENGLISH.sizes[f"{split}.conllu"]
        assert len(found) == sentences
        assert sum(map(len, found.sentences)) == words
        assert {tag for row in found.tags for tag in row} == set(UPOS)


def test_the_toy_grammar_needs_both_sides():
    found = toy_sentences(300, seed=1)
    assert found == toy_sentences(300, seed=1) != toy_sentences(300, seed=2)
    tags = collections.defaultdict(set)
    for words, row in zip(found.sentences, found.tags, strict=True):
        assert 3 <= len(words) <= 9
        for t, (word, tag) in enumerate(zip(words, row, strict=True)):
            tags[word].add(tag)
            if tag in ("NOUN", "VERB"):
                noun = (t > 0 and row[t - 1] == "DET") or words[-1] == "stop"
                assert tag == ("NOUN" if noun else "VERB")
    assert tags["bab"] == {"NOUN", "VERB"} and tags["so"] == {"PUNCT"}

import pytest

from zoo.data import CorpusError
from zoo.data.own.own_pairs import PairKind
from zoo.data.own.own_texts import sentences_kind
from zoo.data.own.text_files import TextFiles, as_files, file_part, find_split

pytestmark = pytest.mark.backend_free


def touch(folder, *names):
    for name in names:
        (folder / name).write_text("x\n")


# === What a command line names ===


@pytest.mark.parametrize(
    ("values", "names", "weight"),
    [
        (["a.en", "a.de"], ["a.en", "a.de"], 1),
        (["a.en", "a.de:2"], ["a.en", "a.de"], 2),
        (["a.tsv:13"], ["a.tsv"], 13),
        (["a.en:3", "a.de"], ["a.en:3", "a.de"], 1),
        (["a:b.de"], ["a:b.de"], 1),
        ([r"C:\my.en", r"C:\my.de"], [r"C:\my.en", r"C:\my.de"], 1),
        ([r"C:\my.tsv:2"], [r"C:\my.tsv"], 2),
        (["C:2"], ["C:2"], 1),
    ],
)
def test_weights_stand_behind_the_last_path(values, names, weight):
    files = TextFiles.parse(values)
    assert [str(path) for path in files.paths] == names and files.weight == weight


def test_a_file_of_that_very_name_has_no_weight(tmp_path):
    touch(tmp_path, "a.de:2")
    files = TextFiles.parse([f"{tmp_path}/a.de:2"])
    assert files.paths[0].name == "a.de:2" and files.weight == 1


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([], "received 0"),
        (["a", "b", "c"], "received 3: a b c"),
        (["a", "bb:0"], "1 or more, received bb:0"),
    ],
)
def test_what_is_no_pair_of_files(values, message):
    with pytest.raises(CorpusError, match=message):
        TextFiles.parse(values)


def test_what_names_files(tmp_path):
    files = TextFiles((tmp_path,))
    assert as_files(tmp_path) == as_files(str(tmp_path)) == as_files([files]) == [files]
    assert len(as_files(("a", tmp_path))[0].paths) == 2
    for data in (["a", "b"], [("a", "b")], (["a"], ["b"]), {"a": ["b"]}, [], ("a",)):
        assert as_files(data) is None


# === Files ===


def test_places_and_languages(tmp_path):
    touch(tmp_path, "a.pt_BR.gz", "a.de.txt")
    paths = tmp_path / "a.en", tmp_path / "a.pt_BR"
    touch(tmp_path, "a.en", "a.pt_BR")
    part = file_part(PairKind(), TextFiles(paths, 3))
    assert part.languages == ("en", "pt_BR") and part.weight == 3
    assert list(part.rows()) == [(1, ("x", "x"))] and part.unit == "line"
    (tmp_path / "a.csv").write_text("source,de\nx,y\n")
    part = file_part(PairKind(), TextFiles((tmp_path / "a.csv",)))
    assert part.languages == ("und", "de") and list(part.rows()) == [(2, ("x", "y"))]
    (tmp_path / "b.csv").write_text("id,en,de\n1,y,x\n")
    part = file_part(PairKind(None, ("de", "en")), TextFiles((tmp_path / "b.csv",)))
    assert list(part.read()) == [("x", "y")]
    with pytest.raises(CorpusError, match="should be two files"):
        file_part(PairKind(), TextFiles((tmp_path / "a.en",) * 2))


# === Folders ===


@pytest.mark.parametrize(
    ("names", "languages", "found"),
    [
        (["valid.en", "valid.de"], ("de", "en"), ["valid.de", "valid.en"]),
        (["dev.en.gz", "dev.de", "dev.fr"], ("en", "de"), ["dev.en.gz", "dev.de"]),
        (["val.src", "val.tgt"], None, ["val.src", "val.tgt"]),
        (["validation.source", "validation.target"], ("en", "de"), None),
        (["valid.jsonl.xz", "train.tsv"], None, ["valid.jsonl.xz"]),
        (["train.en", "train.de", "valid"], ("en", "de"), "error"),
        (["train.en", "my.valid.en"], ("en", "de"), []),
        (["valid.en", "valid.de"], None, "error"),
        (["valid.en", "valid.de"], ("en", "fr"), "error"),
    ],
)
def test_a_folders_files_are_found_by_split(tmp_path, names, languages, found):
    touch(tmp_path, *names)
    if found == "error":
        with pytest.raises(CorpusError, match="say by the languages"):
            find_split(tmp_path, "valid", PairKind(None, languages))
        return
    files = find_split(tmp_path, "valid", PairKind(None, languages))
    found = names if found is None else found
    assert [path.name for path in files.paths] == found if found else files is None


def test_the_one_file_of_a_split(tmp_path):
    touch(tmp_path, "dev.conllu", "test.txt", "test.tsv")
    kind = sentences_kind()
    assert find_split(tmp_path, "valid", kind).paths[0].name == "dev.conllu"
    assert find_split(tmp_path, "train", kind) is None
    with pytest.raises(CorpusError, match="one file for test, .*test.tsv, test.txt"):
        find_split(tmp_path, "test", kind)

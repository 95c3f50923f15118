import gzip
import json
import os
import random
import warnings

import pytest

from tests.presets_for_tests import save_translator
from zoo.cli import bulk_job
from zoo.cli.bulk_job import Job, Translator, preset_digest
from zoo.cli.common import BadInput

pytestmark = pytest.mark.once

# One line each, whatever another reader takes for the end of a line.
ODD = ["a\u2028b", "a\rb", "a\0", "\x0b", "a\x0cb\x85c", "\ufeffa", "  ", "", "ein\r"]


def job(inputs, output, lines=3, restart=False, **identity):
    return Job([str(path) for path in inputs], str(output), lines, identity, restart)


def work(job, most=None):
    """Turns each line round, of the first `most` partitions that are missing."""
    with job:
        missing = job.missing()
        for partition in missing[:most]:
            lines = partition.read().decode().split("\n")[:-1]
            turned = "".join(line[::-1] + "\n" for line in lines)
            job.write(partition, turned.encode())
        if most is None:
            job.join()
        return [partition.number for partition in missing]


def write(path, lines, end="\n"):
    path.write_bytes(("\n".join(lines) + end).encode() if lines else b"")
    return path


def read(path):
    text = path.read_bytes()
    return (gzip.decompress(text) if path.suffix == ".gz" else text).decode()


def turned(lines):
    return "".join(line[::-1] + "\n" for line in lines)


# === Every line once, in order ===


@pytest.mark.parametrize("end", ["\n", ""])
@pytest.mark.parametrize("count", [0, 1, 2, 3, 4, 100])
def test_every_line_comes_out_once_and_in_order(tmp_path, count, end):
    lines = [f"line {number}" for number in range(count)]
    source = write(tmp_path / "in.txt", lines, end)
    numbers = work(job([source], tmp_path / "out.txt"))
    assert numbers == list(range(-(-count // 3)))
    assert read(tmp_path / "out.txt") == turned(lines)
    assert sorted(os.listdir(tmp_path)) == ["in.txt", "out.txt"]


def test_only_a_newline_ends_a_line(tmp_path):
    source = write(tmp_path / "in.txt", ODD)
    work(job([source], tmp_path / "out.txt"))
    assert read(tmp_path / "out.txt") == turned(ODD)


def test_partitions_know_their_place(tmp_path, monkeypatch):
    monkeypatch.setattr(bulk_job, "_PARTITION_BYTES", 10)
    first = write(tmp_path / "1.txt", ["a", "bb", "ccc", "d" * 20, "", "ä"], "")
    second = write(tmp_path / "2.txt", ["e"])
    with job([first, second], tmp_path / "out", lines=4) as made:
        places = [(p.name, p.first, p.lines) for p in made.partitions]
        # The fourth line makes the first partition longer than ten bytes.
        assert places == [(str(first), 1, 4), (str(first), 5, 2), (str(second), 1, 1)]
        texts = [p.read().decode() for p in made.partitions]
    assert texts == ["a\nbb\nccc\n" + "d" * 20 + "\n", "\nä\n", "e\n"]


def test_several_inputs_go_to_a_folder_and_gz_means_gzip(tmp_path):
    plain = write(tmp_path / "plain.txt", ["a b", "c"])
    packed = tmp_path / "packed.gz"
    packed.write_bytes(gzip.compress(b"d e\n\nf"))
    empty = write(tmp_path / "empty.txt", [])
    folder = tmp_path / "out"
    work(job([plain, packed, empty], folder))
    work(job([write(tmp_path / "one", ["ab"])], folder))  # the folder is there
    assert read(folder / "one") == "ba\n"
    (folder / "one").unlink()
    assert sorted(os.listdir(folder)) == ["empty.txt", "packed.gz", "plain.txt"]
    assert read(folder / "plain.txt") == "b a\nc\n"
    assert read(folder / "packed.gz") == "e d\n\nf\n"
    assert read(folder / "empty.txt") == ""
    assert not (tmp_path / "out.parts").exists()


def test_an_output_that_another_is_written_by_way_of_is_refused(tmp_path):
    inputs = [write(tmp_path / name, ["a"]) for name in ("a.txt", "a.txt.part")]
    with pytest.raises(BadInput, match=r"needs the name of an output: .*a\.txt\.part"):
        work(job(inputs, tmp_path / "out"))
    with pytest.raises(BadInput, match="would overwrite its own"):
        work(job(inputs[1:], tmp_path / "a.txt"))
    assert read(inputs[1]) == "a\n"


# === Runs that were stopped ===


def test_a_stopped_job_goes_on_with_what_is_missing(tmp_path):
    lines = [f"line {number}" for number in range(20)]
    source, output = write(tmp_path / "in.txt", lines), tmp_path / "out.txt"
    output.write_text("old")
    assert work(job([source], output, beam_size=5), most=3) == [0, 1, 2, 3, 4, 5, 6]
    assert read(output) == "old"
    # As a machine that fails may leave them: cut short, or under the name aside.
    (tmp_path / "out.txt.parts" / "0000001.txt").write_bytes(b"half a\nparti")
    (tmp_path / "out.txt.parts" / "0000005.txt.part").write_bytes(b"half")
    assert work(job([source], output, beam_size=5)) == [1, 3, 4, 5, 6]
    assert read(output) == turned(lines)
    assert sorted(os.listdir(tmp_path)) == ["in.txt", "out.txt"]


def test_any_order_and_any_number_of_runs_give_the_same(tmp_path):
    lines = [str(number) for number in range(50)]
    source, output = write(tmp_path / "in.txt", lines), tmp_path / "out.txt"
    generator = random.Random(1)
    for _ in range(5):
        with job([source], output) as made:
            missing = made.missing()
            for partition in generator.sample(missing, min(4, len(missing))):
                text = partition.read()
                made.write(partition, text)
                made.write(partition, text)  # one that came twice is there once
    with job([source], output) as made:
        assert not made.missing()
        made.join()
    assert read(output) == "".join(f"{line}\n" for line in lines)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"beam_size": 2}, "another beam_size: 5.*Received: 2"),
        ({"lines": 4}, "another partition_lines: 3.*Received: 4"),
        ({"text": ["other", "lines"]}, "another inputs.*in.txt: 2 lines"),
        ({"penalty": 1.0}, "another penalty: None.*Received: 1.0"),
    ],
)
def test_unfinished_work_of_another_job_is_refused(tmp_path, change, message):
    source, output = write(tmp_path / "in.txt", list("abcdefgh")), tmp_path / "out"
    work(job([source], output, beam_size=5), most=1)
    write(source, change.pop("text", list("abcdefgh")))
    options = {"beam_size": 5, **change}
    with pytest.raises(BadInput, match=f"(?s){message}"):
        work(job([source], output, **options))
    assert work(job([source], output, restart=True, **options))[0] == 0
    assert read(output).count("\n") == read(source).count("\n")


@pytest.mark.parametrize("content", ["", "[1]", "{"])
def test_a_damaged_manifest_is_named(tmp_path, content):
    source = write(tmp_path / "in.txt", list("abcd"))
    work(job([source], tmp_path / "out"), most=1)
    manifest = tmp_path / "out.parts" / bulk_job.MANIFEST
    assert "sha256" in json.loads(manifest.read_text())["inputs"][0]
    manifest.write_text(content)
    with pytest.raises(BadInput, match="manifest.json is damaged"):
        work(job([source], tmp_path / "out"))


def test_files_of_others_are_left_alone(tmp_path):
    folder = tmp_path / "out.parts"
    folder.mkdir()
    (folder / "notes.txt").write_text("mine")
    (folder / "0000000.txt").write_text("without a manifest nobody knows of what\n")
    source = write(tmp_path / "in.txt", ["ab"])
    assert work(job([source], tmp_path / "out", restart=True)) == [0]
    assert read(tmp_path / "out") == "ba\n"
    assert os.listdir(folder) == ["notes.txt"]


def test_two_runs_at_once_are_refused(tmp_path):
    source = write(tmp_path / "in.txt", ["ab"])
    with job([source], tmp_path / "out") as made:
        with pytest.raises(BadInput, match="another run is using .*out.parts"):
            job([source], tmp_path / "out").__enter__()
        assert len(made.missing()) == 1
    work(job([source], tmp_path / "out"))


# === What is refused ===


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("in.txt", b"a\nb\n\xff\xfe\n", "line 3 of .*in.txt is not UTF-8"),
        ("in.gz", b"no gzip", "cannot read .*in.gz"),
        ("in.gz", gzip.compress(b"cut" * 99, mtime=0)[:-9], "cannot read .*in.gz"),
    ],
)
def test_damaged_text_is_refused(tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(BadInput, match=message):
        work(job([tmp_path / name], tmp_path / "out"))
    assert os.listdir(tmp_path) == [name]


@pytest.mark.parametrize(
    ("inputs", "output", "message"),
    [
        (["nowhere"], "out", "cannot read .*nowhere"),
        (["a.txt", "nowhere"], "out", "cannot read .*nowhere"),
        (["a.txt"], "nowhere/out", "there is no such folder"),
        (["a.txt"], "a.txt", "overwrite its own"),
        (["a.txt", "b.txt"], "", "overwrite its own"),
        (["a.txt", "b.txt"], "c.txt", "cannot write the folder"),
        (["a.txt", "folder/a.txt"], "out", "two inputs"),
        (["folder"], "out", "must be a file"),
        (["-"], "out", "zoo translate.*Received: -"),
        (["pipe"], "out", "must be a file"),
    ],
)
def test_files_that_cannot_be_used_are_named(tmp_path, inputs, output, message):
    (tmp_path / "folder").mkdir()
    for name in ("a.txt", "b.txt", "c.txt", "folder/a.txt"):
        write(tmp_path / name, ["ab"])
    os.mkfifo(tmp_path / "pipe")
    before = sorted(os.listdir(tmp_path))
    inputs = [name if name == "-" else tmp_path / name for name in inputs]
    with pytest.raises(BadInput, match=message):
        work(job(inputs, tmp_path / output))
    assert sorted(os.listdir(tmp_path)) == before
    assert read(tmp_path / "a.txt") == "ab\n"


@pytest.mark.parametrize("text", [b"", b"a\n", b"a\nb", b"a\nb\nc\n"])
def test_a_translation_of_other_lines_is_refused(tmp_path, text):
    source = write(tmp_path / "in.txt", ["a", "b"])
    with job([source], tmp_path / "out") as made:
        (partition,) = made.missing()
        with pytest.raises(RuntimeError, match="has 2 lines"):
            made.write(partition, text)
        assert made.missing() == [partition]


def test_an_input_that_changes_meanwhile_is_not_read_again(tmp_path):
    source = write(tmp_path / "in.txt", list("abcdef"))
    with job([source], tmp_path / "out") as made:
        write(source, ["abcdef"])
        assert made.missing()[0].read() == b"a\nb\nc\n"


# === The worker ===

SEARCH = {
    "beam_size": 2,
    "batch_size": 4,
    "length_penalty": 0.5,
    "coverage_penalty": None,
    "max_length": 6,
}


@pytest.fixture(scope="module")
def preset(tmp_path_factory):
    return save_translator(tmp_path_factory.mktemp("preset") / "tiny")


@pytest.fixture(scope="module")
def worker(preset):
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "(?s).*has no card.json")
        return Translator(str(preset), preset_digest(preset), SEARCH)


def test_a_worker_translates_as_the_model_does(worker):
    lines = ["a dog", *ODD, "katze", "a cat runs"]
    text, told = worker.translate("".join(f"{x}\n" for x in lines).encode(), "f", 1)
    assert not told
    full = [line.rstrip("\r") for line in lines if line.strip()]
    options = {"beam_size": 2, "length_penalty": 0.5, "max_length": 6, "batch_size": 4}
    wanted = iter(worker._task.translate(full, **options))
    expected = [next(wanted) if line.strip() else "" for line in lines]
    assert text.decode() == "".join(f"{line}\n" for line in expected)
    assert len(set(expected)) > 3


def test_warnings_name_the_line(worker):
    _, told = worker.translate(b"a\n\n" + b"a dog " * 50 + b"\n", "in.txt", 41)
    assert len(told) == 1
    assert "line 43 of in.txt" in told[0]


def test_a_translation_stays_one_line(worker, monkeypatch):
    given = iter([["one\ntwo", "three\r\nfour\u2028five", "six\n"]])
    monkeypatch.setattr(worker._task, "translate", lambda *_, **__: next(given))
    text, _ = worker.translate(b"a\nb\n\nc\n", "f", 1)
    assert text.decode() == "one two\nthree four five\n\nsix\n"


def test_a_worker_refuses_another_preset(preset):
    with pytest.raises(ValueError, match="differs on this machine.*Received"):
        Translator(str(preset), "0" * 64, SEARCH)

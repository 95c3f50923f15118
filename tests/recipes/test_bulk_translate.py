import gzip
import importlib.util
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import zoo
from tests.harness import load_recipe
from tests.presets_for_tests import WORDS, save_translator
from zoo.cli.bulk_job import Translator

pytestmark = pytest.mark.once

ROOT = Path(__file__).resolve().parent.parent.parent
SCRIPT = ROOT / "recipes" / "bulk_translate.py"
OPTIONS = ["--beam", "2", "--batch-size", "4", "--max-length", "40"]
SEARCH = {"beam_size": 2, "batch_size": 4, "max_length": 40}

needs_ray = pytest.mark.skipif(
    not importlib.util.find_spec("ray"), reason="ray is not installed (the extra ray)"
)
without_card = pytest.mark.filterwarnings("ignore:(?s).*has no card.json")


@pytest.fixture(scope="module")
def preset(tmp_path_factory):
    return save_translator(tmp_path_factory.mktemp("preset") / "tiny")


@pytest.fixture
def inputs(tmp_path):
    """Two files of 150 and 90 lines, each sentence another one; some are odd."""
    lines = [
        " ".join(WORDS[int(digit)] for digit in str(i) + "1234"[: i % 5])
        for i in range(240)
    ]
    lines[3:7] = ["", "a\u2028dog\x0c", "  ", "hund\0\x85a\r"]
    first, second = tmp_path / "first.txt", tmp_path / "second.gz"
    first.write_bytes("\n".join(lines[:150]).encode())
    second.write_bytes(gzip.compress("\n".join(lines[150:]).encode() + b"\n"))
    return [first, second], lines


@pytest.mark.long
@needs_ray
@without_card
def test_a_killed_worker_costs_no_line(preset, inputs, tmp_path):
    """Two workers, of which one is killed in the middle of its work: the output is that
    of one process, line by line."""
    (first, second), lines = inputs
    command = [sys.executable, str(SCRIPT), str(preset), str(first), str(second)]
    command += ["--output", str(tmp_path / "out"), "--workers", "2"]
    command += ["--partition-lines", "4", *OPTIONS]
    # Workers as eager as the test itself, on a machine that has other work too.
    environment = {"PYTHONPATH": str(ROOT), "RAY_worker_niceness": "0"}
    # What one worker compiled the others, under JAX, need not compile again.
    environment["JAX_COMPILATION_CACHE_DIR"] = str(tmp_path / "compiled")
    environment["JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"] = "0"
    log = tmp_path / "log"
    with open(log, "w") as file:
        process = subprocess.Popen(
            command, env={**os.environ, **environment}, stderr=file
        )
    killed_after, deadline = None, time.monotonic() + 600
    while process.poll() is None:
        told = log.read_text()
        workers = re.findall(r"at work: process (\d+) ", told)
        if len(workers) == 2 and killed_after is None:
            os.kill(int(workers[1]), signal.SIGKILL)
            killed_after = told
        if time.monotonic() > deadline:  # nothing hangs the suite
            process.kill()
        time.sleep(0.05)
    told = log.read_text()
    assert process.returncode == 0, told
    workers = re.findall(r"at work: process (\d+) ", told)
    assert len(set(workers)) == 3, told  # the third took the second's place
    assert told.removeprefix(killed_after).count("sentences/s") > 2

    expected = [line.rstrip("\r") for line in lines]
    full = [line for line in expected if line.strip()]
    translated = iter(zoo.load(preset).translate(full, **SEARCH))
    expected = [next(translated) if line.strip() else "" for line in expected]
    assert len(set(expected)) > 50
    got = (tmp_path / "out" / "first.txt").read_bytes()
    got += gzip.decompress((tmp_path / "out" / "second.gz").read_bytes())
    assert got.decode() == "".join(f"{line}\n" for line in expected)
    assert not (tmp_path / "out.parts").exists()


# === The command, without Ray ===


@pytest.fixture
def recipe(monkeypatch):
    """The recipe, translating in this process; `recipe.fails_at` is a partition."""
    recipe = load_recipe("bulk_translate")
    find_spec = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: name == "ray" or find_spec(name)
    )
    recipe.fails_at, recipe.begun = None, []

    def translate(partitions, digest, search, arguments):
        translator = Translator(arguments.preset, digest, search)
        for p in sorted(partitions, key=lambda p: p.number % 3):  # out of order
            if p.number == recipe.fails_at:
                raise RuntimeError("a worker gave up")
            recipe.begun.append(p.number)
            text, told = translator.translate(p.read(), p.name, p.first)
            yield {"number": p.number, "text": text, "warnings": "\n".join(told)}

    monkeypatch.setattr(recipe, "translate", translate)
    return recipe


@without_card
def test_a_run_that_failed_goes_on(recipe, preset, tmp_path, capsys):
    source, output = tmp_path / "in.txt", tmp_path / "out.txt"
    source.write_text("".join(f"a dog runs {i}\n" for i in range(20)))
    command = [str(preset), str(source), "--output", str(output), *OPTIONS]
    command += ["--partition-lines", "3"]
    recipe.fails_at = 4
    assert recipe.main(command) == 1
    told = capsys.readouterr().err
    assert "20 lines in 7 partitions\n" in told
    assert "out.txt.parts keeps what is finished" in told
    assert "a worker gave up" in told
    assert recipe.begun == [0, 3, 6, 1] and not output.exists()
    recipe.fails_at = None
    assert recipe.main(command) == 0
    assert recipe.begun[4:] == [4, 2, 5]
    assert "7 partitions, 4 of them finished before\n" in capsys.readouterr().err
    texts = source.read_text().split("\n")[:-1]
    expected = zoo.load(preset).translate(texts, **SEARCH)
    assert output.read_text().split("\n")[:-1] == expected


@without_card
def test_other_options_and_another_preset_are_refused(recipe, preset, tmp_path, capsys):
    source = tmp_path / "in.txt"
    source.write_text("a\nb\n")
    command = [str(preset), str(source), "--output", str(tmp_path / "out"), *OPTIONS]
    command += ["--partition-lines", "1"]
    recipe.fails_at = 1
    assert recipe.main(command) == 1
    for change in (["--beam", "3"], ["--length-penalty", "0.5"], ["--batch-size", "5"]):
        assert recipe.main([*command, *change]) == 2
        assert f"another {change[0][2:].replace('-', '_')}" in capsys.readouterr().err
    weights = preset / "model.weights.h5"
    content = weights.read_bytes()
    try:
        weights.write_bytes(content + b"\0")
        assert recipe.main(command) == 2
    finally:
        weights.write_bytes(content)
    assert "another preset sha256" in capsys.readouterr().err
    recipe.fails_at = None
    assert recipe.main([*command, "--beam", "3", "--restart"]) == 0
    assert len((tmp_path / "out").read_text().split("\n")) == 3


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["no_such_preset", "in.txt", "--output", "out"], "unknown preset"),
        (["luong_local", "nowhere", "--output", "out"], "cannot read nowhere"),
        (["luong_local", "-", "--output", "out"], "must be a file"),
        (["luong_local", "in.txt"], "--output"),
        (["luong_local", "--output", "out"], "INPUT"),
        (["luong_local", "in.txt", "--output", "no/out"], "no such folder"),
        (["luong_local", "in.txt", "--output", "out", "--workers", "0"], "--workers"),
        (["luong_local", "in.txt", "--output", "out", "--gpus", "-1"], "--gpus"),
        (["luong_local", "in.txt", "--output", "out", "--beam", "x"], "--beam"),
    ],
)
def test_bad_input_is_refused_before_any_work(
    recipe, tmp_path, monkeypatch, capsys, arguments, message
):
    monkeypatch.chdir(tmp_path)
    Path("in.txt").write_text("a\n")
    assert recipe.main(arguments) == 2
    assert message in capsys.readouterr().err
    assert os.listdir() == ["in.txt"] and not recipe.begun


def test_without_ray_the_extra_is_named(recipe, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert recipe.main(["luong_local", "in.txt", "--output", "out"]) == 2
    assert "attention-zoo[ray]" in capsys.readouterr().err


def test_more_than_the_cluster_has_is_refused(recipe):
    arguments = recipe._parser().parse_args(
        ["p", "in", "--output", "out", "--workers", "3", "--cpus", "2", "--gpus", "0.5"]
    )
    recipe._check_resources({"CPU": 6.0, "GPU": 2.0}, arguments)
    with pytest.raises(recipe.BadInput, match="3 workers need 6 CPUs, and Ray has 5"):
        recipe._check_resources({"CPU": 5.0, "GPU": 2.0}, arguments)
    with pytest.raises(recipe.BadInput, match="need 1.5 GPUs, and Ray has 0"):
        recipe._check_resources({"CPU": 6.0}, arguments)


def test_a_partition_that_kills_its_workers_is_given_up(recipe):
    attempts = recipe.Attempts()
    assert [attempts.begin(number) for number in (4, 4, 2, 4)] == [1, 2, 1, 3]

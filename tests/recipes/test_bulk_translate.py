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
from tests.harness import ROOT, load_recipe
from tests.presets_for_tests import WORDS, save_translator
from zoo.training.config import only_run_in

pytestmark = [
    pytest.mark.once,
    pytest.mark.filterwarnings("ignore:(?s).*has no card.json"),
]
OPTIONS = ["--beam", "2", "--batch-size", "4", "--max-length", "40"]
SEARCH = {"beam_size": 2, "batch_size": 4, "max_length": 40}


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
    return [str(first), str(second)], [line.rstrip("\r") for line in lines]


def expected(preset, lines):
    full = [line for line in lines if line.strip()]
    texts = iter(zoo.load(preset).translate(full, **SEARCH))
    return [next(texts) if line.strip() else "" for line in lines]


@pytest.mark.long
def test_a_killed_worker_costs_no_line(preset, inputs, tmp_path):
    """Of two workers one is killed: the output is that of one process."""
    pytest.importorskip("ray", reason="the extra ray")
    command = [sys.executable, f"{ROOT}/recipes/bulk_translate.py", str(preset)]
    command += [*inputs[0], "--output", str(tmp_path / "out"), "--workers", "2"]
    command += ["--partition-lines", "4", *OPTIONS]
    log, killed, deadline = tmp_path / "log", False, time.monotonic() + 600
    with open(log, "w") as file:
        environment = {**os.environ, "PYTHONPATH": ROOT}
        process = subprocess.Popen(command, env=environment, stderr=file)
    while process.poll() is None:
        workers = re.findall(r"done by process (\d+)", log.read_text())
        if not killed and len(set(workers)) == 2:
            os.kill(int(workers[-1]), signal.SIGKILL)
            killed = True
        if time.monotonic() > deadline:  # nothing hangs the suite
            process.kill()
        time.sleep(0.05)
    told = log.read_text()
    assert process.returncode == 0, told
    # A third took the second's place.
    assert len(set(re.findall(r"done by process (\d+)", told))) == 3, told
    got = (tmp_path / "out" / "first.txt").read_bytes()
    got += gzip.decompress((tmp_path / "out" / "second.gz").read_bytes())
    wanted = expected(preset, inputs[1])
    assert got.decode() == "".join(f"{line}\n" for line in wanted)
    assert not (tmp_path / "out.parts").exists()


# === The command, without Ray ===


@pytest.fixture
def recipe(monkeypatch):
    """The recipe, translating in this process; `recipe.fails_at` is a line's number."""
    recipe = load_recipe("bulk_translate")
    find_spec = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: name == "ray" or find_spec(name)
    )
    recipe.fails_at, recipe.begun = None, []

    def translate(partitions, digest, arguments):
        search = recipe.search_options(arguments)
        worker = recipe.Worker(arguments.preset, digest, search)
        for partition in sorted(partitions, key=lambda p: -p[1]):  # out of order
            if partition[1] == recipe.fails_at:
                raise RuntimeError("a worker gave up")
            recipe.begun.append(partition[1])
            yield worker.translate(*partition)

    monkeypatch.setattr(recipe, "translate", translate)
    return recipe


def test_unfinished_work_is_beside_the_output_folder(recipe, preset, inputs, tmp_path):
    recipe.fails_at = 1
    command = [str(preset), *inputs[0], "--output", f"{tmp_path}/out/", *OPTIONS]
    assert recipe.main(command) == 1
    assert (tmp_path / "out.parts").is_dir()
    assert not list((tmp_path / "out").iterdir())


def test_a_run_that_failed_goes_on_with_the_same_options(
    recipe, preset, inputs, tmp_path, capsys
):
    output = tmp_path / "out[1].txt"
    command = [str(preset), inputs[0][0], "--output", str(output), *OPTIONS]
    command += ["--partition-lines", "40"]
    recipe.fails_at = 41
    assert recipe.main(command) == 1
    assert "a worker gave up" in capsys.readouterr().err
    assert recipe.begun == [121, 81] and not output.exists()
    for change in (["--beam", "3"], ["--batch-size", "5"], ["--partition-lines", "9"]):
        assert recipe.main([*command, *change]) == 2
        assert "holds unfinished work with another" in capsys.readouterr().err
    with only_run_in(tmp_path / "out[1].txt.parts"):
        assert recipe.main(command) == 2
    assert "another run is using" in capsys.readouterr().err
    recipe.fails_at = None
    assert recipe.main(command) == 0
    assert recipe.begun[2:] == [41, 1]
    wanted = expected(preset, inputs[1][:150])
    assert output.read_text(encoding="utf-8").split("\n")[:-1] == wanted
    assert not (tmp_path / "out[1].txt.parts").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["luong_local", "nowhere", "--output", "out"], "nowhere"),
        (["luong_local", "in.txt", "--output", "in.txt"], "the same path"),
        (["luong_local", "in.txt", "--output", "a/../in.txt"], "the same path"),
        (["luong_local", "in.txt", "a/in.txt", "--output", "b"], "the same path"),
        (["luong_local", "in.txt"], "--output"),
        (["luong_local", "in.txt", "--output", "no/out"], "no such folder"),
        (["luong_local", "in.txt", "--output", "out", "--workers", "0"], "--workers"),
    ],
)
def test_bad_input_is_refused_before_any_work(
    recipe, tmp_path, monkeypatch, capsys, arguments, message
):
    monkeypatch.chdir(tmp_path)
    Path("a").mkdir()
    for name in ("in.txt", "a/in.txt"):
        Path(name).write_text("a\n")
    assert recipe.main(arguments) == 2
    assert message in capsys.readouterr().err
    assert sorted(os.listdir()) == ["a", "in.txt"] and not recipe.begun


def test_without_ray_the_extra_is_named(recipe, monkeypatch, capsys):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert recipe.main(["luong_local", "in.txt", "--output", "out"]) == 2
    assert "attention-zoo[ray]" in capsys.readouterr().err

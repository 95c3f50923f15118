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
def lines(tmp_path):
    """150 lines, each sentence another one; some are odd. `in.txt` has them."""
    lines = [
        " ".join(WORDS[int(digit)] for digit in str(i) + "1234"[: i % 5])
        for i in range(150)
    ]
    lines[3:7] = ["", "a\u2028dog\x0c", "  ", "hund\0\x85a\r"]
    (tmp_path / "in.txt").write_bytes("\n".join(lines).encode())
    return [line.rstrip("\r") for line in lines]


def expected(preset, lines):
    full = [line for line in lines if line.strip()]
    texts = iter(zoo.load(preset).translate(full, **SEARCH))
    return [next(texts) if line.strip() else "" for line in lines]


@pytest.mark.long
def test_a_killed_worker_costs_no_line(preset, lines, tmp_path):
    """Of two workers one is killed: the output is that of one process."""
    pytest.importorskip("ray", reason="the extra ray")
    script, output = tmp_path / "bulk.py", tmp_path / "out.txt"
    code = Path(ROOT, "recipes", "bulk_translate.py").read_text("utf-8")
    script.write_text(code.replace("PART = 2000", "PART = 4"), "utf-8")
    command = [sys.executable, script, preset, tmp_path / "in.txt"]
    command = [*map(str, command), "--output", str(output), *OPTIONS]
    log, killed, deadline = tmp_path / "log", False, time.monotonic() + 600
    environment = {**os.environ, "PYTHONPATH": ROOT, "RAY_DEDUP_LOGS": "0"}
    with open(log, "w") as file:
        process = subprocess.Popen(command, env=environment, stderr=file, stdout=file)
    while process.poll() is None:
        workers = re.findall(r"worker (\d+) is ready", log.read_text())
        if not killed and len(set(workers)) == 2:
            os.kill(int(workers[-1]), signal.SIGKILL)
            killed = True
        if time.monotonic() > deadline:  # nothing hangs the suite
            process.kill()
        time.sleep(0.05)
    assert process.returncode == 0 and killed, log.read_text()
    wanted = "".join(f"{line}\n" for line in expected(preset, lines))
    assert output.read_text("utf-8") == wanted


@pytest.fixture
def recipe(monkeypatch):
    """The recipe, translating in this process."""
    recipe = load_recipe("bulk_translate")
    found = importlib.util.find_spec("zoo")
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: found)

    def translate(parts, digest, arguments):
        search = recipe.given(arguments, recipe.SEARCH)
        worker = recipe.Worker(arguments.preset, digest, search)
        yield from map(worker.translate, parts)

    monkeypatch.setattr(recipe, "translate", translate)
    monkeypatch.setattr(recipe, "PART", 40)
    monkeypatch.setattr(recipe.parts, "__defaults__", (40,))
    return recipe


def test_lines_stay_lines_in_their_order(recipe, preset, lines, tmp_path, monkeypatch):
    """Nor does a run that is stopped lose whole parts, or one that is killed."""
    output, translate, found = tmp_path / "out.txt", recipe.translate, []
    command = [str(preset), str(tmp_path / "in.txt"), "--output", str(output), *OPTIONS]

    def stopping(parts, *rest):
        for part in translate(parts, *rest):
            found.append(len(part))
            yield part
            if len(found) == 2:
                raise KeyboardInterrupt

    monkeypatch.setattr(recipe, "translate", stopping)
    assert recipe.main(command) == 130 and not output.exists()
    [unfinished] = tmp_path.glob("out.txt.*.part")
    with unfinished.open("ab") as file:
        file.write(b"half a part\nhalf a line")
    assert recipe.main(command) == 0 and found == [40, 40, 40, 30]
    wanted = expected(preset, lines)
    assert output.read_text("utf-8").split("\n")[:-1] == wanted
    assert not unfinished.exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["luong_local", "nowhere", "--output", "out"], "nowhere"),
        (["luong_local", "in.txt", "--output", "a/../in.txt"], "another file"),
        (["luong_local", "latin.txt", "--output", "out"], "utf-8"),
        (["luong_local", "in.txt", "--output", "a"], "another file"),
        (["luong_local", "in.txt"], "--output"),
        (["luong_local", "in.txt", "--output", "no/out"], "no/out"),
        (["luong_local", "in.txt", "--output", "out", "--workers", "0"], "--workers"),
    ],
)
def test_bad_input_is_refused(
    recipe, tmp_path, monkeypatch, capsys, arguments, message
):
    monkeypatch.chdir(tmp_path)
    Path("a").mkdir()
    Path("in.txt").write_text("a\n")
    Path("latin.txt").write_bytes(b"a\n" * 9999 + b"\xe9\n")
    assert recipe.main(arguments) != 0
    assert message in capsys.readouterr().err
    assert sorted(os.listdir()) == ["a", "in.txt", "latin.txt"]


def test_without_ray_the_extra_is_named(recipe, monkeypatch, capsys):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert recipe.main(["luong_local", "in.txt", "--output", "out"]) == 2
    assert "attention-zoo[ray]" in capsys.readouterr().err

import argparse
import json
import sys

import pytest

from tools.bench import core

pytestmark = pytest.mark.backend_free


def test_last_object_of_an_output_with_warnings():
    assert core.last_object('a\n{"x": 1}\n{"x": 2}\nwarning\n') == {"x": 2}
    with pytest.raises(ValueError, match="no result"):
        core.last_object("warning\n")


def test_settings_of_threads_and_memory_are_taken_out():
    before = {"PATH": "p", "OMP_NUM_THREADS": "1", "MALLOC_TOP_PAD_": "2"}
    after, removed = core.clean_environment(before)
    assert after == {"PATH": "p"}
    assert removed == ["MALLOC_TOP_PAD_", "OMP_NUM_THREADS"]


def test_time_in_use_and_time_stolen():
    line = "cpu  100 20 30 4000 500 6 7 80 0 0\n"
    assert core.processor_times(line, ticks=100) == (1.63, 0.8)


def test_a_failed_command_says_why(tmp_path):
    command = [sys.executable, "-c", "print('no such file'); raise SystemExit(3)"]
    log = tmp_path / "log"
    with pytest.raises(RuntimeError, match="(?s)exit code 3.*no such file"):
        core.execute(command, {}, log, cores=1)
    command[2] = f"print({json.dumps('done')!r})"
    assert core.execute(command, {}, log, 1) == '"done"\n'


def test_the_first_of_repeated_calls_is_told_apart():
    results = iter("abc")
    result, first, seconds = core.repeated(lambda: next(results), 2)
    assert result == "a" and first > 0 and len(seconds) == 2


def test_the_command_of_a_module():
    command = core.module("train", model="name", steps=3)
    assert command[1:] == ["-m", "tools.bench.train", "--model=name", "--steps=3"]


def test_what_fails_is_told_and_the_rest_is_metered(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    bench = core.Bench(tmp_path / "work", cores=1)
    code = "import os; print('{\"threads\": %d}' % ('OMP_NUM_THREADS' in os.environ))"
    command = [sys.executable, "-c", code]
    result, load = bench.measure("a system", command, {})
    assert result == {"threads": 0} and load["seconds"] > 0
    assert (tmp_path / "work" / "logs" / "a-system.log").is_file()
    result, message = bench.measure("other", [sys.executable, "-c", "1"], {})
    assert result is None and "no result" in message
    assert "other failed: no result" in capsys.readouterr().err
    bench.print_machine("more")
    lines = capsys.readouterr().out.splitlines()
    assert "more" in lines and any("OMP_NUM_THREADS" in line for line in lines)


def test_what_others_used_is_noted():
    assert core.note({"other_cores": 0.2, "stolen_cores": 0.05}) == ""
    assert "others used 0.50 cores" in core.note({"other_cores": 0.5})


def test_lists_of_names_and_of_numbers(capsys):
    parser = argparse.ArgumentParser()
    core.add_names(parser, "--on", ("jax", "torch"))
    parser.add_argument("--beams", type=core.counts, default="1,5")
    args = parser.parse_args([])
    assert (args.on, args.beams) == (["jax", "torch"], [1, 5])
    assert parser.parse_args(["--on", "torch"]).on == ["torch"]
    assert parser.parse_args(["--on", "none"]).on == []
    for option, value in (("--on", "numpy"), ("--beams", "1,0")):
        with pytest.raises(SystemExit):
            parser.parse_args([option, value])
        assert f"Received: {value}" in capsys.readouterr().err

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from zoo.training.fit import interrupts
from zoo.training.fit.interrupts import Interrupted

pytestmark = pytest.mark.once

ROOT = Path(__file__).parents[3]
NUMBERS = [signal.SIGINT, signal.SIGTERM]


def send(number):
    os.kill(os.getpid(), number)


@pytest.fixture(autouse=True)
def handlers():
    """Signals as a terminal sends them, wherever the tests run."""
    before = {number: signal.getsignal(number) for number in NUMBERS}
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.parametrize(("number", "code"), zip(NUMBERS, (130, 143), strict=True))
def test_a_signal_raises_at_once_or_when_released(number, code, capfd):
    before = [signal.getsignal(each) for each in NUMBERS]
    with pytest.raises(Interrupted, match=signal.Signals(number).name) as caught:
        with interrupts.catching():
            send(number)
    assert caught.value.exit_code == code
    with interrupts.catching():
        interrupts.hold()
        interrupts.release()  # nothing is left noted
        interrupts.hold()
        send(number)
        assert interrupts.received()
        with pytest.raises(Interrupted):
            interrupts.release()
    assert "stopping once the state is saved" in capfd.readouterr().err
    assert [signal.getsignal(each) for each in NUMBERS] == before


def test_an_ignored_signal_stays_ignored():
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with interrupts.catching():
        send(signal.SIGINT)


def test_a_second_signal_ends_the_process_at_once():
    code = (
        "import os, signal, time\n"
        "from zoo.training.fit import interrupts\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "with interrupts.catching():\n"
        "    interrupts.hold()\n"
        "    os.kill(os.getpid(), signal.SIGINT)\n"
        "    print('held', flush=True)\n"
        "    time.sleep(60)\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code], cwd=ROOT, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout.readline() == "held\n"
        process.send_signal(signal.SIGINT)
        began = time.monotonic()
        assert process.wait() == -signal.SIGINT
    assert time.monotonic() - began < 30


def test_while_a_run_starts(tmp_path):
    """No traceback, the exit code of a shell, and the command to go on with."""
    output = tmp_path / "a run"
    code = (
        "import contextlib, runpy, signal, sys\n"
        "from zoo.training.fit import interrupts\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "catching = interrupts.catching\n"
        "@contextlib.contextmanager\n"
        "def told():\n"
        "    with catching():\n"
        "        print('here', flush=True)\n"
        "        yield\n"
        "interrupts.catching = told\n"
        f"sys.argv = ['luong_local', '--seed', '7', '--output', {str(output)!r}]\n"
        "runpy.run_path('recipes/luong_local.py', run_name='__main__')\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        process.stdout.readline()
        time.sleep(0.5)  # it imports a backend now, or is beyond that
        process.send_signal(signal.SIGINT)
        _, error = process.communicate()
    assert process.returncode == 130, error
    assert "Traceback" not in error
    last = error.splitlines()[-1]
    assert f"--output '{output}'" in last and "--seed 7" in last

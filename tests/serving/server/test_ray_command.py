"""The command of Ray's server with a fake of Ray: start, stop and failure."""

import os
import signal
import sys
import time
import types

import pytest

from zoo.serving.server.ray_serve import NAME, main

pytestmark = pytest.mark.backend_free


class Ray(types.ModuleType):
    """Stands for `ray` and `ray.serve`; notes what ends."""

    def __init__(self, there=(), run=lambda: None):
        super().__init__("ray")
        self.applications, self.calls, self.run_ = dict.fromkeys(there), [], run
        self.serve = self

    def init(self, **options):
        self.options = options

    def nodes(self):
        return [{"Alive": True, "MetricsExportPort": 8080}]

    def start(self, **options):
        pass

    def status(self):
        return self

    def run(self, application, name, route_prefix):
        self.applications[name] = None
        self.run_()

    def shutdown(self):
        self.calls.append("shutdown")

    def delete(self, name):
        self.calls.append(f"delete {name}")


def stop(number):
    os.kill(os.getpid(), number)
    time.sleep(10)  # as `serve.run` waits for processors


@pytest.fixture
def command(tmp_path, monkeypatch):
    """Function that runs the command with such a Ray; returns what it ended."""
    (tmp_path / "made" / "1").mkdir(parents=True)
    application = types.ModuleType("zoo.serving.server.ray_app")
    application.build = lambda options: options
    handlers = {n: signal.getsignal(n) for n in (signal.SIGTERM, signal.SIGINT)}
    monkeypatch.setattr("zoo.serving.server.ray_serve.ENVIRONMENT", {})

    def command(ray, *options):
        for name, module in {
            "ray": ray,
            "ray.serve": ray,
            "zoo.serving.server.ray_app": application,
        }.items():
            monkeypatch.setitem(sys.modules, name, module)
        main([f"made={tmp_path / 'made'}", *options])
        return ray.calls

    yield command
    for number, handler in handlers.items():
        signal.signal(number, handler)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_stops_what_is_not_ready_yet(command, number, capsys):
    begin = time.monotonic()
    assert command(Ray(run=lambda: stop(number))) == ["shutdown", "shutdown"]
    assert time.monotonic() - begin < 5 and "ready" not in capsys.readouterr().err


def test_a_signal_stops_a_server(command, monkeypatch, capsys):
    monkeypatch.setattr(
        "zoo.serving.server.ray_serve.time.sleep",
        lambda _: os.kill(os.getpid(), signal.SIGTERM),
    )
    assert command(Ray(), "--address", "there:1") == [f"delete {NAME}", "shutdown"]
    assert capsys.readouterr().err == "ready; metrics at the ports [8080]\n"


def test_another_commands_application_stays(command):
    ray = Ray(there=[NAME], run=lambda: pytest.fail("it was replaced"))
    with pytest.raises(SystemExit, match="an application zoo already"):
        command(ray, "--address", "there:1")
    assert not ray.calls


def test_the_error_of_an_application_that_has_gone(command):
    def run():
        ray.applications.clear()
        raise RuntimeError("but application doesn't exist")

    ray = Ray(run=run)
    with pytest.raises(SystemExit, match="application doesn't exist"):
        command(ray)


def test_numbers_that_do_not_fit_are_refused(command, capsys):
    for options, message in (
        (["--replicas", "5", "--max-replicas", "3"], "replicas=5, min_replicas=None"),
        (["--threads", "0"], "Received: threads=0"),
    ):
        with pytest.raises(SystemExit):
            command(None, *options)
        assert message in capsys.readouterr().err

import socket
import threading
import time

import pytest

from zoo.serving import Client, ServingError
from zoo.serving.bounded_http import BoundedCall, TooLong, bounded_session

pytestmark = pytest.mark.backend_free

requests = pytest.importorskip("requests")
double = pytest.importorskip("tests.serving.double")


def soon(seconds=5):
    return time.monotonic() + seconds


def test_a_call_gives_its_answer_or_its_error():
    assert BoundedCall(lambda: 3, soon(), 10).result() == 3
    with pytest.raises(ZeroDivisionError):
        BoundedCall(lambda: 1 / 0, soon(), 10).result()


def test_a_call_is_left_behind_at_its_deadline():
    done = threading.Event()
    with pytest.raises(TimeoutError):
        BoundedCall(lambda: done.wait(5), soon(0.05), 10).result()
    assert not done.is_set()
    done.set()


def test_looking_up_a_name_is_in_the_deadline(monkeypatch):
    done, began = threading.Event(), time.monotonic()
    monkeypatch.setattr(socket, "getaddrinfo", lambda *args, **_: done.wait(5) and [])
    with pytest.raises(ServingError, match="DEADLINE_EXCEEDED"):
        Client("http://elsewhere:1", "loud", timeout=0.1).translate("a")
    assert time.monotonic() - began < 3
    done.set()


def test_what_a_call_reads_is_bounded():
    session = bounded_session()
    answer = double.http_answer("a" * 1000)
    with double.http_server(lambda c: c.sendall(answer)) as url:
        call = BoundedCall(lambda: session.post(url, timeout=5), soon(), 10_000)
        assert call.result().text == "a" * 1000
        assert call.bytes == len(answer)
        call = BoundedCall(lambda: session.post(url, timeout=5), soon(), 1000)
        with pytest.raises(TooLong):
            call.result()


def test_a_call_that_was_left_behind_ends():
    """Its timeout alone would hold for each byte."""
    session = bounded_session()

    def drip(connection):
        connection.sendall(b"HTTP/1.1 200 OK\r\na: ")
        while True:
            connection.sendall(b"a")
            time.sleep(0.02)

    with double.http_server(drip) as url:
        call = BoundedCall(lambda: session.post(url, timeout=5), soon(0.2), 10_000)
        with pytest.raises((TimeoutError, requests.Timeout)):
            call.result()
        call.join(3)
        assert not call.is_alive()


def test_proxies_are_bounded_too():
    session = bounded_session()
    answer = double.http_answer("a" * 1000)
    with double.http_server(lambda c: c.sendall(answer)) as url:
        session.proxies = {"http": url}
        call = BoundedCall(
            lambda: session.post("http://elsewhere.invalid/", timeout=5), soon(), 1000
        )
        with pytest.raises(TooLong):
            call.result()


def test_redirects_are_not_followed():
    session = bounded_session()
    answer = double.http_answer("", "307 Go", "Location: /there\r\n")
    with double.http_server(lambda c: c.sendall(answer)) as url:
        found = BoundedCall(lambda: session.post(url, timeout=5), soon(), 1000).result()
    assert (found.status_code, found.history) == (307, [])

"""Servers under load: throughput, latency, refusals, memory, for any number of clients.

    python -m tools.bench.load http://localhost:8501 --file test.en --pid 1234
    python -m tools.bench.load localhost:8500 onnx:exports/onnx/NAME

A target is a server or a model in this process, asked by `--model` and `--signature`:

    http://HOST:PORT       the REST API, by `zoo.serving.Client`
    HOST:PORT              TensorFlow Serving's gRPC, by the same
    onnx:FOLDER            `zoo.serving.runtime.onnx` in this process
    keras:PRESET           `zoo.load` in this process

For each number of clients, threads with a connection of their own, and each batch size:
sentences of mixed lengths are taken from the file in their order, and each client sends
a request when its last one is answered, until all --requests are sent or a row has
taken --limit seconds.
Prints a row of a Markdown table for each: requests, answers, errors by code, seconds,
requests and sentences a second, p50, p95, p99 and the slowest in milliseconds (of
answers alone), MB of the server's processes at most (--pid), and texts that got more
than one translation. A figure counts on a quiet machine only: the load is printed.
"""

import argparse
import collections
import contextlib
import itertools
import os
import threading
import time
from concurrent import futures
from pathlib import Path

import numpy as np

from zoo.serving.transport import ServingError

COLUMNS = (
    "target clients batch requests answers errors seconds requests/s sentences/s "
    "p50 p95 p99 slowest MB different"
).split()
SENTENCES = [
    "A man is riding a bicycle down the street.",
    "Two children are playing with a ball in the park.",
    "Where is the station?",
    "A woman in a red dress is singing on stage while the band plays behind her.",
]
BEAMS = {"greedy": 1, "translate": 5}


def main(argv=None):
    parser = argparse.ArgumentParser(
        description=__doc__.splitlines()[0],
        epilog=__doc__.split("\n", 1)[1],
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("targets", nargs="+", metavar="TARGET")
    parser.add_argument("--model", default="luong_local")
    parser.add_argument("--signature", choices=BEAMS, default="greedy")
    parser.add_argument("--file", help="sentences, one a line (default: a few)")
    parser.add_argument("--requests", type=int, default=10_000, help="of each row")
    text = "seconds of a row, which then has fewer requests"
    parser.add_argument("--limit", type=float, metavar="SECONDS", help=text)
    parser.add_argument("--clients", type=int, nargs="+", default=[1, 8, 64])
    parser.add_argument("--batches", type=int, nargs="+", default=[1, 8])
    parser.add_argument("--timeout", type=float, default=30.0)
    parser.add_argument("--pid", type=int, help="process of the server, for its memory")
    arguments = parser.parse_args(argv)
    texts = SENTENCES
    if arguments.file:
        texts = Path(arguments.file).read_text(encoding="utf-8").splitlines()
    print(f"load {os.getloadavg()}, {os.cpu_count()} processors")
    print(f"| {' | '.join(COLUMNS)} |\n|{'---|' * len(COLUMNS)}")
    for target in arguments.targets:
        place = target, arguments.model, arguments.signature, arguments.timeout
        make = opener(*place)
        for batch, clients in itertools.product(arguments.batches, arguments.clients):
            jobs = take(texts, batch, arguments.requests)
            run = Run(make, clients, jobs, arguments.pid, limit=arguments.limit)
            print(run.row(target, batch), flush=True)
    return 0


def take(texts, batch, count):
    """The texts of each request."""
    rows = itertools.cycle(texts)
    return [list(itertools.islice(rows, batch)) for _ in range(count)]


class Run:
    """Requests from several threads.

    Args:
        make: function that returns a client, a function of texts that translates them.
        clients: threads.
        jobs: the texts of each request.
        pid: process whose memory is watched, with that of its children.
        limit: seconds after which no further requests are sent; None for no limit.

    An error of a client that is no `ServingError` is raised when the others have ended.
    """

    def __init__(self, make, clients, jobs, pid=None, limit=None):
        self.clients, self.memory, self.limit = clients, 0, limit
        self.seconds, self.errors = [], collections.Counter()
        self.found = collections.defaultdict(set)
        self._waiting, self._lock = iter(jobs), threading.Lock()

        def open_one(_):
            ask = make()
            with contextlib.suppress(ServingError):
                ask(jobs[0])
            return ask

        with futures.ThreadPoolExecutor(clients) as pool:
            opened = list(pool.map(open_one, range(clients)))
            self._began = time.perf_counter()
            running = [pool.submit(self._work, ask) for ask in opened]
            try:
                waiting = running
                while waiting:
                    self.memory = max(self.memory, memory(pid) if pid else 0)
                    waiting = futures.wait(waiting, 0.2).not_done
            finally:
                with self._lock:
                    self._waiting = iter(())  # after an error no client goes on
        for one in running:
            one.result()
        self.wall = time.perf_counter() - self._began

    def _work(self, ask):
        """Sends requests while there are any."""
        while True:
            with self._lock:
                texts = next(self._waiting, None)
            start = time.perf_counter()
            if texts is None or (self.limit and start - self._began >= self.limit):
                return
            try:
                answers = ask(texts)
            except ServingError as error:
                with self._lock:
                    self.errors[error.code] += 1
                continue
            taken = time.perf_counter() - start
            with self._lock:
                self.seconds.append(taken)
                for text, answer in zip(texts, answers, strict=True):
                    self.found[text].add(answer)

    def row(self, target, batch):
        """The row of the table."""
        answers = len(self.seconds)
        times = [0.0] * 4
        if answers:
            times = np.percentile(self.seconds, [50, 95, 99, 100]) * 1000
        errors = [f"{count} {code}" for code, count in self.errors.items()]
        values = [
            *(target, self.clients, batch, answers + self.errors.total(), answers),
            ", ".join(errors) or "0",
            f"{self.wall:.1f}",
            f"{answers / self.wall:.1f}",
            f"{answers * batch / self.wall:.1f}",
            *(f"{value:.0f}" for value in times),
            f"{self.memory / 1e6:.0f}" if self.memory else "",
            sum(len(found) > 1 for found in self.found.values()),
        ]
        return f"| {' | '.join(map(str, values))} |"


# === Targets ===
def opener(target, model, signature, timeout):
    """A function that returns a function of texts for a client of its own."""
    kind, _, place = target.partition(":")
    if kind in ("onnx", "keras"):
        return in_process(kind, place, BEAMS[signature])
    from zoo.serving import Client

    options = {"timeout": timeout, "retries": 0, "batch_size": 512}

    def make():
        return getattr(Client(target, model, **options), signature)

    return make


def in_process(kind, place, beam_size):
    """One model for all clients, one after the other, as Keras's are no threads'."""
    import zoo

    loaded = zoo.serving.runtime.onnx.load(place) if kind == "onnx" else zoo.load(place)
    lock = threading.Lock()

    def ask(texts):
        with lock:
            return loaded.translate(texts, beam_size=beam_size)

    return lambda: ask


# === The server ===
def processes(pid):
    """The ids of a process and its descendants, by Linux's /proc."""
    parents = {}
    for path in Path("/proc").glob("[0-9]*"):
        if fields := read(path.name, "stat").rpartition(")")[2].split():
            parents[int(path.name)] = int(fields[1])
    chosen, before = {pid}, 0
    while len(chosen) > before:
        before = len(chosen)
        chosen |= {child for child, parent in parents.items() if parent in chosen}
    return chosen


def memory(pid):
    """Bytes of a process and its descendants."""
    pages = [read(process, "statm").split()[1:2] for process in processes(pid)]
    return sum(int(x) for found in pages for x in found) * os.sysconf("SC_PAGE_SIZE")


def read(pid, name):
    """A file of a process in /proc; nothing once it has ended."""
    try:
        return Path(f"/proc/{pid}/{name}").read_text(errors="replace")
    except OSError:
        return ""


if __name__ == "__main__":
    raise SystemExit(main())

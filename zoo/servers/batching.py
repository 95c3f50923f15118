"""Runs requests that wait together as one batch, in worker threads."""

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from typing import Any

from zoo.checks import above_zero, positive, zero_or_above
from zoo.serving.server import MAX_BATCH_SIZE

# That may wait, in whatever number of texts: 256 MB at the most.
_CHARACTERS = 2**26

Inputs = dict[str, list[Any]]  # texts, or bytes
Rows = dict[str, Sequence[Any]]


class Refusal(Exception):
    """A request that is not answered.

    Args:
        code: gRPC's name of the error, such as "NOT_FOUND".
        message: what the client is told.
    """

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class _Request:
    """A request that waits: its future, its sizes and its time."""

    def __init__(self, run, inputs, count, deadline):
        self.run, self.inputs, self.count = run, inputs, count
        self.characters = sum(len(t) for texts in inputs.values() for t in texts)
        self.future: Future[Rows] = Future()
        self.came, self.deadline = time.monotonic(), deadline


class Batcher:
    """A bounded queue of requests, and the threads that run them.

    Requests for the same function that wait at the same time are run together: their
    inputs are joined, and the rows of the outputs are divided. Where a batch fails,
    each of its requests runs alone, so that one cannot spoil another. Requests are
    begun in the order in which they came. One of more texts than a batch runs in parts,
    so that it does not go on for long when nobody waits for it any more.

    Args:
        workers: threads, each of which runs one batch at a time.
        batch_size: texts of a batch.
        queue: texts that may wait, of 2^26 characters in all; a request for which there
            is no room is refused.
        wait: seconds that an idle worker waits for more texts than the first request's.
        timeout: seconds in which a request has to be answered. One that is still
            waiting then is not run.

    Raises:
        ValueError: for a value out of range.

    Example:
        >>> batcher = Batcher(workers=1)
        >>> double = lambda inputs: {"twice": [2 * text for text in inputs["text"]]}
        >>> batcher.submit(double, {"text": ["a", "b"]}).result()
        {'twice': ['aa', 'bb']}
        >>> batcher.close()
        True
    """

    def __init__(
        self,
        workers: int = 1,
        batch_size: int = 64,
        queue: int = 2 * MAX_BATCH_SIZE,
        wait: float = 0.0,
        timeout: float = 30.0,
    ) -> None:
        self.batch_size = positive("batch_size", batch_size)
        self.queue = positive("queue", queue)
        self.wait = zero_or_above("wait", wait)
        self.timeout = above_zero("timeout", timeout)
        self._waiting: deque[_Request] = deque()
        self._changed = threading.Condition()
        self._closed = False
        self._threads = [
            threading.Thread(target=self._work, daemon=True)
            for _ in range(positive("workers", workers))
        ]
        for thread in self._threads:
            thread.start()

    def submit(self, run: Callable[[Inputs], Rows], inputs: Inputs) -> "Future[Rows]":
        """Puts a request into the queue.

        Args:
            run: function of inputs that returns outputs, with a row for each text.
            inputs: input name -> texts, equally many of each.

        Returns:
            The future of the outputs. Its exception is a `Refusal` at the deadline
            (DEADLINE_EXCEEDED), or what `run` raised. One that is cancelled is not run.

        Raises:
            Refusal: INVALID_ARGUMENT for too many texts, RESOURCE_EXHAUSTED if the
                queue is full, UNAVAILABLE if the batcher is closed.
        """
        count = max(map(len, inputs.values()), default=0)
        if count > MAX_BATCH_SIZE:
            raise Refusal(
                "INVALID_ARGUMENT",
                f"a request may have {MAX_BATCH_SIZE} rows, received {count}",
            )
        deadline = time.monotonic() + self.timeout
        parts = [
            _Request(
                run,
                {key: texts[n : n + self.batch_size] for key, texts in inputs.items()},
                min(self.batch_size, count - n),
                deadline,
            )
            for n in range(0, max(count, 1), self.batch_size)
        ]
        with self._changed:
            if self._closed:
                raise Refusal("UNAVAILABLE", "the server is stopping")
            if self._full(parts):
                self._drop_late()
            if why := self._full(parts):
                raise Refusal("RESOURCE_EXHAUSTED", why)
            self._waiting.extend(parts)
            self._changed.notify(len(parts))
        return _joined([part.future for part in parts])

    def _full(self, parts):
        """Returns why there is no room for the parts of a request, or None."""
        for name, unit, most in (
            ("count", "texts", self.queue),
            ("characters", "characters", _CHARACTERS),
        ):
            waiting, new = (
                sum(getattr(request, name) for request in requests)
                for requests in (self._waiting, parts)
            )
            # Where nothing waits, any request has room.
            if waiting and waiting + new > most:
                return f"{waiting} {unit} are waiting, and at most {most} may"
        return None

    @property
    def alive(self) -> bool:
        """Whether each of the threads is there to run requests."""
        return all(thread.is_alive() for thread in self._threads)

    def close(self, seconds: float | None = None) -> bool:
        """Refuses further requests, and ends the threads once the queue is empty.

        Args:
            seconds: how long to wait for each. Default: until it has ended.

        Returns:
            Whether all have ended.
        """
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        for thread in self._threads:
            thread.join(seconds)
        return not any(thread.is_alive() for thread in self._threads)

    # === Workers ===
    def _work(self):
        while (batch := self._take()) is not None:
            _run(batch)
            del batch  # its function may hold a model that is served no longer

    def _take(self):
        """Returns requests for one function, or None when the batcher is closed."""
        with self._changed:
            while True:
                self._drop_late()
                if not self._waiting:
                    if self._closed:
                        return None
                    self._changed.wait()
                    continue
                batch = self._next_batch()
                rest = self._waiting[0].came + self.wait - time.monotonic()
                full = sum(request.count for request in batch) >= self.batch_size
                if rest <= 0 or full or self._closed:
                    break
                self._changed.wait(rest)
            chosen = set(map(id, batch))
            self._waiting = deque(r for r in self._waiting if id(r) not in chosen)
            # From here on none of them can be cancelled.
            return [r for r in batch if r.future.set_running_or_notify_cancel()]

    def _next_batch(self):
        """Returns the requests that would be run now: those like the first."""
        first, *others = self._waiting
        batch, count = [first], first.count
        for request in others:
            if request.run == first.run:
                if count + request.count > self.batch_size:
                    break  # a later one does not come before it
                batch.append(request)
                count += request.count
        return batch

    def _drop_late(self):
        """Takes requests out that are cancelled or past their deadline."""
        now, kept = time.monotonic(), deque()
        for request in self._waiting:
            if request.future.cancelled():
                continue
            if now < request.deadline:
                kept.append(request)
            elif request.future.set_running_or_notify_cancel():
                request.future.set_exception(
                    Refusal("DEADLINE_EXCEEDED", f"not begun within {self.timeout:g} s")
                )
        self._waiting = kept


def _joined(futures: Sequence["Future[Rows]"]) -> "Future[Rows]":
    """Returns the future of a request whose parts have futures of their own."""
    if len(futures) == 1:
        return futures[0]
    whole: Future[Rows] = Future()
    missing = [len(futures)]
    lock = threading.RLock()  # to cancel one calls `end` at once

    def end(future):
        with lock:
            missing[0] -= 1
            if whole.done():
                return
            if future.cancelled():
                whole.cancel()
            elif error := future.exception():
                whole.set_exception(error)
            elif not missing[0]:
                results = [part.result() for part in futures]
                rows = {
                    name: [row for result in results for row in result[name]]
                    for name in results[0]
                }
                whole.set_result(rows)

    def stop(_):
        for future in futures:
            future.cancel()

    for future in futures:
        future.add_done_callback(end)
    whole.add_done_callback(stop)
    return whole


def _run(batch):
    """Runs requests together, and each alone if that fails."""
    if not batch:
        return
    try:
        results = list(_together(batch))
    except Exception as error:
        if len(batch) > 1:
            for request in batch:
                _run([request])
        else:
            batch[0].future.set_exception(error)
        return
    for request, rows in zip(batch, results, strict=True):
        request.future.set_result(rows)


def _together(batch: Sequence[_Request]) -> Iterator[Rows]:
    """Yields the outputs of each request."""
    names = list(batch[0].inputs)
    joined = {
        name: [text for request in batch for text in request.inputs[name]]
        for name in names
    }
    outputs = batch[0].run(joined)
    start = 0
    for request in batch:
        part = slice(start, start + request.count)
        yield {name: rows[part] for name, rows in outputs.items()}
        start = part.stop

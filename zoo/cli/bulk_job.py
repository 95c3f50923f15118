"""Bulk translation: text files cut into partitions, each translated once.

`recipes/bulk_translate.py` runs it on Ray Data. A `Job` cuts the inputs into files in a
folder beside the output, keeps finished partitions there, and joins them once all are
done. Only a newline ends a line.
"""

import argparse
import contextlib
import dataclasses
import gzip
import hashlib
import json
import os
import re
import warnings
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from zoo.cli.common import BadInput, bad_input
from zoo.cli.texts import check_files
from zoo.cli.translate import translate_chunk
from zoo.files import atomic_write, lock, write_bytes
from zoo.presets.card import digest as preset_digest

MANIFEST = "manifest.json"
# The files of a job; nothing else in its folder is ever removed.
_OWN_FILES = re.compile(r"(manifest\.json|\d{7,}\.(in|txt))(\.part)?")
_PARTITION_BYTES = 2**24  # a partition ends here at the latest


@dataclasses.dataclass(frozen=True)
class Partition:
    """Consecutive lines of one input, each ending in a newline.

    Attributes:
        number: position among the partitions of all inputs, from 0.
        name: the input's path, as the user gave it.
        path: the file that holds the lines.
        first: the number of its first line in the input, from 1.
        lines: the number of lines.
    """

    number: int
    name: str
    path: str
    first: int
    lines: int

    def read(self) -> bytes:
        """Returns the lines."""
        return Path(self.path).read_bytes()


class Job:
    """The translation of some files, which may take several runs.

    Args:
        inputs: paths of text files: UTF-8, one sentence a line; gzip if the name ends
            in `.gz`.
        output: the file to write, compressed if it ends in `.gz`; for several inputs,
            the folder to write them to under their own names. `OUTPUT.parts` holds
            unfinished work.
        partition_lines: maximum lines of a partition.
        identity: JSON-serializable dict of everything but the inputs that the result
            depends on. Unfinished work with another identity is rejected.
        restart: whether to discard unfinished work.

    Raises:
        BadInput: on entry, if a file cannot be read or written or is not UTF-8, or if
            there is unfinished work of another job or of a running one.

    Example:
        ```python
        with Job(["corpus.en"], "corpus.de", 2000, {"preset": "luong_local"}) as job:
            for partition in job.missing():
                job.write(partition, partition.read().upper())
            job.join()
        ```
    """

    def __init__(
        self,
        inputs: Sequence[str],
        output: str,
        partition_lines: int,
        identity: dict[str, Any],
        restart: bool = False,
    ) -> None:
        self.inputs, self.output = inputs, output
        self.folder = f"{os.path.realpath(output)}.parts"
        self.identity = {"partition_lines": partition_lines, **identity}
        self._most, self._restart = partition_lines, restart
        self.partitions: list[Partition] = []
        self._manifest = Path(self.folder, MANIFEST)

    def __enter__(self) -> "Job":
        self.outputs = _outputs(self.inputs, self.output)
        with bad_input(OSError, f"cannot write {self.folder}"):
            Path(self.folder).mkdir(parents=True, exist_ok=True)
        try:
            self._lock = lock(self.folder)
        except BlockingIOError:
            raise BadInput(f"another run is using {self.folder}") from None
        try:
            if self._restart or not self._manifest.exists():
                self._clear()
            inputs = [self._cut(name) for name in self.inputs]
            self._check_manifest({"inputs": inputs, **self.identity})
        except BaseException:
            if not self._manifest.exists():
                self._clear()
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._lock)
        with contextlib.suppress(OSError):  # not empty: there is unfinished work
            Path(self.folder).rmdir()

    def missing(self) -> list[Partition]:
        """Returns the partitions without a translation, in order."""
        return [p for p in self.partitions if not self._is_done(p)]

    def write(self, partition: Partition, text: bytes) -> None:
        """Stores the translation of a partition atomically.

        Args:
            partition: the partition.
            text: one line, with its newline, for each line of the partition.
        """
        lines = text.count(b"\n")
        if lines != partition.lines or not text.endswith(b"\n"):
            raise RuntimeError(
                f"partition {partition.number} has {partition.lines} lines, its "
                f"translation {lines}"
            )
        path = _translation(partition)
        write_bytes(path, text, _aside(path))

    def join(self) -> None:
        """Writes each output atomically and removes the partitions."""
        for name, output in zip(self.inputs, self.outputs, strict=True):

            def write(aside, name=name, output=output):
                with Path(aside).open("wb") as file, _pack(file, output) as packed:
                    for partition in self.partitions:
                        if partition.name == name:
                            packed.write(_translation(partition).read_bytes())

            atomic_write(output, write, _aside(output))
        self._clear()

    def _is_done(self, partition):
        try:
            text = _translation(partition).read_bytes()
        except FileNotFoundError:
            return False
        return text.count(b"\n") == partition.lines

    def _clear(self):
        # The manifest last: it tells which job the partitions belong to.
        paths = Path(self.folder).iterdir()
        for path in sorted(paths, key=lambda path: (path == self._manifest, path)):
            if _OWN_FILES.fullmatch(path.name):
                path.unlink()

    def _cut(self, name):
        """Cuts an input into partitions and returns what identifies it."""
        digest, total, text, lines = hashlib.sha256(), 0, bytearray(), 0

        def end():
            number = len(self.partitions)
            path = str(Path(self.folder, f"{number:07}.in"))
            Path(path).write_bytes(text)
            first = total - lines + 1
            self.partitions.append(Partition(number, name, path, first, lines))

        for line in _read(name):
            total += 1
            with bad_input(UnicodeDecodeError, f"line {total} of {name} is not UTF-8"):
                line.decode("utf-8")
            digest.update(line)
            text += line if line.endswith(b"\n") else line + b"\n"
            lines += 1
            if lines == self._most or len(text) >= _PARTITION_BYTES:
                end()
                text, lines = bytearray(), 0
        if lines:
            end()
        return f"{Path(name).name}: {total} lines, sha256 {digest.hexdigest()}"

    def _check_manifest(self, manifest):
        path = self._manifest
        if not path.exists():
            write_bytes(path, json.dumps(manifest, indent=2).encode(), _aside(path))
            return
        with bad_input(ValueError, f"{path} is damaged (--restart removes it)"):
            stored = json.loads(path.read_text(encoding="utf-8"))
            if not isinstance(stored, dict):
                raise ValueError(f"it should hold an object. Received: {stored!r}")
        for key in {**manifest, **stored}:
            if manifest.get(key) != stored.get(key):
                raise BadInput(
                    f"{self.folder} holds unfinished work with another {key}: "
                    f"{stored.get(key)}; --restart removes it. "
                    f"Received: {manifest.get(key)}"
                )


# === Files ===


def _outputs(inputs, output):
    """Returns the path of each input's output, after checking all of them."""
    for path in inputs:
        if path == "-" or (os.path.exists(path) and not os.path.isfile(path)):
            raise BadInput(
                "an input must be a file, since a resumed run reads it again; "
                f"use `zoo translate` for a stream. Received: {path}"
            )
    if len(inputs) == 1 and not os.path.isdir(output):
        outputs = [output]
    else:
        outputs = [str(Path(output, Path(path).name)) for path in inputs]
        for path in outputs:
            if outputs.count(path) > 1:
                raise BadInput(f"two inputs would be written to {path}")
            if _aside(path) in outputs:
                raise BadInput(f"{path} needs the name of an output: {_aside(path)}")
        check_files(inputs, None)
        with bad_input(OSError, f"cannot write the folder {output}"):
            Path(output).mkdir(parents=True, exist_ok=True)
    for path in outputs:
        check_files(inputs, path)
    return [os.path.realpath(path) for path in outputs]


def _translation(partition):
    return Path(partition.path).with_suffix(".txt")


def _aside(path):
    """Returns the temporary path of a file; `check_files` knows it."""
    return f"{path}.part"


def _read(name):
    """Yields the lines of an input as bytes."""
    wrong = (gzip.BadGzipFile, EOFError, zlib.error)
    with bad_input(wrong, f"cannot read {name}"):
        with gzip.open(name) if name.endswith(".gz") else Path(name).open("rb") as file:
            yield from file


def _pack(file, output):
    """Returns the file to write text to: `file`, or a gzip stream into it."""
    if output.endswith(".gz"):
        return gzip.GzipFile("", "wb", fileobj=file, mtime=0)
    return contextlib.nullcontext(file)


# === Translation ===


class Translator:
    """A worker that holds a preset, whose digest it checks, and translates partitions.

    `search` has arguments of `zoo translate`: batch_size and those of
    `zoo.cli.common.SEARCH_OPTIONS`.
    """

    def __init__(self, preset: str, digest: str, search: dict[str, Any]) -> None:
        from zoo import presets
        from zoo.presets import loading
        from zoo.training.fast.process import start_backend, tune_process

        actual = preset_digest(presets.find(preset))
        if actual != digest:
            raise ValueError(
                f"the preset {preset} differs on this machine: sha256 {digest} "
                f"was expected. Received: {actual}"
            )
        tune_process()
        start_backend()
        self._task = loading.load(preset)
        self._arguments = argparse.Namespace(n_best=1, alignments=False, **search)

    def translate(self, text: bytes, name: str, first: int) -> tuple[bytes, list[str]]:
        """Translates the lines of a partition, as `zoo translate` does.

        Args:
            text: the lines, each with its newline.
            name: the input's path, for warnings.
            first: the number of the first line in the input.

        Returns:
            The translated lines, each with its newline, and the warnings.
        """
        lines = text.decode("utf-8").split("\n")[:-1]
        chunk = [
            (line.rstrip("\r"), f"line {number} of {name}")
            for number, line in enumerate(lines, start=first)
        ]
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", UserWarning)
            results = translate_chunk(self._task, chunk, self._arguments)
        # A translation stays on one line, whatever it contains.
        results = [" ".join((result or "").splitlines()) for result in results]
        messages = [str(w.message) for w in caught if w.category is UserWarning]
        return "".join(f"{result}\n" for result in results).encode(), messages

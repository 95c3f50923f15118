"""Bulk translation: text files cut into partitions, each translated once.

What `recipes/bulk_translate.py` runs on Ray Data, without Ray: a `Job` reads the
inputs, keeps finished partitions in a folder beside the output, and joins them when
all are there. A line ends at a newline and nowhere else.
"""

import argparse
import contextlib
import dataclasses
import gzip
import hashlib
import json
import os
import re
import shutil
import warnings
import zlib

from zoo.cli.common import BadInput, bad_input
from zoo.cli.texts import check_files
from zoo.cli.translate import translate_chunk
from zoo.files import lock, write_aside, write_bytes
from zoo.presets.card import digest as preset_digest

MANIFEST = "manifest.json"
# What a job's folder may hold; nothing else in it is ever removed.
_OWN_FILES = re.compile(r"(manifest\.json|\d{7,}\.txt|input-\d+\.txt)(\.part)?")
_PARTITION_BYTES = 2**24  # a partition ends here too, however few its lines


@dataclasses.dataclass(frozen=True)
class Partition:
    """Consecutive lines of one input.

    Attributes:
        number: counts the partitions of all inputs, from 0.
        name: the input's path, as the user gave it.
        path: the file to read: another one where the input is compressed.
        start, size: bytes of `path`.
        first: the number of its first line in the input, from 1.
        lines: how many lines it has.
    """

    number: int
    name: str
    path: str
    start: int
    size: int
    first: int
    lines: int

    def read(self):
        """The lines as bytes, each with its newline, the last one of a file too.

        Raises:
            RuntimeError: if the file has other lines there than when it was scanned.
        """
        with open(self.path, "rb") as file:
            file.seek(self.start)
            text = file.read(self.size)
        if not text.endswith(b"\n"):
            text += b"\n"
        if text.count(b"\n") != self.lines:
            raise RuntimeError(f"{self.name} was changed while it was translated")
        return text


class Job:
    """The translation of some files, which may take several runs.

    Args:
        inputs: paths of text files: UTF-8, one sentence a line; gzip where the name
            ends in `.gz`.
        output: path of the file to write, compressed if it ends in `.gz`; for several
            inputs the folder, in which each has its own name. `OUTPUT.parts` holds
            unfinished work.
        partition_lines: most lines of a partition.
        identity: dict for JSON: what the result depends on, the inputs aside.
            Unfinished work of another identity is refused.
        restart: whether to throw unfinished work away.

    Raises:
        BadInput: on entry, for files that cannot be read or written, text that is not
            UTF-8, and unfinished work of another job or of one that is running.

    Example:
        ```python
        with Job(["corpus.en"], "corpus.de", 2000, {"preset": "luong_local"}) as job:
            for partition in job.missing():
                job.write(partition, partition.read().upper())
            job.join()
        ```
    """

    def __init__(self, inputs, output, partition_lines, identity, restart=False):
        self.inputs, self.output = inputs, output
        self.folder = f"{os.path.realpath(output)}.parts"
        self.identity = {"partition_lines": partition_lines, **identity}
        self._most, self._restart = partition_lines, restart

    def __enter__(self):
        self.outputs = _outputs(self.inputs, self.output)
        with bad_input(OSError, f"cannot write {self.folder}"):
            os.makedirs(self.folder, exist_ok=True)
            self._lock = _lock(self.folder)
        try:
            if self._restart or not os.path.exists(self._path(MANIFEST)):
                self._clear()
            self.partitions, facts = [], []
            for index, name in enumerate(self.inputs):
                facts.append(self._scan(index, name))
            self._check_manifest({"inputs": facts, **self.identity})
        except BaseException:
            if not os.path.exists(self._path(MANIFEST)):
                self._clear()
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        os.close(self._lock)
        with contextlib.suppress(OSError):  # not empty: there is work to go on with
            os.rmdir(self.folder)

    def missing(self):
        """The partitions that have no translation yet, in order."""
        return [p for p in self.partitions if not self._is_done(p)]

    def write(self, partition, text):
        """Keeps the translation of a partition: all of it or nothing.

        Args:
            partition: a `Partition`.
            text: bytes: a line with its newline for each of the partition's.
        """
        lines = text.count(b"\n")
        if lines != partition.lines or not text.endswith(b"\n"):
            raise RuntimeError(
                f"partition {partition.number} has {partition.lines} lines, its "
                f"translation {lines}"
            )
        path = self._part(partition)
        write_bytes(path, text, _aside(path))

    def join(self):
        """Writes the outputs, each of which takes its name when it is whole, and
        removes the partitions."""
        of = {name: [] for name in self.inputs}
        for partition in self.partitions:
            of[partition.name].append(partition)
        for name, output in zip(self.inputs, self.outputs, strict=True):

            def write(aside, partitions=of[name], output=output):
                with open(aside, "wb") as file, _pack(file, output) as packed:
                    for partition in partitions:
                        with open(self._part(partition), "rb") as part:
                            shutil.copyfileobj(part, packed)

            write_aside(output, write, _aside(output))
        self._clear()

    def _path(self, name):
        return os.path.join(self.folder, name)

    def _part(self, partition):
        return self._path(f"{partition.number:07}.txt")

    def _is_done(self, partition):
        try:
            with open(self._part(partition), "rb") as file:
                return file.read().count(b"\n") == partition.lines
        except FileNotFoundError:
            return False

    def _clear(self):
        # The manifest last: without it the partitions would be of no known job.
        for name in sorted(os.listdir(self.folder), key=lambda n: (n == MANIFEST, n)):
            if _OWN_FILES.fullmatch(name):
                os.remove(self._path(name))

    # === Before the work ===

    def _scan(self, index, name):
        """Cuts an input into partitions.

        Returns:
            What tells this input from another one.
        """
        path = os.path.realpath(name)
        if name.endswith(".gz"):  # unpacked: in gzip no partition can be looked up
            path = self._path(f"input-{index}.txt")
            _unpack(name, path)
        digest, total = hashlib.sha256(), 0
        with open(path, "rb") as file:
            for start, size, first, lines in _cuts(file, name, digest, self._most):
                number = len(self.partitions)
                self.partitions.append(
                    Partition(number, name, path, start, size, first, lines)
                )
                total += lines
        return f"{os.path.basename(name)}: {total} lines, sha256 {digest.hexdigest()}"

    def _check_manifest(self, facts):
        path = self._path(MANIFEST)
        if not os.path.exists(path):
            write_bytes(path, json.dumps(facts, indent=2).encode(), _aside(path))
            return
        with bad_input(ValueError, f"{path} is damaged (--restart removes it)"):
            with open(path, encoding="utf-8") as file:
                held = json.load(file)
            if not isinstance(held, dict):
                raise ValueError(f"it should hold an object. Received: {held!r}")
        for key in {**facts, **held}:
            if facts.get(key) != held.get(key):
                raise BadInput(
                    f"{self.folder} holds unfinished work with another {key}: "
                    f"{held.get(key)}; --restart removes it. "
                    f"Received: {facts.get(key)}"
                )


def _cuts(file, name, digest, most):
    """Yields (start, bytes, first line's number, lines) of each partition."""
    start = size = lines = 0
    number = 0
    for number, line in enumerate(file, start=1):
        with bad_input(UnicodeDecodeError, f"line {number} of {name} is not UTF-8"):
            line.decode("utf-8")
        digest.update(line)
        size += len(line)
        lines += 1
        if lines == most or size >= _PARTITION_BYTES:
            yield start, size, number - lines + 1, lines
            start, size, lines = start + size, 0, 0
    if lines:
        yield start, size, number - lines + 1, lines


# === Files ===


def _outputs(inputs, output):
    """Each input's output, once it is known that they can be read and written."""
    for path in inputs:
        if path == "-" or (os.path.exists(path) and not os.path.isfile(path)):
            raise BadInput(
                "an input must be a file, which is read again where a run goes on; "
                f"`zoo translate` takes a stream. Received: {path}"
            )
    if len(inputs) == 1 and not os.path.isdir(output):
        outputs = [output]
    else:
        outputs = [os.path.join(output, os.path.basename(path)) for path in inputs]
        for path in outputs:
            if outputs.count(path) > 1:
                raise BadInput(f"two inputs would be written to {path}")
            if _aside(path) in outputs:
                raise BadInput(f"{path} needs the name of another: {_aside(path)}")
        check_files(inputs, None)
        with bad_input(OSError, f"cannot write the folder {output}"):
            os.makedirs(output, exist_ok=True)
    for path in outputs:
        check_files(inputs, path)
    return [os.path.realpath(path) for path in outputs]


def _aside(path):
    """Where a file is written before it takes its name (`check_files` looks there: it
    may be an input)."""
    return f"{path}.part"


def _lock(folder):
    """Keeps other runs out of a folder until what is returned is closed."""
    try:
        return lock(folder)
    except BlockingIOError:
        raise BadInput(f"another run is at work in {folder}") from None


def _unpack(name, path):
    wrong = (gzip.BadGzipFile, EOFError, zlib.error)
    with (
        bad_input(wrong, f"cannot read {name}"),
        gzip.open(name) as packed,
        open(path, "wb") as file,
    ):
        shutil.copyfileobj(packed, file)


def _pack(file, output):
    """The file to write an output's text to: `file`, or gzip into it."""
    if output.endswith(".gz"):
        return gzip.GzipFile("", "wb", fileobj=file, mtime=0)
    return contextlib.nullcontext(file)


# === Translation ===


class Translator:
    """One worker: holds the preset, translates partitions.

    Args:
        preset: what `zoo.load` takes.
        digest: what `preset_digest` must give for its folder.
        search: dict of the arguments of `zoo translate`: beam_size, batch_size, and
            others of `zoo.cli.common.SEARCH_OPTIONS`.

    Raises:
        ValueError: if the preset is another one here.
    """

    def __init__(self, preset, digest, search):
        from zoo import loading, presets
        from zoo.training.process import start_backend, tune_process

        found = preset_digest(presets.find(preset))
        if found != digest:
            raise ValueError(
                f"the preset {preset} is another one on this machine: sha256 {digest} "
                f"was expected. Received: {found}"
            )
        tune_process()
        start_backend()
        self._task = loading.load(preset)
        self._arguments = argparse.Namespace(n_best=1, alignments=False, **search)

    def translate(self, text, name, first):
        """Translates the lines of a partition, as `zoo translate` does.

        Args:
            text: bytes, the lines, each with its newline.
            name: the input's path, named in warnings.
            first: the first line's number in it.

        Returns:
            (bytes, list of str): as many lines, each with its newline, and warnings.
        """
        lines = text.decode("utf-8").split("\n")[:-1]
        chunk = [
            (line.rstrip("\r"), f"line {number} of {name}")
            for number, line in enumerate(lines, start=first)
        ]
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", UserWarning)
            results = translate_chunk(self._task, chunk, self._arguments)
        # Whatever a translation holds, it stays one line.
        results = [" ".join((result or "").splitlines()) for result in results]
        told = [str(w.message) for w in caught if w.category is UserWarning]
        return "".join(f"{result}\n" for result in results).encode(), told

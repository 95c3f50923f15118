"""The table of the study, docs/reproduction/study.jsonl: a line for each run."""

import dataclasses
import functools
import json
import os

from tools import ROOT
from tools.papers import arms
from tools.papers.counts import measure_of, unpack
from zoo.files import lock_in_turn, write_bytes

TABLE = ROOT / "docs" / "reproduction" / "study.jsonl"


class OtherSettings(ValueError):
    """A run has other settings than its arm has now."""


@dataclasses.dataclass(frozen=True, eq=False)  # so that `cache` can take it
class Result:
    """One run of the study.

    Attributes:
        row: dict of "arm", "seed", "counts" (dict of their kind to what `pack` made),
            "scores" (dict of str to float), "parameters", "settings", "digest" (see
            `tools.papers.arms.digest`), "seconds" of training, "command", "commit",
            "code" (sha256 of the code that it depends on), "machine" and "date";
            "failed" with the reason instead of counts and scores where training broke
            off.
    """

    row: dict

    @property
    def key(self):
        """The arm and the seed."""
        return self.row["arm"], self.row["seed"]

    @functools.cache  # noqa: B019 (a few hundred, as long as the process)
    def counts(self, kind):
        """Counts of a kind: int (sentences, columns)."""
        return unpack(self.row["counts"][kind])

    def score(self, name):
        """The score of a name: see `tools.papers.counts`."""
        measure = measure_of(name)
        if measure.counts is None:
            return self.row["scores"][name]
        return measure.of(self.counts(measure.counts))

    def has(self, name):
        """Whether the run has that score."""
        kind = measure_of(name).counts
        return (
            name in self.row["scores"] if kind is None else kind in self.row["counts"]
        )


def check_settings(row, where):
    """Refuses the row of a run of other settings than its arm has now.

    Args:
        row: the row.
        where: where it stands, for the error.

    Raises:
        OtherSettings: naming it.
    """
    arm = row["arm"]
    expected = arms.digest(arm) if arm in arms.ARMS else "no such arm"
    if row.get("digest") != expected:
        raise OtherSettings(
            f"{where}: the run of {arm}, seed {row['seed']}, has other settings than "
            "tools/papers/arms.py, and can't stand beside others: remove it, or "
            f"restore them. Expected digest: {expected}. Received: {row.get('digest')}"
        )


def read(path=TABLE):
    """Reads a table.

    Returns:
        Dict of (arm, seed) to its `Result`, and one of those that failed to their row.

    Raises:
        ValueError: for a line that is damaged, a run that is there twice, or one of
            other settings (`OtherSettings`).
    """
    results, failed = {}, {}
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    for number, line in enumerate(lines, start=1):
        try:
            result = Result(json.loads(line))
            key = result.key
        except (ValueError, KeyError, TypeError) as error:
            raise ValueError(f"{path}, line {number} is damaged: {error!r}") from error
        check_settings(result.row, f"{path}, line {number}")
        if key in results or key in failed:
            raise ValueError(f"{path}, line {number} has a run again. Received: {key}")
        if "failed" in result.row:
            failed[key] = result.row
        else:
            results[key] = result
    return results, failed


def append(work, path=TABLE):
    """Appends the runs of a folder that the table doesn't have yet.

    Args:
        work: the study's folder, with a file ARM-SEED.json for each run that is done.
        path: the table.

    Returns:
        List of (arm, seed) of the new lines.

    Raises:
        ValueError: see `read`.
    """
    lock = lock_in_turn(work / "table.lock", 60, lambda: None)
    try:
        results, failed = read(path)
        files = sorted(
            # Not ARM-SEED.part.json, which is being written.
            work.glob("*-*[0-9].json"),
            key=lambda f: f.stat().st_mtime_ns,
        )
        found = [Result(json.loads(file.read_text("utf-8"))) for file in files]
        for file, one in zip(files, found, strict=True):
            check_settings(one.row, file)
        new = [one for one in found if one.key not in results | failed]
        text = path.read_text(encoding="utf-8") if path.exists() else ""
        lines = [json.dumps(one.row, ensure_ascii=False) for one in new]
        if new:
            write_bytes(path, (text + "".join(f"{x}\n" for x in lines)).encode())
    finally:
        if lock is not None:
            os.close(lock)
    return [one.key for one in new]

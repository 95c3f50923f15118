"""The table of the study, docs/reproduction/study.jsonl: a line for each run."""

import dataclasses
import functools
import json

from tools import ROOT
from tools.papers import arms
from tools.papers.counts import measure_of, unpack

TABLE = ROOT / "docs" / "reproduction" / "study.jsonl"


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
        return (kind or name) in self.row["counts" if kind else "scores"]


def read(path=TABLE):
    """Reads a table.

    Returns:
        Dict of (arm, seed) to its `Result`, and one of those that failed to their row.

    Raises:
        ValueError: for a line that is damaged, a run that is there twice, or one of
            other settings than its arm has now, which can't stand beside others.
    """
    results, failed = {}, {}
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    for number, line in enumerate(lines, start=1):
        where = f"{path}, line {number}"
        try:
            row = json.loads(line)
            key = row["arm"], row["seed"]
        except (ValueError, KeyError, TypeError) as error:
            raise ValueError(f"{where} is damaged: {error!r}") from error
        expected = arms.digest(key[0]) if key[0] in arms.ARMS else "no such arm"
        if row.get("digest") != expected:
            raise ValueError(
                f"{where}: the run of {key[0]}, seed {key[1]}, has other settings than "
                "tools/papers/arms.py: remove it, or restore them. Expected digest: "
                f"{expected}. Received: {row.get('digest')}"
            )
        if key in results or key in failed:
            raise ValueError(f"{where} has a run again. Received: {key}")
        if "failed" in row:
            failed[key] = row
        else:
            results[key] = Result(row)
    return results, failed


def append(row, path=TABLE):
    """Appends the row of a run."""
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(row, ensure_ascii=False) + "\n")

"""The report of `tools/bench_train.py`: rates, ratios, and who else computed."""

import os
import platform
import re
import statistics
import time
from pathlib import Path


class Meter:
    """CPU used by this process's children and by everything else, in cores."""

    def __enter__(self):
        self.began = self._now()
        return self

    def __exit__(self, *error):
        wall, own, busy, steal = (
            b - a for a, b in zip(self.began, self._now(), strict=True)
        )
        self.found = {"seconds": wall, "own_cores": own / wall}
        if busy:
            self.found["other_cores"] = max(0.0, busy - own) / wall
            self.found["stolen_cores"] = steal / wall

    @staticmethod
    def _now():
        t = os.times()
        own = t.user + t.system + t.children_user + t.children_system
        busy = steal = 0.0
        if os.path.exists("/proc/stat"):
            with open("/proc/stat") as file:
                busy, steal = processor_times(file.readline())
        return time.monotonic(), own, busy, steal


def processor_times(line, ticks=None):
    """Seconds (in use, stolen by the machine's host) from the first line of /proc/stat.

    Its fields are user, nice, system, idle, iowait, irq, softirq and steal.
    """
    ticks = ticks or os.sysconf("SC_CLK_TCK")
    user, nice, system, _, _, irq, softirq, steal = map(int, line.split()[1:9])
    return (user + nice + system + irq + softirq) / ticks, steal / ticks


def summary(values):
    """Median, least and most of some rates; None without any."""
    if not values:
        return None
    return {
        "median": statistics.median(values),
        "least": min(values),
        "most": max(values),
        "windows": len(values),
    }


def table(rates, references):
    """A table in Markdown: one row for each system, a column for each ratio.

    Args:
        rates: dict of system -> list of target tokens per second.
        references: dict of column -> target tokens per second, or None.
    """
    columns = [name for name, value in references.items() if value]
    rows = [["system", "target tokens/s", "spread", *(f"/ {c}" for c in columns)]]
    rows.append(["---"] + ["---:"] * (len(rows[0]) - 1))
    for name, values in rates.items():
        found = summary(values)
        if found is None:
            rows.append([name, "failed"] + [""] * (len(rows[0]) - 2))
            continue
        rows.append(
            [
                name,
                f"{found['median']:,.0f}",
                f"{found['least']:,.0f} – {found['most']:,.0f}",
                *(f"{found['median'] / references[c]:.2f}" for c in columns),
            ]
        )
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def processor():
    """The CPU's name, where Linux tells."""
    try:
        text = Path("/proc/cpuinfo").read_text()
    except OSError:
        return platform.processor() or platform.machine()
    found = re.search(r"model name\s*:\s*(.+)", text)
    return found[1] if found else platform.machine()

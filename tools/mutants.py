"""Makes small faults in the code, one at a time, and asks whether the tests notice.

    python tools/mutants.py --record new.jsonl                  # 120, of this commit
    python tools/mutants.py --record old.jsonl --tests 435751f  # by another's tests
    python tools/mutants.py --record new.jsonl --list           # what has been found

A fault (a mutant, DeMillo et al. 1978) is another operator or sign, a number one off, a
mask left out, operands exchanged, a condition turned round. As many are drawn from each
of `PARTS`, by a seed. Each goes into a copy of the commit, and the tests that mirror
its file run there under PyTorch until one fails: then it is caught. What survives is
either no fault (a bound that is never met) or a test that is missing.
"""

import argparse
import ast
import collections
import dataclasses
import io
import json
import os
import random
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PARTS = {
    "layers": ["zoo/layers"],
    "models": ["zoo/models"],
    "decoding": ["zoo/decoding"],
    "text": ["zoo/text"],
    "presets": ["zoo/presets"],
    # Where it is, and where it was before.
    "checkpoint": ["zoo/training/fit/checkpoint.py", "zoo/training/checkpoint.py"],
}
TIMEOUT = 600  # seconds; a fault that makes a loop endless is caught
# What stands in the place of an operator.
_OTHER = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.And: ast.Or,
    ast.Or: ast.And,
}
_ORDERED = ("divide", "greater", "less", "matmul", "power", "subtract")
# No fault of what is computed: messages, types, what documents look like.
_LEFT_OUT = (ast.Raise, ast.Assert, ast.JoinedStr, ast.AnnAssign, ast.Import)


@dataclasses.dataclass(frozen=True)
class Mutant:
    """One fault: `file` with `new` in the place of its characters `start` to `end`."""

    part: str
    file: str
    line: int
    kind: str
    start: int
    end: int
    old: str
    new: str

    @property
    def key(self):
        return f"{self.file}:{self.start}:{self.new}"


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--record", type=Path, required=True, help="FILE.jsonl")
    parser.add_argument("--count", type=int, default=120)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--code", default="HEAD", help="commit of the code")
    parser.add_argument("--tests", help="commit of the tests (default: the code's)")
    parser.add_argument("--list", action="store_true", help="run nothing")
    arguments = parser.parse_args(argv)
    found = read(arguments.record)
    if not arguments.list:
        with tempfile.TemporaryDirectory() as folder:
            unpack(arguments.code, folder)
            mutants = draw(Path(folder), arguments.count, arguments.seed)
            if arguments.tests:
                unpack(arguments.tests, folder, "tests")
            try_all(Path(folder), mutants, found, arguments.record)
    print(table(found))
    return 0


def read(path):
    """The results so far: dict of a mutant's key to its record."""
    if not path.is_file():
        return {}
    rows = map(json.loads, path.read_text(encoding="utf-8").splitlines())
    return {row["key"]: row for row in rows}


def unpack(commit, folder, *paths):
    """Puts the files of a commit into a folder."""
    packed = subprocess.check_output(["git", "archive", commit, *paths], cwd=ROOT)
    with tarfile.open(fileobj=io.BytesIO(packed)) as file:
        file.extractall(folder, filter="data")


# === Faults ===


def draw(root, count, seed):
    """Draws mutants, as many from each part."""
    rng, mutants = random.Random(seed), []
    for part, places in PARTS.items():
        files = []
        for place in (root / name for name in places):
            files += [place] if place.is_file() else sorted(place.rglob("*.py"))
        found = [
            mutant
            for path in files
            for mutant in mutants_of(path.read_text("utf-8"), part, path, root)
        ]
        mutants += rng.sample(found, min(len(found), count // len(PARTS)))
    return mutants


def mutants_of(source, part="", path=Path("file.py"), root=Path()):
    """All faults of a file's text, in order."""
    lines = [line.encode() for line in source.splitlines(keepends=True)]
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line.decode()))

    def place(line, column):  # ast counts a line's bytes
        return starts[line - 1] + len(lines[line - 1][:column].decode())

    file = path.relative_to(root).as_posix() if root != Path() else path.as_posix()
    found = []
    for node in _nodes(ast.parse(source)):
        start = place(node.lineno, node.col_offset)
        end = place(node.end_lineno, node.end_col_offset)
        for kind, new in faults(node):
            text = ast.unparse(ast.fix_missing_locations(new))
            if not isinstance(new, (ast.Constant, ast.Call)):
                text = f"({text})"
            found.append(
                Mutant(
                    part, file, node.lineno, kind, start, end, source[start:end], text
                )
            )
    return sorted(found, key=lambda mutant: (mutant.start, mutant.end, mutant.new))


def _nodes(node):
    """The expressions of a tree whose values are computed with."""
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list", "bases"):
            continue
        if name == "keywords" and isinstance(node, ast.ClassDef):
            continue
        for child in value if isinstance(value, list) else [value]:
            if not isinstance(child, ast.AST) or isinstance(child, _LEFT_OUT):
                continue
            if isinstance(child, ast.expr):
                yield child
            yield from _nodes(child)


def faults(node):
    """Yields (kind, what may stand in the place of an expression)."""
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        other = _OTHER[type(node.ops[0])]()
        yield "comparison", ast.Compare(node.left, [other], node.comparators)
    elif isinstance(node, ast.BoolOp):
        yield "and, or", ast.BoolOp(_OTHER[type(node.op)](), node.values)
    elif isinstance(node, ast.BinOp) and not _joins_a_path(node):
        if type(node.op) in _OTHER:
            yield "operator", ast.BinOp(node.left, _OTHER[type(node.op)](), node.right)
        if isinstance(node.op, (ast.Sub, ast.Div, ast.MatMult, ast.Pow)):
            yield "operands", ast.BinOp(node.right, node.op, node.left)
    elif isinstance(node, ast.UnaryOp):
        kind = "not" if isinstance(node.op, ast.Not) else "sign"
        yield kind, node.operand
    elif isinstance(node, ast.Constant):
        if isinstance(node.value, bool):
            yield "constant", ast.Constant(not node.value)
        elif isinstance(node.value, int):
            yield "one off", ast.Constant(node.value + 1)
        elif isinstance(node.value, float):
            yield "constant", ast.Constant(2 * node.value if node.value else 1.0)
    elif isinstance(node, ast.IfExp):
        yield "not", ast.IfExp(node.test, node.orelse, node.body)
    elif isinstance(node, ast.Call):
        name = getattr(node.func, "attr", getattr(node.func, "id", ""))
        if name in _ORDERED and len(node.args) == 2:
            yield "operands", ast.Call(node.func, node.args[::-1], node.keywords)
        for keyword in node.keywords:
            given = not isinstance(keyword.value, ast.Constant)
            if keyword.arg and keyword.arg.endswith("mask") and given:
                rest = [k for k in node.keywords if k is not keyword]
                none = ast.keyword(keyword.arg, ast.Constant(None))
                yield "mask", ast.Call(node.func, node.args, [*rest, none])


def _joins_a_path(node):
    """Whether it is a folder / "name" or folder / NAME."""
    right = node.right
    named = isinstance(right, ast.Name) and right.id.isupper()
    text = isinstance(right, ast.Constant) and isinstance(right.value, str)
    return isinstance(node.op, ast.Div) and (named or text)


# === Tests ===


def tests_of(root, file):
    """The tests that mirror a file; those of its folder where there are none; its
    layers' or models' everyday contract; and what all refuse."""
    path = Path(file)
    folder = root / "tests" / path.parent.relative_to("zoo")
    mirror = folder / f"test_{path.name}"
    found = [mirror] if mirror.is_file() else sorted(folder.glob("test_*.py"))
    everyday = folder / "test_everyday.py"
    every = dict.fromkeys([*found, everyday, root / "tests" / "test_refusals.py"])
    return [test.relative_to(root).as_posix() for test in every if test.is_file()]


def try_all(root, mutants, found, record):
    """Tries those that are not recorded yet, and adds them to the record."""
    sound = {}
    for number, mutant in enumerate(mutants, 1):
        tests = tuple(tests_of(root, mutant.file))
        if mutant.key in found:
            continue
        if tests not in sound:
            sound[tests] = passes(root, tests)
        if not sound[tests]:
            sys.exit(f"these tests fail by themselves: {' '.join(tests)}")
        path = root / mutant.file
        whole = path.read_text("utf-8")
        path.write_text(whole[: mutant.start] + mutant.new + whole[mutant.end :])
        try:
            caught = not passes(root, tests)
        finally:
            path.write_text(whole)
        row = {**dataclasses.asdict(mutant), "key": mutant.key, "caught": caught}
        found[mutant.key] = row
        with record.open("a", encoding="utf-8") as file:
            file.write(f"{json.dumps(row)}\n")
        print(f"{number}/{len(mutants)} {describe(row)}", file=sys.stderr, flush=True)


def passes(root, tests):
    """Whether the tests pass under PyTorch, in a copy of the project."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider"]
    command += ["-m", "not long"]  # as `make test` runs them
    environment = {**os.environ, "KERAS_BACKEND": "torch", "PYTHONPATH": str(root)}
    environment |= {"OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        done = subprocess.run(
            [*command, *tests],
            cwd=root,
            env=environment,
            capture_output=True,
            timeout=TIMEOUT,
        )
    except subprocess.TimeoutExpired:
        return False
    return done.returncode == 0


def describe(row):
    """A mutant and what became of it, on one line."""
    change = f"{' '.join(row['old'].split())} -> {row['new']}"
    fate = "caught" if row["caught"] else "SURVIVED"
    return f"{fate} {row['file']}:{row['line']} ({row['kind']}) {change[:100]}"


def table(found):
    """How many of each part were caught, as Markdown, and the survivors."""
    counts = collections.Counter((row["part"], row["caught"]) for row in found.values())
    lines = ["| part | mutants | caught |", "| --- | --- | --- |"]
    for part in PARTS:
        caught, survived = counts[part, True], counts[part, False]
        lines.append(f"| {part} | {caught + survived} | {caught} |")
    caught = sum(row["caught"] for row in found.values())
    lines.append(f"| all | {len(found)} | {caught} |")
    survivors = [row for row in found.values() if not row["caught"]]
    return "\n".join([*lines, "", *map(describe, survivors)])


if __name__ == "__main__":
    sys.exit(main())

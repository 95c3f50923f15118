"""Makes small faults in the code, one at a time, and asks whether the tests notice.

    python tools/mutants.py --record new.jsonl                  # 120, of this commit
    python tools/mutants.py --record old.jsonl --code 942a550   # of another one

A fault (a mutant, DeMillo et al. 1978) is another operator or sign, a number one off, a
mask left out, operands exchanged, a condition reversed. As many are drawn from each
of `PARTS`, by a seed. Each goes into a copy of the commit, and the tests that mirror
its file run there under PyTorch until one fails: then it is caught. What survives is
either no fault (a bound that is never met) or a test that is missing. A command that
was stopped goes on where it was.
"""

import argparse
import ast
import collections
import json
import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
PARTS = [
    *(f"zoo/{part}/**/*.py" for part in "layers models decoding text presets".split()),
    "zoo/training/**/checkpoint.py",
]
TIMEOUT = 600  # seconds; a fault that makes a loop endless is caught
# What replaces an operator: one of a pair the other, and two that are replaced alone.
PAIRS = "Lt LtE, Gt GtE, Eq NotEq, Is IsNot, In NotIn, Add Sub, Mult Div, And Or"
OTHER = {"FloorDiv": "Mult", "Mod": "FloorDiv"}
for left, right in map(str.split, PAIRS.split(",")):
    OTHER |= {left: right, right: left}
ORDERED = ("divide", "greater", "less", "matmul", "power", "subtract")
# Nothing is computed there, or it is a message.
NO_VALUES = ("annotation", "bases", "decorator_list", "returns")
NO_FAULTS = (ast.Raise, ast.Assert, ast.JoinedStr, ast.AnnAssign, ast.Import)


class Mutant(NamedTuple):
    """The fault of a number among those of its file."""

    file: str
    number: int
    line: int
    old: str
    new: str


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--record", type=Path, required=True, help="FILE.jsonl")
    parser.add_argument("--count", type=int, default=120)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--code", default="HEAD", help="commit of code and tests")
    arguments = parser.parse_args(argv)
    packed = subprocess.check_output(["git", "archive", arguments.code], cwd=ROOT)
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["tar", "-x", "-C", folder], input=packed, check=True)
        drawn = draw(Path(folder), arguments.count, arguments.seed)
        found = try_all(Path(folder), drawn, arguments.record)
    print(table(found))


# === Faults ===


def draw(root, count, seed):
    """Draws mutants, as many from each part."""
    rng, drawn = random.Random(seed), []
    for part in PARTS:
        found = [one for path in sorted(root.glob(part)) for one in mutants(root, path)]
        drawn += rng.sample(found, min(len(found), count // len(PARTS)))
    return drawn


def mutants(root, path):
    """All mutants of a file, in order."""
    file, found = path.relative_to(root).as_posix(), []
    for number, (node, change) in enumerate(faults(ast.parse(path.read_text("utf-8")))):
        old, new = (ast.unparse(x) for x in (node, type(node)(**vars(node) | change)))
        place = node.lineno, node.col_offset, node.end_lineno, node.end_col_offset, new
        found.append((place, Mutant(file, number, node.lineno, old, new)))
    return [mutant for _, mutant in sorted(found)]


def mutate(source, number):
    """The text of a file with the fault of a number."""
    tree = ast.parse(source)
    node, change = list(faults(tree))[number]
    vars(node).update(change)
    return ast.unparse(ast.fix_missing_locations(tree))


def faults(tree):
    """Each expression, and what may change in it, a dict of attributes."""
    return ((node, change) for node in computed(tree) for change in changes(node))


def computed(node):
    """The expressions of a tree whose values are computed with."""
    for name, value in ast.iter_fields(node):
        for child in value if isinstance(value, list) else [value]:
            known = isinstance(child, ast.AST) and not isinstance(child, NO_FAULTS)
            if name in NO_VALUES or not known:
                continue
            if isinstance(child, ast.expr):
                yield child
            yield from computed(child)


def changes(node):
    """Yields what may change in an expression, a dict of attributes."""
    match node:
        case ast.BinOp(op=ast.Div(), right=ast.Constant(str())):
            pass  # folder / "name"
        case ast.BinOp(op=ast.Div(), right=ast.Name(name)) if name.isupper():
            pass  # folder / NAME
        case ast.Compare(ops=[operator]):
            yield {"ops": [other(operator)]}
        case ast.UnaryOp():  # twice, which is not at all
            yield {"operand": ast.UnaryOp(node.op, node.operand)}
        case ast.BoolOp():
            yield {"op": other(node.op)}
        case ast.BinOp():
            if type(node.op).__name__ in OTHER:
                yield {"op": other(node.op)}
            if isinstance(node.op, (ast.Sub, ast.Div, ast.MatMult, ast.Pow)):
                yield {"left": node.right, "right": node.left}
        case ast.Constant(bool(value)):
            yield {"value": not value}
        case ast.Constant(int(value)):
            yield {"value": value + 1}
        case ast.Constant(float(value)):
            yield {"value": 2 * value if value else 1.0}
        case ast.IfExp():
            yield {"body": node.orelse, "orelse": node.body}
        case ast.Call():
            name = getattr(node.func, "attr", getattr(node.func, "id", ""))
            if name in ORDERED and len(node.args) == 2:
                yield {"args": node.args[::-1]}
            for keyword in node.keywords:
                given = not isinstance(keyword.value, ast.Constant)
                if given and (keyword.arg or "").endswith("mask"):
                    none = ast.keyword(keyword.arg, ast.Constant(None))
                    rest = [other for other in node.keywords if other is not keyword]
                    yield {"keywords": [*rest, none]}


def other(operator):
    return getattr(ast, OTHER[type(operator).__name__])()


# === Tests ===


def tests_of(root, file):
    """The tests that mirror a file, or those of its folder; its layers' or models'
    everyday contract; and what all refuse."""
    folder = root / "tests" / Path(file).parent.relative_to("zoo")
    mirror = folder / f"test_{Path(file).name}"
    found = [mirror] if mirror.is_file() else sorted(folder.glob("test_*.py"))
    every = [*found, folder / "test_everyday.py", root / "tests" / "test_refusals.py"]
    every = dict.fromkeys(test for test in every if test.is_file())
    return tuple(test.relative_to(root).as_posix() for test in every)


def try_all(root, drawn, record):
    """Tries the mutants that the record doesn't have, and adds them to it.

    Returns:
        Dict of each mutant of the record to whether it was caught.
    """
    lines = record.read_text("utf-8").splitlines() if record.is_file() else []
    found = {Mutant(*row): caught for *row, caught in map(json.loads, lines)}
    sound = set()
    for mutant in (mutant for mutant in drawn if mutant not in found):
        tests, path = tests_of(root, mutant.file), root / mutant.file
        if tests not in sound and not passes(root, tests):
            sys.exit(f"these tests fail by themselves: {' '.join(tests)}")
        sound.add(tests)
        whole = path.read_text("utf-8")
        path.write_text(mutate(whole, mutant.number), encoding="utf-8")
        found[mutant] = not passes(root, tests)
        path.write_text(whole, encoding="utf-8")
        with record.open("a", encoding="utf-8") as file:
            file.write(f"{json.dumps([*mutant, found[mutant]])}\n")
        print(describe(mutant, found[mutant]), file=sys.stderr, flush=True)
    return found


def passes(root, tests):
    """Whether the tests pass under PyTorch, in a copy of the project."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider"]
    command += ["-m", "not long", *tests]  # as `make test` runs them
    environment = {**os.environ, "KERAS_BACKEND": "torch", "PYTHONPATH": str(root)}
    environment |= {"OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    options = {"cwd": root, "env": environment, "capture_output": True}
    try:
        return subprocess.run(command, **options, timeout=TIMEOUT).returncode == 0
    except subprocess.TimeoutExpired:
        return False


def describe(mutant, caught):
    """A mutant and what became of it, on one line."""
    fate = "caught" if caught else "SURVIVED"
    return f"{fate} {mutant.file}:{mutant.line} {mutant.old} -> {mutant.new[:100]}"


def table(found):
    """How many of each folder were caught, and the survivors."""
    fates = collections.defaultdict(list)
    for mutant, caught in found.items():
        fates[mutant.file.split("/")[1]].append(caught)
    fates["all"] = list(found.values())
    lines = [f"{part}: {sum(some)} of {len(some)}" for part, some in fates.items()]
    survivors = [describe(*pair) for pair in found.items() if not pair[1]]
    return "\n".join([*lines, "", *survivors])


if __name__ == "__main__":
    main()

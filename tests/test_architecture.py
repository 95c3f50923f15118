"""The import graph of the package: downwards, without a cycle, functions included."""

import ast
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

pytestmark = pytest.mark.backend_free

ROOT = Path(__file__).resolve().parent.parent
# Folders and files of `zoo/` from the lowest to the highest: each imports from those
# before it alone, and from its own. (docs/architecture.md draws it.)
FOLDERS = (
    "layers models text decoding tasks presets data analysis serving training lessons "
    "explorer cli __main__"
)
ORDER = (
    ("strings", "files", "checks", "backend", "ids", "images", "registration"),
    *((folder,) for folder in FOLDERS.split()),
)
# Methods that users call on what stands lower: each imports in one line, on use.
ON_USE = {
    ("zoo.models.backbone", "zoo.presets.registry"),  # from_preset
    ("zoo.tasks.task_base", "zoo.presets.registry"),  # the message of a missing method
    ("zoo.tasks.task_base", "zoo.serving.export.savedmodel"),  # export_savedmodel
    ("zoo.decoding.records", "zoo.analysis.alignment_plot"),  # plot
}
LEVELS = {name: level for level, names in enumerate(ORDER) for name in names}
BACKENDS = {"tensorflow", "tensorflow_text", "jax", "jaxlib", "torch"}
MOST_LINES = 400


def module_name(path):
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


FILES = {module_name(path): path for path in (ROOT / "zoo").rglob("*.py")}


def lazy_names(path):
    """The names that a package loads on first use, with their modules."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith(".attach"):
            given = {word.arg: word.value for word in node.keywords}
            if "submod_attrs" in given:
                table = ast.literal_eval(given["submod_attrs"])
                return {name: home for home, names in table.items() for name in names}
    return {}


LAZY = {
    f"{module_name(path)}.{name}": f"{module_name(path)}.{home}"
    for path in (ROOT / "zoo").rglob("__init__.py")
    for name, home in lazy_names(path).items()
}


def imports(path):
    """The imported modules of a file with their lines, those in functions too."""
    waiting = [ast.parse(path.read_text(encoding="utf-8"))]
    while waiting:
        node = waiting.pop()
        waiting += ast.iter_child_nodes(node)
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: a relative import"
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                whole = LAZY.get(whole, whole)
                yield (whole if whole in FILES else node.module), node.lineno


def graph(files):
    """The modules of the package that each of them imports, without `zoo` itself,
    which holds the version and every public name."""
    return {
        name: {found for found, _ in imports(path) if found in files} - {name, "zoo"}
        for name, path in files.items()
        if name != "zoo"
    }


def test_no_file_imports_one_that_imports_it():
    try:
        TopologicalSorter(graph(FILES)).prepare()
    except CycleError as error:
        pytest.fail(" -> ".join(reversed(error.args[1])))


def test_imports_between_folders_point_downwards():
    upwards = [
        f"{name} imports {found}"
        for name, several in graph(FILES).items()
        for found in several
        if level(found) > level(name) and (name, found) not in ON_USE
    ]
    assert not upwards


def level(name):
    return LEVELS[name.split(".")[1]]


def test_names_that_are_loaded_on_first_use_count():
    assert LAZY["zoo.training.PairBatches"] == "zoo.training.fit.padded_batches"
    found = {module for module, _ in imports(ROOT / "recipes" / "transformer.py")}
    assert "zoo.training.optimizers" in found


def test_nothing_private_of_keras_is_imported():
    for path in FILES.values():
        assert not [m for m, _ in imports(path) if m.startswith("keras.src")], path


def test_layers_and_models_import_no_backend():
    found = [
        f"{path.relative_to(ROOT)}:{line}: {module}"
        for folder in ("layers", "models", "tasks")
        for path in (ROOT / "zoo" / folder).rglob("*.py")
        for module, line in imports(path)
        if module.split(".")[0] in BACKENDS
    ]
    assert not found


def test_a_cycle_within_functions_is_seen(tmp_path, monkeypatch):
    files = {name: tmp_path / f"{name}.py" for name in ("zoo.a", "zoo.b")}
    monkeypatch.setattr(f"{__name__}.FILES", files)
    files["zoo.a"].write_text("def f():\n    from zoo import b")
    files["zoo.b"].write_text("class C:\n    def f(self):\n        import zoo.a")
    with pytest.raises(CycleError):
        TopologicalSorter(graph(files)).prepare()


def test_a_file_s_name_is_its_own():
    names = [
        name.rsplit(".")[-1] for name, path in FILES.items() if path.name[0] != "_"
    ]
    assert not {name for name in names if names.count(name) > 1}


def test_files_are_of_a_readable_length():
    folders = ("zoo", "tests", "tools", "recipes")
    paths = [path for folder in folders for path in (ROOT / folder).rglob("*.py")]
    lengths = {path: len(path.read_text("utf-8").splitlines()) for path in paths}
    long = [f"{p.relative_to(ROOT)}: {n}" for p, n in lengths.items() if n > MOST_LINES]
    assert not long

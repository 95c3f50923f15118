import gc
import importlib
import os
import sys
from pathlib import Path

import keras
import pytest

# The files that take longest, a minute and more: started last, one of them would keep
# one process busy while the others have nothing left to do.
_LONG = (
    "recipes/test_translators.py",
    "recipes/test_bulk_translate.py",
    "serving/test_export.py",
    "serving/test_client.py",
    "serving/test_translator.py",
    "training/test_engines.py",
    "training/test_killed.py",
    "training/test_recipe.py",
    "models/test_everywhere.py",
    "models/test_luong.py",
    "models/test_bahdanau.py",
    "models/test_transformer.py",
    "models/test_lstmn.py",
    "models/test_xu.py",
    "models/test_language_model.py",
)


# What no backend changes: it computes without Keras, in NumPy or in TensorFlow's graphs
# whatever the backend, or it is of commands and examples, whose models are tested under
# each backend elsewhere. tools/run_tests.py runs it under the first backend alone.
_BACKEND_FREE = (
    "cli/",
    "data/",
    "text/test_caller.py",
    "text/test_graph.py",
    "text/test_graph_words.py",
    "text/test_preprocessor_setup.py",
    "text/test_tags.py",
    "text/test_unigram.py",
    "text/test_words.py",
    "decoding/test_batches.py",
    "decoding/test_heatmap.py",
    "decoding/test_records.py",
    "recipes/test_bulk_translate.py",
    "serving/test_bounded_http.py",
    "serving/test_client.py",
    "serving/test_transport.py",
    "training/test_batching.py",
    "training/test_configuration.py",
    "training/test_curves.py",
    "training/test_facts.py",
    "training/test_generated.py",
    "training/test_report.py",
    "training/test_settings.py",
    "test_bench_decode.py",
    "test_bench_lstmn.py",
    "test_bench_train.py",
    "test_bulk.py",
    "test_cards.py",
    "test_configured.py",
    "test_docstrings.py",
    "test_files.py",
    "test_measure_alignments.py",
    "test_measure_formats.py",
    "test_mutants.py",
    "test_papers_page.py",
    "test_plots.py",
    "test_readme.py",
    "test_reproduce.py",
    "test_reproduce_pictures.py",
    "test_strict_benchmark.py",
    "test_strings.py",
    "test_tools.py",
)


def pytest_collection_modifyitems(config, items):
    """Files that take long come first; else the order is pytest's. Where they have run
    under another backend, those that no backend changes are left out."""
    if os.environ.get("ZOO_TESTS") == "of-a-backend":
        root = Path(__file__).parent.as_posix() + "/"
        free = tuple(root + name for name in _BACKEND_FREE)
        dropped = [x for x in items if x.path.as_posix().startswith(free)]
        config.hook.pytest_deselected(items=dropped)
        items[:] = [x for x in items if not x.path.as_posix().startswith(free)]

    def place(item):
        path = item.path.as_posix()
        found = [i for i, name in enumerate(_LONG) if path.endswith("tests/" + name)]
        return found[0] if found else len(_LONG)

    items.sort(key=place)


@pytest.fixture(scope="module", autouse=True)
def free_memory():
    """Lets go of a file's models and of what was compiled for them."""
    yield
    gc.collect()
    if keras.backend.backend() == "jax":
        import jax

        jax.clear_caches()


@pytest.fixture(scope="session", autouse=True)
def not_of_this_process():
    """What runs here leaves memory and XLA's flags alone;
    tests/training/test_process.py has processes of its own."""
    from zoo.training import process

    with pytest.MonkeyPatch.context() as patch:
        for name in ("_keep_memory", "_set_xla_flags"):
            patch.setattr(process, name, lambda: None)
        yield


TOOLS = Path(__file__).resolve().parent.parent / "tools"


@pytest.fixture
def tool(monkeypatch):
    """A function that imports a file of tools/ by its name."""
    monkeypatch.syspath_prepend(TOOLS)
    yield importlib.import_module
    for name, module in list(sys.modules.items()):
        if Path(getattr(module, "__file__", None) or "").parent == TOOLS:
            del sys.modules[name]

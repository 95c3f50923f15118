import subprocess
import sys

import pytest

from zoo.servers.options import COMMON, make_parser

pytestmark = pytest.mark.backend_free


@pytest.fixture
def parser():
    more = {"workers": (3, "batches"), "least": (int, "replicas"), "host": ("a", "b")}
    return make_parser("zoo.servers.some", "Serves.\n\nMore.", more)


def test_defaults_and_options(parser):
    given = vars(parser.parse_args(["m=folder", "n=a=b"]))
    assert given.pop("models") == [("m", "folder"), ("n", "a=b")]
    defaults = {name: default for name, (default, _) in COMMON.items()}
    assert given == {**defaults, "workers": 3, "least": None, "host": "a"}
    options = "--rest-port 7 --wait 0.5 --least 2 --host 0.0.0.0".split()
    given = parser.parse_args(["m=folder", *options])
    assert (given.rest_port, given.wait, given.least) == (7, 0.5, 2)
    assert given.host == "0.0.0.0"


@pytest.mark.parametrize("text", ["folder", "=folder", "m="])
def test_a_model_is_a_name_and_a_folder(text, parser, capsys):
    with pytest.raises(SystemExit):
        parser.parse_args([text])
    assert f"expected NAME=FOLDER, received '{text}'" in capsys.readouterr().err


def test_logging_says_what_is_loaded_and_no_warning_of_texts():
    """In a process of its own, since it is set up for good."""
    code = """
import logging, warnings
from zoo.servers.options import set_up_logging
set_up_logging()
logging.getLogger("zoo.servers").info("loaded version 1")
logging.getLogger("other").info("not this")
warnings.warn("a text is cut")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stderr == "zoo.servers: loaded version 1\n" and done.returncode == 0

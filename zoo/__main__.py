"""Runs the command `zoo` as `python -m zoo`."""

import sys

from zoo.cli import main

sys.exit(main())

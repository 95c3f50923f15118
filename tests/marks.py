"""Marks of whole recipes and of single cases; docs/testing.md says what runs where."""

import os

import keras
import pytest

# Under a backend that compiles, `make test` leaves out what a check tries besides its
# main case: another precision, other shapes. PyTorch and `make test-all` try all.
QUICK = keras.backend.backend() != "torch" and "ZOO_QUICK_TESTS" in os.environ


# A preset without a card is loaded with a warning.
UNVERIFIED = pytest.mark.filterwarnings("ignore:.*cannot be verified")


def proved_under(backend):
    """Marks the run of a whole recipe: a minute of training, under one backend (what it
    trains is trained under each in the tests of its model)."""
    other = keras.backend.backend() != backend
    return pytest.mark.skipif(other, reason=f"this recipe is proved under {backend}")


def once(*values):
    """A case that is a variant of what others show under each backend: `make test`
    tries it under PyTorch alone."""
    return pytest.param(*values, marks=pytest.mark.once)


def long(*values):
    """A case that `make test-all` alone tries."""
    return pytest.param(*values, marks=pytest.mark.long)

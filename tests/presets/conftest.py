"""The translator that is saved."""

from tests.training.conftest import sentences, translator  # noqa: F401

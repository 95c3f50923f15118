from tests.models.conftest import tokenizer  # noqa: F401

import pytest

from zoo.text import Tokenizer, TranslatorPreprocessor, train_tokenizer
from zoo.warn import warn_caller

pytestmark = pytest.mark.once


def test_code_of_others_counts_as_a_caller():
    scope = {"warn_caller": warn_caller}
    exec(compile("def f():\n    warn_caller('cut')", "other.py", "exec"), scope)
    with pytest.warns(UserWarning) as record:
        scope["f"]()
    assert (record[0].filename, record[0].lineno) == ("other.py", 2)


def test_frames_of_zoo_and_keras_are_passed_over():
    long = "a brown dog runs in the park."
    tokenizer = Tokenizer(proto=train_tokenizer([long], 22))
    preprocessor = TranslatorPreprocessor(tokenizer, source_length=2, target_length=3)
    with pytest.warns(UserWarning, match="were cut") as record:
        preprocessor.encode(long)
        preprocessor.generate_preprocess(long)
        preprocessor({"source": [long], "target": [long]})  # through Keras's __call__
    assert {warning.filename for warning in record} == {__file__}
    assert len(record) == 4

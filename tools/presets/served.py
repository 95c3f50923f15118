"""Exported folders, as TensorFlow alone runs them."""

from pathlib import Path

BATCH = 64


def load_served(version):
    """Loads an exported version.

    Returns:
        Function of (name of a signature of one input, texts or bytes) to a dict of
        outputs for each.
    """
    import tensorflow as tf
    import tensorflow_text  # noqa: F401  (its operations)

    loaded = tf.saved_model.load(str(version))

    def ask(signature, texts):
        function, found = loaded.signatures[signature], [None] * len(texts)
        [name] = function.structured_input_signature[1]
        # Like lengths together, as `Translator.translate` does it.
        order = sorted(range(len(texts)), key=lambda place: len(texts[place]))
        for start in range(0, len(order), BATCH):
            places = order[start : start + BATCH]
            rows = tf.constant([texts[place] for place in places])
            outputs = function(**{name: rows})
            columns = [value.numpy().tolist() for value in outputs.values()]
            for place, *row in zip(places, *columns, strict=True):
                found[place] = dict(zip(outputs, row, strict=True))
        return found

    return ask


def folder_size(folder):
    """Bytes of all files in a folder."""
    files = (path for path in Path(folder).rglob("*") if path.is_file())
    return sum(path.stat().st_size for path in files)

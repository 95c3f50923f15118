import os

import h5py
import numpy as np
import pytest
from keras import ops

import zoo
from zoo.models import LuongTranslator
from zoo.presets.save import halve_weights, save_preset

pytestmark = pytest.mark.once

WEIGHTS = "model.weights.h5"


@pytest.fixture(scope="module")
def folders(translator, tmp_path_factory):
    """The same task as KerasHub saves it, and as the zoo does."""
    root = tmp_path_factory.mktemp("presets")
    translator.save_to_preset(str(root / "full"))
    save_preset(translator, str(root / "half"))
    return root / "full", root / "half"


def datasets(path):
    """name -> NumPy array of every dataset of an HDF5 file."""
    found = {}

    def visit(name, item):
        if isinstance(item, h5py.Dataset):
            found[name] = item[()]

    with h5py.File(path) as file:
        file.visititems(visit)
    return found


def files(folder):
    return {
        os.path.relpath(os.path.join(root, name), folder)
        for root, _, names in os.walk(folder)
        for name in names
    }


def test_float32_becomes_float16_and_nothing_else_changes(folders):
    full, half = folders
    assert files(full) == files(half)
    old, new = datasets(full / WEIGHTS), datasets(half / WEIGHTS)
    assert list(old) == list(new)
    floats = [name for name in old if old[name].dtype == "float32"]
    assert len(floats) > 5
    for name in old:
        if name in floats:
            assert new[name].dtype == "float16"
            np.testing.assert_array_equal(new[name], np.float16(old[name]))
        else:
            np.testing.assert_array_equal(new[name], old[name])
    stored = [sum(d[name].nbytes for name in floats) for d in (old, new)]
    assert stored[0] == 2 * stored[1]


def test_it_loads_as_float32_with_the_rounded_weights(folders, translator, sentences):
    with pytest.warns(UserWarning, match="has no card.json"):
        loaded = zoo.load(folders[1])
    assert type(loaded) is LuongTranslator
    pairs = list(zip(loaded.weights, translator.weights, strict=True))
    for new, old in pairs:
        assert new.dtype == old.dtype == "float32"
        rounded = np.float16(ops.convert_to_numpy(old)).astype("float32")
        np.testing.assert_array_equal(ops.convert_to_numpy(new), rounded)
    before = [ops.convert_to_numpy(old) for _, old in pairs]
    options = {"beam_size": 1, "max_length": 8}
    translations = loaded.translate(sentences[0][:8], **options)
    try:
        for new, old in pairs:
            old.assign(new)
        assert translator.translate(sentences[0][:8], **options) == translations
    finally:
        for (_, old), value in zip(pairs, before, strict=True):
            old.assign(value)


def test_saving_again_replaces_what_stands_there(translator, tmp_path):
    folder = tmp_path / "preset"
    folder.mkdir()
    (folder / "old.txt").write_text("old")
    save_preset(translator, str(folder))
    assert "old.txt" not in files(folder) and WEIGHTS in files(folder)
    assert os.listdir(tmp_path) == ["preset"]


@pytest.mark.parametrize("value", [70000.0, -70000.0, np.inf])
def test_a_weight_too_large_for_float16_is_refused(translator, tmp_path, value):
    folder = tmp_path / "preset"
    folder.mkdir()
    (folder / "previous.txt").write_text("previous")
    kernel = translator.backbone.output_layer.kernel
    before = ops.convert_to_numpy(kernel)
    changed = before.copy()
    changed[1, 2] = value
    kernel.assign(changed)
    try:
        with pytest.raises(ValueError, match="float16 .* Received: (70000.0|inf) in"):
            save_preset(translator, str(folder))
    finally:
        kernel.assign(before)
    assert files(folder) == {"previous.txt"}


def test_values_other_than_float32_and_attributes_are_kept(tmp_path):
    path = tmp_path / WEIGHTS
    with h5py.File(path, "w") as file:
        file.attrs["version"] = "3"
        file["layer/vars/0"] = np.array([65504.0, -1 / 3, 1e-9], "float32")
        file["layer/vars/1"] = np.array([2**32 - 1, 7], "uint32")
        file["layer/vars/2"] = np.array([-128, 127], "int8")
        file["layer/scalar"] = np.float32(0.1)
        file["layer/empty"] = np.zeros((0, 3), "float32")
        file["layer/vars/1"].attrs["name"] = "seed"
    for _ in range(2):  # halving what is half already changes nothing
        halve_weights(str(path))
        with h5py.File(path) as file:
            assert file.attrs["version"] == "3"
            assert file["layer/vars/0"][()].tolist() == [65504.0, np.float16(-1 / 3), 0]
            assert file["layer/vars/1"][()].tolist() == [2**32 - 1, 7]
            assert file["layer/vars/1"].attrs["name"] == "seed"
            assert file["layer/vars/2"].dtype == "int8"
            assert file["layer/scalar"][()] == np.float16(0.1)
            assert file["layer/empty"].shape == (0, 3)

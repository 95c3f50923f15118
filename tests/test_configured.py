import sys

import keras

from zoo.configured import configured_backend


def test_the_running_backend():
    assert configured_backend() == keras.config.backend()


def test_the_configured_backend_is_known_without_keras(tmp_path, monkeypatch):
    monkeypatch.delitem(sys.modules, "keras")
    monkeypatch.delenv("KERAS_BACKEND", raising=False)
    monkeypatch.setenv("KERAS_HOME", str(tmp_path))
    assert configured_backend() == "tensorflow"
    (tmp_path / "keras.json").write_text('{"backend": "torch"}')
    assert configured_backend() == "torch"
    monkeypatch.setenv("KERAS_BACKEND", "jax")
    assert configured_backend() == "jax"
    (tmp_path / "keras.json").write_text("{broken")
    monkeypatch.setenv("KERAS_BACKEND", "")
    assert configured_backend() == "tensorflow"

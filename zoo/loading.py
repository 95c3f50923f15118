"""`zoo.load`: from a preset's name to a task that is ready for text."""

from zoo.presets.registry import locate


def load(name, **kwargs):
    """Loads a preset: the task with its weights, ready for `translate`.

    Args:
        name: str or path. A preset folder, the folder of a run that has finished, a
            name that `list_presets` gives, or a handle: `hf://user/name`,
            `kaggle://user/model/keras/variation`.
        **kwargs: passed to the class's `from_preset`, such as `dtype` or
            `load_weights=False`.

    Returns:
        A task of `zoo.models`, such as `zoo.models.LuongTranslator`.

    Raises:
        ValueError: if there is no such preset, or if it cannot be loaded with
            `**kwargs`.
        PresetError: (a ValueError) if the preset is damaged, altered or foreign.
        OSError, ImportError: if a handle cannot be fetched.

    Example:
        ```python
        translator = zoo.load("luong_local")
        translator.translate("A dog runs.")
        ```
    """
    folder = locate(name)  # before Keras is imported, which takes seconds
    import zoo.models  # noqa: F401  (registers zoo's classes with Keras)
    from zoo.presets.build import build, task_class

    return build(task_class(folder), folder, kwargs)

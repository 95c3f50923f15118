"""What all the zoo's models and tasks have in common."""

import keras

from zoo.layers.functional import above_zero, one_of, positive, rate


def holds_ids(x):
    """Whether data is batches of ids, to be left as they are: a `keras.utils.PyDataset`
    or a `tf.data.Dataset` without strings."""
    spec = getattr(x, "element_spec", None)
    if spec is None:
        return isinstance(x, keras.utils.PyDataset)
    return all(getattr(x, "dtype", None) != "string" for x in keras.tree.flatten(spec))


def needed_preprocessor(task, use):
    """The preprocessor of a task.

    Args:
        task: a task.
        use: what it is needed for; the error begins with it.

    Raises:
        ValueError: if the task has none.
    """
    if task.preprocessor is None:
        raise ValueError(
            f"{use} needs a preprocessor. "
            f"Received: {type(task).__name__} with preprocessor=None"
        )
    return task.preprocessor


class SubclassedModel(type):
    """Keeps a subclassed model one, whatever happens to KerasHub's base classes.

    When the first functional model of KerasHub is made in a process (a BERT, say),
    Keras puts its class `Functional` among the bases of `keras_hub.models.Backbone` and
    `Task` themselves, whose subclasses then all demand `inputs` and `outputs`. zoo's
    classes leave it out of their method resolution order.
    """

    def mro(cls):
        return [base for base in super().mro() if not _is_functional(base)]


def _is_functional(cls):
    return cls.__module__.startswith("keras.") and cls.__name__ in (
        "Function",
        "Functional",
    )


class Presets(metaclass=SubclassedModel):
    """`from_preset` with zoo's names and zoo's checks."""

    @classmethod
    def from_preset(cls, preset, **kwargs):
        """Loads a preset by what `zoo.load` takes: a bundled name, a path, a handle.

        Args:
            preset: see `zoo.load`.
            **kwargs: see KerasHub's `from_preset`, such as `dtype`.

        Raises:
            ValueError: if there is no such preset, or if it is damaged or foreign.
        """
        from zoo import presets

        return presets.build(cls, presets.locate(preset), kwargs)

    @classmethod
    def _from_folder(cls, folder, **kwargs):
        return super().from_preset(folder, **kwargs)


class Servable:
    """`export_savedmodel`, which the tasks have that are served."""

    def export_savedmodel(self, path, warmup=True, **limits):
        """Writes the next version of this model for TensorFlow Serving: text in, text
        out. See `zoo.serving.export_savedmodel`.

        Args:
            path: str or path, the model's folder, such as `"savedmodels/luong_local"`.
            warmup: whether requests are put into it that the server runs first; they
                need tensorflow-serving-api.
            **limits: arguments of `zoo.serving.Limits`, such as `beam_size`.

        Returns:
            `pathlib.Path` of the version's folder, such as `savedmodels/luong_local/1`.

        Raises:
            ValueError: for a limit that the task does not have, or without a
                preprocessor.
            RuntimeError: under another backend than TensorFlow's.
            ImportError: if a package is missing.
        """
        from zoo.serving import export_savedmodel

        return export_savedmodel(self, path, warmup=warmup, **limits)


class Configured:
    """Arguments of a backbone: checked, set as attributes, told in its config."""

    def configure(
        self,
        sizes=(),
        optional=(),
        rates=(),
        ranges=(),
        choices=(),
        flags=(),
        others=(),
    ):
        """Sets the arguments as attributes.

        Args:
            sizes: dict of name to what must be a positive integer.
            optional: the same, or None.
            rates: dict of name to a dropout rate in [0, 1).
            ranges: dict of name to a number above zero.
            choices: dict of name to (value, the allowed values).
            flags: dict of name to a bool.
            others: dict of name to what a layer checks.

        Raises:
            ValueError: naming the argument, what was received and what is allowed.
        """
        checked = {name: positive(name, value) for name, value in dict(sizes).items()}
        for name, value in dict(optional).items():
            checked[name] = None if value is None else positive(name, value)
        checked |= {name: rate(name, value) for name, value in dict(rates).items()}
        for name, value in dict(ranges).items():
            checked[name] = above_zero(name, value)
        for name, (value, allowed) in dict(choices).items():
            checked[name] = one_of(name, value, allowed)
        checked |= {name: bool(value) for name, value in dict(flags).items()}
        checked |= dict(others)
        for name, value in checked.items():
            setattr(self, name, value)
        self.argument_names = tuple(checked)

    def get_config(self):
        own = {name: getattr(self, name) for name in self.argument_names}
        return {**super().get_config(), **own}

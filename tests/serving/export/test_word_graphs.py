import keras_hub
import pytest

from tests.serving.conftest import ask, needs_tensorflow, strings
from tests.serving.export.test_translator_graph import operations, traced
from tests.tasks import test_classifier, test_language_model
from zoo.serving.export.savedmodel import make_signatures


@needs_tensorflow
def test_a_prompt_is_cut_to_leave_room():
    import tensorflow as tf

    task = test_language_model.task_of()
    function = traced(make_signatures(task, max_length=3), "generate")
    texts = ["a dog runs", "a dog", "a"]
    wanted = task.generate(["a dog", "a dog", "a"], max_length=3)
    assert strings(ask(function, texts)["text"]) == wanted
    assert operations(function) <= set(dir(tf.raw_ops))


@needs_tensorflow
def test_another_sampler_draws_its_own_words():
    task = test_language_model.task_of()
    task.compile(sampler=keras_hub.samplers.RandomSampler(seed=1))
    function = traced(make_signatures(task, max_length=12), "generate")
    assert len(set(strings(ask(function, ["a"] * 20)["text"]))) > 5


def test_a_sampler_with_a_loop_of_its_own_is_refused():
    task = test_language_model.task_of()
    task.compile(sampler=keras_hub.samplers.BeamSampler(num_beams=2))
    with pytest.raises(ValueError, match="Received: BeamSampler"):
        make_signatures(task)


@needs_tensorflow
def test_classes_are_those_of_the_model():
    task = test_classifier.task_of("lstmn")
    function = traced(make_signatures(task), "classify")
    texts = [*test_classifier.TEXTS, "", "good"]
    found = ask(function, texts)
    assert strings(found["class"]) == task.classify(texts)
    assert found["probabilities"].numpy().sum(1) == pytest.approx([1.0] * len(texts))

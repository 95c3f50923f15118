"""The right answer of every exercise is accepted; every mistake is caught by name."""

import numpy as np
import pytest

from zoo import lessons
from zoo.lessons import EXERCISES
from zoo.lessons.checking import diagnose

pytestmark = pytest.mark.backend_free

MISTAKES = [(name, text) for name, e in EXERCISES.items() for text in e.mistakes]


@pytest.mark.parametrize("name", EXERCISES)
def test_the_reference_is_right(name):
    exercise = EXERCISES[name]
    assert diagnose(exercise, exercise.answer(exercise.reference)) is None
    assert exercise.mistakes


@pytest.mark.parametrize(("name", "explanation"), MISTAKES)
def test_a_mistake_is_caught_with_its_explanation(name, explanation):
    exercise = EXERCISES[name]
    mistake = exercise.answer(exercise.mistakes[explanation])
    assert diagnose(exercise, mistake) == explanation


def test_sizes_are_unequal_and_differ_between_draws():
    exercise = EXERCISES["bahdanau.score"]
    for seed in range(5):
        given, sizes = exercise.draw(seed)
        assert len(set(sizes.values())) == len(sizes) == 4
        assert given["h"].shape == (sizes["S"], sizes["m"])
    assert exercise.draw(1)[1] != exercise.draw(2)[1]


def problem(name, answer):
    return diagnose(EXERCISES[name], answer)


def test_an_empty_blank_is_told():
    assert "Fill in the blank" in problem("luong.dot", lambda h_t, h_s: None)


def test_an_error_is_told_with_the_shapes():
    message = problem("luong.dot", lambda h_t, h_s: h_t @ h_s)
    given, _ = EXERCISES["luong.dot"].draw(1)
    assert message.startswith("ValueError: ")
    assert f"h_t {given['h_t'].shape}, h_s {given['h_s'].shape}" in message


def test_axes_are_named():
    message = problem("luong.dot", lambda h_t, h_s: h_t)
    assert message == "the shape is wrong, (T, n) where (T, S) is wanted."
    message = problem("luong.dot", lambda h_t, h_s: h_s @ h_t.T)
    assert "another order, (S, T) where (T, S)" in message


def test_an_unknown_mistake_is_shown_by_its_values():
    assert "sign" in problem("luong.dot", lambda h_t, h_s: -h_t @ h_s.T)
    message = problem("luong.dot", lambda h_t, h_s: h_t @ h_s.T + 1)
    assert "at [0, 0] is" in message
    message = problem("luong.dot", lambda h_t, h_s: np.log(-np.abs(h_t @ h_s.T)))
    assert "NaN" in message


def test_an_answer_that_changes_its_input_spoils_nothing():
    def answer(s, s_tilde, z):
        s *= 0
        return s

    assert problem("bahdanau.update", answer) is not None
    exercise = EXERCISES["bahdanau.update"]
    assert diagnose(exercise, exercise.answer(exercise.reference)) is None


def test_an_unknown_name_is_told_with_the_near_ones():
    with pytest.raises(KeyError, match="did you mean.*luong.dot"):
        lessons.check("luong.dott", np.tanh)


def test_an_answer_is_a_function():
    with pytest.raises(TypeError, match="function of h_t, h_s. Received: 3"):
        lessons.check("luong.dot", 3)


def test_every_question_can_be_printed(capsys):
    for name, exercise in EXERCISES.items():
        lessons.question(name)
        printed = capsys.readouterr().out
        assert exercise.equation in printed
        assert all(argument in printed for argument in exercise.inputs)

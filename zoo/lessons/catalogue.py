"""All exercises by name."""

from zoo.lessons import (
    attention,
    decoding,
    encoders,
    lstmn,
    luong,
    recurrent,
    transformer,
    xu,
)
from zoo.lessons.exercise import Exercise

EXERCISES: dict[str, Exercise] = {
    exercise.name: exercise
    for module in (
        recurrent,
        encoders,
        attention,
        luong,
        xu,
        lstmn,
        transformer,
        decoding,
    )
    for exercise in module.EXERCISES
}

import dataclasses

import numpy as np
import pytest

from zoo.data import draw_scenes
from zoo.data.generated.scenes import COLOURS, SHAPES, SIZES, SPLITS, Thing

pytestmark = pytest.mark.backend_free


@pytest.fixture(scope="module")
def scenes():
    return draw_scenes(400, "train")


def test_they_are_the_same_again(scenes):
    for wrong in ((-1, "train"), (1, "dev")):
        with pytest.raises(ValueError, match=f"Received: count={wrong[0]}, split"):
            draw_scenes(*wrong)
    again = draw_scenes(30, "train")
    assert again == scenes[:30]
    assert all(
        (a.draw() == b.draw()).all() for a, b in zip(again[:3], scenes, strict=False)
    )


def test_no_sentence_is_in_two_splits(scenes):
    captions = [{s.caption for s in draw_scenes(300, split)} for split in SPLITS]
    for one in range(3):
        for other in range(one):
            assert not captions[one] & captions[other]


def test_every_sentence_is_true_and_names_its_things(scenes):
    for scene in scenes:
        assert scene.is_true(scene.caption), scene
        words = scene.caption.split()
        assert len(words) == len(scene.names) == len(scene.boxes)
        for word, place, box in zip(words, scene.names, scene.boxes, strict=True):
            naming = word in (*SIZES, *COLOURS, *SHAPES)
            assert (place >= 0) == naming == (box is not None)
            if naming:
                thing = scene.things[place]
                assert word in (thing.size, thing.colour, thing.shape)
                assert box == thing.box
        phrases = [words[first:end] for first, end in scene.phrases]
        assert len(phrases) == len(scene.things)
        for phrase in phrases:
            assert phrase[0] in ("a", "an") and phrase[-1] in SHAPES
            assert phrase[-2] in COLOURS and len(phrase) <= 4
    assert {len(scene.things) for scene in scenes} == {1, 2, 3}


def scene_of(*things):
    [scene] = draw_scenes(1)
    things = tuple(Thing(*thing) for thing in things)
    return dataclasses.replace(scene, things=things)


@pytest.mark.parametrize(
    ("caption", "true"),
    [
        ("a red ring to the left of a blue star", True),
        ("a small red ring to the left of a large blue star", True),
        ("a blue star to the right of a red ring", True),
        ("a large red ring to the left of a blue star", False),
        ("a red ring to the right of a blue star", False),
        ("a red ring above a blue star", False),
        ("a red star to the left of a blue ring", False),
        ("a red ring to the left of a red ring", False),  # there is only one
        ("a red ring on the left", True),
        ("a red ring in the middle", False),
        ("a blue star on the right and a red ring on the left", False),
        ("a red ring", False),
        ("the red ring on the left", False),  # not of the grammar
        ("a red", False),
        ("", False),
        ("a dog", False),
        ("a red ring to the left of a blue star to the left of a red ring", False),
    ],
)
def test_what_is_true_of_a_scene(caption, true):
    scene = scene_of(
        ("red", "ring", "small", 0.2, 0.5), ("blue", "star", "large", 0.8, 0.5)
    )
    assert scene.is_true(caption) is true


def test_three_things_need_both_claims():
    scene = scene_of(
        ("red", "ring", "small", 0.2, 0.2),
        ("blue", "star", "large", 0.8, 0.2),
        ("black", "cross", "small", 0.5, 0.8),
    )
    start = "a red ring to the left of a blue star and a black cross"
    assert scene.is_true(f"{start} at the bottom")
    assert not scene.is_true(f"{start} at the top")
    assert not scene.is_true(start)


def test_places_near_a_line_are_not_told():
    assert Thing("red", "ring", "small", 1 / 3 + 0.01, 0.5).zone is None
    assert Thing("red", "ring", "small", 0.9, 0.9).zone == "in the bottom right"
    one, other = (Thing("red", "ring", "small", 0.3, y) for y in (0.3, 0.7))
    assert one.relation(other) == "above" and other.relation(one) == "below"
    slanted = dataclasses.replace(one, x=0.7)
    assert slanted.relation(other) is None


@pytest.mark.parametrize("shape", SHAPES)
def test_a_thing_is_drawn_within_its_box_in_its_colour(shape):
    thing = ("blue", shape, "large", 0.4, 0.6)
    plain, scene = scene_of(), scene_of(thing)
    image = scene.draw()
    assert image.shape == (80, 80, 3) and image.dtype == np.uint8
    changed = (image != plain.draw()).any(-1)
    rows, columns = np.nonzero(changed)
    left, top, right, bottom = (80 * edge for edge in scene.things[0].box)
    assert columns.min() >= left - 1.5 and columns.max() <= right + 0.5
    assert rows.min() >= top - 1.5 and rows.max() <= bottom + 0.5
    # It fills some of the box, and its inner part has the pure colour.
    share = changed.sum() / ((right - left) * (bottom - top))
    assert 0.25 < share < 0.9, share
    assert (image == COLOURS["blue"]).all(-1).sum() > 0.15 * changed.size * 0.1

"""How often an attack is tried: `ZOO_ATTACK_ROUNDS` times as often as in the suite."""

import os

from tests.marks import long

ROUNDS = int(os.environ.get("ZOO_ATTACK_ROUNDS", 1))
# Of the attacks that a seed draws; `make test-all` tries twice as many.
SEEDS = [*range(ROUNDS), *map(long, range(ROUNDS, 2 * ROUNDS))]

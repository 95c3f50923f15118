"""How often an attack is tried: `ZOO_ATTACK_ROUNDS` times as often as in the suite."""

import os

ROUNDS = int(os.environ.get("ZOO_ATTACK_ROUNDS", 1))

"""Special ids, the same in every vocabulary."""

PAD_ID, UNKNOWN_ID, START_ID, END_ID = 0, 1, 2, 3

"""Tasks whose data are drawn by a program."""

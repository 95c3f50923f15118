"""Servers of exported models from PyPI: what they share, and one module for each.

`zoo serve NAME --engine kserve` starts one. Nothing here imports Keras.
"""

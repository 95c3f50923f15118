"""Ray's server of exported models.

`zoo serve NAME --engine ray` starts it. Nothing here imports Keras.
"""

"""Ray's server of exported models.

`zoo serve NAME` starts it. Nothing here imports Keras.
"""

"""Records what tfa.seq2seq computed, for the tests of `zoo.presets.load_tfa`."""

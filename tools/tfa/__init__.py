"""What tfa.seq2seq computed, recorded for the tests of `zoo.presets.load_tfa`."""

from zoo.models import Seq2Seq

SMALL = {"num_layers": 1, "hidden_dim": 4, "embedding_dim": 3}


def test_the_config_has_every_argument_as_it_was_given():
    model = Seq2Seq(9, 7, **SMALL, dropout=0.5)
    config = model.get_config()
    given = {"vocabulary_size": 9, "target_vocabulary_size": 7, **SMALL, "dropout": 0.5}
    assert {name: config[name] for name in given} == given
    assert config["reverse_source"] is True
    assert Seq2Seq(9, **SMALL).get_config()["target_vocabulary_size"] is None

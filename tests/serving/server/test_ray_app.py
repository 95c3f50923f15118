import pytest

pytest.importorskip("ray", reason="it is of the extra `ray`")
pytest.importorskip("fastapi", reason="it is of the extra `ray`")

from zoo.serving.server import ray_serve  # noqa: E402
from zoo.serving.server.ray_app import Options, build  # noqa: E402

pytestmark = pytest.mark.backend_free
MODELS = {"a": "exports/a"}


def config_of(**given):
    deployment = build(Options(models=MODELS, **given))._bound_deployment
    return deployment._deployment_config


def test_options_reach_the_deployment():
    found = config_of(replicas=3, timeout=9.0)
    assert (found.num_replicas, found.graceful_shutdown_timeout_s) == (3, 9)
    # What the replica's queue takes, and a batch that runs.
    assert (found.max_ongoing_requests, found.max_queued_requests) == (320, 256)
    scaling = config_of(replicas=2, max_replicas=4).autoscaling_config
    assert (scaling.min_replicas, scaling.max_replicas) == (2, 4)


@pytest.mark.parametrize(
    "given", [{"models": {}}, {"workers": 2}, {"replicas": 3, "max_replicas": 2}]
)
def test_what_is_refused(given):
    with pytest.raises(ValueError, match=[*given][-1]):
        build(Options(**{"models": MODELS, **given}))


# === The command ===
def test_what_the_command_refuses(tmp_path, capsys):
    (tmp_path / "made" / "1").mkdir(parents=True)
    made = f"m={tmp_path / 'made'}"
    for options, message in (
        (["folder"], "expected NAME=FOLDER with a version in it, received 'folder'"),
        ([f"m={tmp_path}"], f"received 'm={tmp_path}'"),
        ([made, "--replicas", "3", "--max-replicas", "2"], "max_replicas"),
    ):
        with pytest.raises(SystemExit):
            ray_serve.main(options)
        assert message in capsys.readouterr().err

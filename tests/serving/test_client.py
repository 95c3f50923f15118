import asyncio
import time

import numpy as np
import pytest

from zoo.serving import Client, ServingError

pytest.importorskip("tensorflow", reason="PredictionService's messages need it")
pytest.importorskip("tensorflow_serving", reason="PredictionService's messages")
fake_server = pytest.importorskip("tests.serving.fake_server")

pytestmark = pytest.mark.backend_free
KINDS = ("grpc", "rest")


def shout(signature, inputs):
    """A model that answers with its signature and the texts in capitals."""
    texts = [text.decode().upper() for text in inputs["text"]]
    found = {"translation": np.array([text.encode() for text in texts], object)}
    if signature == "generate":  # a signature with one output
        return found
    scores = np.array([len(text) for text in texts], "float32")
    return {**found, "score": scores}


@pytest.fixture
def server(monkeypatch):
    models = {"loud": shout, "seeing": describe}
    return fake_server.FakeServer(models).install(monkeypatch)


@pytest.fixture(params=KINDS)
def connect(server, request):
    def make(model="loud", **options):
        address = server.address if request.param == "grpc" else server.url
        return Client(address, model, **options)

    return make


def describe(signature, inputs):
    """A captioner that tells the size and the beginning of each file."""
    files = inputs["image_bytes"]
    texts = np.array([f"{len(c)} {c[:4].hex()}".encode() for c in files], object)
    score = np.array([len(content) for content in files], "float32")
    return {"caption": texts, "score": score}


# === Answers ===
def test_a_text_gives_a_text_and_a_list_a_list(connect):
    with connect() as client:
        assert client.translate("a dog ü 👍") == "A DOG Ü 👍"
        assert client.translate(["a", ""]) == ["A", ""]
        assert client.translate([]) == []
        assert client.generate(["a"]) == ["A"]  # REST leaves its name out
        assert client.translate(["\ud800a"]) == ["\ufffdA"]


def test_long_lists_are_sent_in_batches(connect, server):
    texts = [f"a{number}" for number in range(7)]
    assert connect(batch_size=3).translate(texts) == [text.upper() for text in texts]
    assert server.requests == [3, 3, 1]


def test_images_give_captions(connect, server, tmp_path):
    pytest.importorskip("PIL", reason="arrays are sent as PNG")
    path, content = tmp_path / "photo.jpg", b"\xff\xd8\xff\x00\x80"
    path.write_bytes(content)
    image = np.zeros((4, 6, 3), "uint8")
    png, jpeg = "89504e47", "5 ffd8ff00"
    with connect("seeing") as client:
        assert client.caption(content) == client.caption(path) == jpeg
        first, second = client.caption([image, path])
        assert first.endswith(png) and second == jpeg
        assert client.caption([]) == []
        with pytest.raises(TypeError, match="image_bytes must be a list of bytes"):
            client.predict({"image_bytes": ["a"]})
        with pytest.raises(FileNotFoundError, match="no file 'none.png'"):
            client.caption("none.png")


# === Failures ===
def test_an_unavailable_server_is_asked_again(connect, server, monkeypatch):
    monkeypatch.setattr("zoo.serving.client._FIRST_WAIT", 0.001)
    server.failures = [fake_server.Failure("UNAVAILABLE", "loading")] * 2
    assert connect(retries=2).translate("a") == "A"
    assert server.requests == [1, 1, 1]
    server.failures = [fake_server.Failure("UNAVAILABLE", "loading")] * 3
    with pytest.raises(ServingError, match="UNAVAILABLE.*loading") as caught:
        connect(retries=2).translate("a")
    assert caught.value.code == "UNAVAILABLE"


def test_a_channel_connects_again_between_retries():
    """Retries are in vain while a channel waits before it tries to connect."""
    came = []
    with fake_server.http_server(lambda _: came.append(1)) as url:
        with Client(url.removeprefix("http://"), "loud", retries=3) as client:
            with pytest.raises(ServingError, match="UNAVAILABLE"):
                client.translate("a")  # 0.7 s, in which gRPC by default connects once
        deadline = time.monotonic() + 10  # the thread may lag behind
        while len(came) < 3 and time.monotonic() < deadline:
            time.sleep(0.01)
    assert len(came) >= 3


def test_other_errors_are_not_asked_again(connect, server):
    server.failures = [fake_server.Failure("INVALID_ARGUMENT", "a shape is wrong")]
    with pytest.raises(ServingError, match="INVALID_ARGUMENT: .*a shape is wrong"):
        connect().translate("a")
    assert server.requests == [1]
    with pytest.raises(ServingError, match="NOT_FOUND"):
        connect("quiet").translate("a")


def test_retries_are_within_the_timeout(server):
    assert Client(server.address, "loud", timeout=5).translate("a") == "A"
    assert server.timeouts == [pytest.approx(5, abs=1)]
    server.failures = [fake_server.Failure("UNAVAILABLE", "loading")] * 9
    with pytest.raises(ServingError, match="UNAVAILABLE"):
        Client(server.address, "loud", timeout=0.25).translate("a")
    assert len(server.requests) == 3


def test_a_request_of_a_lost_replica_is_sent_again(server):
    text = "The actor died unexpectedly before finishing this task."
    server.failures = [fake_server.Failure("INTERNAL", text)]
    assert Client(server.address, "loud").translate("a") == "A"
    assert server.requests == [1, 1]


@pytest.mark.parametrize("port", ["1", "x", "99999"])
@pytest.mark.parametrize("host", ["localhost", "http://localhost"])
def test_no_server_is_said(host, port):
    address = f"{host}:{port}"
    with pytest.raises(ServingError, match=f"UNAVAILABLE: {address}"):
        Client(address, "loud", retries=0, timeout=5).translate("a")


@pytest.mark.filterwarnings("ignore:coroutine")
def test_a_forked_process_does_not_wait_for_ever():
    client = Client("http://localhost:1", "loud", timeout=0.1)
    loop = client._transport._loop = asyncio.new_event_loop()  # the parent runs it
    with pytest.raises(ServingError, match="DEADLINE_EXCEEDED"):
        client.translate("a")
    loop.close()


@pytest.mark.parametrize("number", [-1e9, np.nan])
def test_a_model_without_numbers_is_an_error(connect, server, number):
    """The answer of a beam without a finite hypothesis."""
    outputs = {"translation": texts(1), "score": numbers(1) * number}
    server.models["loud"] = lambda *_: outputs
    with pytest.raises(ServingError, match="INTERNAL.*not finite"):
        connect().translate("a")


# === Answers that don't fit ===
def texts(*shape):
    return np.full(shape, b"a", object)


def numbers(*shape):
    return np.ones(shape, "float32")


BEST = {"translation": texts(2), "score": numbers(2)}
ALIGN = {**BEST, "tokens": texts(2, 3), "source_tokens": texts(2, 5)}
TAGS = {"words": texts(2, 3), "tags": texts(2, 3)}
# Method -> outputs by what is wrong with them.
UNFIT = {
    "translate": {
        "a column": {**BEST, "translation": texts(2, 1)},
        "numbers": {**BEST, "translation": numbers(2)},
        "one row": {"translation": texts(1), "score": numbers(1)},
        "more scores": {**BEST, "score": numbers(3)},
        "deep scores": {**BEST, "score": numbers(2, 2)},
        "texts as scores": {**BEST, "score": texts(2)},
        "other names": {"x": texts(2), "y": numbers(2)},
    },
    "align": {"without": ALIGN, "turned": {**ALIGN, "alignment": numbers(2, 5, 3)}},
    "generate": {"two": {"some": texts(2), "more": texts(2)}},
    "tag": {"fewer": {**TAGS, "tags": texts(2, 2)}},
    "classify": {"without": {"probabilities": numbers(2, 2), "p": numbers(2)}},
}
CASES = [(method, wrong) for method, found in UNFIT.items() for wrong in found]


@pytest.mark.parametrize(("method", "wrong"), CASES)
def test_an_answer_that_does_not_fit_is_refused(connect, server, method, wrong):
    server.models["loud"] = lambda *_: UNFIT[method][wrong]
    match = "INTERNAL: .*expected 2 rows of {'.*, received {'"
    with pytest.raises(ServingError, match=match):
        getattr(connect(), method)(["a", "b"])


def test_answers_that_fit_are_taken(connect, server):
    """As large as zoo's presets make them, and as small."""
    long = "a brown dog " * 33
    outputs = {**BEST, "tokens": texts(2, 266), "source_tokens": texts(2, 128)}
    outputs["alignment"] = np.full((2, 266, 128), 1 / 3, "float32")
    server.models["loud"] = lambda *_: outputs
    found = connect().align(["a", long])
    assert [row["alignment"].shape for row in found] == [(266, 128)] * 2
    outputs.update(tokens=texts(2, 0), alignment=numbers(2, 0, 128))
    assert connect().align(["a", "b"])[0]["alignment"].shape == (0, 128)
    outputs = {"class": texts(2), "probabilities": numbers(2, 3)}
    assert connect().classify(["a", "b"]) == ["a", "a"]
    outputs = {"words": texts(2, 3), "tags": texts(2, 3)}
    outputs["words"][1, 1:] = b""
    assert connect().tag(["a", "b"]) == [[("a", "a")] * 3, [("a", "a")]]


# === Arguments ===
def test_arguments_are_checked(connect):
    for wrong in ({"retries": -1}, {"batch_size": 0}, {"timeout": 0}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            connect(**wrong)
    client = connect()
    with pytest.raises(TypeError, match=r"text\[1\] must be a str. Received: None"):
        client.translate(["a", None])
    with pytest.raises(TypeError, match="a list of str. Received: b'a'"):
        client.translate(b"a")
    with pytest.raises(ValueError, match="equally many"):
        client.predict({"source": ["a"], "target": ["b", "c"]}, "score")


def test_credentials_are_for_grpc(monkeypatch):
    import grpc

    given, secure = [], grpc.secure_channel
    monkeypatch.setattr(
        grpc,
        "secure_channel",
        lambda *arguments: given.append(arguments[1]) or secure(*arguments),
    )
    credentials = grpc.ssl_channel_credentials()
    Client("localhost:1", "m", credentials=credentials).close()
    assert given == [credentials]
    with pytest.raises(ValueError, match="https. Received: http://localhost"):
        Client("http://localhost:1", "m", credentials=credentials)

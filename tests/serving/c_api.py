"""An exported model driven through TensorFlow's C API, without TensorFlow's Python.

    python tests/serving/c_api.py FOLDER INPUT OUTPUT [THREADS [ROUNDS]] < texts.json

reads a list of texts, feeds them to the tensor INPUT and prints, as JSON, what comes
out as OUTPUT (strings): every thread asks for them all, one batch after another; each
round is of other texts among them. It loads the folder as the model server does, by
the function TF_LoadSessionFromSavedModel with the tag `serve`.
"""

import concurrent.futures
import ctypes
import glob
import importlib.util
import json
import os
import sys

STRING = 7  # of TF_DataType
ITEM = 24  # bytes of a TF_TString


class Output(ctypes.Structure):
    _fields_ = [("operation", ctypes.c_void_p), ("index", ctypes.c_int)]


def package(name):
    """The folder of a package that isn't imported."""
    return importlib.util.find_spec(name).submodule_search_locations[0]


def load_library():
    folder = package("tensorflow")
    ctypes.CDLL(f"{folder}/libtensorflow_framework.so.2", ctypes.RTLD_GLOBAL)
    tf = ctypes.CDLL(f"{folder}/libtensorflow_cc.so.2", ctypes.RTLD_GLOBAL)
    pointers = (
        "TF_NewStatus TF_LoadLibrary TF_NewSessionOptions TF_NewGraph TF_NewBuffer "
        "TF_LoadSessionFromSavedModel TF_GraphOperationByName TF_AllocateTensor "
        "TF_TensorData TF_StringGetDataPointer"
    )
    for name in pointers.split():
        getattr(tf, name).restype = ctypes.c_void_p
    tf.TF_Message.restype = ctypes.c_char_p
    tf.TF_TensorElementCount.restype = ctypes.c_int64
    tf.TF_StringGetSize.restype = ctypes.c_size_t
    return tf


class Model:
    """A SavedModel, from one tensor of strings to another; both named as `x:0`."""

    def __init__(self, folder, source, target):
        self.tf = tf = load_library()
        text = package("tensorflow_text")
        for name in ("_sentencepiece_tokenizer", "_normalize_ops"):
            [library] = glob.glob(f"{text}/**/{name}.so", recursive=True)
            path = library.encode()
            self.check(lambda status, path=path: tf.TF_LoadLibrary(path, status))
        options = ctypes.c_void_p(tf.TF_NewSessionOptions())
        self.graph = ctypes.c_void_p(tf.TF_NewGraph())
        tags = (ctypes.c_char_p * 1)(b"serve")
        meta = ctypes.c_void_p(tf.TF_NewBuffer())
        found = self.check(
            lambda status: tf.TF_LoadSessionFromSavedModel(
                options, None, folder.encode(), tags, 1, self.graph, meta, status
            )
        )
        self.session = ctypes.c_void_p(found)
        self.source, self.target = self.place(source), self.place(target)

    def check(self, call):
        status = ctypes.c_void_p(self.tf.TF_NewStatus())
        found = call(status)
        code, message = self.tf.TF_GetCode(status), self.tf.TF_Message(status)
        self.tf.TF_DeleteStatus(status)
        if code:
            raise RuntimeError(f"{code}: {message.decode()}")
        return found

    def place(self, tensor):
        name, index = tensor.split(":")
        found = self.tf.TF_GraphOperationByName(self.graph, name.encode())
        if not found:
            raise KeyError(name)
        return Output(found, int(index))

    def strings_tensor(self, texts):
        tf, size = self.tf, max(len(texts) * ITEM, 1)
        shape = (ctypes.c_int64 * 1)(len(texts))
        tensor = ctypes.c_void_p(tf.TF_AllocateTensor(STRING, shape, 1, size))
        data = tf.TF_TensorData(tensor) or 0
        for place, text in enumerate(texts):
            item = ctypes.c_void_p(data + place * ITEM)
            tf.TF_StringInit(item)
            tf.TF_StringCopy(item, text, ctypes.c_size_t(len(text)))
        return tensor

    def read(self, tensor):
        tf = self.tf
        count = tf.TF_TensorElementCount(tensor)
        data = tf.TF_TensorData(tensor) or 0
        found = []
        for place in range(count):
            item = ctypes.c_void_p(data + place * ITEM)
            size = tf.TF_StringGetSize(item)
            found.append(ctypes.string_at(tf.TF_StringGetDataPointer(item), size))
        return found

    def __call__(self, texts):
        """The output for a list of bytes, likewise."""
        tf, given = self.tf, self.strings_tensor(texts)
        values = (ctypes.c_void_p * 1)()
        try:
            self.check(
                lambda status: tf.TF_SessionRun(
                    *(self.session, None),
                    *((Output * 1)(self.source), (ctypes.c_void_p * 1)(given.value), 1),
                    *((Output * 1)(self.target), values, 1),
                    *(None, 0, None, status),
                )
            )
            return self.read(ctypes.c_void_p(values[0]))
        finally:
            data = tf.TF_TensorData(given) or 0
            for place in range(len(texts)):  # the tensor's owner owns its strings
                tf.TF_StringDealloc(ctypes.c_void_p(data + place * ITEM))
            for tensor in (given.value, values[0]):
                if tensor:
                    tf.TF_DeleteTensor(ctypes.c_void_p(tensor))


def memory_in_use():
    """Of this process, in MB."""
    with open("/proc/self/statm") as file:
        pages = int(file.read().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def main(folder, source, target, threads=1, rounds=1):
    texts = [text.encode("utf-8", "surrogateescape") for text in json.load(sys.stdin)]
    model = Model(folder, source, target)
    answers, memory = [[] for _ in range(threads)], []

    def ask(texts, size):
        found = []
        for start in range(0, len(texts), size):
            found += model(texts[start : start + size])
        return [text.decode() for text in found]

    with concurrent.futures.ThreadPoolExecutor(threads) as pool:
        for number in range(rounds):
            # Texts of its own for each round, batches of another size in each thread.
            running = [
                pool.submit(ask, texts[number::rounds], 1 + 3 * place)
                for place in range(threads)
            ]
            for mine, thread in zip(answers, running, strict=True):
                mine += thread.result()  # raises what was raised there
            memory.append(memory_in_use())
    foreign = sorted({"tensorflow", "keras", "numpy"} & set(sys.modules))
    print(json.dumps({"answers": answers, "memory": memory, "imported": foreign}))


if __name__ == "__main__":
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    main(*sys.argv[1:4], *map(int, sys.argv[4:]))

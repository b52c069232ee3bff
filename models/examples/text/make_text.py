"""Makes classifier.onnx and words.json: the opinion of a sentence of six words.

    python make_text.py

Needs Python alone. The first number of a word's embedding is its opinion, the second its strength,
the others are noise from a fixed seed: the network is made to be understood, not trained.
"""

import json
import pathlib
import random
import struct
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent.parent))
import onnx_format as onnx  # noqa: E402

POSITIONS, WIDTH, HIDDEN = 6, 8, 8
# Word: opinion, strength.
WORDS = {
    "<pad>": (0, 0), "the": (0, 0), "a": (0, 0), "this": (0, 0), "movie": (0, 0), "film": (0, 0),
    "picture": (0, 0), "plot": (0, 0), "story": (0, 0), "acting": (0, 0), "was": (0, 0),
    "is": (0, 0), "seemed": (-0.25, 0), "very": (0, 0.5), "really": (0, 0.5), "quite": (0, 0.25),
    "and": (0, 0), "but": (0, 0), "good": (1, 0.5), "great": (1.5, 0.75), "fine": (0.75, 0.25),
    "nice": (0.75, 0.5), "decent": (0.5, 0.25), "superb": (2, 1), "bad": (-1, 0.5),
    "poor": (-1, 0.25), "awful": (-1.75, 1), "dull": (-0.75, 0.25), "boring": (-1, 0.5),
    "slow": (-0.5, 0.25),
}


def matrix(rows, columns, rng, size):
    return [[rng.uniform(-size, size) for _ in range(columns)] for _ in range(rows)]


def tensor(name, dims, numbers):
    """A tensor of float32 numbers."""
    data = struct.pack(f"<{len(numbers)}f", *numbers)
    return {"dims": dims, "data_type": onnx.FLOAT, "name": name, "raw_data": data}


def flat(rows):
    return [number for row in rows for number in row]


def main():
    rng = random.Random(4)
    table = [[opinion, strength] + [rng.uniform(-0.2, 0.2) for _ in range(WIDTH - 2)]
             for opinion, strength in WORDS.values()]
    hidden = matrix(WIDTH, HIDDEN, rng, 0.15)
    for j in range(HIDDEN):  # half of the hidden neurons say good, half of them bad
        hidden[0][j] += 1 if j % 2 == 0 else -1
        hidden[1][j] += 0.25
    scores = matrix(HIDDEN, 2, rng, 0.1)
    for j in range(HIDDEN):
        scores[j][1 - j % 2] += 1
    ids = onnx.value_info("ids", [1, POSITIONS])
    ids["type"]["tensor_type"]["elem_type"] = onnx.INT64
    graph = {
        "name": "text",
        "node": [
            onnx.node("Gather", ["table", "ids"], "embeddings", "embedding", axis=0),
            onnx.node("MatMul", ["embeddings", "hidden"], "products", "hidden"),
            onnx.node("Relu", ["products"], "features", "relu"),
            onnx.node("ReduceMean", ["features"], "mean", "mean", axes=[1], keepdims=0),
            onnx.node("MatMul", ["mean", "scores"], "opinion", "scores"),
        ],
        "initializer": [
            tensor("table", [len(WORDS), WIDTH], flat(table)),
            tensor("hidden", [WIDTH, HIDDEN], flat(hidden)),
            tensor("scores", [HIDDEN, 2], flat(scores)),
        ],
        "input": [ids],
        "output": [onnx.value_info("opinion", [1, 2])],
    }
    model = {"ir_version": 8, "producer_name": "make_text.py", "graph": graph,
             "opset_import": [{"domain": "", "version": 13}]}
    (HERE / "classifier.onnx").write_bytes(onnx.encode("Model", model))
    ids = {word: i for i, word in enumerate(WORDS)}
    (HERE / "words.json").write_text(json.dumps(ids, indent=0) + "\n", encoding="utf-8")
    sentence = [["the", "this"], ["movie", "film", "picture"], ["was", "is"],
                ["really", "very", "quite"], ["good", "great", "fine", "nice", "superb"], ["<pad>"]]
    tokens = {"note": "the movie was really good",
              "tokens": {"ids": [[ids[word] for word in words] for words in sentence]}}
    (HERE / "sentence.json").write_text(json.dumps(tokens) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

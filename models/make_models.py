"""Makes the networks of this folder, their demo boxes and specifications, and README.md's table.

    python3 -m venv VENV && VENV/bin/pip install -r requirements.txt
    VENV/bin/python make_models.py

Training takes about a minute on one core. With the package versions of requirements.txt, on x86-64
with AVX2, the files come out byte for byte; elsewhere the trained weights differ a little, and then
the goldens must be made anew (make_goldens.py).
"""

import os

# Before numpy: other threads or another processor's kernels would round the sums differently.
os.environ["OPENBLAS_NUM_THREADS"] = "1"
os.environ.setdefault("OPENBLAS_CORETYPE", "Haswell")

import hashlib
import json
import pathlib

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

import collision_avoidance
import mlp
import onnx_format
import reference_bounds
import tiny_models
from network import Network
from onnx_format import node, tensor, value_info

HERE = pathlib.Path(__file__).resolve().parent
EPS = 0.02

TEXT_HEADER = """\
# proto-file: onnx_schema/bf_aot_onnx.proto
# proto-message: bf_aot.onnx.ModelProto
#
{comment}
#
# {name}.onnx is this file in wire format; make_models.py writes both.
"""

# The scenario of the controller's demo box, in physical units (see README.md).
SCENARIO = {
    "rho": (14000.0, 14500.0),
    "theta": (-0.06, -0.03),
    "psi": (3.10, 3.14),
    "v_own": (590.0, 610.0),
    "v_int": (590.0, 610.0),
}


def write_model(name, model):
    (HERE / f"{name}.onnx").write_bytes(onnx_format.encode("Model", model))


def write_json(path, value):
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(value) + "\n")


def write_demo(name, rows, lower, upper):
    write_json(HERE / "boxes" / f"{name}.json", {"lower": lower.tolist(), "upper": upper.tolist()})
    write_json(HERE / "specs" / f"{name}.json", {"C": rows.tolist()})


def to_float32(values):
    """The nearest float32 numbers, as float64."""
    return np.float32(values).astype(np.float64)


def difference_rows(first, others, size):
    """Rows of y[first] - y[j] for the j in others."""
    rows = np.zeros((len(others), size))
    rows[:, first] = 1.0
    rows[np.arange(len(others)), others] = -1.0
    return rows


def pytorch_style(name, layers, input_shape):
    """Flatten, then Gemm with transB = 1 and Relu, as torch.onnx.export writes them."""
    nodes, constants = [node("Flatten", ["input"], "7", "Flatten_0", axis=1)], []
    value, count = "7", 1
    for k, (weight, bias) in enumerate(layers):
        key = f"net.{2 * k + 1}"
        constants += [tensor(f"{key}.weight", weight.T), tensor(f"{key}.bias", bias)]
        last = k + 1 == len(layers)
        output = "output" if last else str(int(value) + 1)
        inputs = [value, f"{key}.weight", f"{key}.bias"]
        nodes.append(node("Gemm", inputs, output, f"Gemm_{count}", alpha=1.0, beta=1.0, transB=1))
        if not last:
            value = str(int(output) + 1)
            nodes.append(node("Relu", [output], value, f"Relu_{count + 1}"))
        count += 2
    graph = {
        "node": nodes,
        "name": name,
        "initializer": constants,
        "input": [value_info("input", input_shape)],
        "output": [value_info("output", [1, len(layers[-1][1])])],
    }
    return {
        "ir_version": 6,
        "producer_name": "bf-aot models",
        "graph": graph,
        "opset_import": [{"version": 9}],
    }


def matlab_style(name, layers, mean):
    """Sub, Flatten, MatMul, Add, Relu ...; being IR 3, the initializers are also graph inputs."""
    constants = {"input_mean": mean.reshape(1, 1, 1, -1).astype(np.float32)}
    nodes = [
        node("Sub", ["input", "input_mean"], "input_Sub"),
        node("Flatten", ["input_Sub"], "flatten", axis=1),
    ]
    value = "flatten"
    for k, (weight, bias) in enumerate(layers, 1):
        constants |= {f"linear_{k}_W": weight, f"linear_{k}_B": bias}
        nodes.append(node("MatMul", [value, f"linear_{k}_W"], f"linear_{k}_MatMul"))
        nodes.append(node("Add", [f"linear_{k}_MatMul", f"linear_{k}_B"], f"linear_{k}_Add"))
        value = f"linear_{k}_Add"
        if k < len(layers):
            nodes.append(node("Relu", [value], f"relu_{k}"))
            value = f"relu_{k}"
    graph = {
        "node": nodes,
        "name": name,
        "initializer": [tensor(key, data) for key, data in constants.items()],
        "input": [value_info(key, data.shape) for key, data in constants.items()]
        + [value_info("input", [1, 1, 1, len(mean)])],
        "output": [value_info(value, [1, len(layers[-1][1])])],
    }
    return {
        "ir_version": 3,
        "producer_name": "bf-aot models",
        "graph": graph,
        "opset_import": [{"version": 8}],
    }


def digit_case(image, label):
    """(rows, lower, upper): the label's margins over the other classes, EPS about the image."""
    rows = difference_rows(label, [k for k in range(10) if k != label], 10)
    image = image.astype(np.float64)
    return rows, to_float32(np.clip(image - EPS, 0, 1)), to_float32(np.clip(image + EPS, 0, 1))


def proven_digit(network, image, label):
    rows, lower, upper = digit_case(image, label)
    before = reference_bounds.backward_before_relus(network.steps, lower, upper)
    below, _ = reference_bounds.backward(network.steps, before, rows, lower, upper)
    return bool(np.all(below > 0))


def digits():
    name = "digits_64x2"
    data = load_digits()
    x = (data.data / 16.0).astype(np.float32)
    train_x, test_x, train_y, test_y = train_test_split(
        x, data.target, test_size=0.25, random_state=1, stratify=data.target
    )
    layers = mlp.train(
        np.random.default_rng(2),
        [64, 64, 64, 10],
        train_x,
        np.eye(10)[train_y],
        mlp.cross_entropy,
        epochs=60,
        batch=32,
        rate=2e-3,
        decay=2e-2,
    )
    write_model(name, pytorch_style(name, layers, [1, 1, 8, 8]))
    guess = mlp.forward(layers, test_x)[1].argmax(axis=1)
    if guess[0] != test_y[0]:
        raise SystemExit(f"{name}: the demo image is misclassified")
    network = Network(HERE / f"{name}.onnx")
    proven = sum(proven_digit(network, *case) for case in zip(test_x, test_y))

    rows, lower, upper = digit_case(test_x[0], test_y[0])
    write_demo(name, rows, lower, upper)
    report(name, f"a {test_y[0]}", reference_bounds.all_bounds(network, rows, lower, upper))
    count = len(test_y)
    return (
        f"{100 * np.mean(guess == test_y):.1f} % of {count} images; "
        f"{100 * proven / count:.1f} % proven by CROWN within radius {EPS}"
    )


def controller():
    name = "collision_avoidance_6x50"
    rng = np.random.default_rng(7)
    state = collision_avoidance.sample(rng, 120000)
    cost = collision_avoidance.cost(state)
    x = collision_avoidance.normalise(state) - collision_avoidance.MEAN
    fit, held_out = slice(0, 110000), slice(110000, None)
    layers = mlp.train(
        rng,
        [5] + [50] * 6 + [5],
        x[fit],
        cost[fit],
        mlp.squared_error,
        epochs=150,
        batch=256,
        rate=3e-3,
        decay=1e-3,
    )
    write_model(name, matlab_style(name, layers, collision_avoidance.MEAN))
    guess = mlp.forward(layers, x[held_out].astype(np.float32))[1]
    error = float(np.sqrt(np.mean((guess - cost[held_out]) ** 2)))
    same = float(np.mean(guess.argmin(axis=1) == cost[held_out].argmin(axis=1)))

    ends = np.array([SCENARIO[key] for key in collision_avoidance.INPUTS]).T
    lower, upper = to_float32(collision_avoidance.normalise(ends))
    rows = difference_rows(0, [1, 3], 5)
    write_demo(name, rows, lower, upper)
    network = Network(HERE / f"{name}.onnx")
    report(name, "the scenario", reference_bounds.all_bounds(network, rows, lower, upper))
    return f"costs to {error:.4f} (rms), best advisory in {100 * same:.1f} % of 10000 states"


def report(name, what, bounds):
    for method in ("ibp", "crown_ibp", "crown"):
        least = min(bounds[method]["C_lower"])
        print(f"{name}: {what}: {method} lower bound of the rows {least:.4f}")


def tiny(make):
    name, model, comment = make()
    write_model(name, model)
    header = TEXT_HEADER.format(name=name, comment="\n".join(f"# {line}" for line in comment))
    (HERE / f"{name}.textproto").write_text(header + onnx_format.to_text("Model", model) + "\n")
    return name


def table(scores):
    lines = ["| file | shape | bytes | held-out score | sha256 |", "|---|---|---|---|---|"]
    for name, score in scores.items():
        data = (HERE / f"{name}.onnx").read_bytes()
        network = Network(HERE / f"{name}.onnx")
        sizes = [len(step[2]) for step in network.steps if step[0] == "linear"]
        shape = "-".join(str(n) for n in [int(np.prod(network.input_shape))] + sizes)
        digest = hashlib.sha256(data).hexdigest()
        lines.append(f"| `{name}.onnx` | {shape} | {len(data)} | {score} | `{digest}` |")
    return "\n".join(lines)


def main():
    scores = {
        "digits_64x2": digits(),
        "collision_avoidance_6x50": controller(),
        **{tiny(make): "–" for make in tiny_models.ALL},
    }
    readme = HERE / "README.md"
    begin, end = "<!-- table: written by make_models.py -->", "<!-- end of table -->"
    head, rest = readme.read_text().split(begin)
    readme.write_text(f"{head}{begin}\n{table(scores)}\n{end}{rest.split(end)[1]}")


if __name__ == "__main__":
    main()

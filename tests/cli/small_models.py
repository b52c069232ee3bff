"""Small networks as text, and as files."""

import os
import pathlib
import random
import subprocess

SCHEMA = pathlib.Path(os.environ["BF_SOURCE_DIR"]) / "onnx_schema" / "bf_aot_onnx.proto"


def write_model(path, text):
    """protoc makes the binary form, which bf-aot reads."""
    made = subprocess.run([os.environ.get("PROTOC", "protoc"), f"-I{SCHEMA.parent}",
                           "--encode=bf_aot.onnx.ModelProto", SCHEMA.name],
                          input=text.encode(), stdout=subprocess.PIPE, check=True)
    path.write_bytes(made.stdout)
    return path


def node(op, inputs, output, name="", attributes=""):
    quoted = "".join(f' input: "{each}"' for each in inputs)
    return f'node {{{quoted} output: "{output}" op_type: "{op}" name: "{name}" {attributes} }}'


def tensor(name, dims, values):
    sizes = "".join(f" dims: {d}" for d in dims)
    data = "".join(f" float_data: {v}" for v in values)
    return f'initializer {{{sizes} data_type: 1 name: "{name}"{data} }}'


def model(name, nodes, initializers, input_shape, output_shape):
    """With input x and output y."""
    def value(kind, tensor_name, shape):
        dims = "".join(f" dim {{ dim_value: {d} }}" for d in shape)
        return (f'{kind} {{ name: "{tensor_name}" type {{ tensor_type {{ elem_type: 1 '
                f"shape {{{dims} }} }} }} }}")
    return "\n".join(["ir_version: 8", "opset_import { version: 13 }", f'graph {{ name: "{name}"',
                      *nodes, *initializers, value("input", "x", input_shape),
                      value("output", "y", output_shape), "}"])


def ints(name, values):
    return (f'attribute {{ name: "{name}" type: INTS' +
            "".join(f" ints: {v}" for v in values) + " }")


def dense_model(widths, seed):
    """Dense layers of these widths with ReLUs between them; random weights."""
    rng = random.Random(seed)
    nodes, initializers = [], []
    last = "x"
    for i, (columns, rows) in enumerate(zip(widths, widths[1:])):
        is_last = i == len(widths) - 2
        scale = 1.4 / columns ** 0.5
        initializers += [tensor(f"w{i}", [rows, columns], [f"{rng.gauss(0, scale):.4f}" for _ in range(columns * rows)]),
                         tensor(f"b{i}", [rows], [f"{rng.gauss(0, 0.2):.4f}" for _ in range(rows)])]
        nodes.append(node("Gemm", [last, f"w{i}", f"b{i}"], "y" if is_last else f"z{i}", f"dense{i}",
                          'attribute { name: "transB" type: INT i: 1 }'))
        last = f"a{i}"
        if not is_last:
            nodes.append(node("Relu", [f"z{i}"], last, f"relu{i}"))
    return model("dense", nodes, initializers, [1, widths[0]], [1, widths[-1]])


def image_model():
    """A convolution, maxima, a smooth function, a product and a dense layer."""
    rng = random.Random(11)

    def numbers(count):
        return [round(rng.uniform(-1, 1), 3) for _ in range(count)]

    nodes = [node("Conv", ["x", "k", "b"], "c", "conv", ints("pads", [1, 1, 1, 1])),
             node("Relu", ["c"], "r", "relu"),
             node("MaxPool", ["r"], "m", "pool",
                  ints("kernel_shape", [2, 2]) + ints("strides", [2, 2])),
             node("Sigmoid", ["m"], "s", "sigmoid"),
             node("Mul", ["s", "m"], "p", "product"),
             node("Conv", ["p", "k2", "b2"], "c2", "conv2"),
             node("Relu", ["c2"], "r2", "relu2"),
             node("Flatten", ["r2"], "f", "flatten"),
             node("Gemm", ["f", "w", "v"], "y", "dense")]
    initializers = [tensor("k", (4, 2, 3, 3), numbers(72)), tensor("b", (4,), numbers(4)),
                    tensor("k2", (3, 4, 3, 3), numbers(108)), tensor("b2", (3,), numbers(3)),
                    tensor("w", (12, 5), numbers(60)), tensor("v", (5,), numbers(5))]
    return model("image", nodes, initializers, (1, 2, 8, 8), (1, 5))


def pooled_model():
    """36 inputs, a convolution, maxima of windows, and two dense layers: of the second rows differ."""
    rng = random.Random(5)

    def numbers(count):
        return [round(rng.uniform(-1, 1), 2) for _ in range(count)]

    nodes = [node("Conv", ["x", "k", "b"], "c", "conv"),
             node("MaxPool", ["c"], "m", "pool",
                  ints("kernel_shape", [2, 2]) + ints("strides", [2, 2])),
             node("Relu", ["m"], "r", "relu"),
             node("Flatten", ["r"], "f", "flatten"),
             node("Gemm", ["f", "w", "v"], "h", "dense"),
             node("Relu", ["h"], "g", "relu2"),
             node("Gemm", ["g", "w2", "v2"], "y", "dense2")]
    initializers = [tensor("k", (3, 1, 3, 3), numbers(27)), tensor("b", (3,), numbers(3)),
                    tensor("w", (12, 6), numbers(72)), tensor("v", (6,), numbers(6)),
                    tensor("w2", (6, 2), numbers(12)), tensor("v2", (2,), numbers(2))]
    return model("pooled", nodes, initializers, (1, 1, 6, 6), (1, 2))


def pooled_question(limit):
    """Whether Y_0 - Y_1 of it reaches the limit, about 0."""
    return ("".join(f"(declare-const X_{i} Real)(assert (<= -0.5 X_{i} 0.5))" for i in range(36))
            + "(declare-const Y_0 Real)(declare-const Y_1 Real)"
            f"(assert (>= (- Y_0 Y_1) {limit}))")


def residual_model():
    """Blocks y = relu(x + W relu(V x)), a scale that is folded, a constant that nodes compute,
    two equal branches, a node that nobody reads and two nodes of one name."""
    rng = random.Random(7)
    nodes, initializers = [], []

    def matrix(name, rows, columns):
        initializers.append(tensor(name, (rows, columns),
                                   [round(rng.uniform(-1, 1), 3) for _ in range(rows * columns)]))
        return name

    value = "x"
    for block in range(3):
        p = f"b{block}"
        nodes += [node("MatMul", [value, matrix(f"{p}_v", 6, 6)], f"{p}_m", f"{p}_mul"),
                  node("Relu", [f"{p}_m"], f"{p}_r", f"{p}_relu"),
                  node("MatMul", [f"{p}_r", matrix(f"{p}_w", 6, 6)], f"{p}_n", "again"),
                  node("Add", [value, f"{p}_n"], f"{p}_s", f"{p}_add + more"),
                  node("Relu", [f"{p}_s"], f"{p}_y")]
        value = f"{p}_y"
    initializers.append(tensor("two", (1,), [2]))
    nodes += [node("Add", ["two", "two"], "four", "four"),
              node("Mul", [value, "four"], "scaled", "scale"),
              node("Relu", ["scaled"], "left", "left"),
              node("Relu", ["scaled"], "right", "right"),
              node("Add", ["left", "right"], "both", "join"),
              node("Sigmoid", ["scaled"], "unread", "unread"),
              node("MatMul", ["both", matrix("head", 6, 2)], "flat", "head"),
              node("Identity", ["flat"], "same", "same"),
              node("Flatten", ["same"], "y", "last")]
    return model("residual", nodes, initializers, (1, 6), (1, 2))


def large_image(path):
    """Twenty convolutions of 8 x 128 x 128 pixels and their mean: 2.6 million hidden neurons."""
    rng = random.Random(12)
    nodes, weights, value, channels = [], [], "x", 1
    for layer in range(20):
        numbers = [round(rng.uniform(-1, 1), 3) for _ in range(8 * channels * 9)]
        weights.append(tensor(f"k{layer}", [8, channels, 3, 3], numbers))
        nodes += [node("Conv", [value, f"k{layer}"], f"c{layer}", f"conv{layer}",
                       ints("pads", [1, 1, 1, 1])),
                  node("Relu", [f"c{layer}"], f"r{layer}", f"relu{layer}")]
        value, channels = f"r{layer}", 8
    nodes += [node("GlobalAveragePool", [value], "g", "mean"), node("Flatten", ["g"], "f", "flat"),
              node("MatMul", ["f", "w"], "y", "matmul")]
    weights.append(tensor("w", [8, 1], [1, -1, 0.5, 2, -0.25, 1.5, -2, 1]))
    return write_model(path, model("large", nodes, weights, [1, 1, 128, 128], [1, 1]))

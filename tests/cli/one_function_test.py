"""One function of one tensor is one function, however many nodes write it out."""

import os
import pathlib
import random
import sys
import unittest

from harness import Case, SOURCE
from small_models import model, node, tensor, write_model

FINDINGS = pathlib.Path(os.environ.get("BF_SHARED", SOURCE.parent / "shared")) / "findings/2026-11-26"
METHODS = ("ibp", "crown-ibp", "crown", "alpha-crown")
RATIO = 1.02
CONSTANTS = {"one": 1, "half": 0.5, "zero": 0, "three": 3, "six": 6, "sixth": 1 / 6, "root": 1.41421354,
             "cubic": 0.044715, "pi": 0.7978846, "slope": 0.01, "minus": -1}


def attribute(name, value):
    kind = f'type: STRING s: "{value}"' if isinstance(value, str) else f"type: FLOAT f: {value}"
    return f'attribute {{ name: "{name}" {kind} }}'


def hidden_layers(activation, sizes=(6, 8, 8, 2)):
    """Dense layers with an activation between them: activation(x, y) gives its nodes."""
    rng = random.Random(3)
    nodes, constants = [], [tensor(name, [], [value]) for name, value in CONSTANTS.items()]
    value, last = "x", len(sizes) - 2
    for layer, (inputs, outputs) in enumerate(zip(sizes, sizes[1:])):
        numbers = [round(rng.gauss(0, 1) / inputs ** 0.5, 3) for _ in range(inputs * outputs)]
        constants.append(tensor(f"w{layer}", [inputs, outputs], numbers))
        constants.append(tensor(f"b{layer}", [outputs], [round(rng.gauss(0, 0.3), 3) for _ in range(outputs)]))
        made = "y" if layer == last else f"z{layer}"
        nodes.append(node("Gemm", [value, f"w{layer}", f"b{layer}"], made))
        if layer < last:
            nodes += activation(made, f"h{layer}")
            value = f"h{layer}"
    text = model("layers", nodes, constants, [1, sizes[0]], [1, sizes[-1]])
    return text.replace("version: 13", "version: 20")


def chain(*steps):
    """Steps are (operator, inputs, output): x, y and constants keep their names, others are the layer's own."""
    def nodes(x, y):
        def name(value):
            return {"x": x, "y": y}.get(value, value if value in CONSTANTS else f"{y}_{value}")
        return [node(op, [name(each) for each in inputs], name(output)) for op, inputs, output in steps]
    return nodes


def operator(op, *attributes):
    return lambda x, y: [node(op, [x], y, attributes=" ".join(attributes))]


GELU_HEAD = (("Div", ("x", "root"), "u"), ("Erf", ("u",), "e"), ("Add", ("e", "one"), "s"))
WHERE_POSITIVE = ("Greater", ("x", "zero"), "c")
PAIRS = {
    "gelu": (chain(*GELU_HEAD, ("Mul", ("x", "s"), "p"), ("Mul", ("p", "half"), "y")), operator("Gelu")),
    "gelu, other order": (chain(*GELU_HEAD, ("Mul", ("x", "half"), "p"), ("Mul", ("p", "s"), "y")), operator("Gelu")),
    "gelu by tanh": (chain(("Mul", ("x", "x"), "q"), ("Mul", ("q", "x"), "t"), ("Mul", ("t", "cubic"), "v"),
                           ("Add", ("x", "v"), "s"), ("Mul", ("s", "pi"), "u"), ("Tanh", ("u",), "h"),
                           ("Add", ("h", "one"), "g"), ("Mul", ("x", "g"), "p"), ("Mul", ("p", "half"), "y")),
                     operator("Gelu", attribute("approximate", "tanh"))),
    "mish": (chain(("Softplus", ("x",), "s"), ("Tanh", ("s",), "t"), ("Mul", ("x", "t"), "y")), operator("Mish")),
    "hard swish": (chain(("Add", ("x", "three"), "s"), ("Clip", ("s", "zero", "six"), "c"), ("Mul", ("x", "c"), "p"),
                         ("Div", ("p", "six"), "y")), operator("HardSwish")),
    "hard swish by hard sigmoid": (lambda x, y: [node("HardSigmoid", [x], f"{y}_s", attributes=attribute(
        "alpha", 1 / 6)), node("Mul", [x, f"{y}_s"], y)], operator("HardSwish")),
    "leaky": (chain(WHERE_POSITIVE, ("Mul", ("x", "slope"), "n"), ("Where", ("c", "x", "n"), "y")),
              operator("LeakyRelu", attribute("alpha", 0.01))),
    "leaky by max": (chain(("Mul", ("x", "slope"), "n"), ("Max", ("x", "n"), "y")),
                     operator("LeakyRelu", attribute("alpha", 0.01))),
    "softsign": (chain(("Abs", ("x",), "a"), ("Add", ("a", "one"), "s"), ("Div", ("x", "s"), "y")),
                 operator("Softsign")),
    "cube": (chain(("Mul", ("x", "x"), "q"), ("Mul", ("q", "x"), "y")), chain(("Pow", ("x", "three"), "y"))),
    "elu": (chain(WHERE_POSITIVE, ("Exp", ("x",), "e"), ("Sub", ("e", "one"), "n"), ("Where", ("c", "x", "n"), "y")),
            operator("Elu")),
    "softplus": (chain(("Exp", ("x",), "e"), ("Add", ("e", "one"), "s"), ("Log", ("s",), "y")), operator("Softplus")),
    "sigmoid": (chain(("Neg", ("x",), "n"), ("Exp", ("n",), "e"), ("Add", ("one", "e"), "s"),
                      ("Div", ("one", "s"), "y")), operator("Sigmoid")),
}


class OneFunction(Case):
    def widths(self, network, method, size=6, reach=1.0):
        box = self.write("box.json", {"lower": [-reach] * size, "upper": [reach] * size})
        found = self.run_json("run", network, "--box", box, "--method", method)["outputs"]
        return [high - low for low, high in zip(found["lower"], found["upper"])]

    def expect_as_tight(self, spelled, named, **given):
        for method in METHODS:
            with self.subTest(method=method):
                chained, operation = (self.widths(each, method, **given) for each in (spelled, named))
                for one, other in zip(chained, operation):
                    self.assertLessEqual(one, RATIO * other)

    def test_chains_and_operators(self):
        for name, (spelled, named) in PAIRS.items():
            with self.subTest(name):
                self.expect_as_tight(write_model(self.work / "chain.onnx", hidden_layers(spelled)),
                                     write_model(self.work / "op.onnx", hidden_layers(named)))

    def test_far_from_zero(self):
        # No exponential of what is written out may leave the doubles.
        for name in ("softplus", "sigmoid", "gelu", "elu"):
            with self.subTest(name):
                network = write_model(self.work / "far.onnx", hidden_layers(PAIRS[name][0], (1, 1, 1)))
                self.assertLess(self.widths(network, "crown", size=1, reach=1e4)[0], 1e5)

    def test_silu(self):
        # x / (1 + e^-x) lies in [-0.2785, 1.7616] on [-3, 2].
        network = write_model(self.work / "silu.onnx", model("silu", [
            node("Sigmoid", ["x"], "s"), node("Mul", ["x", "s"], "y")], [], [1, 1], [1, 1]))
        found = self.run_json("run", network, "--box", self.write("box.json", {"lower": [-3], "upper": [2]}))["outputs"]
        self.assertAlmostEqual(found["lower"][0], -0.278464543, places=4)
        self.assertAlmostEqual(found["upper"][0], 1.761594156, places=4)

    def test_polynomials(self):
        # x^3 - 2 x goes from -4 to 4 on [-2, 2], with turns of +-1.0887 at +-0.8165.
        network = write_model(self.work / "cubic.onnx", model("cubic", [
            node("Mul", ["x", "x"], "q"), node("Mul", ["q", "x"], "t"), node("Mul", ["x", "two"], "d"),
            node("Sub", ["t", "d"], "y")], [tensor("two", [], [2])], [1, 1], [1, 1]))
        for method in METHODS:
            for box, (low, high) in {(-2, 2): (-4, 4), (0, 1.5): (-1.0886621, 0.375)}.items():
                with self.subTest(method=method, box=box):
                    given = self.write("box.json", {"lower": [box[0]], "upper": [box[1]]})
                    found = self.run_json("run", network, "--box", given, "--method", method)["outputs"]
                    self.assertAlmostEqual(found["lower"][0], low, places=4)
                    self.assertAlmostEqual(found["upper"][0], high, places=4)

    def test_without_the_pass(self):
        network = write_model(self.work / "chain.onnx", hidden_layers(PAIRS["gelu"][0]))
        box = self.write("box.json", {"lower": [-1] * 6, "upper": [1] * 6})
        found = self.run_json("run", network, "--box", box, "--method", "crown", "--disable-pass",
                              "collapse-univariate")["outputs"]
        loose = found["upper"][0] - found["lower"][0]
        self.assertGreater(loose, 1.5 * self.widths(network, "crown")[0])

    def test_findings(self):
        if not FINDINGS.is_dir():
            self.skipTest("skipped: no findings beside the source, see BF_SHARED")
        for spelled, named in (("m_gelu_chain", "m_gelu_op"), ("m_elu_where", "m_elu_op")):
            with self.subTest(spelled):
                self.expect_as_tight(FINDINGS / f"{spelled}.onnx", FINDINGS / f"{named}.onnx")
        softplus = self.widths(FINDINGS / "e_softplus_manual.onnx", "crown", size=1, reach=100)
        self.assertLess(softplus[0], 101)


if __name__ == "__main__":
    sys.exit(unittest.main())

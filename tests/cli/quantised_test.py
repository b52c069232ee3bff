"""Quantised networks: one layer for rounding and its limits, and codes that are one more or less."""

import json
import sys
import unittest

from harness import Case
from small_models import model, node, tensor, write_model


class Quantised(Case):
    def rounded(self, nodes, x, y):
        """Rounds x to multiples of 1/8 from -16 on, 256 of them, as y."""
        nodes += [node("QuantizeLinear", [x, "s", "z"], f"{y}_codes", f"q_{y}"),
                  node("DequantizeLinear", [f"{y}_codes", "s", "z"], y, f"dq_{y}")]

    def constants(self):
        zero = 'initializer { data_type: 3 name: "z" int32_data: 0 }'
        return [tensor("s", [], [0.125]), zero]

    def one_rounding(self):
        nodes = []
        self.rounded(nodes, "x", "y")
        return write_model(self.work / "stair.onnx", model("stair", nodes, self.constants(), [1, 1], [1, 1]))

    def claim(self, least):
        return self.write("claim.vnnlib", "(declare-const X_0 Real)(declare-const Y_0 Real)"
                          f"(assert (>= X_0 0))(assert (<= X_0 1))(assert (>= Y_0 {least}))")

    def test_verdicts_for_loose_codes(self):
        network = self.one_rounding()
        loose = ("--semantics", "quantised-any", "--json", "--timeout", "3")
        found = self.run_json("verify", network, self.claim(1.15), *loose)
        self.assertEqual((found["verdict"], found["semantics"]), ("verified", "quantised-any"))
        # The code of 1 may be that of 1.125, which the file's own rounding does not give.
        found = json.loads(self.run_tool("verify", network, self.claim(1.05), *loose, code=None)[0])
        self.assertIn(found["verdict"], ("unknown", "timeout"))
        self.run_tool("verify", network, self.claim(1.05), code=0)
        found = json.loads(self.run_tool("verify", network, self.claim(0.95), *loose, code=3)[0])
        self.assertGreaterEqual(float(found["counterexample"]["y"][0]), 0.95)

    def test_bounds_for_loose_codes(self):
        network = self.one_rounding()
        for x, bounds in ((0.5, (0.375, 0.625)), (100, (15.875, 15.875)), (-100, (-16, -16)),
                          (15.8, (15.625, 15.875))):
            found = self.run_json("run", network, "--centre", x, "--eps", 0, "--semantics",
                                  "quantised-any")["outputs"]
            self.assertEqual((float(found["lower"][0]), float(found["upper"][0])), bounds)

    def test_code_of_loose_codes(self):
        network = self.one_rounding()
        for more in (("--method", "crown"), ("--method", "ibp", "--arithmetic", "integer")):
            self.run_tool(network, "-o", "v.cpp", "--semantics", "quantised-any", *more)
            manifest = json.loads((self.work / "v.json").read_text())
            self.assertEqual(manifest["semantics"], "quantised-any")
            self.assertNotIn("float32_reach", manifest)
        self.assertIn("loosen(slack, 255, 1", (self.work / "v.cpp").read_text())
        self.assert_refused("BF3315", network, "-o", "e.cpp", "--flush-to-zero", "--semantics", "quantised-any")

    def test_one_layer_for_relu_and_rounding(self):
        nodes = []
        self.rounded(nodes, "x", "a")
        nodes += [node("MatMul", ["a", "w"], "b"), node("Relu", ["b"], "c")]
        self.rounded(nodes, "c", "d")
        nodes.append(node("MatMul", ["d", "w"], "y"))
        weights = tensor("w", [2, 2], [1, -0.5, 0.25, 1])
        network = write_model(self.work / "net.onnx", model("net", nodes, [*self.constants(), weights],
                                                            [1, 2], [1, 2]))
        self.run_tool(network, "-o", "v.cpp")
        layers = json.loads((self.work / "v.json").read_text())["layers"]
        self.assertEqual([layer["function"] and layer["function"].split(" on ")[0] for layer in layers],
                         ["quantise(0.125, -128, 127)", "quantise(0.125, 0, 127)", None])


if __name__ == "__main__":
    sys.exit(unittest.main())

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
        loose = ("--semantics", "quantised-any", "--json", "--timeout")
        found = self.run_json("verify", network, self.claim(1.15), *loose, 60)
        self.assertEqual((found["verdict"], found["semantics"]), ("verified", "quantised-any"))
        # The code of 1 may be that of 1.125, which the file's own rounding does not give.
        found = json.loads(self.run_tool("verify", network, self.claim(1.05), *loose, 2, code=None)[0])
        self.assertIn(found["verdict"], ("unknown", "timeout"))
        self.run_tool("verify", network, self.claim(1.05), code=0)
        found = json.loads(self.run_tool("verify", network, self.claim(0.95), *loose, 60, code=3)[0])
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

    def compile_for_m0(self, *more):
        output, _ = self.run_tool(self.one_rounding(), "-o", "v.cpp", "--target", "cortex-m0plus",
                                  "--no-library", *more)
        manifest = json.loads((self.work / "v.json").read_text())
        told = [line[10:] for line in output.splitlines() if line.startswith("numbers")]
        self.assertEqual(len(told), 1, output)
        other = [each for each in manifest["rejected"] if each["slot"] == "arithmetic"]
        self.assertEqual(len(other), 1)
        self.assertEqual(told[0], f"{manifest['arithmetic']}: {other[0]['reason']}")
        self.assertNotEqual(other[0]["candidate"], manifest["arithmetic"])
        return manifest, told[0]

    def test_auto_says_what_it_took_and_why(self):
        taken = "integer: cortex-m0plus has no floating-point unit"
        self.assertEqual(self.compile_for_m0()[1], taken)
        self.assertEqual(self.compile_for_m0("--batch", "2")[1],
                         "float: integers have no --batch: leave --batch out for them")
        self.assertEqual(self.compile_for_m0("--method", "crown-ibp")[1],
                         "float: integers have no --method crown-ibp: add --method ibp for them")
        self.assertEqual(self.compile_for_m0("--method", "crown")[1],
                         "float: network: method crown over codes needs a dense layer that makes codes")
        # It was asked for, or there is nothing to choose: nothing is said.
        for more in (("--target", "cortex-m0plus", "--arithmetic", "float"), ("--target", "cortex-m4")):
            output, _ = self.run_tool(self.one_rounding(), "-o", "v.cpp", "--no-library", *more)
            self.assertNotIn("numbers", output)
        rejected = json.loads((self.work / "v.json").read_text())["rejected"]
        self.assertNotIn("arithmetic", {each["slot"] for each in rejected})

    def test_properties_in_integers(self):
        manifest, told = self.compile_for_m0("--property", self.claim(1.15))
        self.assertEqual(told, "integer: cortex-m0plus has no floating-point unit")
        rows = manifest["integer"]["property"]
        self.assertEqual((rows["rows"], rows["exact"], rows["conditions"]), (1, True, 1))
        self.assertIn("verify", [each["entry"] for each in manifest["work"]])
        text = (self.work / "v.cpp").read_text()
        # 1.15 of steps of 1/8: the code 10 of 1.25 and all above it, which begin at -128.
        self.assertIn("{0, true, 138},", text)
        self.assertNotIn("bf/search/verdict.h", text)

    def test_properties_that_are_not_of_integers(self):
        both = self.write("both.vnnlib", "(declare-const X_0 Real)(declare-const Y_0 Real)(assert (>= X_0 0))"
                          "(assert (<= X_0 1))(assert (>= Y_0 (+ X_0 1)))")
        square = self.write("square.vnnlib", "(declare-const X_0 Real)(declare-const Y_0 Real)"
                            "(assert (>= X_0 0))(assert (<= X_0 1))(assert (>= (* Y_0 Y_0) 2))")
        for claim, words in ((both, "a condition is on inputs"), (square, "a condition is not linear")):
            _, told = self.compile_for_m0("--property", claim)
            self.assertTrue(told.startswith("float: property ") and words in told, told)
            self.assert_refused("BF2113", self.one_rounding(), "-o", "e.cpp", "--target", "cortex-m0plus",
                                "--method", "ibp", "--arithmetic", "integer", "--no-library", "--property",
                                claim, says=[words, "--arithmetic float"])

    def test_crown_in_integers(self):
        nodes = []
        self.rounded(nodes, "x", "a")
        nodes += [node("MatMul", ["a", "w"], "b"), node("Relu", ["b"], "c")]
        self.rounded(nodes, "c", "d")
        nodes.append(node("MatMul", ["d", "v"], "y"))
        weights = [tensor("w", [2, 2], [1, 1, 1, -1]), tensor("v", [2, 2], [1, 1, 1, -1])]
        network = write_model(self.work / "net.onnx", model("net", nodes, [*self.constants(), *weights],
                                                            [1, 2], [1, 2]))
        self.run_tool(network, "-o", "v.cpp", "--target", "cortex-m0plus", "--method", "crown", "--no-library",
                      "--trace", "t.json")
        manifest = json.loads((self.work / "v.json").read_text())
        self.assertEqual((manifest["arithmetic"], manifest["method"]), ("integer", "crown"))
        self.assertEqual([layer["lines"] for layer in manifest["integer"]["crown"]["layers"]], [2, 0])
        text = (self.work / "v.cpp").read_text()
        for call in ("crown_dense<", "crown_outputs(", "pass(", "end_of("):
            self.assertIn("bf::integer::" + call, text)
        # Not asked for, it is ibp.
        self.run_tool(network, "-o", "v.cpp", "--target", "cortex-m0plus", "--no-library")
        self.assertEqual(json.loads((self.work / "v.json").read_text())["method"], "ibp")

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

"""Parts of a network, and shapes that its file leaves open."""

import sys
import unittest

from harness import Case
from small_models import model, node, tensor, write_model


class Cut(Case):
    def text_model(self):
        """Three token numbers -> rows of a table -> their mean -> two scores."""
        table = tensor("table", [5, 4], [round(0.1 * i - 0.9, 1) for i in range(20)])
        weights = tensor("w", [4, 2], [1, -1, 0.5, 0.25, -2, 1, 0.75, 0.5])
        axis = 'attribute { name: "axes" type: INTS ints: 1 }'
        nodes = [node("Gather", ["table", "x"], "rows", "embedding"),
                 node("ReduceMean", ["rows"], "mean", attributes=axis
                      + ' attribute { name: "keepdims" type: INT i: 0 }'),
                 node("MatMul", ["mean", "w"], "y")]
        text = model("text", nodes, [table, weights], [1, 3], [1, 2])
        return write_model(self.work / "text.onnx", text.replace("elem_type: 1", "elem_type: 7", 1))

    def test_boxes_of_embeddings(self):
        network = self.text_model()
        _, errors = self.run_tool("run", network, "--centre", "0", "--eps", "1", code=1)
        self.assertIn("--input-tensor rows", errors)
        _, errors = self.run_tool("run", network, "--input-tensor", "rows", "--centre", "0", "--eps", "1", code=1)
        self.assertIn("--shape rows=", errors)
        cut = ["--input-tensor", "rows", "--shape", "rows=1,3,4"]
        box = self.write("box.json", {"lower": [0.5] * 12, "upper": [0.75] * 12})
        found = self.run_json("run", network, *cut, "--box", box, "--method", "crown")["outputs"]
        # Means between 1/2 and 3/4 times (1, 1/2, -2, 3/4) and (-1, 1/4, 1, 1/2).
        for at, (low, high) in enumerate([(0.5 * 2.25 - 0.75 * 2, 0.75 * 2.25 - 0.5 * 2),
                                          (0.5 * 1.75 - 0.75, 0.75 * 1.75 - 0.5)]):
            self.assertAlmostEqual(float(found["lower"][at]), low, delta=1e-5)
            self.assertAlmostEqual(float(found["upper"][at]), high, delta=1e-5)
        claim = self.write("claim.vnnlib", "".join(f"(declare-const X_{i} Real)" for i in range(12)) +
                                "(declare-const Y_0 Real)(declare-const Y_1 Real)" +
                                "".join(f"(assert (>= X_{i} 0.5))(assert (<= X_{i} 0.75))" for i in range(12)) +
                                "(assert (>= Y_0 Y_1))")
        answer, _ = self.run_tool("verify", network, claim, *cut, code=None)
        self.assertIn("falsified", answer)

    def test_shapes_that_a_file_leaves_open(self):
        text = model("open", [node("Relu", ["x"], "y")], [], [1, 4, 7], [1, 4, 7])
        network = write_model(self.work / "open.onnx", text.replace("dim_value: 7", 'dim_param: "n"'))
        box = self.write("box.json", {"lower": [-1] * 8, "upper": [2] * 8})
        _, errors = self.run_tool("run", network, "--box", box, code=1)
        self.assertIn("--shape x=", errors)
        found = self.run_json("run", network, "--shape", "x=1,4,2", "--box", box)["outputs"]
        self.assertEqual([float(x) for x in found["upper"]], [2] * 8)
        for wrong in ("x", "x=", "x=1,", "x=0", "x=-1", "=1", "x=1,a", "x=99999999999999999999"):
            _, errors = self.run_tool("run", network, "--shape", wrong, "--box", box, code=2)
            self.assertIn("no shape of an input", errors, wrong)
        _, errors = self.run_tool("run", network, "--shape", "z=1", "--box", box, code=1)
        self.assertIn("no such input", errors)


if __name__ == "__main__":
    sys.exit(unittest.main())

"""Tests of conditions that are not linear and of queries about several networks. Run as cli_test.py is."""

import random
import struct
import sys
import unittest
from fractions import Fraction

sys.dont_write_bytecode = True
from harness import MODELS, TINY, Case  # noqa: E402
from small_models import model, node, tensor, write_model  # noqa: E402

PROPERTIES = MODELS / "properties"
TWICE = PROPERTIES / "tiny_twice.vnnlib"


def declared(inputs, outputs):
    return "".join(f"(declare-const {name}_{i} Real)"
                   for name, count in (("X", inputs), ("Y", outputs)) for i in range(count))


def mlp(name, w1, b1, w2, b2):
    """y = w2 relu(w1 x + b1) + b2."""
    return model(name, [node("Gemm", ["x", "w1", "b1"], "z", "fc1", 'attribute { name: "transB" i: 1 type: INT }'),
                        node("Relu", ["z"], "a", "relu"),
                        node("Gemm", ["a", "w2", "b2"], "y", "fc2", 'attribute { name: "transB" i: 1 type: INT }')],
                 [tensor("w1", [len(w1), len(w1[0])], sum(w1, [])), tensor("b1", [len(b1)], b1),
                  tensor("w2", [len(w2), len(w2[0])], sum(w2, [])), tensor("b2", [len(b2)], b2)],
                 [1, len(w1[0])], [1, len(w2)])


class Nonlinear(Case):
    """Adaptive cruise control. Inputs are the gap, the own speed and that of the car in front; the output is the
    acceleration gap - 4 (own - front) - 1/2."""

    def verdict(self, condition, *more, code):
        weights = [1, -4, 4]
        network = mlp("acc", [weights, [-w for w in weights]], [-0.5, 0.5], [[1, -1]], [0])
        path = write_model(self.work / "acc.onnx", network)
        box = "(assert (<= 0 X_0 100))(assert (<= 0 X_1 30))(assert (<= 0 X_2 30))"
        text = declared(3, 1) + box + f"(assert {condition})"
        return self.run_json("verify", path, self.write("acc.vnnlib", text), *more, code=code)

    # The car cannot stop within the gap, braking by 10 as the car in front does, yet it accelerates; or it does so
    # behind a slower car that is close.
    UNSAFE = """(or (and (>= (- (* X_1 X_1) (* X_2 X_2)) (* 20 X_0)) (> Y_0 0))
                    (and (<= X_0 1) (or (< X_1 0) {}) (> Y_0 {})))"""

    def test_safe(self):
        found = self.verdict(self.UNSAFE.format("(>= (* (- X_1 X_2) (+ X_1 X_2 1)) 0)", 1), code=0)
        self.assertEqual(found["verdict"], "verified")

    def test_unsafe(self):
        # v (l - v) <= 0 where v is 0, too: then the acceleration may be large.
        found = self.verdict(self.UNSAFE.format("(<= (* X_1 (- X_2 X_1)) 0)", 1), code=3)
        gap, own, front = map(Fraction, found["counterexample"]["x"])
        y = gap - 4 * (own - front) - Fraction(1, 2)
        brakes_late = own * own - front * front >= 20 * gap and y > 0
        close = gap <= 1 and own * (front - own) <= 0 and y > 1
        self.assertTrue(brakes_late or close)

    def test_names_and_choices(self):
        brake = """(let ((slower (>= X_1 X_2)) (closing (- X_1 X_2)))
                     (and slower (> Y_0 (ite (> X_0 50) 100 (abs (- X_0 (* {} closing)))))))"""
        self.assertEqual(self.verdict(brake.format(4), code=0)["verdict"], "verified")
        self.assertEqual(self.verdict(brake.format(5), code=3)["verdict"], "falsified")

    def test_every_method_agrees(self):
        property_file = PROPERTIES / "tiny_energy.vnnlib"
        for method in ("ibp", "crown-ibp", "crown", "alpha-crown"):
            found = self.run_json("verify", TINY, property_file, "--method", method)
            self.assertEqual(found["verdict"], "verified")
        for semantics in ("real", "float32"):
            found = self.run_json("verify", TINY, property_file, "--semantics", semantics)
            self.assertEqual(found["verdict"], "verified")

    def test_in_a_verifier(self):
        self.run_tool(TINY, "--property", PROPERTIES / "tiny_energy.vnnlib", "-o", self.work / "v.cpp")
        self.assertIn("_verify(", (self.work / "v.h").read_text())
        self.assertIn("_OUTPUTS 2", (self.work / "v.h").read_text())

    def test_refusals(self):
        self.assert_refused("BF3414", "verify", TINY, PROPERTIES / "tiny_energy.vnnlib", "--semantics",
                            "float32-exact")


BOX = "(assert (<= -1 f.X[0,0] 1))(assert (<= -1 f.X[0,1] 1))"
EQUAL = "".join(f"(assert (= f.X[0,{i}] g.X[0,{i}]))" for i in (0, 1))


class Networks(Case):
    def query(self, condition, congruence="", equal=EQUAL, name="q.vnnlib"):
        tensors = "(declare-input X Real [1,2])(declare-output Y Real [1,2])"
        return self.write(name, f"(vnnlib-version <2.0>)(declare-network f {tensors})"
                                f"(declare-network g {congruence} {tensors}){BOX}{equal}(assert {condition})")

    def changed(self, bias):
        """tiny.onnx with another bias of its first output."""
        network = mlp("changed", [[1, -2], [0.5, 3]], [0, 1], [[1, -1], [-0.5, 0.25]], [bias, -1])
        return write_model(self.work / "changed.onnx", network)

    def test_documented(self):
        output, _ = self.run_tool("verify", TWICE, "--network", f"f={TINY}", "--network", f"g={TINY}")
        self.assertEqual(output, "unsat\n")

    def test_without_the_command(self):
        networks = ["--network", f"f={TINY}", "--network", f"g={TINY}"]
        self.assertEqual(self.run_tool(TWICE, *networks)[0], "unsat\n")

    def test_equal_to_needs_no_file(self):
        query = self.query("(!= f.Y[0,1] g.Y[0,1])", "(equal-to f)")
        output, _ = self.run_tool("verify", query, "--network", f"f={TINY}")
        self.assertEqual(output, "unsat\n")

    def test_changed_copy(self):
        networks = ["--network", f"f={TINY}", "--network", f"g={self.changed(0.625)}"]
        query = self.query("(>= (abs (- f.Y[0,0] g.Y[0,0])) 0.126)", "(isomorphic-to f)")
        self.assertEqual(self.run_tool("verify", query, *networks)[0], "unsat\n")
        query = self.query("(>= (abs (- f.Y[0,0] g.Y[0,0])) 0.125)")
        words = self.run_tool("verify", query, *networks)[0].split("\n")
        self.assertEqual(words[0], "sat")
        self.assertEqual([words[i] for i in (1, 4, 7, 10)],
                         ["X Real [1,2]", "Y Real [1,2]", "X Real [1,2]", "Y Real [1,2]"])
        self.assertEqual(words[2:4], words[8:10], "equal inputs")
        self.assertEqual(Fraction(words[11]) - Fraction(words[5]), Fraction(1, 8))

    def test_json(self):
        networks = ["--network", f"f={TINY}", "--network", f"g={self.changed(0.625)}"]
        found = self.run_json("verify", self.query("(> g.Y[0,0] f.Y[0,0])"), *networks)
        self.assertEqual(found["model"], "tiny.onnx, changed.onnx")
        self.assertEqual(len(found["counterexample"]["x"]), 4)
        self.assertEqual(len(found["counterexample"]["y"]), 4)

    def test_one_reads_another(self):
        """g reads the outputs of f, which are 3.5 and -2.5 at (1, -1): then h_0 = 8.5."""
        wired = "".join(f"(assert (= g.X[0,{i}] f.Y[0,{i}]))" for i in (0, 1))
        networks = ["--network", f"f={TINY}", "--network", f"g={TINY}"]
        words = self.run_tool("verify", self.query("(>= g.Y[0,0] 8.99)", equal=wired), *networks)[0].split("\n")
        self.assertEqual(words[0], "sat")
        self.assertEqual([float(word) for word in words[5:7]], [float(word) for word in words[8:10]])
        self.assertEqual(self.run_tool("verify", self.query("(>= g.Y[0,0] 9.01)", equal=wired), *networks)[0],
                         "unsat\n")

    def test_inputs_of_their_own(self):
        box = "(assert (<= 0 g.X[0,0] 1))(assert (<= 0 g.X[0,1] 1))"
        networks = ["--network", f"f={TINY}", "--network", f"g={TINY}"]
        query = self.query("(> (- f.Y[0,0] g.Y[0,0]) 7.6)", equal=box)
        self.assertEqual(self.run_tool("verify", query, *networks)[0], "unsat\n")
        query = self.query("(> (- f.Y[0,0] g.Y[0,0]) 7.4)", equal=box)
        self.assertEqual(self.run_tool("verify", query, *networks)[0].split("\n")[0], "sat")

    def test_refusals(self):
        query = self.query("(> f.Y[0,0] g.Y[0,0])")
        self.assert_refused("BF3413", "verify", query, "--network", f"f={TINY}")
        self.assert_refused("BF3413", "verify", query, "--network", f"f={TINY}", "--network", f"f={TINY}")
        self.assert_refused("BF3413", "verify", query, "--network", f"f={TINY}", "--network", f"h={TINY}")
        self.assert_refused("BF3410", "verify", TINY, query)
        self.assert_refused("BF3410", TINY, "--property", query, "-o", self.work / "v.cpp")
        both = ["--network", f"f={TINY}", "--network", f"g={self.changed(2)}"]
        self.assert_refused("BF3415", "verify", self.query("true", "(equal-to f)"), *both)
        other = ["--network", f"f={TINY}", "--network", f"g={MODELS / 'digits_64x2.onnx'}"]
        self.assert_refused("BF3408", "verify", query, *other)
        linear = ["--network", f"f={TINY}", "--network", f"g={self.linear()}"]
        self.assert_refused("BF3415", "verify", self.query("true", "(isomorphic-to f)"), *linear)

    def linear(self):
        network = model("linear", [node("Gemm", ["x", "w", "b"], "y", "fc")],
                        [tensor("w", [2, 2], [1, 2, 3, 4]), tensor("b", [2], [0, 1])], [1, 2], [1, 2])
        return write_model(self.work / "linear.onnx", network)


class Hidden(Case):
    """Conditions on tensors within tiny.onnx: h = (x0 - 2 x1, x0 / 2 + 3 x1 + 1), a = relu(h), and y = (a0 - a1 + 1/2,
    -a0 / 2 + a1 / 4 - 1)."""

    def query(self, condition, hidden='(declare-hidden H Real [1,2] "h")'):
        return self.write("h.vnnlib", "(vnnlib-version <2.0>)(declare-network f (declare-input X Real [1,2])"
                          f"{hidden}(declare-output Y Real [1,2]))"
                          f"(assert (<= -1 X[0,0] 1))(assert (<= -1 X[0,1] 1))(assert {condition})")

    def answer(self, query, *more):
        output, _ = self.run_tool("verify", query, "--network", f"f={TINY}", *more)
        return output.splitlines()

    def test_linear(self):
        self.assertEqual(self.answer(self.query("(> H[0,0] 3)")), ["unsat"])
        # Where h0 <= 0 the first output is at most 1/2, which it is not elsewhere.
        self.assertEqual(self.answer(self.query("(and (<= H[0,0] 0) (> Y[0,0] 0.5))")), ["unsat"])
        said = self.answer(self.query("(and (<= H[0,0] 0.125) (> Y[0,0] 0.5))"))
        self.assertEqual([said[i] for i in (0, 1, 4, 7)], ["sat", "X Real [1,2]", "H Real [1,2]", "Y Real [1,2]"])
        x, h, y = ([Fraction(word) for word in said[i:i + 2]] for i in (2, 5, 8))
        self.assertEqual(h, [x[0] - 2 * x[1], x[0] / 2 + 3 * x[1] + 1])
        self.assertEqual(y[0], max(h[0], 0) - max(h[1], 0) + Fraction(1, 2))

    def test_named_by_a_node_and_twice(self):
        both = '(declare-hidden A Real [1,2] "relu1")(declare-hidden H Real [1,2] "h")'
        self.assertEqual(self.answer(self.query("(< A[0,1] H[0,1])", both)), ["unsat"])
        self.assertEqual(self.answer(self.query("(> A[0,1] H[0,1])", both))[0], "sat")
        self.assertEqual(self.answer(self.query("(> (* H[0,0] H[0,0]) 9)", both)), ["unsat"])

    def test_by_one_model_and_compiled(self):
        holds = self.query("(> H[0,0] 3)")
        self.assertEqual(self.run_json("verify", TINY, holds)["verdict"], "verified")
        self.run_tool(TINY, "--property", holds, "-o", self.work / "v.cpp", "--no-library")
        self.assertIn("_verify(", (self.work / "v.h").read_text())

    def test_two_networks(self):
        tensors = '(declare-input X Real [1,2])(declare-hidden H Real [1,2] "h")(declare-output Y Real [1,2])'
        for limit, word in (("3", "unsat"), ("2.5", "sat")):
            query = self.write("two.vnnlib", f"(vnnlib-version <2.0>)(declare-network f {tensors})"
                               f"(declare-network g (equal-to f) {tensors}){BOX}{EQUAL}"
                               f"(assert (> (+ f.H[0,0] (- g.H[0,1] f.H[0,1])) {limit}))")
            self.assertEqual(self.answer(query)[0], word)

    def test_checkpoint_goes_on(self):
        query = self.query("(and (<= H[0,0] 0) (> Y[0,0] 0.5))")
        for _ in range(2):
            self.run_tool("verify", TINY, query, "--method", "ibp", "--checkpoint", "tree.json")

    def test_refusals(self):
        for code, name in (("BF1017", '"none"'), ("BF3405", '""'), ("BF3405", "")):
            query = self.query("(> H[0,0] 3)", f"(declare-hidden H Real [1,2] {name})")
            self.assert_refused(code, "verify", TINY, query)
        self.assert_refused("BF3408", "verify", TINY, self.query("(> H[0,0] 3)", '(declare-hidden H Real [1,3] "h")'))
        self.assert_refused("BF3024", "verify", TINY, self.query("(> H[0,0] 3)"), "--proof", "p.bfc")
        nodes = [node("Relu", ["x"], "r", "twice"), node("Neg", ["r"], "y", "twice")]
        twice = write_model(self.work / "twice.onnx", model("twice", nodes, [], [1, 2], [1, 2]))
        query = self.query("(< H[0,0] 0)", '(declare-hidden H Real [1,2] "twice")')
        self.assert_refused("BF1017", "verify", twice, query, says=["2 nodes have this name"])


class Serialised(Case):
    """Counterexamples as files of TensorProtos."""

    def fields(self, path):
        """A message's fields of one byte's key: number to value."""
        data, at, found = path.read_bytes(), 0, {}
        while at < len(data):
            key, at = data[at], at + 1
            size, at = data[at], at + 1
            value = size
            if key & 7 == 2:
                value, at = data[at:at + size], at + size
            found.setdefault(key >> 3, []).append(value)
        return found

    def test_files(self):
        for element, form, number in (("Real", "<2d", 11), ("float32", "<2f", 1)):
            tensors = f"(declare-input X {element} [1,2])(declare-output Y {element} [1,2])"
            query = self.write("q.vnnlib", f"(vnnlib-version <2.0>)(declare-network f {tensors})"
                               "(assert (<= 0.5 X[0,0] 1))(assert (<= -1 X[0,1] -0.5))(assert (> Y[0,0] 1))")
            output, _ = self.run_tool("verify", query, "--network", f"f={TINY}", "--serialise-assignments", element)
            self.assertEqual(output, "sat\n")
            x, y = (self.fields(self.work / element / name) for name in ("X.pb", "Y.pb"))
            self.assertEqual((x[1], x[2], x[8]), ([1, 2], [number], [b"X"]))
            point = struct.unpack(form, x[10 if element == "Real" else 4][0])
            self.assertTrue(0.5 <= point[0] <= 1 and -1 <= point[1] <= -0.5)
            self.assertGreater(struct.unpack(form, y[10 if element == "Real" else 4][0])[0], 1)

    def test_names_that_networks_share(self):
        tensors = "(declare-input X Real [1,2])(declare-output Y Real [1,2])"
        query = self.write("q.vnnlib", f"(vnnlib-version <2.0>)(declare-network f {tensors})"
                           f"(declare-network g (equal-to f) {tensors}){BOX}{EQUAL}(assert (> f.Y[0,0] 1))")
        self.run_tool("verify", query, "--network", f"f={TINY}", "--serialise-assignments", "out")
        self.assertEqual(sorted(path.name for path in (self.work / "out").iterdir()),
                         ["f.X.pb", "f.Y.pb", "g.X.pb", "g.Y.pb"])

    def test_nothing_of_another_answer(self):
        self.run_tool("verify", TINY, PROPERTIES / "tiny_holds.vnnlib", "--serialise-assignments", "none")
        self.assertFalse((self.work / "none").exists())


class Near(Case):
    """Two networks of 20 inputs whose weights differ by little, and one of another structure."""

    INPUTS, HIDDEN = 20, 16

    def network(self, name, by=0.0, last="Relu"):
        rng, change = random.Random(11), random.Random(12)

        def weights(rows, columns):
            return [rng.randint(-8, 8) / 8 + by * change.choice((-1, 1)) for _ in range(rows * columns)]
        sizes = [self.INPUTS, self.HIDDEN, self.HIDDEN, 2]
        nodes, initializers, tensor_name = [], [], "x"
        for i, (columns, rows) in enumerate(zip(sizes, sizes[1:])):
            initializers.append(tensor(f"w{i}", (columns, rows), weights(columns, rows)))
            made = f"z{i}" if i < 2 else "y"
            nodes.append(node("MatMul", [tensor_name, f"w{i}"], made))
            if i < 2:
                tensor_name = f"a{i}"
                nodes.append(node(last, [made], tensor_name))
        return write_model(self.work / f"{name}.onnx",
                           model(name, nodes, initializers, (1, self.INPUTS), (1, 2)))

    def verdict(self, limit, second, *more, code):
        tensors = f"(declare-input X Real [1,{self.INPUTS}])(declare-output Y Real [1,2])"
        box = "".join(f"(assert (<= -1 f.X[0,{i}] 1))(assert (= f.X[0,{i}] g.X[0,{i}]))"
                      for i in range(self.INPUTS))
        apart = "".join(f"(>= (abs (- f.Y[0,{i}] g.Y[0,{i}])) {limit})" for i in (0, 1))
        query = self.write("near.vnnlib", f"(vnnlib-version <2.0>)(declare-network f {tensors})"
                                          f"(declare-network g {tensors}){box}(assert (or {apart}))")
        return self.run_json("verify", query, "--network", f"f={self.network('f')}", "--network",
                             f"g={second}", "--jit", "off", *more, code=code)

    def test_differences_are_bounded_as_such(self):
        near = self.network("near", 2.0**-12)
        found = self.verdict("0.5", near, code=0)
        self.assertEqual(found["verdict"], "verified")
        self.assertEqual((found["difference_boxes"], found["neuron_nodes"], found["boxes"]), (1, 0, 0))

    def test_witnesses_are_found(self):
        found = self.verdict("0.001", self.network("near", 2.0**-6), code=0)
        self.assertEqual(found["verdict"], "falsified")

    def test_what_has_no_differences(self):
        near = self.network("near", 2.0**-12)
        for second, more in ((self.network("other", last="LeakyRelu"), []), (near, ["--branch", "0"]),
                             (near, ["--semantics", "float32"])):
            found = self.verdict("0.5", second, "--timeout", "2", "--search", "0.1", *more, code=0)
            self.assertIn(found["verdict"], ("unknown", "timeout", "falsified"))
            self.assertEqual(found["difference_boxes"], 0)


if __name__ == "__main__":
    unittest.main()

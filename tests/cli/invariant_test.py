"""Tests of bf-aot invariant. Run as cli_test.py is."""

import math
import random
import sys
import unittest

sys.dont_write_bytecode = True
from harness import TINY, Case  # noqa: E402
from small_models import model, node, tensor, write_model  # noqa: E402


def steps_model(nodes, initializers, inputs, outputs):
    """A network of several tensors: name -> shape."""
    def value(kind, name, shape):
        dims = "".join(f" dim {{ dim_value: {d} }}" for d in shape)
        return f'{kind} {{ name: "{name}" type {{ tensor_type {{ elem_type: 1 shape {{{dims} }} }} }} }}'
    return "\n".join(["ir_version: 8", "opset_import { version: 13 }", 'graph { name: "step"', *nodes,
                      *initializers, *(value("input", *each) for each in inputs.items()),
                      *(value("output", *each) for each in outputs.items()), "}"])


class Invariant(Case):
    def linear(self, factor, size=1):
        """x' = factor x + u."""
        diagonal = [factor if i == k else 0 for i in range(size) for k in range(size)]
        nodes = [node("MatMul", ["x", "a"], "ax"), node("Add", ["ax", "u"], "next")]
        text = steps_model(nodes, [tensor("a", (size, size), diagonal)],
                           {"x": (1, size), "u": (1, size)}, {"next": (1, size)})
        return write_model(self.work / "linear.onnx", text)

    def box(self, lower, upper):
        return self.write("box.json", {"lower": lower, "upper": upper})

    def search(self, path, box, *more, state=("x:next",), code=0):
        states = [word for each in state for word in ("--state", each)]
        return self.run_json("invariant", path, *states, "--box", box, *more, code=code)

    def test_a_contraction(self):
        """|x| <= 2 |u| is the least box of x' = x / 2 + u."""
        found = self.search(self.linear(0.5), self.box([-0.1, -1], [0.1, 1]))
        self.assertTrue(found["found"])
        low, high = found["box"]["lower"][0], found["box"]["upper"][0]
        self.assertLessEqual(low, -2)
        self.assertGreaterEqual(high, 2)
        self.assertLess(high, 2.05)
        self.assertLessEqual(0.5 * high + 1, high)
        self.assertEqual(found["by"], "bounds")

    def test_what_grows(self):
        found = self.search(self.linear(1.5), self.box([-0.1, -1], [0.1, 1]), "--timeout", "5", code=4)
        self.assertFalse(found["found"])
        self.assertIsNone(found["by"])

    def test_what_is_not_bounded(self):
        nodes = [node("Reciprocal", ["x"], "r"), node("Add", ["r", "u"], "next")]
        text = steps_model(nodes, [], {"x": (1, 1), "u": (1, 1)}, {"next": (1, 1)})
        found = self.search(write_model(self.work / "pole.onnx", text), self.box([-1, -1], [1, 1]),
                            "--timeout", "3", code=4)
        self.assertFalse(found["found"])
        self.assertNotIn(None, found["box"]["lower"] + found["box"]["upper"])

    def test_where_steps_begin(self):
        found = self.search(self.linear(0.5), self.box([-7, -1], [3, 1]))
        self.assertEqual(found["box"]["lower"][0], -7)

    def recurrent(self):
        rng = random.Random(3)
        nodes = [node("MatMul", ["x", "w"], "wx"), node("MatMul", ["h", "r"], "rh"),
                 node("Add", ["wx", "rh"], "z"), node("Tanh", ["z"], "h_next"),
                 node("MatMul", ["h_next", "v"], "y")]
        initializers = [tensor("w", (2, 4), [rng.uniform(-1, 1) for _ in range(8)]),
                        tensor("r", (4, 4), [rng.uniform(-0.4, 0.4) for _ in range(16)]),
                        tensor("v", (4, 1), [rng.uniform(-1, 1) for _ in range(4)])]
        text = steps_model(nodes, initializers, {"x": (1, 2), "h": (1, 4)}, {"y": (1, 1), "h_next": (1, 4)})
        return write_model(self.work / "rnn.onnx", text), initializers

    def test_a_recurrent_network_and_its_obligation(self):
        path, _ = self.recurrent()
        box = self.box([-0.2] * 2 + [0] * 4, [0.2] * 2 + [0] * 4)
        found = self.search(path, box, "--obligation", "holds.vnnlib", state=("h:h_next",))
        self.assertTrue(all(-1 <= x <= 1 for x in found["box"]["lower"] + found["box"]["upper"]))
        output, _ = self.run_tool("verify", path, "holds.vnnlib")
        self.assertTrue(output.startswith("verified"), output)

    def gated(self, moved):
        """h' = (1 - z) n + z h or n + z (h - n), whose gates z are near 1: the exporters' forms of a GRU."""
        rng = random.Random(5)
        gates, fresh = ([rng.uniform(-1, 1) for _ in range(18)] for _ in range(2))
        nodes = [node("Concat", ["x", "h"], "xh", attributes='attribute { name: "axis" i: 1 type: INT }'),
                 node("MatMul", ["xh", "a"], "az"), node("Add", ["az", "three"], "zz"),
                 node("Sigmoid", ["zz"], "z"), node("MatMul", ["xh", "b"], "bn"), node("Tanh", ["bn"], "n")]
        if moved:
            nodes += [node("Sub", ["h", "n"], "d"), node("Mul", ["d", "z"], "p"), node("Add", ["p", "n"], "next")]
        else:
            nodes += [node("Sub", ["one", "z"], "rest"), node("Mul", ["rest", "n"], "p"),
                      node("Mul", ["z", "h"], "q"), node("Add", ["p", "q"], "next")]
        initializers = [tensor("a", (6, 3), gates), tensor("b", (6, 3), fresh), tensor("three", (1, 3), (3, 3, 3)),
                        tensor("one", (1, 3), (1, 1, 1))]
        text = steps_model(nodes, initializers, {"x": (1, 3), "h": (1, 3)}, {"next": (1, 3)})
        return write_model(self.work / "gated.onnx", text), gates, fresh

    def test_gates_mix_two_states(self):
        for moved in (False, True):
            path, gates, fresh = self.gated(moved)
            box = self.box([-1] * 3 + [0] * 3, [1] * 3 + [0] * 3)
            found = self.search(path, box, "--obligation", "mix.vnnlib", state=("h:next",))
            self.assertEqual(found["by"], "bounds")
            low, high = found["box"]["lower"][3:], found["box"]["upper"][3:]
            self.assertTrue(all(-1.5 < x < 1.5 for x in low + high))
            output, _ = self.run_tool("verify", path, "mix.vnnlib")
            self.assertTrue(output.startswith("verified"), output)
            rng = random.Random(6)
            h = [rng.uniform(a, b) for a, b in zip(low, high)]
            for _ in range(2000):
                xh = [rng.choice((-1, 1)) for _ in range(3)] + h
                z, n = ([sum(x * w[i * 3 + k] for i, x in enumerate(xh)) for k in range(3)]
                        for w in (gates, fresh))
                h = [math.tanh(b) + (c - math.tanh(b)) / (1 + math.exp(-3 - a)) for a, b, c in zip(z, n, h)]
                self.assertTrue(all(a - 1e-9 <= x <= b + 1e-9 for a, x, b in zip(low, h, high)))

    def test_a_closed_loop_needs_splits(self):
        """x' = x - tanh(2 x) / 4 + u: intervals alone never shrink."""
        nodes = [node("Mul", ["x", "two"], "s"), node("Tanh", ["s"], "t"), node("Mul", ["t", "k"], "c"),
                 node("Sub", ["x", "c"], "d"), node("Add", ["d", "u"], "next")]
        text = steps_model(nodes, [tensor("two", (1,), (2,)), tensor("k", (1,), (0.25,))],
                           {"x": (1, 1), "u": (1, 1)}, {"next": (1, 1)})
        path = write_model(self.work / "loop.onnx", text)
        found = self.search(path, self.box([-0.1, -0.1], [0.1, 0.1]), "--method", "ibp")
        high = found["box"]["upper"][0]
        self.assertLessEqual(high - math.tanh(2 * high) / 4 + 0.1, high + 1e-9)
        self.assertLess(high, 2)

    def test_parts_of_a_tensor(self):
        nodes = [node("MatMul", ["s", "a"], "next")]
        text = steps_model(nodes, [tensor("a", (3, 2), (0.5, 0, 0.25, 0.5, 1, 1))], {"s": (1, 3)},
                           {"next": (1, 2)})
        path = write_model(self.work / "parts.onnx", text)
        found = self.search(path, self.box([0, 0, -1], [0, 0, 1]), state=("s[0:2]:next",))
        self.assertEqual((found["box"]["lower"][2], found["box"]["upper"][2]), (-1, 1))
        x, y = found["box"]["upper"][:2]
        self.assertLessEqual(0.5 * x + 0.25 * y + 1, x)
        self.assertLessEqual(0.5 * y + 1, y)

    def test_text(self):
        output, _ = self.run_tool("invariant", self.linear(0.5), "--state", "x:next", "--box",
                                  self.box([-0.1, -1], [0.1, 1]))
        self.assertTrue(output.startswith("invariant: no step leaves this box of states"), output)

    def test_refusals(self):
        path, box = self.linear(0.5), self.box([-0.1, -1], [0.1, 1])
        for state in ("x:x", "y:next", "next", "x[0:2]:next"):
            self.assert_refused("BF3417", "invariant", path, "--state", state, "--box", box)
        self.assert_refused("BF3417", "invariant", path, "--state", "x:next", "--state", "x:next",
                            "--box", box, says=["in two of them"])
        pair = self.linear(0.5, 2)
        four = self.box([0] * 4, [1] * 4)
        self.assert_refused("BF3417", "invariant", pair, "--state", "x[0:1]:next", "--box", four)
        _, errors = self.run_tool("invariant", path, "--state", "x:next", code=2)
        self.assertIn("--box is required", errors)
        self.run_tool("invariant", TINY, "--box", box, code=2)


class LongShortTermMemory(Case):
    """One step of an LSTM, h and c its state: as the node of ONNX, and as PyTorch's exporter writes an LSTMCell."""

    INPUTS, HIDDEN = 3, 4

    def numbers(self, seed, forget):
        """W [4 H, I], R [4 H, H], B [8 H] with the gates in ONNX's order: input, output, forget, cell."""
        rng = random.Random(seed)
        h = self.HIDDEN
        w = [[rng.uniform(-0.5, 0.5) for _ in range(self.INPUTS)] for _ in range(4 * h)]
        r = [[rng.uniform(-0.3, 0.3) for _ in range(h)] for _ in range(4 * h)]
        b = [rng.uniform(-0.5, 0.5) for _ in range(8 * h)]
        b[2 * h:3 * h] = [forget] * h
        b[6 * h:7 * h] = [0] * h
        return w, r, b

    def as_node(self, w, r, b):
        h, i = self.HIDDEN, self.INPUTS
        nodes = [node("LSTM", ["x", "W", "R", "B", "", "h", "c"], 'Y" output: "h1" output: "c1', "lstm",
                      f'attribute {{ name: "hidden_size" i: {h} type: INT }}')]
        initializers = [tensor("W", (1, 4 * h, i), sum(w, [])), tensor("R", (1, 4 * h, h), sum(r, [])),
                        tensor("B", (1, 8 * h), b)]
        text = steps_model(nodes, initializers, {"x": (1, 1, i), "h": (1, 1, h), "c": (1, 1, h)},
                           {"h1": (1, 1, h), "c1": (1, 1, h)})
        return write_model(self.work / "lstm.onnx", text)

    def as_cell(self, w, r, b):
        h, i = self.HIDDEN, self.INPUTS
        order = [k for gate in (0, 2, 3, 1) for k in range(gate * h, (gate + 1) * h)]  # input, forget, cell, output
        transposed = 'attribute { name: "transB" i: 1 type: INT }'
        nodes = [node("Gemm", ["x", "W", "bW"], "gx", attributes=transposed),
                 node("Gemm", ["h", "R", "bR"], "gh", attributes=transposed), node("Add", ["gx", "gh"], "g"),
                 node("Split", ["g", "parts"], 'zi" output: "zf" output: "zg" output: "zo',
                      attributes='attribute { name: "axis" i: 1 type: INT }'),
                 *(node("Tanh" if each == "g" else "Sigmoid", ["z" + each], each + "_") for each in "ifgo"),
                 node("Mul", ["f_", "c"], "kept"), node("Mul", ["i_", "g_"], "new"),
                 node("Add", ["kept", "new"], "c1"), node("Tanh", ["c1"], "tc"), node("Mul", ["o_", "tc"], "h1")]
        parts = f'initializer {{ dims: 4 data_type: 7 name: "parts" int64_data: [{h}, {h}, {h}, {h}] }}'
        initializers = [tensor("W", (4 * h, i), sum((w[k] for k in order), [])),
                        tensor("R", (4 * h, h), sum((r[k] for k in order), [])),
                        tensor("bW", (4 * h,), [b[k] for k in order]),
                        tensor("bR", (4 * h,), [b[4 * h + k] for k in order]), parts]
        text = steps_model(nodes, initializers, {"x": (1, i), "h": (1, h), "c": (1, h)},
                           {"h1": (1, h), "c1": (1, h)})
        return write_model(self.work / "cell.onnx", text)

    def step(self, numbers, x, h, c):
        w, r, b = numbers
        z = [sum(a * k for a, k in zip(w[n], x)) + sum(a * k for a, k in zip(r[n], h)) + b[n] + b[n + len(w)]
             for n in range(len(w))]
        size = self.HIDDEN
        i, o, f = ([1 / (1 + math.exp(-v)) for v in z[gate * size:(gate + 1) * size]] for gate in range(3))
        c = [f[n] * c[n] + i[n] * math.tanh(z[3 * size + n]) for n in range(size)]
        return [o[n] * math.tanh(c[n]) for n in range(size)], c

    def check(self, make, seed, forget):
        numbers = self.numbers(seed, forget)
        path = make(*numbers)
        i, h = self.INPUTS, self.HIDDEN
        box = self.write("first.json", {"lower": [-1] * i + [0] * 2 * h, "upper": [1] * i + [0] * 2 * h})
        found = self.run_json("invariant", path, "--state", "h:h1", "--state", "c:c1", "--box", box, "--obligation",
                              "stays.vnnlib")
        self.assertTrue(found["found"])
        low, high = found["box"]["lower"][i:], found["box"]["upper"][i:]
        self.assertTrue(all(-1 <= x <= 1 for x in low[:h] + high[:h]), (low, high))
        output, _ = self.run_tool("verify", path, "stays.vnnlib")
        self.assertTrue(output.startswith("verified"), output)
        rng = random.Random(seed + 1)
        for _ in range(1000):
            state = [rng.choice((a, b, rng.uniform(a, b))) for a, b in zip(low, high)]
            hidden, cell = state[:h], state[h:]
            held = [rng.choice((-1, 1)) for _ in range(i)]
            for step in range(12):
                x = held if step % 2 else [rng.uniform(-1, 1) for _ in range(i)]
                hidden, cell = self.step(numbers, x, hidden, cell)
                inside = (a - 1e-9 <= v <= b + 1e-9 for a, v, b in zip(low, hidden + cell, high))
                self.assertTrue(all(inside), (low, hidden + cell, high))
        return low, high

    def test_the_node_of_onnx(self):
        for seed, forget in ((1, 0), (2, 1), (3, -1)):
            with self.subTest(seed=seed):
                self.check(self.as_node, seed, forget)

    def test_a_cell_that_forgets_slowly(self):
        """Its forget gate may be 0.99: the state has a box that is far wider than those that are reached."""
        low, high = self.check(self.as_cell, 7, 4)
        self.assertGreater(max(map(abs, low + high)), 20)

    def test_the_cell_of_an_exporter(self):
        for seed, forget in ((1, 0), (2, 1), (3, -1)):
            with self.subTest(seed=seed):
                self.check(self.as_cell, seed, forget)


if __name__ == "__main__":
    unittest.main()

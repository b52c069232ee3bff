"""Networks that read token ids: sets of ids that may stand at a position."""

import itertools
import random
import sys
import unittest
from fractions import Fraction

from harness import Case
from small_models import ints, model, node, tensor, write_model

TABLE, WIDTH, HIDDEN, POSITIONS = 7, 3, 4, 3


def numbers(rng, count):
    """Dyadic numbers: decimals and float32 numbers alike."""
    return [rng.randint(-16, 16) / 8 for _ in range(count)]


class Classifier:
    """Rows of a table by ids, a layer with ReLU on each, their sum, two scores."""

    def __init__(self, seed):
        rng = random.Random(seed)
        self.table, self.w = numbers(rng, TABLE * WIDTH), numbers(rng, WIDTH * HIDDEN)
        self.b, self.v = numbers(rng, HIDDEN), numbers(rng, HIDDEN * 2)

    def text(self):
        one = 'initializer { dims: 1 data_type: 7 name: "one" int64_data: 1 }'
        nodes = [node("Gather", ["table", "x"], "rows", "embedding"),
                 node("MatMul", ["rows", "w"], "wx"), node("Add", ["wx", "b"], "z"),
                 node("Relu", ["z"], "h"),
                 node("ReduceSum", ["h", "one"], "sum",
                      attributes='attribute { name: "keepdims" type: INT i: 0 }'),
                 node("MatMul", ["sum", "v"], "y")]
        text = model("text", nodes,
                     [tensor("table", [TABLE, WIDTH], self.table), tensor("w", [WIDTH, HIDDEN], self.w),
                      tensor("b", [HIDDEN], self.b), tensor("v", [HIDDEN, 2], self.v), one],
                     [1, POSITIONS], [1, 2])
        return text.replace("elem_type: 1", "elem_type: 7", 1)

    def scores(self, ids):
        """The exact scores."""
        hidden = [Fraction(0)] * HIDDEN
        for token in ids:
            row = [Fraction(x) for x in self.table[token * WIDTH:(token + 1) * WIDTH]]
            for j in range(HIDDEN):
                z = Fraction(self.b[j]) + sum(row[i] * Fraction(self.w[i * HIDDEN + j])
                                              for i in range(WIDTH))
                hidden[j] += max(z, Fraction(0))
        return [sum(hidden[j] * Fraction(self.v[2 * j + c]) for j in range(HIDDEN)) for c in (0, 1)]


def claim(worst, positions=POSITIONS):
    """Violated where y_0 - y_1 <= worst."""
    return ("".join(f"(declare-const X_{i} Real)" for i in range(positions)) +
            "(declare-const Y_0 Real)(declare-const Y_1 Real)" +
            "".join(f"(assert (>= X_{i} 0))(assert (<= X_{i} {TABLE - 1}))" for i in range(positions)) +
            f"(assert (<= (- Y_0 Y_1) {worst}))")


class Tokens(Case):
    def network(self, seed=1):
        self.classifier = Classifier(seed)
        return write_model(self.work / "text.onnx", self.classifier.text())

    def sets(self, sets, name="sets.json"):
        return self.write(name, {"tokens": {"x": sets}})

    def test_bounds_hold_and_verdicts_are_those_of_all_texts(self):
        rng = random.Random(7)
        verdicts = []
        for seed in range(8):
            network = self.network(seed)
            sets = [rng.sample(range(TABLE), rng.randint(1, 3)) for _ in range(POSITIONS)]
            tokens = self.sets(sets)
            scores = {ids: self.classifier.scores(ids) for ids in itertools.product(*sets)}
            for method in ("crown-ibp", "crown", "alpha-crown"):
                found = self.run_json("run", network, "--tokens", tokens, "--method", method)["outputs"]
                for each in scores.values():
                    for c in (0, 1):
                        self.assertLessEqual(Fraction(found["lower"][c]), each[c])
                        self.assertGreaterEqual(Fraction(found["upper"][c]), each[c])
            differences = {ids: y[0] - y[1] for ids, y in scores.items()}
            least = min(differences.values())
            # The least difference itself, which a violation reaches, and a little less.
            for worst, verdict in ((Fraction(round(least * 6), 6), None),
                                   (least - Fraction(1, 1 << 40), "verified"), (least, "falsified")):
                if verdict is None:
                    verdict = "falsified" if least <= worst else "verified"
                text = f"(/ {worst.numerator}.0 {worst.denominator}.0)"
                found = self.run_json("verify", network, self.write("claim.vnnlib", claim(text)),
                                      "--tokens", tokens, code=0 if verdict == "verified" else 3)
                self.assertEqual(found["verdict"], verdict, (seed, sets, worst))
                verdicts.append(verdict)
                if verdict == "falsified":
                    ids = tuple(int(each) for each in found["counterexample"]["x"])
                    self.assertLessEqual(differences[ids], worst)
        self.assertEqual(set(verdicts), {"verified", "falsified"})

    def test_conditions_on_ids(self):
        """A text beside the conditions on ids is no violation, whatever is between it and one that meets them."""
        verdicts = []
        for seed in range(12):
            rng = random.Random(seed)
            network = self.network(seed)
            sets = [rng.sample(range(TABLE), 3) for _ in range(POSITIONS)]
            sums = rng.randint(6, 14)
            scores = {ids: self.classifier.scores(ids) for ids in itertools.product(*sets)}
            allowed = [y[0] - y[1] for ids, y in scores.items() if sum(ids) >= sums]
            least = min((y[0] - y[1] for y in scores.values()))
            worst = min(allowed) if allowed and seed % 3 == 0 else least
            text = f"(/ {worst.numerator}.0 {worst.denominator}.0)"
            text = claim(text) + f"(assert (>= (+ X_0 X_1 X_2) {sums}))"
            expected = "falsified" if allowed and min(allowed) <= worst else "verified"
            found = self.run_json("verify", network, self.write("claim.vnnlib", text), "--tokens",
                                  self.sets(sets), code=0 if expected == "verified" else 3)
            self.assertEqual(found["verdict"], expected, (seed, sets, sums))
            verdicts.append(expected)
            if expected == "falsified":
                ids = tuple(int(each) for each in found["counterexample"]["x"])
                self.assertGreaterEqual(sum(ids), sums)
                self.assertLessEqual(scores[ids][0] - scores[ids][1], worst)
        self.assertEqual(set(verdicts), {"verified", "falsified"})

    def test_one_layer_has_its_range(self):
        """The least over the ids of each position, which no box of embeddings has."""
        table = tensor("table", [3, 2], [1, -1, -1, 1, 0, 0])
        nodes = [node("Gather", ["table", "x"], "rows"), node("Flatten", ["rows"], "flat"),
                 node("MatMul", ["flat", "w"], "y")]
        text = model("text", nodes, [table, tensor("w", [4, 1], [1, 1, 1, 1])], [1, 2], [1, 1])
        network = write_model(self.work / "line.onnx", text.replace("elem_type: 1", "elem_type: 7", 1))
        found = self.run_json("run", network, "--tokens", self.sets([[0, 1, 2], [0, 1]]))["outputs"]
        self.assertEqual([abs(float(found[end][0])) < 1e-5 for end in ("lower", "upper")], [True, True])
        box = self.write("box.json", {"lower": [-1] * 4, "upper": [1] * 4})
        hull = self.run_json("run", network, "--input-tensor", "rows", "--shape", "rows=1,2,2",
                             "--box", box)["outputs"]
        self.assertLess(float(hull["lower"][0]), -3.9)

    def test_some_of_the_ids(self):
        network = self.network()
        tokens = self.sets([[0, 1, 2], [3, 4, 5, 6], [1]])
        box = self.write("box.json", {"ids": [[2, 0], 4, [1]]})
        found = self.run_json("run", network, "--tokens", tokens, "--box", box)["outputs"]
        exact = [self.classifier.scores(ids) for ids in ((2, 4, 1), (0, 4, 1))]
        alone = self.run_json("run", network, "--tokens", self.sets([[0, 2], [4], [1]], "few.json"))["outputs"]
        for c in (0, 1):
            self.assertLessEqual(Fraction(found["lower"][c]), min(y[c] for y in exact))
            self.assertGreaterEqual(Fraction(found["upper"][c]), max(y[c] for y in exact))
            self.assertAlmostEqual(float(found["lower"][c]), float(alone["lower"][c]), delta=1e-4)
        for wrong, message in (({"ids": [[2], [4]]}, "ids of 2 positions, but the network reads 3"),
                               ({"ids": [[5], [4], [1]]}, "id 5 at position 0 is none that"),
                               ({"ids": [[], [4], [1]]}, "the set of ids is empty"),
                               ({"ids": [[2, 2], [4], [1]]}, "id 2 stands twice in the set"),
                               ({"ids": [[2.5], [4], [1]]}, "2.5 is no token id")):
            _, errors = self.run_tool("run", network, "--tokens", tokens, "--box",
                                      self.write("bad.json", wrong), code=1)
            self.assertIn(message, errors)
        _, errors = self.run_tool("run", network, "--input-tensor", "rows", "--shape", "rows=1,3,3",
                                  "--box", box, code=1)
        self.assertIn("ids are given, but the network reads no token ids that vary", errors)

    def test_inputs_that_are_fixed(self):
        """A mask is a constant, and a length that the file leaves open follows from the ids."""
        text = model("masked", [node("Gather", ["table", "x"], "rows"),
                                node("Cast", ["mask"], "m", attributes='attribute { name: "to" type: INT i: 1 }'),
                                node("Unsqueeze", ["m", "last"], "column"),
                                node("Mul", ["rows", "column"], "kept"),
                                node("ReduceMean", ["kept"], "y", attributes=ints("axes", [1]))],
                     [tensor("table", [3, 1], [1, 2, 4]),
                      'initializer { dims: 1 data_type: 7 name: "last" int64_data: 2 }'], [1, 7], [1, 1, 1])
        x = text[text.index('input { name: "x"'):text.index('output { name: "y"')]
        mask = x.replace('"x"', '"mask"')
        text = text.replace(x, x + mask).replace("elem_type: 1", "elem_type: 7", 2).replace(
            "dim_value: 7", 'dim_param: "length"')
        network = write_model(self.work / "masked.onnx", text)
        tokens = self.write("tokens.json", {"tokens": {"x": [[0, 2], [1], [2, 1]], "mask": [1, 1, 0]}})
        found = self.run_json("run", network, "--tokens", tokens)["outputs"]
        self.assertAlmostEqual(float(found["lower"][0]), 1, delta=1e-5)
        self.assertAlmostEqual(float(found["upper"][0]), 2, delta=1e-5)
        _, errors = self.run_tool("run", network, "--tokens", self.sets([[0, 2], [1], [2, 1]]), code=1)
        self.assertIn("BF1029", errors)
        everything = self.write("all.json", {"tokens": {"x": [0, 1, 2], "mask": [1, 1, 0]}})
        found = self.run_json("run", network, "--tokens", everything)["outputs"]
        self.assertAlmostEqual(float(found["lower"][0]), 1, delta=1e-5)
        self.assertAlmostEqual(float(found["upper"][0]), 1, delta=1e-5)

    def test_diagnostics(self):
        network = self.network()
        _, errors = self.run_tool("run", network, "--centre", "0", "--eps", "1", code=1)
        self.assertIn('--tokens FILE with {"tokens": {"x": [[3], [5, 8]]}}', errors)
        for sets, code, message in (([[0], [1]], "BF1029", "ids of 2 positions are given"),
                                    ([[0], [7], [1]], "BF1014", "index 7 is out of range"),
                                    ([[0], [], [1]], "BF3021", "the set of ids is empty"),
                                    ([[0], ["a"], [1]], "BF3004", "")):
            _, errors = self.run_tool("run", network, "--tokens", self.sets(sets), code=1)
            self.assertIn(code, errors)
            self.assertIn(message, errors)
        _, errors = self.run_tool("run", network, "--tokens",
                                  self.write("bad.json", {"tokens": {"z": [[0]]}}), code=1)
        self.assertIn("the model has no such input", errors)
        self.assertIn("its inputs are x", errors)
        real = write_model(self.work / "real.onnx",
                           model("real", [node("Relu", ["x"], "y")], [], [1, 3], [1, 3]))
        _, errors = self.run_tool("run", real, "--tokens", self.sets([[0], [1], [2]]), code=1)
        self.assertIn("its elements are float, no token ids", errors)
        tokens = self.sets([[0, 1], [1], [1]])
        for command in (["run", network, "--method", "ibp"], ["run", network, "--norm", "l2"]):
            _, errors = self.run_tool(*command, "--tokens", tokens, code=1)
            self.assertIn("BF2117", errors)
        _, errors = self.run_tool("verify", network, self.write("c.vnnlib", claim("0", 2)), "--tokens",
                                  tokens, code=1)
        self.assertIn("BF3408", errors)
        square = claim("0").replace("(- Y_0 Y_1)", "(* Y_0 Y_0)")
        _, errors = self.run_tool("verify", network, self.write("c.vnnlib", square), "--tokens", tokens, code=1)
        self.assertIn("BF3414", errors)


if __name__ == "__main__":
    sys.exit(unittest.main())

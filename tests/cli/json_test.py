"""What --json prints, against docs/reference/json-schema.json. Run as cli_test.py is."""

import json
import random
import sys
import unittest

sys.dont_write_bytecode = True
from harness import CONTROLLER, MODELS, SOURCE, TINY, Case  # noqa: E402
from schema import Schema  # noqa: E402
from small_models import model, node, tensor, write_model  # noqa: E402

PROPERTIES = MODELS / "properties"
HOLDS = PROPERTIES / "tiny_holds.vnnlib"
VIOLATED = PROPERTIES / "tiny_violated.vnnlib"
# A thousand boxes verify it.
WIDE = "".join(f"(declare-const {name} Real)" for name in [f"X_{i}" for i in range(5)] + [f"Y_{i}" for i in range(5)]) + (
    "".join(f"(assert (<= -0.1 X_{i} 0.1))" for i in range(5)) + "(assert (>= (- Y_0 Y_1) 1))")
SCHEMA = Schema(SOURCE / "docs/reference/json-schema.json")
# (0.3, 0.1) alone violates it, which is no double: no bounds exclude it.
SLOW = """(declare-const X_0 Real)(declare-const X_1 Real)(declare-const Y_0 Real)(declare-const Y_1 Real)
(assert (>= X_0 -1))(assert (<= X_0 1))(assert (>= X_1 -1))(assert (<= X_1 1))
(assert (= Y_0 (- 0.85)))(assert (= Y_1 (- 0.6875)))
"""


class JsonCase(Case):
    def expect(self, name, *arguments, code=0):
        output, _ = self.run_tool(*arguments, "--json", code=code)
        value = json.loads(output)
        self.assertEqual(SCHEMA.problems(value, name), [])
        return value

    def box(self):
        return self.write("box.json", {"lower": [-1, -1], "upper": [1, 1]})


class Json(JsonCase):
    def test_the_schema_can_fail(self):
        self.assertNotEqual(SCHEMA.problems({}, "run"), [])
        self.assertNotEqual(SCHEMA.problems({"errors": []}, "errors"), [])
        self.assertNotEqual(SCHEMA.problems({"ok": 1, "findings": []}, "doctor"), [])
        self.assertNotEqual(SCHEMA.problems({"ok": True, "findings": [], "more": 1}, "doctor"), [])
        self.assertNotEqual(SCHEMA.problems("0.1e5", "exact"), [])

    def vectors(self, *more):
        self.run_tool(CONTROLLER, "--project", "demo", "--no-library", *more)
        golden = json.loads((self.work / "demo" / "golden.json").read_text())
        self.assertEqual(SCHEMA.problems(golden, "golden"), [])
        return golden["vectors"]

    def outside(self, vectors, method):
        """How many ends of another run's bounds lie outside of their windows."""
        count = 0
        for vector in vectors:
            box = {end: [float.fromhex(x) for x in vector[end]] for end in ("lower", "upper")}
            bounds = self.run_json("run", CONTROLLER, "--box", self.write("box.json", box), "--semantics", "float32",
                                   "--method", method)["outputs"]
            for end in ("lower", "upper"):
                window = vector["out_" + end]
                for least, value, most in zip(window["least"], bounds[end], window["most"]):
                    count += not float.fromhex(least) <= value <= float.fromhex(most)
        return count

    def test_golden_vectors(self):
        """Bounds by the same method lie in the windows of golden.json, much wider ones do not."""
        self.assertNotEqual(SCHEMA.problems({"format": 1}, "golden"), [])
        vectors = self.vectors()
        self.assertEqual(len(vectors), 10)
        self.assertEqual(self.outside(vectors, "crown"), 0)
        self.assertGreater(self.outside(vectors[-1:], "ibp"), 0)
        self.assertEqual(self.outside(self.vectors("--property", PROPERTIES / "collision_avoidance_6x50.vnnlib"), "ibp"),
                         0)

    def test_token_ids(self):
        text = MODELS / "examples" / "text"
        tokens = json.loads((text / "sentence.json").read_text(encoding="utf-8"))
        self.assertEqual(SCHEMA.problems(tokens, "tokens"), [])
        self.assertEqual(SCHEMA.problems({"ids": [1, [4, 5]]}, "ids"), [])
        for wrong in ([], [[]], "3", {"tokens": {"ids": [[]]}}, {"tokens": {"ids": [0.5]}}):
            self.assertNotEqual(SCHEMA.problems(wrong, "tokens"), [], wrong)
        arguments = ["--tokens", text / "sentence.json"]
        self.expect("run", "run", text / "classifier.onnx", *arguments)
        found = self.expect("verify", "verify", text / "classifier.onnx", text / "good.vnnlib",
                            *arguments)
        self.assertEqual(found["verdict"], "verified")

    def test_verify(self):
        self.assertEqual(self.expect("verify", "verify", TINY, HOLDS)["verdict"], "verified")
        found = self.expect("verify", "verify", TINY, VIOLATED, code=3)
        self.assertEqual(found["verdict"], "falsified")
        for semantics in ("float32", "float32-exact"):
            self.expect("verify", "verify", TINY, VIOLATED, "--semantics", semantics, code=3)
        self.expect("verify", "verify", TINY, self.write("p.vnnlib", SLOW), "--search", "0.1",
                    "--branch", "0.2", code=4)

    def test_what_held_out(self):
        """By boxes, by neurons, and where nothing is split."""
        wide = self.write("wide.vnnlib", WIDE)
        for seconds in ("1e-4", "1e-3", "0.01", "0.1"):  # the first in which the machine does anything
            found = self.expect("verify", "verify", CONTROLLER, wide, "--search", "0", "--branch", seconds,
                                code=None)["unknown"]
            if found is None or found["searches"][0]["nodes"] > 0:
                break
        self.assertEqual((found["by"], found["case"]), ("boxes", 0))
        self.assertEqual(len(found["box"]["lower"]), 5)
        self.assertTrue(all(low <= high for low, high in zip(found["box"]["lower"], found["box"]["upper"])))
        self.assertGreater(found["lacks"], 0)
        boxes = found["searches"][0]
        self.assertEqual((boxes["search"], boxes["rule"], boxes["why"]), ("boxes", "lines", "at most 16 inputs vary"))
        self.assertGreater(boxes["nodes"], 0)
        self.assertGreater(boxes["open"], 0)
        self.assertTrue(0 <= boxes["proven"] < 1)
        slow = self.write("p.vnnlib", SLOW)
        stuck = self.expect("verify", "verify", TINY, slow, "--search", "0.1", "--branch", "0.2", code=4)["unknown"]
        self.assertGreater(stuck["searches"][0]["stuck"], 0)
        whole = self.expect("verify", "verify", CONTROLLER, wide, "--search", "0", "--branch", "0", code=4)["unknown"]
        self.assertEqual((whole["by"], whole["splits"], whole["searches"]), ("bounds", 0, []))
        self.assertNotIn("box", whole)
        self.assertGreater(whole["neuron"]["loss"], 0)
        self.assertLess(whole["neuron"]["lower"], 0)
        self.assertGreater(whole["neuron"]["upper"], 0)
        self.assertIsNone(self.expect("verify", "verify", TINY, HOLDS)["unknown"])

    def test_which_neurons_held_out(self):
        rng = random.Random(3)
        numbers = lambda count: [rng.gauss(0, 1) for _ in range(count)]
        layers = [node("MatMul", ["x", "w"], "a"), node("Add", ["a", "b"], "z"), node("Relu", ["z"], "h"),
                  node("MatMul", ["h", "v"], "c"), node("Relu", ["c"], "g"), node("MatMul", ["g", "u"], "y")]
        network = write_model(self.work / "relus.onnx", model(
            "relus", layers, [tensor("w", [20, 40], numbers(800)), tensor("b", [40], numbers(40)),
                              tensor("v", [40, 30], numbers(1200)), tensor("u", [30, 1], numbers(30))],
            [1, 20], [1, 1]))
        claim = "(declare-const Y_0 Real)" + "".join(
            f"(declare-const X_{i} Real)(assert (<= -1 X_{i} 1))" for i in range(20)) + "(assert (>= Y_0 250))"
        found = self.expect("verify", "verify", network, self.write("q.vnnlib", claim), "--search", "0.1", "--branch",
                            "0.5", code=4)["unknown"]
        self.assertEqual((found["by"], len(found["sides"])), ("neurons", found["splits"]))
        self.assertGreater(found["splits"], 0)
        for side in found["sides"]:
            self.assertLess(side["index"], 40)
            self.assertEqual(side["point"], 0)
        self.assertEqual(found["searches"][0]["rule"], "gain")
        self.assertEqual(found["searches"][0]["why"], "more than 16 inputs vary")
        self.assertGreater(found["lacks"], 0)
        self.assertNotIn((found["neuron"]["layer"], found["neuron"]["index"]),
                         [(side["layer"], side["index"]) for side in found["sides"]])

    def test_a_timeout_has_the_same_object(self):
        usual = self.expect("verify", "verify", TINY, HOLDS)
        for limit in (1, 4, 16):  # it may be over before anything is split where the machine is slow
            found = self.expect("verify", "verify", TINY, self.write("p.vnnlib", SLOW), "--timeout",
                                limit, code=5)
            self.assertEqual(list(found), list(usual))
            if found["branch_seconds"] + found["neuron_seconds"] > 0:
                break
        self.assertEqual((found["verdict"], found["property"], found["cases"]),
                         ("timeout", "p.vnnlib", 1))
        self.assertIn("crown", found["methods"])
        self.assertGreater(found["boxes"] + found["neuron_nodes"], 0)
        # The decision has stopped by itself: a program that is ended by its watchdog knows no seconds.
        self.assertGreater(found["branch_seconds"] + found["neuron_seconds"], 0)
        self.assertTrue(limit / 2 < found["seconds"] < limit + 5, found["seconds"])
        self.assertIsNone(found["counterexample"])

    def test_instances_and_parts(self):
        (self.work / "p.vnnlib").write_text(SLOW)
        self.write("instances.csv", f"onnx,vnnlib,timeout\n{TINY},{HOLDS},60\n")
        found = self.expect("verify_instances", "verify", "--instances", "instances.csv",
                            "--results", "results.csv")
        self.assertEqual((found["unsat"], found["error"]), (1, 0))
        for part in ("0", "1"):
            self.expect("verify_part", "verify", TINY, HOLDS, "--part", part + "/2", "--save-part",
                        f"part-{part}.json", "--branch", "5", code=None)
        self.expect("merge", "merge", "part-0.json", "part-1.json", code=None)
        self.run_tool("verify", TINY, VIOLATED, "--part", "0/1", "--save-part", "all.json", code=3)
        found = self.expect("merge", "merge", "all.json", "--counterexample", "found.txt", code=3)
        text = (self.work / "found.txt").read_text()
        for i, x in enumerate(found["counterexample"]["x"]):
            self.assertIn(f"(X_{i} {x})", text)

    def test_measure(self):
        self.expect("measure", "verify", TINY, VIOLATED, "--measure", "0.1", code=None)

    def test_run_and_check(self):
        self.expect("run", "run", TINY, "--box", self.box())
        self.write("c.json", {"C": [[1, -1]]})
        self.expect("run", "run", TINY, "--box", self.box(), "--spec", "c.json", "--lowering",
                    "reference")
        found = self.expect("run", "run", CONTROLLER, "--centre", "0", "--eps", "0.1", "--method",
                            "alpha-crown", "--timeout", "1e-6")
        self.assertEqual(found["instead_of"], "alpha-crown")
        self.assertNotEqual(found["because"], "")
        self.expect("check", "check", TINY, "--golden", MODELS / "golden/tiny.json", "--samples", "9")

    def test_certify_and_doctor(self):
        self.write("x.csv", "a,b,label\n0.1,0.2,0\n0.3,0.4,1\n")
        self.expect("certify", "certify", TINY, "--data", "x.csv", "--eps", "8/255,0.1")
        self.expect("certify", "certify", TINY, "--data", "x.csv", "--eps", "0.1", "--norm", "L2")
        self.expect("certify", "certify", TINY, "--data", "x.csv", "--eps", "0.1", "--complete",
                    "--checkpoint", "c.json")
        self.expect("merge_certify", "merge", "c.json")
        digits = MODELS / "examples/robustness"
        self.expect("certify", "certify", digits / "digits_cnn.onnx", "--data", digits / "digits_test.npz",
                    "--count", "2", "--disturbance", "rotation=-1..1")
        asked = ("--data", digits / "digits_test.npz", "--scale", "16", "--disturbance", "fog=0..0.5")
        self.write("rows.json", {"C": [[1, -1] + [0] * 8]})
        self.expect("run_disturbed", "run", digits / "digits_cnn.onnx", *asked, "--parts", "4", "--spec", "rows.json")
        names = "".join(f"(declare-const X_{i} Real)(assert (<= X_{i} 2))(assert (>= X_{i} -1))" for i in range(64))
        for limit, code in ((-100, 3), (100, 0)):
            self.write("d.vnnlib", names + "".join(f"(declare-const Y_{i} Real)" for i in range(10))
                       + f"(assert (>= Y_0 {limit}))")
            self.expect("verify", "verify", digits / "digits_cnn.onnx", "d.vnnlib", *asked, code=code)
        self.expect("doctor", "doctor", code=None)

    def test_compare(self):
        self.expect("compare", "compare", TINY, TINY, "--box", self.box(), "--within", "0.1", "--classes")
        other = MODELS / "tiny_linear.onnx"
        self.expect("compare", "compare", other, other, "--centre", "0", "--eps", "1")

    def test_invariant(self):
        tanks = MODELS / "examples" / "invariant"
        self.expect("invariant", "invariant", tanks / "tanks.onnx", "--state", "levels:next_levels", "--box",
                    tanks / "first.json")

    def test_bench(self):
        self.expect("bench", "bench", TINY, "--box", self.box(), "--lowering", "generic",
                    "--compare", "reference", "--seconds", "0.01", "--repeats", "3")

    def test_errors(self):
        none = self.work / "none.onnx"
        box = self.box()
        for code, command in (("BF1001", ("run", none, "--box", box)),
                              ("BF1001", ("verify", none, HOLDS)),
                              ("BF3401", ("verify", TINY, "none.vnnlib")),
                              ("BF3001", ("certify", TINY, "--data", "none.csv", "--eps", "1")),
                              ("BF3001", ("check", TINY, "--golden", "none.json")),
                              ("BF3001", ("merge", "none.json")),
                              ("BF1001", ("bench", none, "--box", box)),
                              ("BF3015", ("verify", "--instances", self.write("i.csv", "a\n"),
                                          "--results", "r.csv"))):
            found = self.expect("errors", *command, code=1)["errors"]
            self.assertEqual(found[0]["code"], code)
            self.assertNotEqual(found[0]["message"], "")
        found = self.expect("errors", "run", none, "--box", box, code=1)["errors"]
        self.assertIn("none.onnx", found[0]["place"])

    def test_wrong_usage(self):
        for command in (("verify", TINY), ("run", TINY), ("run", TINY, "--bix", "b.json"),
                        ("certify", TINY, "--data", "x.csv", "--eps", "1", "--first", "-1"),
                        ("doctor", "--target", "moon"), ("merge",), ("check", TINY), ("bench",)):
            found = self.expect("errors", *command, code=2)["errors"]
            self.assertEqual([each["code"] for each in found], ["BF3300"])
        _, errors = self.run_tool("certify", TINY, "--first", "-1", "--json", code=2)
        self.assertIn("--first", errors)

    def test_every_problem_of_a_model(self):
        # Text on standard error stays as it is without --json.
        _, plain = self.run_tool("run", self.work / "none.onnx", "--box", self.box(), code=1)
        _, both = self.run_tool("run", self.work / "none.onnx", "--box", self.box(), "--json", code=1)
        self.assertEqual(plain, both)


class Verbose(JsonCase):
    def test_steps_and_their_times(self):
        _, errors = self.run_tool("verify", TINY, HOLDS, "--verbose")
        for step in ("read the property", "plan crown", "bound: "):
            self.assertRegex(errors, step + r".* +\d+\.\d\d s\n")
        output, errors = self.run_tool("verify", TINY, self.write("p.vnnlib", SLOW), "--verbose",
                                  "--search", "0.3", "--branch", "0.3", code=4)
        for step in ("search: ", "split boxes: "):
            self.assertRegex(errors, step + r".* +\d+\.\d\d s\n")
        self.assertRegex(output, r"chosen   boxes by lines: at most 16 inputs vary; \d+ nodes, \d+ open, \d+ that ")
        self.assertRegex(output, r"open     case 0, clause 0, after \d+ splits of ")
        self.write("x.csv", "a,b,label\n0.1,0.2,0\n0.3,0.4,1\n")
        _, errors = self.run_tool("certify", TINY, "--data", "x.csv", "--eps", "0.1", "--verbose")
        self.assertRegex(errors, r"2 done +\d+\.\d\d s\n")
        _, errors = self.run_tool("run", CONTROLLER, "--centre", "0", "--eps", "0.1", "--verbose")
        self.assertRegex(errors, r"plan +\d+\.\d\d s\n")
        for quiet in ((), ("--quiet",)):
            _, errors = self.run_tool("verify", TINY, HOLDS, *quiet)
            self.assertEqual(errors, "")


if __name__ == "__main__":
    unittest.main()

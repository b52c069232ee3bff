"""Tests of bf-aot verify and supports. Run as cli_test.py is."""

import gzip
import json
import re
import signal
import subprocess
import sys
import time
import unittest

sys.dont_write_bytecode = True
from harness import CONTROLLER, MODELS, SOURCE, TINY, Case  # noqa: E402
from small_models import model, node, tensor, write_model  # noqa: E402

PROPERTIES = MODELS / "properties"
HOLDS = PROPERTIES / "tiny_holds.vnnlib"
VIOLATED = PROPERTIES / "tiny_violated.vnnlib"
QUERY = PROPERTIES / "tiny_query.vnnlib"
DECLARATIONS = "".join(f"(declare-const {name}_{i} Real)" for name in "XY" for i in (0, 1))
BOX = "".join(f"(assert (>= X_{i} -1))(assert (<= X_{i} 1))" for i in (0, 1))


def tiny_outputs(x0, x1):
    h0, h1 = max(0, x0 - 2 * x1), max(0, 0.5 * x0 + 3 * x1 + 1)
    return h0 - h1 + 0.5, -0.5 * h0 + 0.25 * h1 - 1


class PropertyCase(Case):
    def property(self, asserts, box=BOX):
        return self.write("p.vnnlib", DECLARATIONS + box + asserts)

    def verdict(self, asserts, *more, code, box=BOX):
        return self.run_json("verify", TINY, self.property(asserts, box), *more, code=code)

    def assert_violates(self, x, y):
        """x is in the box, the network maps it to y, exactly, and y_0 >= 3.25."""
        x, y = list(map(float, x)), list(map(float, y))
        self.assertLessEqual(max(map(abs, x)), 1)
        self.assertEqual(y, list(tiny_outputs(*x)))
        self.assertGreaterEqual(y[0], 3.25)


class Verify(PropertyCase):
    def test_verified(self):
        output, errors = self.run_tool("verify", TINY, HOLDS)
        self.assertEqual(errors, "")
        self.assertTrue(output.startswith("verified\n"))
        self.assertIn("1 of 1 verified", output)

    def test_falsified(self):
        output, _ = self.run_tool("verify", TINY, VIOLATED, code=3)
        self.assertTrue(output.startswith("falsified\n"))
        numbers = dict(re.findall(r"([XY]_\d) +(\S+)", output))
        outputs = tiny_outputs(float(numbers["X_0"]), float(numbers["X_1"]))
        self.assertGreaterEqual(outputs[0], 3.25)
        for i, value in enumerate(outputs):
            self.assertAlmostEqual(float(numbers[f"Y_{i}"]), value)
        self.assertIn("proven in", output)

    def test_unknown(self):
        # Two equations: no float meets them by chance, and bounds of a box do not exclude them.
        equations = "(assert (= Y_0 (* 3 Y_1)))(assert (= Y_1 (- 1.2345)))"
        found = self.verdict(equations, "--search", "0.2", "--branch", "0", code=4)
        self.assertEqual(found["verdict"], "unknown")
        self.assertIsNone(found["counterexample"])
        self.assertEqual(self.verdict(equations, "--search", "0.2", code=0)["verdict"], "verified")

    def test_every_method_agrees(self):
        for method in ("auto", "ibp", "crown-ibp", "crown", "alpha-crown"):
            found = self.run_json("verify", TINY, HOLDS, "--method", method)
            self.assertEqual(found["verdict"], "verified")
            self.assertEqual(found["methods"], ["crown" if method == "auto" else method])

    def test_json(self):
        found = self.run_json("verify", TINY, VIOLATED, code=3)
        self.assertEqual(list(found), ["model", "property", "semantics", "verdict", "methods", "cases",
                                       "verified_cases", "boxes", "points", "branch_seconds", "neuron_nodes",
                                       "neuron_seconds", "neuron_nodes_on_device",
                                       "difference_boxes", "difference_seconds",
                                       "decide_seconds", "counterexample", "unknown", "seconds",
                                       "compile_seconds"])
        self.assert_violates(found["counterexample"]["x"], found["counterexample"]["y"])

    def test_strictness_is_exact(self):
        # The maximum of output 0 on the box is 3.5, at the corner (1, -1).
        self.assertEqual(self.verdict("(assert (>= Y_0 3.5))", code=3)["verdict"], "falsified")
        self.assertEqual(self.verdict("(assert (> Y_0 3.5))", code=0)["verdict"], "verified")
        point = "(assert (<= 1 X_0 1))(assert (<= -1 X_1 -1))"
        self.assertEqual(self.verdict("(assert (> Y_0 3.5))", code=0, box=point)["cases"], 1)
        self.assertEqual(self.verdict("(assert (>= Y_0 3.5))", code=3, box=point)["cases"], 1)

    def test_decimal_points_are_kept(self):
        # 0.1 is no float32 and no double: the counterexample is the decimal itself.
        point = "(assert (<= 0.1 X_0 0.1))(assert (<= -0.3 X_1 -0.3))"
        found = self.verdict("(assert (>= Y_0 1))", code=3, box=point)
        self.assertEqual(found["counterexample"]["x"], ["0.1", "-0.3"])

    def test_float32_semantics(self):
        """Verdicts are about every evaluation in float32, witnesses points of float32 numbers."""
        float32 = ("--semantics", "float32", "--search", "0.2")
        found = self.verdict("(assert (>= Y_0 3.25))", *float32, code=3)
        self.assert_violates(found["counterexample"]["x"], found["counterexample"]["y"])
        self.verdict("(assert (>= Y_0 3.51))", *float32, code=0)
        # Only the corner (1, -1) violates it, where no evaluation rounds anything.
        self.verdict("(assert (>= Y_0 3.5))", *float32, code=3)
        # The corner (1, 3 2^-24 - 1) reaches the limit 3.5 - 3 2^-23, which evaluations round down.
        box = BOX.replace("(>= X_1 -1)", "(>= X_1 -0.999999821186065673828125)")
        self.assertNotEqual(box, BOX)
        self.verdict("(assert (>= Y_0 3.49999964237213134765625))", code=3, box=box)
        self.verdict("(assert (>= Y_0 3.49999964237213134765625))", *float32, code=4, box=box)
        # No float32 point is in the box, but every real evaluation there violates the property.
        point = "(assert (<= 0.1 X_0 0.1))(assert (<= -0.3 X_1 -0.3))"
        self.verdict("(assert (>= Y_0 1))", *float32, code=4, box=point)

    def test_verdicts_for_the_emitted_order(self):
        exact = ("--semantics", "float32-exact", "--search", "0.2")
        found = self.verdict("(assert (>= Y_0 3.25))", *exact, code=3)
        self.assertEqual(found["semantics"], "float32-exact")
        self.assertEqual(found["counterexample"]["proof"], "evaluation in the emitted order")
        x = [float(value) for value in found["counterexample"]["x"]]
        y = found["counterexample"]["y"]
        self.assertGreaterEqual(y[0], 3.25)
        for value, near in zip(y, tiny_outputs(*x)):
            self.assertAlmostEqual(value, near, delta=1e-6)
        self.verdict("(assert (>= Y_0 3.51))", *exact, code=0)
        # Sums of these numbers do not round.
        self.verdict("(assert (>= Y_0 3.5))", *exact, code=3)
        output, _ = self.run_tool("verify", TINY, VIOLATED, "--semantics", "float32-exact", code=3)
        self.assertIn("violated for the emitted order", output)

    def test_constraints_between_inputs(self):
        # On x0 + x1 <= -1.5 output 0 is below 3, which the regions of a small network show.
        found = self.verdict("(assert (<= (+ X_0 X_1) 0.25))(assert (>= Y_0 3))", code=3)
        x = [float(value) for value in found["counterexample"]["x"]]
        self.assertLessEqual(sum(x), 0.25)
        self.assertGreaterEqual(tiny_outputs(*x)[0], 3)
        found = self.verdict("(assert (<= (+ X_0 X_1) -1.5))(assert (>= Y_0 3))", code=0)
        self.assertEqual(found["verdict"], "verified")
        found = self.verdict("(assert (<= Y_0 (- X_0 7)))", code=0)
        self.assertEqual(found["verdict"], "verified")

    def test_nothing_to_violate(self):
        found = self.verdict("(assert (>= X_0 2))(assert (<= Y_0 0))", code=0)
        self.assertEqual((found["verdict"], found["cases"]), ("verified", 0))
        self.assertEqual(found["methods"], [])

    def test_inputs_alone(self):
        self.assertEqual(self.verdict("(assert (<= X_0 0.5))", code=3)["verdict"], "falsified")

    def test_many_cases_use_intervals_first(self):
        parts = "".join(f"(and (>= X_0 {i / 100}) (<= X_0 {(i + 1) / 100}) (>= Y_0 4))"
                        for i in range(50))
        box = "(assert (>= X_1 -1))(assert (<= X_1 1))"
        found = self.verdict(f"(assert (or {parts}))", code=0, box=box)
        self.assertEqual((found["cases"], found["verified_cases"]), (50, 50))
        self.assertEqual(found["methods"][0], "ibp")

    def test_controller(self):
        found = self.run_json("verify", CONTROLLER,
                              PROPERTIES / "collision_avoidance_6x50.vnnlib")
        self.assertEqual(found["verdict"], "verified")

    def test_competition_words(self):
        output, _ = self.run_tool("verify", TINY, HOLDS, "--vnncomp")
        self.assertEqual(output, "unsat\n")
        violated = ["verify", TINY, VIOLATED, "--vnncomp", "--counterexample", "ce"]
        output, _ = self.run_tool(*violated, "--branch", "0")
        self.assertEqual(output, "sat\n((X_0 1)\n(X_1 -1)\n(Y_0 3.5)\n(Y_1 -2.5))\n")
        self.assertEqual("sat\n" + (self.work / "ce").read_text(), output)
        output, _ = self.run_tool(*violated)
        point = re.fullmatch(r"sat\n\(\(X_0 (\S+)\)\n\(X_1 (\S+)\)\n"
                             r"\(Y_0 (\S+)\)\n\(Y_1 (\S+)\)\)\n", output)
        self.assert_violates(point.group(1, 2), point.group(3, 4))
        self.assertEqual("sat\n" + (self.work / "ce").read_text(), output)

    def test_compressed_property(self):
        path = self.work / "p.vnnlib.gz"
        path.write_bytes(gzip.compress(HOLDS.read_bytes()))
        self.assertEqual(self.run_json("verify", TINY, path)["verdict"], "verified")

    def test_second_run_compiles_nothing(self):
        self.run_tool("verify", TINY, HOLDS, "--lowering", "vector")
        self.environment["CXX"] = "/bin/false"
        self.run_tool("verify", TINY, HOLDS, "--lowering", "vector", code=1)  # another compiler: not the same verifier
        del self.environment["CXX"]
        before = sorted(self.cache.rglob("*"))
        self.run_tool("verify", TINY, HOLDS, "--lowering", "vector")
        self.assertEqual(before, sorted(self.cache.rglob("*")))

    def test_refusals(self):
        self.assert_refused("BF3401", "verify", TINY, "missing.vnnlib")
        (self.folder / "packed.vnnlib.gz").write_bytes(gzip.compress(b"(check-sat)"))
        self.assert_refused("BF3401", "verify", TINY, self.folder / "packed.vnnlib",
                            says=("no such file, but one with .gz is there",))
        self.assert_refused("BF3403", "verify", HOLDS, TINY, says=("give the model first, then the property",))
        self.assert_refused("BF3408", "verify", CONTROLLER, HOLDS)
        self.assert_refused("BF3403", "verify", TINY, self.property("(assert (= Y_0))"),
                            says=("p.vnnlib:1:",))
        self.assert_refused("BF1001", "verify", "missing.onnx", HOLDS)

    def test_usage(self):
        for arguments in (("verify",), ("verify", TINY), ("verify", TINY, HOLDS, "--method", "x"),
                          ("verify", TINY, HOLDS, "--timeout", "-1"),
                          ("verify", TINY, HOLDS, "--network", "f=x"),
                          ("verify", QUERY, "--network", "=x")):
            self.run_tool(*arguments, code=2)


# The sum of tiny's hidden neurons is -6.5 - 3 Y_0 - 8 Y_1. It is 0 on a part of the box, and at least
# 2/3 where X_0 >= 0; bounds on one box do not show that.
SUM = "(+ (* 3 Y_0) (* 8 Y_1))"
RIGHT = "(assert (<= 0 X_0 1))(assert (<= -1 X_1 1))"


class Branch(PropertyCase):
    def write_property(self, limit, box):
        return self.property(f"(assert (>= {SUM} {limit}))", box)

    def decide(self, limit, *more, code, box=BOX):
        return self.run_json("verify", TINY, self.write_property(limit, box), "--search", "0",
                             *more, code=code)

    def assert_not_split(self, found):
        self.assertEqual(found["verdict"], "unknown")
        self.assertEqual((found["boxes"], found["points"], found["branch_seconds"]), (0, 0, 0))

    def test_verifies(self):
        self.assert_not_split(self.decide("-7", "--branch", "0", "--method", "crown", code=4,
                                         box=RIGHT))
        found = self.decide("-7", code=0, box=RIGHT)
        self.assertEqual((found["verdict"], found["verified_cases"]), ("verified", 1))
        self.assertGreaterEqual(found["boxes"], 1)  # whose regions may decide it at once
        self.assertGreater(found["branch_seconds"], 0)
        self.assertIsNone(found["counterexample"])

    def test_optimised_slopes_come_where_boxes_are_not_split(self):
        found = self.decide("-7", "--branch", "0", code=0, box=RIGHT)
        self.assertEqual((found["verdict"], found["boxes"]), ("verified", 0))
        self.assertEqual(found["methods"], ["crown", "alpha-crown"])

    def test_falsifies(self):
        self.assert_not_split(self.decide("-6.501", "--branch", "0", code=4))
        found = self.decide("-6.501", code=3)
        self.assertEqual((found["verdict"], found["verified_cases"]), ("falsified", 0))
        self.assertGreater(found["points"], 0)
        x = [float(value) for value in found["counterexample"]["x"]]
        self.assertLessEqual(max(map(abs, x)), 1)
        outputs = tiny_outputs(*x)
        self.assertGreaterEqual(3 * outputs[0] + 8 * outputs[1], -6.501)

    def test_violations_between_a_limit_and_the_float_below_it_are_not_clipped(self):
        # Y_0 = 1 + X_0 / 1024, Y_1 = X_0. The limit of Y_0 is above 1 and below the next float, so
        # violations are 8.5e-5 <= X_0 <= 9.155e-5; Y_0 <= 1 has none where X_0 >= 7e-5.
        network = model("limits", [node("Gemm", ["x", "w", "b"], "z", "fc1"),
                                   node("Relu", ["z"], "h", "relu"),
                                   node("Gemm", ["h", "v", "c"], "y", "fc2")],
                        [tensor("w", [1, 1], [1]), tensor("b", [1], [0]),
                         tensor("v", [1, 2], [1 / 1024, 1]), tensor("c", [2], [1, 0])],
                        [1, 1], [1, 2])
        path = write_model(self.work / "limits.onnx", network)
        question = self.write(
            "limits.vnnlib", "(declare-const X_0 Real)(declare-const Y_0 Real)"
            "(declare-const Y_1 Real)(assert (<= 0.00007 X_0 1))"
            "(assert (<= Y_0 1.00000008940696716))(assert (>= Y_1 0.000085))")
        found = self.run_json("verify", path, question, "--jit", "off", code=None)
        self.assertEqual(found["verdict"], "falsified")

    def test_every_method(self):
        for method in ("ibp", "crown-ibp", "alpha-crown", "forward"):
            found = self.decide("-7", "--method", method, code=0, box=RIGHT)
            self.assertEqual((found["verdict"], found["methods"]), ("verified", [method]))

    def test_ends_in_time(self):
        # No float violates it, and no box around the corner is ever excluded: rational bounds, which
        # meet the limit, are of real arithmetic alone.
        found = self.verdict("(assert (< Y_0 -4))", "--search", "0", "--branch", "0.2",
                             "--semantics", "float32", code=4)
        self.assertEqual(found["verdict"], "unknown")
        self.assertGreater(found["boxes"], 1)

    def test_plain(self):
        options = ("--search", "0", "--branch")
        path = self.write_property("-7", RIGHT)
        output, _ = self.run_tool("verify", TINY, path, *options, "5")
        self.assertRegex(output, r"(?m)^split    [0-9]+ boxes and [0-9]+ points in ")
        self.assertTrue(output.startswith("verified\n"))
        output, _ = self.run_tool("verify", TINY, path, *options, "0", "--method", "crown", code=4)
        self.assertNotIn("split", output)
        self.assertTrue(output.startswith("unknown\n"))
        output, _ = self.run_tool("verify", TINY, path, *options, "5", "--vnncomp")
        self.assertEqual(output, "unsat\n")

    def test_many_inputs_are_not_split(self):
        names = "".join(f"(declare-const X_{i} Real)(assert (<= 0 X_{i} 1))" for i in range(64))
        names += "".join(f"(declare-const Y_{i} Real)" for i in range(10))
        path = self.write("p.vnnlib", names + "(assert (>= (+ Y_0 Y_1) (+ Y_2 Y_3)))"
                          "(assert (<= (+ Y_0 Y_1) (+ Y_2 Y_3)))")
        found = self.run_json("verify", MODELS / "digits_64x2.onnx", path, "--search", "0",
                              "--method", "ibp", code=4)
        self.assert_not_split(found)

    def few_vary(self, limit, *more, code):
        """Of 64 inputs 4 vary; the others are 3/10, which is no float."""
        names = "".join(f"(declare-const X_{i} Real)" for i in range(64))
        names += "".join(f"(declare-const Y_{i} Real)" for i in range(10))
        box = "".join("(assert (<= {1} X_{0} {2}))".format(
            i, *((0, 1) if i % 16 == 5 else (0.3, 0.3))) for i in range(64))
        path = self.write("p.vnnlib", names + box + f"(assert (>= (- Y_0 Y_1) {limit}))")
        return self.run_json("verify", MODELS / "digits_64x2.onnx", path, "--search", "0",
                             "--jit", "off", *more, code=code)

    def test_fixed_inputs_are_not_counted(self):
        found = self.few_vary(-2.5, code=0)
        self.assertEqual((found["verdict"], found["neuron_nodes"]), ("verified", 0))
        self.assertGreater(found["boxes"], 10)
        # The order of float32 operations is that of all inputs.
        for semantics in ("float32", "float32-exact"):
            found = self.few_vary(-2.25, "--semantics", semantics, code=0)
            self.assertEqual((found["verdict"], found["neuron_nodes"]), ("verified", 0))
        for options in (("--branch", "0"), ("--method", "ibp", "--branch", "0.2")):
            self.assertIn(self.few_vary(-2.5, *options, code=None)["verdict"],
                          ("verified", "unknown"))

    def test_fixed_inputs_stay_in_what_is_open(self):
        runs = (self.few_vary(-2.61, "--method", "ibp", "--branch", seconds, code=None) for seconds in ("0.05", "0.005"))
        found = next(run for run in runs if run["verdict"] == "unknown")  # it takes a second of this machine
        low, high = found["unknown"]["box"]["lower"], found["unknown"]["box"]["upper"]
        self.assertEqual((len(low), len(high)), (64, 64))
        for i, (least, most) in enumerate(zip(low, high)):
            within = 0 <= least < most <= 1 if i % 16 == 5 else least <= 0.3 <= most and most - least < 1e-7
            self.assertTrue(within, i)

    def test_fixed_inputs_stay_in_counterexamples(self):
        for options in ((), ("--checkpoint", self.work / "tree.json"),
                        ("--checkpoint", self.work / "tree.json")):
            x = self.few_vary(-20, *options, code=3)["counterexample"]["x"]
            self.assertEqual(len(x), 64)
            self.assertEqual({x[i] for i in range(64) if i % 16 != 5}, {"0.3"})

    def test_usage(self):
        self.run_tool("verify", TINY, HOLDS, "--branch", "-1", code=2)
        self.run_tool("verify", TINY, HOLDS, "--branch", "x", code=2)


class Timeout(Case):
    def test_words(self):
        compiler = self.write("compiler", "#!/bin/sh\ncase $1 in --version) echo slow;; "
                                          "*) sleep 60;; esac\n")
        compiler.chmod(0o755)
        self.environment["CXX"] = str(compiler)
        for options, code, word in (((), 5, "timeout\n"), (("--vnncomp",), 0, "timeout\n"),
                                    (("--json",), 5, None)):
            start = time.monotonic()
            output, _ = self.run_tool("verify", TINY, HOLDS, "--lowering", "vector", "--timeout", "1",
                                      *options, code=code)
            self.assertLess(time.monotonic() - start, 50)
            if word is not None:
                self.assertEqual(output, word)
            else:
                self.assertEqual(json.loads(output)["verdict"], "timeout")
        self.assertEqual([path.name for path in self.cache.rglob(".*")], [], "staging is removed")

    def test_interrupt(self):
        compiler = self.write("compiler", "#!/bin/sh\ncase $1 in --version) echo slow;; "
                                          "*) sleep 60;; esac\n")
        compiler.chmod(0o755)
        self.environment["CXX"] = str(compiler)
        process = self.start("verify", TINY, HOLDS, "--lowering", "vector")
        self.wait_for(lambda: list(self.cache.rglob(".*")), process)
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=50)
        self.assertEqual((process.returncode, output), (130, ""))
        self.assertEqual([path.name for path in self.cache.rglob(".*")], [], "staging is removed")

    def test_in_time(self):
        self.run_tool("verify", TINY, HOLDS, "--timeout", "200")


class Query(PropertyCase):
    def test_standard_words(self):
        query = ["verify", QUERY, "--network", f"tiny={TINY}"]
        output, _ = self.run_tool(*query, "--branch", "0")
        self.assertEqual(output, "sat\nx Real [1,2]\n1\n-1\ny Real [1,2]\n3.5\n-2.5\n")
        output, _ = self.run_tool(*query)
        words = output.split("\n")
        self.assertEqual(words[:2] + words[4:5] + words[7:],
                         ["sat", "x Real [1,2]", "y Real [1,2]", ""])
        self.assert_violates(words[2:4], words[5:7])

    def test_unsat(self):
        query = self.write("q.vnnlib", QUERY.read_text().replace("3.25", "4"))
        output, _ = self.run_tool("verify", query, "--network", f"tiny={TINY}")
        self.assertEqual(output, "unsat\n")

    def test_refusals(self):
        self.assert_refused("BF3413", "verify", QUERY, "--network", f"other={TINY}")
        self.assert_refused("BF3413", "verify", HOLDS, "--network", f"tiny={TINY}")
        self.assert_refused("BF3413", "verify", QUERY, "--network", f"tiny={TINY}", "--network",
                            f"g={TINY}")
        query = self.write("q.vnnlib", QUERY.read_text().replace("Real", "float16"))
        self.assert_refused("BF3409", "verify", query, "--network", f"tiny={TINY}")
        query = self.write("q.vnnlib", QUERY.read_text().replace("Real", "float32", 1))
        self.assert_refused("BF3409", "verify", query, "--network", f"tiny={TINY}")

    def test_float32(self):
        """A query about float32 is decided for every evaluation in float32."""
        text = QUERY.read_text().replace("Real", "float32")
        rounded = text.replace("-1", "-0.999999821186065673828125")  # see test_float32_semantics
        self.assertNotEqual(rounded, text)
        for limit, words in (("3.25", "sat"), ("3.51", "unsat"), ("3.5", "sat"),
                             ("3.49999964237213134765625", "unknown")):
            query = self.write(
                "q.vnnlib", (rounded if words == "unknown" else text).replace("3.25", limit))
            output, _ = self.run_tool("verify", query, "--network", f"tiny={TINY}", "--search", "0.2")
            self.assertEqual(output.split("\n")[0], words)
            if words == "sat":
                self.assertIn("x float32 [1,2]", output)


class Supports(Case):
    def answer(self, option):
        return self.run_tool("supports", option)[0].splitlines()

    def test_entry_of_the_solver_database(self):
        """The database asks for these files, and these answers in these words."""
        script = SOURCE / "bench" / "vnnlib" / "entry.sh"
        said = subprocess.run([script, self.work, "https://example.org/bf-aot"], check=True, capture_output=True,
                              text=True).stdout.strip()
        version = self.run_tool("--version")[0].splitlines()[0]
        entry = self.work / "solvers" / "bf-aot" / version
        self.assertEqual(said, str(entry))
        install = entry / "install.sh"
        self.assertTrue(install.read_text().startswith("#!/usr/bin/env bash\n") and install.stat().st_mode & 0o111)
        self.assertIn(f"pip install 'bf-aot=={version}'", install.read_text())
        self.assertIn('url     = "https://example.org/bf-aot"\n', (entry / "solver.toml").read_text())
        for option, words in (("hidden-node", {"NH", "H"}), ("multiple-input-output", {"SIO", "MIO"}),
                              ("multiple-network", {"SNET", "MENET", "MINET", "MNET"}),
                              ("multiple-node-comparison", {"SNC", "MNC"}),
                              ("arithmetic-complexity", {"BND", "OUTC", "LIN", "POLY"})):
            said = self.answer(f"--{option}-theories")
            self.assertTrue(said and set(said) <= words, option)
        for option in ("--optimised-disjunctive-reasoning", "--serialise-assignments"):
            self.assertIn(self.answer(option), (["true"], ["false"]))

    def test_answers(self):
        self.assertEqual(self.answer("--onnx-element-types"), ["real", "float32"])
        self.assertEqual(self.answer("--vnnlib-versions"), ["1.0", "2.0"])
        self.assertEqual(self.answer("--multiple-network-theories"), ["MNET"])
        self.assertEqual(self.answer("--arithmetic-complexity-theories"), ["POLY"])
        self.assertEqual(self.answer("--hidden-node-theories"), ["NH", "H"])
        self.assertEqual(self.answer("--multiple-input-output-theories"), ["SIO", "MIO"])
        self.assertEqual(self.answer("--serialise-assignments"), ["true"])
        self.assertEqual(self.answer("--unsat-proofs"), ["false"])
        oldest, newest = map(int, self.answer("--onnx-opset-versions"))
        self.assertLess(oldest, newest)
        operators = self.answer("--onnx-operators")
        self.assertEqual(operators, sorted(operators))
        self.assertLessEqual({"Gemm", "MatMul", "Relu", "Reshape"}, set(operators))

    def test_usage(self):
        self.run_tool("supports", code=2)
        self.run_tool("supports", "--hidden-node-theories", "--unsat-proofs", code=2)
        self.run_tool("supports", "--magic", code=2)


if __name__ == "__main__":
    unittest.main()

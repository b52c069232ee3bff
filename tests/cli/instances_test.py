"""Tests of bf-aot verify --instances. Run as cli_test.py is."""

import os
import signal
import subprocess
import sys
import time
import unittest
import xml.etree.ElementTree

sys.dont_write_bytecode = True
from harness import BF_AOT, MODELS, SOURCE, TINY, Case  # noqa: E402

PROPERTIES = MODELS / "properties"
# Two equations: no float meets them by chance, and bounds of the box do not exclude them.
SLOW = """(declare-const X_0 Real)(declare-const X_1 Real)(declare-const Y_0 Real)(declare-const Y_1 Real)
(assert (>= X_0 -1))(assert (<= X_0 1))(assert (>= X_1 -1))(assert (<= X_1 1))
(assert (= Y_0 (* 3 Y_1)))(assert (= Y_1 (- 1.2345)))
"""


class Instances(Case):
    def setUp(self):
        super().setUp()
        (self.work / "set").mkdir()
        os.symlink(TINY, self.work / "set" / "tiny.onnx")
        for name in ("holds", "violated"):
            os.symlink(PROPERTIES / f"tiny_{name}.vnnlib", self.work / "set" / f"{name}.vnnlib")

    def instances(self, *lines):
        self.write("set/instances.csv", "".join(f"{line}\n" for line in lines))
        return ("verify", "--instances", "set/instances.csv", "--results", "results.csv")

    def rows(self, name="results.csv"):
        return [line.split(",") for line in (self.work / name).read_text().splitlines()]

    def answers(self):
        return {row[2]: row[4] for row in self.rows()}

    def test_answers(self):
        command = self.instances("tiny.onnx,holds.vnnlib,60", "tiny.onnx,violated.vnnlib,60")
        found = self.run_json(*command, "--jobs", "2", "--counterexamples", "found", "--junit",
                              "j.xml")
        self.assertEqual((found["unsat"], found["sat"], found["error"]), (1, 1, 0))
        self.assertEqual(self.answers(), {"holds.vnnlib": "unsat", "violated.vnnlib": "sat"})
        for row in self.rows():
            self.assertEqual((len(row), row[0], row[1]), (6, "set", "tiny.onnx"))
        self.assertEqual(self.names(self.work / "found"), ["tiny_violated.counterexample"])
        text = (self.work / "found" / "tiny_violated.counterexample").read_text()
        self.assertRegex(text, r"^\(\(X_0 [^)]+\)\n\(X_1 [^)]+\)\n\(Y_0 [^)]+\)\n\(Y_1 [^)]+\)\)\n$")
        suite = xml.etree.ElementTree.parse(self.work / "j.xml").getroot()
        self.assertEqual((suite.get("tests"), suite.get("errors")), ("2", "0"))

    def test_a_first_line_of_names(self):
        for names in ("onnx,vnnlib,timeout", "Model,Property,Timeout_s"):
            command = self.instances(names, "tiny.onnx,holds.vnnlib,60")
            found = self.run_json(*command, "--index", "0")
            self.assertEqual((found["unsat"], found["error"]), (1, 0))
            (self.work / "results.csv").unlink()
        # Lines that are none are instances, whose problem is named with their line.
        self.assert_refused("BF3015", *self.instances("onnx,vnnlib,timeout", "a.onnx,b.vnnlib,x"),
                            says=("instances.csv:2",))
        self.assert_refused("BF3015", *self.instances("onnx,vnnlib,timeout"))

    def test_goes_on(self):
        command = self.instances("tiny.onnx,holds.vnnlib,60", "tiny.onnx,violated.vnnlib,60")
        self.run_json(*command, "--index", "1")
        self.assertEqual(self.answers(), {"violated.vnnlib": "sat"})
        with open(self.work / "results.csv", "a") as file:
            file.write("set,tiny.onnx,hol")  # a process that was ended while it wrote
        found = self.run_json(*command)
        self.assertEqual((found["earlier"], found["unsat"], found["sat"]), (1, 1, 1))
        self.assertEqual(len(self.rows()), 2)
        again = self.run_json(*command)
        self.assertEqual((again["earlier"], len(self.rows())), (2, 2))

    def test_errors_are_rows(self):
        self.write("set/bad.vnnlib", "(assert")
        command = self.instances("tiny.onnx,bad.vnnlib,60", "none.onnx,holds.vnnlib,60",
                                 "tiny.onnx,holds.vnnlib,60")
        output, errors = self.run_tool(*command, code=1)
        self.assertIn("error    2", output)
        self.assertIn("bad.vnnlib: ", errors)
        self.assertIn("BF1001", errors)
        self.assertEqual(sorted(row[4] for row in self.rows()), ["error", "error", "unsat"])

    def test_time_ends(self):
        self.write("set/slow.vnnlib", SLOW)
        command = self.instances("tiny.onnx,slow.vnnlib,0.3")
        before = time.monotonic()
        found = self.run_json(*command, "--branch", "0")
        self.assertLess(time.monotonic() - before, 30)
        self.assertEqual((found["timeout"], found["unknown"]), (1, 0))

    def test_interrupted(self):
        self.write("set/slow.vnnlib", SLOW)
        command = self.instances("tiny.onnx,holds.vnnlib,60", "tiny.onnx,slow.vnnlib,600")
        process = self.start(*command, "--branch", "0", "--jobs", "2")
        deadline = time.monotonic() + 250
        while not (self.work / "results.csv").exists():
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.02)
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=100)
        self.assertEqual(process.returncode, 128 + signal.SIGTERM)
        self.assertEqual(self.answers(), {"holds.vnnlib": "unsat"})

    def test_semantics(self):
        """The largest output is reached at a corner; where it is no float32, evaluations round it down."""
        box = SLOW.split("(assert (=")[0]
        rounded = box.replace("X_1 -1", "X_1 -0.999999821186065673828125")
        for semantics, lines, limit, answer in (
                ("real", box, "3.5", "sat"), ("float32", box, "3.5", "sat"),
                ("float32-exact", box, "3.5", "sat"),
                ("float32", rounded, "3.49999964237213134765625", "timeout")):
            self.write("set/most.vnnlib", f"{lines}(assert (>= Y_0 {limit}))\n")
            command = self.instances("tiny.onnx,most.vnnlib,1")
            (self.work / "results.csv").unlink(missing_ok=True)
            self.run_json(*command, "--semantics", semantics, "--branch", "0")
            self.assertEqual(self.answers(), {"most.vnnlib": answer}, semantics)
        self.assert_refused("BF3315", *self.instances("tiny.onnx,most.vnnlib,1"),
                            "--flush-to-zero")

    def test_no_option_is_left_out(self):
        command = self.instances("tiny.onnx,holds.vnnlib,60")
        for option in (["--profile", "x"], ["--cxx", "c++"], ["--lowering", "vector"], ["--checkpoint", "t"],
                       ["--counterexample", "x"], ["--vnncomp"]):
            _, errors = self.run_tool(*command, *option, code=2)
            self.assertIn(f"{option[0]} does not go with --instances", errors)
        self.assertFalse((self.work / "results.csv").exists())

    def test_options_that_go_with_it(self):
        """Those that verify has for one question, too."""
        command = self.instances("tiny.onnx,holds.vnnlib,60")
        options = ("--method", "alpha-crown", "--alpha", "all", "--iterations", "3", "--jit", "off", "--row-tile", "8",
                   "--search", "0.5")
        self.assertEqual(self.run_json(*command, *options)["unsat"], 1)
        self.write("options.json", '{"method": "crown", "row-tile": 8, "disable-pass": ["fold-scale", "exact-centres"]}')
        for more in (["--libm-ulps", "8", "--semantics", "float32"], ["--granularity", "step"], ["--config", "options.json"]):
            (self.work / "results.csv").unlink()
            self.assertEqual(self.run_json(*command, *more)["unsat"], 1, more)

    def test_paths_with_commas(self):
        os.symlink(PROPERTIES / "tiny_holds.vnnlib", self.work / "set" / "a, b.vnnlib")
        command = self.instances('tiny.onnx,"a, b.vnnlib",60')
        self.assertEqual(self.run_json(*command)["unsat"], 1)
        self.assertIn('"a, b.vnnlib"', (self.work / "results.csv").read_text())
        self.assertEqual(self.run_json(*command)["earlier"], 1)

    def test_bad_files(self):
        self.assert_refused("BF3001", "verify", "--instances", "none.csv", "--results", "r.csv")
        for lines in (["tiny.onnx"], ["a,b,c,d"], ["tiny.onnx,holds.vnnlib,0"],
                      ["tiny.onnx,holds.vnnlib,x"], ["tiny.onnx,,5"]):
            self.assert_refused("BF3015", *self.instances(*lines))
        self.assert_refused("BF3013", *self.instances("tiny.onnx,holds.vnnlib"))
        self.assert_refused("BF3009", *self.instances("tiny.onnx,holds.vnnlib,5"), "--index", "1")
        command = self.instances("tiny.onnx,holds.vnnlib,5")
        self.write("results.csv", "what,is,this\n")
        self.assert_refused("BF3015", *command)
        self.run_tool("verify", TINY, "--instances", "set/instances.csv", "--results", "r", code=2)

    def test_scripts_of_the_competition(self):
        scripts = SOURCE / "bench" / "vnncomp"
        environment = dict(self.environment, BF_AOT=BF_AOT)
        for name, word in (("holds", "unsat"), ("violated", "sat")):
            result = self.work / name
            subprocess.run([scripts / "run_instance.sh", "v1", "set", TINY,
                            self.work / "set" / f"{name}.vnnlib", result, "60"], check=True,
                           env=environment)
            self.assertEqual(result.read_text().splitlines()[0], word)
        bad = self.write("bad.vnnlib", "(assert")
        result = self.work / "bad"
        subprocess.run([scripts / "run_instance.sh", "v1", "set", TINY, bad, result, "60"],
                       check=True, env=environment, stderr=subprocess.DEVNULL)
        self.assertEqual(result.read_text(), "error\n")


if __name__ == "__main__":
    unittest.main()

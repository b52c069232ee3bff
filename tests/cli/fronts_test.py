"""Each front of a decision honours each option of `bf-aot verify`, or refuses it by name."""

import csv
import ctypes
import json
import os
import re
import subprocess
import sys
import threading
import time
import unittest

import decision_options
from harness import CONTROLLER, MODELS, SOURCE, TINY, Case

PROPERTIES = MODELS / "properties"
HOLDS = (TINY, PROPERTIES / "tiny_holds.vnnlib")
VIOLATED = (TINY, PROPERTIES / "tiny_violated.vnnlib")
# Neither is proven of any box, nor found.
SLOW = """(declare-const X_0 Real)(declare-const X_1 Real)(declare-const Y_0 Real)(declare-const Y_1 Real)
(assert (>= X_0 -1))(assert (<= X_0 1))(assert (>= X_1 -1))(assert (<= X_1 1))
(assert (= Y_0 (- 0.85)))(assert (= Y_1 (- 0.6875)))
"""
SPLITS = (CONTROLLER, PROPERTIES / "collision_avoidance_6x50_wide.vnnlib")


def written(name):
    return lambda run: (run.folder / name).exists() and bool((run.folder / name).read_text(errors="replace"))


def folder_of(name):
    return lambda run: (run.folder / name).is_dir() and bool(list((run.folder / name).iterdir()))


def says(pattern):
    return lambda run: re.search(pattern, run.output) is not None


def tells(key, value):
    return lambda run: json.loads(run.output)[key] == value


def soon(run):
    """Without the option it takes five seconds."""
    return json.loads(run.output)["seconds"] < 4


# How an option is given, about which question, and what shows that it was honoured; fronts that refuse it. What is
# about plans has a table of its own, which all fronts read (test_fronts.py).
OPTIONS = {
    "timeout": (SPLITS, ["--timeout", "1e-9"], {"verify": says("^timeout"), "instances": says("timeout +1"),
                                               "mpi": says("^timeout")}),
    "search": (SPLITS, ["--search", "0", "--branch", "0", "--json"], {"verify": soon, "instances": soon, "mpi": "BF3020"}),
    "branch": (SPLITS, ["--branch", "0", "--search", "0"],
               {"verify": says("^unknown"), "instances": says("unknown +1"), "mpi": "BF3020"}),
    "jobs": (SPLITS, ["--jobs", "2"], {"verify": says("^verified"), "instances": says("unsat +1"), "mpi": says("^verified")}),
    "counterexample": (VIOLATED, ["--counterexample", "x.txt"],
                       {"verify": written("x.txt"), "instances": "--counterexample", "mpi": written("x.txt")}),
    "serialise-assignments": (VIOLATED, ["--serialise-assignments", "tensors"],
                              {"verify": folder_of("tensors"), "instances": "--serialise-assignments",
                               "mpi": folder_of("tensors")}),
    "measure": (VIOLATED, ["--measure", "0.5"], {"verify": says("refuted"), "instances": "--measure", "mpi": "--measure"}),
    "html": (VIOLATED, ["--measure", "0.5", "--html", "page.html"],
             {"verify": written("page.html"), "instances": "--measure", "mpi": "--"}),
    "inner": (VIOLATED, ["--measure", "0.5", "--inner", "inner.json"],
              {"verify": written("inner.json"), "instances": "--measure", "mpi": "--"}),
    "outer": (VIOLATED, ["--measure", "0.5", "--outer", "outer.json"],
              {"verify": written("outer.json"), "instances": "--measure", "mpi": "--"}),
    "vnncomp": (HOLDS, ["--vnncomp"], {"verify": says("^unsat"), "instances": "--vnncomp", "mpi": says("^unsat")}),
    "json": (HOLDS, ["--json"], {"verify": tells("verdict", "verified"), "instances": tells("unsat", 1),
                                "mpi": tells("verdict", "verified")}),
    "checkpoint": (SPLITS, ["--checkpoint", "tree.json", "--search", "0"],
                   {"verify": written("tree.json"), "instances": "--checkpoint", "mpi": written("tree.json")}),
    "part": (SPLITS, ["--part", "0/2", "--save-part", "part.json"],
             {"verify": written("part.json"), "instances": "--part", "mpi": "--part"}),
    "save-part": (SPLITS, ["--save-part", "part.json"], {"verify": "--part", "instances": "--part", "mpi": "--part"}),
    "proof": (HOLDS, ["--proof", "answer.bfc"], {"verify": written("answer.bfc"), "instances": "--proof", "mpi": written("answer.bfc")}),
    "proof-seconds": (HOLDS, ["--proof-seconds", "5", "--proof", "answer.bfc"],
                      {"verify": written("answer.bfc"), "instances": "--proof", "mpi": written("answer.bfc")}),
    "proofs": (HOLDS, ["--proofs", "certificates"],
               {"verify": "--instances", "instances": folder_of("certificates"), "mpi": "--instances"}),
    "recheck": (HOLDS, ["--recheck"], {"verify": "recheck", "instances": "--recheck needs --proofs", "mpi": "--recheck"}),
    "junit": (HOLDS, ["--junit", "tests.xml"], dict.fromkeys(("verify", "instances", "mpi"), written("tests.xml"))),
    "sarif": (VIOLATED, ["--sarif", "found.sarif"], dict.fromkeys(("verify", "instances", "mpi"), written("found.sarif"))),
    "index": (HOLDS, ["--index", "0"], {"verify": "--instances", "instances": says("unsat +1"), "mpi": "--instances"}),
    "counterexamples": (VIOLATED, ["--counterexamples", "points"],
                        {"verify": "--instances", "instances": folder_of("points"), "mpi": "--instances"}),
    "must-hold": (VIOLATED, ["--must-hold"],
                  {"verify": "--instances", "instances": lambda run: run.code == 3, "mpi": "--instances"}),
    "results": (HOLDS, ["--results", "other.csv"], {"verify": "--instances", "mpi": "--instances"}),
    "instances": (HOLDS, ["--instances", "list.csv"], {"verify": "--results", "mpi": "--"}),
    "network": (HOLDS, ["--network", "f=net.onnx"], {"instances": "--instances"}),
    "quiet": (HOLDS, ["--quiet"], dict.fromkeys(("verify", "instances", "mpi"), lambda run: run.errors == "")),
    "verbose": (HOLDS, ["--verbose"], dict.fromkeys(("verify", "instances", "mpi"), lambda run: run.errors != "")),
    "config": (HOLDS, ["--config", "missing.json"], dict.fromkeys(("verify", "instances", "mpi"), "missing.json")),
    "device": (HOLDS, ["--device", "opencl:9999"], {"verify": "9999", "instances": says("error +1"), "mpi": "9999"}),
    "jit": (HOLDS, ["--jit", "sometimes"], dict.fromkeys(("verify", "instances", "mpi"), "--jit")),
    "disturbance": (HOLDS, ["--disturbance", "fog=0..1"], {"verify": "--data", "instances": "--disturbance", "mpi": "--data"}),
    "data": (HOLDS, ["--data", "x.npy"], {"verify": "--disturbance", "instances": "--data", "mpi": "--disturbance"}),
    "sample": (HOLDS, ["--sample", "1"], {"verify": "--data", "instances": "--sample", "mpi": "--data"}),
    "layout": (HOLDS, ["--layout", "hwc"], {"verify": "--data", "instances": "--layout", "mpi": "--data"}),
    **{name: (HOLDS, [f"--{name}", "1"] + ["2"] * (name == "clip"),
              {"verify": "--disturbance", "instances": f"--{name}", "mpi": "--disturbance"})
       for name in ("scale", "clip", "mean", "std")},
    "weight": (HOLDS, ["--weight", "none=1"], {"verify": "none", "instances": "--weight", "mpi": "none"}),
    "tokens": (HOLDS, ["--tokens", "ids.json"], {"verify": "ids.json", "instances": "ids.json", "mpi": "ids.json"}),
    "output-tensor": (HOLDS, ["--output-tensor", "none"], {"verify": "none", "instances": "--output-tensor", "mpi": "none"}),
    "input-tensor": (HOLDS, ["--input-tensor", "none"], {"verify": "none", "instances": "--input-tensor", "mpi": "none"}),
    "shape": (HOLDS, ["--shape", "none=1"], {"verify": "none", "instances": "--shape", "mpi": "none"}),
    "cxx": (HOLDS, ["--cxx", "no-compiler", "--lowering", "generic"],
            {"verify": "no-compiler", "instances": "does not go with", "mpi": "no-compiler"}),
    "cxx-flags": (HOLDS, ["--cxx-flags=-fno-such-flag", "--lowering", "generic"],
                  {"verify": "no-such-flag", "instances": "does not go with", "mpi": "no-such-flag"}),
}
OF_PLANS = {"target", "semantics", "flush-to-zero", "method", "lowering", "tuning-log", "libm-ulps", "row-tile", "granularity", "norm",
            "cache", "batch", "parallel", "iterations", "alpha", "disable-pass", "profile"}


class Run:
    def __init__(self, folder, code, output, errors):
        self.folder, self.code, self.output, self.errors = folder, code, output, errors


class Library:
    """The C interface."""

    def __init__(self, path):
        self.lib = ctypes.CDLL(path)
        for name in ("model_load", "options_make", "options_set", "verify"):
            getattr(self.lib, f"bf_aot_{name}").restype = ctypes.c_void_p
        self.lib.bf_aot_error_text.restype = ctypes.c_char_p
        self.lib.bf_aot_result_seconds.restype = ctypes.c_double

    def call(self, name, *arguments):
        """Returns the error's text."""
        error = ctypes.c_void_p(getattr(self.lib, f"bf_aot_{name}")(*arguments))
        text = (self.lib.bf_aot_error_text(error) or b"").decode()
        self.lib.bf_aot_error_free(error)
        return text

    def verify(self, folder, model, prop, given, stop=None):
        """Files are in the folder. stop: called by another thread after half a second; it frees the options."""
        network, options, result = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
        error = self.call("model_load", str(MODELS / model).encode(), ctypes.byref(network))
        error += self.call("options_make", ctypes.byref(options))
        for name, value in given.items():
            text = str(folder / value) if name in ("checkpoint", "proof") else value
            error += self.call("options_set", options, name.encode(), text.encode())
        if stop is not None:
            threading.Timer(0.5, stop, [options]).start()
        error = error or self.call("verify", network, str(PROPERTIES / prop).encode(), options, ctypes.byref(result))
        verdict = None if error else ("verified", "falsified", "unknown")[self.lib.bf_aot_result_verdict(result)]
        answer = decision_options.Answer(folder, self.lib.bf_aot_result_seconds(result), verdict, error)
        answer.stopped = self.lib.bf_aot_result_stopped(result)
        for name, handle in (("result", result), ("options", None if stop else options), ("model", network)):
            getattr(self.lib, f"bf_aot_{name}_free")(handle)
        return answer


class EachOption(Case):
    def ask(self, front, question, given):
        folder = self.work / f"{front}{len(list(self.work.iterdir()))}"
        folder.mkdir()
        if front == "instances":
            with (folder / "list.csv").open("w", encoding="utf-8") as file:
                csv.writer(file).writerow([*question, 60])
            asked = [os.environ["BF_AOT"], "verify", "--instances", "list.csv", "--results", "results.csv", *given]
        else:
            program = [os.environ["BF_AOT"], "verify"] if front == "verify" else [os.environ["BF_AOT_MPI"]]
            asked = [*program, *map(str, question), *given]
        done = subprocess.run(asked, cwd=folder, env=self.environment, stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, check=False, timeout=120)
        return Run(folder, done.returncode, done.stdout, done.stderr)

    def expect(self, front):
        for name, (question, given, fronts) in OPTIONS.items():
            if front not in fronts:
                continue
            with self.subTest(front=front, option=name):
                run, wanted = self.ask(front, question, given), fronts[front]
                if isinstance(wanted, str):
                    self.assertIn(run.code, (1, 2), run.output)
                    self.assertIn(wanted, run.errors)
                else:
                    self.assertTrue(wanted(run), f"{given}: {run.code}\n{run.output}\n{run.errors}")

    def test_verify(self):
        self.expect("verify")

    def test_instances(self):
        self.expect("instances")

    def test_mpi(self):
        if "BF_AOT_MPI" not in os.environ:
            self.skipTest("no MPI")
        self.environment.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                                OMPI_MCA_plm_rsh_agent="false")
        self.expect("mpi")

    def test_config(self):
        """It takes the limits of decisions, but no files, which are of one question."""
        given = self.write("limits.json", {"branch": 0, "search": 0, "jobs": 1})
        output, _ = self.run_tool("verify", *SPLITS, "--config", given, code=4)
        self.assertTrue(output.startswith("unknown\n"), output)
        self.write("list.csv", ",".join(map(str, (*SPLITS, 60))) + "\n")
        output, _ = self.run_tool("verify", "--instances", "list.csv", "--results", "results.csv", "--config", given)
        self.assertIn("unknown  1", output)
        for name in ("proof", "checkpoint"):
            given = self.write("files.json", {name: "answer"})
            self.assert_refused("BF3005", "verify", *HOLDS, "--config", given, says=(f"unknown key '{name}'",))

    def test_c(self):
        if "BF_AOT_LIBRARY" not in os.environ:
            self.skipTest("no library that Python can load")
        lib = Library(os.environ["BF_AOT_LIBRARY"])
        taken, others = decision_options.of_the_table(SOURCE)
        self.assertEqual(taken, set(decision_options.HONOURED))
        self.assertEqual(others, {"part", "save-part", "proofs"})
        for name, (question, given, honoured) in decision_options.HONOURED.items():
            with self.subTest(option=name):
                folder = self.work / name
                folder.mkdir()
                answer = lib.verify(folder, *question, given)
                self.assertTrue(honoured(answer), f"{answer.verdict} {answer.error}")
        for name in others:
            with self.subTest(option=name):
                self.assertIn(f"BF3501: {name}", lib.verify(self.work, *decision_options.HOLDS, {name: "0"}).error)

    def test_c_balls(self):
        if "BF_AOT_LIBRARY" not in os.environ:
            self.skipTest("no library that Python can load")
        lib = Library(os.environ["BF_AOT_LIBRARY"])
        for norm in ("l1", "L2"):
            answer = lib.verify(self.work, *decision_options.HOLDS, {"norm": norm})
            self.assertEqual((answer.verdict, answer.error), ("verified", ""))
            self.assertIn("BF2117", lib.verify(self.work, *decision_options.HOLDS, {"norm": norm, "method": "ibp"}).error)

    def test_c_stops(self):
        """One thread ends the call of another; the call's options may be freed while it runs."""
        if "BF_AOT_LIBRARY" not in os.environ:
            self.skipTest("no library that Python can load")
        lib = Library(os.environ["BF_AOT_LIBRARY"])
        slow = self.write("slow.vnnlib", SLOW)
        given = {"search_seconds": "1000", "branch_seconds": "1000"}
        begun = []

        def stop(options):
            begun.append(time.monotonic())
            lib.lib.bf_aot_stop(options)
            lib.lib.bf_aot_options_free(options)

        answer = lib.verify(self.work, "tiny.onnx", slow, given, stop=stop)
        self.assertLess(time.monotonic() - begun[0], 60)
        self.assertEqual((answer.verdict, answer.stopped, answer.error), ("unknown", 1, ""))

    def test_each_option_has_its_row(self):
        """A new option is honoured or refused by each front, and this table says which."""
        output, _ = self.run_tool("verify", "--help-all")
        names = set(re.findall(r"^ {1,6}(?:-\w, )?--([a-z][a-z-]+)(?: |$)", output, re.M)) - {"help", "help-all", "list-passes"}
        self.assertEqual(names, set(OPTIONS) | OF_PLANS)


if __name__ == "__main__":
    sys.exit(unittest.main())

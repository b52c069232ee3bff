"""A hard property, searched by threads, in parts, by processes, and further after an interruption."""

import glob
import json
import math
import os
import shutil
import signal
import struct
import subprocess
import sys
import time
import unittest

from harness import CONTROLLER, MODELS, Case
from query_test import EQUAL, mlp
from small_models import pooled_model, pooled_question, write_model
from tokens_test import Classifier, claim

MPIRUN = shutil.which("mpirun")
BF_AOT_MPI = os.environ.get("BF_AOT_MPI", "")
if "Mpi" in sys.argv and (not MPIRUN or not BF_AOT_MPI):
    print("skipped: no MPI")
    sys.exit()

# Code that a compiler fuses otherwise bounds otherwise.
SAME_CODE = ("--jit", "off", "--search", "0")


def names(letter):
    return "".join(f"(declare-const {letter}_{i} Real)" for i in range(5))


def digits(radius, limit):
    """All 64 inputs about 1/2 vary: neurons are split, in three clauses."""
    return ("".join(f"(declare-const X_{i} Real)(assert (>= X_{i} {0.5 - radius}))"
                    f"(assert (<= X_{i} {0.5 + radius}))" for i in range(64))
            + "".join(f"(declare-const Y_{i} Real)" for i in range(10))
            + "(assert (or "
            + "".join(f"(and (>= (- Y_{i} Y_{j}) {limit}))" for i, j in ((0, 2), (3, 2), (4, 2)))
            + "))")


class TreeCase(Case):
    def question(self, limit, radius=0.1):
        box = "".join(f"(assert (>= X_{i} -{radius}))(assert (<= X_{i} {radius}))"
                      for i in range(5))
        return self.write(f"p{limit}.vnnlib",
                          names("X") + names("Y") + box + f"(assert (>= (- Y_0 Y_1) {limit}))")

    def search(self, limit, *more, code=0):
        return self.run_json("verify", CONTROLLER, self.question(limit), *SAME_CODE, *more, code=code)

    def neurons(self, limit, radius=0.1):
        return (MODELS / "digits_64x2.onnx", self.write("digits.vnnlib", digits(radius, limit)),
                "--method", "crown", *SAME_CODE)


class Jobs(TreeCase):
    def test_the_tree_is_the_same_for_any_number_of_threads(self):
        one = self.search(1, "--jobs", "1")
        self.assertEqual(one["verdict"], "verified")
        self.assertGreater(one["boxes"], 1000)
        for jobs in ("2", "5"):
            self.assertEqual(self.search(1, "--jobs", jobs)["boxes"], one["boxes"])

    def test_the_way_does_not_hang_on_the_load(self):
        """Steps are chosen by work that is counted: seconds only end a search."""
        model, question, *_ = self.neurons(24, 0.13)

        def way():
            found = self.run_json("verify", model, question, "--jit", "off", "--jobs", "2")
            return found["verdict"], found["boxes"], found["neuron_nodes"]

        alone = way()
        self.assertEqual(alone[0], "verified")
        self.assertGreater(alone[2], 50)
        spin = [sys.executable, "-c", "while True: pass"]
        others = [subprocess.Popen(spin) for _ in range(4 * (os.cpu_count() or 1))]
        try:
            self.assertEqual(way(), alone)
        finally:
            for other in others:
                other.kill()
                other.wait()

    def test_threads_find_a_violation(self):
        for jobs in ("1", "3"):
            found = self.run_json("verify", CONTROLLER, self.question(0.6, 0.2), *SAME_CODE, "--jobs",
                                  jobs, code=3)
            self.assertEqual(found["verdict"], "falsified")
            self.assertTrue(all(abs(float(x)) <= 0.2 for x in found["counterexample"]["x"]))


class Parts(TreeCase):
    def part(self, i, n, name=None, limit=1, code=0, **more):
        path = self.work / (name or f"part-{i}.json")
        found = self.run_json("verify", CONTROLLER, self.question(limit, **more), "--part",
                              f"{i}/{n}", "--save-part", path, code=code)
        return path, found

    def test_parts_make_the_tree_of_one_process(self):
        whole = self.search(1)
        made = [self.part(i, 3) for i in range(3)]
        for path, found in made:
            self.assertEqual((found["verdict"], found["open_nodes"]), ("closed", 0))
            self.assertEqual(json.loads(path.read_text())["summary"]["verdict"], "closed")
        self.assertLess(max(found["boxes"] for _, found in made), whole["boxes"])
        merged = self.run_json("merge", *(path for path, _ in made))
        self.assertEqual((merged["verdict"], merged["nodes"]), ("verified", whole["boxes"]))
        output, _ = self.run_tool("merge", *(path for path, _ in made))
        self.assertTrue(output.startswith("verified\n"))

    def test_parts_of_neurons(self):
        asked = self.neurons(24, 0.13)
        whole = self.run_json("verify", *asked, "--jobs", "2")
        self.assertEqual(whole["verdict"], "verified")
        self.assertGreater(whole["neuron_nodes"], 50)
        made = [self.work / f"part-{i}.json" for i in range(2)]
        for i, path in enumerate(made):
            found = self.run_json("verify", *asked, "--part", f"{i}/2", "--save-part", path)
            self.assertEqual(found["verdict"], "closed")
        merged = self.run_json("merge", *made)
        self.assertEqual((merged["verdict"], merged["nodes"]), ("verified", whole["neuron_nodes"]))

    def test_parts_of_maxima(self):
        network = write_model(self.work / "pooled.onnx", pooled_model())
        asked = (network, self.write("pooled.vnnlib", pooled_question(0.75)), "--method", "ibp",
                 *SAME_CODE)
        whole = self.run_json("verify", *asked)
        self.assertEqual(whole["verdict"], "verified")
        self.assertGreater(whole["neuron_nodes"], 50)
        made = [self.work / f"part-{i}.json" for i in range(3)]
        for i, path in enumerate(made):
            found = self.run_json("verify", *asked, "--part", f"{i}/3", "--save-part", path)
            self.assertEqual(found["verdict"], "closed")
        merged = self.run_json("merge", *made)
        self.assertEqual((merged["verdict"], merged["nodes"]), ("verified", whole["neuron_nodes"]))

    def test_no_part_verifies_alone(self):
        path, _ = self.part(0, 3)
        self.assert_refused("BF3019", "merge", path, says=["part 1 of 3 is missing"])
        other, _ = self.part(0, 2, "other.json")
        self.assert_refused("BF3019", "merge", path, other, says=["divided otherwise"])
        self.assert_refused("BF3019", "merge", path, path, says=["part 0 is in"])

    def test_a_violation_of_a_part_is_proven_again(self):
        # Which part finds one is not fixed.
        made = [self.part(i, 2, limit=0.6, radius=0.2, code=None)[0] for i in range(2)]
        merged = self.run_json("merge", *made, code=3)
        self.assertEqual(merged["verdict"], "falsified")
        self.assertTrue(all(abs(float(x)) <= 0.2 for x in merged["counterexample"]["x"]))
        # A point that violates nothing is no proof.
        for path in made:
            file = json.loads(path.read_text())
            if file["witness"]:
                file["witness"]["x"] = [0, 0, 0, 0, 0]
                path.write_text(json.dumps(file))
        merged = self.run_json("merge", *made, code=4)
        self.assertEqual(merged["verdict"], "unknown")
        # The property has changed meanwhile.
        self.question(0.6, 0.1)
        self.assert_refused("BF3018", "merge", *made, says=["the property differs"])

    def test_refusals(self):
        self.assert_refused("BF3020", "verify", CONTROLLER, self.question(1), "--part", "0/2",
                            "--save-part", "p.json", "--branch", "0", says=["nothing is split"])
        for part in ("2/2", "x", "1"):
            _, errors = self.run_tool("verify", CONTROLLER, self.question(1), "--part", part,
                                      "--save-part", "p.json", code=2)
            self.assertIn("expected I/N", errors)
        self.run_tool("verify", CONTROLLER, self.question(1), "--part", "0/2", code=2)


class Checkpoint(TreeCase):
    def keep(self, limit, *more, code=0):
        return self.search(limit, "--checkpoint", self.work / "tree.json", "--jobs", "2", *more, code=code)

    def test_goes_on_to_the_same_tree(self):
        whole = self.search(0.7)
        self.assertEqual(whole["verdict"], "verified")
        rounds = 1
        found = self.keep(0.7, "--branch", "0.02", code=None)
        while found["verdict"] == "unknown":
            self.assertGreater(len(json.loads((self.work / "tree.json").read_text())
                                   ["state"]["open"]), 0)
            found = self.keep(0.7, "--branch", "0.02", code=None)
            rounds += 1
        self.assertEqual((found["verdict"], found["boxes"]), ("verified", whole["boxes"]))
        self.assertGreater(rounds, 1)
        # What has ended stays so.
        self.assertEqual(self.keep(0.7)["boxes"], whole["boxes"])

    def test_neurons_go_on(self):
        # About 400 nodes: many times what a run has time for.
        asked = (*self.neurons(28, 0.16), "--checkpoint", self.work / "tree.json")
        found = self.run_json("verify", *asked, "--branch", "0.01", code=None)
        rounds = 1
        while found["verdict"] == "unknown":
            found = self.run_json("verify", *asked, "--branch", "0.01", code=None)
            rounds += 1
        self.assertEqual(found["verdict"], "verified")
        self.assertGreater(rounds, 1)
        path = self.work / "tree.json"
        file = json.loads(path.read_text())
        file["state"]["roots"][0]["closed"] = []
        file["state"]["open"] = [{"root": 0, "depth": 0, "state": "ffffffff"}]
        path.write_text(json.dumps(file))
        self.assert_refused("BF3017", "verify", *asked, says=["state.open[0]"])

    def test_a_signal_leaves_the_tree(self):
        path = self.work / "tree.json"
        for seconds in (0.3, 1.2, 5, 20):  # where the machine is slow, the tree begins late
            process = self.start("verify", CONTROLLER, self.question(1.0, 0.5), *SAME_CODE,
                                 "--checkpoint", path)
            self.wait_for_handler(process, signal.SIGTERM)
            time.sleep(seconds)
            process.terminate()
            process.communicate(timeout=100)
            self.assertEqual(process.returncode, 128 + signal.SIGTERM)
            state = json.loads(path.read_text())["state"] if path.exists() else {"nodes": 0}
            if state["nodes"] > 0:
                break
        self.assertGreater(len(state["open"]), 0)
        self.assertGreater(state["nodes"], 0)
        self.assertEqual(self.names(), ["p1.0.vnnlib", "tree.json"])

    def test_the_time_is_over(self):
        # While boxes are split, and in the search before that.
        for i, search in enumerate(("0", "1e6")):
            path = self.work / f"tree-{i}.json"
            output, _ = self.run_tool("verify", CONTROLLER, self.question(1.0, 0.5), "--jit", "off",
                                      "--search", search, "--checkpoint", path, "--timeout", "1",
                                      code=5)
            self.assertEqual(output, "timeout\n")
            self.assertGreater(len(json.loads(path.read_text())["state"]["open"]), 0)

    def test_other_files_are_refused(self):
        path = self.work / "tree.json"
        self.keep(0.7, "--branch", "0.02", code=None)
        ask = ("verify", CONTROLLER, self.question(1), *SAME_CODE, "--checkpoint", path)
        self.assert_refused("BF3018", *ask, says=["tree.json", "the property differs"])
        self.assert_refused("BF3018", *ask[:2], self.question(0.7), "--part", "0/2", "--save-part",
                            path, says=["not part 0 of 2"])
        path.write_text("{}")
        self.assert_refused("BF3004", *ask)
        self.search(1, "--checkpoint", self.work / "done.json")
        file = json.loads((self.work / "done.json").read_text())
        if file["state"]["nodes"] > 0:
            file["state"]["roots"][0]["closed"] = []
            file["state"]["open"] = [{"root": 0, "depth": 0, "state": "ff" * 40}]
            path.write_text(json.dumps(file))
            self.assert_refused("BF3017", *ask, says=["state.open[0]: a box beyond its case"])
            file["state"]["open"][0]["state"] = "00"
            path.write_text(json.dumps(file))
            self.assert_refused("BF3017", *ask, says=["state.open[0]: a box of another size"])


class KindCase(TreeCase):
    """Trees of other kinds of nodes: sets of token ids, and the difference of two networks."""

    def tokens(self, limit):
        """All texts of three ids of six: y_0 - y_1 is at least 10.98046875."""
        network = write_model(self.work / "text.onnx", Classifier(6).text())
        sets = self.write("sets.json", {"tokens": {"x": [list(range(6))] * 3}})
        return (network, self.write("text.vnnlib", claim(limit)), "--tokens", sets)

    def pair(self, limit):
        """Two networks of one structure, whose outputs differ by at most 3/128 on the box."""
        w = [[(i * 7 + j * 5) % 9 / 8 - 0.5 for j in range(2)] for i in range(8)]
        moved = [[x + (-1) ** i / 64 for i, x in enumerate(row)] for row in w]
        b, v = [i / 8 - 0.5 for i in range(8)], [[(-1) ** i * (i + 1) / 8 for i in range(8)]]
        made = []
        for name, weights in (("f", w), ("g", moved)):
            path = write_model(self.work / f"{name}.onnx", mlp(name, weights, b, v, [0]))
            made += ["--network", f"{name}={path}"]
        tensors = "(declare-input X Real [1,2])(declare-output Y Real [1,1])"
        box = "(assert (<= -1 f.X[0,0] 1))(assert (<= -1 f.X[0,1] 1))"
        query = (f"(vnnlib-version <2.0>)(declare-network f {tensors})"
                 f"(declare-network g (isomorphic-to f) {tensors}){box}{EQUAL}"
                 f"(assert (>= (abs (- f.Y[0,0] g.Y[0,0])) {limit}))")
        return (self.write("pair.vnnlib", query), *made)

    # The questions whose trees are known to be large, with the count of their nodes.
    def kinds(self):
        return ((self.tokens("10.9803"), "boxes"), (self.pair(0.026), "difference_boxes"))


class Kinds(KindCase):
    def whole(self, asked, count, *more, least=20):
        found = self.run_json("verify", *asked, *SAME_CODE, "--checkpoint",
                              self.work / f"whole{len(self.names())}.json", *more)
        self.assertEqual(found["verdict"], "verified")
        self.assertGreater(found[count], least)
        return found[count]

    def test_any_number_of_threads(self):
        for asked, count in self.kinds():
            nodes = self.whole(asked, count, "--jobs", "1")
            self.assertEqual(self.whole(asked, count, "--jobs", "3"), nodes)

    def test_parts(self):
        for asked, count in self.kinds():
            nodes = self.whole(asked, count)
            made = [self.work / f"{count}-{i}.json" for i in range(2)]
            for i, path in enumerate(made):
                found = self.run_json("verify", *asked, "--part", f"{i}/2", "--save-part", path)
                self.assertEqual(found["verdict"], "closed")
            merged = self.run_json("merge", *made)
            self.assertEqual((merged["verdict"], merged["nodes"]), ("verified", nodes))

    def test_differences_are_not_alone(self):
        """A limit that slopes pass in each box around the line where a ReLU bends."""
        self.assertLess(self.whole(self.pair(0.024), "difference_boxes", least=10), 10000)

    def test_goes_on(self):
        for asked, count in self.kinds():
            nodes = self.whole(asked, count)
            path = self.work / f"{count}.json"
            for seconds in ("1e-9", "1e-4", "10"):
                found = self.run_json("verify", *asked, *SAME_CODE, "--branch", seconds,
                                      "--checkpoint", path, code=None)
            self.assertEqual((found["verdict"], found[count]), ("verified", nodes))

    def test_a_violation_of_a_part_is_proven_again(self):
        for asked, inputs in ((self.tokens("10.98046875"), 3), (self.pair(0.02), 4)):
            made = [self.work / f"part{inputs}-{i}.json" for i in range(2)]
            for i, path in enumerate(made):
                self.run_json("verify", *asked, "--part", f"{i}/2", "--save-part", path, code=None)
            merged = self.run_json("merge", *made, code=3)
            self.assertEqual(merged["verdict"], "falsified")
            self.assertEqual(len(merged["counterexample"]["x"]), inputs)

    def test_other_files_are_refused(self):
        (text, *_), (pair, *_) = self.kinds()
        path = self.work / "tree.json"
        self.run_json("verify", *text, *SAME_CODE, "--checkpoint", path)
        file = json.loads(path.read_text())
        for state, says in (([2, 0, 1] + [1, 3], "sets of ids of other positions"),
                            ([2, 0, 0] + [1, 3] * 2, "a set of ids beyond its case"),
                            ([2, 0, 6] + [1, 3] * 2, "a set of ids beyond its case"),
                            ([0] + [1, 3] * 2, "a set of ids beyond its case")):
            file["state"]["roots"][0]["closed"] = []
            file["state"]["open"] = [{"root": 0, "depth": 0,
                                      "state": b"".join(i.to_bytes(4, "little") for i in state).hex()}]
            path.write_text(json.dumps(file))
            self.assert_refused("BF3017", "verify", *text, *SAME_CODE, "--checkpoint", path, says=[says])
        other = self.write("other.json", {"tokens": {"x": [[0, 1]] * 3}})
        self.assert_refused("BF3018", "verify", *text[:3], other, *SAME_CODE, "--checkpoint", path,
                            says=["--tokens differs"])
        self.assert_refused("BF3018", "verify", *pair, *SAME_CODE, "--checkpoint", path,
                            says=["the model differs"])
        path = self.work / "pair.json"
        self.run_json("verify", *pair, *SAME_CODE, "--branch", "1e-9", "--checkpoint", path, code=None)
        file = json.loads(path.read_text())
        box = struct.pack("<4d", -1, -1, 1, 1)
        slopes = [0.0] * 8 + [1.0] * 8
        for state, says in ((box, "a box of another network"),
                            (struct.pack("<4d", -2, -1, 1, 1) + struct.pack("<16f2d", *slopes, -9, 9),
                             "a box beyond its case"),
                            (box + struct.pack("<16f2d", *slopes[::-1], -9, 9), "slopes that are no range"),
                            (box + struct.pack("<16f2d", *slopes[:15], math.nan, -9, 9), "slopes that are no range")):
            file["state"]["roots"][0]["closed"] = []
            file["state"]["open"] = [{"root": 0, "depth": 0, "state": state.hex()}]
            path.write_text(json.dumps(file))
            self.assert_refused("BF3017", "verify", *pair, *SAME_CODE, "--checkpoint", path, says=[says])


class Mpi(KindCase):
    def setUp(self):
        super().setUp()
        # Also as root, and with more ranks than cores.
        self.environment.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                                OMPI_MCA_rmaps_base_oversubscribe="1",
                                OMPI_MCA_plm_rsh_agent="false")

    def launch(self, count, *arguments, model=CONTROLLER):
        return subprocess.run(
            [MPIRUN, "-np", str(count), BF_AOT_MPI, model, *map(str, arguments), "--jit",
             "off", "--json"], cwd=self.work, env=self.environment, stdin=subprocess.DEVNULL,
            capture_output=True, text=True, timeout=300)

    def ranks(self, count, *arguments, model=CONTROLLER):
        made = self.launch(count, *arguments, model=model)
        self.assertEqual(made.returncode, 0, made.stderr)
        return json.loads(made.stdout)

    def test_ranks_make_the_certificate_of_one_process(self):
        for name, verdict, asked in (("holds", "verified", self.question(1)),
                                     ("violated", "falsified", self.question(0.6, 0.2))):
            self.run_tool("verify", CONTROLLER, asked, "--proof", f"{name}.bfc", code=None)
            found = self.ranks(3, asked, "--proof", f"{name}-3.bfc")
            whole, joined = ((self.work / each).read_bytes() for each in (f"{name}.bfc", f"{name}-3.bfc"))
            self.assertEqual((found["verdict"], found["proof"]["bytes"]), (verdict, len(joined)))
            if verdict == "verified":  # points may be others
                self.assertEqual(joined, whole)
        late = self.launch(2, self.question(1), "--proof", "late.bfc", "--proof-seconds", "1e-9")
        self.assertEqual(late.returncode, 1, late.stderr)
        self.assertIn("the answer is 'verified', but there is no certificate", late.stderr)
        self.assertFalse((self.work / "late.bfc").exists())

    def test_a_search_before_the_tree_is_refused(self):
        made = self.launch(2, self.question(1), "--search", "1")
        self.assertEqual(made.returncode, 2, made.stderr)
        self.assertIn("no --search", made.stderr)

    def test_ranks_make_the_tree_of_one_process(self):
        found = self.ranks(4, self.question(1))
        self.assertEqual((found["verdict"], found["boxes"]), ("verified", self.search(1)["boxes"]))

    @unittest.skipUnless(shutil.which("mpirun") and glob.glob("/etc/OpenCL/vendors/pocl*"), "no PoCL")
    def test_ranks_have_a_device_bound_boxes(self):
        self.environment["POCL_CACHE_DIR"] = str(self.folder / "pocl")
        on = ["--device", "opencl"]
        found, whole = self.ranks(2, self.question(1), *on), self.search(1, *on, "--checkpoint", "tree.json")
        for each in (found, whole):  # both wait for the device, which bounds all boxes
            self.assertEqual((each["verdict"], each["boxes"]), ("verified", whole["boxes"]))
            self.assertIn("crown on the device", each["methods"])
        none = self.launch(2, self.question(1), "--device", "opencl:99")
        self.assertEqual(none.returncode, 1, none.stderr)
        self.assertIn("BF3340", none.stderr)

    def test_ranks_split_neurons(self):
        model, question, *more = self.neurons(24, 0.13)
        found = self.ranks(3, question, *more[:2], model=model)
        self.assertEqual(found["verdict"], "verified")
        whole = self.run_json("verify", model, question, *more)
        self.assertEqual(found["neuron_nodes"], whole["neuron_nodes"])

    def test_ranks_make_trees_of_other_kinds(self):
        for asked, count in self.kinds():
            whole = self.run_json("verify", *asked, *SAME_CODE, "--checkpoint",
                                  self.work / f"{count}.json")
            found = self.ranks(2, *asked[1:], model=asked[0])
            self.assertEqual((found["verdict"], found[count]), ("verified", whole[count]))

    def test_a_violation_is_proven(self):
        found = self.ranks(3, self.question(0.6, 0.2))
        self.assertEqual(found["verdict"], "falsified")
        self.assertTrue(all(abs(float(x)) <= 0.2 for x in found["counterexample"]["x"]))

    def test_a_timeout_is_of_the_whole_run(self):
        found = self.ranks(3, self.question(0.7), "--timeout", "0.0001")
        self.assertEqual((found["verdict"], found["boxes"]), ("timeout", 0))  # it is over while all plan
        found = self.ranks(2, self.question(0.7), "--timeout", "0.5")
        self.assertIn(found["verdict"], ("timeout", "verified"))
        self.assertLess(found["seconds"], 30)

    def test_goes_on_with_any_number_of_ranks(self):
        path = self.work / "tree.json"
        found, rounds = {"verdict": "unknown"}, 0
        while found["verdict"] == "unknown":
            found = self.ranks(2 + rounds % 2, self.question(0.7), "--checkpoint", path,
                               "--branch", "0.05", "--jobs", "1")
            rounds += 1
        self.assertGreater(rounds, 1)
        self.assertEqual((found["verdict"], found["boxes"]),
                         ("verified", self.search(0.7)["boxes"]))


if __name__ == "__main__":
    unittest.main()

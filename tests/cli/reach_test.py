"""Tests of bf-aot reach. Run as cli_test.py is."""

import json
import math
import random
import signal
import sys
import time
import unittest

sys.dont_write_bytecode = True
from harness import MODELS, SOURCE, Case  # noqa: E402
from schema import Schema  # noqa: E402
from small_models import node, tensor, write_model  # noqa: E402

ANSWERS = Schema(SOURCE / "docs/reference/json-schema.json")
QUESTIONS = Schema(SOURCE / "docs/reference/reach-schema.json")


def network(nodes, initializers, inputs, outputs):
    """A network of several tensors: name -> width."""
    def value(kind, name, width):
        dims = f"dim {{ dim_value: 1 }} dim {{ dim_value: {width} }}"
        return f'{kind} {{ name: "{name}" type {{ tensor_type {{ elem_type: 1 shape {{ {dims} }} }} }} }}'
    return "\n".join(["ir_version: 8", "opset_import { version: 13 }", 'graph { name: "part"', *nodes, *initializers,
                      *(value("input", *each) for each in inputs.items()),
                      *(value("output", *each) for each in outputs.items()), "}"])


class ReachCase(Case):
    def setUp(self):
        super().setUp()
        # u = -relu(x0) + relu(-x0) / 2 - x1, a controller of a mass on a line.
        nodes = [node("MatMul", ["x", "W"], "h"), node("Relu", ["h"], "r"), node("MatMul", ["r", "V"], "u")]
        numbers = [tensor("W", (2, 4), (1, -1, 0, 0, 0, 0, 1, -1)), tensor("V", (4, 1), (-1, 0.5, -1, 1))]
        write_model(self.work / "c.onnx", network(nodes, numbers, {"x": 2}, {"u": 1}))
        matrices = [tensor("A", (2, 2), (0, 0, 1, 0)), tensor("B", (1, 2), (0, 1))]
        sums = [node("MatMul", ["x", "A"], "ax"), node("MatMul", ["u", "B"], "bu")]
        write_model(self.work / "f.onnx", network([*sums, node("Add", ["ax", "bu"], "dx")], matrices,
                                                  {"x": 2, "u": 1}, {"dx": 2}))
        pushed = [*sums, node("Add", ["ax", "bu"], "s"), node("MatMul", ["w", "B"], "cw"), node("Add", ["s", "cw"], "dx")]
        write_model(self.work / "pushed.onnx", network(pushed, matrices, {"x": 2, "u": 1, "w": 1}, {"dx": 2}))
        # x' = 0.9 (rotation of x by 0.5 rad).
        turn = [0.9 * math.cos(0.5), 0.9 * math.sin(0.5), -0.9 * math.sin(0.5), 0.9 * math.cos(0.5)]
        write_model(self.work / "turn.onnx", network([node("MatMul", ["x", "R"], "next")], [tensor("R", (2, 2), turn)],
                                                     {"x": 2}, {"next": 2}))

    def loop(self, *requirements, **more):
        question = {"controller": "c.onnx", "plant": "f.onnx", "period": 0.1, "steps": 20,
                    "initial": {"lower": [0.9, -0.1], "upper": [1.1, 0.1]}, "requirements": list(requirements), **more}
        self.assertEqual(QUESTIONS.problems({k: v for k, v in question.items() if v is not None}, "question"), [])
        return self.write("reach.json", {k: v for k, v in question.items() if v is not None})

    def turn(self, *requirements, **more):
        return self.loop(*requirements, controller=None, plant="turn.onnx", kind="discrete", period=None, **more)

    def ask(self, *arguments, code=0):
        found = self.run_json("reach", *arguments, code=code)
        self.assertEqual(ANSWERS.problems(found, "reach"), [])
        return found


class Reach(ReachCase):
    def control(self, x):
        return -max(x[0], 0) + max(-x[0], 0) / 2 - x[1]

    def simulate(self, x, kind, push=0.0):
        """States at the beginnings of periods; of a double integrator they are exact."""
        states = [x]
        for _ in range(20):
            u = self.control(x) + push
            if kind == "continuous":
                x = [x[0] + 0.1 * x[1] + 0.005 * u, x[1] + 0.1 * u]
            else:
                x = [x[0] + 0.1 * x[1], x[1] + 0.1 * u]
            states.append(x)
        return states

    def assert_tube_holds(self, found, question, push=0.0):
        """Random trajectories, and those of the corners, are in the tube at all periods."""
        box = question["initial"]
        times = {p["from"] / question["period"]: p["state"] for p in found["tube"] if p["from"] == p["to"]}
        instants = {round(k): state for k, state in times.items() if abs(k - round(k)) < 1e-6}
        self.assertTrue(instants)
        rng = random.Random(2)
        for trial in range(200):
            pick = rng.uniform if trial % 2 else lambda a, b: rng.choice((a, b))
            x = [pick(a, b) for a, b in zip(box["lower"], box["upper"])]
            for k, state in enumerate(self.simulate(x, found["kind"], rng.choice((-push, push)))):
                for value, (low, high) in zip(state, instants.get(k, ())):
                    self.assertTrue(low - 1e-6 <= value <= high + 1e-6, (k, state, instants[k]))

    def test_verified(self):
        for kind in ("continuous", "euler"):
            path = self.loop({"always": "(and (<= -1 x[0] 1.5) (<= -1.5 x[1] 0.5))"}, {"at": "end", "holds": "(<= x[0] 0.6)"},
                             kind=kind)
            found = self.ask(path)
            self.assertEqual((found["answer"], found["closed"], found["kind"]), ("verified", 1, kind))
            self.assertIsNone(found["violation"])
            self.assert_tube_holds(found, json.loads(path.read_text()))

    def test_falsified(self):
        found = self.ask(self.loop({"always": "(<= x[0] 2)"}, {"at": 2, "holds": "(<= x[0] 0.1)"}), code=3)
        violation = found["violation"]
        self.assertEqual((found["answer"], violation["requirement"]), ("falsified", 1))
        self.assertTrue(all(a <= x <= b for a, x, b in zip((0.9, -0.1), violation["start"], (1.1, 0.1))))
        self.assertGreater(self.simulate(violation["start"], "continuous")[-1][0], 0.1)

    def test_unknown(self):
        """1.1 is no double: the box's enclosure breaks it, but no start in the box does."""
        found = self.ask(self.turn({"at": 0, "holds": "(<= x[0] 1.1)"}), "--timeout", "2", "--most-cells", "4", code=4)
        self.assertEqual(found["answer"], "unknown")
        self.assertEqual(found["obstacle"]["requirement"], 0)

    def test_bounded(self):
        found = self.ask(self.loop())
        self.assertEqual((found["answer"], found["requirements"]), ("bounded", []))
        self.assert_tube_holds(found, json.loads((self.work / "reach.json").read_text()))

    def test_discrete_plants_without_a_controller(self):
        found = self.ask(self.turn({"never": "(> (+ (* x[0] x[0]) (* x[1] x[1])) 2)"}, {"at": 20, "holds": "(<= (abs x[0]) 0.2)"}))
        self.assertEqual(found["answer"], "verified")
        times = [p["from"] for p in found["tube"]]
        self.assertEqual(times, sorted(times))
        self.assertEqual(times[-1], 20)
        # Exact but for rounding: the last box is the first one, turned.
        last = found["tube"][-1]["state"]
        self.assertLess(last[0][1] - last[0][0], 1.05 * 0.9**20 * 0.2 * (abs(math.cos(10)) + abs(math.sin(10))))

    def test_disturbances(self):
        push = {"w": {"lower": [-0.05], "upper": [0.05]}}
        wide = self.ask(self.loop({"always": "(<= x[0] 1.5)"}, plant="pushed.onnx", disturbances=push))
        self.assertEqual(wide["answer"], "verified")
        question = json.loads((self.work / "reach.json").read_text())
        self.assert_tube_holds(wide, question, 0.05)
        push["w"]["constant"] = True
        constant = self.ask(self.loop({"always": "(<= x[0] 1.5)"}, plant="pushed.onnx", disturbances=push))
        self.assert_tube_holds(constant, question, 0.05)
        push["w"] = {"lower": [-0.05], "upper": [0.05], "changing": True}
        changing = self.ask(self.loop({"always": "(<= x[0] 1.5)"}, plant="pushed.onnx", disturbances=push))
        self.assert_tube_holds(changing, question, 0.05)
        self.assertEqual(changing["answer"], "verified")
        self.assertGreater(changing["tube"][-1]["state"][0][1], constant["tube"][-1]["state"][0][1])
        self.write("w.json", {"lower": [-0.05], "upper": [0.05]})
        self.write("box.json", {"lower": [0.9, -0.1], "upper": [1.1, 0.1]})
        typed = self.ask("--plant", "pushed.onnx", "--controller", "c.onnx", "--period", "0.1", "--steps", "20", "--box",
                         "box.json", "--always", "(<= x[0] 1.5)", "--changing", "w:w.json")
        self.assertEqual(typed["tube"], changing["tube"])
        push["w"]["constant"] = True
        path = self.loop({"always": "(<= x[0] 1.5)"}, plant="pushed.onnx", disturbances=push)
        self.assert_refused("BF3004", "reach", path, says=["constant and changing"])
        del push["w"]["constant"]
        path = self.loop({"always": "(<= x[0] 1.5)"}, plant="pushed.onnx", disturbances=push)
        self.assert_refused("BF3630", "reach", path, "-o", "monitor.cpp", says=["any time"])

    def test_options_and_the_file_give_the_same(self):
        first = self.ask(self.loop({"always": "(<= x[0] 1.5)"}, {"at": "1/2", "holds": "(<= x[0] 1.2)"},
                                   {"within": [1, "end"], "holds": "(<= x[0] 1.1)"}, kind="euler", substeps=2))
        self.write("b.json", {"lower": [0.9, -0.1], "upper": [1.1, 0.1]})
        typed = self.ask("--controller", "c.onnx", "--plant", "f.onnx", "--period", "0.1", "--steps", "20", "--kind", "euler",
                         "--substeps", "2", "--box", "b.json", "--always", "(<= x[0] 1.5)", "--at", "1/2:(<= x[0] 1.2)",
                         "--within", "1,end:(<= x[0] 1.1)")
        for found in (first, typed):
            del found["seconds"], found["question"]
        self.assertEqual(first, typed)

    def test_options_change_a_file(self):
        path = self.loop({"always": "(<= x[0] 2)"})
        found = self.ask(path, "--steps", "3", "--never", "(>= x[0] 3)")
        self.assertEqual(len(found["requirements"]), 2)
        self.assertAlmostEqual(found["tube"][-1]["to"], 0.3)
        self.assert_refused("BF3603", "reach", path, "--period", "0", says=["--period: "])

    def test_jobs_give_the_same_leaves(self):
        path = self.loop({"always": "(<= x[0] 1.1)"}, initial={"lower": [-1, -1], "upper": [1, 0.5]})
        found = [self.ask(path, "--jobs", jobs) for jobs in ("1", "3")]
        for key in ("answer", "closed"):
            self.assertEqual(found[0][key], found[1][key])
        leaves = [sorted(json.dumps(leaf) for leaf in each["leaves"]) for each in found]
        self.assertEqual(leaves[0], leaves[1])
        self.assertGreater(len(leaves[0]), 3)

    def test_cells_are_kept_and_parts_meet(self):
        path = self.loop({"always": "(<= x[0] 1.1)"}, initial={"lower": [-1, -1], "upper": [1, 0.5]})
        whole = self.ask(path)
        first = self.ask(path, "--checkpoint", "cells.json", "--most-cells", "3", code=4)
        self.assertGreater(first["open_cells"], 0)
        rest = self.ask(path, "--checkpoint", "cells.json")
        self.assertEqual((rest["answer"], rest["open_cells"], rest["tube"]), ("verified", 0, []))
        again = self.ask(path, "--checkpoint", "cells.json")
        self.assertEqual(again["leaves"], [])
        closed = [sorted(json.dumps(leaf) for leaf in each["leaves"]) for each in (first, rest, whole)]
        self.assertEqual(sorted(closed[0] + closed[1]), closed[2])
        self.assert_refused("BF3018", "reach", path, "--steps", "5", "--checkpoint", "cells.json", says=["demands"])
        # The same text may mean another state, and float32 another arithmetic.
        for name in ("a", "b"):
            self.loop({"always": "(<= a 1.1)"}, initial={"lower": [-1, -1], "upper": [1, 0.5]},
                      state_names=[name, "a" if name == "b" else "b"])
            if name == "a":
                self.ask(path, "--checkpoint", "names.json", "--most-cells", "3", code=4)
        self.assert_refused("BF3018", "reach", path, "--checkpoint", "names.json", says=["demands"])
        path = self.loop({"always": "(<= x[0] 1.1)"}, initial={"lower": [-1, -1], "upper": [1, 0.5]})
        self.ask(path, "--semantics", "float32", "--checkpoint", "float.json", "--most-cells", "3", code=4)
        for option in (("--flush-to-zero",), ("--libm-ulps", "2")):
            self.assert_refused("BF3018", "reach", path, "--semantics", "float32", *option, "--checkpoint", "float.json")
        self.assert_refused("BF3018", "reach", path, "--checkpoint", "float.json", says=["--semantics"])
        nothing = self.loop()
        self.assert_refused("BF3020", "reach", nothing, "--checkpoint", "none.json", says=["nothing to keep"])
        self.assertNotIn("none.json", self.names())
        path = self.loop({"always": "(<= x[0] 1.1)"}, initial={"lower": [-1, -1], "upper": [1, 0.5]})
        # So small a tree is done before parts are dealt out: the first has all of it.
        for part in range(3):
            self.ask(path, "--part", f"{part}/3", "--save-part", f"part{part}.json", code=4 if part else 0)
        output, _ = self.run_tool("merge", "part0.json", "part1.json", "part2.json")
        self.assertTrue(output.startswith("verified"), output)
        self.assert_refused("BF3019", "merge", "part0.json", "part1.json")
        self.change("cells.json", lambda file: file["state"]["roots"].append(file["state"]["roots"][0]))
        self.assert_refused("BF3017", "reach", path, "--checkpoint", "cells.json")

    def test_what_is_given_is_not_chosen(self):
        path = self.loop({"always": "(<= x[0] 1.1)"}, initial={"lower": [-1, -1], "upper": [1, 0.5]})
        for order, substeps in ((1, 8), (3, 2)):
            found = self.ask(path, "--order", str(order), "--substeps", str(substeps))
            self.assertEqual((found["answer"], found["order"], found["substeps"]), ("verified", order, substeps))
        self.assertEqual(self.ask(path, "--order", "1", "--timeout", "10", code=None)["order"], 1)

    def test_a_monitor_has_no_answer(self):
        path = self.loop({"always": "(<= x[0] 1.5)"})
        for option in (["--json"], ["--plot", "t.svg"], ["--checkpoint", "c.json"], ["--cells", "4"]):
            _, errors = self.run_tool("reach", path, "-o", "monitor.cpp", *option, code=2)
            self.assertIn(option[0], errors)
        self.assertNotIn("monitor.cpp", self.names())

    def test_more_cells_make_narrower_tubes(self):
        def width(found):
            return sum(high - low for low, high in found["tube"][-1]["state"])
        for requirements in ([], [{"always": "(<= x[0] 2)"}]):
            path = self.loop(*requirements, initial={"lower": [-1, -1], "upper": [1, 0.5]})
            one, more = self.ask(path), self.ask(path, "--cells", "6")
            self.assertEqual(one["answer"], more["answer"])
            self.assertEqual(len(more["leaves"]), 8)
            self.assertLess(width(more), width(one))

    def change(self, name, edit):
        file = json.loads((self.work / name).read_text())
        edit(file)
        self.write(name, file)

    def test_text(self):
        path = self.loop({"always": "(<= x[0] 2)"}, state_names=["place", "speed"])
        output, _ = self.run_tool("reach", path)
        self.assertTrue(output.startswith("verified: every start"), output)
        self.assertRegex(output, r"\nat 2 s +lower +upper\nplace ")
        self.assertRegex(output, r"\nproof +tubes of \d+ cell")
        output, errors = self.run_tool("reach", path, "--never", "(<= place 0.7)", "--verbose", code=3)
        self.assertTrue(output.startswith("falsified: a trajectory"), output)
        self.assertIn("requirement  never (<= place 0.7)", output)
        self.assertRegex(errors, "reach: falsified")

    def test_plots(self):
        self.run_tool("reach", self.loop({"always": "(<= x[0] 2)"}), "--plot", "tube.svg", "--plot", "tube.html")
        self.assertIn("<svg", (self.work / "tube.svg").read_text())
        self.assertIn("<html", (self.work / "tube.html").read_text())
        _, errors = self.run_tool("reach", "reach.json", "--plot", "tube.png", code=2)
        self.assertIn(".svg or .html", errors)

    def test_signals_and_the_end_of_the_time(self):
        path = self.loop({"at": 0, "holds": "(<= x[0] 1.1)"})
        begin = time.monotonic()
        found = self.ask(path, "--timeout", "1", code=4)
        self.assertLess(time.monotonic() - begin, 50)
        self.assertLess(found["seconds"], 25)
        # A horizon whose tubes and simulations take far longer, each by itself.
        path = self.loop({"always": "(<= x[0] 1.2)"}, steps=300000)
        begin = time.monotonic()
        self.run_tool("reach", path, "--timeout", "1", code=4)
        self.assertLess(time.monotonic() - begin, 60)
        for number in (signal.SIGINT, signal.SIGTERM):
            process = self.start("reach", path, "--timeout", "1000", "--plot", "tube.svg")
            self.wait_for_handler(process, number)
            time.sleep(0.5)
            process.send_signal(number)
            self.assertEqual(process.communicate(timeout=100), ("", ""))
            self.assertEqual(process.returncode, 128 + number)
            self.assertNotIn("tube.svg", self.names())

    def test_delays_and_observers(self):
        eye = tensor("E", (2, 2), (1, 0, 0, 1))
        write_model(self.work / "o.onnx", network([node("MatMul", ["x", "E"], "y")], [eye], {"x": 2}, {"y": 2}))
        plain = self.ask(self.loop({"always": "(<= x[0] 1.5)"}))
        seen = self.ask(self.loop({"always": "(<= x[0] 1.5)"}, observer="o.onnx"))
        for (a, b), (c, d) in zip(plain["tube"][-1]["state"], seen["tube"][-1]["state"]):
            self.assertAlmostEqual(a, c, 2)
            self.assertAlmostEqual(b, d, 2)
        late = self.ask(self.loop({"always": "(<= x[0] 1.5)"}, delayed=True, first_control=[0.1]))
        first = next(p for p in late["tube"] if p["period"] == 0 and p["control"])
        low, high = first["control"][0]
        self.assertTrue(0.1 - 1e-15 < low <= 0.1 <= high < 0.1 + 1e-15, (low, high))


class ReachErrors(ReachCase):
    def test_usage(self):
        _, errors = self.run_tool("reach", code=2)
        self.assertIn("QUESTION is required, or --plant, --box and --steps", errors)
        _, errors = self.run_tool("reach", self.loop(), "--plant", "f.onnx", code=2)
        self.assertIn("excludes", errors)
        _, errors = self.run_tool("reach", "reach.json", "--at", "(<= x[0] 1)", code=2)
        self.assertIn("expected T:C", errors)

    def test_refusals(self):
        self.assert_refused("BF3001", "reach", "none.json")
        for code, more in (("BF3601", {"controller": "f.onnx"}), ("BF3602", {"plant": "pushed.onnx"}),
                           ("BF3603", {"period": 0}), ("BF3604", {"delayed": True}), ("BF3606", {"state_names": ["a", "a"]}),
                           ("BF1001", {"controller": "none.onnx"})):
            self.assert_refused(code, "reach", self.loop(**more))
        for code, requirement in (("BF3605", {"at": 3, "holds": "true"}), ("BF3610", {"always": "(<= x[0]"}),
                                  ("BF3611", {"always": "(<= x[5] 1)"})):
            self.assert_refused(code, "reach", self.loop(requirement), says=["requirements[0]"])
        self.assert_refused("BF3605", "reach", self.loop(), "--within", "1:true", says=["--within"])
        self.assert_refused("BF3611", "reach", self.loop(), "--always", "(<= y 1)", says=["--always:1:5"])
        self.write("b.json", {"lower": [0.9], "upper": [1.1]})
        self.assert_refused("BF3601", "reach", "--plant", "turn.onnx", "--kind", "discrete", "--steps", "3", "--box",
                            "b.json", says=["b.json"])

    def test_the_schema_knows_what_is_read(self):
        for path in (MODELS / "examples").rglob("*.json"):
            question = json.loads(path.read_text())
            if "plant" in question:
                self.assertEqual(QUESTIONS.problems(question, "question"), [], path)
        question = json.loads(self.loop({"always": "true"}).read_text())
        for wrong in ({"steps": 0}, {"kind": "sampled"}, {"period": "soon"}, {"box": {}}, {"initial": {"lower": [1]}},
                      {"requirements": [{"always": "true", "never": "true"}]}, {"requirements": [{"at": 1}]}):
            self.assertNotEqual(QUESTIONS.problems({**question, **wrong}, "question"), [], wrong)
            self.write("wrong.json", {**question, **wrong})
            self.run_tool("reach", "wrong.json", code=1)
        for key in QUESTIONS.root["$defs"]["question"]["required"]:
            self.write("wrong.json", {k: v for k, v in question.items() if k != key})
            self.assert_refused("BF3004", "reach", "wrong.json", says=[f"key '{key}' is missing"])


if __name__ == "__main__":
    unittest.main()

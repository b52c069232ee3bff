"""--junit and --sarif of verify and certify: what pipelines read. Run as cli_test.py is."""

import json
import os
import sys
import unittest
import xml.etree.ElementTree

sys.dont_write_bytecode = True
from harness import CONTROLLER, MODELS, TINY, Case  # noqa: E402

PROPERTIES = MODELS / "properties"
FILES = ("--junit", "j.xml", "--sarif", "s.json")


class Gate(Case):
    def suite(self):
        """Counts of the suite, and of each case its name and the element that says what is wrong."""
        suite = xml.etree.ElementTree.parse(self.work / "j.xml").getroot()
        counts = [int(suite.get(name)) for name in ("tests", "failures", "errors", "skipped")]
        cases = [(case.get("name"), [each.tag for each in case if each.tag != "system-out"])
                 for case in suite]
        return counts, cases

    def results(self):
        """Rule, level and place of each result."""
        run = json.loads((self.work / "s.json").read_text())["runs"][0]
        rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
        self.assertEqual(len(set(rules)), len(rules))
        found = []
        for result in run["results"]:
            self.assertEqual(rules[result["ruleIndex"]], result["ruleId"])
            place = result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
            found.append((result["ruleId"], result["level"], place.rsplit("/", 1)[-1]))
        return found

    def test_one_question(self):
        self.run_tool("verify", TINY, PROPERTIES / "tiny_holds.vnnlib", *FILES)
        self.assertEqual(self.suite(), ([1, 0, 0, 0], [("tiny_holds.vnnlib", [])]))
        self.assertEqual(self.results(), [])
        self.run_tool("verify", TINY, PROPERTIES / "tiny_violated.vnnlib", *FILES, code=3)
        self.assertEqual(self.suite(), ([1, 1, 0, 0], [("tiny_violated.vnnlib", ["failure"])]))
        self.assertEqual(self.results(), [("bf-aot/falsified", "error", "tiny_violated.vnnlib")])

    def test_what_ends_it_is_in_the_files(self):
        """An earlier run's answer must not stand in them."""
        broken = self.write("broken.vnnlib", "(assert")
        self.run_tool("verify", TINY, broken, *FILES, code=1)
        self.assertEqual(self.suite(), ([1, 0, 1, 0], [("broken.vnnlib", ["error"])]))
        self.assertEqual(self.results(), [("bf-aot/error", "error", "broken.vnnlib")])
        wide = PROPERTIES / "collision_avoidance_6x50_wide.vnnlib"
        self.run_tool("verify", CONTROLLER, wide, "--timeout", "0.001", *FILES, code=5)
        self.assertEqual(self.suite(), ([1, 1, 0, 0], [(wide.name, ["failure"])]))
        self.assertEqual(self.results(), [("bf-aot/timeout", "error", wide.name)])
        self.run_tool("verify", CONTROLLER, wide, "--timeout", "60", *FILES)
        self.assertEqual((self.suite()[0], self.results()), ([1, 0, 0, 0], []))

    def test_many_questions(self):
        os.symlink(TINY, self.work / "tiny.onnx")
        for name in ("holds", "violated"):
            os.symlink(PROPERTIES / f"tiny_{name}.vnnlib", self.work / f"{name}.vnnlib")
        self.write("broken.vnnlib", "(assert")
        self.write("i.csv", "tiny.onnx,holds.vnnlib,60\ntiny.onnx,violated.vnnlib,60\n")

        def many(results, *more, code):
            self.run_tool("verify", "--instances", "i.csv", "--results", results, *FILES, *more,
                          code=code)

        # Without --must-hold "violated" is an answer as good as any.
        many("a.csv", code=0)
        self.assertEqual(self.suite()[0], [2, 0, 0, 0])
        self.assertEqual(self.results(), [])
        many("b.csv", "--must-hold", code=3)
        self.assertEqual(self.suite(), ([2, 1, 0, 0], [("holds.vnnlib", []),
                                                       ("violated.vnnlib", ["failure"])]))
        self.assertEqual(self.results(), [("bf-aot/falsified", "error", "violated.vnnlib")])
        many("b.csv", "--must-hold", code=3)  # from the results
        self.assertEqual(self.suite()[0], [2, 1, 0, 0])
        self.write("i.csv", "tiny.onnx,holds.vnnlib,60\ntiny.onnx,broken.vnnlib,60\n")
        many("c.csv", "--must-hold", code=1)
        self.assertEqual(self.suite()[0], [2, 0, 1, 0])
        self.write("i.csv", "tiny.onnx,holds.vnnlib,60\n")
        many("d.csv", "--must-hold", code=0)

    def test_certified_accuracy(self):
        self.write("x.csv", "a,b,label\n0.1,0.2,0\n0.3,0.4,1\n")
        command = ("certify", TINY, "--data", "x.csv", "--eps", "0,0.1", *FILES)
        self.run_tool(*command)
        self.assertEqual(self.suite()[0], [2, 0, 0, 0])
        self.run_tool(*command, "--min-certified", "0.5,1", code=3)
        counts, cases = self.suite()
        self.assertEqual(counts, [2, 1, 0, 0])
        self.assertEqual(cases[1], ("certified accuracy, eps 0.1", ["failure"]))
        self.assertEqual(self.results(), [("bf-aot/missed", "error", "tiny.onnx")])
        self.write("x.csv", "a,b,label\n0.1,0.2,7\n")
        self.run_tool(*command, code=1)
        self.assertEqual(self.suite()[0], [1, 0, 1, 0])

    def test_parts_have_no_answer(self):
        self.run_tool("verify", TINY, PROPERTIES / "tiny_holds.vnnlib", "--part", "0/2",
                      "--save-part", "p", "--junit", "j.xml", code=2)


if __name__ == "__main__":
    unittest.main()

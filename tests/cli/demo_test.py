"""bf-aot demo: the README's story without a clone. Run as cli_test.py is."""

import os
import re
import sys
import unittest

sys.dont_write_bytecode = True
from harness import CONTROLLER, MODELS, Case  # noqa: E402

MOST_OF_ITS_LIBRARY = 2  # times what compiling its library takes
FILES = {"avoid.onnx": CONTROLLER,
         "head_on.json": MODELS / "boxes/collision_avoidance_6x50.json",
         "rows.json": MODELS / "specs/collision_avoidance_6x50.json",
         "head_on.vnnlib": MODELS / "properties/collision_avoidance_6x50.vnnlib",
         "wide.vnnlib": MODELS / "properties/collision_avoidance_6x50_wide.vnnlib"}


def processor_seconds(call, *arguments):
    """The time that the programs took which call(*arguments) started; its result."""
    def now():
        times = os.times()
        return times.children_user + times.children_system

    before = now()
    result = call(*arguments)
    return now() - before, result


class Demo(Case):
    def commands(self, output):
        return [line.split()[2:] for line in output.splitlines() if line.startswith("$ bf-aot ")]

    def test_the_story(self):
        output, errors = self.run_tool("demo")
        self.assertEqual(errors, "")
        folder = self.work / "bf-aot-demo"
        for name, source in FILES.items():
            self.assertEqual((folder / name).read_bytes(), source.read_bytes(), name)
        for name in ("avoid.cpp", "avoid.h", "libavoid.a", "avoid.json"):
            self.assertTrue((folder / name).exists(), name)
        self.assertEqual(len(re.findall("^verified$", output, re.MULTILINE)), 2)
        rows = output.split("\nrow ")[1].splitlines()[1:3]
        for row in rows:  # as the text below says
            self.assertGreater(float(row.split()[1]), 0)
        self.assertLessEqual(max(map(len, output.splitlines()[2:-1])), 88)

    def test_its_commands_are_those_of_a_shell(self):
        demo, (output, _) = processor_seconds(self.run_tool, "demo", "here")
        commands = self.commands(output)
        self.assertEqual(len(commands), 4)
        self.work = self.work / "here"
        made = (self.work / "avoid.cpp").read_bytes()
        (self.work / "avoid.cpp").unlink()
        for words in commands:
            last, (said, _) = processor_seconds(self.run_tool, *words)
            first = said.splitlines()[0]
            self.assertIn(first, output)
        self.assertEqual((self.work / "avoid.cpp").read_bytes(), made)
        self.assertLess(demo, MOST_OF_ITS_LIBRARY * last)

    def test_again_and_beside_other_files(self):
        folder = self.work / "d"
        self.run_tool("demo", folder)
        self.run_tool("demo", folder)  # what it wrote is written again
        (folder / "rows.json").write_text("mine")
        self.assert_refused("BF3110", "demo", folder, says=("rows.json", "another folder"))
        file = self.write("file", "")
        self.assert_refused("BF3101", "demo", file)

    def test_without_a_compiler(self):
        nothing = self.folder / "nothing"
        nothing.mkdir()
        self.environment = dict(self.environment, PATH=str(nothing), CXX="")
        output, _ = self.run_tool("demo")
        self.assertIn("--no-library", output)
        self.assertIn("bf-aot doctor", output)
        self.assertTrue((self.work / "bf-aot-demo/avoid.cpp").exists())
        self.assertFalse((self.work / "bf-aot-demo/libavoid.a").exists())


if __name__ == "__main__":
    unittest.main()

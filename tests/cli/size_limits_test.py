"""--max-flash and --max-ram: nothing is written beyond them; what the hint names keeps them."""

import json
import re
import shutil
import sys
import unittest

sys.dont_write_bytecode = True
from harness import CONTROLLER, TINY, Case  # noqa: E402

BOARD = "cortex-m4" if shutil.which("arm-none-eabi-g++") else "host"
REFUSED = [CONTROLLER, "--project", "refused", "--target", BOARD]
BYTES = r"(\d+) bytes of flash and (\d+) of RAM"


class SizeLimits(Case):
    def refused(self, *arguments):
        """The words of the hint, and the bytes that it names."""
        before = self.names()
        _, errors = self.run_tool(*arguments, code=1)
        self.assertEqual(self.names(), before)
        self.assertIn("error BF3106: --max-", errors)
        takes, named = errors.split("hint: ")
        self.assertRegex(takes, "this verifier takes " + BYTES)
        return named, [int(number) for number in re.search(BYTES, named).groups()]

    def stated(self, folder):
        """The bytes of flash and of RAM that a project states."""
        readme = (self.work / folder / "README.md").read_text()

        def sum_of(row):
            return sum(map(int, re.findall(rf"^\| {row}[^|]* \| (\d+) \|$", readme, re.MULTILINE)))
        return [sum_of("flash: "), sum_of("RAM: all")]

    def project(self, folder, *options):
        self.run_tool(CONTROLLER, "--project", folder, "--target", BOARD, *options)
        return self.stated(folder)

    def test_within(self):
        flash, ram = self.project("free")
        kept = self.project("kept", "--max-flash", flash, "--max-ram", ram)
        self.assertEqual(kept, [flash, ram])

    def test_success_says_the_sizes_that_were_asked_for(self):
        flash, ram = self.project("free")
        options = ["--target", BOARD, "--max-flash", "1M", "--max-ram", 2 * ram]
        output, _ = self.run_tool(CONTROLLER, "--project", "said", *options)
        self.assertIn(f"max-flash {flash} of {1 << 20} bytes\n", output)
        self.assertIn(f"max-ram   {ram} of {2 * ram} bytes\n", output)
        output, _ = self.run_tool(CONTROLLER, "-o", "x.cpp", "--no-library", *options)
        self.assertRegex(output, r"max-ram   \d+ of \d+ bytes, without code and stack\n")

    def test_smaller_workspace_of_the_method(self):
        _, ram = self.project("free")
        limits = ["--max-ram", ram - 1000]
        hint, named = self.refused(*REFUSED, *limits)
        self.assertIn("--method crown --memory-budget ", hint)
        options = hint.split(" takes ")[0].split()
        self.assertEqual(self.project("smaller", *options, *limits), named)
        self.assertLessEqual(named[1], ram - 1000)

    def test_looser_method(self):
        _, ram = self.project("ibp", "--method", "ibp")
        hint, named = self.refused(*REFUSED, "--max-ram", ram)
        self.assertTrue(hint.startswith("--method ibp takes "), hint)
        self.assertEqual(named[1], ram)

    def test_smallest(self):
        for option, at in (("--max-flash", 0), ("--max-ram", 1)):
            hint, named = self.refused(*REFUSED, option, 100)
            self.assertTrue(hint.startswith("the smallest is --method ibp: "), hint)
            kept = self.project("smallest" + str(at), "--method", "ibp", option, named[at])
            self.assertEqual(kept, named)
            self.refused(*REFUSED, "--method", "ibp", option, named[at] - 1)

    def test_without_a_compiler(self):
        self.run_tool(TINY, "-o", "x.cpp", "--no-library", "--target", "cortex-m7")
        planned = json.loads((self.work / "x.json").read_text())
        workspace = planned["arena"]["planned_bytes"]
        self.run_tool(TINY, "-o", "x.cpp", "--no-library", "--target", "cortex-m7", "--max-ram",
                      workspace)
        _, errors = self.run_tool(TINY, "-o", "y.cpp", "--no-library", "--target", "cortex-m7",
                                  "--max-ram", workspace - 1, code=1)
        self.assertIn("without its code and its stack", errors)

    def test_sizes(self):
        _, errors = self.run_tool(TINY, "-o", "x.cpp", "--max-ram", "-1", code=2)
        self.assertIn("--max-ram", errors)
        self.run_tool(TINY, "-o", "x.cpp", "--max-ram", "1M", "--max-flash", "2M")
        self.assertIn("x.h", self.names())


if __name__ == "__main__":
    unittest.main()

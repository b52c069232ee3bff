"""The qualification kit says of each requirement how its tests ended.

    qualification_test.py SOURCE_FOLDER BUILD_FOLDER
"""

import hashlib
import pathlib
import subprocess
import sys
import tempfile
import unittest
import xml.sax.saxutils

sys.dont_write_bytecode = True
SOURCE, BUILD = (pathlib.Path(path).resolve() for path in sys.argv[1:3])
sys.path.insert(0, str(SOURCE / "tests/tools"))
import requirements  # noqa: E402

ENDS = {"passed": "", "failed": "<failure/>", "skipped": '<skipped message="a tool is missing"/>'}


def names():
    """A name for each trace, as ctest has names."""
    traces = {trace for number, each in requirements.requirements(SOURCE) if number for trace in each["traces"]}
    return [trace.replace("\\", "").replace(".*", "_x").replace("$", "").replace("(cortex|riscv|powerpc)", "cortex")
            for trace in sorted(traces)]


class Kit(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.work = pathlib.Path(self.folder.name)
        self.out = self.work / "kit"

    def make(self, ends, code):
        """ends: how each test ended, by name; in two files, as of two runs."""
        runs = []
        for part in range(2):
            runs.append(self.work / f"run{part}.xml")
            cases = [f"<testcase name={xml.sax.saxutils.quoteattr(name)}>{ENDS[end]}</testcase>"
                     for name, end in list(ends.items())[part::2]]
            runs[-1].write_text(f"<testsuite>{''.join(cases)}</testsuite>")
        done = subprocess.run([sys.executable, "-B", SOURCE / "tests/tools/qualification.py", SOURCE, BUILD, self.out,
                               *runs], stdout=subprocess.PIPE, text=True, check=False)
        self.assertEqual(done.returncode, code, done.stdout)
        return (self.out / "verification.md").read_text()

    def row(self, text, number):
        return next(line for line in text.splitlines() if line.startswith(f"| {number} |"))

    def test_all_passed(self):
        text = self.make({name: "passed" for name in names()}, 0)
        self.assertIn("that are not shown: none", text)
        self.assertNotIn("none of", text)
        files = {path.name for path in self.out.iterdir()}
        self.assertLessEqual({"plan.md", "requirements.md", "requirements.json", "verification.md", "configuration.md",
                              "known_problems.md", "results_1.xml", "results_2.xml", "SHA256SUMS"}, files)
        for line in (self.out / "SHA256SUMS").read_text().splitlines():
            digest, name = line.split()
            self.assertEqual(hashlib.sha256((self.out / name).read_bytes()).hexdigest(), digest)
        self.assertIn("| system |", (self.out / "configuration.md").read_text())

    def test_a_failure_is_named(self):
        ends = {name: "passed" for name in names()} | {"Guard.KnowsWhatIsExpected": "failed"}
        text = self.make(ends, 1)
        self.assertIn("- failed: `Guard.KnowsWhatIsExpected`", text)
        self.assertIn("that are not shown: V5, T3.", text)
        self.assertIn("| 1 | 1 | 0 |", self.row(text, "T3"))

    def test_a_requirement_whose_tests_were_skipped_is_not_shown(self):
        ends = {name: "skipped" if name.startswith("tools.misra") else "passed" for name in names()}
        text = self.make(ends, 1)
        self.assertIn("that are not shown: E7.", text)

    def test_a_trace_that_did_not_run_is_named(self):
        ends = {name: "passed" for name in names() if not name.startswith("differential")}
        self.assertIn("none of `differential", self.row(self.make(ends, 0), "B2"))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])

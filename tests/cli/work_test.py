"""The manifest's "work": calls and turns of loops as gcov counts them in the generated code."""

import collections
import json
import os
import re
import shutil
import subprocess
import sys
import unittest

sys.dont_write_bytecode = True
from harness import CONTROLLER, MODELS, SOURCE, TINY, Case  # noqa: E402

CXX = os.environ["CXX"].split()
IS_GCC = b"Free Software" in subprocess.run([*CXX, "--version"], capture_output=True, check=False).stdout

PROGRAM = r"""
#include "net.h"

alignas(NET_WORKSPACE_ALIGN) static unsigned char workspace[NET_WORKSPACE_BYTES];

static const float kLower[][NET_INPUTS] = {LOWER};
static const float kUpper[][NET_INPUTS] = {UPPER};

int main() {
  float low[NET_OUTPUTS], high[NET_OUTPUTS];
  for (unsigned i = 0; i < sizeof kLower / sizeof kLower[0]; ++i)
    if (net_bounds(kLower[i], kUpper[i], low, high, workspace, sizeof workspace) != BF_OK) return 1;
  return 0;
}
"""


@unittest.skipUnless(IS_GCC and shutil.which("gcov"), "gcov is GCC's")
class Work(Case):
    def run_boxes(self, boxes):
        """Lines of net_bounds, each with how often it was executed."""
        def rows(side):
            return ", ".join("{" + ", ".join(f"{float(x).hex()}f" for x in box[side]) + "}"
                             for box in boxes)
        program = PROGRAM.replace("LOWER}", rows("lower") + "}").replace("UPPER}", rows("upper") + "}")
        self.write("main.cpp", program)
        for command in ([*CXX, "-std=c++17", "-O0", "--coverage", f"-I{SOURCE / 'runtime'}", "-c",
                         "net.cpp", "-o", "net.o"],
                        [*CXX, "-std=c++17", f"-I{SOURCE / 'runtime'}", "main.cpp", "net.o",
                         "--coverage", "-o", "program"],
                        ["./program"]):
            subprocess.run(command, cwd=self.work, check=True, capture_output=True)
        report = subprocess.run(["gcov", "--json-format", "--stdout", "net.gcda"], cwd=self.work,
                                check=True, capture_output=True).stdout
        source = (self.work / "net.cpp").read_text().splitlines()
        counted = collections.Counter()
        for file in json.loads(report.splitlines()[0])["files"]:
            if file["file"] != "net.cpp":
                continue
            for line in file["lines"]:
                if line.get("function_name") == "net_bounds":
                    counted[line["line_number"]] = max(counted[line["line_number"]], line["count"])
        self.assertTrue(counted)
        return [(source[number - 1], count) for number, count in sorted(counted.items())]

    def check(self, model, boxes, *options):
        self.run_tool(model, "--name", "net", "-o", "net.cpp", "--no-library", "--target", "generic",
                      *options)
        manifest = json.loads((self.work / "net.json").read_text())
        work = next(entry for entry in manifest["work"] if entry["entry"] == "bounds")
        lines = self.run_boxes(boxes)
        fewer = 0
        for call in work["calls"]:
            pattern = re.compile(rf"(^|[^\w:]){re.escape(call['function'])}[<(]")
            found = [count for text, count in lines if pattern.search(text)]
            self.assertTrue(found, f"{call['function']} is not called:\n{lines}")
            most = call["at_most"] * len(boxes)
            if call["always"]:
                self.assertEqual(sum(found), most, call)
            self.assertLessEqual(sum(found), most, call)
            fewer += sum(found) < most
        called = {match[1] for text, _ in lines
                  for match in re.finditer(r"(bf::[a-z_]+)[<(]", text)}
        listed = {call["function"] for call in work["calls"]}
        self.assertLessEqual(called - listed, {"bf::check_box", "bf::check_workspace",
                                               "bf::float_environment_ok", "bf::fuses_products",
                                               "bf::overlap"})
        loops = [count for text, count in lines if "for (int first = 0" in text]
        self.assertEqual(len(loops), sum("tiles of" in loop["over"] for loop in work["loops"]))
        return fewer

    def boxes_of(self, name):
        golden = json.loads((MODELS / "golden" / f"{name}.json").read_text())
        return [{side: box[side] for side in ("lower", "upper")} for box in golden["boxes"]]

    def test_methods(self):
        boxes = self.boxes_of("collision_avoidance_6x50")
        for method, less in (("ibp", False), ("crown-ibp", False), ("crown", True),
                             ("alpha-crown", True)):
            fewer = self.check(CONTROLLER, boxes, "--method", method)
            self.assertEqual(fewer > 0, less, f"{method}: {fewer} functions less often")

    def test_all_neurons_open(self):
        """On a box where every neuron is unstable, every count is reached."""
        boxes = [{"lower": [-1e3] * 5, "upper": [1e3] * 5}]
        self.assertEqual(self.check(CONTROLLER, boxes, "--method", "crown"), 0)

    def test_operations_against_instructions(self):
        """At least what every weight must be multiplied by."""
        self.run_tool(CONTROLLER, "--name", "net", "-o", "net.cpp", "--no-library", "--method", "ibp")
        manifest = json.loads((self.work / "net.json").read_text())
        found = {entry["entry"]: entry["operations"] for entry in manifest["work"]}
        weights = 5 * 50 + 5 * 50 * 50 + 50 * 5
        self.assertGreaterEqual(found["bounds"], 4 * weights)
        self.assertGreaterEqual(found["evaluate"], 2 * weights)
        self.assertLess(found["bounds"], 5 * weights)

    def test_floats_are_not_bounded(self):
        """Functions and relaxations take operations in double beside those of the layers."""
        output, _ = self.run_tool(CONTROLLER, "--name", "net", "--project", "p", "--no-library")
        manifest = json.loads((self.work / "p" / "net.json").read_text())
        readme = (self.work / "p" / "README.md").read_text()
        for entry in manifest["work"]:
            self.assertIs(entry["operations_bounded"], False)
            self.assertIn(f"about {entry['operations']} float operations on weights", readme)
        for text in (output, readme):
            self.assertNotRegex(text, r"at most \d+ (float )?operations")


VERIFY = r"""
#include "net.h"

alignas(NET_WORKSPACE_ALIGN) static unsigned char workspace[NET_VERIFY_WORKSPACE_BYTES];

static const float kLower[][NET_INPUTS] = {LOWER};
static const float kUpper[][NET_INPUTS] = {UPPER};

int main() {
  for (unsigned i = 0; i < sizeof kLower / sizeof kLower[0]; ++i) {
    bf_result result = {};
    if (net_verify(kLower[i], kUpper[i], &result, workspace, sizeof workspace) != BF_OK) return 1;
  }
  return 0;
}
"""


@unittest.skipUnless(IS_GCC and shutil.which("gcov"), "gcov is GCC's")
class VerifyWork(Case):
    """Calls of net_spec_bounds in net_verify: no more than the manifest has, and on some box as many."""

    def calls(self, boxes):
        def rows(side):
            return ", ".join("{" + ", ".join(f"{float(x).hex()}f" for x in box[side]) + "}" for box in boxes)
        self.write("main.cpp", VERIFY.replace("LOWER}", rows("lower") + "}").replace("UPPER}", rows("upper") + "}"))
        for command in ([*CXX, "-std=c++17", "-O0", "--coverage", f"-I{SOURCE / 'runtime'}", "-c", "net.cpp"],
                        [*CXX, "-std=c++17", f"-I{SOURCE / 'runtime'}", "main.cpp", "net.o", "--coverage", "-o", "program"],
                        ["./program"]):
            subprocess.run(command, cwd=self.work, check=True, capture_output=True)
        report = subprocess.run(["gcov", "--json-format", "--stdout", "net.gcda"], cwd=self.work, check=True,
                                capture_output=True).stdout
        counts = [function["execution_count"] for file in json.loads(report.splitlines()[0])["files"]
                  for function in file["functions"] if function["name"] == "net_spec_bounds"]
        for stale in self.work.glob("*.gcda"):
            stale.unlink()
        return counts[0]

    def test_every_point(self):
        """A condition that neither bounds nor points decide takes every call that there is."""
        box = {"lower": [-1, -1], "upper": [1, 1]}
        outputs = self.run_json("run", TINY, "--box", self.write("b.json", box))["outputs"]
        low, high = outputs["lower"][0], outputs["upper"][0]
        value = low + 0.37 * (high - low)
        lines = [f"(declare-const X_{i} Real)(assert (>= X_{i} -1))(assert (<= X_{i} 1))" for i in range(2)]
        lines += [f"(declare-const Y_{i} Real)" for i in range(2)]
        self.write("p.vnnlib", "\n".join([*lines, f"(assert (>= Y_0 {value!r}))(assert (<= Y_0 {value!r}))"]))
        self.run_tool(TINY, "--name", "net", "-o", "net.cpp", "--no-library", "--target", "generic",
                      "--property", "p.vnnlib")
        work = {entry["entry"]: entry for entry in json.loads((self.work / "net.json").read_text())["work"]}
        (call,) = work["verify"]["calls"]
        self.assertEqual(call, {"function": "net_spec_bounds", "at_most": 6, "always": False})
        self.assertEqual(self.calls([box]), 1 + 1 + 4, "the box, its centre and its corners")
        self.assertEqual(self.calls([{"lower": [5, 5], "upper": [6, 6]}]), 0, "outside of the property's box")
        once = next(work[name]["operations"] for name in work if name.startswith("spec"))
        self.assertGreaterEqual(work["verify"]["operations"], 6 * once)


class IntegerWork(Case):
    """Every step runs once, and the sums of products alone are no more than the operations."""

    def test_steps(self):
        sys.path.insert(0, str(SOURCE / "tests/embedded"))
        import quantised_networks
        path, _ = quantised_networks.write("quantised_dense", self.work)
        self.run_tool(path, "--name", "net", "-o", "net.cpp", "--no-library", "--target", "cortex-m0plus", "--method", "ibp")
        manifest = json.loads((self.work / "net.json").read_text())
        self.assertEqual(manifest["arithmetic"], "integer")
        (entry,) = manifest["work"]
        self.assertIs(entry["operations_bounded"], True)
        weights = 64 * 64 * 2 + 64 * 10
        self.assertGreaterEqual(entry["operations"], 4 * weights)
        self.assertLess(entry["operations"], 8 * weights)
        source = (self.work / "net.cpp").read_text()
        body = source[source.index("void run("):]
        for call in entry["calls"]:
            if " or " in call["function"]:
                continue
            self.assertTrue(call["always"])
            self.assertEqual(len(re.findall(rf"{re.escape(call['function'])}[<(]", body)), call["at_most"], call)


if __name__ == "__main__":
    unittest.main()

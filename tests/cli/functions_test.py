"""The manifest lists the functions that the generated file exports, and no others.

    BF_AOT=.. BF_SOURCE_DIR=.. python3 functions_test.py -v Functions
"""

import itertools
import json
import os
import re
import subprocess
import unittest

from harness import Case, CONTROLLER, SOURCE, TINY

METHODS = ["ibp", "crown", "alpha-crown"]
PROPERTY = SOURCE / "models/properties/collision_avoidance_6x50_wide.vnnlib"
SPEC = SOURCE / "models/specs/collision_avoidance_6x50.json"
OPTIONS = {
    "plain": [],
    "several": ["--batch", "16", "--parallel", "3", "--spec", str(SPEC)],
    "decide": ["--batch", "16", "--property", str(PROPERTY), "--decide"],
    "neurons": ["--property", str(PROPERTY), "--decide=neurons"],
    "shared": ["--batch", "8", "--parallel", "2", "--property", str(PROPERTY), "--decide"],
    "cached": ["--cache", "reuse-ibp,cache-bounds,reuse-alpha", "--property", str(PROPERTY)],
}
DECLARED = re.compile(r"^(?:bf_status |const bf_model_info \*|const char \*)(\w+)\(", re.MULTILINE)
DEFINED = re.compile(r"^(?:bf_status |const bf_model_info\* |const char\* )(\w+)\(", re.MULTILINE)
KERNEL = re.compile(r"^BF_KERNEL (\w+)\(", re.MULTILINE)


def without_comments(text):
    return re.sub(r"/\*.*?\*/|//[^\n]*", "", text, flags=re.DOTALL)


class Functions(Case):
    def generated(self):
        for method, (name, options) in itertools.product(METHODS, OPTIONS.items()):
            if (method, name) == ("ibp", "neurons"):  # it knows no intervals before ReLUs
                continue
            folder = self.work / f"{method}_{name}"
            folder.mkdir()
            if method != "alpha-crown":
                options = [option.replace(",reuse-alpha", "") for option in options]
            self.run_tool(CONTROLLER, "--method", method, "--target", "x86-64-v4", *options,
                          "--no-library", "-o", folder / "v.cpp")
            yield (folder, json.loads((folder / "v.json").read_text()),
                   without_comments((folder / "v.h").read_text()),
                   without_comments((folder / "v.cpp").read_text()))

    def test_manifest_is_the_file(self):
        seen = set()
        for folder, manifest, header, source in self.generated():
            with self.subTest(folder.name):
                names = [each["name"] for each in manifest["functions"]]
                self.assertEqual(names, DECLARED.findall(header))
                self.assertEqual(names, DEFINED.findall(source))
                seen.update(name.removeprefix(manifest["model"]["name"] + "_") for name in names)
                printed = {each["function"] for each in manifest["kernels"]
                           if each["code"] == "printed"}
                self.assertEqual(printed, set(KERNEL.findall(source)))
                for each in manifest["kernels"]:
                    self.assertEqual(each["code"] == "routine", each["function"] is None)
        self.assertGreaterEqual(len(seen), 24)

    def test_statuses_are_a_closed_set(self):
        """What code may return is listed, and NAME_status_text has a text for it: that of bf.h."""
        texts = dict(re.findall(r"case (BF_\w+):\s+return \"([^\"]+)\";",
                                (SOURCE / "runtime/bf.cpp").read_text().split("bf_verdict_text")[0]))
        returned = re.compile(r"(?:return|[?:]) (BF_[A-Z_0-9]+)\b")
        seen = set()
        for folder, manifest, _, source in self.generated():
            with self.subTest(folder.name):
                listed = {status for each in manifest["functions"] for status in each["statuses"]}
                body = re.search(r"_status_text\(bf_status status\) {\n(.*?)\n}\n", source,
                                 re.DOTALL).group(1)
                self.assertEqual(dict(re.findall(r"case (BF_\w+):\s+return\s+\"([^\"]+)\";", body)),
                                 {status: texts[status] for status in listed})
                included = set(re.findall(r'#include "(bf/[^"]+)"', source))
                for path in list(included):  # all that is included, directly or not
                    pending = [path]
                    while pending:
                        text = (SOURCE / "runtime" / pending.pop()).read_text()
                        new = set(re.findall(r'#include "(bf/[^"]+)"', text)) - included
                        included |= new
                        pending += new
                code = source + "".join(without_comments((SOURCE / "runtime" / path).read_text())
                                        for path in included)
                statuses = set(returned.findall(code)) & set(texts)
                # The runtime checks boxes of semantics float32 in a function that others do not call.
                self.assertLessEqual(statuses - {"BF_FLOAT32_RANGE"}, listed)
                seen |= listed
        # Hosts of devices alone return the other one.
        self.assertEqual(set(texts) - seen, {"BF_FLOAT32_RANGE", "BF_DEVICE_FAILED"})

    def test_status_text(self):
        """In C, also of numbers that are no status."""
        self.run_tool(TINY, "--name", "tiny", "--semantics", "float32", "-o", "v.cpp")
        self.write("main.c", """#include <stdio.h>
#include "v.h"
int main(void) {
  int i;
  float low[2] = {1, 1}, high[2] = {0, 0}, y[9], z[9];
  for (i = -1; i < 40; ++i) printf("%d %s\\n", i, tiny_status_text((bf_status)i));
  return tiny_bounds(low, high, y, z, NULL, 0) != BF_NULL_ARGUMENT;
}
""")
        compiler = os.environ.get("CC", "cc")
        subprocess.run([compiler, "-std=c99", "-Wall", "-Wextra", "-I", SOURCE / "runtime", "main.c",
                        "libv.a", "-o", "main"], cwd=self.work, check=True)
        lines = subprocess.run([self.work / "main"], stdout=subprocess.PIPE, check=True,
                               text=True).stdout.splitlines()
        self.assertEqual(lines[1], "0 ok")
        self.assertEqual(lines[2], "1 null pointer argument")
        unknown = [line.split()[0] for line in lines if line.endswith(" no status of this verifier")]
        self.assertEqual(unknown, ["-1", *map(str, range(8, 18)), *map(str, range(20, 40))])

    def test_bytes_are_the_macros(self):
        for folder, manifest, header, _ in self.generated():
            prefix = manifest["model"]["name"].upper() + "_"
            macros = dict(re.findall(r"#define (\w+) +(?:\\\n +)?(.+)", header))

            def value(name):
                words = re.sub(r"[A-Z_]\w+", lambda word: str(value(word.group())), macros[name])
                return eval(words, {})  # sums of numbers

            for each in manifest["functions"]:
                memory = each["workspace"]
                for kind in ("", "worker_"):
                    if memory and kind + "macro" in memory:
                        self.assertEqual(value(prefix + memory[kind + "macro"]),
                                         memory[kind + "bytes"], f"{folder}: {each['name']}")


if __name__ == "__main__":
    unittest.main()

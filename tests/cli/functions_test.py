"""The manifest lists the functions that the generated file exports, and no others.

    BF_AOT=.. BF_SOURCE_DIR=.. python3 functions_test.py -v Functions
"""

import itertools
import json
import re
import unittest

from harness import Case, CONTROLLER, SOURCE

METHODS = ["ibp", "crown", "alpha-crown"]
PROPERTY = SOURCE / "models/properties/collision_avoidance_6x50_wide.vnnlib"
SPEC = SOURCE / "models/specs/collision_avoidance_6x50.json"
OPTIONS = {
    "plain": [],
    "several": ["--batch", "16", "--parallel", "3", "--spec", str(SPEC)],
    "decide": ["--batch", "16", "--property", str(PROPERTY), "--decide"],
    "shared": ["--batch", "8", "--parallel", "2", "--property", str(PROPERTY), "--decide"],
    "cached": ["--cache", "reuse-ibp,cache-bounds,reuse-alpha", "--property", str(PROPERTY)],
}
DECLARED = re.compile(r"^(?:bf_status |const bf_model_info \*)(\w+)\(", re.MULTILINE)
DEFINED = re.compile(r"^(?:bf_status |const bf_model_info\* )(\w+)\(", re.MULTILINE)
KERNEL = re.compile(r"^BF_KERNEL (\w+)\(", re.MULTILINE)


def without_comments(text):
    return re.sub(r"/\*.*?\*/|//[^\n]*", "", text, flags=re.DOTALL)


class Functions(Case):
    def generated(self):
        for method, (name, options) in itertools.product(METHODS, OPTIONS.items()):
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
        self.assertGreaterEqual(len(seen), 23)

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

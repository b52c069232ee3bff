"""The tool's own bill of materials names every library that the program loads.

    python3 sbom_test.py SOURCE_FOLDER BUILD_FOLDER PROGRAM
"""

import json
import pathlib
import re
import subprocess
import sys
import unittest

sys.dont_write_bytecode = True
SOURCE, BUILD, PROGRAM = map(pathlib.Path, sys.argv[1:4])
sys.path.insert(0, str(SOURCE / "tests/cli"))
from spdx import check_document  # noqa: E402

PACKAGES = {"protobuf": "protobuf", "protobuf-lite": "protobuf", "fmt": "fmt", "z": "zlib",
            "gmp": "gmp", "gmpxx": "gmp", "mpfr": "mpfr", "zip": "libzip", "nettle": "nettle",
            "png16": "libpng"}
# Of the compiler and the system.
SYSTEM = {"stdc++", "m", "gcc_s", "c", "pthread", "dl", "c++", "c++abi", "asan", "ubsan"}


class ToolSbom(unittest.TestCase):
    def setUp(self):
        self.bill = json.loads((BUILD / "bf-aot.spdx.json").read_text())

    def test_form(self):
        packages = check_document(self, self.bill)
        self.assertEqual(packages["bf-aot"]["licenseDeclared"], "Apache-2.0")
        for name, package in packages.items():
            self.assertRegex(package["versionInfo"], r"^\d+(\.\d+)+", name)

    def test_names_what_is_loaded(self):
        needed = subprocess.run(["readelf", "-d", PROGRAM], check=True, text=True,
                                stdout=subprocess.PIPE).stdout
        libraries = set(re.findall(r"\(NEEDED\).*\[lib([^\]]+?)\.so", needed))
        self.assertIn("mpfr", libraries)
        names = {package["SPDXID"]: package["name"] for package in self.bill["packages"]}
        loaded = {names[each["relatedSpdxElement"]] for each in self.bill["relationships"]
                  if each["relationshipType"] == "DEPENDS_ON"}
        self.assertLessEqual({PACKAGES[each] for each in libraries - SYSTEM}, loaded)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])

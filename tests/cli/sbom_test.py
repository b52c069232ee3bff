"""--sbom: a bill of materials whose digests, codes and references hold.

    BF_AOT=.. BF_SOURCE_DIR=.. python3 sbom_test.py -v Sbom
"""

import hashlib
import json
import re
import sys
import unittest

sys.dont_write_bytecode = True
from harness import CONTROLLER, SOURCE, TINY, Case  # noqa: E402
from spdx import FILE, check_document  # noqa: E402

try:  # it has the schema of CycloneDX
    from cyclonedx.schema import SchemaVersion
    from cyclonedx.validation import json as validation
except ImportError:
    validation = None


class Sbom(Case):
    def bill(self, model, *options):
        self.run_tool(model, *options, "--sbom", "bill.json")
        return json.loads((self.work / "bill.json").read_text())

    def files_of(self, bill, package):
        files = {each["SPDXID"]: each for each in bill["files"]}
        return {files[each["relatedSpdxElement"]]["fileName"].removeprefix("./"):
                files[each["relatedSpdxElement"]]
                for each in bill["relationships"]
                if each["spdxElementId"] == package["SPDXID"] and
                each["relationshipType"] == "CONTAINS" and each["relatedSpdxElement"] in files}

    def check_files(self, bill, package, folder):
        """Digests of the files, and the code over all of them. Returns their names."""
        digests = []
        found = self.files_of(bill, package)
        for name, each in found.items():
            for key in FILE:
                self.assertIn(key, each)
            content = (folder / name).read_bytes()
            self.assertEqual({c["algorithm"]: c["checksumValue"] for c in each["checksums"]},
                             {"SHA1": hashlib.sha1(content).hexdigest(),
                              "SHA256": hashlib.sha256(content).hexdigest()})
            digests.append(hashlib.sha1(content).hexdigest())
        code = hashlib.sha1("".join(sorted(digests)).encode()).hexdigest()
        self.assertEqual(package["packageVerificationCode"]["packageVerificationCodeValue"], code)
        return sorted(found)

    def relation(self, bill, name, other):
        ids = {package["name"]: package["SPDXID"] for package in bill["packages"]}
        return [each["relationshipType"] for each in bill["relationships"]
                if (each["spdxElementId"], each["relatedSpdxElement"]) == (ids[name], ids[other])]

    def test_verifier_with_library(self):
        bill = self.bill(TINY, "--name", "small", "-o", "v.cpp")
        packages = check_document(self, bill)
        self.assertEqual(self.check_files(bill, packages["small"], self.work),
                         ["libv.a", "v.cpp", "v.h", "v.json"])
        runtime = self.check_files(bill, packages["bf-aot runtime"], SOURCE / "runtime")
        self.assertIn("bf/core/bounds.h", runtime)
        self.assertIn("bf.cpp", runtime)
        self.assertEqual(self.relation(bill, "small", "bf-aot runtime"), ["CONTAINS"])
        self.assertEqual({each["licenseConcluded"] for each in
                          self.files_of(bill, packages["bf-aot runtime"]).values()}, {"0BSD"})
        model = packages["tiny.onnx"]
        self.assertEqual(model["checksums"], [{"algorithm": "SHA256", "checksumValue":
                                               hashlib.sha256(TINY.read_bytes()).hexdigest()}])
        self.assertEqual(self.relation(bill, "small", "tiny.onnx"), ["GENERATED_FROM"])
        self.assertEqual(self.relation(bill, "bf-aot", "small"), ["BUILD_TOOL_OF"])
        self.assertEqual(self.relation(bill, "C++ compiler", "small"), ["BUILD_TOOL_OF"])
        manifest = json.loads((self.work / "v.json").read_text())
        self.assertEqual(packages["C++ compiler"]["versionInfo"], manifest["build"]["compiler"])

    def test_source_alone(self):
        bill = self.bill(CONTROLLER, "--name", "c", "-o", "v.cpp", "--no-library")
        packages = check_document(self, bill)
        self.assertEqual(self.check_files(bill, packages["c"], self.work)[0], "v.cpp")
        self.assertNotIn("C++ compiler", packages)
        self.assertNotIn("bf.cpp", self.check_files(bill, packages["bf-aot runtime"],
                                                    SOURCE / "runtime"))
        self.assertEqual(self.relation(bill, "c", "bf-aot runtime"), ["DEPENDS_ON"])

    def test_single_file(self):
        bill = self.bill(TINY, "--name", "t", "-o", "v.cpp", "--no-library", "--single-file")
        check_document(self, bill)
        self.assertEqual(self.relation(bill, "t", "bf-aot runtime"), ["CONTAINS"])
        source = (self.work / "v.cpp").read_text()
        packages = check_document(self, bill)
        named = set(re.findall(r"^// ---- (bf\S+)$", source, re.MULTILINE)) | {"bf.h"}
        self.assertEqual(set(self.files_of(bill, packages["bf-aot runtime"])), named)

    def test_project_brings_its_runtime(self):
        bill = self.bill(TINY, "--name", "t", "--project", "demo")
        packages = check_document(self, bill)
        names = self.check_files(bill, packages["t"], self.work / "demo")
        there = sorted(path.relative_to(self.work / "demo").as_posix()
                       for path in (self.work / "demo").rglob("*") if path.is_file())
        self.assertEqual(names, there)
        self.assertNotIn("bf-aot runtime", packages)

    def test_time_is_asked_for(self):
        first = self.bill(TINY, "-o", "v.cpp", "--no-library")
        self.assertEqual(first["creationInfo"]["created"], "1970-01-01T00:00:00Z")
        self.environment["SOURCE_DATE_EPOCH"] = "1700000000"
        second = self.bill(TINY, "-o", "v.cpp", "--no-library")
        self.assertEqual(second["creationInfo"].pop("created"), "2023-11-14T22:13:20Z")
        del first["creationInfo"]["created"]
        self.assertEqual(first, second)
        for nonsense in ("", "now", "-5", "99999999999999999999"):
            self.environment["SOURCE_DATE_EPOCH"] = nonsense
            self.assertEqual(self.bill(TINY, "-o", "v.cpp", "--no-library")["creationInfo"]["created"],
                             "1970-01-01T00:00:00Z")

    def test_other_contents_have_another_name(self):
        names = {self.bill(TINY, "-o", "v.cpp", "--no-library", "--method",
                           method)["documentNamespace"] for method in ("ibp", "crown")}
        self.assertEqual(len(names), 2)


class CycloneDx(Case):
    def bill(self, *options):
        self.run_tool(TINY, "--name", "small", *options, "--sbom", "bill.cdx.json")
        bill = json.loads((self.work / "bill.cdx.json").read_text())
        self.assertEqual((bill["bomFormat"], bill["specVersion"], bill["version"]), ("CycloneDX", "1.6", 1))
        if validation is not None:  # the nightly command's Python has it
            validator = validation.JsonStrictValidator(SchemaVersion.V1_6)
            self.assertIsNone(validator.validate_str(json.dumps(bill)))
        self.assertRegex(bill["serialNumber"], r"^urn:uuid:[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$")
        return bill

    def check_files(self, parts, folder):
        """Digests of the files. Returns their names."""
        files = [part for part in parts if part["type"] == "file"]
        for each in files:
            content = (folder / each["name"]).read_bytes()
            self.assertEqual({one["alg"]: one["content"] for one in each["hashes"]},
                             {"SHA-1": hashlib.sha1(content).hexdigest(),
                              "SHA-256": hashlib.sha256(content).hexdigest()})
        return {each["name"] for each in files}

    def check_references(self, bill):
        """Each is given once, and each that is named is given."""
        text = json.dumps(bill)
        given = re.findall(r'"bom-ref": "([^"]+)"', text)
        self.assertEqual(len(given), len(set(given)))
        for each in bill["dependencies"]:
            self.assertLessEqual({each["ref"], *each["dependsOn"]}, set(given))

    def test_library_holds_the_runtime(self):
        bill = self.bill("-o", "v.cpp")
        self.check_references(bill)
        verifier = bill["metadata"]["component"]
        self.assertEqual(self.check_files(verifier["components"], self.work), {"libv.a", "v.cpp", "v.h", "v.json"})
        runtime = next(part for part in verifier["components"] if part["type"] == "library")
        self.assertEqual(runtime["licenses"], [{"license": {"id": "0BSD"}}])
        self.assertIn("bf/core/bounds.h", self.check_files(runtime["components"], SOURCE / "runtime"))
        model = verifier["pedigree"]["ancestors"][0]
        self.assertEqual((model["type"], model["name"]), ("machine-learning-model", "tiny.onnx"))
        self.assertEqual(model["hashes"], [{"alg": "SHA-256", "content":
                                            hashlib.sha256(TINY.read_bytes()).hexdigest()}])
        tools = {tool["name"]: tool["version"] for tool in bill["metadata"]["tools"]["components"]}
        manifest = json.loads((self.work / "v.json").read_text())
        self.assertEqual(tools["C++ compiler"], manifest["build"]["compiler"])

    def test_source_depends_on_the_runtime(self):
        bill = self.bill("-o", "v.cpp", "--no-library")
        self.check_references(bill)
        self.assertEqual(bill["dependencies"], [{"ref": "verifier", "dependsOn": ["runtime"]}])
        self.assertEqual([part["name"] for part in bill["components"]], ["bf-aot runtime"])

    def test_time_does_not_change_the_serial_number(self):
        first = self.bill("-o", "v.cpp", "--no-library")
        self.environment["SOURCE_DATE_EPOCH"] = "1700000000"
        second = self.bill("-o", "v.cpp", "--no-library")
        self.assertEqual(second["metadata"]["timestamp"], "2023-11-14T22:13:20Z")
        self.assertEqual(first["serialNumber"], second["serialNumber"])
        other = self.bill("-o", "v.cpp", "--no-library", "--method", "ibp")
        self.assertNotEqual(first["serialNumber"], other["serialNumber"])


if __name__ == "__main__":
    unittest.main()

"""The form of SPDX documents."""

import re

# What SPDX 2.3 asks of each element; see https://spdx.github.io/spdx-spec/v2.3/.
DOCUMENT = ["spdxVersion", "dataLicense", "SPDXID", "name", "documentNamespace", "creationInfo"]
PACKAGE = ["SPDXID", "name", "downloadLocation", "filesAnalyzed", "licenseConcluded",
           "licenseDeclared", "copyrightText"]
FILE = ["SPDXID", "fileName", "checksums", "licenseConcluded", "copyrightText"]
RELATIONSHIPS = {"DESCRIBES", "CONTAINS", "DEPENDS_ON", "STATIC_LINK", "GENERATED_FROM",
                 "BUILD_TOOL_OF"}


def check_document(case, bill):
    """Form, identifiers and references of a document. Returns its packages by name."""
    for key in DOCUMENT:
        case.assertIn(key, bill)
    case.assertEqual((bill["spdxVersion"], bill["dataLicense"], bill["SPDXID"]),
                     ("SPDX-2.3", "CC0-1.0", "SPDXRef-DOCUMENT"))
    case.assertRegex(bill["documentNamespace"], r"^[a-z]+:[^#\s]+$")
    case.assertRegex(bill["creationInfo"]["created"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")
    case.assertTrue(all(re.match(r"^(Tool|Organization|Person): ", each)
                        for each in bill["creationInfo"]["creators"]))
    elements = bill["packages"] + bill.get("files", [])
    identifiers = [each["SPDXID"] for each in elements] + ["SPDXRef-DOCUMENT"]
    case.assertEqual(len(identifiers), len(set(identifiers)))
    for each in identifiers:
        case.assertRegex(each, r"^SPDXRef-[A-Za-z0-9.-]+$")
    for package in bill["packages"]:
        for key in PACKAGE:
            case.assertIn(key, package)
        case.assertEqual(package["filesAnalyzed"], "packageVerificationCode" in package)
    for each in bill["relationships"]:
        case.assertIn(each["spdxElementId"], identifiers)
        case.assertIn(each["relatedSpdxElement"], identifiers)
        case.assertIn(each["relationshipType"], RELATIONSHIPS)
    return {package["name"]: package for package in bill["packages"]}

"""Checks who includes whom: layering_test.py SOURCE_FOLDER.

Each layer may include itself and what the table below allows; see "Layers" in DESIGN.md.
"""

import pathlib
import re
import sys

# File or folder -> prefixes of what it may include. The longest matching key decides.
ALLOWED = {
    "onnx_schema/": ["onnx_schema/"],
    "frontend/": ["frontend/"],
    "frontend/import/": ["frontend/", "onnx_schema/", "google/protobuf/"],
    "planner/": ["planner/", "frontend/graph.h", "frontend/property.h", "frontend/diagnostic.h",
                 "frontend/evaluate.h", "frontend/function.h", "frontend/function_exact.h",
                 "frontend/conv_loops.h", "frontend/index_maps.h"],
    "aot/": ["aot/", "planner/", "frontend/graph.h", "frontend/property.h",
             "frontend/diagnostic.h"],
    "aot/compile.cpp": ["aot/", "planner/", "frontend/"],  # the driver
    "aot/cli/": ["aot/", "planner/", "frontend/", "runtime/"],  # the command line: drives it all
    "runtime/": ["runtime/"],
}
OURS = ("onnx_schema/", "frontend/", "planner/", "aot/", "runtime/", "google/protobuf/", "tests/")
INCLUDE = re.compile(r'^\s*#\s*include\s*["<]([^">]+)[">]', re.MULTILINE)


def allowed_for(path):
    keys = [key for key in ALLOWED if path == key or (key.endswith("/") and path.startswith(key))]
    return ALLOWED[max(keys, key=len)]


def violations_in(path, text):
    allowed = allowed_for(path)
    for included in INCLUDE.findall(text):
        if included.endswith(".pb.h") and not path.startswith("frontend/import/"):
            yield f"{path} includes {included}: protobuf stays inside frontend/import"
        elif included.startswith(OURS) and not included.startswith(tuple(allowed)):
            yield f"{path} includes {included}: only {', '.join(allowed)} are allowed"


def self_test():
    """A test that cannot fail is none."""
    bad = [
        ("planner/plan.h", '#include "aot/compile.h"'),
        ("planner/plan.h", '#include "frontend/import/importer.h"'),
        ("frontend/graph.h", '#include "planner/plan.h"'),
        ("frontend/passes/fold.cpp", '#include "onnx_schema/onnx.pb.h"'),
        ("aot/emit.cpp", '#include "frontend/import/importer.h"'),
        ("aot/compile.cpp", "# include <onnx.pb.h>"),
        ("runtime/bf.h", '#include "frontend/graph.h"'),
        ("aot/emit.cpp", '#include "tests/support/model_text.h"'),
    ]
    good = [
        ("planner/plan.h", '#include "frontend/graph.h"'),
        ("aot/compile.cpp", '#include "frontend/import/importer.h"'),
        ("frontend/import/tensors.h", '#include "onnx_schema/onnx.pb.h"'),
    ]
    missed = [case for case in bad if not list(violations_in(*case))]
    wrong = [case for case in good if list(violations_in(*case))]
    return [f"self test: {case}" for case in missed + wrong]


def main():
    root = pathlib.Path(sys.argv[1])
    found = self_test()
    count = 0
    for layer in ("onnx_schema", "frontend", "planner", "aot", "runtime"):
        for path in sorted((root / layer).rglob("*")):
            if path.suffix in (".h", ".cpp", ".c", ".cc"):
                count += 1
                found += violations_in(path.relative_to(root).as_posix(),
                                       path.read_text(encoding="utf-8"))
    if count == 0:
        found.append(f"no source files below {root}")
    print("\n".join(found))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())

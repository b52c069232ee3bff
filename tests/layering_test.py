"""Checks who includes whom: layering_test.py SOURCE_FOLDER.

Each layer may include itself and what the table below allows; see "Layers" in DESIGN.md.
"""

import pathlib
import re
import sys

# File or folder -> prefixes of what it may include, a room itself besides. The longest matching key decides.
CONTRACT = ["runtime/bf/contract/"]  # constants alone
DIAGNOSTICS = ["frontend/diagnostic.h", "frontend/check_scope.h", "frontend/float_environment.h"]
BYTES = ["frontend/read_bytes.h", "frontend/sha256.h", "frontend/gzip.h"]
FRONTEND = DIAGNOSTICS + ["frontend/graph/graph.h", "frontend/property/property.h", "frontend/property/verdict_tables.h"]
NETWORK = FRONTEND + CONTRACT + ["frontend/functions/", "frontend/graph/"]
DECIDED = ["frontend/", "planner/", "runtime/", "aot/engine/", "aot/input/", "aot/system/"]
PLAN = ["planner/plan/", "planner/machine/"] + CONTRACT
ALLOWED = {
    "onnx_schema/": ["onnx_schema/"],
    # The rooms of frontend/, from the lowest to the highest. Its own files are diagnostics, hashes and bytes.
    "frontend/": [],
    "frontend/float_environment.h": ["frontend/diagnostic.h", "runtime/bf/core/rounding.h"],  # one check of a thread's mode
    "frontend/numbers/": ["frontend/diagnostic.h"],
    "frontend/functions/": DIAGNOSTICS + ["frontend/numbers/"],
    "frontend/graph/": DIAGNOSTICS + BYTES + ["frontend/functions/function.h"],
    "frontend/property/": DIAGNOSTICS + BYTES + ["frontend/graph/", "frontend/numbers/"],
    "frontend/evaluate/": DIAGNOSTICS + ["frontend/graph/", "frontend/functions/", "frontend/numbers/"],
    "frontend/algebra/": DIAGNOSTICS + ["frontend/graph/", "frontend/functions/", "frontend/evaluate/", "frontend/numbers/"],
    "frontend/derivative/": DIAGNOSTICS + ["frontend/graph/", "frontend/functions/", "frontend/numbers/"],
    "frontend/disturbance/": DIAGNOSTICS + ["frontend/graph/", "frontend/derivative/node_maker.h"],
    "frontend/passes/": DIAGNOSTICS + ["frontend/graph/", "frontend/functions/", "frontend/evaluate/", "frontend/numbers/",
                                       "frontend/algebra/", "frontend/property/"],
    "frontend/import/": DIAGNOSTICS + BYTES + ["frontend/graph/", "frontend/functions/", "frontend/numbers/",
                                               "frontend/algebra/", "onnx_schema/", "google/protobuf/"],

    "planner/machine/": ["frontend/diagnostic.h"],
    "planner/plan/": NETWORK + PLAN,
    "planner/manifest/": NETWORK + PLAN,
    "planner/functions/": NETWORK,
    "planner/tables/": NETWORK + ["planner/functions/", "planner/tables/"],
    "planner/tuning/": FRONTEND + PLAN,
    "planner/network/": NETWORK + PLAN,
    "planner/lowering/": NETWORK + PLAN + ["planner/network/", "planner/tuning/"],
    "planner/reference/": NETWORK + PLAN + ["planner/network/"],
    "planner/entries/": NETWORK + PLAN + ["planner/network/", "planner/lowering/",
                                          "planner/reference/", "planner/manifest/", "planner/entries/",
                                          "planner/functions/float_table.h"],
    "planner/integer/": NETWORK + PLAN,
    "planner/storage/": NETWORK + PLAN,
    "planner/verify/": NETWORK + PLAN + ["planner/network/", "planner/lowering/",
                                         "planner/manifest/", "planner/verify/",
                                         "planner/functions/float_table.h"],
    "planner/cost/": NETWORK + PLAN + ["planner/network/", "planner/entries/",
                                       "planner/reference/"],
    "planner/search/": NETWORK + PLAN + ["planner/network/", "planner/lowering/",
                                         "planner/reference/", "planner/entries/",
                                         "planner/storage/", "planner/cost/"],
    "planner/": NETWORK + ["planner/"],  # planner.cpp and the passes that plan anew

    # The rooms of aot/, from the lowest to the highest.
    "aot/system/": ["frontend/diagnostic.h", "frontend/check_scope.h", "frontend/read_bytes.h"],
    "aot/input/": ["frontend/", "planner/", "aot/system/"],
    "aot/disturb/": ["frontend/diagnostic.h", "frontend/graph/model.h", "frontend/numbers/", "aot/input/", "runtime/bf/loops/"],
    "aot/emit/": FRONTEND + CONTRACT + ["frontend/source_state.h", "planner/", "runtime/bf.h"],
    "aot/build/": ["frontend/", "planner/", "runtime/bf.h", *CONTRACT, "aot/emit/", "aot/system/"],
    "aot/engine/": ["frontend/", "planner/", "runtime/", "bf/", "aot/build/", "aot/emit/", "aot/input/", "aot/system/"],
    "aot/engine/prebuilt/": ["planner/plan/", "bf/"],  # compiled for each instruction set: nothing that others share
    "aot/decide/": ["frontend/", "planner/", "runtime/", "aot/disturb/", "aot/engine/", "aot/build/", "aot/input/",
                    "aot/system/"],
    "aot/decide/tree/": DIAGNOSTICS + ["aot/engine/run/", "aot/system/"],
    "aot/decide/boxes/": DECIDED + ["aot/decide/tree/", "aot/decide/neurons/programs/"],
    "aot/decide/neurons/": DECIDED + ["aot/decide/tree/", "aot/decide/neurons/"],
    "aot/decide/property/": DECIDED + ["aot/decide/boxes/"],
    "aot/decide/search/": DECIDED + ["aot/decide/property/", "aot/decide/boxes/", "aot/decide/neurons/", "aot/decide/tree/"],
    "aot/decide/neurons/lanes/": ["runtime/bf/functions/", "aot/system/clones.h"],  # cloned for each instruction set
    "aot/artifacts/": ["frontend/", "planner/", "runtime/bf.h", "aot/build/", "aot/emit/", "aot/system/"],
    "aot/reach/": DECIDED + ["aot/build/", "aot/decide/"],
    "aot/reach/monitor/": DECIDED + ["aot/build/", "aot/emit/text/", "aot/reach/"],
    "aot/reach/show/": ["frontend/", "aot/artifacts/report/", "aot/reach/"],
    "aot/check/": [],  # certificates: nothing of the rest of the project
    "aot/prove/": ["frontend/", "aot/check/", "aot/system/", "aot/build/options/decision_options.h"],
    "aot/library/": ["frontend/", "planner/", "runtime/bf.h", "aot/artifacts/", "aot/prove/", "aot/reach/", "aot/decide/", "aot/engine/", "aot/build/",
                     "aot/disturb/", "aot/emit/", "aot/input/", "aot/system/"],
    "aot/library/python/": ["bf_aot/bf_aot.h"],
    "aot/library/c/": ["frontend/source_state.h", "aot/library/"],
    "aot/apps/": ["frontend/", "planner/", "runtime/", "aot/library/", "aot/artifacts/", "aot/prove/", "aot/reach/", "aot/decide/", "aot/disturb/",
                  "aot/engine/", "aot/build/", "aot/emit/", "aot/input/", "aot/system/"],
    "aot/cli/": ["frontend/", "planner/", "runtime/", "aot/"],

    "runtime/": ["runtime/", "bf.h", "bf/"],
    "runtime/bf/contract/": [],
    "runtime/bf/core/": ["bf.h", "bf/contract/"],
    "runtime/bf/sums/": ["bf.h", "bf/contract/", "bf/core/"],
    "runtime/bf/conv/": ["bf.h", "bf/contract/", "bf/core/", "bf/sums/"],
    "runtime/bf/dense/": ["bf.h", "bf/contract/", "bf/core/", "bf/sums/"],
    "runtime/bf/functions/": ["bf.h", "bf/contract/", "bf/core/", "bf/sums/"],
    "runtime/bf/loops/": ["bf.h", "bf/contract/", "bf/core/"],
    "runtime/bf/integer/": ["bf.h", "bf/contract/", "bf/integer/", "bf/search/property.h"],
    "runtime/bf/search/": ["bf.h", "bf/contract/", "bf/core/", "bf/functions/", "bf/sums/terms.h"],
}
# Folders that those outside of them enter by these headers.
FACES = {
    "planner/functions/": ("planner/functions/function_table.h", "planner/functions/float_table.h"),
    "planner/verify/": ("planner/verify/verify.h",),
}
OURS = ("onnx_schema/", "frontend/", "planner/", "aot/", "runtime/", "google/protobuf/", "tests/",
        "bf/")
MOST_FILES = 25  # in a folder
# Headers of C, POSIX, curses, Linux and Windows that a flat copy of one of ours could hide.
SYSTEM_HEADERS = set("""
assert complex ctype errno fenv float inttypes iso646 limits locale math setjmp signal stdalign
stdarg stdatomic stdbool stddef stdint stdio stdlib stdnoreturn string tgmath threads time uchar
wchar wctype aio cpio cpuid dirent dlfcn fcntl fmtmsg fnmatch ftw glob grp iconv langinfo libgen
mqueue ndbm netdb nl_types poll pthread pwd regex sched search semaphore spawn strings stropts
syslog tar termios trace ulimit unistd utime utmpx wordexp
alloca argz byteswap endian error execinfo features link malloc mntent paths shadow ucontext values
curses form menu panel term termcap
conio crtdbg direct intrin io malloc process share tchar winbase windef windows winnt winsock
""".split())
INCLUDE = re.compile(r'^\s*#\s*include\s*["<]([^">]+)[">]', re.MULTILINE)


def allowed_for(path):
    keys = [key for key in ALLOWED if path == key or (key.endswith("/") and path.startswith(key))]
    key = max(keys, key=len)
    return ALLOWED[key] + ([key] if re.fullmatch("(aot|frontend)/[a-z]+/", key) else [])


def violations_in(path, text):
    allowed = allowed_for(path)
    folder = path.rsplit("/", 1)[0] + "/"
    if folder.startswith("runtime/bf/"):
        folder = folder[len("runtime/"):]
    for included in INCLUDE.findall(text):
        inside = included.rsplit("/", 1)[0] + "/"
        for face, headers in FACES.items():
            if inside.startswith(face) and not folder.startswith(face) and included not in headers:
                yield f"{path} includes {included}: of {face} only {', '.join(headers)} is for others"
        if included.endswith(".pb.h") and not path.startswith("frontend/import/"):
            yield f"{path} includes {included}: protobuf stays inside frontend/import"
        elif (included.startswith(OURS) and not included.startswith(tuple(allowed))
              and included.rsplit("/", 1)[0] + "/" != folder):
            yield f"{path} includes {included}: only {', '.join(allowed)} are allowed"


def self_test():
    """A test that cannot fail is none."""
    bad = [
        ("planner/plan/plan.h", '#include "aot/build/compile.h"'),
        ("planner/plan/plan.h", '#include "frontend/import/file/importer.h"'),
        ("frontend/graph/graph.h", '#include "planner/plan/plan.h"'),
        ("frontend/passes/fold.cpp", '#include "onnx_schema/bf_aot_onnx.pb.h"'),
        ("aot/emit/calls/emit.cpp", '#include "frontend/import/file/importer.h"'),
        ("planner/plan/plan.h", '#include "planner/cost/cost_model.h"'),
        ("planner/network/layers.cpp", '#include "planner/entries/row_images.h"'),
        ("runtime/bf/core/bounds.h", '#include "bf/conv/conv_taps.h"'),
        ("aot/build/compile.cpp", "# include <bf_aot_onnx.pb.h>"),
        ("runtime/bf.h", '#include "frontend/graph/graph.h"'),
        ("runtime/bf/contract/chains.h", '#include "bf/core/bounds.h"'),
        ("planner/lowering/lowering.cpp", '#include "runtime/bf/conv/conv_taps.h"'),
        ("planner/planner.cpp", '#include "planner/verify/verify_calls.h"'),
        ("planner/planner.cpp", '#include "planner/verify/steps/verify_steps.h"'),
        ("aot/emit/interface/emit.cpp", '#include "tests/support/model_text.h"'),
        ("aot/system/files.cpp", '#include "planner/plan/plan.h"'),
        ("aot/decide/tree/tree_search.cpp", '#include "aot/decide/search/search.h"'),
        ("aot/decide/property/methods.cpp", '#include "aot/decide/search/box_search.h"'),
        ("aot/decide/search/split_search.cpp", '#include "aot/decide/request.h"'),
        ("aot/engine/run/run.cpp", '#include "aot/decide/search/bounds_and_points.h"'),
        ("aot/decide/search/bounds_and_points.cpp", '#include "aot/cli/options/options.h"'),
        ("aot/library/python/module.cpp", '#include "aot/library/state.h"'),
        ("aot/check/bounds.cpp", '#include "frontend/graph/graph.h"'),
        ("aot/check/bounds.cpp", '#include "aot/system/files.h"'),
        ("aot/prove/prover.cpp", '#include "planner/plan/plan.h"'),
    ]
    good = [
        ("planner/plan/plan.h", '#include "frontend/graph/graph.h"'),
        ("aot/build/compile.cpp", '#include "frontend/import/file/importer.h"'),
        ("planner/lowering/lowering.cpp", '#include "runtime/bf/contract/chains.h"'),
        ("frontend/import/file/tensors.h", '#include "onnx_schema/bf_aot_onnx.pb.h"'),
        ("planner/planner.cpp", '#include "planner/verify/verify.h"'),
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
    for folder in [root / layer for layer in ("frontend", "planner", "aot", "runtime", "tests/unit")]:
        for below in [folder, *folder.rglob("*")]:
            files = [path for path in below.iterdir() if path.is_file()] if below.is_dir() else []
            if len(files) > MOST_FILES:
                found.append(f"{below.relative_to(root)}: {len(files)} files, "
                             f"at most {MOST_FILES} to a folder")
    found += [f"runtime/{path.relative_to(root / 'runtime')}: the name of a system's header"
              for path in (root / "runtime").rglob("*.h") if path.stem in SYSTEM_HEADERS]
    if count == 0:
        found.append(f"no source files below {root}")
    print("\n".join(found))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())

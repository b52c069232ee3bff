"""Flags that change arithmetic are refused: flags_test.py COMPILER RUNTIME_FOLDER.

Either the compiler stops at a message of rounding.h, or the check that every entry point makes
fails when the program runs.
"""

import pathlib
import subprocess
import sys
import tempfile

PROGRAM = """#include "bf/core/rounding.h"
int main() { return bf::float_environment_ok() ? 0 : 3; }
"""

# Flags that break proofs, and whether each compiler knows them.
BROKEN = [
    ["-funsafe-math-optimizations"],
    ["-fassociative-math", "-fno-signed-zeros", "-fno-trapping-math"],
    ["-freciprocal-math"],
    ["-ffinite-math-only"],
    ["-ffast-math"],
]
OF_GCC = [["-fsingle-precision-constant"], ["-fno-signed-zeros"]]
OF_CLANG = [["-fno-honor-nans"]]
KEPT = [[], ["-ffp-contract=fast"], ["-fno-math-errno"], ["-fno-trapping-math"], ["-O3"]]


def result(compiler, runtime, folder, flags):
    """"refused" by the compiler, "failed" at run time, or "accepted"."""
    source, program = folder / "program.cpp", folder / "program"
    source.write_text(PROGRAM, encoding="utf-8")
    made = subprocess.run([compiler, "-std=c++17", "-O2", *flags, f"-I{runtime}", str(source), "-o",
                           str(program)], capture_output=True, text=True, check=False)
    if made.returncode != 0:
        return "refused" if " bf: " in made.stderr or '"bf: ' in made.stderr else made.stderr
    code = subprocess.run([str(program)], check=False).returncode
    return {0: "accepted", 3: "failed"}[code]


def main():
    compiler, runtime = sys.argv[1], sys.argv[2]
    version = subprocess.run([compiler, "--version"], capture_output=True, text=True, check=True)
    broken = BROKEN + (OF_CLANG if "clang" in version.stdout else OF_GCC)
    wrong = 0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for flags in broken + KEPT:
            found = result(compiler, runtime, folder, flags)
            if (found == "accepted") != (flags in KEPT) or found not in ("accepted", "refused",
                                                                         "failed"):
                wrong += 1
                print(f"{' '.join(flags) or 'no flags'}: {found}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

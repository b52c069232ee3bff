"""Compiles each header alone: headers_test.py SOURCE_FOLDER BUILD_FOLDER COMPILER [--jobs N] [HEADER...].

Precompiled headers hide a missing #include from every other build. Without HEADERs: all of frontend/, planner/, aot/ and
runtime/. Syntax alone is checked. Headers that include mpi.h are left out where there is none, which is said: MPI is
optional. It is looked for beside mpicxx, which names its folder.
"""

import argparse
import concurrent.futures
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

FOLDERS = ("frontend", "planner", "aot", "runtime")
# Read by one kind of compiler, or after a macro is set: their own tests compile them.
APART = ("aot/engine/prebuilt/", "runtime/board/", "runtime/host/", "runtime/bf/c/words/cuda.h",
         "runtime/bf/c/words/opencl.h", "aot/library/python/")


def headers_of(root):
    return [path.relative_to(root).as_posix() for folder in FOLDERS for path in sorted((root / folder).rglob("*.h"))]


def included_by(root, names, included):
    """The headers that include another one, themselves or by others."""
    texts = {name: (root / name).read_text(encoding="utf-8") for name in names}
    found, rest = set(), {included}
    while rest:
        pattern = re.compile("|".join(rf'#include [<"]{re.escape(each)}[>"]' for each in rest))
        rest = {name for name, text in texts.items() if name not in found and pattern.search(text)}
        found |= rest
    return found


def mpi_flags():
    """What mpicxx compiles with: nothing where there is none."""
    for ask in ("--showme:compile", "-compile_info"):  # of Open MPI, of MPICH
        if shutil.which("mpicxx"):
            told = subprocess.run(["mpicxx", ask], capture_output=True, text=True, check=False)
            if told.returncode == 0:
                return [f"-isystem{word[2:]}" for word in told.stdout.split() if word.startswith("-I")]
    return []


def complaint(command, name):
    done = subprocess.run([*command, "-include", name, "-x", "c++", os.devnull], capture_output=True, text=True,
                          check=False)
    return "" if done.returncode == 0 else f"{name} does not compile alone:\n{done.stderr[:2000]}"


def self_test(command):
    """A test that cannot fail is none."""
    with tempfile.TemporaryDirectory() as folder:
        bad = pathlib.Path(folder, "bad.h")
        bad.write_text("inline std::string name();\n", encoding="utf-8")
        assert "bad.h" in complaint(command, str(bad))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("root", type=pathlib.Path)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("compiler")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("headers", nargs="*")
    given = parser.parse_intermixed_args()
    root, build = given.root.resolve(), given.build.resolve()
    command = [given.compiler, "-fsyntax-only", "-std=c++20", f"-I{root}", f"-I{root}/runtime", f"-I{build}/generated",
               f"-isystem{build}/onnx_schema", "-isystem/usr/include/eigen3", "-DFMT_SHARED"]
    self_test(command)
    names = [name for name in given.headers or headers_of(root) if not name.startswith(APART)]
    command += mpi_flags()
    if complaint(command, "mpi.h"):
        without = included_by(root, headers_of(root), "mpi.h")
        assert "aot/cli/mpi/mpi_company.h" in without, "the search for what includes mpi.h sees nothing"
        for name in sorted(without & set(names)):
            print(f"left out: {name}, as there is no mpi.h")
        names = [name for name in names if name not in without]
    with concurrent.futures.ThreadPoolExecutor(given.jobs) as pool:
        problems = [text for text in pool.map(lambda name: complaint(command, name), names) if text]
    print("\n".join(problems) if problems else f"{len(names)} headers compile alone")
    return 1 if problems or not (names or given.headers) else 0


if __name__ == "__main__":
    sys.exit(main())

"""Compiles each header alone: headers_test.py SOURCE_FOLDER BUILD_FOLDER COMPILER [--jobs N] [HEADER...].

Precompiled headers hide a missing #include from every other build. Without HEADERs: all of frontend/, planner/, aot/ and
runtime/. Syntax alone is checked.
"""

import argparse
import concurrent.futures
import os
import pathlib
import subprocess
import sys
import tempfile

FOLDERS = ("frontend", "planner", "aot", "runtime")
# Read by one kind of compiler, or after a macro is set: their own tests compile them.
APART = ("aot/engine/prebuilt/", "runtime/board/", "runtime/host/", "aot/library/python/")


def headers_of(root):
    found = [path.relative_to(root).as_posix() for folder in FOLDERS for path in sorted((root / folder).rglob("*.h"))]
    return [name for name in found if not name.startswith(APART)]


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
    names = given.headers or headers_of(root)
    with concurrent.futures.ThreadPoolExecutor(given.jobs) as pool:
        problems = [text for text in pool.map(lambda name: complaint(command, name), names) if text]
    print("\n".join(problems) if problems else f"{len(names)} headers compile alone")
    return 1 if problems or not names else 0


if __name__ == "__main__":
    sys.exit(main())

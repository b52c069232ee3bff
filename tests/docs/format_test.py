"""Checks that clang-format would change nothing: format_test.py SOURCE_FOLDER."""

import pathlib
import shutil
import subprocess
import sys
import tempfile

FOLDERS = ["frontend", "planner", "aot", "runtime", "tests", "bench"]


def unformatted(program, files):
    """Names of the files that clang-format would change."""
    done = subprocess.run([program, "--dry-run", "--Werror", *map(str, files)],
                          capture_output=True, text=True, check=False)
    if done.returncode == 0:
        return []
    return sorted({line.split(":")[0] for line in done.stderr.splitlines()
                   if "-Wclang-format-violations" in line}) or [done.stderr]


def main():
    root = pathlib.Path(sys.argv[1]).resolve()
    program = shutil.which("clang-format-14") or shutil.which("clang-format")
    version = program and subprocess.run([program, "--version"], capture_output=True, text=True,
                                         check=True).stdout
    if not version or " 14." not in version:
        print(f"skipped: clang-format 14 is needed, here is {version or 'none'}")
        return 0
    with tempfile.TemporaryDirectory() as folder:  # a test that cannot fail is none
        bad = pathlib.Path(folder, "bad.cpp")
        bad.write_text("int   x ;\n", encoding="utf-8")
        assert unformatted(program, [bad]) == [str(bad)]
    files = [path for folder in FOLDERS for path in sorted((root / folder).rglob("*"))
             if path.suffix in (".cpp", ".h", ".c") and "generated" not in path.parts]
    assert files
    found = unformatted(program, files)
    print("\n".join(f"{name}: not as clang-format writes it" for name in found))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())

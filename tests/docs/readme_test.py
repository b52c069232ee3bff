"""Runs and compares what a page shows: readme_test.py SOURCE_FOLDER BF_AOT PAGE.

A block after `<!-- test: shell -->` is run; one after `<!-- test: python -->` by the interpreter $BF_PYTHON, which has
the package bf_aot, and one after `<!-- test: pytest -->` by its pytest; exit code 77 where there is none. One after
`<!-- test: cross -->` is run where the compiler and the emulator of a board are installed; one after `<!-- test: c -->`
or `<!-- test: cpp -->` becomes main.c or main.cpp; those of gates.py (`action`, `gitlab`, `hooks`, `jenkins`) are for
pipelines; and each run of lines (parted by `...`) of one after `<!-- test: tiny -->` must occur in the verifier of
tiny.onnx.
"""

import ctypes
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
import gates  # noqa: E402

BLOCK = re.compile(r"<!-- test: (\w+) -->\n```\w+\n(.*?)```\n", re.DOTALL)
BOARD_TOOLS = ["arm-none-eabi-g++", "qemu-system-arm"]
KEPT = re.compile(r"^(?:export )?\w+=\S*\n", re.MULTILINE)


def run(command, folder, environment):
    print(f"$ {' '.join(command)}", flush=True)
    subprocess.run(command, cwd=folder, env=environment, check=True, timeout=500)


def has_package():
    return pathlib.Path(os.environ.get("BF_PYTHON", "/none")).exists()


def has_opencl():
    try:
        library = ctypes.CDLL("libOpenCL.so.1")
    except OSError:
        return False
    count = ctypes.c_uint(0)
    return library.clGetPlatformIDs(0, None, ctypes.byref(count)) == 0 and count.value > 0


def quoted_parts(text):
    return [part.strip("\n") for part in re.split(r"^\.\.\.$", text, flags=re.MULTILINE)]


def missing_parts(block, generated):
    return [part for part in quoted_parts(block) if part not in generated]


def self_test():
    """A test that cannot fail is none."""
    assert missing_parts("a\nb\n...\nc\n", "x\na\nb\ny\nc\n") == []
    assert missing_parts("a\nb\n", "a\nx\nb\n") == ["a\nb"]


def main():
    self_test()
    source, program = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
    blocks = BLOCK.findall((source / sys.argv[3]).read_text(encoding="utf-8"))
    if any(kind in ("python", "pytest") for kind, _ in blocks) and not has_package():
        print("skipped: there is no Python with the package bf_aot")
        return 77
    if any("--device opencl" in text for _, text in blocks) and not has_opencl():
        print("skipped: no OpenCL platform is installed, as pocl-opencl-icd is")
        return 77
    problems = [] if blocks else [f"{sys.argv[3]}: no block is marked"]
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        for name in ("models", "runtime", "aot"):
            (folder / name).symlink_to(source / name)
        (folder / "build/demo").mkdir(parents=True)
        (folder / "build/demo/aot").symlink_to(program.parent)
        (folder / "build/demo/include").symlink_to(program.parent.parent / "include")
        environment = dict(os.environ, XDG_CACHE_HOME=str(folder / "cache"))
        tiny = ""
        if any(kind == "tiny" for kind, _ in blocks):
            run([str(program), "models/tiny.onnx", "--method", "ibp", "--lowering", "generic",
                 "--target", "x86-64-v4", "--no-library", "-o", "tiny.cpp"], folder, environment)
            tiny = (folder / "tiny.cpp").read_text(encoding="utf-8")
        shell = ""  # what a reader's shell keeps from block to block
        for kind, text in blocks:
            if kind in ("c", "cpp"):
                (folder / f"main.{kind}").write_text(text, encoding="utf-8")
            elif kind == "cross" and not all(map(shutil.which, BOARD_TOOLS)):
                print(f"not run, without {' or '.join(BOARD_TOOLS)}:\n{text}")
            elif kind == "python":
                (folder / "main.py").write_text(text, encoding="utf-8")
                run([os.environ["BF_PYTHON"], "main.py"], folder, environment)
            elif kind == "pytest":
                (folder / "test_page.py").write_text(text, encoding="utf-8")
                run([os.environ["BF_PYTHON"], "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_page.py"],
                    folder, environment)
            elif kind in gates.KINDS:
                if gates.yaml is None:
                    print(f"not run, without PyYAML:\n{text}")
                    continue
                known = {**environment, "PATH": f"{program.parent}{os.pathsep}{environment['PATH']}"}
                problems += gates.KINDS[kind](text, source, folder, known)
            elif kind in ("shell", "cross"):
                run(["bash", "-euo", "pipefail", "-c", shell + text], folder, environment)
                shell += "".join(KEPT.findall(text))
            else:
                problems += [f"not in tiny.cpp:\n{part}" for part in missing_parts(text, tiny)]
    print("\n".join(problems))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())

"""libbf_aot.so by its C interface: c_library_test.py LIBRARY SOURCE CC CXX PROTOC INCLUDES.. [--modules PYTHON].

From C90, C++, Python by ctypes and, where rustc is there, Rust; beside an onnx.proto with a protobuf of its own, in
each order of linking. With --modules, or $BF_RUNTIMES_PYTHON, also beside onnx, ONNX Runtime and PyTorch in one
process, in every order of loading, as far as that Python has them.
"""

import itertools
import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(1, str(pathlib.Path(__file__).resolve().parents[1] / "cli/device"))
from commands import run  # noqa: E402
from false_cuda import false_cuda  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent / "c_library"
C_FLAGS = "-std=c90 -Wall -Wextra -Wpedantic -Wstrict-prototypes -Werror".split()
CPP_FLAGS = "-std=c++20 -Wall -Wextra -Wpedantic -Werror".split()
OTHERS = ["onnx", "onnxruntime", "torch"]


def expect(text, *patterns):
    for pattern in patterns:
        if not re.search(pattern, text, re.MULTILINE):
            raise SystemExit(f"no {pattern!r} in\n{text}")
    return text


def names_of(library):
    return {line.split()[-1].split("@")[0] for line in run("nm", "-D", "--defined-only", library).splitlines()}


def declared(header):
    return set(re.findall(r"\b(bf_aot_\w+)\(", header.read_text()))


def floats_of(text):
    """The two ends of an interval, as float32."""
    return [struct.pack("f", float(word)) for word in re.search(r"\[(.*), (.*)\]", text).groups()]


def others_in(python, library, models, expected):
    """One process with bf-aot and each other user of protobuf, loaded before and after, and with all in every order."""
    there = [name for name in OTHERS
             if subprocess.run([python, "-c", f"import {name}"], capture_output=True, check=False).returncode == 0]
    print("beside", *there)
    orders = [[name] for name in there] + [["+" + name] for name in there]
    orders += [[*order[:before], *("+" + name for name in order[before:])]
               for order in itertools.permutations(there) if len(there) > 1 for before in range(len(there) + 1)]
    print(len(orders), "orders")
    for order in orders:
        expect(run(python, "-B", HERE / "main.py", library, models, *order), re.escape(expected), "^BF1001$")
    return there


def main():
    words = sys.argv[1:]
    python = os.environ.get("BF_RUNTIMES_PYTHON")
    if "--modules" in words:
        at = words.index("--modules")
        python = words[at + 1]
        del words[at:at + 2]
    library, source = (pathlib.Path(word).resolve() for word in words[:2])
    cc, cxx, protoc, *folders = words[2:]
    models = source / "models"
    includes = [f"-I{pathlib.Path(folder).resolve()}" for folder in folders]
    link = [library, f"-Wl,-rpath,{library.parent}"]

    functions = declared(source / "aot/library/c/bf_aot.h")
    shown = names_of(library) - {"BF_AOT_1"}
    if functions != shown:
        raise SystemExit(f"header and library differ in {sorted(functions ^ shown)}")
    expect(run("readelf", "-d", library), r"soname: \[libbf_aot\.so\.1\]")

    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        run(cc, *C_FLAGS, *includes, HERE / "main.c", *link, "-o", folder / "c")
        said = expect(run(folder / "c", models, folder), "^64 inputs, 10 outputs, 1 tensor", "^BF3503 box 0",
                      "^falsified at ", "^no certificate: .*time$", r"^robustness 0, 3, margins [0-9.]+, -", "^BF1001 ")
        if shutil.which("gcc") and shutil.which("g++"):
            environment = dict(os.environ)
            false_cuda(folder, environment)
            expect(run(folder / "c", models, folder, "cuda", env=environment), r"^there: \[",
                   "^BF3502 boxes", "^BF3503 box 1, input 7")
        else:
            print("skipped: boxes in the memory of a device, there is no gcc or no g++")
        expected = re.search("^output 0: .*", run(sys.executable, "-B", HERE / "main.py", library, models),
                             re.MULTILINE).group()
        print(said + expected)
        if shutil.which("rustc"):
            run("rustc", "-O", HERE / "main.rs", "-o", folder / "rust", "-C", f"linker={cc}",
                *(f"-Clink-arg={word}" for word in link))
            if floats_of(run(folder / "rust", models)) != floats_of(expected):
                raise SystemExit(f"Rust has other bounds than Python, {expected}")
        else:
            print("skipped: Rust, there is no rustc")

        text = (source / "onnx_schema/bf_aot_onnx.proto").read_text()
        own = text.replace("package bf_aot.onnx;", "package onnx;").replace("option optimize_for = LITE_RUNTIME;", "")
        (folder / "onnx.proto").write_text(own)
        run(protoc, "--cpp_out=.", "onnx.proto", cwd=folder)
        for path in (folder / "onnx.pb.cc", HERE / "beside.cpp"):
            flags = CPP_FLAGS if path.stem == "beside" else ["-std=c++20"]
            run(cxx, *flags, "-I.", *includes, "-c", path, "-o", f"{path.stem}.o", cwd=folder)
        for order in ([*link, "-lprotobuf"], ["-lprotobuf", *link]):
            run(cxx, "beside.o", "onnx.pb.o", *order, "-o", "beside", cwd=folder)
            expect(run("./beside", models / "tiny.onnx", cwd=folder),
                   r"^own: 1, onnx.ModelProto, [1-9]\d* nodes; bf_aot: 2 inputs$")
        if python and not others_in(python, library, models, expected):
            raise SystemExit(f"{python} has none of {OTHERS}")
    return 0


if __name__ == "__main__":
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
    sys.exit(main())

"""The library beside other code made from an onnx.proto: schema_test.py BUILD SOURCE CXX PROTOC [LINKER FLAGS].

The other schema has the standard's package, onnx, and file name, and protobuf's full runtime, as in libonnx.
"""

import pathlib
import re
import shlex
import sys
import tempfile

sys.dont_write_bytecode = True
from commands import run  # noqa: E402

LIBRARIES = "-lprotobuf -lprotobuf-lite -lfmt -lz -lnettle -lmpfr -lgmpxx -lgmp -pthread".split()
EXPECTED = ("own: 1, onnx.ModelProto, ir {ir}, {nodes} nodes, {size} bytes\n"
            "bf_aot: 2 inputs, 2 outputs, 12 numbers\n")
OURS = re.compile(r"((vtable|typeinfo|typeinfo name|VTT|guard variable) for )?(bf_aot::|bf(_\w+)?(::|$))")


def stray_symbols(library):
    """Names that another object could define, too, or mean another thing by."""
    text = run("nm", "-C", "--defined-only", "--extern-only", "--no-sort", library)
    names = re.findall(r"^[0-9a-f]+ ([A-Zuv]) (.*)$", text, re.MULTILINE)
    if len(names) < 1000:
        raise SystemExit(f"nm names {len(names)} symbols of {library}")
    # What headers of the standard library, protobuf and others define is weak: any copy is the same.
    return sorted({name for kind, name in names if kind not in "VWuv" and not OURS.match(name)
                   or re.search(r"(?<!bf_aot::)\bonnx::", name)})


def main():
    build, source, compiler, protoc = (pathlib.Path(word) for word in sys.argv[1:5])
    flags = [word for text in sys.argv[5:] for word in shlex.split(text)]
    library = build / "aot/libbf_aot.a"
    stray = stray_symbols(library)
    if stray:
        print(f"{len(stray)} symbols of {library} have no namespace of ours:", *stray[:50], sep="\n  ")
        return 1
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        text = (source / "onnx_schema/bf_aot_onnx.proto").read_text()
        own = text.replace("package bf_aot.onnx;", "package onnx;").replace("option optimize_for = LITE_RUNTIME;", "")
        assert own.count("package onnx;") == 1 and "LITE" not in own
        (folder / "onnx.proto").write_text(own)
        run(protoc, "--cpp_out=.", "onnx.proto", cwd=folder)
        for path in (folder / "onnx.pb.cc", source / "tests/package/schema/main.cpp"):
            run(compiler, "-std=c++20", "-c", "-I.", f"-I{build}/include", path, "-o", f"{path.stem}.o", cwd=folder)
        run("ar", "rc", "libown.a", "onnx.pb.o", cwd=folder)
        model = source / "models/tiny.onnx"
        said = set()
        for order in (["onnx.pb.o", library], [library, "onnx.pb.o"], ["libown.a", library], [library, "libown.a"]):
            run(compiler, "main.o", *order, *flags, *LIBRARIES, "-o", "main", cwd=folder)
            said.add(run("./main", model, cwd=folder))
        if len(said) != 1 or not re.fullmatch(EXPECTED.format(ir=r"\d+", nodes="[1-9]", size=r"\d{3,}"), said.pop()):
            print("the program says:", *said, sep="\n")
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

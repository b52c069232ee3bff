"""Model.compile, code and report: the files are those of the program, and they compile."""

import ctypes
import shutil
import subprocess

import numpy as np
import pytest

import bf_aot

CXX = shutil.which("c++")


def program_files(program, folder, model, *options, suffix="cpp"):
    subprocess.run([program, str(model), *options, "--no-library", "-o", str(folder / f"v.{suffix}")],
                   check=True, stdout=subprocess.DEVNULL)
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize("name, options, arguments", [
    ("tiny", ["--method", "ibp", "--target", "cortex-m4"],
     {"method": "ibp", "target": "cortex-m4"}),
    ("collision_avoidance_6x50", ["--target", "x86-64-v3", "--batch", "4", "--name", "avoid"],
     {"target": "x86-64-v3", "batch": 4, "name": "avoid"}),
    ("tiny", ["--target", "generic", "--semantics", "float32", "--single-file"],
     {"target": "generic", "semantics": "float32", "single_file": True}),
    ("tiny", ["--target", "x86-64-v4", "--dispatch"], {"target": "x86-64-v4", "dispatch": True}),
])
def test_one_answer_of_program_and_package(program, models, tmp_path, name, options, arguments):
    path = models / f"{name}.onnx"
    expected = program_files(program, tmp_path, path, *options)
    made = bf_aot.load(path).code("v", **arguments)
    assert sorted(made) == sorted(expected)
    for each in expected:
        assert made[each] == expected[each], each


@pytest.mark.parametrize("target, suffix", [("opencl", "cl"), ("cuda", "cu")])
@pytest.mark.parametrize("items", [None, 1])
def test_code_for_devices_is_that_of_the_program(program, models, tmp_path, tiny, target, suffix, items):
    asked = [] if items is None else ["--items", str(items)]
    expected = program_files(program, tmp_path, models / "tiny.onnx", "--target", target, *asked, suffix=suffix)
    assert tiny.code("v", target=target, items=items) == expected
    (tmp_path / "other").mkdir()
    paths = tiny.compile(tmp_path / "other" / f"v.{suffix}", items=items)  # the name says the target
    assert {path.name: path.read_bytes() for path in paths} == expected
    with pytest.raises(bf_aot.Error, match=f"BF3112.*--target {target}"):
        tiny.compile(tmp_path / "other" / "w.cpp", target=target)
    with pytest.raises(bf_aot.Error, match="BF3112.*--items 1"):
        tiny.code(items=1)
    with pytest.raises(bf_aot.Error, match="BF3501.*device"):
        tiny.code(target=target, device="opencl")


def test_properties_reach_the_code(program, models, tmp_path, tiny):
    path = models / "properties/tiny_cases.vnnlib"
    expected = program_files(program, tmp_path, models / "tiny.onnx", "--target", "generic",
                             "--property", str(path), "--decide")
    made = tiny.code("v", target="generic", property=path, decide=True)
    assert made["v.cpp"] == expected["v.cpp"] and made["v.h"] == expected["v.h"]
    y = bf_aot.outputs(2)
    written = tiny.code("v", target="generic",
                        property=bf_aot.Property([0, 0], [1, 1], [y[0] >= 9]))
    assert b"tiny_verify(" in written["v.h"]


@pytest.mark.skipif(CXX is None, reason="there is no C++ compiler")
@pytest.mark.parametrize("single_file", [False, True])
def test_files_compile_and_answer_as_the_package(models, tmp_path, tiny, single_file):
    paths = tiny.compile(tmp_path / "monitor.cpp", method="ibp", target="generic",
                         single_file=single_file)
    assert [path.name for path in paths] == ["monitor.cpp", "monitor.h", "monitor.json"]
    sources = [str(tmp_path / "monitor.cpp")]
    if not single_file:
        sources.append(str(bf_aot.include() / "bf.cpp"))
    subprocess.run([CXX, "-std=c++17", "-O1", "-shared", "-fPIC", f"-I{bf_aot.include()}",
                    f"-I{tmp_path}", *sources, "-o", str(tmp_path / "monitor.so")], check=True)
    bounds = ctypes.CDLL(str(tmp_path / "monitor.so")).tiny_bounds
    header = (tmp_path / "monitor.h").read_text()
    assert "tiny_bounds(" in header
    ends = [np.array(each, np.float32) for each in ([-1, -0.5], [0.5, 1])]
    made = [np.empty(2, np.float32) for _ in range(2)]
    workspace = np.empty(65536 // 8, np.float64)
    bounds.argtypes = [ctypes.c_void_p] * 5 + [ctypes.c_size_t]
    status = bounds(*[each.ctypes.data for each in [*ends, *made, workspace]], workspace.nbytes)
    assert status == 0
    expected = tiny.bounds(*ends, method="ibp")
    assert np.allclose(made[0], expected.lower, atol=1e-5)
    assert np.allclose(made[1], expected.upper, atol=1e-5)


@pytest.mark.skipif(CXX is None, reason="there is no C++ compiler")
def test_a_library_is_compiled_where_asked_for(tmp_path, tiny):
    paths = tiny.compile(str(tmp_path / "a.cpp"), method="ibp", target="generic", library=True,
                         cxx_flags=["-O1"])
    assert tmp_path / "liba.a" in paths and (tmp_path / "liba.a").stat().st_size > 1000
    with pytest.raises(bf_aot.Error, match="BF3204"):
        tiny.compile(tmp_path / "b.cpp", library=True, cxx_flags=["-ffast-math"])
    assert not (tmp_path / "b.cpp").exists()


def test_a_source_in_c(tmp_path, tiny):
    tiny.compile(tmp_path / "a.c", method="ibp", target="generic")
    source = (tmp_path / "a.c").read_text()
    assert "static const float" in source and "bf::" not in source
    with pytest.raises(bf_aot.Error, match="BF3112"):
        tiny.compile(tmp_path / "b.c", method="forward", target="generic")


def test_errors(tmp_path, tiny):
    with pytest.raises(bf_aot.Error, match="BF2101"):
        tiny.compile(tmp_path / "a.cpp", target="abacus")
    with pytest.raises(bf_aot.Error, match="BF3501"):
        tiny.compile(tmp_path / "a.cc")
    with pytest.raises(ValueError, match="arithmetic"):
        tiny.code(arithmetic="decimal")
    with pytest.raises(bf_aot.Error, match="BF3501"):
        tiny.code(C=np.eye(2), property="(assert true)")


def test_a_report(tmp_path, tiny):
    report = tiny.report([-1, -1], [1, 1], method="crown")
    assert report.html.startswith("<!doctype html>") and report.html != tiny.report().html
    report.save(tmp_path / "plan.html")
    assert (tmp_path / "plan.html").read_text(encoding="utf-8") == report.html
    shown = report._repr_html_()
    assert shown.startswith("<iframe srcdoc=") and "<html" not in shown and "bytes" in repr(report)

"""Tests of the commands. Run by CTest, or: BF_AOT=.. BF_SOURCE_DIR=.. python3 cli_test.py."""

import json
import os
import pathlib
import shutil
import signal
import stat
import subprocess
import sys
import time
import unittest

sys.dont_write_bytecode = True
from harness import CONTROLLER, METHODS, MODELS, SOURCE, TINY, Case  # noqa: E402

BOX = {"lower": [-1, -1], "upper": [1, 1]}


class Compile(Case):
    def test_writes_all_files(self):
        self.run_tool(TINY, "-o", "verifier.cpp")
        self.assertEqual(
            self.names(), ["libverifier.a", "verifier.cpp", "verifier.h", "verifier.json"])

    def test_every_model_and_method(self):
        for model in sorted(MODELS.glob("*.onnx")):
            for method in METHODS:
                self.run_tool(model, "-o", f"{model.stem}_{method}.cpp", "--method", method,
                              "--no-library")
        self.assertGreaterEqual(len(list(self.work.glob("*.cpp"))), 12)

    def test_manifest(self):
        self.run_tool(CONTROLLER, "-o", "v.cpp", "--cxx-flags=-g0", "--cxx-flags", "-DNDEBUG -O2")
        manifest = json.loads((self.work / "v.json").read_text())
        for key in ("model", "method", "inputs", "outputs", "arena", "weights_bytes", "kernels",
                    "options", "version", "build"):
            self.assertIn(key, manifest)
        self.assertIn("tasks", json.dumps(manifest))
        self.assertEqual(manifest["method"], "crown")
        self.assertEqual(manifest["build"]["flags"][-3:], ["-g0", "-DNDEBUG", "-O2"])
        self.assertNotIn(str(self.folder), json.dumps(manifest))

    def test_same_bytes_twice(self):
        for folder in ("a", "b"):
            (self.work / folder).mkdir()
            self.run_tool(CONTROLLER, "-o", f"{folder}/v.cpp", "--method", "ibp")
        names = self.names(self.work / "a")
        self.assertEqual(names, self.names(self.work / "b"))
        self.assertIn("libv.a", names)
        for name in names:
            self.assertEqual((self.work / "a" / name).read_bytes(),
                             (self.work / "b" / name).read_bytes(), name)

    def test_replaces_old_files(self):
        self.write("v.cpp", "old")
        self.run_tool(TINY, "-o", "v.cpp")
        self.assertNotEqual((self.work / "v.cpp").read_text(), "old")

    def test_no_library(self):
        self.environment["PATH"] = "/nonexistent"
        self.run_tool(TINY, "-o", "v.cpp", "--no-library")
        self.assertEqual(self.names(), ["v.cpp", "v.h", "v.json"])
        self.assertIsNone(json.loads((self.work / "v.json").read_text())["build"])

    def test_name(self):
        self.run_tool(TINY, "-o", "v.cpp", "--no-library", "--name", "monitor")
        self.assertIn("monitor_bounds(", (self.work / "v.h").read_text())

    def test_usage(self):
        for arguments in ((), (TINY,), (TINY, "-o", "v.txt"), (TINY, "-o", "a b.cpp"),
                          (TINY, "-o", "v.cpp", "--method", "magic"), ("--unknown",),
                          (TINY, "-o", "v.cpp", "--target", "pdp11"),
                          (TINY, "-o", "v.cpp", "--row-tile", "-3"), ("run", TINY),
                          ("run", "--box", "b.json"), ("check", TINY), ("inspect",)):
            self.run_tool(*arguments, code=2)
        self.assertEqual(self.names(), [])

    def test_help_and_version(self):
        for command in ((), ("run",), ("check",), ("inspect",)):
            output, _ = self.run_tool(*command, "--help")
            self.assertIn("Examples:", output)
        output, _ = self.run_tool("--version")
        self.assertRegex(output, r"^bf-aot \d+\.\d+\.\d+\n$")


class Run(Case):
    def test_json(self):
        result = self.run_json("run", TINY, "--box", self.write("b.json", BOX), "--repeat", "3")
        self.assertEqual(list(result), [
            "model", "method", "outputs", "arena_bytes", "weights_bytes", "unstable", "seconds",
            "compile_seconds"])
        self.assertEqual((result["model"], result["method"]), ("tiny.onnx", "crown"))
        self.assertEqual(result["unstable"], [2])
        self.assertEqual(result["seconds"]["repeats"], 3)
        self.assertGreater(result["seconds"]["min"], 0)
        self.assertGreaterEqual(result["seconds"]["median"], result["seconds"]["min"])
        lower, upper = result["outputs"]["lower"], result["outputs"]["upper"]
        for value, low, high in zip((-0.5, -0.75), lower, upper):
            self.assertTrue(low <= value <= high)

    def test_spec(self):
        name = "collision_avoidance_6x50.json"
        for method in METHODS:
            for lowering in ("generic", "vector", "reference"):
                result = self.run_json(
                    "run", CONTROLLER, "--box", MODELS / "boxes" / name, "--spec",
                    MODELS / "specs" / name, "--method", method, "--lowering", lowering,
                    "--repeat", "1")
                self.assertEqual(len(result["spec"]["lower"]), 2)
                self.assertEqual(len(result["unstable"]), 6)
        # CROWN alone proves the property.
        self.assertGreater(min(result["spec"]["lower"]), 0)

    def test_golden_index(self):
        golden = json.loads((MODELS / "golden" / "tiny.json").read_text())
        for index, box in enumerate(golden["boxes"]):
            result = self.run_json("run", TINY, "--box", MODELS / "golden" / "tiny.json",
                                   "--index", index, "--repeat", "1")
            for k, value in enumerate(box["forward"]):
                self.assertLessEqual(result["outputs"]["lower"][k], value)
                self.assertGreaterEqual(result["outputs"]["upper"][k], value)

    def test_decimals_are_rounded_outward(self):
        # 0.1 is no float32: the box of a point has to be wider than the point.
        point = self.write("b.json", {"lower": [0.1, 0.1], "upper": [0.1, 0.1]})
        inside = self.write("c.json", {"lower": [0.5, 0.5], "upper": [0.5, 0.5]})
        widths = []
        for box in (point, inside):
            outputs = self.run_json("run", TINY, "--box", box, "--repeat", "1")["outputs"]
            widths.append(outputs["upper"][0] - outputs["lower"][0])
        self.assertGreater(widths[0], 7e-9)

    def test_table(self):
        output, errors = self.run_tool("run", TINY, "--box", self.write("b.json", BOX),
                                       "--repeat", "1")
        self.assertEqual(errors, "")
        self.assertRegex(output, r"output +lower +upper +width\n0 +-")

    def test_second_run_compiles_nothing(self):
        box = self.write("b.json", BOX)
        compiler = self.work / "compiler"
        log = self.work / "log"
        compiler.write_text(f'#!/bin/sh\necho "$@" >> {log}\nexec "$REAL_CXX" "$@"\n')
        compiler.chmod(compiler.stat().st_mode | stat.S_IXUSR)
        self.environment["REAL_CXX"] = os.environ.get("CXX", "c++")
        run = ("run", TINY, "--box", box, "--repeat", "1", "--cxx", compiler)
        self.run_json(*run)
        first = log.read_text()
        self.assertIn("-shared", first)
        self.run_json(*run)
        second = log.read_text()[len(first):]
        self.assertEqual(second.split(), ["--version"])
        self.assertEqual(len(self.names(self.cache / "bf-aot")), 1)
        # Another method is another verifier.
        self.run_json(*run, "--method", "ibp")
        self.assertEqual(len(self.names(self.cache / "bf-aot")), 2)

    def test_no_cache_folder(self):
        del self.environment["XDG_CACHE_HOME"]
        self.environment.pop("HOME", None)
        self.assert_refused("BF3303", "run", TINY, "--box", self.write("b.json", BOX))

    def test_target_of_another_machine(self):
        self.assert_refused("BF3304", "run", TINY, "--box", self.write("b.json", BOX), "--target",
                            "cortex-m4")


class Check(Case):
    def check(self, model, **options):
        return self.run_json("check", model, "--golden",
                             MODELS / "golden" / f"{pathlib.Path(model).stem}.json", **options)

    def test_every_model(self):
        for model in sorted(MODELS.glob("*.onnx")):
            with self.subTest(model.name):
                result = self.check(model)
                self.assertTrue(result["ok"])
                self.assertEqual(len(result["checks"]), 18)
                self.assertTrue(all(check["golden"] for check in result["checks"]))

    def test_reference(self):
        for model in sorted(MODELS.glob("*.onnx")):
            with self.subTest(model.name):
                self.run_json("check", model, "--golden", MODELS / "golden" / f"{model.stem}.json",
                              "--lowering", "reference", "--samples", "10")

    def altered(self, change):
        golden = json.loads((MODELS / "golden" / "tiny.json").read_text())
        change(golden["boxes"][1])
        return self.write("g.json", golden)

    def test_too_wide(self):
        def narrow(box):
            box["crown"]["lower"][0] += 0.2

        golden = self.altered(narrow)
        result = self.run_json("check", TINY, "--golden", golden, code=1)
        bad = [check for check in result["checks"] if not check["ok"]]
        self.assertEqual([(check["box"], check["method"]) for check in bad], [(1, "crown")])
        self.assertGreater(bad[0]["outputs"]["ratio"]["max"], 1.01)
        self.run_tool("check", TINY, "--golden", golden, "--tolerance", "1.2", "--mean-tolerance",
                      "1.2")
        output, _ = self.run_tool("check", TINY, "--golden", golden, "--method", "crown", code=1)
        self.assertIn("FAILED", output)

    def test_point_too_wide(self):
        result = self.run_json("check", TINY, "--golden", MODELS / "golden" / "tiny.json",
                               "--point-tolerance", "0", code=1)
        self.assertTrue({check["box"] for check in result["checks"] if not check["ok"]} <= {4, 5})

    def test_value_of_another_network(self):
        def move(box):
            box["forward"][1] += 0.5

        result = self.run_json("check", TINY, "--golden", self.altered(move), code=1)
        violation = result["checks"][1]["violations"][0]
        self.assertEqual(violation["what"], "output 1")
        self.assertIn("golden forward", violation["source"])

    def test_bad_golden_file(self):
        self.assert_refused("BF3004", "check", TINY, "--golden", self.write("g.json", BOX),
                            says=["'boxes'"])
        golden = MODELS / "golden" / "digits_64x2.json"
        self.assert_refused("BF3006", "check", TINY, "--golden", golden,
                            says=["boxes[0].lower: 64 numbers, but the model has 2 inputs"])


class Inspect(Case):
    def test_summary(self):
        output, errors = self.run_tool("inspect", CONTROLLER)
        self.assertEqual(errors, "")
        for text in ("affine", "layers", "entry bounds", "kernels", "workspace"):
            self.assertIn(text, output)

    def test_passes(self):
        output, _ = self.run_tool("inspect", "--list-passes")
        self.assertIn("merge-affine", output)
        output, _ = self.run_tool("inspect", TINY, "--dump-after=merge-affine")
        self.assertIn("-- after merge-affine\n", output)
        self.assertNotIn("-- after import", output)
        output, _ = self.run_tool("inspect", TINY, "--dump-after=all")
        self.assertIn("-- after import\n", output)
        self.assert_refused("BF2001", "inspect", TINY, "--dump-after=nonsense")
        self.assert_refused("BF2001", TINY, "-o", "v.cpp", "--disable-pass", "nonsense")

    def test_plan(self):
        output, _ = self.run_tool("inspect", TINY, "--plan", "--method", "ibp")
        self.assertEqual(json.loads(output)["method"], "ibp")

    def test_dot(self):
        self.run_tool("inspect", TINY, "--dot", "net.dot")
        text = (self.work / "net.dot").read_text()
        self.assertTrue(text.startswith('digraph "tiny" {\n'))
        self.assertEqual(text.count("{"), text.count("}"))
        self.assertIn("->", text)


class BadInput(Case):
    def refuse_box(self, code, box, *says, options=()):
        self.assert_refused(code, "run", TINY, "--box", self.write("box.json", box), *options,
                            says=says)

    def test_boxes(self):
        self.refuse_box("BF3004", {"lower": [0, 0]}, "box.json: key 'upper' is missing")
        self.refuse_box("BF3004", {"lower": [0, 0], "upper": 1}, "box.json: upper: expected an array")
        self.refuse_box("BF3004", {"lower": [0, "inf"], "upper": [1, 1]},
                        "box.json: lower[1]: expected a number, found string")
        self.refuse_box("BF3004", [1, 2], "expected an object, found array")
        self.refuse_box("BF3005", dict(BOX, uper=[1, 1]), "unknown key 'uper'")
        self.refuse_box("BF3005", '{"lower": [0, 0], "upper": [1, 1], "lower": [0, 1]}',
                        "key 'lower' appears twice")
        self.refuse_box("BF3006", {"lower": [0, 0, 0], "upper": [1, 1, 1]},
                        "3 numbers, but the model has 2 inputs")
        self.refuse_box("BF3006", {"lower": [0], "upper": [1, 1]}, "lower has 1 numbers")
        self.refuse_box("BF3008", {"lower": [0, 2], "upper": [1, 1]},
                        "lower[1] is 2, greater than upper[1], 1")
        self.refuse_box("BF3009", BOX, "--index 3 in a file of one box", options=("--index", "3"))

    def test_numbers(self):
        self.refuse_box("BF3003", '{"lower": [0, NaN],\n "upper": [1, 1]}', "box.json:1:", "NaN")
        self.refuse_box("BF3003", '{"lower": [0, 0],\n "upper": [1, -Infinity]}', "box.json:2:")
        self.refuse_box("BF3007", '{"lower": [0, 0], "upper": [1, 1e999]}', "1e999")
        self.refuse_box("BF3007", {"lower": [0, 0], "upper": [1, 3.5e38]}, "upper[1]: 3.5e+38")

    def test_no_json(self):
        for text in ("", "{", "lower: 1", '{"lower": [0, 0], "upper": [1, 1]} x', "\0\0", "[" * 99):
            self.refuse_box("BF3003", text, "box.json")
        self.assert_refused("BF3001", "run", TINY, "--box", "nothing.json", says=["nothing.json"])
        self.assert_refused("BF3001", "run", TINY, "--box", self.work)

    def test_specs(self):
        box = self.write("box.json", BOX)
        for code, spec in (("BF3004", {}), ("BF3005", {"C": [[1, 0]], "E": 1}),
                           ("BF3006", {"C": []}), ("BF3006", {"C": [[1, 0], [1]]}),
                           ("BF3004", {"C": [1, 0]}), ("BF3006", {"C": [[1, 0]], "d": [1, 2]}),
                           ("BF2", {"C": [[1, 0, 0]]})):
            spec_file = self.write("spec.json", spec)
            process = self.start("run", TINY, "--box", box, "--spec", spec_file)
            _, errors = process.communicate()
            self.assertEqual(process.returncode, 1)
            self.assertIn(f"error {code}", errors)

    def test_golden_index(self):
        self.assert_refused("BF3009", "run", TINY, "--box", MODELS / "golden" / "tiny.json",
                            "--index", "6", says=["there is no box 6: the file has 6"])

    def test_models(self):
        self.assert_refused("BF1001", "nothing.onnx", "-o", "v.cpp")
        truncated = self.work / "cut.onnx"
        truncated.write_bytes(CONTROLLER.read_bytes()[:20000])
        _, errors = self.run_tool(truncated, "-o", "v.cpp", code=1)
        self.assertIn("error BF10", errors)
        self.assertEqual(self.names(), ["cut.onnx"])

    def test_options(self):
        self.assert_refused("BF3301", TINY, "-o", "v.cpp", "--semantics", "float32",
                            says=["exact arithmetic"])
        self.assert_refused("BF3301", TINY, "-o", "v.cpp", "--semantics", "magic")
        self.assert_refused("BF3302", TINY, "-o", "v.cpp", "--name", "My Net", says=["my_net"])
        for flag in ("-ffast-math", "-Ofast", "-freciprocal-math", "-O2 -ffp-model=fast"):
            self.assert_refused("BF3204", TINY, "-o", "v.cpp", f"--cxx-flags={flag}")


class Failure(Case):
    """Nothing half-written, whatever fails."""

    def test_compiler_fails(self):
        self.write("v.cpp", "old")
        errors = self.assert_refused("BF3203", TINY, "-o", "v.cpp", "--cxx-flags=-include nothing.h",
                                     says=["nothing.h"])
        self.assertIn("hint:", errors)
        self.assertEqual(self.names(), ["v.cpp"])
        self.assert_refused("BF3203", TINY, "-o", "v.cpp", "--cxx", "false")
        self.assert_refused("BF3203", "run", TINY, "--box",
                            self.write("b.json", BOX), "--cxx-flags=-include nothing.h")
        self.assertEqual(self.names(self.cache / "bf-aot"), [])

    def test_no_compiler(self):
        self.assert_refused("BF3202", TINY, "-o", "v.cpp", "--cxx", "no-such-compiler")
        self.environment["CXX"] = "no-such-compiler"
        self.assert_refused("BF3202", TINY, "-o", "v.cpp", says=["$CXX"])
        del self.environment["CXX"]
        self.environment["PATH"] = "/nonexistent"
        self.assert_refused("BF3202", TINY, "-o", "v.cpp", says=["c++, g++, clang++"])

    def test_shell_text_is_not_run(self):
        self.assert_refused("BF3202", TINY, "-o", "v.cpp", "--cxx", "g++;touch${IFS}owned")
        self.assertEqual(self.names(), [])

    def test_destination(self):
        self.assert_refused("BF3101", TINY, "-o", "missing/v.cpp", says=["missing"])
        (self.work / "v.h").mkdir()
        self.assert_refused("BF3103", TINY, "-o", "v.cpp", says=["v.h"])
        self.write("file", "")
        self.assert_refused("BF3101", TINY, "--project", "file")

    @unittest.skipIf(os.geteuid() == 0, "root may write everywhere")
    def test_read_only_folder(self):
        (self.work / "locked").mkdir(mode=0o555)
        self.assert_refused("BF3101", TINY, "-o", "locked/v.cpp")

    def test_damaged_cache(self):
        box = self.write("b.json", BOX)
        self.run_json("run", TINY, "--box", box, "--repeat", "1")
        (library,) = self.cache.rglob("*.so")
        library.write_bytes(b"no library")
        self.assert_refused("BF3305", "run", TINY, "--box", box)


class Interrupt(Case):
    """A signal while the C++ compiler runs: no files, no compiler left."""

    def interrupted(self, number, *arguments):
        compiler = self.folder / "compiler"
        started = self.folder / "started"
        compiler.write_text(
            '#!/bin/sh\n[ "$1" = --version ] && { echo slow 1.0; exit 0; }\n'
            f"echo $$ > {started}.new\nmv {started}.new {started}\nexec sleep 300\n")
        compiler.chmod(0o755)
        process = self.start(*arguments, "--cxx", compiler)
        deadline = time.monotonic() + 60
        while not started.exists():
            self.assertIsNone(process.poll(), "ended before the compiler was started")
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.01)
        process.send_signal(number)
        output, errors = process.communicate(timeout=30)
        self.assertEqual(process.returncode, 128 + number)
        self.assertEqual(output + errors, "")
        child = int(started.read_text())
        while pathlib.Path(f"/proc/{child}").exists():
            self.assertLess(time.monotonic(), deadline, "the compiler is still running")
            time.sleep(0.01)
        started.unlink()

    def test_compile(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            self.interrupted(number, TINY, "-o", "v.cpp")
            self.assertEqual(self.names(), [])

    def test_project(self):
        self.interrupted(signal.SIGINT, TINY, "--project", "p")
        self.assertEqual([path for path in self.work.rglob("*") if path.is_file()], [])

    def test_run(self):
        self.interrupted(signal.SIGINT, "run", TINY, "--box", self.write("b.json", BOX))
        self.assertEqual(self.names(self.cache / "bf-aot"), [])


class Project(Case):
    def test_files(self):
        self.run_tool(TINY, "--project", "demo")
        runtime = [path.name for path in (SOURCE / "runtime").iterdir()
                   if path.suffix in (".h", ".cpp")]
        self.assertEqual(self.names(self.work / "demo"), sorted(runtime + [
            "CMakeLists.txt", "README.md", "example.c", "libverifier.a", "verifier.cpp",
            "verifier.h", "verifier.json"]))
        readme = (self.work / "demo" / "README.md").read_text()
        for text in ("tiny_bounds", "without attribution", "| RAM: workspace", "| flash:", "stack"):
            self.assertIn(text, readme)
        self.assertNotIn("@", readme + (self.work / "demo" / "CMakeLists.txt").read_text())

    def test_example_without_cmake(self):
        self.run_tool(CONTROLLER, "--project", "demo", "-o", "net.cpp", "--name", "net")
        self.assertLessEqual({"demo", "libnet.a", "net.cpp", "net.h", "net.json"},
                             set(self.names()))
        folder = self.work / "demo"
        compiler = os.environ.get("CXX", "c++")
        subprocess.run([compiler, "-x", "c", "-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror",
                        "-c", "example.c", "-o", "example.o"], cwd=folder, check=True)
        subprocess.run([compiler, "example.o", "bf.cpp", "libnet.a", "-o", "example"], cwd=folder,
                       check=True)
        output = subprocess.run([folder / "example"], check=True, capture_output=True, text=True)
        self.assertEqual(output.stdout.count("output "), 5)


if __name__ == "__main__":
    unittest.main()

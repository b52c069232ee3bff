"""Tests of the commands. Run by CTest, or: BF_AOT=.. BF_SOURCE_DIR=.. python3 cli_test.py."""

import hashlib
import json
import os
import pathlib
import platform
import re
import shutil
import signal
import stat
import subprocess
import sys
import unittest

sys.dont_write_bytecode = True
from harness import BOX, CONTROLLER, METHODS, MODELS, SOURCE, TINY, Case  # noqa: E402
from small_models import image_model, large_image, model, node, tensor, write_model  # noqa: E402

PROPERTY = MODELS / "properties" / "collision_avoidance_6x50.vnnlib"
STRICT_C = ["-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow", "-Werror"]

try:
    import numpy as np
    sys.path.insert(0, str(MODELS))
    from network import Network
except ImportError:
    np = None


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

    def test_summary(self):
        """What was written and what it takes, whichever way it is written; as the manifest has it."""
        property_ = MODELS / "properties" / CONTROLLER.with_suffix(".vnnlib").name
        for where, name in ((("-o", "v.cpp"), "v"), (("--project", "p"), "p/net")):
            for more in ((), ("--no-library",)):
                output, errors = self.run_tool(CONTROLLER, "--name", "net", "--property", property_, *where, *more)
                self.assertEqual(errors, "")
                rows = [line.split(None, 1) for line in output.splitlines()]
                found = dict(rows)
                manifest = json.loads((self.work / f"{name}.json").read_text())
                self.assertEqual(found["weights"], f"{manifest['weights_bytes']} bytes")
                self.assertEqual(found["workspace"], f"{manifest['arena']['planned_bytes']} bytes")
                self.assertIn(f"{name}.cpp, {name}.h, {name}.json", found["written"])
                self.assertEqual(found["code"], "not compiled (--no-library)" if more else
                                 f"{manifest['build']['code_bytes']} bytes")
                work = {entry["entry"]: entry["operations"] for entry in manifest["work"]}
                self.assertEqual([text for key, text in rows if key == "work"],
                                 [f"about {work[entry]} operations of net_{entry}" for entry in ("bounds", "verify")])
                shutil.rmtree(self.work / "p", ignore_errors=True)

    def test_manifest(self):
        self.run_tool(CONTROLLER, "-o", "v.cpp", "--cxx-flags=-g0", "--cxx-flags", "-DNDEBUG -O2")
        manifest = json.loads((self.work / "v.json").read_text())
        for key in ("model", "method", "inputs", "outputs", "arena", "weights_bytes", "kernels",
                    "options", "version", "build"):
            self.assertIn(key, manifest)
        self.assertIn("tasks", json.dumps(manifest))
        self.assertEqual(manifest["method"], "crown")
        self.assertEqual(manifest["build"]["flags"][-3:], ["-g0", "-DNDEBUG", "-O2"])
        self.assertTrue(1000 < manifest["build"]["code_bytes"] < 1 << 20, manifest["build"])
        self.assertNotIn(str(self.folder), json.dumps(manifest))

    @unittest.skipUnless(platform.machine() == "x86_64", "code for x86 is compiled for this machine")
    def test_no_warning_at_any_level(self):
        """Optimised, GCC looks further, also into the runtime's loops."""
        compiler = os.environ.get("CXX", "c++")
        flags = ["-std=c++17", "-O3", "-fno-exceptions", "-Wall", "-Wextra", "-Wpedantic",
                 "-Wconversion", "-Werror"]
        for target in ("x86-64", "x86-64-v3", "x86-64-v4"):
            self.run_tool(MODELS / "digits_64x2.onnx", "-o", "v.cpp", "--method", "crown-ibp",
                          "--batch", "16", "--target", target, "--no-library")
            subprocess.run([compiler, *flags, f"-march={target}", "-mprefer-vector-width=512",
                            "-I", SOURCE / "runtime", "-c", "v.cpp", "-o", "v.o"], cwd=self.work,
                           check=True)

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
        self.assertEqual(self.run_tool("--name"), ("bf-aot\n", ""))
        output, _ = self.run_tool("--version")
        self.assertRegex(output, r"^(\d+\.\d+\.\d+)\nbf-aot \1( \(\S+\))?\n$")


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

    def test_timeout_gives_a_cheaper_methods_bounds_by_its_name(self):
        command = ("run", CONTROLLER, "--box", MODELS / "boxes" / "collision_avoidance_6x50.json")
        ibp = self.run_json(*command, "--method", "ibp")
        for method in ("crown-ibp", "crown", "alpha-crown", "auto"):
            short = self.run_json(*command, "--method", method, "--timeout", "1e-9")
            self.assertEqual(list(short)[1:4], ["method", "instead_of", "because"])
            self.assertEqual((short["method"], short["instead_of"]), ("ibp", method))
            self.assertRegex(short["because"], "^is predicted to take ")
            self.assertEqual(short["outputs"], ibp["outputs"])
        text, _ = self.run_tool(*command, "--timeout", "1e-9")
        self.assertRegex(text, r"method ibp \(crown is predicted to take .* [mun]?s\), prebuilt")
        ball = self.run_json(*command, "--norm", "l2", "--timeout", "1e-9")
        self.assertEqual((ball["method"], ball["instead_of"]), ("crown-ibp", "crown"))
        crown = self.run_json(*command)
        long = self.run_json(*command, "--timeout", "1000")
        self.assertEqual((long["method"], long["outputs"]), ("crown", crown["outputs"]))
        self.assertNotIn("instead_of", long)
        self.assertNotEqual(crown["outputs"], ibp["outputs"])
        cheapest = self.run_json(*command, "--method", "ibp", "--timeout", "1e-9")
        self.assertEqual((cheapest["method"], cheapest["outputs"]), ("ibp", ibp["outputs"]))

    def test_timeout_is_of_the_engine(self):
        box = self.write("b.json", BOX)
        for lowering in ("vector", "reference"):
            self.assert_refused("BF3316", "run", TINY, "--box", box, "--timeout", "1", "--lowering",
                                lowering)
        for options in (("--timeout", "0"), ("--timeout", "-1"), ("--timeout", "1", "--repeat", "3")):
            self.run_tool("run", TINY, "--box", box, *options, code=2)

    def test_what_takes_long_is_said_before_and_stops(self):
        """Of twenty convolutions of 128 x 128 pixels crown takes half a minute and more, a tile of rows does not."""
        model = large_image(self.work / "large.onnx")
        box = self.write("b.json", {"lower": [0.0] * 128 * 128, "upper": [0.5] * 128 * 128})
        process = self.start("run", model, "--box", box, "--jobs", "1")
        said = process.stderr.readline()
        self.assertRegex(said, r"^bf-aot: crown is predicted to take \d+ (s|min|h|days).*; --timeout SECONDS "
                               r"limits it, --method crown-ibp takes \d")
        self.assertIsNone(process.poll())
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=60)
        self.assertEqual((process.returncode, output), (130, ""))
        result = self.run_json("run", model, "--box", box, "--timeout", "2", "--jobs", "1")
        self.assertEqual(result["instead_of"], "crown")
        self.assertIn(result["method"], ("ibp", "crown-ibp"))
        self.assertEqual(len(result["outputs"]["lower"]), 1)

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

    def test_prebuilt_has_the_bounds_of_vector(self):
        bounds = [self.run_json("run", CONTROLLER, "--box", MODELS / "boxes" / "collision_avoidance_6x50.json",
                                *options, "--repeat", "1")["outputs"]
                  for options in ((), ("--lowering", "vector", "--cxx-flags=-ffp-contract=off"))]
        for side in ("lower", "upper"):
            for engine, compiled in zip(bounds[0][side], bounds[1][side], strict=True):
                self.assertAlmostEqual(engine, compiled, delta=1e-4 * abs(compiled))

    def test_no_compiler_is_needed(self):
        """Nor is one looked for, whatever $CXX says; options of one are refused, not ignored."""
        self.environment.update(CXX="no-such-compiler", PATH="")
        box = self.write("b.json", BOX)
        self.run_json("run", TINY, "--box", box)
        self.assertFalse(self.cache.exists())
        for option in ("--cxx=g++", "--cxx-flags=-g"):
            self.assert_refused("BF3314", "run", TINY, "--box", box, option)

    @unittest.skipIf(np is None, "numpy is not installed")
    def test_float32_semantics(self):
        """Evaluations by numpy in float32, in several orders, lie inside; real bounds are narrower."""
        box = MODELS / "boxes" / "digits_64x2.json"
        ends = json.loads(box.read_text())
        lower, upper = (np.array(ends[side], np.float32) for side in ("lower", "upper"))
        steps = Network(MODELS / "digits_64x2.onnx").steps
        for method in ("ibp", "crown"):
            run = ("run", MODELS / "digits_64x2.onnx", "--box", box, "--method", method)
            real = self.run_json(*run)["outputs"]
            bounds = self.run_json(*run, "--semantics", "float32")["outputs"]
            self.assertGreater(sum(bounds["upper"]) - sum(bounds["lower"]),
                               sum(real["upper"]) - sum(real["lower"]))
            random = np.random.default_rng(1)
            for _ in range(50):
                x = lower + (upper - lower) * random.random(lower.shape, np.float32)
                x = np.clip(x, lower, upper)
                for kind, *numbers in steps:
                    if kind == "relu":
                        x = np.maximum(x, np.float32(0))
                        continue
                    self.assertEqual(kind, "linear")
                    weight, bias = (each.astype(np.float32) for each in numbers)
                    order = random.permutation(len(x))
                    x = (weight[:, order] * x[order]).sum(axis=1, dtype=np.float32) + bias
                self.assertTrue(np.all(np.array(bounds["lower"], np.float32) <= x))
                self.assertTrue(np.all(x <= np.array(bounds["upper"], np.float32)))

    def test_float32_semantics_in_a_verifier(self):
        self.run_tool(CONTROLLER, "-o", "v.cpp", "--semantics", "float32")
        manifest = json.loads((self.work / "v.json").read_text())
        self.assertEqual(manifest["semantics"], "float32")
        self.assertGreater(manifest["float32_reach"], 1e6)
        self.assertIn("FLOAT32_REACH", (self.work / "v.h").read_text())
        self.assertIn("semantics float32", (self.work / "v.cpp").read_text())

    def test_subnormals_flushed_to_zero(self):
        self.run_tool(CONTROLLER, "-o", "v.cpp", "--flush-to-zero")
        manifest = json.loads((self.work / "v.json").read_text())
        self.assertEqual((manifest["semantics"], manifest["flush_to_zero"]), ("float32", True))
        self.assertIn("semantics float32 flushed to zero", (self.work / "v.cpp").read_text())
        self.assert_refused("BF3315", CONTROLLER, "-o", "e.cpp", "--flush-to-zero", "--semantics",
                            "float32-exact")
        box = MODELS / "boxes" / "collision_avoidance_6x50.json"
        kept, flushed = (self.run_json("run", CONTROLLER, "--box", box, "--semantics", "float32",
                                       *options)["outputs"]
                         for options in ((), ("--flush-to-zero",)))
        # Nothing is near the end of the floats.
        for side in ("lower", "upper"):
            for a, b in zip(kept[side], flushed[side]):
                self.assertAlmostEqual(a, b, delta=1e-6 * abs(a))

    def test_semantics_of_the_verifiers_own_evaluation(self):
        self.run_tool(CONTROLLER, "-o", "v.cpp", "--semantics", "float32-exact")
        manifest = json.loads((self.work / "v.json").read_text())
        self.assertEqual(manifest["semantics"], "float32-exact")
        # 50 inputs: chains of 8, 7 of them, and the bias.
        depths = [layer["evaluated_depth"] for layer in manifest["layers"]]
        self.assertEqual(depths, [6] + [16] * (len(depths) - 1))
        kernels = {step["kernel"] for entry in manifest["entries"] if entry["entry"] == "evaluate"
                   for step in entry["steps"]}
        self.assertEqual(len(kernels), 3)
        self.assertIn("_evaluate makes", (self.work / "v.h").read_text())

    def test_balls(self):
        box = MODELS / "boxes" / "collision_avoidance_6x50.json"
        widths = []
        for norm in ("linf", "l2", "l1"):
            found = self.run_json("run", CONTROLLER, "--box", box, "--norm", norm)["outputs"]
            widths.append(sum(found["upper"]) - sum(found["lower"]))
            # A compiled verifier answers as the engine, but for the order of sums.
            built = self.run_json("run", CONTROLLER, "--box", box, "--norm", norm, "--lowering",
                                  "generic")["outputs"]
            for side in ("lower", "upper"):
                for a, b in zip(found[side], built[side]):
                    self.assertAlmostEqual(a, b, delta=1e-4)
        self.assertGreater(widths[0], 1.2 * widths[1])
        self.assertGreater(widths[1], 1.2 * widths[2])
        self.run_tool(CONTROLLER, "-o", "v.cpp", "--norm", "l2", "--no-library")
        self.assertEqual(json.loads((self.work / "v.json").read_text())["options"]["norm"], "l2")
        self.assertIn("ellipsoid that touches each face", (self.work / "v.h").read_text())
        self.assertIn("norm       l2", (self.work / "v.cpp").read_text())
        refused = "BF2117", CONTROLLER, "-o", "e.cpp", "--norm", "l1"
        self.assert_refused(*refused, "--method", "ibp", says=["boxes alone"])
        self.assert_refused(*refused, "--cache", "cache-bounds")
        self.assert_refused(*refused, "--property",
                            MODELS / "properties" / "collision_avoidance_6x50.vnnlib")
        self.run_tool(CONTROLLER, "--project", "p", "--norm", "l2", code=2)

    def test_what_decide_splits(self):
        given = ("--property", MODELS / "properties" / "collision_avoidance_6x50.vnnlib",
                 "--no-library")
        for options, splits in ((["--decide"], "inputs"), (["--decide=inputs"], "inputs"),
                                (["--decide=neurons"], "neurons")):
            self.run_tool(CONTROLLER, "-o", "v.cpp", *given, *options)
            manifest = json.loads((self.work / "v.json").read_text())
            self.assertEqual(manifest["options"]["decide"], splits)
            self.assertEqual(manifest["decide"]["splits"], splits)
            self.assertEqual(manifest["decide"]["reason"],
                             "5 inputs vary" if options == ["--decide"] else "asked for")
            self.assertIn(f"by {'splits of neurons' if splits == 'neurons' else 'branch and bound'}",
                          (self.work / "v.h").read_text())
        for options, splits, reason in (
                ([], "neurons", "64 inputs vary"),
                (["--method", "ibp"], "inputs", "64 inputs vary; method ibp keeps no intervals of "
                                                "neurons"),
                (["--parallel", "2"], "inputs", "64 inputs vary; workers do not share its nodes: "
                                                "leave --parallel out")):
            self.run_tool(MODELS / "digits_64x2.onnx", "-o", "v.cpp", "--no-library", "--decide",
                          "--property", MODELS / "properties" / "digits_64x2.vnnlib", *options)
            chosen = json.loads((self.work / "v.json").read_text())["decide"]
            self.assertEqual((chosen["splits"], chosen["reason"]), (splits, reason))
        refused = "BF2118", CONTROLLER, "-o", "e.cpp", *given, "--decide=neurons"
        self.assert_refused(*refused, "--method", "ibp", says=["keeps no intervals of layer"])
        self.assert_refused(*refused, "--parallel", "2", says=["leave --parallel out"])
        self.run_tool(CONTROLLER, "-o", "e.cpp", *given, "--decide=outputs", code=2)

    def test_float32_semantics_of_every_function(self):
        """What checks boxes takes the reach: of batches, workers, contexts and properties."""
        for options in (("--batch", "16", "--parallel", "2"),
                        ("--batch", "16", "--lowering", "generic"),
                        ("--cache", "reuse-ibp"), ()):
            self.run_tool(CONTROLLER, "-o", "v.cpp", "--semantics", "float32", "--method", "ibp",
                          *options)
            self.assertIn("FLOAT32_REACH)", (self.work / "v.cpp").read_text())
        self.run_tool(CONTROLLER, "-o", "v.cpp", "--semantics", "float32", "--method", "crown",
                      "--property", MODELS / "properties" / "collision_avoidance_6x50.vnnlib",
                      "--batch", "16", "--parallel", "2")

    def test_kernels_compiled_for_the_network(self):
        """--jit wait: the bounds are those of the engine's own code, but for fused products."""
        box = MODELS / "boxes" / "collision_avoidance_6x50.json"
        run = ("run", CONTROLLER, "--box", box, "--json", "--jit")
        own, errors = self.run_tool(*run, "off")
        self.assertFalse(self.cache.exists())
        self.assertEqual(errors, "")
        compiled, errors = self.run_tool(*run, "wait")
        self.assertRegex(errors, r"^note: \d+ kernels? compiled for this network")
        kept = list(self.cache.glob("bf-aot/*/verifier.so"))
        self.assertTrue(kept)
        for side in ("lower", "upper"):
            for a, b in zip(json.loads(own)["outputs"][side],
                            json.loads(compiled)["outputs"][side], strict=True):
                self.assertAlmostEqual(a, b, delta=1e-4 * abs(a))
        # Which kernels take their share is measured: others may come, what is there is used.
        times = {path: path.stat().st_mtime_ns for path in kept}
        self.run_tool(*run, "wait", "--cxx", os.environ.get("CXX", "c++"))
        now = list(self.cache.glob("bf-aot/*/verifier.so"))
        self.assertLess(len(now), 2 * len(kept))
        self.assertEqual(times, {path: path.stat().st_mtime_ns for path in kept})

    def test_kernels_need_a_compiler(self):
        """auto does without where there is none; wait says so."""
        self.environment.update(CXX="no-such-compiler", PATH="")
        box = self.write("b.json", BOX)
        self.run_tool("run", TINY, "--box", box, "--jit", "auto")
        self.assert_refused("BF3202", "run", TINY, "--box", box, "--jit", "wait")

    def test_unstable_neurons_as_the_reference_counts_them(self):
        box = MODELS / "boxes" / "collision_avoidance_6x50.json"
        run = ("run", CONTROLLER, "--box", box, "--repeat", "1")
        for method in ("ibp", "crown-ibp", "crown"):
            counts = [self.run_json(*run, "--method", method, "--lowering", lowering)["unstable"]
                      for lowering in ("prebuilt", "reference")]
            self.assertEqual(counts[0], counts[1], method)

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
        run = ("run", TINY, "--box", box, "--repeat", "1", "--lowering", "vector", "--cxx", compiler)
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
        self.assert_refused("BF3303", "run", TINY, "--box", self.write("b.json", BOX), "--lowering", "vector")

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

    def test_planner_passes(self):
        output, _ = self.run_tool("inspect", "--list-passes")
        self.assertRegex(output, r"build-tasks +\* ")
        output, _ = self.run_tool("inspect", TINY, "--dump-after=assign-domains")
        plan = json.loads(output.split("\n", 1)[1])
        self.assertTrue(plan["domains"])
        self.assertEqual(plan["entries"], [], "made by a later pass")
        output, _ = self.run_tool("inspect", TINY, "--time-passes")
        for name in ("merge-affine", "build-layers", "in all"):
            self.assertRegex(output, name + r" +[0-9.]+ ms")
        self.assert_refused("BF2104", TINY, "-o", "v.cpp", "--disable-pass", "build-tasks")
        output, _ = self.run_tool("inspect", TINY, "--plan", "--disable-pass", "exact-centres")
        self.assertEqual(json.loads(output)["options"]["disabled_passes"], ["exact-centres"])

    def test_schedules(self):
        output, errors = self.run_tool("inspect", CONTROLLER, "--dump-schedule")
        self.assertEqual(errors, "")
        self.assertRegex(output, r"affine +complex-out-fusable")
        self.assertRegex(output, r"relu +injective")
        for text in ("kernel backward_affine.live.live_in/", "compute_at(relaxation, product, block)",
                     "chunk over i: ", "accumulators mid"):
            self.assertIn(text, output)
        self.assertEqual(output, self.run_tool("inspect", CONTROLLER, "--dump-schedule")[0])

    def test_calls(self):
        output, errors = self.run_tool("inspect", CONTROLLER, "--dump-calls", "--method", "crown")
        self.assertEqual(errors, "")
        self.assertRegex(output, r"entry bounds\ntask 1: bind box\n  bf::bind_box\(lower, upper, 5, ")
        self.assertRegex(output, r"\n  for each [0-9]+ of count\n    ")
        self.assertIn("bf::write_bounds(5, false, ", output)

    def test_machine_profile(self):
        output, _ = self.run_tool("inspect", TINY, "--plan", "--profile", "cortex-m4")
        plan = json.loads(output)
        self.assertEqual(plan["prediction"]["profile"], "cortex-m4")
        slow = sum(task["predicted_seconds"] for task in plan["tasks"])
        output, _ = self.run_tool("inspect", TINY, "--plan", "--profile", "zen5")
        fast = sum(task["predicted_seconds"] for task in json.loads(output)["tasks"])
        self.assertGreater(slow, fast)
        self.assert_refused("BF2131", "inspect", TINY, "--profile", "abacus")
        self.write("p.json", {"name": "mine"})
        self.assert_refused("BF2132", "inspect", TINY, "--profile", "p.json")
        output, _ = self.run_tool("inspect", TINY, "--plan", "--disable-pass", "predict-costs")
        plan = json.loads(output)
        self.assertEqual(plan["prediction"], {"profile": "", "activity": ""})
        self.assertTrue(all(task["predicted_seconds"] == 0 for task in plan["tasks"]))

    def test_check_of_predictions(self):
        output, _ = self.run_tool("profile", "--check", TINY, "--method", "crown", "--all")
        for text in ("bind_box", "list_rows", "tighten_rows", "write_bounds"):
            self.assertIn(text, output)
        self.assertRegex(output, r"[1-9]\d* parts within 1\.5x|no part takes 2 us;")

    def test_config_file(self):
        config = self.write("c.json", {"method": "ibp", "row-tile": 8,
                                       "disable-pass": ["exact-centres", "merge-affine"]})
        output, _ = self.run_tool("inspect", TINY, "--plan", "--config", config)
        plan = json.loads(output)
        self.assertEqual(plan["method"], "ibp")
        self.assertEqual(plan["options"]["row_tile"], 8)
        self.assertEqual(plan["options"]["disabled_passes"], ["exact-centres"])
        output, _ = self.run_tool("inspect", TINY, "--plan", "--config", config, "-m", "crown")
        self.assertEqual(json.loads(output)["method"], "crown", "the command line wins")
        for text, code in (("{", "BF3003"), ("[]", "BF3004"), ({"metod": "ibp"}, "BF3005"),
                           ({"output": "v.cpp"}, "BF3005"), ({"row-tile": 1}, "BF3307"),
                           ({"memory-budget": "-1"}, "BF3307"), ({"memory-budget": -1}, "BF3307"),
                           ({"memory-budget": 1e30}, "BF3307"), ({"beam-width": -4}, "BF3307"),
                           ({"method": "fast"}, "BF3307"), ({"method": None}, "BF3307"),
                           ({"disable-pass": [["a"]]}, "BF3307")):
            self.write("bad.json", text)
            self.assert_refused(code, TINY, "-o", "v.cpp", "--config", "bad.json")

    def test_auto(self):
        boxes = MODELS / "boxes" / "collision_avoidance_6x50.json"
        search = ("inspect", CONTROLLER, "--plan", "-m", "auto", "--sample-box", boxes)
        free = json.loads(self.run_tool(*search)[0])["search"]
        self.assertIn("given", free["looseness_of"])
        half = json.loads(self.run_tool(
            *search, "--search", "beam", "--beam-width", "2", "--time-budget",
            f"{free['seconds'] / 2 * 1e6:.6g}us")[0])
        self.assertEqual(half["options"]["search"]["kind"], "beam")
        self.assertLessEqual(half["search"]["seconds"], free["seconds"] / 2 * 1.00001)
        self.assertGreater(half["search"]["looseness"], free["looseness"])
        fast = json.loads(self.run_tool(*search, "--objective", "time=1")[0])
        self.assertEqual({choice["domain"] for choice in fast["domains"]}, {"interval"})
        for time in ("", "fast", "-1us", "0", "1 us", "1e999", "5min"):
            self.assert_refused("BF3308", *search, f"--time-budget={time or ' '}")
        for weights in ("time", "time=x", "speed=1", "time=-1", "time=0"):
            self.assert_refused("BF3309", *search, "--objective", weights)
        self.assert_refused("BF2140", *search, "--time-budget", "1e-12", says=["--time-budget"])
        self.assert_refused("BF2142", "inspect", TINY, "--plan", "-m", "auto", "--sample-box",
                            boxes)

    def test_plan(self):
        output, _ = self.run_tool("inspect", TINY, "--plan", "--method", "ibp")
        self.assertEqual(json.loads(output)["method"], "ibp")

    def test_dot(self):
        self.run_tool("inspect", TINY, "--dot", "net.dot")
        text = (self.work / "net.dot").read_text()
        self.assertTrue(text.startswith('digraph "tiny" {\n'))
        self.assertEqual(text.count("{"), text.count("}"))
        self.assertIn("->", text)


class CheckConstants(Case):
    MAIN = """#include "net.h"
int main(void) { return net_constants_crc32() != NET_CONSTANTS_CRC32; }
"""
    # Of rows, those of functions hold names.
    ROWS_LEFT_OUT = {"bf::FunctionRun"}

    def test_all_arrays_are_summed_up(self):
        """In sources of all kinds of constants, those of the property and of weights beside the source included."""
        image = write_model(self.work / "image.onnx", image_model())
        compiler = os.environ.get("CXX", "c++")
        for network, options in ((CONTROLLER, ["--property", PROPERTY, "--decide"]), (image, [])):
            self.run_tool(network, *options, "--name", "net", "-o", "net.cpp", "--check-constants", "--no-library",
                          "--target", "generic")
            source = "".join(path.read_text() for path in [self.work / "net.cpp", *self.work.glob("net_*.inc")])
            arrays = re.findall(r"^(?:alignas\(\d+\) )?constexpr ([\w:<> ]+) (\w+)\[", source, re.MULTILINE)
            self.assertGreater(len(arrays), 5)
            body = source[source.index("net_constants_crc32(void)"):]
            for kind, name in arrays:
                if kind not in self.ROWS_LEFT_OUT:
                    self.assertRegex(body, rf"crc\.add\((property::)?{name},|row : (property::)?{name}\)")
            (self.work / "main.c").write_text(self.MAIN)
            subprocess.run([compiler, "-x", "c++", "-std=c++17", "-O1", "-Wall", "-Wextra", "-Wconversion", "-Werror",
                            f"-I{SOURCE}/runtime", "net.cpp", "main.c", "-o", "net"], cwd=self.work, check=True)
            subprocess.run([self.work / "net"], check=True)


class Project(Case):
    def test_files(self):
        self.run_tool(TINY, "--project", "demo")
        demo = self.work / "demo"
        files = {str(path.relative_to(demo)) for path in demo.rglob("*") if path.is_file()}
        runtime = {name for name in files if name.startswith(("bf.", "bf/"))}
        self.assertEqual(files - runtime, {
            ".bf-aot.sha256", "CMakeLists.txt", "README.md", "bf_monitor.c", "bf_monitor.h", "example.c", "golden.json",
            "libtiny.a", "tiny.cpp", "tiny.h", "tiny.json", "tiny_readings.h",
            "tiny_selftest.c", "tiny_selftest.h", "verifier.cmake"})
        # What is included, and nothing else.
        included = {"bf.cpp"}
        for name in files:
            if name.endswith((".h", ".cpp")):
                included.update(re.findall(r'^#include "(bf[./].*)"', (demo / name).read_text(),
                                           re.MULTILINE))
        self.assertEqual(runtime, included)
        self.assertIn("bf/core/bounds.h", runtime)
        self.assertNotIn("bf/conv/conv_backward.h", runtime)
        readme = (self.work / "demo" / "README.md").read_text()
        for text in ("tiny_bounds", "without attribution", "| RAM: workspace", "| flash:", "stack"):
            self.assertIn(text, readme)
        self.assertNotIn("@", readme + (self.work / "demo" / "CMakeLists.txt").read_text())

    @unittest.skipUnless(shutil.which("ccache"), "no ccache")
    def test_stack_where_a_cache_answers_for_the_compiler(self):
        """It keeps the object, and not the compiler's report on the stack."""
        self.environment["CCACHE_DIR"] = str(self.folder / "ccache")
        found = set()
        for name in ("first", "second"):
            self.environment["XDG_CACHE_HOME"] = str(self.folder / name)
            self.run_tool(TINY, "--project", "demo", "--cxx", "ccache c++")
            manifest = json.loads((self.work / "demo" / "tiny.json").read_text())
            found.add(manifest["build"]["stack_bytes"])
        self.assertEqual(len(found), 1, found)

    def test_what_is_covered(self):
        """Whoever compiles, reads the header, the example or README.md learns which arithmetic bounds hold for."""
        for semantics, covered in (("real", "exact arithmetic. An evaluation in float32"),
                                   ("", "every evaluation of the network in float32"),
                                   ("float32", "every evaluation of the network in float32"),
                                   ("float32-exact", "the evaluation of the network by tiny_evaluate")):
            more = ["--semantics", semantics] if semantics else []
            output, _ = self.run_tool(TINY, "--project", "demo", "--no-library", "--name", "tiny", *more)
            self.assertRegex(output, rf"^covers    .*{covered}")
            demo = self.work / "demo"
            for name, lines in (("README.md", 8), ("tiny.h", 10), ("tiny.cpp", 10), ("example.c", 5)):
                head = "\n".join((demo / name).read_text().splitlines()[:lines])
                self.assertIn(covered, head, name)
                self.assertEqual("--semantics float32 covers" in (demo / name).read_text(), "float32" not in
                                 (semantics or "float32") or semantics == "float32-exact")
            self.assertEqual("--project takes that by default" in output, not semantics)
            self.assertEqual("Made with `--semantics real`" in (demo / "README.md").read_text(), "every" in covered)

    def test_float32_that_is_not_covered(self):
        """What --project takes by default says how to go on where it is refused; without it, nothing is."""
        wide = write_model(self.work / "wide.onnx", model(
            "wide", [node("MatMul", ["x", "w"], "y", "mul")], [tensor("w", [2, 1], [3e38, 3e38])], [1, 2], [1, 1]))
        self.assert_refused("BF2112", wide, "--project", "demo", "--no-library", says=["use --semantics real"])
        for more in (("--project", "demo", "--semantics", "real"), ("-o", "v.cpp")):
            self.run_tool(wide, *more, "--no-library")

    def test_board(self):
        """What a board needs besides; no compiler is needed to write it."""
        self.run_tool(TINY, "--project", "demo", "--target", "cortex-m7", "--no-library")
        demo = self.work / "demo"
        files = {path.name for path in demo.iterdir() if path.is_file()}
        self.assertEqual({name for name in files if not name.startswith("bf.")}, {
            ".bf-aot.sha256", "CMakeLists.txt", "README.md", "bf_monitor.c", "bf_monitor.h", "example.c", "golden.json",
            "tiny.cpp", "tiny.h", "tiny.json", "tiny_readings.h",
            "tiny_selftest.c", "tiny_selftest.h", "toolchain.cmake", "verifier.cmake", "board.h", "board.c", "console.c",
            "board.ld", "idf_component.yml", "library.json", "library.properties"} | {"bf_aot.tiny.pdsc"})
        readme = (demo / "README.md").read_text()
        for text in ("arm-none-eabi-g++ $flags -I. -c tiny.cpp", "-mcpu=cortex-m7", "mps2-an500",
                     "--target run"):
            self.assertIn(text, readme)
        for name in ("README.md", "CMakeLists.txt", "verifier.cmake", "toolchain.cmake", "example.c"):
            self.assertNotIn("@", (demo / name).read_text())
        self.assertNotIn("stdio", (demo / "example.c").read_text())

    def test_names_of_its_own(self):
        for name in ("bf", "bf_monitor", "board", "console", "example", "library", "run"):
            _, errors = self.run_tool(TINY, "--project", "demo", "--no-library", "-o",
                                      f"{name}.cpp", code=2)
            self.assertIn(f"called '{name}'", errors)
        self.assertEqual(self.names(), [])

    def test_example_without_cmake(self):
        self.run_tool(CONTROLLER, "--project", "demo", "-o", "net.cpp", "--name", "net")
        self.assertLessEqual({"demo", "libnet.a", "net.cpp", "net.h", "net.json"},
                             set(self.names()))
        folder = self.work / "demo"
        compiler = os.environ.get("CXX", "c++")
        for name in ("example", "bf_monitor", "net_selftest"):
            subprocess.run([compiler, "-x", "c", *STRICT_C, "-c", f"{name}.c", "-o", f"{name}.o"], cwd=folder,
                           check=True)
        subprocess.run([compiler, "example.o", "bf_monitor.o", "net_selftest.o", "libnet.a", "-o", "example"],
                       cwd=folder, check=True)
        output = subprocess.run([folder / "example"], check=True, capture_output=True, text=True)
        self.assertEqual(output.stdout.count("output "), 5)
        self.assertIn("self-test: passed", output.stdout)

    def test_contexts_and_batches(self):
        self.run_tool(CONTROLLER, "--project", "demo", "--name", "net", "--cache", "reuse-ibp",
                      "--batch", "4")
        folder = self.work / "demo"
        readme = (folder / "README.md").read_text()
        self.assertIn("`net_bounds_cached`", readme)
        self.assertIn("`NET_BATCH`", readme)
        self.assertNotIn("@", readme + (folder / "example.c").read_text())
        compiler = os.environ.get("CXX", "c++")
        for name in ("example", "bf_monitor", "net_selftest"):
            subprocess.run([compiler, "-x", "c", *STRICT_C, "-c", f"{name}.c", "-o", f"{name}.o"], cwd=folder,
                           check=True)
        subprocess.run([compiler, "example.o", "bf_monitor.o", "net_selftest.o", "libnet.a", "-o", "example"],
                       cwd=folder, check=True)
        output = subprocess.run([folder / "example"], check=True, capture_output=True, text=True)
        self.assertIn("2 calls with a context, 1 of them on the box of the call before",
                      output.stdout)

    def digests(self, folder):
        return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}

    def test_written_again(self):
        """What the user changed stays or is refused; what was written and is not needed any more goes."""
        write = (CONTROLLER, "--project", "demo", "--name", "net", "--no-library")
        self.run_tool(*write, "--method", "crown")
        demo = self.work / "demo"
        first = self.digests(demo)
        fresh = self.work / "fresh"
        self.run_tool(CONTROLLER, "--project", "fresh", "--name", "net", "--no-library", "--method", "ibp")
        stale = set(first) - set(self.digests(fresh))
        self.assertTrue(stale)
        (one, *_) = sorted(stale)
        (demo / "example.c").write_text("int main(void) { return 0; }\n")
        (demo / "notes.txt").write_text("mine\n")
        (demo / "bf/core/mine.h").write_text("// mine\n")
        _, errors = self.run_tool(*write, "--method", "ibp")
        self.assertEqual(errors.count("note: "), 1, errors)
        self.assertIn("demo/example.c was changed and is kept", errors)
        second = self.digests(demo)
        self.assertEqual(second["example.c"], b"int main(void) { return 0; }\n")
        self.assertEqual((second["notes.txt"], second["bf/core/mine.h"]), (b"mine\n", b"// mine\n"))
        self.assertEqual(stale & set(second), set())
        self.assertTrue(second["net.cpp"] != first["net.cpp"])
        self.assertEqual(set(second) - {"notes.txt", "bf/core/mine.h"}, set(self.digests(fresh)))
        # It is the user's for good, and nothing else is said.
        _, errors = self.run_tool(*write, "--method", "ibp")
        self.assertEqual(errors.count("note: "), 1, errors)
        self.assertTrue(self.digests(demo) == second)
        # The verifier itself is not the user's to change, nor another's file to be overwritten.
        for name in ("net.cpp", "bf.h", ".bf-aot.sha256"):
            kept = (demo / name).read_bytes()
            (demo / name).write_bytes(kept + b"// mine\n")
            self.assert_refused("BF3109" if name.startswith(".") else "BF3108", *write, "--method", "crown",
                                says=["demo"] if name.startswith(".") else [name])
            (demo / name).write_bytes(kept)
        (self.work / "other").mkdir()
        self.write("other/CMakeLists.txt", "project(other)\n")
        self.assert_refused("BF3108", TINY, "--project", "other", "--no-library", says=["CMakeLists.txt"])
        # Stale files that were changed are left.
        self.run_tool(*write, "--method", "crown")
        with open(demo / one, "a") as file:
            file.write("// mine\n")
        _, errors = self.run_tool(*write, "--method", "ibp")
        self.assertIn(f"demo/{one} is no longer part of the project", errors)
        self.assertTrue((demo / one).exists())

    def test_target_of_an_edited_build(self):
        """Flags of the target follow it, though the user has changed CMakeLists.txt."""
        write = (CONTROLLER, "--project", "demo", "--name", "net", "--no-library", "--target")
        demo = self.work / "demo"
        self.run_tool(*write, "cortex-m4")
        for name in ("CMakeLists.txt", "toolchain.cmake"):
            with open(demo / name, "a") as file:
                file.write("# mine\n")
        for target in ("cortex-m7", "x86-64-v3"):
            _, errors = self.run_tool(*write, target)
            self.assertIn("CMakeLists.txt was changed and is kept\n", errors)
            self.assertIn("toolchain.cmake was changed and is kept, as made for other options" if target == "cortex-m7"
                          else "toolchain.cmake is no longer part of the project", errors)
            self.assertTrue((demo / "CMakeLists.txt").read_text().endswith("# mine\n"))
        command = ["cmake", "-S", demo, "-B", demo / "build", "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON"]
        subprocess.run(command, check=True, capture_output=True)
        built = json.loads((demo / "build/compile_commands.json").read_text())
        flags = json.loads((demo / "net.json").read_text())["build"]
        self.assertIsNone(flags, "--no-library")
        (command,) = [one["command"] for one in built if one["file"].endswith("net.cpp")]
        self.assertIn("-march=x86-64-v3", command)
        self.assertNotIn("cortex", command)

    def test_flags_of_an_older_build(self):
        """A changed CMakeLists.txt with flags of its own, as versions before wrote it, is refused."""
        write = (TINY, "--project", "demo", "--no-library", "--target")
        self.run_tool(*write, "cortex-m4")
        self.write("demo/CMakeLists.txt", "project(x)\nadd_compile_options(-mcpu=cortex-m4)\n")
        before = self.digests(self.work / "demo")
        self.assert_refused("BF3108", *write, "cortex-m7", says=["CMakeLists.txt", "verifier.cmake"])
        self.assertEqual(self.digests(self.work / "demo"), before)

    def test_list_cannot_lead_out(self):
        """Whoever wrote the list: no file outside of the folder is removed."""
        victim = self.write("victim.txt", "x")
        digest = hashlib.sha256(b"x").hexdigest()
        for name in ("../victim.txt", str(victim)):
            (self.work / "demo").mkdir(exist_ok=True)
            self.write("demo/.bf-aot.sha256", f"{digest}  {name}\n")
            self.assert_refused("BF3109", TINY, "--project", "demo", "--no-library")
            self.assertTrue(victim.exists())

    def test_name_that_a_project_has(self):
        self.run_tool(TINY, "--project", "demo", "--no-library", "--name", "example")
        self.assertTrue((self.work / "demo/example_verifier.h").exists())

    def test_two_projects_in_one_build(self):
        for name, method in (("one", "ibp"), ("two", "crown")):
            self.run_tool(CONTROLLER, "--project", name, "--name", name, "--method", method, "--no-library")
        self.write("CMakeLists.txt", """cmake_minimum_required(VERSION 3.16)
project(both LANGUAGES C CXX)
enable_testing()
add_subdirectory(one)
add_subdirectory(two)
add_executable(both main.c)
target_link_libraries(both PRIVATE one two)
# As embedded build systems link: every object.
add_executable(whole main.c)
target_link_libraries(whole PRIVATE -Wl,--whole-archive one two -Wl,--no-whole-archive)
""")
        self.write("main.c", """#include <stdio.h>
#include "one.h"
#include "two.h"
static _Alignas(64) unsigned char workspace[ONE_WORKSPACE_BYTES + TWO_WORKSPACE_BYTES];
int main(void) {
  static const float low[ONE_INPUTS], high[ONE_INPUTS];
  float a[ONE_OUTPUTS], b[ONE_OUTPUTS], c[TWO_OUTPUTS], d[TWO_OUTPUTS];
  bf_status first = one_bounds(low, high, a, b, workspace, sizeof workspace);
  bf_status second = two_bounds(low, high, c, d, workspace, sizeof workspace);
  printf("%s %s %d\\n", bf_status_text(first), bf_status_text(second), a[0] <= d[0] && c[0] <= b[0]);
  return 0;
}
""")
        for command in (["cmake", "-S", ".", "-B", "build"], ["cmake", "--build", "build"]):
            done = subprocess.run(command, cwd=self.work, capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        for program in ("both", "whole"):
            output = subprocess.run([self.work / "build" / program], check=True, capture_output=True, text=True).stdout
            self.assertEqual(output, "ok ok 1\n")


if __name__ == "__main__":
    unittest.main()

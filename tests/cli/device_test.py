"""Verifiers on devices: bounds of an OpenCL device, PoCL where it is installed, and of programs that
call what is written for one; what refuses a device, by a library of OpenCL that is faulty; sources
for CUDA, which clang checks without CUDA, and nvcc compiles where it is installed. None of the
latter runs."""

import ctypes
import json
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "device"))
from false_cuda import false_cuda, has_compiled, settle  # noqa: E402
from c_test import STRICT, functions_model  # noqa: E402
from harness import BF_AOT, CONTROLLER, METHODS, MODELS, SOURCE, TINY, BOX, Case  # noqa: E402
from schema import Schema  # noqa: E402
from small_models import dense_model, image_model, residual_model, write_model  # noqa: E402

FAULTS = {"none": "BF3340", "single": "BF3341", "flushes": "BF3341", "divides": "BF3341", "refuses": "BF3342",
          "inexact": "BF3343", "fails": "BF3344", "rounds": "BF3306"}
PROPERTIES = MODELS / "properties"
WIDE = PROPERTIES / "collision_avoidance_6x50_wide.vnnlib"
UNUSED = " (not used)"
BF_AOT_MPI = os.environ.get("BF_AOT_MPI", "")
LIMITS = (2, 8, 32, 128)  # seconds, of questions that are asked anew where a machine is slow, or busy
MAIN = """
#include <stdio.h>
#include "net.h"
int main(void) {
  enum { count = %(count)d };
  static const float lower[] = {%(lower)s}, upper[] = {%(upper)s};
  static float low[count * NET_OUTPUTS], high[count * NET_OUTPUTS];
  bf_status statuses[count];
  char why[200];
  size_t i;
  net_device *const device = net_open_device(0, why, sizeof why);
  if (device == NULL) return puts(why), 1;
  (void)net_bounds_batch_device(device, count, lower, upper, low, high, statuses);
  for (i = 0; i < count; ++i) printf("%%d ", (int)statuses[i]);
  for (i = 0; i < count * NET_OUTPUTS; ++i) printf("%%.9g %%.9g ", (double)low[i], (double)high[i]);
  net_close_device(device);
  return net_bounds_batch_device(NULL, count, lower, upper, low, high, statuses) != BF_NULL_ARGUMENT;
}
"""


def has_device():
    try:
        library = ctypes.CDLL("libOpenCL.so.1")
    except OSError:
        return False
    count = ctypes.c_uint(0)
    return library.clGetPlatformIDs(0, None, ctypes.byref(count)) == 0 and count.value > 0


def cases_property(count):
    """As many boxes, side by side, in that of the narrow property."""
    text = (PROPERTIES / "collision_avoidance_6x50.vnnlib").read_text()
    low, high = map(float, re.findall(r"assert \(.= X_0 ([0-9.]+)", text))
    ends = [low + (high - low) * i / count for i in range(count + 1)]
    cases = " ".join(f"(and (>= X_0 {a:.9f}) (<= X_0 {b:.9f}))" for a, b in zip(ends, ends[1:]))
    return re.sub(r"\(assert \(.= X_0 .*", "", text) + f"(assert (or {cases}))"


# Takes two threads minutes, and has no violation.
HARD = re.sub(r"\(assert[^;]*", "", WIDE.read_text().split("; violated")[0]) + "".join(
    f"(assert (<= -0.5 X_{i} 0.5))" for i in range(5)) + "(assert (>= Y_0 2))"


class DeviceCase(Case):
    def assert_decides(self, device, questions):
        """Verdicts, and counts of verified cases, are those of this processor; nodes are bounded there."""
        for model, prop, more in questions:
            with self.subTest(model=model, more=more):
                there, here = (self.run_json("verify", model, prop, *more, *on, code=None)
                               for on in (["--device", device], []))
                for key in ("verdict", "verified_cases"):
                    self.assertEqual(there[key], here[key])
                if model == CONTROLLER:  # where a tree is kept, it waits for the device
                    used = "crown on the device"
                    may_be = [used] if "--checkpoint" in more else [used, used + UNUSED]
                    self.assertTrue(set(there["methods"]) & set(may_be), there["methods"])
                    self.assertGreater(there["boxes"], 1)

    def setUp(self):
        super().setUp()
        self.environment["POCL_CACHE_DIR"] = str(self.folder / "pocl")

    def tearDown(self):
        settle(self.folder)
        super().tearDown()

    def longer(self, is_enough, *arguments):
        """Yields answers by limits of time that grow until one is enough."""
        for seconds in LIMITS:
            found = self.run_json(*arguments, "--timeout", seconds, code=None)
            yield found
            if is_enough(found):
                return
        self.fail(f"{LIMITS[-1]} s are too short: {arguments}")

    def figures(self, device, *more):
        """What inspect says of a device, which has the form that the reference states."""
        made = self.run_json("inspect", CONTROLLER, "--device", device, *more)
        self.assertEqual(Schema(SOURCE / "docs/reference/json-schema.json").problems(made, "device"), [])
        self.assertEqual([batch["boxes"] for batch in made["batches"]], [1, 64, 1024, 16384])
        self.assertEqual(made["batches"][2]["bytes"], 1024 * made["box_bytes"])
        return made

    def h200(self):
        return self.run_json("inspect", TINY, "--device", "cuda", "--peaks", "h200")["peaks"]

    def assert_limits(self, made):
        """More boxes take no less time at the peaks, and the tasks' times are all of it."""
        times = [batch["limit_seconds"] for batch in made["batches"]]
        self.assertEqual(times, sorted(times))
        tasks = sum(task["seconds"] for task in made["tasks"])
        self.assertLess(abs(tasks - times[2]), 1e-6 * times[2])
        self.assertGreater(sum(task["float32_flops"] for task in made["tasks"]), 0)

    def models(self):
        for name, text in (("functions", functions_model()), ("image", image_model()),
                           ("residual", residual_model())):
            yield write_model(self.work / f"{name}.onnx", text)


@unittest.skipUnless(has_device(), "no OpenCL platform is installed: pocl-opencl-icd")
class Device(DeviceCase):
    def box(self, model, radius):
        inputs = json.loads(self.run_tool("inspect", model, "--plan")[0])["inputs"]
        rng = random.Random(5)
        centre = [rng.uniform(-1, 1) for _ in range(sum(each["elements"] for each in inputs))]
        return self.write("box.json", {"lower": [c - radius for c in centre], "upper": [c + radius for c in centre]})

    def test_bounds_are_those_of_this_processor_but_for_roundings(self):
        asked = ("ibp", "crown-ibp", "crown", "alpha-crown")  # a device's compiler takes seconds for each
        for model, method in zip([CONTROLLER, *self.models()], asked):
            box = self.box(model, 0.05)
            with self.subTest(model=model, method=method):
                there, here = (self.run_json("run", model, "--box", box, "--method", method, "--repeat", 1, *more)
                               ["outputs"] for more in (["--device", "opencl"], []))
                for end in ("lower", "upper"):
                    for a, b, low, high in zip(there[end], here[end], here["lower"], here["upper"]):
                        self.assertLess(abs(a - b), 1e-3 * (high - low) + 1e-6)

    def test_programs_call_verifiers(self):
        lower, upper = [[-1, -1], [0.5, -0.25], [1, 0]], [[1, 1], [0.75, 0], [0, 0]]  # the last is empty
        self.run_tool(TINY, "--target", "opencl", "--items", 1, "-o", "net.cl", "--name", "net")
        self.assertEqual(self.names(), ["libnet.a", "net.c", "net.cl", "net.h", "net.json", "net_cl.inc",
                                        "net_weights.inc"])
        header = (self.work / "net.h").read_text()
        self.assertNotIn("_evaluate", header)
        broken = re.search(r"\n \* [^ \n]+\n \* ", header)  # a word that did not fit
        self.assertIsNone(broken, broken and broken.group())
        self.write("main.c", MAIN % {"count": 3, "lower": str(sum(lower, []))[1:-1],
                                     "upper": str(sum(upper, []))[1:-1]})
        for compiler in filter(shutil.which, ("gcc", "clang")):
            for name in ("main", "net"):
                subprocess.run([compiler, *STRICT, "-D_GNU_SOURCE", "-I", SOURCE / "runtime", "-I.", "-c",
                                f"{name}.c", "-o", f"{name}.o"], cwd=self.work, check=True)
            subprocess.run([compiler, "main.o", "net.o", "-ldl", "-o", "main"], cwd=self.work, check=True)
            made = subprocess.run(["./main"], cwd=self.work, env=self.environment, check=True, capture_output=True,
                                  text=True).stdout.split()
            self.assertEqual(made[:3], ["0", "0", "3"])
            for i, (low, high) in enumerate(zip(lower[:2], upper)):
                box = self.write("box.json", {"lower": low, "upper": high})
                outputs = self.run_json("run", TINY, "--box", box, "--device", "opencl:0")["outputs"]
                numbers = list(map(float, made[3 + 4 * i:7 + 4 * i]))
                self.assertEqual([f"{x:.9g}" for x in numbers[::2]], [f"{x:.9g}" for x in outputs["lower"]])
                self.assertEqual([f"{x:.9g}" for x in numbers[1::2]], [f"{x:.9g}" for x in outputs["upper"]])

    def test_certifies_samples(self):
        self.write("data.csv", "a,b,label\n" + "".join(f"{i / 8},{1 - i / 8},{i % 2}\n" for i in range(8)))
        there, here = (self.run_json("certify", TINY, "--data", "data.csv", "--eps", "0.01", *more)
                       for more in (["--device", "opencl"], []))
        self.assertEqual(json.dumps(there["radii"][0]["certified"]), json.dumps(here["radii"][0]["certified"]))

    def test_shares_of_the_device_s_peaks(self):
        self.run_tool("profile", "--device", "opencl", "-o", "peaks.json")
        made = self.figures("opencl", "--peaks", "peaks.json", "--method", "ibp")
        self.assertEqual(made["peaks"], json.loads((self.work / "peaks.json").read_text()))
        self.assert_limits(made)
        asked = ["bench", TINY, "--box", self.write("box.json", BOX), "--device", "opencl", "--seconds", "0.01"]
        made = self.run_json(*asked)
        self.assertEqual(Schema(SOURCE / "docs/reference/json-schema.json").problems(made, "bench"), [])
        self.assertIn("mean of 1 box", made["device"]["activity"])
        for batch in made["device"]["batches"][:1]:  # whether others fit into the time depends on it
            self.assertEqual(batch["roofline"], batch["limit_seconds"] / batch["seconds"])
            self.assertGreater(batch["boxes_per_second"], 0)
        peaks = {**json.loads((self.work / "peaks.json").read_text()), "source": "by\x1b[31mhand\n"}
        text = self.run_tool(*asked, "--peaks", self.write("named.json", peaks))[0]
        for words in ("of peaks", "measured/s", "\n  by_[31mhand_\n", "bound by"):
            self.assertIn(words, text)
        self.assert_refused("BF3346", *asked, "--peaks", "h200", says=["groups of 64 items", "have 1"])

    def test_the_report_has_a_part_about_the_device(self):
        self.run_tool("inspect", TINY, "--device", "opencl", "--sample-box", self.write("box.json", BOX), "--report",
                      "page.html")
        page = (self.work / "page.html").read_text()
        for words in ('<section id="device">', 'href="#device"', "boxes a second, at most", "of the peaks"):
            self.assertIn(words, page)

    def test_finds_no_further_device(self):
        box = self.write("box.json", BOX)
        self.assert_refused("BF3340", "run", TINY, "--box", box, "--device", "opencl:99", says=["99"])
        self.write("peaks.json", "{}")
        self.assert_refused("BF2132", "inspect", TINY, "--device", "opencl", "--peaks", "peaks.json",
                            says=["bf-aot profile --device"])
        self.assert_refused("BF3340", "verify", TINY, PROPERTIES / "tiny_holds.vnnlib", "--device", "opencl:99",
                            says=["99"])

    def test_decides_as_this_processor(self):
        questions = [(TINY, PROPERTIES / "tiny_violated.vnnlib", []), (CONTROLLER, WIDE, []),
                     (CONTROLLER, WIDE, ["--checkpoint", "tree.json", "--jobs", 2]),
                     (CONTROLLER, WIDE, ["--proof", "proof.bfc"])]
        self.assert_decides("opencl", questions)
        self.assertTrue((self.work / "proof.bfc").exists())

    def test_decides_many_questions(self):
        """Each in a process of its own, which opens the device."""
        self.write("i.csv", "".join(f"{model},{PROPERTIES / name}.vnnlib,60\n" for model, name in (
            (TINY, "tiny_violated"), (TINY, "tiny_holds"), (CONTROLLER, "collision_avoidance_6x50_wide"))))
        answers = []
        for name, more in (("there", ["--device", "opencl"]), ("here", []), ("none", ["--device", "opencl:99"])):
            self.run_tool("verify", "--instances", "i.csv", "--results", f"{name}.csv", *more, code=name == "none")
            lines = [line.split(",") for line in (self.work / f"{name}.csv").read_text().splitlines()]
            answers.append({pathlib.Path(line[2]).stem: line[4] for line in lines})  # in the order of their ends
        self.assertEqual(answers[0], answers[1])
        self.assertEqual((answers[0]["tiny_violated"], answers[0]["tiny_holds"]), ("sat", "unsat"))
        self.assertEqual(set(answers[2].values()), {"error"})

    def test_bounds_many_cases(self):
        """Its compiler takes longer than the cases, as a rule; a false driver below is ready before them."""
        self.write("cases.vnnlib", cases_property(40))
        for method in ("crown", "alpha-crown"):
            asked = ["verify", CONTROLLER, "cases.vnnlib", "--method", method, "--branch", 0, "--search", 0]
            made = self.run_json(*asked, "--device", "opencl")
            there = f"{method} on the device"
            self.assertIn(made["methods"], ([method, there], [method, there + UNUSED]))
            self.assertEqual((made["verdict"], made["verified_cases"]), ("verified", 40))


class DeviceErrors(DeviceCase):
    def test_options_that_devices_lack(self):
        box = self.write("box.json", BOX)
        on_device = ["run", TINY, "--box", box, "--device", "opencl"]
        for option in (["--timeout", 1], ["--jobs", 2], ["--lowering", "vector"], ["--jit", "off"],
                       ["--target", "cortex-m4"], ["--cxx", "g++"], ["--cxx-flags=-g"], ["--batch", 4],
                       ["--parallel", 2]):
            self.assert_refused("BF3345", *on_device, *option, says=[option[0].split("=")[0]])
        forward = ["--method", "forward"]
        self.write("data.csv", "a,b,label\n0,1,0\n")
        certify = ["certify", TINY, "--data", "data.csv", "--eps", "0.01", "--device", "opencl"]
        for asked in (on_device, certify):
            self.assert_refused("BF3112", *asked, *forward, says=["--method forward", "leave it or --device out"])
        self.assert_refused("BF3112", TINY, "--target", "opencl", "-o", "v.cl", *forward,
                            says=["--method forward", "-o with a name that ends in .cpp"])
        self.assert_refused("BF3112", "verify", TINY, PROPERTIES / "tiny_holds.vnnlib", "--device", "opencl",
                            *forward, says=["devices have no"])
        for option in (["--property", MODELS / "properties" / "tiny_holds.vnnlib"], ["--batch", 4],
                       ["--semantics", "float32-exact"], ["--project", "p"]):
            with self.subTest(option=option):
                self.assert_refused("BF3112", TINY, "--target", "opencl", "-o", "v.cl", *option)
        for target, name in (("opencl", "v.cpp"), ("cuda", "v.cl"), ("cortex-m4", "v.cu")):
            self.assert_refused("BF3112", TINY, "--target", target, "-o", name, says=["--target"])
        for name in ("gpu", "cuda:", "cuda:x", "opencl:-1", "CUDA:X"):
            _, errors = self.run_tool("run", TINY, "--box", box, "--device", name, code=2)
            self.assertIn("names no device", errors)
        self.assert_refused("BF3340", "run", TINY, "--box", box, "--device", "OpenCL:999", says=["opencl:999"])

    def false_opencl(self):
        folder = self.folder / "false"
        folder.mkdir()
        subprocess.run(["gcc", "-shared", "-fPIC", SOURCE / "tests/cli/device/false_opencl.c", "-o",
                        folder / "libOpenCL.so.1", "-lm"], check=True)
        self.environment["LD_LIBRARY_PATH"] = str(folder)

    def slow_opencl(self):
        """Its compiler does not end before the test. Returns a file that is there once it has begun."""
        begun = self.folder / "begun"
        self.environment.update(BF_FALSE_DEVICE="slow", BF_FALSE_BEGUN=str(begun))
        return begun

    @unittest.skipUnless(shutil.which("gcc"), "no gcc")
    def test_verdicts_do_not_wait_for_compilers_of_devices(self):
        self.false_opencl()
        self.write("hard.vnnlib", HARD)
        asked = ["verify", CONTROLLER, "hard.vnnlib", "--device", "opencl", "--jobs", 2]
        for fault in ("refuses", "inexact", "fails"):  # they are found while this processor is at work
            with self.subTest(fault=fault):
                self.environment["BF_FALSE_DEVICE"] = fault
                self.assert_refused(FAULTS[fault], *asked)
                self.assert_refused(FAULTS[fault], "verify", CONTROLLER, WIDE, *asked[3:], "--checkpoint", "t.json")
        begun = self.slow_opencl()
        made = self.run_json("verify", CONTROLLER, WIDE, *asked[3:])
        self.assertEqual((made["verdict"], made["methods"]), ("verified", ["crown", "crown on the device" + UNUSED]))
        begun.unlink(missing_ok=True)
        for made in self.longer(lambda _: begun.exists(), *asked):
            self.assertEqual(made["verdict"], "timeout")
        begun.unlink()
        process = self.start(*asked, "--timeout", 1000)
        try:
            self.wait_for(begun.exists, process)
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=100)
        finally:
            process.kill()
        self.assertIn(process.returncode, (-signal.SIGINT, 128 + signal.SIGINT))

    @unittest.skipUnless(shutil.which("gcc"), "no gcc")
    def test_faulty_devices_are_refused(self):
        self.false_opencl()
        box = self.write("box.json", BOX)
        for fault, code in FAULTS.items():
            with self.subTest(fault=fault):
                self.environment["BF_FALSE_DEVICE"] = fault
                self.assert_refused(code, "run", TINY, "--box", box, "--device", "opencl")

    @unittest.skipUnless(shutil.which("gcc"), "no gcc")
    def test_a_host_that_does_not_round_to_nearest_is_told(self):
        """It cannot say of a device that it is inexact."""
        self.false_opencl()
        self.environment["BF_FALSE_DEVICE"] = "inexact"
        self.run_tool(TINY, "--target", "opencl", "-o", "net.cl", "--name", "net", "--no-library")
        self.write("main.c", MAIN.replace("#include", "#include <fenv.h>\n#include", 1).replace(
            "  net_device *const", "  if (MODE != 0) fesetround(MODE);\n  net_device *const") % {
                "count": 1, "lower": "0, 0", "upper": "1, 1"})
        for mode, says in (("0", "not as IEEE 754 has them"), ("FE_DOWNWARD", "this thread does not round to nearest")):
            subprocess.run(["gcc", "-std=c99", "-D_GNU_SOURCE", f"-DMODE={mode}", "-I", SOURCE / "runtime", "-I.",
                            "main.c", "net.c", "-ldl", "-lm", "-o", "main"], cwd=self.work, check=True)
            made = subprocess.run(["./main"], cwd=self.work, env=self.environment, capture_output=True, text=True,
                                  check=False)
            self.assertEqual(made.returncode, 1)
            self.assertIn(says, made.stdout)

    @unittest.skipUnless(shutil.which("gcc"), "no gcc")
    def test_names_of_the_runtime_are_refused(self):
        for name in ("bf_opencl", "bf"):
            self.assert_refused("BF3302", TINY, "--target", "opencl", "-o", "net.cl", "--name", name, says=["bf_"])
        self.assert_refused("BF3302", TINY, "--target", "cuda", "-o", "net.cu", "--name", "bf_cuda", says=["bf_"])

    def test_boards_limits_are_refused(self):
        for option in ("--max-ram", "--max-flash"):
            self.assert_refused("BF3112", TINY, "--target", "opencl", "-o", "net.cl", option, 100, says=["--max-ram"])

    @unittest.skipUnless(shutil.which("gcc"), "no gcc")
    def test_a_single_file_needs_no_runtime(self):
        self.run_tool(TINY, "--target", "opencl", "-o", "net.cl", "--name", "net", "--single-file")
        self.assertEqual(self.names(), ["libnet.a", "net.c", "net.cl", "net.h", "net.json"])
        self.write("main.c", MAIN % {"count": 1, "lower": "0, 0", "upper": "1, 1"})
        for compiler in filter(shutil.which, ("gcc", "clang")):
            subprocess.run([compiler, *STRICT, "-D_GNU_SOURCE", "main.c", "net.c", "-ldl", "-o", "main"],
                           cwd=self.work, check=True)
        self.false_opencl()
        self.environment["BF_FALSE_DEVICE"] = "inexact"
        made = subprocess.run(["./main"], cwd=self.work, env=self.environment, capture_output=True, text=True,
                              check=False)
        self.assertIn("not as IEEE 754 has them", made.stdout)
        said, _ = self.run_tool(TINY, "--target", "cuda", "-o", "one.cu", "--name", "net", "--single-file")
        self.assertIn("nvcc", said)
        self.run_tool(TINY, "--target", "cuda", "-o", "two.cu", "--name", "net")
        self.assertEqual(*((self.work / f"{name}.cu").read_text().replace(f'"{name}.h"', "")
                           for name in ("one", "two")))

    @unittest.skipUnless(shutil.which("gcc"), "no gcc")
    def test_groups_have_no_more_items_than_a_device_allows(self):
        self.false_opencl()
        self.environment["BF_FALSE_DEVICE"] = "narrow"
        self.assertEqual(self.figures("opencl")["items"], 32)
        self.assertEqual(self.program(), (1, "too few items in a group, at most (40)\n"))
        self.assertIn("are not as IEEE 754 has them", self.program("--items", 40)[1])  # the probe's zeros

    def program(self, *options):
        """What a program says that bounds a box by a verifier."""
        self.run_tool(TINY, "--target", "opencl", "-o", "net.cl", "--name", "net", *options)
        self.write("main.c", MAIN % {"count": 1, "lower": "0, 0", "upper": "1, 1"})
        subprocess.run(["gcc", "-std=c99", "-D_GNU_SOURCE", "-I", SOURCE / "runtime", "-I.", "main.c", "net.c", "-ldl",
                        "-o", "main"], cwd=self.work, check=True)
        made = subprocess.run(["./main"], cwd=self.work, env=self.environment, capture_output=True, text=True,
                              check=False)
        return made.returncode, made.stdout

    @unittest.skipUnless(shutil.which("gcc"), "no gcc")
    def test_groups_of_processors_are_of_one_item(self):
        """Loops over the items of a group, as PoCL 3.1 makes them, crash."""
        self.false_opencl()
        self.environment["BF_FALSE_DEVICE"] = "processor"
        self.assertEqual(self.figures("opencl")["items"], 1)
        refused = "groups of %d items on a processor: write the verifier with --items 1\n"
        self.assertEqual(self.program(), (1, refused % 64))
        self.assertEqual(self.program("--items", 2), (1, refused % 2))
        self.assertIn("are not as IEEE 754 has them", self.program("--items", 1)[1])

    def test_items_are_those_that_were_asked_for(self):
        for target, suffix in (("opencl", "cl"), ("cuda", "cu")):
            for items in (1, 7, 64, 1024):
                self.run_tool(TINY, "--target", target, "--items", items, "-o", f"v.{suffix}", "--no-library")
                self.assertIn(f"#define BF_ITEMS {items}\n", (self.work / f"v.{suffix}").read_text())
                self.assertEqual(json.loads((self.work / "v.json").read_text())["options"].get("items", 1), items)
        for name in ("v.cpp", "v.c"):
            self.assert_refused("BF3112", TINY, "--items", 1, "-o", name, says=["--items 1"])
        for items in (0, 1025, "few"):
            self.run_tool(TINY, "--target", "opencl", "--items", items, "-o", "v.cl", code=2)

    @unittest.skipUnless(shutil.which("g++"), "no g++")
    def test_cuda_by_a_false_driver(self):
        """What the host does, without a GPU: the device is this processor."""
        false_cuda(self.folder, self.environment)
        on = ["--device", "cuda"]
        box = self.write("box.json", BOX)
        for method in ("ibp", "crown", "alpha-crown"):
            there, here = (self.run_json("run", TINY, "--box", box, "--method", method, "--repeat", 1, *more)["outputs"]
                           for more in (on, []))
            for end in ("lower", "upper"):
                for a, b in zip(there[end], here[end]):
                    self.assertLess(abs(a - b), 1e-5)
        self.write("data.csv", "a,b,label\n" + "".join(f"{i / 8},{1 - i / 8},{i % 2}\n" for i in range(8)))
        there, here = (self.run_json("certify", TINY, "--data", "data.csv", "--eps", "0.01", *more)
                       for more in (on, []))
        self.assertEqual(json.dumps(there["radii"][0]["certified"]), json.dumps(here["radii"][0]["certified"]))
        self.assert_decides("cuda:0", [(TINY, PROPERTIES / "tiny_violated.vnnlib", []), (CONTROLLER, WIDE, []),
                                        (CONTROLLER, WIDE, ["--semantics", "float32", "--jobs", 2]),
                                        (CONTROLLER, WIDE, ["--checkpoint", "tree.json"])])
        self.assert_bounds_many_cases(on)
        self.assert_refused("BF3340", "run", TINY, "--box", box, "--device", "cuda:1", says=["none with the number 1"])
        self.assert_limits(self.figures("cuda"))
        self.environment["BF_FALSE_DEVICE"] = "sleeps"  # longer than the time of a batch
        asked = ["bench", TINY, "--box", box, *on, "--seconds", "0.01", "--method", "ibp"]
        batches = self.run_json(*asked)["device"]["batches"]
        self.assertGreaterEqual(batches[0]["seconds"], 0.02)
        for batch in batches[1:]:
            self.assertGreaterEqual(batch["too_long_seconds"], 0.02 * batch["boxes"])
            self.assertNotIn("seconds", batch)
        self.assertIn(" not timed: a call takes some ", self.run_tool(*asked)[0])
        for fault in ("none", "refuses", "inexact", "fails"):
            with self.subTest(fault=fault):
                self.environment["BF_FALSE_DEVICE"] = fault
                self.assert_refused(FAULTS[fault], "run", TINY, "--box", box, *on)

    def assert_bounds_many_cases(self, on):
        """On the device for sure: once its compiler is done, it is ready sooner than cases without end."""
        for count in (4000, 8000, 80000):
            cases = self.write("cases.vnnlib", cases_property(count))
            made = self.run_json("verify", CONTROLLER, cases, "--method", "crown", "--branch", 0, "--search", 0, *on)
            self.assertEqual((made["verdict"], made["verified_cases"]), ("verified", count))
            if made["methods"] == ["crown", "crown on the device"]:
                return
            settle(self.folder)
        self.fail(f"the device bounds none of {count} cases")

    def write_many_neurons(self, threshold, width=28, jobs=1):
        """A network of random layers, and a property that takes a thousand nodes and more where it holds."""
        model = write_model(self.work / "neurons.onnx", dense_model([40, width, width, 1], seed=7))
        box = "".join(f"(declare-const X_{i} Real)(assert (>= X_{i} -1))(assert (<= X_{i} 1))\n" for i in range(40))
        self.write("neurons.vnnlib", f"(declare-const Y_0 Real)\n{box}(assert (>= Y_0 {threshold}))\n")
        return ["verify", model, "neurons.vnnlib", "--jobs", jobs]

    @unittest.skipUnless(shutil.which("gcc"), "no gcc")
    def test_searches_of_neurons_do_not_wait_for_compilers_of_devices(self):
        self.false_opencl()
        on = ["--device", "opencl"]
        begun = self.slow_opencl()
        for jobs in (1, 2):
            made = self.run_json(*self.write_many_neurons(9, jobs=jobs), *on, "--timeout", 250)
            self.assertGreater(made["neuron_nodes"], 1000)
            self.assertEqual((made["verdict"], made["neuron_nodes_on_device"]), ("verified", 0))
            begun.unlink(missing_ok=True)
            for made in self.longer(lambda found: found["neuron_nodes"] > 512 and begun.exists(),
                                    *self.write_many_neurons(8, width=60, jobs=jobs), *on):
                self.assertEqual((made["verdict"], made["neuron_nodes_on_device"]), ("timeout", 0))
        for fault in ("refuses", "inexact", "fails"):
            with self.subTest(fault=fault):
                self.environment["BF_FALSE_DEVICE"] = fault
                self.assert_refused(FAULTS[fault], *self.write_many_neurons(8, width=60), *on, "--timeout", 250)

    def compile_for_neurons(self):
        """From then on a device of CUDA is ready at once."""
        process = self.start(*self.write_many_neurons(8, width=60), "--device", "cuda", "--timeout", 1000)
        try:
            self.wait_for(lambda: has_compiled(self.folder, "bf_ascend_nodes"), process)
        finally:
            process.kill()
            process.communicate()

    @unittest.skipUnless(BF_AOT_MPI and shutil.which("mpirun") and shutil.which("gcc"), "no MPI, or no gcc")
    def test_ranks_do_not_wait_for_compilers_of_devices(self):
        self.false_opencl()
        begun = self.slow_opencl()
        self.environment.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_MCA_plm_rsh_agent="false",
                                OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", OMPI_MCA_rmaps_base_oversubscribe="1")
        asked = [*self.write_many_neurons(9, width=38)[1:3], "--timeout", "250"]
        made = subprocess.run(["mpirun", "-np", "2", BF_AOT_MPI, *asked, "--device", "opencl", "--json"], cwd=self.work,
                              env=self.environment, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              check=False, timeout=300)  # the compiler takes an hour
        self.assertEqual(made.returncode, 0, made.stderr)
        found = json.loads(made.stdout)
        self.assertEqual((found["verdict"], found["neuron_nodes_on_device"]), ("verified", 0))
        self.assertGreater(found["neuron_nodes"], 1000)
        self.assertTrue(begun.exists())

    @unittest.skipUnless(shutil.which("g++"), "no g++")
    def test_verdicts_stand_whatever_a_device_proposes(self):
        false_cuda(self.folder, self.environment)
        self.compile_for_neurons()
        on = ["--device", "cuda"]
        made = self.run_json(*self.write_many_neurons(9, width=38), *on, "--timeout", 250, code=0)
        self.assertEqual(made["verdict"], "verified")
        self.assertGreater(made["neuron_nodes_on_device"], 100)
        self.assertLess(made["neuron_nodes_on_device"], made["neuron_nodes"])
        for fault in ("babbles", "claims"):
            with self.subTest(fault=fault):
                self.environment["BF_FALSE_DEVICE"] = fault
                proof = self.work / f"{fault}.bfc"
                for found in self.longer(lambda found: found["neuron_nodes_on_device"] > 100,
                                         *self.write_many_neurons(9, width=40), *on, "--proof", proof):
                    self.assertIn(found["verdict"], ("verified", "timeout"))
                    self.assertEqual(found["verdict"] == "verified", proof.exists())
                    proof.unlink(missing_ok=True)
                for found in self.longer(lambda found: found["verdict"] == "falsified"
                                         or found["neuron_nodes_on_device"] > 100,
                                         *self.write_many_neurons(4.8, width=40), *on, "--search", 0):
                    self.assertIn(found["verdict"], ("falsified", "timeout"))
        self.environment["BF_FALSE_DEVICE"] = "fails_later"
        self.assert_refused("BF3344", *self.write_many_neurons(8, width=60), *on, "--timeout", 250)

    def test_no_driver_of_cuda(self):
        box = self.write("box.json", BOX)
        (self.folder / "empty").mkdir()
        (self.folder / "empty" / "libcuda.so.1").write_text("none")
        self.environment["LD_LIBRARY_PATH"] = str(self.folder / "empty")
        self.assert_refused("BF3340", "run", TINY, "--box", box, "--device", "cuda", says=["libcuda.so.1"])
        self.assertEqual(self.figures("cuda")["items"], 64)
        self.assert_refused("BF3340", "bench", TINY, "--box", box, "--device", "cuda", "--peaks",
                            self.write("p.json", {**self.h200(), "items": 32}))

    def test_peaks_of_a_device_that_is_not_here(self):
        made = self.figures("cuda", "--peaks", "h200", "--method", "crown")
        self.assertEqual((made["items"], made["peaks"]["name"]), (64, "h200"))
        self.assert_limits(made)
        # A group has one of 264 parts of the arithmetic: 64 boxes take as long as one.
        self.assertEqual(made["batches"][0]["limit_seconds"], made["batches"][1]["limit_seconds"])
        self.assertIn("float32 arithmetic", {task["bound"] for task in made["tasks"]})
        self.run_tool("inspect", TINY, "--device", "cuda", "--peaks", "h200", "--report", "page.html")
        self.assertIn("NVIDIA&#39;s data sheet", (self.work / "page.html").read_text())
        self.assert_refused("BF2131", "inspect", TINY, "--device", "cuda", "--peaks", "abacus", says=["h200"])
        self.assert_refused("BF2132", "inspect", TINY, "--device", "cuda", "--peaks", self.write("p.json", {"name": 1}))
        self.run_tool("inspect", TINY, "--peaks", "h200", code=2)
        box = self.write("box.json", BOX)
        for option in (["--compare", "reference"], ["--peer", "true"], ["--out", "folder"], ["--warm-up", 3],
                       ["--repeats", 3], ["--no-kernels"], ["--lowering", "vector"], ["--cxx", "g++"]):
            self.assert_refused("BF3345", "bench", TINY, "--box", box, "--device", "opencl", *option, says=[option[0]])
        for option in (["--fit", TINY], ["--name", "it"], ["--box", box], ["--method", "ibp"], ["--all"],
                       ["--cxx", "g++"], ["--cxx-flags=-g"]):
            self.assert_refused("BF3345", "profile", "--device", "opencl", *option, says=[option[0].split("=")[0]])

    def test_no_library(self):
        box = self.write("box.json", BOX)
        self.environment["LD_LIBRARY_PATH"] = str(self.folder / "empty")
        (self.folder / "empty").mkdir()
        for name in ("libOpenCL.so.1", "libOpenCL.so"):
            (self.folder / "empty" / name).write_text("none")
        self.assert_refused("BF3340", "run", TINY, "--box", box, "--device", "opencl")
        made = self.figures("opencl")
        self.assertIn("cannot be loaded", made["no_peaks"])
        self.assertNotIn("peaks", made)
        self.assertEqual(made["items"], 64)  # as of a device that is no processor
        self.assertIn("peaks are not known", self.run_tool("inspect", TINY, "--device", "opencl")[0])


@unittest.skipUnless(shutil.which("clang++"), "no clang++")
class Cuda(DeviceCase):
    def test_sources_are_cuda(self):
        """clang checks host's and device's part with declarations of what is used of CUDA."""
        words = SOURCE / "tests/soundness/cuda_words"
        for model in [CONTROLLER, *self.models()]:
            for method in (*METHODS, "alpha-crown"):
                self.run_tool(model, "--target", "cuda", "-o", "net.cu", "--name", "net", "--method", method)
                for part in (["--cuda-host-only"], ["--cuda-device-only", "--cuda-gpu-arch=sm_70"]):
                    made = subprocess.run(
                        ["clang++", "-x", "cuda", *part, "-nocudainc", "-nocudalib", "-std=c++17", "-fsyntax-only",
                         "-Wall", "-Wextra", "-Werror", "-Wno-unused-function", "-Wno-unknown-cuda-version",
                         "-Wno-unused-const-variable", "-I", words, "-include", words / "cuda_runtime.h", "net.cu"],
                        cwd=self.work, capture_output=True, text=True, check=False)
                    self.assertEqual(made.returncode, 0, f"{model} {method} {part}\n{made.stderr[:3000]}")


NVCC = shutil.which("nvcc") or shutil.which("nvcc", path="/usr/local/cuda/bin")


@unittest.skipUnless(NVCC, "no nvcc")
class Nvcc(DeviceCase):
    def nvcc(self, *options):
        made = subprocess.run([NVCC, "-arch=sm_90", "-std=c++17", "-Werror", "all-warnings", "-Xcompiler",
                               "-Wall,-Wextra", *options, "net.cu"], cwd=self.work, capture_output=True, text=True,
                              check=False)
        self.assertEqual((made.returncode, made.stderr), (0, ""), made.stdout)

    def test_two_verifiers_link_into_one_program(self):
        for name in ("one", "two"):
            self.run_tool(TINY, "--target", "cuda", "-o", f"{name}.cu", "--name", name, "--method", "ibp")
        self.write("main.cu", """
            #include "one.h"
            #include "two.h"
            int main() { return one_open_device(0, NULL, 0) == NULL && two_open_device(0, NULL, 0) == NULL; }
            """)
        made = subprocess.run([NVCC, "-arch=compute_90", "-code=compute_90", "main.cu", "one.cu", "two.cu", "-o",
                               "main"], cwd=self.work, capture_output=True, text=True, check=False)
        self.assertEqual(made.returncode, 0, made.stderr)

    def test_registers_are_told_and_none_are_spilled(self):
        """Of the network that is always here."""
        made = subprocess.run([SOURCE / "bench/device/registers.sh", pathlib.Path(BF_AOT).resolve().parents[1]],
                              env={**self.environment, "BF_SHARED": str(self.folder)}, capture_output=True, text=True,
                              check=True).stdout
        rows = re.findall(r"^\| collision avoidance 6x50 \| (ibp|crown) \| (\d+) \| 0 \| 0 \| 0 \|", made, re.MULTILINE)
        self.assertEqual([method for method, _ in rows], ["ibp", "crown"], made)
        for _, registers in rows:
            self.assertLess(int(registers), 255)

    def test_compiles_without_warnings_to_arithmetic_of_ieee(self):
        """The device's code rounds to nearest and keeps subnormals. It fuses products where the compiler
        likes, for which error terms hold, or where the source says so, which the probe alone does."""
        asked = zip([CONTROLLER, CONTROLLER, *self.models()],
                    ("ibp", "crown", "alpha-crown", "crown", "alpha-crown"))
        for i, (model, method) in enumerate(asked):
            with self.subTest(model=model, method=method):
                self.run_tool(model, "--target", "cuda", "-o", "net.cu", "--name", "net", "--method", method)
                if i == 0:
                    self.nvcc("-c", "-o", "net.o")  # the host's part, too
                fused = i == 1
                self.nvcc("-ptx", "-o", "net.ptx", *([] if fused else ["-fmad=false"]))
                code = pathlib.Path(self.work / "net.ptx").read_text()
                for relaxed in (".ftz", ".approx", ".full", "tf32", ".rz.f", ".rm.f", ".rp.f"):
                    self.assertNotIn(relaxed, code)
                products = len(re.findall(r"\bfma\.rn\.f(?:32|64)", code))
                self.assertTrue(products > 2 if fused else products == 2, products)


if __name__ == "__main__":
    unittest.main()

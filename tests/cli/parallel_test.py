"""--parallel: one program calls a verifier alone and with several executors; the results are compared to
the bit, under ThreadSanitizer too."""

import os
import subprocess
import sys
import unittest

sys.dont_write_bytecode = True
from harness import CONTROLLER, MODELS, SOURCE, TINY, Case  # noqa: E402

CXX = os.environ["CXX"].split()
RUNTIME = f"-I{SOURCE / 'runtime'}"
STRICT = ["-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Wconversion", "-Werror"]
PROPERTY = MODELS / "properties" / "collision_avoidance_6x50.vnnlib"

# EXECUTOR: the adapter's header and an expression of type const bf_executor*.
PROGRAM = r"""
#include <cstdio>
#include <cstring>
#include <vector>

#include "avoid.h"
#include EXECUTOR_HEADER

namespace {

constexpr std::size_t kBoxes = AVOID_BATCH, kIn = AVOID_INPUTS, kOut = AVOID_OUTPUTS;
constexpr std::size_t kRows = AVOID_SPEC_ROWS;
constexpr std::size_t kBytes = AVOID_PARALLEL * AVOID_VERIFY_BATCH_WORKSPACE_BYTES;
alignas(AVOID_WORKSPACE_ALIGN) unsigned char workspace[kBytes];
int differences = 0;

struct Results {
  std::vector<float> low = std::vector<float>(kBoxes * (kOut + kRows), -1.0f), high = low;
  std::vector<float> points = std::vector<float>(kBoxes * kIn, -1.0f);
  std::vector<bf_result> verdicts = std::vector<bf_result>(kBoxes);
  std::vector<bf_status> statuses = std::vector<bf_status>(kBoxes);
  bf_status status = BF_OK;
  Results() {
    for (std::size_t i = 0; i < kBoxes; ++i) verdicts[i] = {BF_UNKNOWN, 9, 9, &points[i * kIn]};
  }
};

void compare(const Results& a, const Results& b, const char* what) {
  bool same = a.status == b.status && a.statuses == b.statuses;
  const auto bits = [](const std::vector<float>& x, const std::vector<float>& y) {
    return std::memcmp(x.data(), y.data(), 4 * x.size()) == 0;
  };
  same = same && bits(a.low, b.low) && bits(a.high, b.high) && bits(a.points, b.points);
  for (std::size_t i = 0; i < kBoxes; ++i)
    same = same && a.verdicts[i].verdict == b.verdicts[i].verdict &&
           a.verdicts[i].property_case == b.verdicts[i].property_case &&
           a.verdicts[i].clause == b.verdicts[i].clause;
  if (!same) std::printf("%s: other results\n", what);
  differences += same ? 0 : 1;
}

}  // namespace

int main() {
  std::vector<float> lower(kBoxes * kIn), upper(kBoxes * kIn);
  for (std::size_t i = 0; i < kBoxes; ++i) {
    float low[kIn], high[kIn];
    if (avoid_property_box(0, low, high) != BF_OK) return 2;
    for (std::size_t k = 0; k < kIn; ++k) {
      const float side = (high[k] - low[k]) / float(kBoxes);
      lower[i * kIn + k] = low[k] + side * float(i);
      upper[i * kIn + k] = lower[i * kIn + k] + (i % 3 == 0 ? side : 0.5f * (high[k] - low[k]));
    }
  }
  EXECUTOR_SETUP
  const bf_executor* const executors[] = {nullptr, EXECUTOR};
  Results plain[4];
  for (const bf_executor* executor : executors) {
    Results all[4];
    for (std::size_t i = 0; i < kBoxes; ++i) {
      const float* const l = &lower[i * kIn];
      const float* const u = &upper[i * kIn];
      float* const low = &all[0].low[i * (kOut + kRows)];
      float* const high = &all[0].high[i * (kOut + kRows)];
      if (executor == nullptr) {
        all[0].statuses[i] = avoid_bounds(l, u, low, high, workspace, kBytes);
        all[0].status = avoid_spec_bounds(l, u, low + kOut, high + kOut, workspace, kBytes);
        all[1].statuses[i] = avoid_verify(l, u, &all[1].verdicts[i], workspace, kBytes);
      } else {
        all[0].statuses[i] = avoid_bounds_parallel(l, u, low, high, workspace, kBytes, executor);
        all[0].status = avoid_spec_bounds_parallel(l, u, low + kOut, high + kOut, workspace, kBytes,
                                                   executor);
        all[1].statuses[i] =
            avoid_verify_parallel(l, u, &all[1].verdicts[i], workspace, kBytes, executor);
      }
    }
    const float *l = lower.data(), *u = upper.data();
    for (int part = 2; part < 4; ++part) {  // many boxes, and fewer than workers
      Results& r = all[part];
      const std::size_t n = part == 2 ? kBoxes : 2;
      if (executor == nullptr) {
        r.status = avoid_spec_bounds_batch(n, l, u, r.low.data(), r.high.data(), r.statuses.data(),
                                           workspace, kBytes);
        if (r.status == BF_OK)
          r.status = avoid_verify_batch(n, l, u, r.verdicts.data(), r.statuses.data(), workspace,
                                        kBytes);
      } else {
        r.status = avoid_spec_bounds_batch_parallel(n, l, u, r.low.data(), r.high.data(),
                                                    r.statuses.data(), workspace, kBytes, executor);
        if (r.status == BF_OK)
          r.status = avoid_verify_batch_parallel(n, l, u, r.verdicts.data(), r.statuses.data(),
                                                 workspace, kBytes, executor);
      }
    }
    for (int part = 0; part < 4; ++part) {
      for (const bf_status status : all[part].statuses)
        if (status != BF_OK) return 3;
      if (executor == nullptr) plain[part] = all[part];
      if (executor != nullptr) compare(plain[part], all[part], part == 0 ? "bounds" : "verdicts");
    }
  }
  std::printf("%d differences, verdict %d\n", differences, int(plain[1].verdicts[0].verdict));
  return differences;
}
"""

# An executor that breaks its contract: no box may keep a verdict. Argument: its second run fails.
BROKEN = r"""
#include <cfenv>
#include <cstdio>
#include <initializer_list>

#include "avoid.h"

alignas(AVOID_WORKSPACE_ALIGN) static unsigned char
    workspace[AVOID_PARALLEL * AVOID_VERIFY_BATCH_WORKSPACE_BYTES];
static float lower[AVOID_BATCH * AVOID_INPUTS], upper[AVOID_BATCH * AVOID_INPUTS];

static void run(void* self, bf_job job, void* data, std::size_t jobs) {
  int& left = *static_cast<int*>(self);
  for (std::size_t i = 0; left > 0 && i < jobs; ++i) job(data, i);
  if (left-- <= 0) std::fesetround(FE_UPWARD);
}

int main() {
  float low[AVOID_INPUTS], high[AVOID_INPUTS];
  if (avoid_property_box(0, low, high) != BF_OK) return 2;
  for (std::size_t i = 0; i < AVOID_BATCH * AVOID_INPUTS; ++i) {
    lower[i] = low[i % AVOID_INPUTS];
    upper[i] = high[i % AVOID_INPUTS];
  }
  for (int good_runs = 0; good_runs < 3; ++good_runs)
    for (const std::size_t count : {std::size_t{2}, std::size_t{AVOID_BATCH}}) {
      bf_result results[AVOID_BATCH] = {};
      bf_status statuses[AVOID_BATCH] = {};
      int left = good_runs;
      const bf_executor executor = {run, &left, AVOID_PARALLEL};
      const bf_status status =
          avoid_verify_batch_parallel(count, lower, upper, results, statuses, workspace,
                                      sizeof workspace, &executor);
      std::fesetround(FE_TONEAREST);
      int proofs = 0, fine = 0;
      for (std::size_t i = 0; i < count; ++i) {
        proofs += statuses[i] != BF_OK && results[i].verdict != BF_UNKNOWN ? 1 : 0;
        fine += statuses[i] == BF_OK ? 1 : 0;
      }
      const bool failed = left < 0;
      std::printf("%s", failed ? "failed " : "");
      if (failed != (status == BF_FLOAT_ENVIRONMENT) || proofs != 0) return 3;
      if (failed && fine == static_cast<int>(count)) return 4;
    }
}
"""

# The first two tiles of a verifier's workers wait for each other: two are at work, however busy the
# machine is. No order of memory accesses comes from it.
MEET = r"""
#include <atomic>
#include <thread>

static void meet() {
  static std::atomic<int> here{0};
  here.fetch_add(1, std::memory_order_relaxed);
  while (here.load(std::memory_order_relaxed) < 2) std::this_thread::yield();
}
"""

THREADS = ("host/thread_executor.h", "bf::host::ThreadExecutor threads(3);", "threads.get()")
OPENMP = ("host/openmp_executor.h", "const bf_executor made = bf::host::openmp_executor(3);",
          "&made")
TBB = ("host/tbb_executor.h", "const bf_executor made = bf::host::tbb_executor(3);", "&made")


class Parallel(Case):
    def make(self, *options):
        self.run_tool(CONTROLLER, "--name", "avoid", "-o", "avoid.cpp", "--no-library", "--parallel",
                      "4", "--batch", "19", "--property", PROPERTY, "--row-tile", "8", *options)

    def build(self, adapter, *flags):
        header, setup, executor = adapter
        text = PROGRAM.replace("EXECUTOR_HEADER", f'"{header}"').replace("EXECUTOR_SETUP", setup)
        self.write("main.cpp", text.replace("EXECUTOR}", executor + "}"))
        subprocess.run([*CXX, "-std=c++17", "-O1", "-march=native", RUNTIME, "main.cpp", "avoid.cpp",
                        "-o", "program", *flags], cwd=self.work, check=True)

    def run_program(self):
        return subprocess.run([self.work / "program"], capture_output=True, text=True, check=False,
                              timeout=300)

    def assert_same(self):
        result = self.run_program()
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertIn("0 differences", result.stdout)

    def test_threads(self):
        for options in ([], ["--method", "alpha-crown", "--iterations", "3"],
                        ["--lowering", "generic", "--disable-pass", "batch-lanes"]):
            self.make(*options)
            self.build(THREADS, "-pthread", *STRICT)
            self.assert_same()

    def test_openmp(self):
        self.make()
        try:
            self.build(OPENMP, "-fopenmp", *STRICT)
        except subprocess.CalledProcessError:
            self.skipTest("skipped: the compiler has no OpenMP")
        self.assert_same()

    def test_onetbb(self):
        probe = self.write("probe.cpp", "#include <tbb/parallel_for.h>\n")
        if subprocess.run([*CXX, "-fsyntax-only", probe], capture_output=True,
                          check=False).returncode != 0:
            self.skipTest("skipped: no oneTBB headers here")
        self.make()
        self.build(TBB, "-ltbb", "-pthread")
        self.assert_same()

    def test_sanitizer_finds_no_race(self):
        self.make()
        try:
            self.build(THREADS, "-pthread", "-fsanitize=thread", "-g")
        except subprocess.CalledProcessError:
            self.skipTest("skipped: the compiler has no ThreadSanitizer")
        result = self.run_program()
        if "unexpected memory mapping" in result.stderr:
            self.skipTest("skipped: ThreadSanitizer does not run on this kernel")
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        # A test that cannot fail is none: here all workers use the first one's scratch.
        source = self.work / "avoid.cpp"
        tile = "const auto tile = [&](int index, unsigned char* own) {"
        text = source.read_text().replace(
            tile, tile + "\n      if (team.workers > 1 && count > 8) meet();\n      own = scratch.begin;")
        self.assertIn("own = scratch.begin", text)
        source.write_text(MEET + text)
        self.build(THREADS, "-pthread", "-fsanitize=thread", "-g")
        result = self.run_program()
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("data race", result.stderr)

    def test_broken_executors_make_no_verdict(self):
        for options in ([], ["--lowering", "generic", "--disable-pass", "batch-lanes"]):
            self.make(*options)
            self.write("main.cpp", BROKEN)
            subprocess.run([*CXX, "-std=c++17", "-O1", "-march=native", RUNTIME, *STRICT, "main.cpp",
                            "avoid.cpp", "-o", "program"], cwd=self.work, check=True)
            result = self.run_program()
            self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
            self.assertIn("failed", result.stdout)

    def test_levels(self):
        self.make("--dispatch", "--target", "x86-64-v3")
        text = (self.work / "avoid.h").read_text()
        self.assertIn("avoid_bounds_parallel", text)
        self.assertIn("avoid_bounds_parallel(", (self.work / "avoid.cpp").read_text())

    def test_refusals(self):
        self.assert_refused("BF2106", CONTROLLER, "-o", "v.cpp", "--parallel", "2", "--method", "ibp",
                            says=["no backward rows", "--batch"])
        self.run_tool(CONTROLLER, "-o", "v.cpp", "--no-library", "--parallel", "2", "--method", "ibp",
                      "--batch", "8")
        header = (self.work / "v.h").read_text()
        self.assertIn("_bounds_batch_parallel(", header)
        self.assertNotIn("_bounds_parallel(", header)
        self.assertIn("they share the boxes of a batch alone",
                      " ".join(header.replace("\n *", "\n").split()))

    def test_code_is_the_same_without(self):
        for name, options in (("a", []), ("b", ["--parallel", "1"])):
            (self.work / name).mkdir()
            self.run_tool(TINY, "-o", f"{name}/v.cpp", "--no-library", *options)
        for suffix in ("cpp", "h", "json"):
            self.assertEqual((self.work / "a" / f"v.{suffix}").read_bytes(),
                             (self.work / "b" / f"v.{suffix}").read_bytes())

    def test_project(self):
        self.run_tool(CONTROLLER, "--project", "demo", "--name", "net", "--parallel", "2")
        folder = self.work / "demo"
        self.assertIn("`NET_WORKER_BYTES`", (folder / "README.md").read_text())
        self.assertIn("set(verifier_parallel TRUE)", (folder / "verifier.cmake").read_text())
        for name in ("README.md", "CMakeLists.txt", "verifier.cmake", "example_parallel.cpp"):
            self.assertNotIn("@", (folder / name).read_text())
        subprocess.run([*CXX, "-std=c++17", *STRICT, "example_parallel.cpp", "libnet.a",
                        "-o", "example", "-pthread"], cwd=folder, check=True)
        output = subprocess.run([folder / "example"], check=True, capture_output=True, text=True)
        self.assertEqual(output.stdout.count("output "), 5)


if __name__ == "__main__":
    unittest.main()

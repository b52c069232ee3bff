#include <algorithm>
#include <nlohmann/json.hpp>

#include "aot/apps/tune/tune_measure.h"
#include "aot/build/cache.h"
#include "aot/engine/verifier/compiled_verifier.h"
#include "aot/system/files.h"
#include "aot/system/process.h"
#include "frontend/diagnostic.h"

namespace bf_aot::apps {
namespace {

using Json = nlohmann::json;

constexpr int kCalls = 5;                 // of the verifier, in a turn
constexpr double kVerifierSeconds = 600;  // seconds of the child process

// Seconds of all calls of a routine in one call of the verifier; 0: it is not called on the box.
double seconds_in(const engine::HostVerifier& verifier, const input::FloatBox& box,
                  const std::string& function) {
  double seconds = 0;
  for (const engine::TimedPart& part : verifier.time_parts(box, kCalls))
    if (part.part == function) seconds += part.seconds;
  return seconds;
}

bool same_bounds(const engine::Bounds& a, const engine::Bounds& b) {
  return a.lower == b.lower && a.upper == b.upper;
}

}  // namespace

// A verifier compiled with a schedule, in a folder that goes with it.
struct VerifierTrials::Built {
  std::shared_ptr<const Plan> plan;
  std::unique_ptr<system::Staging> staging;
  std::filesystem::path library;

  engine::Bounds bounds(const engine::HostVerifier& verifier, const input::FloatBox& box) const {
    return plan->spec_rows > 0 ? verifier.spec_bounds(box) : verifier.bounds(box);
  }
};

VerifierTrials::VerifierTrials(Options options) : options_(std::move(options)) {}

VerifierTrials::~VerifierTrials() = default;

VerifierTrials::Built VerifierTrials::build(const Kernel* kernel,
                                            const build::Toolchain& toolchain) const {
  build::CompileOptions options = options_.compile;
  options.time_parts = true;
  if (kernel != nullptr) {
    options.planner.lowering = Lowering::kTuned;
    TunedSchedule tuned;
    tuned.key = kernel->key;
    tuned.target = options.planner.target.name;
    tuned.schedule = kernel->schedule;
    options.planner.tuned = {tuned};
  }
  build::Verifier verifier = build::compile(options_.front, "verifier", "verifier", options);
  Built made{verifier.lowered->shared_plan(),
             std::make_unique<system::Staging>(build::cache_folder()),
             {}};
  for (const emit::EmittedFile& file : verifier.files)
    made.staging->write("verifier" + file.suffix, file.bytes);
  build::build_shared(toolchain, made.staging->folder(), "verifier", verifier.files);
  made.library = made.staging->folder() / "verifier.so";
  return made;
}

std::vector<TimedKernel> VerifierTrials::time(const std::vector<Kernel>& kernels, int rounds,
                                              const build::Toolchain& toolchain) {
  if (!rules_) rules_ = std::make_unique<Built>(build(nullptr, toolchain));
  std::vector<Built> built;
  std::vector<const Built*> each = {rules_.get()};
  built.reserve(kernels.size());
  for (std::size_t i = 1; i < kernels.size(); ++i) {
    const bool rules = kernels[i].schedule == kernels.front().schedule;
    if (!rules) built.push_back(build(&kernels[i], toolchain));
    each.push_back(rules ? rules_.get() : &built.back());
  }
  const auto found = std::ranges::find(rules_->plan->kernels, kernels.front().key, &Kernel::key);
  BF_CHECK(found != rules_->plan->kernels.end());
  const std::string function = found->function;

  const system::ProcessResult result = system::run_apart(
      [&] {
        std::vector<Json> results(kernels.size(), Json{{"seconds", Json::array()}});
        std::vector<std::unique_ptr<const engine::HostVerifier>> verifiers;
        for (const Built* one : each)
          verifiers.push_back(std::make_unique<engine::CompiledVerifier>(one->library, *one->plan));
        const engine::Bounds expected = each[0]->bounds(*verifiers[0], options_.box);
        for (std::size_t i = 1; i < verifiers.size(); ++i)
          if (!same_bounds(expected, each[i]->bounds(*verifiers[i], options_.box)))
            results[i] = {{"error", "its bounds are not those of the default schedule"}};
        for (int round = 0; round < rounds; ++round)
          for (std::size_t turn = 0; turn < verifiers.size(); ++turn) {
            const std::size_t i = round % 2 == 0 ? turn : verifiers.size() - 1 - turn;
            if (results[i].contains("error")) continue;
            results[i]["seconds"].push_back(seconds_in(*verifiers[i], options_.box, function));
          }
        return Json(results).dump();
      },
      kVerifierSeconds);
  const Json json = Json::parse(result.output, nullptr, false);
  if (result.exit_code != 0 || !json.is_array() || json.size() != kernels.size())
    fail("BF3311", kernels.front().key,
         "the measuring process failed: " + result.errors.substr(0, 500));
  std::vector<TimedKernel> timed;
  for (const Json& one : json)
    timed.push_back({one.value("seconds", std::vector<double>()), one.value("error", "")});
  if (timed.front().seconds.empty() || *std::ranges::min_element(timed.front().seconds) <= 0)
    fail("BF3313", kernels.front().key, "the routine is not called on the box",
         "give a --box on which its layer has unstable neurons, or leave it out by --kernel");
  return timed;
}

}  // namespace bf_aot::apps

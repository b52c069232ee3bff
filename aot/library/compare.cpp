#include "aot/decide/compare.h"

#include <cmath>

#include "aot/input/exact_box.h"
#include "aot/library/state.h"
#include "frontend/numbers/numbers.h"

namespace bf_aot::api {
namespace {

// Throws: Failed BF3502, BF3503.
Box box_of(const Model& model, std::span<const double> lower, std::span<const double> upper) {
  const std::size_t inputs = Library::state(model).input_count;
  if (lower.size() != inputs || upper.size() != inputs)
    refuse("BF3502", "the box",
           fmt::format("it has {} and {} numbers, not {}", lower.size(), upper.size(), inputs));
  for (std::size_t i = 0; i < inputs; ++i)
    if (!(std::fabs(lower[i]) <= 0x1.fffffep127 && std::fabs(upper[i]) <= 0x1.fffffep127 &&
          lower[i] <= upper[i]))
      refuse("BF3503", fmt::format("input {}", i),
             fmt::format("[{}, {}] is no interval of float32's range", lower[i], upper[i]));
  return {{lower.begin(), lower.end()}, {upper.begin(), upper.end()}};
}

decide::CompareSettings settings_of(const CompareOptions& options) {
  decide::CompareSettings settings;
  if (!(options.seconds >= 0) || std::isinf(options.seconds))
    refuse("BF3501", "seconds", fmt::format("{} is no time in seconds", options.seconds));
  settings.seconds = options.seconds;
  settings.classes = options.classes;
  if (!options.within) return settings;
  if (!(*options.within >= 0) || std::isinf(*options.within))
    refuse("BF3501", "within", fmt::format("{} is no difference", *options.within));
  settings.within = mpq_class(*options.within);
  return settings;
}

CompareResult result_of(const decide::Comparison& comparison) {
  CompareResult result;
  for (const decide::OutputDifference& output : comparison.outputs) {
    result.lower.push_back(output.lower);
    result.upper.push_back(output.upper);
  }
  result.proven = comparison.proven;
  result.attained = comparison.attained;
  result.output = comparison.output;
  decide::Witness at;
  at.x = comparison.point;
  result.exact_point = decide::input_texts(at);
  for (const mpq_class& x : comparison.point)
    result.point.push_back(vnnlib::round_to_double(x).value);
  if (comparison.limit) result.within = to_result(*comparison.limit);
  if (comparison.classes) result.classes = to_result(*comparison.classes);
  result.seconds = comparison.seconds;
  return result;
}

// Options of one decision, which are none of the many that a comparison makes.
void refuse_of_one(const decide::Request& asked) {
  const char* const option = asked.timeout_seconds > 0                              ? "timeout"
                             : asked.keeps_tree()                                   ? "checkpoint"
                             : !asked.proof.file.empty()                            ? "proof"
                             : asked.compile.planner.norm != bf_aot::Norm::kLargest ? "norm"
                                                                                    : nullptr;
  if (option != nullptr)
    refuse("BF3501", option, "a comparison makes many decisions, and has no such option");
}

}  // namespace

Result<CompareResult> compare(const Model& first, const Model& second,
                              std::span<const double> lower, std::span<const double> upper,
                              const CompareOptions& options) {
  const Model::State &a = Library::state(first), &b = Library::state(second);
  return guarded<CompareResult>(
      "comparing the networks",
      [&] {
        const decide::CompareSettings settings = settings_of(options);
        const decide::Request request = request_of(first, options.verify);
        refuse_of_one(request);
        const decide::NetworkPair pair =
            decide::pair_of(a.network.graph(), a.info, b.network.graph(), b.info);
        decide::RequestCalls calls;
        calls.stop = system::Stop(options.verify.stop);
        return result_of(decide::compare(pair, input::exact_box(box_of(first, lower, upper)),
                                         request, settings, calls));
      },
      a.numbers + b.numbers);
}

}  // namespace bf_aot::api

#include "aot/reach/search/reach.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "aot/input/json/read_text.h"
#include "aot/library/state.h"
#include "aot/reach/answer/answer_json.h"
#include "aot/reach/question/question_file.h"
#include "aot/reach/show/tube_plot.h"
#include "aot/system/process.h"
#include "frontend/graph/model.h"

namespace bf_aot::api {
namespace {

std::size_t checked(const char* name, int value, int most) {
  if (value < 0 || value > most)
    refuse("BF3501", name, fmt::format("{} is not in 0..{}", value, most));
  return static_cast<std::size_t>(value);
}

reach::ReachSettings settings_of(const ReachOptions& options) {
  if (!(options.seconds > 0) || std::isinf(options.seconds))
    refuse("BF3501", "seconds", fmt::format("{} is no time in seconds", options.seconds));
  Options plan;
  plan.method = options.method;
  plan.semantics = options.semantics;
  plan.more = options.more;
  reach::ReachSettings made;
  made.order = checked("order", options.order, 32);
  made.symbols = checked("symbols", options.symbols, 4096);
  made.seconds = options.seconds;
  made.jobs = checked("jobs", options.jobs, 256);
  if (made.jobs == 0) made.jobs = system::core_count();
  build::OptionValues values = values_of(plan);
  if (!values.compile.device.empty())
    refuse("BF3501", "device", "tubes are computed on this processor", "leave it out");
  values.compile.planner.lowering = Lowering::kPrebuilt;
  made.compile = build::resolved(values);
  return made;
}

reach::GivenParts parts_of(const ReachOptions& options) {
  reach::GivenParts made;
  for (const auto& [path, model] : options.networks) {
    const Model::State& state = Library::state(model);
    made.insert({path, {state.network.graph(), state.info, path}});
  }
  return made;
}

ReachResult answer(const std::string& question, const std::string& where,
                   const std::filesystem::path& folder, const ReachOptions& options) {
  const reach::ReachSettings settings = settings_of(options);
  const reach::Question made =
      reach::make_question(reach::parse_question(question, where, folder), parts_of(options));
  reach::ReachCalls calls;
  calls.stop = system::Stop(options.stop);
  calls.progress = [&](const reach::ReachProgress& progress) {
    if (options.progress) tell([&] { options.progress({progress.cells, progress.closed}); });
  };
  const reach::ReachOutcome outcome = reach::reach(made, settings, calls);
  ReachResult result;
  result.answer = static_cast<ReachAnswer>(outcome.answer);
  const std::string name = printable(std::filesystem::path(where).filename().string());
  result.json = reach::answer_json(name, made, outcome).dump();
  if (options.drawing) result.svg = reach::tube_svg(made, outcome);
  result.seconds = outcome.seconds;
  return result;
}

constexpr char kReaching[] = "answering the question about a loop";

}  // namespace

const char* to_string(ReachAnswer answer) noexcept {
  return reach::word(static_cast<reach::ReachAnswer>(answer));
}

Result<ReachResult> reach(const std::filesystem::path& question, const ReachOptions& options) {
  return guarded<ReachResult>(kReaching, [&] {
    return answer(input::read_text(question, "question"), printable(question.string()),
                  question.parent_path(), options);
  });
}

Result<ReachResult> reach_text(std::string_view question, const ReachOptions& options,
                               const std::filesystem::path& folder, std::string_view name) {
  return guarded<ReachResult>(
      kReaching, [&] { return answer(std::string(question), printable(name), folder, options); });
}

}  // namespace bf_aot::api

#include "aot/decide/measure.h"

#include <utility>

#include "aot/library/state.h"
#include "aot/system/progress.h"
#include "frontend/numbers/numbers.h"
#include "frontend/property/vnnlib/vnnlib.h"

namespace bf_aot::api {
namespace {

constexpr char kMeasuring[] = "measuring the property's boxes";

Share public_share(const mpq_class& share) {
  return {share.get_str(), share.get_d()};
}

MeasuredCase public_case(decide::MeasuredCase made) {
  MeasuredCase one{public_share(made.proven),
                   public_share(made.refuted),
                   public_share(made.open),
                   made.bounded,
                   made.is_reached,
                   {},
                   {}};
  for (decide::Cell& cell : made.cells) {
    if (cell.fate == decide::CellFate::kProven) continue;
    auto& cells = cell.fate == decide::CellFate::kRefuted ? one.refuted_cells : one.open_cells;
    cells.push_back({std::move(cell.box.lower), std::move(cell.box.upper)});
  }
  return one;
}

// Throws: Failed BF3501.
mpq_class width_of(const std::string& text) {
  const auto width = vnnlib::read_exact_text(text);
  if (!width || *width < 0 || *width > 1)
    refuse("BF3501", "width", fmt::format("'{}' is no share from 0 to 1", text));
  return *width;
}

MeasureResult measure_read(const Model& model, const Property& property,
                           const MeasureOptions& options) {
  const system::Stopwatch stopwatch;
  const decide::Request request = request_of(model, options.verify);
  if (request.compile.planner.norm != bf_aot::Norm::kLargest)
    refuse("BF3501", "norm", "shares are measured of boxes, not of balls");
  decide::RequestCalls calls;
  calls.stop = system::Stop(options.verify.stop, request.timeout_seconds);
  const Model subject = with_hidden(model, property);
  const Model::State& state = Library::state(subject);
  check_semantics(model, decide::semantics_of(request.compile, property));
  MeasureResult result;
  for (decide::MeasuredCase& each : decide::measure(state.network, state.info, property, request,
                                                    {width_of(options.width)}, calls))
    result.cases.push_back(public_case(std::move(each)));
  result.seconds = stopwatch.seconds();
  return result;
}

}  // namespace

Result<MeasureResult> measure(const Model& model, const std::filesystem::path& property,
                              const MeasureOptions& options) {
  return guarded<MeasureResult>(
      kMeasuring, [&] { return measure_read(model, read_property(property), options); },
      Library::state(model).numbers);
}

Result<MeasureResult> measure_text(const Model& model, std::string_view property,
                                   const MeasureOptions& options, std::string_view name) {
  return guarded<MeasureResult>(
      kMeasuring, [&] { return measure_read(model, parse_property(property, name), options); },
      Library::state(model).numbers);
}

}  // namespace bf_aot::api

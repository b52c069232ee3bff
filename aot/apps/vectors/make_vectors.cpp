#include "aot/apps/vectors/make_vectors.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <memory>

#include "aot/build/compile.h"
#include "aot/build/work_json.h"
#include "aot/engine/verifier/make_verifier.h"
#include "aot/input/json_io.h"
#include "frontend/property/clause_boxes.h"
#include "planner/plan/plan.h"
#include "planner/reference/integer.h"

namespace bf_aot::apps {
namespace {

using artifacts::InputGrid;
using artifacts::Vector;
using artifacts::Vectors;
using artifacts::Window;

constexpr std::int32_t kSteps = 256;
constexpr std::int32_t kWidths[] = {0, 0, 1, 1, 4, 4, 16, 16, 64, kSteps};
constexpr std::size_t kMostVectors = std::size(kWidths);
constexpr std::int64_t kMostNumbers = 1 << 18;
constexpr std::int64_t kMostOperations = std::int64_t{1} << 32;
constexpr int kPoints = 8;  // of a box, besides its centre

// A bound may be wider by so much of the box's width and of the width at its centre, where
// roundings are all there is: their sums are ordered by the machine.
constexpr double kOfWidth = 0x1p-4;
constexpr double kOfRounding = 16;

std::size_t count_of(const Lowered& lowered) {
  const Plan& plan = lowered.plan();
  const std::int64_t numbers = 2 * (plan.input_count + 2 * std::int64_t{plan.output_count});
  const std::int64_t operations = build::work_of_calls(lowered, std::nullopt).front().second;
  const std::int64_t most =
      std::min(kMostNumbers / numbers, kMostOperations / std::max<std::int64_t>(operations, 1));
  return static_cast<std::size_t>(std::clamp<std::int64_t>(most, 1, kMostVectors));
}

// The grid of an input between two floats: kSteps steps, or as many as floats of their magnitude
// have; one float where it has none.
void add_range(double lower, double upper, InputGrid& grid) {
  constexpr double kMostFirst = 1 << 23;
  double unit = 0x1p-149;
  while ((upper - lower) / unit >= kSteps + 1 ||
         std::max(std::abs(lower), std::abs(upper)) / unit > kMostFirst)
    unit *= 2;
  double first = std::ceil(lower / unit);
  const double steps = std::floor(upper / unit) - first;
  if (steps < 0) first = std::round(lower / unit);
  grid.first.push_back(static_cast<std::int32_t>(first));
  grid.steps.push_back(static_cast<std::int32_t>(std::clamp<double>(steps, 0, kSteps)));
  grid.unit.push_back(static_cast<float>(unit));
}

InputGrid grid_of(const build::CompileOptions& options, const Plan& plan) {
  InputGrid grid;
  const double reach =
      is_in_float32(plan.config.semantics) ? plan.float32_reach : std::numeric_limits<float>::max();
  if (!options.property) {
    add_range(-1, 1, grid);
    return grid;
  }
  const Box box = box_of_case(*options.property, options.property->cases.front());
  for (std::size_t i = 0; i < box.lower.size(); ++i)
    add_range(std::clamp(box.lower[i], -reach, reach), std::clamp(box.upper[i], -reach, reach),
              grid);
  return grid;
}

float rounded(double value, bool up) {
  const auto nearest = static_cast<float>(value);
  const float end = std::numeric_limits<float>::infinity();
  if (up ? nearest < value : nearest > value) return std::nextafter(nearest, up ? end : -end);
  return nearest;
}

// Returns the method whose windows hold for every choice of the plan's. The choices of `auto`, and
// of `crown` on samples, depend on the machine; none of them has wider bounds than intervals.
Method method_here(const build::CompileOptions& options, const Plan& plan) {
  const Method method = plan.config.method;
  const bool sampled = options.property.has_value() || !options.planning.samples.empty();
  const bool chosen = method == Method::kAuto || (method == Method::kCrown && sampled);
  return chosen ? Method::kIbp : method;
}

// The options by which this process bounds the same network.
build::CompileOptions options_here(const build::CompileOptions& options, const Plan& plan,
                                   Method method) {
  build::CompileOptions made;
  made.cut = options.cut;
  made.disabled_passes = options.disabled_passes;
  made.float32 = options.float32;
  PlannerConfig& config = made.planner;
  config.method = method;
  config.semantics = plan.config.semantics;
  config.flush_to_zero = plan.config.flush_to_zero;
  config.lowering = Lowering::kPrebuilt;
  config.target = find_target("host");
  config.iterations = plan.config.iterations;
  config.alpha = plan.config.alpha;
  return made;
}

using Bounding = std::function<engine::Bounds(const input::FloatBox& box)>;

Bounding bounding_here(const std::filesystem::path& model, const build::CompileOptions& options) {
  const std::shared_ptr<const engine::HostVerifier> host =
      engine::make_verifier(build::plan_model(model, options), options, {}).host;
  return [host](const input::FloatBox& box) { return host->bounds(box); };
}

FloatBounds bounds_by_codes(const Plan& plan, const std::vector<float>& lower,
                            const std::vector<float>& upper) {
  return output_bounds(plan, bound_codes(plan, lower, upper));
}

// Bounds of a network in this process, by its method and at points. Method crown over codes is
// compared with intervals of codes.
class Bounder {
 public:
  Bounder(const std::filesystem::path& model, const build::CompileOptions& options,
          const Plan& plan)
      : of_boxes_(plan.is_of_boxes()) {
    if (plan.integer) {
      verifier_ = at_points_ = [&plan](const input::FloatBox& box) {
        const FloatBounds bounds = bounds_by_codes(plan, box.lower, box.upper);
        return engine::Bounds{{bounds.lower.begin(), bounds.lower.end()},
                              {bounds.upper.begin(), bounds.upper.end()}};
      };
      return;
    }
    verifier_ = bounding_here(model, options_here(options, plan, method_here(options, plan)));
    at_points_ = bounding_here(model, options_here(options, plan, Method::kIbp));
  }

  void set_windows(Vector& vector) const {
    const engine::Bounds bounds = verifier_({vector.lower, vector.upper});
    const std::vector<float> middle = point_of(vector, 0);
    const engine::Bounds centre = verifier_({middle, middle});
    engine::Bounds points = bounds;
    for (int i = 0; i <= kPoints && of_boxes_; ++i) {
      const std::vector<float> x = point_of(vector, i);
      keep_ends(at_points_({x, x}), points);
    }
    for (std::size_t j = 0; j < bounds.lower.size(); ++j) {
      const double slack = kOfWidth * (bounds.upper[j] - bounds.lower[j]) +
                           kOfRounding * (centre.upper[j] - centre.lower[j]);
      vector.out_lower.push_back(
          {least_of(bounds.lower[j], slack), rounded(points.upper[j], false)});
      vector.out_upper.push_back(
          {rounded(points.lower[j], true), -least_of(-bounds.upper[j], slack)});
    }
  }

 private:
  static float least_of(double bound, double slack) {
    const double least = bound - slack;
    return std::isnan(least) ? -std::numeric_limits<float>::infinity() : rounded(least, false);
  }

  // A bound below some output that a point may have is below the least of the points' greatest.
  static void keep_ends(const engine::Bounds& at, engine::Bounds& points) {
    for (std::size_t j = 0; j < at.lower.size(); ++j) {
      points.upper[j] = std::min(points.upper[j], at.upper[j]);
      points.lower[j] = std::max(points.lower[j], at.lower[j]);
    }
  }

  // The centre, or a corner, by the bits of a number.
  static std::vector<float> point_of(const Vector& vector, int number) {
    std::vector<float> x = vector.lower;
    auto bits = static_cast<std::uint32_t>(number) * 2654435769u;
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (number == 0) x[i] += (vector.upper[i] - vector.lower[i]) / 2;
      if (number > 0 && (bits >> 31) != 0) x[i] = vector.upper[i];
      bits = bits * 1664525u + 1013904223u;
    }
    return x;
  }

  bool of_boxes_;
  Bounding verifier_, at_points_;
};

void set_bits(const Plan& plan, Vector& vector) {
  const FloatBounds bounds = bounds_by_codes(plan, vector.lower, vector.upper);
  for (const float end : bounds.lower) vector.out_lower.push_back({end, end});
  for (const float end : bounds.upper) vector.out_upper.push_back({end, end});
}

}  // namespace

Vectors make_vectors(const std::filesystem::path& model, const build::CompileOptions& options,
                     const Lowered& lowered) {
  const Plan& plan = lowered.plan();
  Vectors vectors;
  vectors.grid = grid_of(options, plan);
  vectors.exact = plan.integer && !plan.integer->crown;
  const std::size_t count = count_of(lowered);
  for (std::size_t i = 0; i < count; ++i) {
    Vector& vector = vectors.list.emplace_back();
    vector.width = kWidths[count == 1 ? 2 : i];
    make_box(vectors.grid, i, static_cast<std::size_t>(plan.input_count), vector);
  }
  if (vectors.exact) {
    for (Vector& vector : vectors.list) set_bits(plan, vector);
    return vectors;
  }
  const Bounder bounder(model, options, plan);
  for (Vector& vector : vectors.list) bounder.set_windows(vector);
  return vectors;
}

}  // namespace bf_aot::apps

#include "aot/decide/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "aot/decide/boxes/nearest_inside.h"
#include "aot/system/progress.h"
#include "frontend/diagnostic.h"
#include "frontend/graph/merge_graphs.h"
#include "frontend/numbers/exact_arithmetic.h"

namespace bf_aot::decide {
namespace {

constexpr double kUnbounded = std::numeric_limits<double>::infinity();
constexpr int kPoints = 256;            // that are tried before a question is asked
constexpr double kLeastStep = 0x1p-12;  // of a climb, as a share of an input's width
constexpr double kFirstSeconds = 0.5;   // least, of a question
constexpr int kMostOpen = 4;            // questions in a row that stay open
constexpr std::size_t kMostQuestions = 60;
constexpr std::int64_t kMostClasses = 64;  // a clause for each two, of conditions on all others

std::int64_t elements(const Graph& graph, const std::vector<ValueId>& values) {
  std::int64_t count = 0;
  for (const ValueId id : values) count += element_count(graph.value(id).shape);
  return count;
}

void check_counts(const char* what, std::int64_t first, std::int64_t second) {
  if (first != second)
    fail("BF3416", "compare",
         fmt::format("the first network has {} {}, the second {}", first, what, second),
         "networks are compared that read the same inputs and have as many outputs");
}

Property about(const NetworkPair& pair, const input::ExactBox& box) {
  Property made;
  made.file_name = "compare";
  for (const char* const name : {"first", "second"}) made.networks.push_back({name, 1, 1, {}, {}});
  made.input_source = pair.input_source;
  made.input_count = pair.input_count;
  made.output_count = 2 * pair.output_count;
  made.cases.push_back({box.box, box.inner, box.between, {}});
  return made;
}

// Row i: output i of the first network less that of the second, as the first factor is positive.
void add_difference_rows(const NetworkPair& pair, Property& property) {
  for (std::int64_t i = 0; i < pair.output_count; ++i)
    property.rows.push_back({LinearForm{{i, 1}, {i + pair.output_count, -1}}, {}});
}

// Rationals have no infinity.
bool exceeds(double x, const mpq_class& limit) {
  return !std::isfinite(x) || mpq_class(x) > limit;
}

// Asks one question after the other.
class Comparer {
 public:
  Comparer(const NetworkPair& pair, const input::ExactBox& box, const Request& request,
           const CompareSettings& settings, const RequestCalls& calls)
      : pair_(pair),
        exact_(box),
        box_(box.box),
        request_(request),
        settings_(settings),
        calls_(calls),
        rounded_(rounded(pair.networks, pair.info, request.compile)) {}

  Comparison run() {
    check_options();
    try_points();
    climb();
    // The difference network is that of the real networks, and says nothing of their roundings.
    if (pair_.difference && request_.compile.planner.semantics == Semantics::kReal)
      bound_difference();
    else
      bound();
    if (settings_.within)
      decide_limit();
    else
      narrow();
    if (settings_.classes) decide_classes();
    made_.seconds = stopwatch_.seconds();
    return std::move(made_);
  }

 private:
  double left() const { return settings_.seconds - stopwatch_.seconds(); }

  // Throws: BF3416.
  void check_options() const {
    if (settings_.classes && pair_.output_count > kMostClasses)
      fail("BF3416", "--classes",
           fmt::format("the networks have {} outputs, and at most {} are compared as classes",
                       pair_.output_count, kMostClasses),
           "--within bounds their differences");
  }

  // Bounds of all differences, by one call.
  void bound() {
    Property property = about(pair_, exact_);
    add_difference_rows(pair_, property);
    bound_rows(property, request_.method.value_or(Method::kAlphaCrown), true);
    // Something is said in any case.
    if (std::isinf(made_.proven) && is_over()) bound_rows(property, Method::kIbp, false);
  }

  // stops: the call ends when the time is over, and says nothing then.
  void bound_rows(const Property& property, Method method, bool stops) {
    const auto host =
        make_host(pair_.networks.graph(), pair_.info, request_, method, to_spec(property));
    engine::Bounds bounds;
    if (stops) {
      stopped_calls_.include(*host);
      stopped_calls_.run([&] { bounds = host->spec_bounds(float_box(box_)); });
    } else {
      bounds = host->spec_bounds(float_box(box_));
    }
    made_.outputs.resize(static_cast<std::size_t>(pair_.output_count), {-kUnbounded, kUnbounded});
    for (std::size_t i = 0; i < bounds.lower.size(); ++i) {
      OutputDifference& output = made_.outputs[i];
      output = {std::max<double>(output.lower, -bounds.upper[i]),
                std::min<double>(output.upper, -bounds.lower[i])};
    }
    made_.proven = largest(made_.outputs);
  }

  // Bounds of the difference network, of the box and, where few inputs vary, of its parts.
  void bound_difference() {
    const DifferenceBounds bounds(*pair_.difference, pair_.info, request_);
    bounds.stop_by(stopped_calls_);
    const bool splits = varying(box_) <= kFewInputs;
    const auto enough = [&](const std::vector<OutputDifference>& outputs) {
      const double proven = largest(outputs);
      if (settings_.within)
        return !exceeds(proven, *settings_.within) || exceeds(made_.attained, *settings_.within);
      return !(proven > (1 + settings_.tolerance) * made_.attained);
    };
    const auto visit = [&](const DifferenceBounds::Part& part) {
      ++made_.parts;
      take_centre(part.box);
      DecisionProgress progress;
      progress.phase = DecisionPhase::kDifferences;
      progress.nodes = made_.parts;
      calls_.progress(progress);
    };
    made_.outputs =
        split_differences(bounds, box_, enough, visit, [&] { return !splits || is_over(); });
    made_.proven = largest(made_.outputs);
    climb();
    // Slopes multiply from layer to layer: of deep networks with wide boxes, bounds of each network
    // by itself may be tighter.
    if (!enough(made_.outputs)) bound();
  }

  // Takes a point in the box, if some output differs there by more than is attained.
  void take(const std::vector<mpq_class>& x) {
    std::vector<Bounded> input;
    for (const mpq_class& number : x) {
      Bounded known{number.get_d(), 0};
      // Evaluation in float32 begins with float32 numbers.
      if (rounded_ && mpq_class(static_cast<double>(static_cast<float>(known.value))) != number)
        return;
      if (mpq_class(known.value) != number)  // get_d() cuts the number off
        known.error = next_up(std::fabs(known.value)) - std::fabs(known.value);
      input.push_back(known);
    }
    const std::vector<Bounded> y = (rounded_ ? *rounded_ : pair_.networks).outputs(input);
    const auto n = static_cast<std::size_t>(pair_.output_count);
    for (std::size_t i = 0; i < n; ++i) {
      const Bounded &a = y[i], &b = y[i + n];
      if (!std::isfinite(a.value + a.error) || !std::isfinite(b.value + b.error)) continue;
      const mpq_class apart =
          abs(mpq_class(a.value) - mpq_class(b.value)) - mpq_class(a.error) - mpq_class(b.error);
      if (apart <= mpq_class(made_.attained)) continue;
      made_.attained = apart.get_d();  // cut off: at most the number
      made_.output = i;
      made_.point = x;
    }
  }

  std::vector<mpq_class> nearest_inside(const std::vector<double>& point) const {
    return decide::nearest_inside(exact_.inner, exact_.between, point);
  }

  void take_centre(const Box& box) {
    std::vector<double> centre;
    for (std::size_t i = 0; i < box.lower.size(); ++i)
      centre.push_back(
          std::clamp(0.5 * box.lower[i] + 0.5 * box.upper[i], box.lower[i], box.upper[i]));
    take(nearest_inside(centre));
  }

  // The centre, corners, and points between.
  void try_points() {
    take_centre(box_);
    const input::FloatBox around = float_box(box_);
    for (const std::vector<double>& point : Sampler::points(around, kPoints, 1)) {
      if (is_over()) return;
      take(nearest_inside(point));
    }
  }

  // Moves the best point along one input after the other, by steps that are halved where none
  // gains.
  void climb() {
    if (made_.point.empty() || varying(box_) > kFewInputs) return;
    for (double step = 0.5; step >= kLeastStep && !is_over();) {
      const double before = made_.attained;
      for (std::size_t i = 0; i < made_.point.size(); ++i) {
        const double width = box_.upper[i] - box_.lower[i];
        for (const double move : {-step * width, step * width}) {
          if (move == 0) continue;
          std::vector<double> x;
          for (const mpq_class& number : made_.point) x.push_back(number.get_d());
          x[i] = std::clamp(x[i] + move, box_.lower[i], box_.upper[i]);
          take(nearest_inside(x));
        }
      }
      if (!(made_.attained > before)) step /= 2;
    }
  }

  bool is_over() const { return stop_(); }

  Outcome ask(const Property& property, double seconds) {
    ++made_.questions;
    Outcome outcome =
        decide_within(seconds, pair_.networks, pair_.info, property, request_, calls_);
    if (outcome.witness) take(outcome.witness->x);
    return outcome;
  }

  // Asks for limits between what is attained and what is proven.
  void narrow() {
    if (made_.attained == 0 && is_equal()) return;
    // Bounds of a difference are mostly tighter than those of two networks that know nothing of
    // each other: what is left to questions is their search for points.
    const bool bounded = made_.parts > 0;
    const int most_open = bounded ? 1 : kMostOpen;
    double share = 0.5;
    for (int open = 0; open < most_open && made_.questions < kMostQuestions && !is_over();) {
      const double gap = made_.proven - made_.attained;
      if (!(gap > settings_.tolerance * made_.attained) || !std::isfinite(gap)) return;
      const double limit = made_.attained + share * gap;
      if (!(limit > made_.attained && limit < made_.proven)) return;
      const Outcome outcome =
          ask(open_differences(mpq_class(limit), false), std::max(left() / 3, kFirstSeconds));
      if (outcome.answer == Answer::kVerified) prove(limit);
      const bool decided =
          outcome.answer == Answer::kVerified || outcome.answer == Answer::kFalsified;
      open = decided ? 0 : open + 1;
      share = decided ? 0.5 : 0.5 + 0.5 * share;
    }
  }

  void decide_limit() {
    if (!exceeds(made_.proven, *settings_.within)) {
      made_.limit.emplace();
      made_.limit->answer = Answer::kVerified;
      return;
    }
    made_.limit = ask(open_differences(*settings_.within, true), std::max(left(), kFirstSeconds));
    if (made_.limit->answer != Answer::kVerified) return;
    // The double above the limit, or the limit itself.
    const double within = settings_.within->get_d();
    prove(mpq_class(within) < *settings_.within ? next_up(within) : within);
  }

  // One output is the largest in any case.
  void decide_classes() {
    if (pair_.output_count > 1) {
      made_.classes = ask(other_classes(pair_, exact_), std::max(left(), kFirstSeconds));
      return;
    }
    made_.classes.emplace();
    made_.classes->answer = Answer::kVerified;
  }

  // Networks of which no point shows a difference may have none.
  bool is_equal() {
    const bool equal =
        ask(differs_by(pair_, exact_, 0, true), std::max(left() / 3, kFirstSeconds)).answer ==
        Answer::kVerified;
    if (equal) prove(0);
    return equal;
  }

  void prove(double limit) {
    made_.proven = std::min(made_.proven, limit);
    for (OutputDifference& output : made_.outputs)
      output = {std::max(output.lower, -limit), std::min(output.upper, limit)};
  }

  // differs_by() of the outputs whose bounds reach the limit.
  Property open_differences(const mpq_class& limit, bool strict) const {
    Property property = differs_by(pair_, exact_, limit, strict);
    std::erase_if(property.cases[0].clauses, [&](const Clause& clause) {
      const auto& output = made_.outputs[static_cast<std::size_t>(clause[0].row)];
      const double reach = clause[0].negated ? -output.lower : output.upper;  // first - second
      return std::isfinite(reach) && mpq_class(reach) < limit;
    });
    drop_unused_rows(property);
    return property;
  }

  const NetworkPair& pair_;
  const input::ExactBox& exact_;
  const Box& box_;  // around it
  const Request& request_;
  const CompareSettings& settings_;
  const RequestCalls& calls_;
  const std::optional<Sampler> rounded_;  // the networks as float32 evaluation gives them
  const system::Stopwatch stopwatch_;
  const system::Stop stop_ = calls_.stop.within(settings_.seconds);
  engine::StoppedCalls stopped_calls_{stop_};
  Comparison made_;
};

}  // namespace

NetworkPair pair_of(Graph first, const ModelInfo& first_info, Graph second,
                    const ModelInfo& second_info) {
  if (first.one_hot.size > 0 || second.one_hot.size > 0)
    fail("BF3416", "compare", "a network reads token ids, which are not compared",
         "--input-tensor begins both networks at their embeddings");
  const std::int64_t inputs = elements(first, first.inputs);
  const std::int64_t outputs = elements(first, first.outputs);
  check_counts("inputs", inputs, elements(second, second.inputs));
  check_counts("outputs", outputs, elements(second, second.outputs));
  std::vector<std::int64_t> source;
  for (int network = 0; network < 2; ++network)
    for (std::int64_t i = 0; i < inputs; ++i) source.push_back(i);
  std::optional<DifferenceNetwork> difference;
  if (are_isomorphic(first, second)) difference = difference_network(first, second);
  std::vector<NamedGraph> both;
  both.push_back({"first", std::move(first)});
  both.push_back({"second", std::move(second)});
  ModelInfo info = first_info;
  join_infos(info, second_info);
  Sampler networks(merge_graphs(std::move(both), source, inputs));
  return {std::move(networks),  std::move(info), std::move(source), inputs, outputs,
          std::move(difference)};
}

Property differs_by(const NetworkPair& pair, const input::ExactBox& box, const mpq_class& limit,
                    bool strict) {
  Property made = about(pair, box);
  add_difference_rows(pair, made);
  for (int row = 0; row < static_cast<int>(made.rows.size()); ++row) {
    made.cases[0].clauses.push_back({{row, false, strict, -limit}});
    made.cases[0].clauses.push_back({{row, true, strict, -limit}});
  }
  return made;
}

Property other_classes(const NetworkPair& pair, const input::ExactBox& box) {
  Property made = about(pair, box);
  const auto n = static_cast<int>(pair.output_count);
  std::vector<int> row_of(static_cast<std::size_t>(2 * n) * static_cast<std::size_t>(n), -1);
  for (int network = 0; network < 2; ++network)
    for (int i = 0; i < n; ++i)
      for (int k = i + 1; k < n; ++k) {
        row_of[static_cast<std::size_t>((network * n + i) * n + k)] =
            static_cast<int>(made.rows.size());
        made.rows.push_back({LinearForm{{network * n + i, 1}, {network * n + k, -1}}, {}});
      }
  // Output i is at least, or above, output k of a network.
  const auto beats = [&](int network, int i, int k, bool strict) {
    const int row =
        row_of[static_cast<std::size_t>((network * n + std::min(i, k)) * n + std::max(i, k))];
    return Condition{row, i < k, strict, 0};
  };
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) {
      if (i == j) continue;
      Clause clause;
      for (int k = 0; k < n; ++k)
        if (k != i) clause.push_back(beats(0, i, k, k == j));
      for (int k = 0; k < n; ++k)
        if (k != j) clause.push_back(beats(1, j, k, k == i));
      made.cases[0].clauses.push_back(std::move(clause));
    }
  return made;
}

Comparison compare(const NetworkPair& pair, const input::ExactBox& box, const Request& request,
                   const CompareSettings& settings, const RequestCalls& calls) {
  return Comparer(pair, box, request, settings, calls).run();
}

}  // namespace bf_aot::decide

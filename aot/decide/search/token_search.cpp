#include "aot/decide/search/token_search.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "aot/decide/boxes/row_bounds.h"
#include "aot/decide/property/witness.h"
#include "aot/engine/verifier/stopped_calls.h"
#include "aot/input/json_io.h"
#include "aot/system/progress.h"
#include "frontend/diagnostic.h"
#include "frontend/property/verdict_tables.h"

namespace bf_aot::decide {
namespace {

constexpr double kFar = std::numeric_limits<double>::infinity();

// The sum of factor_t id_t, where id_t is the sum of the inputs of position t, each times its id.
LinearForm over_one_hot(const LinearForm& over_ids, const OneHot& one_hot) {
  LinearForm form;
  for (const auto& [position, factor] : over_ids) {
    const std::vector<std::int64_t>& ids = one_hot.ids[static_cast<std::size_t>(position)];
    for (std::size_t c = 0; c < ids.size(); ++c)
      if (ids[c] != 0)
        form.emplace_back(position * one_hot.size + static_cast<std::int64_t>(c),
                          factor * mpq_class(static_cast<double>(ids[c])));
  }
  return form;
}

// The box of the one-hot inputs whose ids lie in the case's box; none where a position has no such
// id.
std::optional<Box> box_of_one_hot(const PropertyCase& of_ids, const OneHot& one_hot) {
  const auto size = static_cast<std::size_t>(one_hot.size);
  Box box;
  box.lower.resize(size * one_hot.ids.size());
  box.upper.resize(box.lower.size());
  for (std::size_t p = 0; p < one_hot.ids.size(); ++p) {
    bool any = false;
    for (std::size_t c = 0; c < one_hot.ids[p].size(); ++c) {
      const auto id = static_cast<double>(one_hot.ids[p][c]);
      if (id < of_ids.inner.lower[p] || id > of_ids.inner.upper[p]) continue;
      box.upper[p * size + c] = 1;
      any = true;
    }
    if (!any) return std::nullopt;
  }
  return box;
}

void check_fits(const Property& property, const Graph& graph) {
  const std::size_t positions = graph.one_hot.ids.size();
  if (property.input_count != static_cast<std::int64_t>(positions))
    fail("BF3408", property.file_name,
         fmt::format("the property declares {} inputs but the network reads token ids at {} "
                     "positions",
                     property.input_count, positions),
         "declare one input for the id at each position, without those that are fixed");
  std::int64_t outputs = 0;
  for (const ValueId id : graph.outputs) outputs += element_count(graph.value(id).shape);
  if (property.output_count != outputs)
    fail("BF3408", property.file_name,
         fmt::format("the property declares {} outputs but the network has {}",
                     property.output_count, outputs),
         "it belongs to another network");
}

using Sets = std::vector<std::vector<std::size_t>>;  // by position: inputs of its group

struct TextSets {
  Sets sets;
  double share = 0;  // of all cases
};

bool is_text(const TextSets& node) {
  return std::ranges::all_of(node.sets, [](const auto& set) { return set.size() == 1; });
}

// The first of each position's inputs.
std::vector<std::size_t> first_text(const TextSets& node) {
  std::vector<std::size_t> text;
  for (const std::vector<std::size_t>& set : node.sets) text.push_back(set.front());
  return text;
}

class TokenSearch {
 public:
  TokenSearch(const Sampler& network, const OneHotProperty& asked, const DecisionSettings& settings,
              const DecisionCalls& calls)
      : one_hot_(network.graph().one_hot),
        asked_(asked),
        settings_(settings),
        calls_(calls),
        tables_(verdict_tables(asked.property)),
        check_(asked.property, network) {}

  Outcome run();

 private:
  bool search_case(std::size_t index);
  bool is_proven(const TextSets& node) const;
  bool is_late() const {
    return calls_.stop() ||
           stopwatch_.seconds() >= settings_.search_seconds + settings_.branch_seconds;
  }
  std::size_t input_count() const {
    return static_cast<std::size_t>(one_hot_.size) * one_hot_.ids.size();
  }
  Sets whole(const PropertyCase& one) const;
  input::FloatBox box(const Sets& sets) const;
  std::vector<float> point(const std::vector<std::size_t>& text) const;
  double margin(const std::vector<std::size_t>& text);
  bool prove(const std::vector<std::size_t>& text);
  bool refutes(const std::vector<std::size_t>& text) const;
  std::pair<TextSets, TextSets> split(const TextSets& node);

  const OneHot one_hot_;
  const OneHotProperty& asked_;
  const DecisionSettings& settings_;
  const DecisionCalls& calls_;
  const VerdictTables tables_;
  const WitnessCheck check_;
  const system::Stopwatch stopwatch_;
  engine::StoppedCalls stopped_calls_{calls_.stop};
  DecisionVerifier verifier_;
  std::size_t case_ = 0;
  double proven_ = 0;  // part of all cases
  Outcome outcome_;
};

Sets TokenSearch::whole(const PropertyCase& one) const {
  const auto size = static_cast<std::size_t>(one_hot_.size);
  Sets sets(one_hot_.ids.size());
  for (std::size_t p = 0; p < sets.size(); ++p)
    for (std::size_t c = 0; c < one_hot_.ids[p].size(); ++c)
      if (one.box.upper[p * size + c] > 0) sets[p].push_back(p * size + c);
  return sets;
}

input::FloatBox TokenSearch::box(const Sets& sets) const {
  input::FloatBox made{std::vector<float>(input_count(), 0), std::vector<float>(input_count(), 0)};
  for (const std::vector<std::size_t>& set : sets)
    for (const std::size_t at : set) {
      made.upper[at] = 1;
      if (set.size() == 1) made.lower[at] = 1;
    }
  return made;
}

std::vector<float> TokenSearch::point(const std::vector<std::size_t>& text) const {
  std::vector<float> x(input_count(), 0);
  for (const std::size_t at : text) x[at] = 1;
  return x;
}

// How far the outputs of a text are from a violation, by plain float32: at most 0 where they seem
// to violate the property. It chooses what is tried next, and proves nothing.
double TokenSearch::margin(const std::vector<std::size_t>& text) {
  ++outcome_.branched.points;
  const std::vector<float> x = point(text), y = verifier_.host->evaluate(x);
  double least = kFar;
  for (const Clause& clause : asked_.property.cases[case_].clauses) {
    double most = -kFar;
    for (const Condition& condition : clause) {
      const PropertyRow& row = asked_.property.row_of(condition);
      double value = 0;
      for (const auto& [output, factor] : row.outputs)
        value += factor.get_d() * static_cast<double>(y[static_cast<std::size_t>(output)]);
      for (const auto& [input, factor] : row.inputs)
        value += factor.get_d() * static_cast<double>(x[static_cast<std::size_t>(input)]);
      most = std::max(most, (condition.negated ? -value : value) - condition.limit.get_d());
    }
    least = std::min(least, most);
  }
  return std::isnan(least) ? kFar : least;
}

// Returns true if the text is proven to violate the property, which ends the search.
bool TokenSearch::prove(const std::vector<std::size_t>& text) {
  const std::vector<float> x = point(text);
  std::optional<Witness> found = check_.prove(case_, {x.begin(), x.end()});
  if (!found) return false;
  found->property_case = asked_.origin[case_];
  found->x.clear();
  const auto size = static_cast<std::size_t>(one_hot_.size);
  for (const std::size_t at : text)
    found->x.emplace_back(static_cast<double>(one_hot_.ids[at / size][at % size]));
  outcome_.witness = std::move(found);
  return true;
}

bool TokenSearch::refutes(const std::vector<std::size_t>& text) const {
  const std::vector<float> x = point(text);
  return check_.refutes(case_, {x.begin(), x.end()});
}

bool TokenSearch::is_proven(const TextSets& node) const {
  const engine::Bounds found = verifier_.host->spec_bounds(box(node.sets));
  const std::vector<float> lower(found.lower.begin(), found.lower.end());
  const std::vector<float> upper(found.upper.begin(), found.upper.end());
  for (std::uint32_t j = tables_.case_clauses[case_]; j < tables_.case_clauses[case_ + 1]; ++j)
    if (!is_excluded(tables_, j, {lower, upper})) return false;
  return true;
}

// Halves the set of the position whose ids change the margin most, by the margins that they lead
// to. On the way it walks to a text of a small margin, which it tries to prove: see
// Outcome::witness.
std::pair<TextSets, TextSets> TokenSearch::split(const TextSets& node) {
  std::vector<std::size_t> text = first_text(node);
  double best = margin(text), widest = -1;
  std::size_t position = 0;
  std::vector<std::pair<double, std::size_t>> order;
  for (std::size_t p = 0; p < node.sets.size(); ++p) {
    if (node.sets[p].size() == 1) continue;
    std::vector<std::pair<double, std::size_t>> margins;
    const std::size_t before = text[p];
    const double at_before = best;
    std::size_t taken = before;
    for (const std::size_t at : node.sets[p]) {
      text[p] = at;
      margins.emplace_back(at == before ? at_before : margin(text), at);
      if (!(margins.back().first < best)) continue;
      best = margins.back().first;
      taken = at;
    }
    text[p] = taken;
    std::ranges::sort(margins);
    const double width = margins.back().first - margins.front().first;
    if (order.empty() || width > widest) {
      widest = width;
      position = p;
      order = std::move(margins);
    }
  }
  std::pair<TextSets, TextSets> halves{node, node};
  if (best <= 0 && prove(text)) return halves;
  const std::size_t half = order.size() / 2;
  const auto take = [&](TextSets& to, std::size_t from, std::size_t end) {
    to.share = node.share / 2;
    to.sets[position].clear();
    for (std::size_t i = from; i < end; ++i) to.sets[position].push_back(order[i].second);
  };
  take(halves.first, 0, half);
  take(halves.second, half, order.size());
  return halves;
}

// Returns whether the case is verified. Ends where a witness is found or time is up.
bool TokenSearch::search_case(std::size_t index) {
  case_ = index;
  const auto cases = static_cast<double>(asked_.property.cases.size());
  std::vector<TextSets> open = {{whole(asked_.property.cases[index]), 1 / cases}};
  bool all = true;
  while (!open.empty()) {
    if (is_late()) {
      outcome_.stopped = true;
      return false;
    }
    const TextSets node = std::move(open.back());
    open.pop_back();
    ++outcome_.branched.boxes;
    calls_.progress({DecisionPhase::kSplit, 0, 0, outcome_.branched.boxes, proven_});
    bool proven = is_proven(node);
    if (!proven && is_text(node)) {
      const std::vector<std::size_t> text = first_text(node);
      ++outcome_.branched.points;
      if (prove(text)) return false;
      proven = refutes(text);
      all = all && proven;
    } else if (!proven) {
      auto [first, second] = split(node);
      if (outcome_.witness) return false;
      open.push_back(std::move(second));
      open.push_back(std::move(first));
    }
    if (proven) proven_ += node.share;
  }
  return all;
}

Outcome TokenSearch::run() {
  const DecisionMethod method{settings_.method.value_or(Method::kCrown), settings_.alpha, false,
                              false};
  outcome_.cases = asked_.origin.size();
  if (outcome_.cases == 0) {
    outcome_.answer = Answer::kVerified;
    return std::move(outcome_);
  }
  const system::Stopwatch stopwatch;
  stopped_calls_.run([&] {
    verifier_ = calls_.make_verifier(method, {});
    stopped_calls_.include(*verifier_.host);
    outcome_.make_seconds = stopwatch.seconds();
    outcome_.methods.push_back(method);
    for (std::size_t i = 0; i < outcome_.cases && !outcome_.witness && !outcome_.stopped; ++i)
      if (search_case(i)) ++outcome_.verified_cases;
  });
  outcome_.decide_seconds = stopwatch.seconds() - outcome_.make_seconds;
  outcome_.branched.seconds = outcome_.decide_seconds;
  outcome_.answer = outcome_.witness                            ? Answer::kFalsified
                    : outcome_.verified_cases == outcome_.cases ? Answer::kVerified
                                                                : Answer::kUnknown;
  // A call that was stopped leaves its case open, and planning all of them.
  if (outcome_.answer == Answer::kUnknown && calls_.stop()) outcome_.stopped = true;
  return std::move(outcome_);
}

}  // namespace

OneHotProperty property_of_one_hot(const Property& of_ids, const Graph& graph) {
  check_fits(of_ids, graph);
  const OneHot& one_hot = graph.one_hot;
  OneHotProperty made{of_ids, {}};
  const std::int64_t inputs = one_hot.size * static_cast<std::int64_t>(one_hot.ids.size());
  made.property.input_count = inputs;
  made.property.inputs = {{"X", of_ids.inputs.front().element_type, {inputs}, {}}};
  for (PropertyRow& row : made.property.rows) row.inputs = over_one_hot(row.inputs, one_hot);
  made.property.cases.clear();
  for (std::size_t i = 0; i < of_ids.cases.size(); ++i) {
    std::optional<Box> box = box_of_one_hot(of_ids.cases[i], one_hot);
    if (!box) continue;
    made.property.cases.push_back({*box, *box, {}, of_ids.cases[i].clauses});
    made.origin.push_back(i);
  }
  return made;
}

Outcome decide_tokens(const Sampler& network, const Property& of_ids,
                      const DecisionSettings& settings, const DecisionCalls& calls) {
  const OneHotProperty asked = property_of_one_hot(of_ids, network.graph());
  return TokenSearch(network, asked, settings, calls).run();
}

}  // namespace bf_aot::decide

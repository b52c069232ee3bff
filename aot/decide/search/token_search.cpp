#include "aot/decide/search/token_search.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>

#include "aot/decide/boxes/row_bounds.h"
#include "aot/engine/verifier/stopped_calls.h"
#include "aot/input/json_io.h"
#include "frontend/diagnostic.h"
#include "frontend/property/verdict_tables.h"
#include "frontend/sha256.h"

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

// The box of the one-hot inputs whose ids lie in the case's box. is_empty: a position has no such
// id.
Box box_of_one_hot(const PropertyCase& of_ids, const OneHot& one_hot, bool& is_empty) {
  const auto size = static_cast<std::size_t>(one_hot.size);
  Box box;
  is_empty = false;
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
    is_empty = is_empty || !any;
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

using Sets = std::vector<std::vector<std::uint32_t>>;  // by position: places in its group

constexpr std::size_t kWord = 4;  // bytes of a number in a node's state

// A node's state: for each position the number of its ids, then their places in the group, each in
// four bytes, the lowest first. The order of the ids counts: a text has the first of each.
void append(std::uint32_t number, std::vector<std::byte>& state) {
  for (std::size_t i = 0; i < kWord; ++i)
    state.push_back(static_cast<std::byte>(number >> (8 * i)));
}

std::vector<std::byte> state_of(const Sets& sets) {
  std::vector<std::byte> state;
  for (const auto& set : sets) {
    append(static_cast<std::uint32_t>(set.size()), state);
    for (const std::uint32_t at : set) append(at, state);
  }
  return state;
}

// None where the state was not made for so many positions.
std::optional<Sets> read_sets(const std::vector<std::byte>& state, std::size_t positions) {
  if (state.size() % kWord != 0) return std::nullopt;
  std::size_t next = 0;
  const auto left = [&] { return state.size() / kWord - next; };
  const auto word = [&] {
    std::uint32_t number = 0;
    for (std::size_t i = 0; i < kWord; ++i)
      number |= std::to_integer<std::uint32_t>(state[kWord * next + i]) << (8 * i);
    ++next;
    return number;
  };
  Sets sets(positions);
  for (auto& set : sets) {
    if (left() == 0) return std::nullopt;
    const std::uint32_t count = word();
    if (count > left()) return std::nullopt;
    for (std::uint32_t i = 0; i < count; ++i) set.push_back(word());
  }
  return left() == 0 ? std::optional(std::move(sets)) : std::nullopt;
}

Sets sets_of_case(const OneHotProperty& tokens, std::size_t index) {
  const auto size = static_cast<std::size_t>(tokens.one_hot.size);
  const std::vector<double>& upper = tokens.property.cases[index].box.upper;
  Sets sets(tokens.one_hot.ids.size());
  for (std::size_t p = 0; p < sets.size(); ++p)
    for (std::size_t c = 0; c < tokens.one_hot.ids[p].size(); ++c)
      if (upper[p * size + c] > 0) sets[p].push_back(static_cast<std::uint32_t>(c));
  return sets;
}

std::vector<std::vector<std::byte>> root_states(const OneHotProperty& tokens) {
  std::vector<std::vector<std::byte>> states;
  for (std::size_t i = 0; i < tokens.property.cases.size(); ++i)
    states.push_back(state_of(sets_of_case(tokens, i)));
  return states;
}

bool is_text(const Sets& sets) {
  return std::ranges::all_of(sets, [](const auto& set) { return set.size() == 1; });
}

using Text = std::vector<std::uint32_t>;  // a place in the group of each position

// The first of each position's ids.
Text first_text(const Sets& sets) {
  Text text;
  for (const auto& set : sets) text.push_back(set.front());
  return text;
}

}  // namespace

// Expands sets of ids, one node at a time, by a verifier of its own thread.
class TokenSearch::Worker final : public tree::TreeWorker {
 public:
  Worker(const TokenSearch& search, std::unique_ptr<const engine::HostVerifier> twin)
      : search_(search),
        tokens_(search.tokens_),
        twin_(std::move(twin)),
        host_(twin_ != nullptr ? *twin_ : *search.verifier_.host) {}

  std::size_t lanes() const override { return 1; }
  std::uint64_t points() const override { return points_; }

  void expand(std::span<const tree::Node> nodes, std::vector<tree::Expansion>& out) override {
    bool whole = false;
    engine::StoppedCalls stopped([this] { return !goes_on(); });
    // The first thread's verifier is the decision's, which stops its calls.
    if (twin_ != nullptr) stopped.include(*twin_);
    stopped.run([&] {
      for (const tree::Node& node : nodes) out.push_back(expand(node));
      whole = true;
    });
    if (!whole) throw tree::Abandoned();
  }

 private:
  tree::Expansion expand(const tree::Node& node) {
    case_ = node.root;
    const auto sets = read_sets(node.state, tokens_.one_hot.ids.size());
    BF_CHECK(sets.has_value());
    tree::Expansion made;
    if (is_excluded(*sets)) {
      made.fate = tree::Fate::kClosed;
    } else if (is_text(*sets)) {
      ++points_;
      std::vector<double> ids = ids_of(first_text(*sets));
      made.fate = search_.refutes_(case_, ids) ? tree::Fate::kClosed : tree::Fate::kStuck;
      if (made.fate == tree::Fate::kStuck)
        made.proposal = tree::Proposal{node.root, std::move(ids)};
    } else {
      split(*sets, made);
    }
    return made;
  }

  std::size_t input(std::size_t position, std::uint32_t at) const {
    return position * static_cast<std::size_t>(tokens_.one_hot.size) + at;
  }

  std::vector<double> ids_of(const Text& text) const {
    std::vector<double> ids;
    for (std::size_t p = 0; p < text.size(); ++p)
      ids.push_back(static_cast<double>(tokens_.one_hot.ids[p][text[p]]));
    return ids;
  }

  bool is_excluded(const Sets& sets) const {
    const auto inputs = static_cast<std::size_t>(tokens_.property.input_count);
    input::FloatBox box{std::vector<float>(inputs, 0), std::vector<float>(inputs, 0)};
    for (std::size_t p = 0; p < sets.size(); ++p)
      for (const std::uint32_t at : sets[p]) {
        box.upper[input(p, at)] = 1;
        if (sets[p].size() == 1) box.lower[input(p, at)] = 1;
      }
    const engine::Bounds found = host_.spec_bounds(box);
    const std::vector<float> lower(found.lower.begin(), found.lower.end());
    const std::vector<float> upper(found.upper.begin(), found.upper.end());
    const VerdictTables& tables = search_.cases().tables();
    for (std::uint32_t j = tables.case_clauses[case_]; j < tables.case_clauses[case_ + 1]; ++j)
      if (!decide::is_excluded(tables, j, {lower, upper})) return false;
    return true;
  }

  // How far the outputs of a text are from a violation, by plain float32: at most 0 where they seem
  // to violate the property. It chooses what is tried next, and proves nothing.
  double margin(const Text& text) {
    ++points_;
    std::vector<float> x(static_cast<std::size_t>(tokens_.property.input_count), 0);
    for (std::size_t p = 0; p < text.size(); ++p) x[input(p, text[p])] = 1;
    const std::vector<float> y = host_.evaluate(x);
    double least = kFar;
    for (const Clause& clause : tokens_.property.cases[case_].clauses) {
      double most = -kFar;
      for (const Condition& condition : clause) {
        const PropertyRow& row = tokens_.property.row_of(condition);
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

  using Margins = std::vector<std::pair<double, std::uint32_t>>;  // of a position's ids

  // The margins of the text with each of the position's ids. The text keeps the one of the least.
  Margins margins_of(const Sets& sets, std::size_t position, Text& text, double& best) {
    Margins margins;
    const std::uint32_t before = text[position];
    const double at_before = best;
    std::uint32_t taken = before;
    for (const std::uint32_t at : sets[position]) {
      text[position] = at;
      margins.emplace_back(at == before ? at_before : margin(text), at);
      if (!(margins.back().first < best)) continue;
      best = margins.back().first;
      taken = at;
    }
    text[position] = taken;
    std::ranges::sort(margins);
    return margins;
  }

  // Halves the set of the position whose ids change the margin most, by the margins that they lead
  // to. On the way it walks to a text of a small margin, which it proposes.
  void split(const Sets& sets, tree::Expansion& made) {
    Text text = first_text(sets);
    double best = margin(text), widest = -1;
    std::size_t position = 0;
    Margins order;
    for (std::size_t p = 0; p < sets.size(); ++p) {
      if (sets[p].size() == 1) continue;
      Margins margins = margins_of(sets, p, text, best);
      const double width = margins.back().first - margins.front().first;
      if (!order.empty() && !(width > widest)) continue;
      widest = width;
      position = p;
      order = std::move(margins);
    }
    if (best <= 0) made.proposal = tree::Proposal{static_cast<std::uint32_t>(case_), ids_of(text)};
    made.fate = tree::Fate::kSplit;
    const std::size_t half = order.size() / 2;
    made.first = with_ids(sets, position, std::span(order).first(half));
    made.second = with_ids(sets, position, std::span(order).subspan(half));
  }

  static std::vector<std::byte> with_ids(Sets sets, std::size_t position,
                                         std::span<const Margins::value_type> ids) {
    sets[position].clear();
    for (const auto& [margin, at] : ids) sets[position].push_back(at);
    return state_of(sets);
  }

  const TokenSearch& search_;
  const OneHotProperty& tokens_;
  const std::unique_ptr<const engine::HostVerifier> twin_;
  const engine::HostVerifier& host_;
  std::size_t case_ = 0;
  std::uint64_t points_ = 0;
};

TokenSearch::TokenSearch(const DecisionVerifier& verifier, const OneHotProperty& tokens,
                         const Cases& cases, Refutes refutes, std::size_t threads)
    : SplitSearch(cases, root_states(tokens), threads),
      verifier_(verifier),
      tokens_(tokens),
      refutes_(std::move(refutes)) {}

TokenSearch::~TokenSearch() = default;

std::unique_ptr<tree::TreeWorker> TokenSearch::make_worker(std::size_t thread) {
  return std::make_unique<Worker>(*this, thread == 0 ? nullptr : verifier_.host->twin());
}

// The states speak of places among the ids that the property's file allows at a position.
std::string TokenSearch::identity() {
  std::string text = "sets of token ids";
  for (const auto& ids : tokens_.one_hot.ids) {
    text += ";";
    for (const std::int64_t id : ids) text += fmt::format(" {}", id);
  }
  return sha256(text);
}

const char* TokenSearch::fault_of(const tree::Node& node) {
  if (node.root >= tokens_.property.cases.size()) return "a case that the property does not have";
  auto sets = read_sets(node.state, tokens_.one_hot.ids.size());
  if (!sets) return "sets of ids of other positions";
  const Sets whole = sets_of_case(tokens_, node.root);
  for (std::size_t p = 0; p < whole.size(); ++p) {
    auto& set = (*sets)[p];
    std::ranges::sort(set);
    if (set.empty() || std::ranges::adjacent_find(set) != set.end() ||
        !std::ranges::includes(whole[p], set))
      return "a set of ids beyond its case";
  }
  return nullptr;
}

std::optional<std::vector<double>> OneHotProperty::inputs_of(const std::vector<double>& ids) const {
  if (ids.size() != one_hot.ids.size()) return std::nullopt;
  const auto size = static_cast<std::size_t>(one_hot.size);
  std::vector<double> x(size * ids.size());
  for (std::size_t p = 0; p < ids.size(); ++p) {
    const auto at = std::ranges::find_if(
        one_hot.ids[p], [&](std::int64_t id) { return static_cast<double>(id) == ids[p]; });
    if (at == one_hot.ids[p].end()) return std::nullopt;
    x[p * size + static_cast<std::size_t>(at - one_hot.ids[p].begin())] = 1;
  }
  return x;
}

DecisionMethod token_method(const DecisionSettings& settings) {
  return {settings.method.value_or(Method::kCrown), settings.alpha};
}

std::optional<Witness> violation_of_text(const OneHotProperty& tokens, const WitnessCheck& check,
                                         std::size_t property_case,
                                         const std::vector<double>& ids) {
  const auto x = tokens.inputs_of(ids);
  if (!x) return std::nullopt;
  std::optional<Witness> found = check.prove(property_case, *x);
  // A point that was moved, to where conditions on inputs hold, is no text.
  if (!found || !std::ranges::equal(found->x, *x)) return std::nullopt;
  found->x.assign(ids.begin(), ids.end());
  found->point = ids;
  return found;
}

OneHotProperty property_of_one_hot(const Property& of_ids, const Graph& graph) {
  check_fits(of_ids, graph);
  const OneHot& one_hot = graph.one_hot;
  OneHotProperty made{of_ids, one_hot, std::vector<bool>(of_ids.cases.size())};
  const std::int64_t inputs = one_hot.size * static_cast<std::int64_t>(one_hot.ids.size());
  made.property.input_count = inputs;
  made.property.inputs = {{"X", of_ids.inputs.front().element_type, {inputs}, {}}};
  for (PropertyRow& row : made.property.rows) row.inputs = over_one_hot(row.inputs, one_hot);
  for (std::size_t i = 0; i < of_ids.cases.size(); ++i) {
    bool is_empty = false;
    const Box box = box_of_one_hot(of_ids.cases[i], one_hot, is_empty);
    made.property.cases[i] = {box, box, {}, of_ids.cases[i].clauses};
    made.is_empty[i] = is_empty;
  }
  return made;
}

}  // namespace bf_aot::decide

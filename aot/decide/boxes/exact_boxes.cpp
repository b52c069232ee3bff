#include "aot/decide/boxes/exact_boxes.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "aot/decide/boxes/rational_program.h"
#include "frontend/functions/composite/branches.h"
#include "frontend/functions/composite/composite.h"
#include "frontend/functions/function_exact.h"
#include "planner/network/layer_loops.h"
#include "planner/plan/plan.h"
#include "planner/reference/exact.h"
#include "planner/reference/linear.h"
#include "planner/reference/rows.h"

namespace bf_aot::decide {
namespace {

// Products of all backward rows, at most: about a second in rationals.
constexpr std::int64_t kMostProducts = 200'000;
constexpr std::int64_t kQuickProducts = 2'000;

std::int64_t weights_of(const Layer& layer) {
  auto count = static_cast<std::int64_t>(layer.weight.size());
  for (const Term& term : layer.terms)
    count += static_cast<std::int64_t>(term.row_entries) * layer.out;
  return count;
}

// Each neuron has two rows, each of which passes the layers before its own.
std::int64_t products_of(const Plan& plan) {
  std::int64_t before = 0, products = 0;
  for (const Layer& layer : plan.layers) {
    before += weights_of(layer) + layer.out;
    products += 2 * before * layer.out;
    if (products > kMostProducts) break;
  }
  return products;
}

// ---- the regions of a box on which the network is affine

using reference::Vector;

// Programs for one box, at most: those of its regions, and those that find regions empty.
constexpr int kMostPrograms = 256;

// Breaks of a step function between the ends of its argument, at most.
constexpr int kMostSteps = 64;

// A linear piece of a function: intercept + slope x between two ends, each of which may belong to
// it. None: it has no end on that side.
struct LinearPiece {
  std::optional<mpq_class> start, end;
  bool start_in = true, end_in = true;
  mpq_class intercept, slope;

  mpq_class at(const mpq_class& x) const { return intercept + slope * x; }
};

using Pieces = std::vector<LinearPiece>;

// The pieces between breaks, with the values at these: a piece ends in a break where it has the
// value there; where none has, the break is a piece.
Pieces with_jumps(Pieces between, const std::vector<mpq_class>& values) {
  Pieces made;
  for (std::size_t i = 0; i < between.size(); ++i) {
    LinearPiece& piece = between[i];
    if (i > 0) piece.start_in = piece.at(*piece.start) == values[i - 1];
    if (i < values.size()) piece.end_in = piece.at(*piece.end) == values[i];
    made.push_back(piece);
    if (i == values.size() || piece.end_in || between[i + 1].at(*between[i + 1].start) == values[i])
      continue;
    made.push_back({piece.end, piece.end, true, true, values[i], 0});
  }
  return made;
}

bool meet(const Pieces& pieces) {
  for (std::size_t i = 1; i < pieces.size(); ++i)
    if (pieces[i - 1].at(*pieces[i].start) != pieces[i].at(*pieces[i].start)) return false;
  return true;
}

// starts: of all pieces but the first.
Pieces lined_up(Pieces pieces, const std::vector<mpq_class>& starts) {
  for (std::size_t i = 0; i < starts.size(); ++i) pieces[i].end = pieces[i + 1].start = starts[i];
  return pieces;
}

LinearPiece line(const mpq_class& intercept, const mpq_class& slope) {
  LinearPiece made;
  made.intercept = intercept;
  made.slope = slope;
  return made;
}

std::optional<Pieces> pieces_of(const Composite& composite) {
  Pieces made;
  std::vector<mpq_class> starts;
  for (const CompositePart& part : composite.parts()) {
    if (part.kind != CompositePart::Kind::kLine || part.error != 0) return std::nullopt;
    if (!made.empty()) starts.emplace_back(part.start);
    made.push_back(line(part.intercept, part.slope));
  }
  made = lined_up(std::move(made), starts);
  return meet(made) ? std::optional(made) : std::nullopt;
}

std::optional<Pieces> pieces_of(const Branches& branches) {
  Pieces made;
  for (const Branch& branch : branches.branches) {
    if (branch.smooth) return std::nullopt;
    made.push_back(line(branch.intercept, branch.slope));
  }
  made = lined_up(std::move(made), {branches.breaks.begin(), branches.breaks.end()});
  if (!branches.at.empty())
    return with_jumps(std::move(made), {branches.at.begin(), branches.at.end()});
  return meet(made) ? std::optional(made) : std::nullopt;
}

// The distance of the breaks of a function of steps without end, and of 0 from the break above it,
// as a share of that; nothing for others.
std::optional<std::pair<mpq_class, mpq_class>> steps_of(const Function& f) {
  using enum FunctionKind;
  if (f.kind == kFloor || f.kind == kCeil) return std::pair<mpq_class, mpq_class>(1, 0);
  if ((f.kind == kRound || f.kind == kQuantise) && f.a > 0 && f.slack == 0)
    return std::pair(mpq_class(f.a), mpq_class(1, 2));
  return std::nullopt;
}

// The steps of such a function that its argument may lie on; nothing where they are too many.
std::optional<Pieces> steps_between(const Function& f, const mpq_class& low,
                                    const mpq_class& high) {
  const auto [width, share] = *steps_of(f);
  const mpq_class first = low / width - share, last = high / width - share;
  mpz_class k, end;
  mpz_cdiv_q(k.get_mpz_t(), first.get_num_mpz_t(), first.get_den_mpz_t());
  mpz_fdiv_q(end.get_mpz_t(), last.get_num_mpz_t(), last.get_den_mpz_t());
  if (end - k >= kMostSteps) return std::nullopt;
  std::vector<mpq_class> breaks, values;
  for (; k <= end; ++k) {
    breaks.push_back((k + share) * width);
    values.push_back(evaluate_exact(f, breaks.back()));
  }
  const mpq_class before = breaks.empty() ? low : mpq_class(breaks.front() - width / 2);
  Pieces steps = {line(evaluate_exact(f, before), 0)};
  for (const mpq_class& at : breaks) steps.push_back(line(evaluate_exact(f, at + width / 2), 0));
  return with_jumps(lined_up(std::move(steps), breaks), values);
}

std::optional<Pieces> pieces_of(const Layer& layer, const mpq_class& low, const mpq_class& high) {
  if (layer.relu) return lined_up({line(0, 0), line(0, 1)}, {0});
  if (!layer.function) return Pieces{line(0, 1)};
  const Function& f = *layer.function;
  if (f.composite != nullptr) return pieces_of(*f.composite);
  if (steps_of(f)) return steps_between(f, low, high);
  const auto branches = branches_of(f);
  return branches ? pieces_of(*branches) : std::nullopt;
}

// The values of a tensor's elements as affine functions: one vector for each input that varies, and
// behind them that of the constants.
using Forms = std::vector<Vector<mpq_class>>;

// An affine function of the inputs that vary.
struct Form {
  std::vector<mpq_class> factors;
  mpq_class constant;
};

Form element(const Forms& forms, Eigen::Index j) {
  Form made;
  for (std::size_t k = 0; k + 1 < forms.size(); ++k) made.factors.push_back(forms[k](j));
  made.constant = forms.back()(j);
  return made;
}

Form operator-(Form a, const Form& b) {
  for (std::size_t k = 0; k < a.factors.size(); ++k) a.factors[k] -= b.factors[k];
  a.constant -= b.constant;
  return a;
}

class RegionSearch {
 public:
  // common: a clause whose conditions on inputs alone hold in all of `clauses`; or null.
  RegionSearch(const Plan& plan, const Property& property, std::vector<Clause> clauses,
               const Clause* common, const std::vector<mpq_class>& lower,
               const std::vector<mpq_class>& upper)
      : plan_(plan), property_(property), clauses_(std::move(clauses)), maps_(plan), lower_(lower) {
    for (std::size_t k = 0; k < lower.size(); ++k) {
      if (lower[k] == upper[k]) continue;
      varying_.push_back(k);
      program_.lower.push_back(lower[k]);
      program_.upper.push_back(upper[k]);
    }
    program_.objective.assign(varying_.size(), 0);
    if (common != nullptr) add_relations(*common);
  }

  bool exclude() {
    if (is_empty()) return true;
    input_.assign(varying_.size() + 1, Vector<mpq_class>(plan_.input_count));
    for (Vector<mpq_class>& each : input_)
      for (mpq_class& number : each) number = 0;
    for (std::size_t k = 0; k < lower_.size(); ++k)
      input_.back()(static_cast<Eigen::Index>(k)) = lower_[k];
    for (std::size_t v = 0; v < varying_.size(); ++v) {
      const auto k = static_cast<Eigen::Index>(varying_[v]);
      input_[v](k) = 1;
      input_.back()(k) = 0;
    }
    return enter(0);
  }

 private:
  // Keeps regions to where the conditions of a clause on inputs alone hold.
  void add_relations(const Clause& clause) {
    for (const Condition& condition : clause) {
      const PropertyRow& row = property_.row_of(condition);
      if (!row.outputs.empty()) continue;
      RationalProgram::Row made{std::vector<mpq_class>(varying_.size()), condition.limit};
      for (const auto& [input, positive] : row.inputs) {
        const auto k = static_cast<std::size_t>(input);
        const mpq_class factor = condition.negated ? -positive : positive;
        const auto at = std::ranges::lower_bound(varying_, k);
        if (at != varying_.end() && *at == k)
          made.factors[static_cast<std::size_t>(at - varying_.begin())] = factor;
        else
          made.limit -= factor * lower_[k];
      }
      program_.rows.push_back(std::move(made));
    }
  }

  const Forms& read(LayerId tensor) const { return tensor < 0 ? input_ : values_[tensor]; }

  // The layer of this number and those behind it.
  bool enter(std::size_t number) {
    if (number == plan_.layers.size()) return exclude_region();
    const LayerId id(static_cast<int>(number));
    const Layer& layer = plan_.layer(id);
    values_.push_back(layer.is_affine() ? mapped(id, layer) : Forms());
    if (!layer.is_affine()) values_[id].assign(varying_.size() + 1, Vector<mpq_class>(layer.out));
    const bool excluded = choose(number, 0);
    values_.pop_back();
    return excluded;
  }

  Forms mapped(LayerId id, const Layer& layer) {
    const reference::AffineMap<mpq_class>& map = maps_.of(id);
    const std::vector<LayerId> inputs = inputs_of(layer);
    Forms made;
    for (std::size_t v = 0; v <= varying_.size(); ++v) {
      Vector<mpq_class>& z = made.emplace_back(map.bias);
      if (v < varying_.size())
        for (mpq_class& number : z) number = 0;
      for (std::size_t i = 0; i < inputs.size(); ++i) map.parts[i]->apply(read(inputs[i])[v], z);
    }
    return made;
  }

  // Element j of the layer and those behind it: each is affine on a region.
  bool choose(std::size_t number, Eigen::Index j) {
    const LayerId id(static_cast<int>(number));
    const Layer& layer = plan_.layer(id);
    for (; j < layer.out; ++j) {
      if (layer.is_affine() && !layer.relu && !layer.function) break;
      const std::vector<Option> options =
          layer.is_affine() ? options_of(layer, element(values_[id], j)) : maxima_of(layer, j);
      if (options.empty()) return false;
      if (options.size() == 1 && options[0].rows.empty()) {
        put(id, j, options[0].value);
        continue;
      }
      const Forms before = values_[id];
      for (const Option& option : options) {
        const std::size_t rows = program_.rows.size();
        program_.rows.insert(program_.rows.end(), option.rows.begin(), option.rows.end());
        put(id, j, option.value);
        const bool excluded = is_empty() || choose(number, j + 1);
        program_.rows.resize(rows);
        values_[id] = before;
        if (!excluded) return false;
      }
      return true;
    }
    return enter(number + 1);
  }

  // One of the affine forms that an element can take, and the conditions under which it takes it.
  struct Option {
    Form value;
    std::vector<RationalProgram::Row> rows;
  };

  void put(LayerId id, Eigen::Index j, const Form& value) {
    Forms& forms = values_[id];
    for (std::size_t v = 0; v < varying_.size(); ++v) forms[v](j) = value.factors[v];
    forms.back()(j) = value.constant;
  }

  // form >= 0, or <= 0 where `sign` is -1
  static RationalProgram::Row row_of(const Form& form, int sign) {
    RationalProgram::Row row;
    for (const mpq_class& factor : form.factors) row.factors.push_back(-sign * factor);
    row.limit = sign * form.constant;
    return row;
  }

  // The least value on the box.
  mpq_class least(const Form& form) const {
    mpq_class sum = form.constant;
    for (std::size_t k = 0; k < form.factors.size(); ++k)
      sum += form.factors[k] * (form.factors[k] > 0 ? program_.lower[k] : program_.upper[k]);
    return sum;
  }
  mpq_class most(Form form) const {
    for (mpq_class& factor : form.factors) factor = -factor;
    form.constant = -form.constant;
    return -least(form);
  }

  // None where the layer's function has too many pieces.
  std::vector<Option> options_of(const Layer& layer, const Form& z) const {
    const mpq_class low = least(z), high = most(z);
    const std::optional<Pieces> pieces = pieces_of(layer, low, high);
    std::vector<Option> made;
    if (!pieces) return made;
    for (std::size_t i = 0; i < pieces->size(); ++i) {
      const LinearPiece& piece = (*pieces)[i];
      if (misses(piece, low, high)) continue;
      // At an end alone a piece beside it that holds the end has the same value.
      if (i > 0 && low < high && high == *piece.start && (*pieces)[i - 1].end_in) continue;
      if (i + 1 < pieces->size() && low < high && low == *piece.end && (*pieces)[i + 1].start_in)
        continue;
      made.push_back(option_of(piece, z, low, high));
      if (high == low) break;
    }
    return made;
  }

  static bool misses(const LinearPiece& piece, const mpq_class& low, const mpq_class& high) {
    const bool below =
        piece.start && (high < *piece.start || (high == *piece.start && !piece.start_in));
    return below || (piece.end && (low > *piece.end || (low == *piece.end && !piece.end_in)));
  }

  Option option_of(const LinearPiece& piece, const Form& z, const mpq_class& low,
                   const mpq_class& high) const {
    Option option;
    option.value = z;
    for (mpq_class& factor : option.value.factors) factor *= piece.slope;
    option.value.constant = piece.at(z.constant);
    const auto limit = [&](const mpq_class& at, int sign, bool is_in) {
      Form distance = z;
      distance.constant -= at;
      option.rows.push_back(row_of(distance, sign));
      option.rows.back().strict = !is_in;
    };
    if (piece.start && (low < *piece.start || !piece.start_in))
      limit(*piece.start, 1, piece.start_in);
    if (piece.end && (high > *piece.end || !piece.end_in)) limit(*piece.end, -1, piece.end_in);
    return option;
  }

  std::vector<Option> maxima_of(const Layer& layer, Eigen::Index j) const {
    const SparseMap& map = std::get<SparseMap>(layer.terms[0].map);
    const Forms& x = read(layer.terms[0].input);
    std::vector<Form> forms;
    for (auto k = map.row_start[static_cast<std::size_t>(j)];
         k < map.row_start[static_cast<std::size_t>(j) + 1]; ++k)
      forms.push_back(element(x, map.column[static_cast<std::size_t>(k)]));
    std::vector<Option> made;
    for (std::size_t i = 0; i < forms.size(); ++i) {
      Option option;
      bool may_win = true;
      for (std::size_t k = 0; k < forms.size() && may_win; ++k) {
        if (k == i) continue;
        const Form above = forms[i] - forms[k];
        const mpq_class highest = most(above);
        may_win = highest > 0 || (highest == 0 && (i < k || least(above) < 0));
        if (least(above) < 0) option.rows.push_back(row_of(above, 1));
      }
      if (!may_win) continue;
      option.value = forms[i];
      made.push_back(std::move(option));
    }
    return made;
  }

  // Programs beyond the number that is allowed are taken for solvable.
  bool may_solve() { return ++programs_ <= kMostPrograms; }

  bool is_empty() { return may_solve() && room_of(program_) == Room::kNone; }

  // Conditions' forms of a clause are at most their limits; those that are strict, by t more: none
  // holds where no t > 0 is left. Double decides where that is not near.
  bool exclude_clause(const Clause& clause) {
    RationalProgram program = program_;
    for (const Condition& condition : clause) {
      RationalProgram::Row row;
      Form form = left_side(condition);
      row.factors = std::move(form.factors);
      row.limit = condition.limit - form.constant;
      row.strict = condition.strict;
      program.rows.push_back(std::move(row));
    }
    if (!may_solve()) return false;
    const Room room = room_of(program);
    if (room != Room::kOpen) return room == Room::kNone;
    program.lower.emplace_back(-1);
    program.upper.emplace_back(1);
    program.objective.emplace_back(1);
    bool strict = false;
    for (RationalProgram::Row& row : program.rows) {
      row.factors.emplace_back(row.strict ? 1 : 0);
      strict = strict || row.strict;
    }
    if (!may_solve()) return false;
    const std::optional<mpq_class> most = largest_value(program);
    return !most || (strict && *most <= 0);
  }

  Form left_side(const Condition& condition) const {
    Form made = spec_row(condition.row);
    if (!condition.negated) return made;
    for (mpq_class& factor : made.factors) factor = -factor;
    made.constant = -made.constant;
    return made;
  }

  Form spec_row(int row) const {
    for (const LayerId head : plan_.spec_heads) {
      const int count = plan_.layer(head).out;
      if (row < count) return element(values_[head], row);
      row -= count;
    }
    BF_CHECK(false);
    return {};
  }

  bool exclude_region() {
    return std::ranges::all_of(clauses_,
                               [&](const Clause& clause) { return exclude_clause(clause); });
  }

  const Plan& plan_;
  const Property& property_;
  const std::vector<Clause> clauses_;
  reference::MapCache<mpq_class> maps_;
  const std::vector<mpq_class>& lower_;
  std::vector<std::size_t> varying_;  // inputs, ascending
  Forms input_;
  PerLayer<Forms> values_;
  RationalProgram program_;  // the region's rows, without an objective
  int programs_ = 0;
};

// Returns true if all layers are made of linear maps, functions of linear pieces and steps, and
// maxima, so that a box is a few regions on each of which the network is affine.
bool has_regions(const Plan& plan) {
  return std::ranges::all_of(plan.layers, [](const Layer& layer) {
    return layer.is_affine() ? pieces_of(layer, 0, 0).has_value() : layer.kind == LayerKind::kMax;
  });
}

// Returns true if a linear program in rationals for each region and clause proves that no point of
// the box satisfies one of the clauses. False also where there are too many regions.
// A clause with conditions on inputs alone has regions of its own, which these conditions leave.
bool exclude_by_regions(const Plan& plan, const Property& property,
                        const std::vector<Clause>& clauses, const std::vector<mpq_class>& lower,
                        const std::vector<mpq_class>& upper) {
  std::vector<Clause> others;
  for (const Clause& clause : clauses) {
    const bool related = std::ranges::any_of(clause, [&](const Condition& condition) {
      return property.row_of(condition).outputs.empty();
    });
    if (!related)
      others.push_back(clause);
    else if (!RegionSearch(plan, property, {clause}, &clause, lower, upper).exclude())
      return false;
  }
  return others.empty() || RegionSearch(plan, property, others, nullptr, lower, upper).exclude();
}

// Takes away what floats add to the ends of the case's box.
void cut_to_exact_box(const PropertyCase& one, std::vector<mpq_class>& lower,
                      std::vector<mpq_class>& upper) {
  const auto rise = [&](std::size_t i, const mpq_class& end) {
    lower[i] = std::max(lower[i], end);
  };
  const auto fall = [&](std::size_t i, const mpq_class& end) {
    upper[i] = std::min(upper[i], end);
  };
  for (std::size_t i = 0; i < one.box.lower.size(); ++i) {
    rise(i, one.box.lower[i]);
    fall(i, one.box.upper[i]);
  }
  for (const ExactEnd& end : one.lower_ends) rise(static_cast<std::size_t>(end.input), end.value);
  for (const ExactEnd& end : one.upper_ends) fall(static_cast<std::size_t>(end.input), end.value);
}

}  // namespace

std::optional<ExactBoxes> ExactBoxes::make(const Property& property, const Plan& plan) {
  const auto entry = std::ranges::find_if(
      plan.entries, [](const Entry& one) { return one.kind == EntryKind::kSpecBounds; });
  if (entry == plan.entries.end() || !reference::holds_exact_network(plan) ||
      products_of(plan) > kMostProducts)
    return std::nullopt;
  const bool regions = has_regions(plan);
  return ExactBoxes(property, plan, static_cast<std::size_t>(entry - plan.entries.begin()), regions,
                    regions && products_of(plan) <= kQuickProducts);
}

bool ExactBoxes::exclude(std::size_t property_case, std::span<const float> lower,
                         std::span<const float> upper) const {
  const PropertyCase& one = property_->cases.at(property_case);
  std::vector<mpq_class> low(lower.begin(), lower.end()), high(upper.begin(), upper.end());
  // The ball of a box that is cut is another one.
  if (plan_->config.norm == Norm::kLargest) cut_to_exact_box(one, low, high);
  for (std::size_t i = 0; i < low.size(); ++i)
    if (low[i] > high[i]) return true;  // floats beyond an end of the case's box
  const std::vector<Clause>& clauses = one.clauses;
  return exclude_by_bounds(clauses, low, high) ||
         (regions_ && exclude_by_regions(*plan_, *property_, clauses, low, high));
}

bool ExactBoxes::exclude_by_bounds(const std::vector<Clause>& clauses,
                                   const std::vector<mpq_class>& lower,
                                   const std::vector<mpq_class>& upper) const {
  const auto rows = reference::find_exact_bounds(*plan_, plan_->entries[entry_], lower, upper);
  if (!rows) return false;
  const auto never_holds = [&](const Condition& condition) {
    const auto row = static_cast<std::size_t>(condition.row);
    const mpq_class left = condition.negated ? mpq_class(-rows->upper[row]) : rows->lower[row];
    return condition.strict ? left >= condition.limit : left > condition.limit;
  };
  return std::ranges::all_of(
      clauses, [&](const Clause& clause) { return std::ranges::any_of(clause, never_holds); });
}

}  // namespace bf_aot::decide

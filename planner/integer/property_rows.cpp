#include "planner/integer/property_rows.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <utility>

#include "frontend/diagnostic.h"
#include "planner/integer/chain.h"
#include "planner/integer/refuse.h"

namespace bf_aot {
namespace {

// A code of the plan: its tensor, and which element.
using CodeId = std::pair<GridId, std::int64_t>;

// unit (sum of weight times code + e) + offset, with e in 0..slack.
struct IntegerRow {
  std::map<CodeId, mpz_class> weight;
  mpq_class unit = 1, offset;
  mpz_class slack;
};

// Sums below this are computed in 64 bits without overflow.
mpz_class overflow() {
  return mpz_class(1) << 62;
}

mpz_class reach_of(const std::map<CodeId, mpz_class>& weights) {
  mpz_class reach = 0;
  for (const auto& [code, weight] : weights) reach += abs(weight) * (kGridCodes - 1);
  return reach;
}

// A row as a linear form over codes.
struct LinearCodes {
  std::map<CodeId, Range> factor;
  Range offset = Range(mpq_class(0));

  void add(const mpq_class& times, const OutputForm& output) {
    const auto& link = std::get<AffineLink>(output.chain.front());
    const Range unit = Range(times) * link.factor;
    for (const auto& [code, weight] : output.terms) {
      const Range more = unit * Range(mpq_class(static_cast<long>(weight)));
      const auto [found, added] = factor.try_emplace({output.in, code}, more);
      if (!added) found->second = found->second + more;
    }
    offset = offset + Range(times) * link.offset;
  }
};

// With all factors as multiples of their common divisor; none where they are not exact, or that
// takes more than 64 bits.
std::optional<IntegerRow> exact_row(const LinearCodes& form) {
  if (!form.offset.is_exact()) return std::nullopt;
  std::vector<mpq_class> factors;
  for (const auto& [code, factor] : form.factor) {
    if (!factor.is_exact()) return std::nullopt;
    factors.push_back(factor.low);
  }
  IntegerRow row;
  row.unit = common_unit(factors);
  row.offset = form.offset.low;
  for (const auto& [code, factor] : form.factor) {
    const mpq_class weight = factor.low / row.unit;
    row.weight[code] = weight.get_num();
  }
  if (reach_of(row.weight) >= overflow()) return std::nullopt;
  return row;
}

// With factors rounded down to multiples of a unit that leaves sums 60 bits. A code is not
// negative: what is left of its factor, times the code, is in 0..the largest code's.
IntegerRow rounded_row(const LinearCodes& form, const IntegerPlan& plan) {
  mpq_class reach = 1;
  for (const auto& [code, factor] : form.factor)
    reach += std::max(mpq_class(abs(factor.low)), mpq_class(abs(factor.high))) * (kGridCodes - 1);
  IntegerRow row;
  row.unit = reach / (mpz_class(1) << 60);
  row.offset = form.offset.low;
  mpq_class rest = (form.offset.high - form.offset.low) / row.unit;
  for (const auto& [code, factor] : form.factor) {
    const mpz_class weight = floor_of(mpq_class(factor.low / row.unit));
    rest += (factor.high / row.unit - weight) * plan.tensor(code.first).high;
    row.weight[code] = weight;
  }
  row.slack = ceil_of(rest);
  return row;
}

// The threshold of the row's sum of a condition, row <= limit, < or, negated, >= -limit or >: with
// q = (limit - offset) / unit the sums up to floor(q), or below ceil(q), may satisfy it.
std::int64_t threshold_of(const IntegerRow& row, const Condition& condition) {
  const mpq_class q =
      ((condition.negated ? -condition.limit : condition.limit) - row.offset) / row.unit;
  mpz_class least = condition.negated ? ceil_of(q) : floor_of(q);
  if (condition.strict && q == least) least += condition.negated ? 1 : -1;
  if (least > overflow()) least = overflow();
  if (least < -overflow()) least = -overflow();
  return least.get_si();
}

// ---- A row that is one output, a function of one code

// The code, or its negative, as it goes with the output.
struct CodeRow {
  CodeId code;
  bool falls = false;
  std::vector<Range>
      value;      // of the row, from the least code on, or from the largest where it falls
  int first = 0;  // the sum of value.front()
};

CodeRow code_row(const mpq_class& times, const OutputForm& output, const IntegerPlan& plan) {
  CodeRow row;
  row.code = {output.in, output.terms.front().first};
  const GridTensor& tensor = plan.tensor(output.in);
  for (int code = tensor.low; code <= tensor.high; ++code) {
    const auto value = image_of(output.chain, Range(mpq_class(code)));
    if (!value) refuse_property(output.origin, "the output has no value for some code");
    row.value.push_back(Range(times) * *value);
  }
  row.falls = row.value.front().low > row.value.back().low;
  if (row.falls) std::ranges::reverse(row.value);
  row.first = row.falls ? -tensor.high : tensor.low;
  return row;
}

// Values rise: a condition holds up to a sum, or from one on.
std::int64_t threshold_of(const CodeRow& row, const Condition& condition,
                          const std::string& origin) {
  const mpq_class limit = condition.negated ? mpq_class(-condition.limit) : condition.limit;
  const auto holds = [&](const mpq_class& x) {
    if (x == limit) return !condition.strict;
    return condition.negated ? x > limit : x < limit;
  };
  for (const Range& value : row.value)
    if (holds(value.low) != holds(value.high)) refuse_loose_constants(origin);
  const auto first_side = [&](const Range& value) { return holds(value.low) != condition.negated; };
  if (!std::ranges::is_partitioned(row.value, first_side))
    refuse_property(origin, "the output neither rises nor falls with its code");
  const auto side = std::ranges::count_if(row.value, first_side);
  return row.first + side - (condition.negated ? 0 : 1);
}

// ---- All rows

int bytes_of(const std::vector<std::int64_t>& weights) {
  const auto fit = [&](auto type) {
    using Limits = std::numeric_limits<decltype(type)>;
    return std::ranges::all_of(
        weights, [](std::int64_t w) { return w >= Limits::min() && w <= Limits::max(); });
  };
  return fit(std::int16_t()) ? 2 : fit(std::int32_t()) ? 4 : 8;
}

std::string where_of(const Property& property) {
  return "property " + property.file_name;
}

class RowReader {
 public:
  RowReader(const Property& property, const std::vector<OutputForm>& outputs, IntegerPlan& plan)
      : property_(property), outputs_(outputs), plan_(plan) {}

  void run() {
    made_.rows = std::max(static_cast<int>(property_.rows.size()), 1);
    made_.slack.assign(static_cast<std::size_t>(made_.rows), 0);
    for (std::size_t i = 0; i < property_.rows.size(); ++i) read(i, where_of(property_));
    for (const PropertyCase& one : property_.cases)
      for (const Clause& clause : one.clauses)
        for (const Condition& condition : clause) made_.conditions.push_back(compiled(condition));
    for (PropertySums& sums : made_.sums) sums.weight_bytes = bytes_of(sums.weight);
    plan_.property = std::move(made_);
  }

 private:
  struct Row {
    std::optional<IntegerRow> linear;
    std::optional<CodeRow> function;
    std::string origin;
  };

  const OutputForm& output(std::int64_t index) const {
    return outputs_.at(static_cast<std::size_t>(index));
  }

  void read(std::size_t row, const std::string& where) {
    const LinearForm& form = property_.rows[row].outputs;
    LinearCodes linear;
    for (const auto& [index, factor] : form) {
      const OutputForm& of = output(index);
      if (of.chain.size() > 1) return read_function(row, where);
      linear.add(factor, of);
    }
    auto made = exact_row(linear);
    if (!made) made = rounded_row(linear, plan_);
    if (reach_of(made->weight) + made->slack >= overflow())
      refuse_property(where, "constants of an output are not known well enough");
    made_.slack[row] = made->slack.get_si();
    for (const auto& [code, weight] : made->weight) set_weight(row, code, weight.get_si());
    rows_.push_back({std::move(made), {}, {}});
  }

  void read_function(std::size_t row, const std::string& where) {
    const LinearForm& form = property_.rows[row].outputs;
    if (form.size() != 1)
      refuse_property(where,
                      "a condition is on several outputs, one of which is a function of codes "
                      "that is not linear");
    const OutputForm& of = output(form.front().first);
    BF_CHECK(of.terms.size() == 1 && of.terms.front().second == 1);
    CodeRow made = code_row(form.front().second, of, plan_);
    set_weight(row, made.code, made.falls ? -1 : 1);
    rows_.push_back({{}, std::move(made), of.origin});
  }

  void set_weight(std::size_t row, const CodeId& code, std::int64_t weight) {
    const auto columns = static_cast<std::size_t>(plan_.tensor(code.first).count);
    auto sums = std::ranges::find(made_.sums, code.first, &PropertySums::in);
    if (sums == made_.sums.end()) {
      PropertySums more;
      more.in = code.first;
      more.weight.assign(static_cast<std::size_t>(made_.rows) * columns, 0);
      sums = made_.sums.insert(sums, std::move(more));
    }
    sums->weight[row * columns + static_cast<std::size_t>(code.second)] = weight;
  }

  GridCondition compiled(const Condition& condition) const {
    const Row& row = rows_[static_cast<std::size_t>(condition.row)];
    return {condition.row, condition.negated,
            row.linear ? threshold_of(*row.linear, condition)
                       : threshold_of(*row.function, condition, row.origin)};
  }

  const Property& property_;
  const std::vector<OutputForm>& outputs_;
  IntegerPlan& plan_;
  GridProperty made_;
  std::vector<Row> rows_;
};

}  // namespace

void check_integer_rows(const Property& property) {
  const std::string where = where_of(property);
  if (!property.derived.empty())
    refuse_property(where, "a condition is not linear: integers compare sums of outputs");
  if (!property.input_source.empty()) refuse_property(where, "it is about several networks");
  if (speaks_of_inputs(property))
    refuse_property(where,
                    "a condition is on inputs and not a bound of one: integers compare sums of "
                    "outputs");
}

void read_property_rows(const Property& property, const std::vector<OutputForm>& outputs,
                        IntegerPlan& plan) {
  RowReader(property, outputs, plan).run();
}

}  // namespace bf_aot

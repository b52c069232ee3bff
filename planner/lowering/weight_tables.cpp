#include "planner/lowering/weight_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <variant>

#include "frontend/diagnostic.h"

namespace bf_aot {
namespace {

std::int64_t padded_to(std::int64_t value, std::int64_t unit) {
  return (value + unit - 1) / unit * unit;
}

constexpr int kLeastRun = 16;  // neurons: whole vectors of floats on all targets that have some
constexpr int kScalarBytes = 4;

const char* suffix(TableKind kind) {
  switch (kind) {
    case TableKind::kWeight:
      return "_weight";
    case TableKind::kResidual:
      return "_residual";
    case TableKind::kBiasFloat:
      return "_bias";
    case TableKind::kBiasDouble:
      return "_bias_double";
    case TableKind::kRowStart:
      return "_row_start";
    case TableKind::kColumn:
      return "_column";
    case TableKind::kSource:
      return "_source";
    case TableKind::kScores:
      return "_scores";
    case TableKind::kRowNorm:
      return "_row_norm";
  }
  return "";
}

// Layers that some entry makes: nobody reads shares where means are bounded by scores.
PerLayer<bool> made_layers(const Plan& plan) {
  PerLayer<bool> made(plan.layers.size(), plan.entries.empty() || plan.integer.has_value());
  for (const Entry& entry : plan.entries)
    for (const Step& step : entry.steps)
      std::visit(
          [&](const auto& s) {
            if constexpr (requires { s.layer; }) made[s.layer] = true;
            if constexpr (requires { s.links; })
              for (const BackwardLink& link : s.links) made[link.layer] = true;
          },
          step);
  return made;
}

// Layers whose float bias some step reads: not those of centres in double.
bool reads_float_bias(const Plan& plan, LayerId layer) {
  for (const Entry& entry : plan.entries)
    for (const Step& step : entry.steps) {
      if (const auto* interval = std::get_if<IntervalAffine>(&step))
        if (interval->layer == layer) return true;
      if (const auto* sum = std::get_if<IntervalSum>(&step))
        if (sum->layer == layer) return true;
      if (const auto* evaluate = std::get_if<EvaluateAffine>(&step))
        if (evaluate->layer == layer) return true;
    }
  return false;
}

// Layers whose centre is computed in double: all, but under the interval method.
bool reads_double_bias(const Plan& plan, LayerId layer) {
  for (const Entry& entry : plan.entries)
    for (const Step& step : entry.steps)
      if (const auto* centre = std::get_if<CentreAffine>(&step))
        if (centre->layer == layer) return true;
  return !plan.intervals_only();
}

bool reads_norms(const Plan& plan, LayerId layer) {
  for (const Entry& entry : plan.entries)
    for (const Step& step : entry.steps)
      if (const auto* ball = std::get_if<MeetBall>(&step))
        if (ball->layer == layer) return true;
  return false;
}

// The floats that a table holds, of a layer or of its term.
const std::vector<float>& weights_of(const Layer& layer, const WeightTable& table) {
  if (table.kind == TableKind::kRowNorm)
    return table.term < 0 ? layer.ball.rows : layer.term(table.term).ball.rows;
  const bool residual = table.kind == TableKind::kResidual;
  if (table.term < 0) return residual ? layer.residual : layer.weight;
  const Term& term = layer.term(table.term);
  return residual ? term.residual : term.weight;
}

const std::vector<std::int32_t>& indices_of(const Layer& layer, const WeightTable& table) {
  if (table.kind == TableKind::kScores) return layer.scores->column;
  const LinearMap& map = layer.term(table.term).map;
  if (table.kind == TableKind::kSource) return std::get<GatherMap>(map).source;
  const auto& sparse = std::get<SparseMap>(map);
  return table.kind == TableKind::kRowStart ? sparse.row_start : sparse.column;
}

// The packing of a convolution's weights [out][in of the group][tap]: weight_place() in
// runtime/bf/sums/terms.h. Other terms have one of each.
struct ConvPacking {
  std::int64_t in = 1, taps = 1, out = 1;  // of a group

  // The place in the layer's weights of the table's element i.
  std::int64_t source(std::int64_t i) const {
    const std::int64_t o = i % out, tap = i / out % taps, channel = i / (out * taps) % in;
    const std::int64_t group = i / (out * taps * in);
    return ((group * out + o) * in + channel) * taps + tap;
  }
  bool operator==(const ConvPacking&) const = default;
};

ConvPacking packing_of(const Layer& layer, const WeightTable& table) {
  if (table.term < 0 || table.kind == TableKind::kRowNorm) return {};
  const LinearMap& map = layer.term(table.term).map;
  const auto* const conv = std::get_if<ConvMap>(&map);
  if (conv == nullptr) return {};
  return {conv->geometry.in_group(), conv->geometry.taps(), conv->geometry.out_group()};
}

template <typename T>
std::int64_t count_of(const std::vector<T>& list) {
  return static_cast<std::int64_t>(list.size());
}

bool is_zero(const std::vector<double>& bias) {
  return std::ranges::all_of(bias, [](double each) { return each == 0; });
}

class TableList {
 public:
  explicit TableList(const Plan& plan) : plan_(plan) {}

  void add_dense(LayerId index, int panel) {
    const Layer& layer = layer_at(index);
    const bool centred = reads_double_bias(plan_, index);
    const std::int64_t padded = padded_to(layer.out, panel);
    add(TableKind::kWeight, index, -1, panel, padded * layer.in);
    if (centred && !layer.residual.empty())
      add(TableKind::kResidual, index, -1, panel, padded * layer.in);
    if (reads_float_bias(plan_, index)) add(TableKind::kBiasFloat, index, -1, panel, padded);
    if (centred) add(TableKind::kBiasDouble, index, -1, panel, padded);
    if (reads_norms(plan_, index))
      add(TableKind::kRowNorm, index, -1, 1, static_cast<std::int64_t>(layer.ball.rows.size()));
  }

  void add_terms(LayerId index) {
    const Layer& layer = layer_at(index);
    for (int t = 0; t < static_cast<int>(layer.terms.size()); ++t) {
      const Term& term = layer.term(t);
      if (const auto* sparse = std::get_if<SparseMap>(&term.map)) {
        add(TableKind::kRowStart, index, t, 1, count_of(sparse->row_start));
        add(TableKind::kColumn, index, t, 1, count_of(sparse->column));
      }
      if (const auto* gather = std::get_if<GatherMap>(&term.map); gather && !gather->view)
        add(TableKind::kSource, index, t, 1, count_of(gather->source));
      add(TableKind::kWeight, index, t, 1, count_of(term.weight));
      add(TableKind::kResidual, index, t, 1, count_of(term.residual));
      if (reads_norms(plan_, index))
        add(TableKind::kRowNorm, index, t, 1, count_of(term.ball.rows));
    }
    if (layer.scores) add(TableKind::kScores, index, -1, 1, count_of(layer.scores->column));
    if (is_zero(layer.bias)) return;
    const int run = bias_run(plan_, index);
    if (reads_float_bias(plan_, index))
      add(TableKind::kBiasFloat, index, -1, 1, layer.out / run, run);
    add(TableKind::kBiasDouble, index, -1, 1, layer.out / run, run);
  }

  std::vector<WeightTable> tables() { return std::move(tables_); }

 private:
  const Layer& layer_at(LayerId index) const { return plan_.layer(index); }

  // Adds a table unless it is empty: readers get a null pointer for that.
  void add(TableKind kind, LayerId index, int term, int panel, std::int64_t count, int run = 1) {
    if (count == 0) return;
    WeightTable table;
    table.kind = kind;
    table.layer = index;
    table.term = term;
    table.panel = panel;
    table.run = run;
    table.count = count;
    table.bytes = count * static_cast<std::int64_t>(size_of(element_of(kind)));
    table.same_as = find_equal(table);
    if (table.same_as >= 0) {
      const WeightTable& other = tables_[static_cast<std::size_t>(table.same_as)];
      table.name = other.name;
      table.offset = other.offset;
    } else {
      end_ = padded_to(end_, plan_.config.target.align);
      table.name = unique_name(index, term, kind);
      table.offset = end_;
      end_ += table.bytes;
    }
    tables_.push_back(std::move(table));
  }

  // Tables of terms alone: those of dense layers differ in all networks.
  int find_equal(const WeightTable& table) {
    if (table.term < 0) return -1;
    auto& candidates = by_size_[{table.kind, table.count}];
    for (const int other : candidates)
      if (equal(table, tables_[static_cast<std::size_t>(other)])) return other;
    candidates.push_back(static_cast<int>(tables_.size()));
    return -1;
  }

  bool equal(const WeightTable& a, const WeightTable& b) const {
    const Layer& left = layer_at(a.layer);
    const Layer& right = layer_at(b.layer);
    if (element_of(a.kind) == Element::kInt32) return indices_of(left, a) == indices_of(right, b);
    return packing_of(left, a) == packing_of(right, b) &&
           weights_of(left, a) == weights_of(right, b);
  }

  std::string unique_name(LayerId index, int term, TableKind kind) {
    const Layer& layer = layer_at(index);
    std::string name = layer.name;
    if (layer.terms.size() > 1 && term >= 0) name += fmt::format("_term{}", term + 1);
    name += suffix(kind);
    while (!names_.insert(name).second) name += "_";  // of a layer "x_term1" beside a layer "x"
    return name;
  }

  const Plan& plan_;
  std::vector<WeightTable> tables_;
  std::set<std::string> names_;
  std::map<std::pair<TableKind, std::int64_t>, std::vector<int>> by_size_;
  std::int64_t end_ = 0;
};

}  // namespace

Element element_of(TableKind kind) {
  switch (kind) {
    case TableKind::kWeight:
    case TableKind::kResidual:
    case TableKind::kBiasFloat:
    case TableKind::kRowNorm:
      return Element::kFloat32;
    case TableKind::kBiasDouble:
      return Element::kFloat64;
    case TableKind::kRowStart:
    case TableKind::kColumn:
    case TableKind::kSource:
    case TableKind::kScores:
      return Element::kInt32;
  }
  BF_CHECK(false);
  return Element::kFloat32;
}

std::vector<WeightTable> weight_tables(const Plan& plan) {
  TableList list(plan);
  PerLayer<int> panels(plan.layers.size(), 1);
  for (const WeightLayout& layout : plan.layouts) panels[layout.layer] = layout.panel;
  const PerLayer<bool> made = made_layers(plan);
  for (const LayerId i : plan.layer_ids()) {
    if (!made[i]) continue;
    if (plan.layer(i).kind == LayerKind::kDense)
      list.add_dense(i, panels[i]);
    else
      list.add_terms(i);
  }
  return list.tables();
}

const WeightTable* find_table(const std::vector<WeightTable>& tables, LayerId layer, int term,
                              TableKind kind) {
  const auto found = std::ranges::find_if(tables, [&](const WeightTable& each) {
    return each.layer == layer && each.term == term && each.kind == kind;
  });
  return found == tables.end() ? nullptr : &*found;
}

int bias_run(const Plan& plan, LayerId layer) {
  const Layer& of = plan.layer(layer);
  if (of.kind == LayerKind::kDense || is_zero(of.bias)) return 1;
  const auto change = std::ranges::adjacent_find(of.bias, std::ranges::not_equal_to{});
  if (change == of.bias.end()) return of.out;
  const auto run = static_cast<int>(change - of.bias.begin()) + 1;
  const bool whole = plan.config.target.vector_bytes <= kScalarBytes || run % kLeastRun == 0;
  if (run < kLeastRun || !whole || of.out % run != 0) return 1;
  for (int i = 0; i < of.out; ++i)
    if (of.bias[static_cast<std::size_t>(i)] != of.bias[static_cast<std::size_t>(i - i % run)])
      return 1;
  return run;
}

double table_element(const Plan& plan, const WeightTable& table, std::int64_t i) {
  const Layer& layer = plan.layer(table.layer);
  if (table.kind == TableKind::kBiasFloat || table.kind == TableKind::kBiasDouble)
    return i < layer.out ? layer.bias[static_cast<std::size_t>(i * table.run)] : 0;
  if (element_of(table.kind) == Element::kInt32)
    return indices_of(layer, table)[static_cast<std::size_t>(i)];
  const std::vector<float>& source = weights_of(layer, table);
  if (table.kind == TableKind::kRowNorm)
    return static_cast<double>(source[static_cast<std::size_t>(i)]);
  if (table.term >= 0) {
    const std::int64_t at = packing_of(layer, table).source(i);
    return static_cast<double>(source[static_cast<std::size_t>(at)]);
  }
  const std::int64_t panel = table.panel;
  const std::int64_t in = layer.in;
  const std::int64_t row = i / (panel * in) * panel + i % panel;
  const std::int64_t column = i / panel % in;
  if (row >= layer.out) return 0;
  return static_cast<double>(source[static_cast<std::size_t>(row * in + column)]);
}

namespace {

// Panels of rows, column by column. Rows of a panel are read side by side: each is a stream.
void pack_panels(const std::vector<float>& source, const Layer& layer, std::int64_t panel,
                 float* to) {
  const std::int64_t in = layer.in, out = layer.out;
  for (std::int64_t first = 0; first < out; first += panel) {
    const std::int64_t rows = std::min(panel, out - first);
    const float* const from = source.data() + first * in;
    for (std::int64_t column = 0; column < in; ++column, to += panel) {
      for (std::int64_t row = 0; row < rows; ++row) to[row] = from[row * in + column];
      std::fill(to + rows, to + panel, 0.0F);
    }
  }
}

void pack_weights(const Layer& layer, const WeightTable& table, float* to) {
  const std::vector<float>& source = weights_of(layer, table);
  if (table.term < 0 && table.kind != TableKind::kRowNorm)
    return pack_panels(source, layer, table.panel, to);
  const ConvPacking packing = packing_of(layer, table);
  if (packing == ConvPacking()) {
    std::ranges::copy(source, to);
    return;
  }
  for (std::int64_t i = 0; i < table.count; ++i)
    to[i] = source[static_cast<std::size_t>(packing.source(i))];
}

template <typename T>
void pack_bias(const Layer& layer, const WeightTable& table, T* to) {
  const std::int64_t known = std::min<std::int64_t>(table.count, layer.out);
  for (std::int64_t i = 0; i < known; ++i)
    to[i] = static_cast<T>(layer.bias[static_cast<std::size_t>(i * table.run)]);
  std::fill(to + known, to + table.count, T{0});
}

}  // namespace

void pack_table(const Plan& plan, const WeightTable& table, void* to) {
  const Layer& layer = plan.layer(table.layer);
  switch (table.kind) {
    case TableKind::kWeight:
    case TableKind::kResidual:
    case TableKind::kRowNorm:
      return pack_weights(layer, table, static_cast<float*>(to));
    case TableKind::kBiasFloat:
      return pack_bias(layer, table, static_cast<float*>(to));
    case TableKind::kBiasDouble:
      return pack_bias(layer, table, static_cast<double*>(to));
    case TableKind::kRowStart:
    case TableKind::kColumn:
    case TableKind::kSource:
    case TableKind::kScores:
      std::ranges::copy(indices_of(layer, table), static_cast<std::int32_t*>(to));
  }
}

std::int64_t blob_bytes(const std::vector<WeightTable>& tables, int align) {
  std::int64_t end = 0;
  for (const WeightTable& table : tables) end = std::max(end, table.offset + table.bytes);
  return padded_to(end, align);
}

}  // namespace bf_aot

#include "aot/decide/neurons/device/flat_network.h"

#include <algorithm>
#include <limits>
#include <span>

#include "aot/decide/neurons/lane_proposal.h"
#include "runtime/bf/c/nodes/network.h"

namespace bf_aot::decide {
namespace {

static_assert(kLanes == BF_NODE_LANES);

template <class Number>
void append(std::vector<std::byte>& to, std::span<const Number> numbers) {
  const auto bytes = std::as_bytes(numbers);
  to.insert(to.end(), bytes.begin(), bytes.end());
}

// Collects the arrays of a network.
class Flattener {
 public:
  explicit Flattener(const BoxNetwork& network) : network_(network) {
    for (const auto& layer : network.layers()) add_layer(layer);
    head_.layers = static_cast<std::int32_t>(layers_.size());
    head_.inputs = static_cast<std::int32_t>(network.inputs());
    head_.open = static_cast<std::int32_t>(network.open());
    head_.lower = add_numbers(network.lower());
    head_.upper = add_numbers(network.upper());
  }

  std::optional<FlatNetwork> made() {
    FlatNetwork flat;
    const auto add = [&](std::int32_t& at, const auto& array) {
      at = static_cast<std::int32_t>(flat.bytes.size());
      append(flat.bytes, std::span(array));
    };
    constexpr auto kMost = static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max());
    if ((integers_.size() + numbers_.size()) * sizeof(float) > kMost / 2) return std::nullopt;
    flat.bytes.resize(sizeof head_);
    add(head_.layers_at, layers_);
    add(head_.parts_at, parts_);
    add(head_.integers_at, integers_);
    add(head_.numbers_at, numbers_);
    std::ranges::copy(std::as_bytes(std::span(&head_, 1)), flat.bytes.begin());
    flat.ranges = BF_NODE_RANGES(head_.open);
    flat.gains = at_lanes(network_.open());
    flat.inputs = network_.inputs();
    flat.open = network_.open();
    flat.neurons = static_cast<std::size_t>(head_.neurons);
    flat.widest = static_cast<std::size_t>(head_.widest);
    return flat;
  }

 private:
  template <class Numbers>
  std::int32_t add_numbers(const Numbers& numbers) {
    const auto at = static_cast<std::int32_t>(numbers_.size());
    for (const auto number : numbers) numbers_.push_back(static_cast<float>(number));
    return at;
  }

  void add_layer(const BoxNetwork::BoxLayer& layer) {
    bf_node_layer made = {};
    made.size = static_cast<std::int32_t>(layer.size());
    made.at = head_.neurons;
    made.first_part = static_cast<std::int32_t>(parts_.size());
    made.parts = static_cast<std::int32_t>(layer.parts.size());
    made.bias = add_numbers(layer.bias);
    made.number = static_cast<std::int32_t>(integers_.size());
    auto number = static_cast<std::int32_t>(layer.first_open);
    for (const auto phase : layer.phase)
      integers_.push_back(phase == BoxNetwork::Phase::kLinear ? -1 : number++);
    for (const auto& part : layer.parts) {
      const auto columns = part.source < 0
                               ? network_.inputs()
                               : network_.layers()[static_cast<std::size_t>(part.source)].size();
      parts_.push_back({part.source, add_matrix(part.forward, layer.size(), columns),
                        add_matrix(part.backward, columns, layer.size())});
    }
    layers_.push_back(made);
    head_.neurons += made.size;
    head_.widest = std::max(head_.widest, made.size);
  }

  bf_node_matrix add_matrix(const LaneMatrix& matrix, std::size_t rows, std::size_t columns) {
    bf_node_matrix made = {static_cast<std::int32_t>(rows), static_cast<std::int32_t>(columns), -1,
                           0, 0};
    if (2 * matrix.products() >= rows * columns && is_once(matrix))
      made.weight = add_full(matrix, rows, columns);
    else
      add_sparse(matrix, made);
    return made;
  }

  // Whether no place has several products.
  static bool is_once(const LaneMatrix& matrix) {
    bool once = true;
    std::size_t last_row = 0, last_column = 0;
    bool first = true;
    matrix.for_each_product([&](std::size_t row, std::size_t column, float) {
      once = once && (first || row != last_row || column > last_column);
      first = false;
      last_row = row;
      last_column = column;
    });
    return once;
  }

  std::int32_t add_full(const LaneMatrix& matrix, std::size_t rows, std::size_t columns) {
    const std::size_t at = numbers_.size();
    constexpr std::size_t kPanel = BF_NODE_PANEL;
    numbers_.resize(at + (rows + kPanel - 1) / kPanel * kPanel * columns);
    matrix.for_each_product([&](std::size_t row, std::size_t column, float weight) {
      numbers_[at + (row / kPanel * columns + column) * kPanel + row % kPanel] = weight;
    });
    return static_cast<std::int32_t>(at);
  }

  void add_sparse(const LaneMatrix& matrix, bf_node_matrix& made) {
    made.start = static_cast<std::int32_t>(integers_.size());
    made.weight = static_cast<std::int32_t>(numbers_.size());
    integers_.resize(integers_.size() + static_cast<std::size_t>(made.rows) + 1);
    const auto starts = static_cast<std::size_t>(made.start);
    matrix.for_each_product([&](std::size_t row, std::size_t, float weight) {
      ++integers_[starts + row + 1];
      numbers_.push_back(weight);
    });
    for (std::int32_t row = 0; row < made.rows; ++row) {
      const std::size_t at = starts + static_cast<std::size_t>(row);
      integers_[at + 1] += integers_[at];
    }
    made.column = static_cast<std::int32_t>(integers_.size());
    matrix.for_each_product([&](std::size_t, std::size_t column, float) {
      integers_.push_back(static_cast<std::int32_t>(column));
    });
  }

  const BoxNetwork& network_;
  bf_node_network head_ = {};
  std::vector<bf_node_layer> layers_;
  std::vector<bf_node_part> parts_;
  std::vector<std::int32_t> integers_;
  std::vector<float> numbers_;
};

}  // namespace

std::size_t FlatNetwork::arena(std::size_t items) const {
  return BF_NODE_ARENA(inputs, neurons, widest, open, items);
}

std::optional<FlatNetwork> flat_network(const BoxNetwork& network) {
  if (network.functions() > 0 || network.products() > 0 || network.norm() != Norm::kLargest)
    return std::nullopt;
  return Flattener(network).made();
}

std::vector<std::byte> flat_clause(const LaneNodes& nodes, const AscentSteps& steps) {
  bf_node_clause head = {};
  head.terms = static_cast<std::int32_t>(nodes.terms.size());
  head.steps = steps.steps;
  head.more_steps = steps.more_steps;
  head.most_steps = steps.most_steps;
  head.little_more = steps.little_more;
  head.rate = LaneProposal::kRate;
  head.decay = LaneProposal::kDecay;
  head.mean = Ascent::kMean;
  head.fade = Ascent::kFade;
  std::vector<bf_node_term> terms;
  const auto& layers = nodes.network.layers();
  for (std::size_t t = 0; t < nodes.terms.size(); ++t) {
    const ClauseTerm& term = nodes.terms[t];
    const auto [layer, place] = nodes.network.rows()[static_cast<std::size_t>(term.row)];
    std::size_t at = static_cast<std::size_t>(place);
    for (std::size_t i = 0; i < static_cast<std::size_t>(layer); ++i) at += layers[i].size();
    terms.push_back({static_cast<std::int32_t>(at), nodes.is_weighed[t] ? 1 : 0, term.sign,
                     static_cast<float>(term.threshold)});
  }
  std::vector<std::byte> made;
  append(made, std::span<const bf_node_clause>(&head, 1));
  append(made, std::span<const bf_node_term>(terms));
  append(made, std::span<const float>(nodes.scales));
  return made;
}

}  // namespace bf_aot::decide

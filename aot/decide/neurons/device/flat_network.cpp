#include "aot/decide/neurons/device/flat_network.h"

#include <algorithm>
#include <limits>
#include <span>

#include "aot/decide/neurons/lane_proposal.h"
#include "frontend/check_scope.h"
#include "frontend/diagnostic.h"
#include "runtime/bf/c/nodes/network.h"

namespace bf_aot::decide {
namespace {

static_assert(kLanes == BF_NODE_LANES);

template <class Number>
void append(std::vector<std::byte>& to, std::span<const Number> numbers) {
  const auto bytes = std::as_bytes(numbers);
  to.insert(to.end(), bytes.begin(), bytes.end());
}

// The values that a layer's part reads.
std::size_t columns_of(const BoxNetwork& network, int source) {
  return source < 0 ? network.inputs() : network.layers()[static_cast<std::size_t>(source)].size();
}

// Whether no place has several products.
bool is_once(const LaneMatrix& matrix) {
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

bool is_full(const LaneMatrix& matrix, std::size_t rows, std::size_t columns) {
  return 2 * matrix.products() >= rows * columns && is_once(matrix);
}

// The numbers of a full matrix, in panels.
std::size_t full_numbers(std::size_t rows, std::size_t columns) {
  constexpr std::size_t kPanel = BF_NODE_PANEL;
  return (rows + kPanel - 1) / kPanel * kPanel * columns;
}

// Counts the elements of a network's arrays.
struct Counts {
  std::size_t layers = 0, parts = 0, integers = 0, numbers = 0;

  explicit Counts(const BoxNetwork& network) {
    numbers = 2 * network.inputs();
    layers = network.layers().size();
    for (const auto& layer : network.layers()) {
      parts += layer.parts.size();
      integers += layer.size();
      numbers += layer.size();
      for (const auto& part : layer.parts) {
        const std::size_t columns = columns_of(network, part.source);
        add_matrix(part.forward, layer.size(), columns);
        add_matrix(part.backward, columns, layer.size());
      }
    }
  }

  std::size_t bytes() const {
    return sizeof(bf_node_network) + layers * sizeof(bf_node_layer) + parts * sizeof(bf_node_part) +
           integers * sizeof(std::int32_t) + numbers * sizeof(float);
  }

 private:
  void add_matrix(const LaneMatrix& matrix, std::size_t rows, std::size_t columns) {
    if (is_full(matrix, rows, columns)) {
      numbers += full_numbers(rows, columns);
      return;
    }
    numbers += matrix.products();
    integers += rows + 1 + matrix.products();
  }
};

// Collects the arrays of a network.
class Flattener {
 public:
  explicit Flattener(const BoxNetwork& network) : network_(network) {
    const Counts counts(network);
    layers_.reserve(counts.layers);
    parts_.reserve(counts.parts);
    integers_.reserve(counts.integers);
    numbers_.reserve(counts.numbers);
    for (const auto& layer : network.layers()) add_layer(layer);
    head_.layers = static_cast<std::int32_t>(layers_.size());
    head_.inputs = static_cast<std::int32_t>(network.inputs());
    head_.open = static_cast<std::int32_t>(network.open());
    head_.lower = add_numbers(network.lower());
    head_.upper = add_numbers(network.upper());
  }

  std::vector<std::byte> bytes(std::size_t count) {
    std::vector<std::byte> made;
    made.reserve(count);
    const auto add = [&](std::int32_t& at, const auto& array) {
      at = static_cast<std::int32_t>(made.size());
      append(made, std::span(array));
    };
    made.resize(sizeof head_);
    add(head_.layers_at, layers_);
    add(head_.parts_at, parts_);
    add(head_.integers_at, integers_);
    add(head_.numbers_at, numbers_);
    std::ranges::copy(std::as_bytes(std::span(&head_, 1)), made.begin());
    BF_CHECK(made.size() == count);
    return made;
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
      const std::size_t columns = columns_of(network_, part.source);
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
    if (is_full(matrix, rows, columns))
      made.weight = add_full(matrix, rows, columns);
    else
      add_sparse(matrix, made);
    return made;
  }

  std::int32_t add_full(const LaneMatrix& matrix, std::size_t rows, std::size_t columns) {
    const std::size_t at = numbers_.size();
    constexpr std::size_t kPanel = BF_NODE_PANEL;
    numbers_.resize(at + full_numbers(rows, columns));
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

std::size_t FlatShape::arena(std::size_t items) const {
  return BF_NODE_ARENA(inputs, neurons, widest, open, items);
}

std::optional<FlatShape> flat_shape(const BoxNetwork& network) {
  if (network.functions() > 0 || network.products() > 0 || network.norm() != Norm::kLargest)
    return std::nullopt;
  FlatShape made;
  made.byte_count = Counts(network).bytes();
  constexpr auto kMost = static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max());
  if (made.byte_count > kMost / 2) return std::nullopt;
  made.inputs = network.inputs();
  made.open = network.open();
  made.ranges = BF_NODE_RANGES(network.open());
  made.gains = at_lanes(network.open());
  for (const auto& layer : network.layers()) {
    made.neurons += layer.size();
    made.widest = std::max(made.widest, layer.size());
  }
  return made;
}

FlatNetwork flat_network(const BoxNetwork& network) {
  const std::optional<FlatShape> shape = flat_shape(network);
  BF_CHECK(shape);
  FlatNetwork made;
  static_cast<FlatShape&>(made) = *shape;
  made.bytes = Flattener(network).bytes(shape->byte_count);
  return made;
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

#include "frontend/passes/rewrite/regions.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "frontend/algebra/affine_algebra.h"
#include "frontend/algebra/conv_algebra.h"
#include "frontend/algebra/linear_algebra.h"
#include "frontend/diagnostic.h"
#include "frontend/graph/conv_loops.h"
#include "frontend/graph/index_maps.h"

namespace bf_aot {
namespace {

std::size_t at(std::int64_t i) {
  return static_cast<std::size_t>(i);
}

// Reshapes too: what is the identity stays it, so that every call leaves fewer maps to move.
bool is_elementwise(const Graph& graph, const Node& node) {
  if (const auto* map = std::get_if<IndexMap>(&node.op))
    return is_identity(map->source, element_count(graph.value(node.inputs[0]).shape));
  return std::holds_alternative<Relu>(node.op) || std::holds_alternative<Unary>(node.op) ||
         std::holds_alternative<Scale>(node.op) ||
         (std::holds_alternative<Binary>(node.op) && works_on_flattened(graph, node));
}

bool is_movable(const Op& op) {
  return is_linear(op) || std::holds_alternative<GroupMax>(op);
}

// One side of a convolution.
struct Image {
  const ConvGeometry& geometry;
  bool out;

  const Extent& size() const { return out ? geometry.out_size : geometry.in_size; }
  const ImageLayout& layout() const { return out ? geometry.out : geometry.in; }

  // visit(element, position) for all elements.
  template <class Visit>
  void for_each(const Visit& visit) const {
    for_each_element(geometry.batch, out ? geometry.out_channels : geometry.in_channels, size(),
                     [&](std::int64_t n, std::int64_t c, const Extent& p) {
                       visit(at(layout().at(n, c, p)), p);
                     });
  }
};

// The positions of dimension d that some tap of a convolution reads.
std::vector<bool> read_positions(const ConvGeometry& g, std::size_t d) {
  std::vector<bool> read(at(g.in_size[d]), false);
  const std::int64_t near = g.transposed ? g.in_size[d] : g.out_size[d];
  const std::int64_t far = g.transposed ? g.out_size[d] : g.in_size[d];
  for (std::int64_t p = 0; p < near; ++p)
    for (std::int64_t t = 0; t < g.kernel[d]; ++t) {
      const std::int64_t q = p * g.stride[d] - g.pad[d] + t * g.dilation[d];
      if (q >= 0 && q < far) read[at(g.transposed ? p : q)] = true;
    }
  return read;
}

void mark_read(const Conv& conv, std::vector<bool>& read) {
  const ConvGeometry& g = conv.geometry;
  const std::array<std::vector<bool>, 3> positions = {read_positions(g, 0), read_positions(g, 1),
                                                      read_positions(g, 2)};
  Image{g, false}.for_each([&](std::size_t element, const Extent& p) {
    if (positions[0][at(p[0])] && positions[1][at(p[1])] && positions[2][at(p[2])])
      read[element] = true;
  });
}

// Ends with the row after which no column is left to find: for most layers the first.
void mark_read(const Affine& affine, std::vector<bool>& read) {
  const std::size_t columns = read.size();
  std::size_t left = static_cast<std::size_t>(std::count(read.begin(), read.end(), false));
  for (std::size_t row = 0; left > 0 && row < affine.weight.data.size(); row += columns)
    for (std::size_t i = 0; i < columns; ++i)
      if (!read[i] && bounded_at(affine.weight, row + i) != Bounded{0, 0}) {
        read[i] = true;
        --left;
      }
}

// Marks the smallest box from the first position on that holds all marked elements, in all
// channels. Returns whether that was not marked.
bool fill_box(const Image& image, std::vector<bool>& marked) {
  Extent end = {0, 0, 0};
  image.for_each([&](std::size_t element, const Extent& p) {
    for (std::size_t d = 0; d < 3; ++d)
      if (marked[element]) end[d] = std::max(end[d], p[d] + 1);
  });
  bool changed = false;
  image.for_each([&](std::size_t element, const Extent& p) {
    if (marked[element] || p[0] >= end[0] || p[1] >= end[1] || p[2] >= end[2]) return;
    marked[element] = changed = true;
  });
  return changed;
}

// The shape of the elements that are kept, where they are a box of the tensor from the first of
// each dimension on; else a vector.
Shape kept_shape(const Shape& shape, const IndexMap& kept) {
  Shape box(shape.size(), 0);
  for (std::int64_t i : kept.source) {
    std::int64_t rest = i;
    for (std::size_t d = shape.size(); d-- > 0; rest /= shape[d])
      box[d] = std::max(box[d], rest % shape[d] + 1);
  }
  const auto count = static_cast<std::int64_t>(kept.source.size());
  return element_count(box) == count ? box : Shape{count};
}

// The operator that makes the moved tensor.
void move_rows(Op& op, const IndexMap& gather, const std::vector<std::int64_t>& moved) {
  if (auto* affine = std::get_if<Affine>(&op)) {
    op = compose(gather, *affine);
  } else if (auto* sparse = std::get_if<SparseAffine>(&op)) {
    op = compose(gather, *sparse);
  } else if (auto* max = std::get_if<GroupMax>(&op)) {
    op = compose(gather, *max);
  } else if (auto* map = std::get_if<IndexMap>(&op)) {
    op = compose(gather, *map);
  } else if (auto* conv = std::get_if<Conv>(&op)) {
    conv->geometry = *moved_geometry(conv->geometry, true, moved);
  } else {
    BF_CHECK(!"an operator that cannot move");
  }
}

// The operator that reads the moved tensor.
void move_columns(Node& node, const IndexMap& gather, const std::vector<std::int64_t>& moved) {
  Op& op = node.op;
  if (auto* affine = std::get_if<Affine>(&op)) {
    op = gather_columns(*affine, gather);
  } else if (auto* sparse = std::get_if<SparseAffine>(&op)) {
    op = compose(*sparse, IndexMap{moved}, node.origin);
  } else if (auto* max = std::get_if<GroupMax>(&op)) {
    op = compose(*max, IndexMap{moved});
  } else if (auto* map = std::get_if<IndexMap>(&op)) {
    op = compose(*map, IndexMap{moved});
  } else if (auto* conv = std::get_if<Conv>(&op)) {
    conv->geometry = *moved_geometry(conv->geometry, false, moved);
  } else {
    BF_CHECK(!"an operator that cannot move");
  }
}

}  // namespace

Region::Region(Graph& graph, const Links& links)
    : graph_(graph),
      links_(links),
      inside_(graph.values.size(), false),
      elementwise_(graph.nodes.size(), Known::kNot) {}

bool Region::collect(ValueId value) {
  BF_CHECK(!is_found(value));
  values_.clear();
  makers_.clear();
  readers_.clear();
  within_.clear();
  enter(value);
  bool movable = true;
  for (std::size_t i = 0; i < values_.size(); ++i) {
    const ValueId id = values_[i];
    movable = movable && !links_.is_output(id) && links_.maker(id) >= 0;
    if (links_.maker(id) >= 0) {
      const auto maker = static_cast<std::size_t>(links_.maker(id));
      if (is_elementwise(maker)) {
        within_.insert(maker);
        for (ValueId input : graph_.nodes[maker].inputs) enter(input);
      } else {
        makers_.insert(maker);
        movable = movable && is_movable(graph_.nodes[maker].op);
      }
    }
    for (std::size_t reader : links_.readers(id)) {
      if (is_elementwise(reader)) {
        enter(graph_.nodes[reader].output);
        for (ValueId input : graph_.nodes[reader].inputs) enter(input);
      } else {
        readers_.insert(reader);
        movable = movable && is_movable(graph_.nodes[reader].op);
      }
    }
  }
  return movable;
}

std::int64_t Region::element_count() const {
  return bf_aot::element_count(graph_.value(values_.front()).shape);
}

std::vector<bool> Region::read() const {
  std::vector<bool> read(at(element_count()), false);
  for (std::size_t node : readers_) mark_read(graph_.nodes[node].op, read);
  while (fill_boxes(read)) {
  }
  return read;
}

void Region::mark_read(const Op& op, std::vector<bool>& read) const {
  if (const auto* affine = std::get_if<Affine>(&op)) {
    bf_aot::mark_read(*affine, read);
  } else if (const auto* conv = std::get_if<Conv>(&op)) {
    bf_aot::mark_read(*conv, read);
  } else if (const auto* sparse = std::get_if<SparseAffine>(&op)) {
    for (std::int64_t column : sparse->column) read[at(column)] = true;
  } else if (const auto* max = std::get_if<GroupMax>(&op)) {
    for (std::int64_t source : max->source) read[at(source)] = true;
  } else if (const auto* map = std::get_if<IndexMap>(&op)) {
    for (std::int64_t source : map->source) read[at(source)] = true;
  } else {
    BF_CHECK(!"an operator that cannot move");
  }
}

// Marks the boxes of all convolutions that make or read the region. Returns whether `read` changed.
bool Region::fill_boxes(std::vector<bool>& read) const {
  bool changed = false;
  const auto fill = [&](const std::set<std::size_t>& nodes, bool out) {
    for (std::size_t node : nodes)
      if (const auto* conv = std::get_if<Conv>(&graph_.nodes[node].op))
        changed = fill_box({conv->geometry, out}, read) || changed;
  };
  fill(makers_, true);
  fill(readers_, false);
  return changed;
}

bool Region::can_move(const std::vector<std::int64_t>& moved) const {
  const auto can = [&](const std::set<std::size_t>& nodes, bool out) {
    return std::all_of(nodes.begin(), nodes.end(), [&](std::size_t node) {
      const auto* conv = std::get_if<Conv>(&graph_.nodes[node].op);
      return conv == nullptr || moved_geometry(conv->geometry, out, moved).has_value();
    });
  };
  return can(makers_, true) && can(readers_, false);
}

bool Region::move(const std::vector<std::int64_t>& moved) {
  if (!can_move(moved)) return false;
  IndexMap gather;  // of the old elements
  for (std::size_t i = 0; i < moved.size(); ++i) {
    if (moved[i] < 0) continue;
    if (at(moved[i]) >= gather.source.size()) gather.source.resize(at(moved[i]) + 1);
    gather.source[at(moved[i])] = static_cast<std::int64_t>(i);
  }
  if (gather.source.size() != moved.size())
    for (ValueId id : values_) {
      Shape& shape = graph_.values[index_of(id)].shape;
      shape = kept_shape(shape, gather);
    }
  for (std::size_t node : within_) {
    Op& op = graph_.nodes[node].op;
    if (const auto* scale = std::get_if<Scale>(&op)) {
      op = bf_aot::gather(*scale, gather);
    } else if (auto* map = std::get_if<IndexMap>(&op)) {
      map->source.resize(gather.source.size());  // the identity
    } else {
      BF_CHECK(std::holds_alternative<Relu>(op) || std::holds_alternative<Unary>(op) ||
               std::holds_alternative<Binary>(op));
    }
  }
  for (std::size_t node : makers_) move_rows(graph_.nodes[node].op, gather, moved);
  for (std::size_t node : readers_) move_columns(graph_.nodes[node], gather, moved);
  return true;
}

void Region::enter(ValueId id) {
  if (inside_[index_of(id)]) return;
  inside_[index_of(id)] = true;
  values_.push_back(id);
}

// The answer is kept from the first time on: a later region may lose elements, which could make a
// map the identity.
bool Region::is_elementwise(std::size_t node) {
  Known& known = elementwise_[node];
  if (known == Known::kNot)
    known = bf_aot::is_elementwise(graph_, graph_.nodes[node]) ? Known::kYes : Known::kNo;
  return known == Known::kYes;
}

bool reorder_region(Graph& graph, const Links& links, ValueId value, ValueId other,
                    const std::vector<std::int64_t>& moved) {
  Region region(graph, links);
  if (!region.collect(value)) return false;
  const std::vector<ValueId>& values = region.values();
  if (std::find(values.begin(), values.end(), other) != values.end()) return false;
  return region.move(moved);
}

}  // namespace bf_aot

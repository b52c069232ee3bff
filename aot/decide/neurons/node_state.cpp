#include "aot/decide/neurons/node_state.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace bf_aot::decide {
namespace {

constexpr std::size_t kWord = 4;

void append_word(std::uint32_t word, std::vector<std::byte>& state) {
  for (std::size_t i = 0; i < kWord; ++i) state.push_back(static_cast<std::byte>(word >> (8 * i)));
}

std::uint32_t word_at(const std::vector<std::byte>& state, std::size_t index) {
  std::uint32_t word = 0;
  for (std::size_t i = 0; i < kWord; ++i)
    word |= std::to_integer<std::uint32_t>(state[kWord * index + i]) << (8 * i);
  return word;
}

float number_at(const std::vector<std::byte>& state, std::size_t index) {
  return std::bit_cast<float>(word_at(state, index));
}

}  // namespace

std::vector<std::byte> state_of(const SplitNode& node) {
  std::vector<std::byte> state;
  const auto append = [&](float number) {
    append_word(std::bit_cast<std::uint32_t>(number), state);
  };
  append_word(static_cast<std::uint32_t>(node.splits.size()), state);
  append_word(static_cast<std::uint32_t>(node.ranges.size()), state);
  for (const NeuronSplit& split : node.splits) {
    append_word(2 * split.open + (split.positive ? 1 : 0), state);
    append(split.multiplier);
    const auto point = std::bit_cast<std::uint64_t>(split.point);
    append_word(static_cast<std::uint32_t>(point), state);
    append_word(static_cast<std::uint32_t>(point >> 32), state);
  }
  for (const NeuronRange& range : node.ranges) {
    append_word(range.open, state);
    append(range.lower);
    append(range.upper);
  }
  for (const float number : {node.bound, node.split_gain, node.tighten_gain}) append(number);
  append_word(node.tightened, state);
  for (const float weight : node.weights) append(weight);
  for (const float slope : node.lines) append(slope);
  for (const std::uint8_t slope : node.slopes) state.push_back(std::byte{slope});
  for (const std::uint8_t plane : node.planes) state.push_back(std::byte{plane});
  return state;
}

float bound_of(const tree::Node& node) {
  if (node.state.empty()) return -std::numeric_limits<float>::infinity();
  const std::size_t splits = word_at(node.state, 0), ranges = word_at(node.state, 1);
  return number_at(node.state, 2 + 4 * splits + 3 * ranges);
}

SplitNode read_node(const tree::Node& node, const NodeShape& shape) {
  SplitNode made;
  made.depth = node.depth;
  std::size_t at = 0;
  made.splits.resize(word_at(node.state, at++));
  made.ranges.resize(word_at(node.state, at++));
  for (NeuronSplit& split : made.splits) {
    const std::uint32_t word = word_at(node.state, at++);
    split.open = word / 2;
    split.positive = word % 2 == 1;
    split.multiplier = number_at(node.state, at++);
    const std::uint64_t low = word_at(node.state, at++), high = word_at(node.state, at++);
    split.point = std::bit_cast<double>(low | high << 32);
  }
  for (NeuronRange& range : made.ranges) {
    range.open = word_at(node.state, at++);
    range.lower = number_at(node.state, at++);
    range.upper = number_at(node.state, at++);
  }
  for (float* const number : {&made.bound, &made.split_gain, &made.tighten_gain})
    *number = number_at(node.state, at++);
  made.tightened = word_at(node.state, at++);
  for (std::size_t t = 0; t < shape.terms; ++t) made.weights.push_back(number_at(node.state, at++));
  for (std::size_t i = 0; i < 2 * shape.functions; ++i)
    made.lines.push_back(number_at(node.state, at++));
  for (std::size_t i = 0; i < shape.open(); ++i)
    made.slopes.push_back(std::to_integer<std::uint8_t>(node.state[kWord * at + i]));
  for (std::size_t i = shape.open(); i < shape.open() + 2 * shape.products; ++i)
    made.planes.push_back(std::to_integer<std::uint8_t>(node.state[kWord * at + i]));
  return made;
}

namespace {

const char* fault_of_splits(const SplitNode& node, const NodeShape& shape) {
  constexpr const char* kSplit = "a node with a split that it cannot have";
  std::vector<bool> seen(2 * shape.open());
  for (const NeuronSplit& split : node.splits) {
    if (split.open >= shape.open()) return kSplit;
    const bool function = shape.is_function[split.open];
    const std::size_t side = 2 * split.open + (function && split.positive ? 1 : 0);
    if (seen[side] || !std::isfinite(split.point) || (!function && split.point != 0)) return kSplit;
    seen[side] = true;
    if (!(split.multiplier >= 0 && std::isfinite(split.multiplier)))
      return "a node with a number below 0";
  }
  return nullptr;
}

const char* fault_of_ranges(const SplitNode& node, const NodeShape& shape) {
  const NeuronRange* before = nullptr;
  for (const NeuronRange& range : node.ranges) {
    const bool rises = before == nullptr || before->open < range.open;
    if (range.open >= shape.open() || !rises || shape.is_function[range.open] ||
        !(range.lower < 0 && range.upper > 0))
      return "a node with a range that it cannot have";
    before = &range;
  }
  return nullptr;
}

}  // namespace

const char* node_fault(const tree::Node& node, const NodeShape& shape) {
  const std::vector<std::byte>& state = node.state;
  if (state.empty()) return node.depth == 0 ? nullptr : "a node without its splits";
  if (state.size() < 2 * kWord) return "a node of another size";
  const std::size_t splits = word_at(state, 0), ranges = word_at(state, 1);
  const std::size_t open = shape.open();
  if (splits > 2 * open || ranges > open ||
      state.size() != kWord * (6 + 4 * splits + 3 * ranges + shape.terms + 2 * shape.functions) +
                          open + 2 * shape.products)
    return "a node of another size";
  const SplitNode made = read_node(node, shape);
  if (const char* const fault = fault_of_splits(made, shape)) return fault;
  if (const char* const fault = fault_of_ranges(made, shape)) return fault;
  for (const float weight : made.weights)
    if (!(weight >= 0 && std::isfinite(weight))) return "a node with a number below 0";
  for (const float slope : made.lines)
    if (!std::isfinite(slope)) return "a node with a slope that is no number";
  return nullptr;
}

}  // namespace bf_aot::decide

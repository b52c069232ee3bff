#include "aot/neurons/node_state.h"

#include <bit>
#include <cmath>
#include <cstdint>

namespace bf_aot::cli {
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
  state.reserve(kWord * (1 + 2 * node.splits.size() + node.weights.size()) + node.slopes.size());
  append_word(static_cast<std::uint32_t>(node.splits.size()), state);
  for (const NeuronSplit& split : node.splits) {
    append_word(2 * split.open + (split.positive ? 1 : 0), state);
    append_word(std::bit_cast<std::uint32_t>(split.multiplier), state);
  }
  for (const float weight : node.weights) append_word(std::bit_cast<std::uint32_t>(weight), state);
  for (const std::uint8_t slope : node.slopes) state.push_back(std::byte{slope});
  return state;
}

SplitNode read_node(const tree::Node& node, std::size_t open, std::size_t terms) {
  SplitNode made;
  made.depth = node.depth;
  std::size_t at = 0;
  made.splits.resize(word_at(node.state, at++));
  for (NeuronSplit& split : made.splits) {
    const std::uint32_t word = word_at(node.state, at++);
    split = {word / 2, word % 2 == 1, number_at(node.state, at++)};
  }
  for (std::size_t t = 0; t < terms; ++t) made.weights.push_back(number_at(node.state, at++));
  for (std::size_t i = 0; i < open; ++i)
    made.slopes.push_back(std::to_integer<std::uint8_t>(node.state[kWord * at + i]));
  return made;
}

const char* node_fault(const tree::Node& node, std::size_t open, std::size_t terms) {
  const std::vector<std::byte>& state = node.state;
  if (state.empty()) return node.depth == 0 ? nullptr : "a node without its splits";
  if (state.size() < kWord) return "a node of another size";
  const std::size_t splits = word_at(state, 0);
  if (splits > open || state.size() != kWord * (1 + 2 * splits + terms) + open)
    return "a node of another size";
  std::vector<bool> seen(open);
  for (std::size_t k = 0; k < splits; ++k) {
    const std::size_t neuron = word_at(state, 1 + 2 * k) / 2;
    if (neuron >= open || seen[neuron]) return "a node with a split that it cannot have";
    seen[neuron] = true;
  }
  // Multipliers, then weights.
  for (std::size_t k = 0; k < splits + terms; ++k) {
    const float number = number_at(state, k < splits ? 2 + 2 * k : 1 + splits + k);
    if (!(number >= 0 && std::isfinite(number))) return "a node with a number below 0";
  }
  return nullptr;
}

}  // namespace bf_aot::cli

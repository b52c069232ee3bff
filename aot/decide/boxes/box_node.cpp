#include "aot/decide/boxes/box_node.h"

#include <bit>
#include <cstdint>

namespace bf_aot::decide {
namespace {

constexpr std::size_t kFloat = 4;

void append(float x, std::vector<std::byte>& state) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  for (std::size_t i = 0; i < kFloat; ++i) state.push_back(static_cast<std::byte>(bits >> (8 * i)));
}

float float_at(const std::vector<std::byte>& state, std::size_t index) {
  std::uint32_t bits = 0;
  for (std::size_t i = 0; i < kFloat; ++i)
    bits |= std::to_integer<std::uint32_t>(state[kFloat * index + i]) << (8 * i);
  return std::bit_cast<float>(bits);
}

}  // namespace

std::vector<std::byte> box_state(std::size_t inputs, const float* lower, const float* upper) {
  std::vector<std::byte> state;
  state.reserve(2 * kFloat * inputs);
  for (std::size_t i = 0; i < inputs; ++i) append(lower[i], state);
  for (std::size_t i = 0; i < inputs; ++i) append(upper[i], state);
  return state;
}

void read_box(const tree::Node& node, std::size_t inputs, float* lower, float* upper) {
  for (std::size_t i = 0; i < inputs; ++i) {
    lower[i] = float_at(node.state, i);
    upper[i] = float_at(node.state, inputs + i);
  }
}

std::vector<std::vector<std::byte>> case_states(const FloatBoxes& boxes, std::size_t inputs) {
  std::vector<std::vector<std::byte>> states;
  for (std::size_t first = 0; first < boxes.lower.size(); first += inputs)
    states.push_back(box_state(inputs, &boxes.lower[first], &boxes.upper[first]));
  return states;
}

const char* box_fault(const tree::Node& node, const FloatBoxes& boxes, std::size_t inputs) {
  if (node.state.size() != 2 * kFloat * inputs) return "a box of another size";
  const std::size_t first = node.root * inputs;
  if (first >= boxes.lower.size()) return "a case that the property does not have";
  for (std::size_t i = 0; i < inputs; ++i) {
    const float lower = float_at(node.state, i);
    const float upper = float_at(node.state, inputs + i);
    if (!(boxes.lower[first + i] <= lower && lower <= upper && upper <= boxes.upper[first + i]))
      return "a box beyond its case";
  }
  return nullptr;
}

}  // namespace bf_aot::decide

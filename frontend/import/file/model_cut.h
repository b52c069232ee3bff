#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "frontend/graph/constant.h"

namespace bf_aot {

// Says what is known of an input of token ids.
struct TokenInput {
  // Holds the ids that may stand at each position, in row-major order; each once.
  std::vector<std::vector<std::int64_t>> sets{};
  // Each set has one id, and the input is a constant of the network.
  bool fixed = false;
  bool operator==(const TokenInput&) const = default;
};

// Says what of a model is read.
struct ModelCut {
  // Tensors that are to be the model's outputs, in this order, instead of its own. Nodes that none
  // of them depends on are not read.
  std::vector<std::string> outputs{};
  // Tensors that are to be inputs, in this order, whatever makes them. Inputs of the model that
  // something still depends on follow them.
  std::vector<std::string> inputs{};
  // Shapes of inputs, which the file may leave open.
  std::map<std::string, Shape> shapes{};
  // Inputs of token ids, by name. One that is not fixed becomes a one-hot input: its shape is
  // [positions, most ids of a position], and the element of the id that stands at a position is 1,
  // the others of the position are 0. Positions with fewer ids have elements that are always 0.
  std::map<std::string, TokenInput> tokens{};
  // Tensors within the network that are outputs, too, by their places among all outputs. A name is
  // a tensor's, or that of a node with one output.
  std::map<std::size_t, std::string> hidden{};
  bool operator==(const ModelCut&) const = default;
};

}  // namespace bf_aot

#pragma once

#include <map>
#include <string>
#include <vector>

#include "frontend/graph/constant.h"

namespace bf_aot {

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
  bool operator==(const ModelCut&) const = default;
};

}  // namespace bf_aot

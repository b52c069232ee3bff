#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "aot/cli/options/command_line.h"
#include "aot/input/exact_box.h"
#include "aot/input/json_io.h"
#include "frontend/import/file/model_cut.h"
#include "frontend/property/property.h"

namespace bf_aot::cli {

// The box of a command, as it was typed: a file, or a centre and a radius.
struct BoxArguments {
  std::string box;
  std::optional<std::size_t> index;
  std::string centre;  // a file, or a number for every input
  std::string eps;
  std::vector<std::string> clip;  // two numbers or none

  bool given() const { return !box.empty() || !centre.empty(); }
};

// Adds --box, --index, --centre, --eps, --clip. The values that the arguments hold already are the
// defaults.
void add_box_options(CommandLine& app, BoxArguments& arguments);

// The box of a network with `input_count` inputs. Numbers are decimals, exact as they are written;
// each end is the double next to centre +- eps, outside of it. Throws: BF30xx for the files, BF3013
// for texts that are no numbers or make no box.
input::BoxFile box_of(const BoxArguments& arguments, int input_count);

// Returns the same box with its ends as they were typed.
input::TypedBox typed_box_of(const BoxArguments& arguments, int input_count);

// The box of weights that are inputs, in their order, with the tensors that they are of.
struct WeightBox {
  input::ExactBox box;
  std::vector<PropertyTensor> tensors;
};

// Weights that are inputs, each in a range about its value in the file.
struct WeightArguments {
  std::vector<std::string> radii;  // NAME=X, or NAME=X% of each weight's size
  WeightBox weights;               // after begin_at_weights()

  bool given() const { return !radii.empty(); }
};

// Adds --weight.
void add_weight_option(CommandLine& app, WeightArguments& arguments);

// Reads the weights, and makes them inputs behind the model's own. Throws: BF1008, BF3013; as
// read_initializer().
void begin_at_weights(WeightArguments& arguments, const std::string& model, ModelCut& cut);

// Adds the weights to boxes of the other inputs.
void append_weights(const WeightBox& weights, input::BoxFile& file);
void append_weights(const WeightBox& weights, Property& property);

}  // namespace bf_aot::cli

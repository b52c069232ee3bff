#include "frontend/import/file/input_shape.h"

#include <fmt/format.h>

#include <cstdint>
#include <string>

#include "frontend/diagnostic.h"
#include "frontend/graph/model.h"
#include "frontend/import/file/tensors.h"

namespace bf_aot {
namespace {

// A shape that fits what is known of one, as an option has it: 1 for the batch and 16 for others.
std::string example_shape(const onnx::TensorShapeProto& shape) {
  std::string text;
  for (int i = 0; i < shape.dim_size(); ++i) {
    const std::int64_t known = shape.dim(i).has_dim_value() ? shape.dim(i).dim_value() : 0;
    text += fmt::format("{}{}", i == 0 ? "" : ",", known > 0 ? known : i == 0 ? 1 : 16);
  }
  return text;
}

}  // namespace

Shape input_shape(const onnx::ValueInfoProto& info) {
  if (!info.type().has_tensor_type()) fail("BF1008", "", "its type is not a dense tensor");
  const onnx::TypeProto::Tensor& type = info.type().tensor_type();
  // A box of reals holds the integers within it.
  if (!is_real_type(type.elem_type()) && !is_integer_type(type.elem_type()))
    fail("BF1008", "",
         fmt::format("elements are {}, but only numbers of 8 to 64 bits can be bounded",
                     element_type_name(type.elem_type())),
         "cast inside the application and export the rest of the model");
  if (!type.has_shape())
    fail("BF1009", "", "its shape is unknown",
         fmt::format("say it: --shape {}=1,16 or the like, or export with static shapes",
                     printable(info.name())));
  Shape shape;
  for (int i = 0; i < type.shape().dim_size(); ++i) {
    const onnx::TensorShapeProto::Dimension& dim = type.shape().dim(i);
    const bool known = dim.has_dim_value() && dim.dim_value() > 0;
    if (!known && i > 0)
      fail("BF1009", "",
           dim.dim_param().empty()
               ? fmt::format("dimension {} is unknown", i)
               : fmt::format("dimension {} is dynamic: '{}'", i, printable(dim.dim_param())),
           fmt::format("say the shape: --shape {}={} or the like, or export with static shapes",
                       printable(info.name()), example_shape(type.shape())));
    shape.push_back(known ? dim.dim_value() : 1);  // one box is one sample: batch 1
  }
  return shape;
}

}  // namespace bf_aot

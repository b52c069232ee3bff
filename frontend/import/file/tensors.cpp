#include "frontend/import/file/tensors.h"

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>

#include "frontend/diagnostic.h"
#include "frontend/graph/shapes.h"
#include "frontend/import/file/external_data.h"
#include "frontend/import/file/float16.h"

namespace bf_aot {
namespace {

using onnx::TensorProto;

[[noreturn]] void malformed(const std::string& where, std::string message) {
  fail("BF1021", where, std::move(message), "the file is damaged; export the model again");
}

// Little-endian unsigned integer, whatever the host.
template <typename Unsigned>
Unsigned load(const char* bytes) {
  Unsigned value = 0;
  for (std::size_t i = 0; i < sizeof(Unsigned); ++i)
    value = static_cast<Unsigned>(
        value | static_cast<Unsigned>(static_cast<Unsigned>(static_cast<unsigned char>(bytes[i]))
                                      << (8 * i)));
  return value;
}

// The storage of one element type: its size and value in raw_data, and its typed field.
struct Storage {
  std::int32_t type;
  std::string_view name;
  std::size_t bytes;     // in raw_data; 0: not readable
  std::size_t bits = 0;  // several elements are in a byte, the first in its lowest bits; 0: not so
};

constexpr Storage kElementTypes[] = {
    {TensorProto::UNDEFINED, "undefined", 0},
    {TensorProto::FLOAT, "float", 4},
    {TensorProto::UINT8, "uint8", 1},
    {TensorProto::INT8, "int8", 1},
    {TensorProto::UINT16, "uint16", 2},
    {TensorProto::INT16, "int16", 2},
    {TensorProto::INT32, "int32", 4},
    {TensorProto::INT64, "int64", 8},
    {TensorProto::STRING, "string", 0},
    {TensorProto::BOOL, "bool", 1},
    {TensorProto::FLOAT16, "float16", 2},
    {TensorProto::DOUBLE, "double", 8},
    {TensorProto::UINT32, "uint32", 4},
    {TensorProto::UINT64, "uint64", 8},
    {TensorProto::COMPLEX64, "complex64", 0},
    {TensorProto::COMPLEX128, "complex128", 0},
    {TensorProto::BFLOAT16, "bfloat16", 2},
    {TensorProto::FLOAT8E4M3FN, "float8e4m3fn", 1},
    {TensorProto::FLOAT8E4M3FNUZ, "float8e4m3fnuz", 1},
    {TensorProto::FLOAT8E5M2, "float8e5m2", 1},
    {TensorProto::FLOAT8E5M2FNUZ, "float8e5m2fnuz", 1},
    {TensorProto::UINT4, "uint4", 1, 4},
    {TensorProto::INT4, "int4", 1, 4},
    {TensorProto::FLOAT4E2M1, "float4e2m1", 1, 4},
    {TensorProto::FLOAT8E8M0, "float8e8m0", 1},
    {TensorProto::UINT2, "uint2", 1, 2},
    {TensorProto::INT2, "int2", 1, 2},
};

const Storage* find_type(std::int32_t type) {
  for (const Storage& each : kElementTypes)
    if (each.type == type) return &each;
  return nullptr;
}

bool is_small_float(std::int32_t type) {
  return type == TensorProto::FLOAT4E2M1 || type == TensorProto::FLOAT8E4M3FN ||
         type == TensorProto::FLOAT8E4M3FNUZ || type == TensorProto::FLOAT8E5M2 ||
         type == TensorProto::FLOAT8E5M2FNUZ || type == TensorProto::FLOAT8E8M0;
}

double small_float(std::int32_t type, std::uint8_t bits) {
  if (type == TensorProto::FLOAT4E2M1) return float4_to_double(bits);
  using Special = Float8Format::Special;
  if (type == TensorProto::FLOAT8E4M3FN) return float8_to_double(bits, {3, 7, Special::kLargest});
  if (type == TensorProto::FLOAT8E4M3FNUZ)
    return float8_to_double(bits, {3, 8, Special::kNegative});
  if (type == TensorProto::FLOAT8E5M2) return float8_to_double(bits, {2, 15, Special::kIeee});
  if (type == TensorProto::FLOAT8E5M2FNUZ)
    return float8_to_double(bits, {2, 16, Special::kNegative});
  return float8_power_to_double(bits);
}

double raw_real(std::int32_t type, const char* bytes) {
  if (is_small_float(type)) return small_float(type, load<std::uint8_t>(bytes));
  switch (type) {
    case TensorProto::FLOAT:
      return std::bit_cast<float>(load<std::uint32_t>(bytes));
    case TensorProto::DOUBLE:
      return std::bit_cast<double>(load<std::uint64_t>(bytes));
    case TensorProto::FLOAT16:
      return float16_to_double(load<std::uint16_t>(bytes));
    default:
      BF_CHECK(type == TensorProto::BFLOAT16);
  }
  return bfloat16_to_double(load<std::uint16_t>(bytes));
}

void read_floats(const std::string& raw, std::vector<double>& to) {
  const char* const bytes = raw.data();
  for (std::size_t i = 0; i < to.size(); ++i)
    to[i] = std::bit_cast<float>(load<std::uint32_t>(bytes + i * sizeof(float)));
}

// A uint64 above the int64 range becomes the largest int64: no shape or axis is that large.
std::int64_t saturate(std::uint64_t value) {
  constexpr auto kLargest = std::numeric_limits<std::int64_t>::max();
  return value > static_cast<std::uint64_t>(kLargest) ? kLargest : static_cast<std::int64_t>(value);
}

std::int64_t raw_integer(std::int32_t type, const char* bytes) {
  switch (type) {
    case TensorProto::UINT8:
      return load<std::uint8_t>(bytes);
    case TensorProto::INT8:
      return static_cast<std::int8_t>(load<std::uint8_t>(bytes));
    case TensorProto::UINT16:
      return load<std::uint16_t>(bytes);
    case TensorProto::INT16:
      return static_cast<std::int16_t>(load<std::uint16_t>(bytes));
    case TensorProto::INT32:
      return static_cast<std::int32_t>(load<std::uint32_t>(bytes));
    case TensorProto::UINT32:
      return load<std::uint32_t>(bytes);
    case TensorProto::UINT64:
      return saturate(load<std::uint64_t>(bytes));
    case TensorProto::BOOL:
      return load<std::uint8_t>(bytes) != 0;
    default:
      BF_CHECK(type == TensorProto::INT64);
  }
  return static_cast<std::int64_t>(load<std::uint64_t>(bytes));
}

// The bits of element i of those that share bytes.
unsigned packed_bits(const Storage& type, unsigned byte, std::size_t i) {
  return (byte >> (i * type.bits % 8)) & ((1U << type.bits) - 1);
}

std::int64_t packed_integer(const Storage& type, unsigned byte, std::size_t i) {
  const auto values = std::int64_t{1} << type.bits;
  const std::int64_t value = packed_bits(type, byte, i);
  const bool is_signed = type.type == TensorProto::INT4 || type.type == TensorProto::INT2;
  return is_signed && value >= values / 2 ? value - values : value;
}

// Number of elements in the typed field that `type` uses.
std::int64_t typed_count(const TensorProto& proto) {
  switch (proto.data_type()) {
    case TensorProto::FLOAT:
      return proto.float_data_size();
    case TensorProto::DOUBLE:
      return proto.double_data_size();
    case TensorProto::INT64:
      return proto.int64_data_size();
    case TensorProto::UINT32:
    case TensorProto::UINT64:
      return proto.uint64_data_size();
    default:
      return proto.int32_data_size();
  }
}

double typed_real(const TensorProto& proto, int i) {
  if (is_small_float(proto.data_type()))
    return small_float(proto.data_type(), static_cast<std::uint8_t>(proto.int32_data(i)));
  switch (proto.data_type()) {
    case TensorProto::FLOAT:
      return proto.float_data(i);
    case TensorProto::DOUBLE:
      return proto.double_data(i);
    case TensorProto::FLOAT16:
      return float16_to_double(static_cast<std::uint16_t>(proto.int32_data(i)));
    default:
      return bfloat16_to_double(static_cast<std::uint16_t>(proto.int32_data(i)));
  }
}

std::int64_t typed_integer(const TensorProto& proto, int i) {
  switch (proto.data_type()) {
    case TensorProto::INT64:
      return proto.int64_data(i);
    case TensorProto::UINT32:
    case TensorProto::UINT64:
      return saturate(proto.uint64_data(i));
    default:
      return proto.int32_data(i);
  }
}

void check_finite(const Constant& constant, const std::string& where) {
  for (std::size_t i = 0; i < constant.data.size(); ++i)
    if (!std::isfinite(constant.data[i]))
      fail("BF1023", where, fmt::format("element {} is {}", i, constant.data[i]),
           "a network with such a weight has no bounds; train or export it again");
}

Shape shape_of(const TensorProto& proto, const std::string& where) {
  Shape shape(proto.dims().begin(), proto.dims().end());
  for (std::int64_t dim : shape)
    if (dim < 0) malformed(where, fmt::format("negative dimension in shape {}", to_string(shape)));
  return shape;
}

const Storage& readable_type(const TensorProto& proto, const std::string& where) {
  const Storage* const type = find_type(proto.data_type());
  if (type == nullptr || type->bytes == 0)
    fail("BF1022", where,
         fmt::format("tensors of {} are not supported", element_type_name(proto.data_type())),
         proto.data_type() == TensorProto::STRING
             ? "cut the network before what reads it: --output-tensor NAME"
             : "export the weights as float or double");
  if (proto.has_segment()) malformed(where, "a tensor in segments is not supported");
  return *type;
}

}  // namespace

void TensorReader::check(const Shape& shape, const std::string& where) const {
  if (shape.size() > limits.rank)
    fail("BF1005", where, fmt::format("{} dimensions, the limit is {}", shape.size(), limits.rank));
  const std::optional<std::int64_t> count = checked_element_count(shape);
  if (!count || *count > limits.tensor_elements)
    fail("BF1005", where,
         fmt::format("a tensor of shape {} is over the limit of {} elements", to_string(shape),
                     limits.tensor_elements));
}

void TensorReader::charge_total(const Shape& shape, const std::string& where) {
  check(shape, where);
  const std::int64_t count = element_count(shape);
  if (count > limits.total_elements - elements)
    fail("BF1005", where,
         fmt::format("all tensors together are over the limit of {} elements",
                     limits.total_elements));
  elements += count;
}

void TensorReader::charge_made(std::int64_t count, const std::string& where) {
  const std::int64_t limit = limits.made_elements + limits.made_per_stored * stored;
  if (count > limit - made)
    fail("BF1028", where,
         fmt::format("so far {} elements are made and {} more are needed, but a model that stores "
                     "{} may make {}",
                     made, count, stored, limit),
         "fold constants when exporting, and leave out what repeats data");
  made += count;
}

void TensorReader::charge(const Shape& shape, const std::string& where) {
  charge_total(shape, where);
  charge_made(element_count(shape), where);
}

Tensor TensorReader::read(const TensorProto& proto, const std::string& where, bool any) {
  const Shape shape = shape_of(proto, where);
  const Storage& type = readable_type(proto, where);
  charge_total(shape, where);
  const auto count = static_cast<std::size_t>(element_count(shape));
  // Elements are stored one by one, or several to a byte.
  const std::size_t units = type.bits == 0 ? count : (count * type.bits + 7) / 8;

  const bool external = proto.data_location() == TensorProto::EXTERNAL;
  if (external && folder.empty())
    fail("BF1024", where, "this model has no folder to read external data from");
  std::string loaded;
  if (external) loaded = read_external_data(proto, folder, units * type.bytes, where);
  const std::string& raw = external ? loaded : proto.raw_data();
  const bool typed = !external && raw.empty();
  const std::size_t needed = typed ? units : units * type.bytes;
  const std::size_t found = typed ? static_cast<std::size_t>(typed_count(proto)) : raw.size();
  if (found != needed)
    malformed(where, fmt::format("shape {} of {} needs {} {}, but there are {}", to_string(shape),
                                 type.name, needed, typed ? "elements" : "bytes", found));
  stored += element_count(shape);
  const auto packed = [&](std::size_t i) {
    const std::size_t at = i * type.bits / 8;
    return typed ? static_cast<unsigned>(proto.int32_data(static_cast<int>(at)))
                 : static_cast<unsigned char>(raw[at]);
  };
  if (is_real_type(type.type) || is_small_float(type.type)) {
    Constant constant{shape, std::vector<double>(count), {}};
    if (type.bits != 0)
      for (std::size_t i = 0; i < count; ++i)
        constant.data[i] =
            small_float(type.type, static_cast<std::uint8_t>(packed_bits(type, packed(i), i)));
    else if (!typed && type.type == TensorProto::FLOAT)  // nearly all weights
      read_floats(raw, constant.data);
    else
      for (std::size_t i = 0; i < count; ++i)
        constant.data[i] = typed ? typed_real(proto, static_cast<int>(i))
                                 : raw_real(type.type, raw.data() + i * type.bytes);
    if (!any && !any_number) check_finite(constant, where);
    return constant;
  }
  IntegerTensor integers{shape, std::vector<std::int64_t>(count), type.type};
  for (std::size_t i = 0; i < count; ++i) {
    if (type.bits != 0) {
      integers.data[i] = packed_integer(type, packed(i), i);
    } else {
      integers.data[i] = typed ? typed_integer(proto, static_cast<int>(i))
                               : raw_integer(type.type, raw.data() + i * type.bytes);
    }
  }
  return integers;
}

Tensor TensorReader::read(const onnx::SparseTensorProto& proto, const std::string& where,
                          bool any) {
  Tensor values = read(proto.values(), where, any);
  const Tensor places = read(proto.indices(), where);
  const auto* const indices = std::get_if<IntegerTensor>(&places);
  const Shape shape(proto.dims().begin(), proto.dims().end());
  for (const std::int64_t dim : shape)
    if (dim <= 0) malformed(where, fmt::format("a sparse tensor of shape {}", to_string(shape)));
  charge(shape, where);
  const auto rank = static_cast<std::int64_t>(shape.size());
  const std::int64_t size = element_count(shape);
  const Shape own = std::visit([](const auto& each) { return each.shape; }, values);
  const std::int64_t count = element_count(own);
  if (indices == nullptr || own.size() != 1 ||
      (indices->shape != Shape{count} && indices->shape != Shape{count, rank}))
    malformed(where,
              fmt::format("{} values of a sparse tensor and indices that do not fit", count));
  const bool flat = indices->shape.size() == 1;
  const std::vector<std::int64_t> strides = row_major_strides(shape);
  std::vector<std::int64_t> to;
  for (std::int64_t i = 0; i < count; ++i) {
    std::int64_t at = 0;
    for (std::int64_t d = 0; d < (flat ? 1 : rank); ++d) {
      const std::int64_t index = indices->data[static_cast<std::size_t>(flat ? i : i * rank + d)];
      const std::int64_t extent = flat ? size : shape[static_cast<std::size_t>(d)];
      if (index < 0 || index >= extent)
        malformed(where, fmt::format("index {} of {} elements", index, extent));
      at += flat ? index : index * strides[static_cast<std::size_t>(d)];
    }
    if (!to.empty() && at <= to.back())
      malformed(where, "the indices of a sparse tensor do not rise");
    to.push_back(at);
  }
  const auto spread = [&](auto& tensor) {
    std::remove_cvref_t<decltype(tensor.data)> dense(static_cast<std::size_t>(size), 0);
    for (std::size_t i = 0; i < to.size(); ++i)
      dense[static_cast<std::size_t>(to[i])] = tensor.data[i];
    tensor.data = std::move(dense);
    tensor.shape = shape;
  };
  std::visit(spread, values);
  return values;
}

std::string element_type_name(ElementType type) {
  const Storage* const found = find_type(type);
  return found != nullptr ? std::string(found->name) : fmt::format("element type {}", type);
}

bool is_real_type(ElementType type) {
  return type == TensorProto::FLOAT || type == TensorProto::DOUBLE ||
         type == TensorProto::FLOAT16 || type == TensorProto::BFLOAT16;
}

bool is_integer_type(ElementType type) {
  switch (type) {
    case TensorProto::BOOL:
    case TensorProto::UINT2:
    case TensorProto::INT2:
    case TensorProto::UINT4:
    case TensorProto::INT4:
    case TensorProto::UINT8:
    case TensorProto::INT8:
    case TensorProto::UINT16:
    case TensorProto::INT16:
    case TensorProto::UINT32:
    case TensorProto::INT32:
    case TensorProto::UINT64:
    case TensorProto::INT64:
      return true;
    default:
      return false;
  }
}

std::int64_t least_of(ElementType type) {
  switch (type) {
    case TensorProto::INT2:
      return -2;
    case TensorProto::INT4:
      return -8;
    case TensorProto::INT8:
      return std::numeric_limits<std::int8_t>::min();
    case TensorProto::INT16:
      return std::numeric_limits<std::int16_t>::min();
    case TensorProto::INT32:
      return std::numeric_limits<std::int32_t>::min();
    case TensorProto::INT64:
      return std::numeric_limits<std::int64_t>::min();
    default:
      return 0;
  }
}

std::int64_t largest_of(ElementType type) {
  switch (type) {
    case TensorProto::BOOL:
    case TensorProto::INT2:
      return 1;
    case TensorProto::UINT2:
      return 3;
    case TensorProto::INT4:
      return 7;
    case TensorProto::UINT4:
      return 15;
    case TensorProto::UINT8:
      return std::numeric_limits<std::uint8_t>::max();
    case TensorProto::INT8:
      return std::numeric_limits<std::int8_t>::max();
    case TensorProto::UINT16:
      return std::numeric_limits<std::uint16_t>::max();
    case TensorProto::INT16:
      return std::numeric_limits<std::int16_t>::max();
    case TensorProto::UINT32:
      return std::numeric_limits<std::uint32_t>::max();
    case TensorProto::INT32:
      return std::numeric_limits<std::int32_t>::max();
    default:
      return std::numeric_limits<std::int64_t>::max();
  }
}

Constant to_constant(const IntegerTensor& integers) {
  constexpr std::int64_t kExact = std::int64_t{1} << 53;
  Constant constant{integers.shape, {}, {}};
  constant.data.reserve(integers.data.size());
  for (std::int64_t value : integers.data) {
    if (value > kExact || value < -kExact)
      fail("BF1019", "", fmt::format("the integer {} is beyond 2^53", value),
           "arithmetic on integers is done in double precision; use smaller ones");
    constant.data.push_back(static_cast<double>(value));
  }
  return constant;
}

}  // namespace bf_aot

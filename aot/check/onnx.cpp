#include "aot/check/onnx.h"

namespace bf_check {

i64 size_of(const std::vector<i64>& shape) {
  i64 size = 1;
  for (const i64 extent : shape) {
    if (extent < 0) refuse("a tensor's extent is negative");
    if (extent > kMostElements || (size *= extent) > kMostElements)
      refuse("a tensor has too many elements");
  }
  return size;
}

namespace {

// Bytes that are being read. Every length is held against what is left.
struct Bytes {
  const unsigned char* at;
  const unsigned char* end;

  explicit Bytes(const std::string& text)
      : at(reinterpret_cast<const unsigned char*>(text.data())), end(at + text.size()) {}

  bool done() const { return at == end; }

  u64 varint() {
    u64 value = 0;
    for (unsigned shift = 0; shift < 70; shift += 7) {
      if (done()) refuse("the model's file ends within a number");
      const u64 byte = *at++;
      if (shift < 64) value |= (byte & 127) << shift;
      if (byte < 128) return value;
    }
    refuse("the model's file has a number of too many bytes");
  }

  u64 fixed(unsigned bytes) {
    if (static_cast<u64>(end - at) < bytes) refuse("the model's file ends within a number");
    u64 value = 0;
    for (unsigned i = 0; i < bytes; ++i) value |= static_cast<u64>(*at++) << (8 * i);
    return value;
  }

  std::string text() {
    const u64 size = varint();
    if (size > static_cast<u64>(end - at)) refuse("the model's file ends within a message");
    const std::string result(reinterpret_cast<const char*>(at), static_cast<std::size_t>(size));
    at += size;
    return result;
  }
};

// A field of a message: its number, how it is encoded, and its value.
struct Field {
  u64 number = 0;
  unsigned wire = 0;  // 0 varint, 1 eight bytes, 2 bytes with a length, 5 four bytes
  u64 value = 0;
  std::string bytes;
};

std::vector<Field> fields_of(const std::string& message) {
  Bytes in(message);
  std::vector<Field> fields;
  while (!in.done()) {
    Field field;
    const u64 key = in.varint();
    field.number = key >> 3;
    field.wire = static_cast<unsigned>(key & 7);
    if (field.wire == 0) {
      field.value = in.varint();
    } else if (field.wire == 2) {
      field.bytes = in.text();
    } else if (field.wire == 1 || field.wire == 5) {
      field.value = in.fixed(field.wire == 1 ? 8 : 4);
    } else {
      refuse("the model's file is no protobuf message");
    }
    fields.push_back(std::move(field));
  }
  return fields;
}

const std::string& bytes_of(const Field& field) {
  if (field.wire != 2) refuse("a field of the model's file has another type");
  return field.bytes;
}

i64 number_of(const Field& field) {
  if (field.wire != 0) refuse("a field of the model's file has another type");
  return static_cast<i64>(field.value);
}

// Appends the numbers of a repeated field, which may be packed. width: bytes of each; 0: varints.
void append(const Field& field, unsigned width, std::vector<u64>& values) {
  if (field.wire != 2) {
    if (field.wire != (width == 0 ? 0u : width == 4 ? 5u : 1u))
      refuse("a field of the model's file has another type");
    values.push_back(field.value);
    return;
  }
  Bytes in(field.bytes);
  while (!in.done()) values.push_back(width == 0 ? in.varint() : in.fixed(width));
}

// A type of TensorProto's elements: its number, the bytes of an element in raw_data, the field that
// else holds elements, and how that encodes them.
struct ElementType {
  i64 type;
  unsigned raw_bytes;
  u64 field;
  unsigned width;
};
constexpr ElementType kElementTypes[] = {{1, 4, 4, 4}, {6, 4, 5, 0}, {7, 8, 7, 0}, {11, 8, 10, 8}};

Rat element(i64 type, u64 bits) {
  if (type == 1) return from_ieee(bits & 0xffffffff, 8, 23);
  if (type == 11) return from_ieee(bits, 11, 52);
  if (type == 6) return Rat(static_cast<long>(static_cast<std::int32_t>(bits)));
  return Rat(static_cast<long>(static_cast<i64>(bits)));
}

Tensor read_tensor(const std::string& message, std::string* name) {
  Tensor tensor;
  i64 type = 0;
  bool raw = false;
  std::string raw_data;
  std::vector<u64> shape;
  const std::vector<Field> fields = fields_of(message);
  for (const Field& field : fields) {
    if (field.number == 1) append(field, 0, shape);
    if (field.number == 2) type = number_of(field);
    if (field.number == 8 && name != nullptr) *name = bytes_of(field);
    if (field.number == 9) raw = true, raw_data = bytes_of(field);
    if (field.number == 13 || field.number == 3 || (field.number == 14 && number_of(field) != 0))
      refuse("a tensor's data are in another file");
  }
  const ElementType* row = nullptr;
  for (const ElementType& each : kElementTypes)
    if (each.type == type) row = &each;
  if (row == nullptr)
    refuse("element type " + std::to_string(type) + " is not in the checker's table");
  std::vector<u64> values;
  if (raw) {
    Bytes in(raw_data);
    while (!in.done()) values.push_back(in.fixed(row->raw_bytes));
  }
  for (const Field& field : fields) {
    if (field.number != row->field) continue;
    if (raw) refuse("a tensor has its data twice");
    append(field, row->width, values);
  }
  for (const u64 extent : shape) tensor.shape.push_back(static_cast<i64>(extent));
  if (static_cast<i64>(values.size()) != size_of(tensor.shape))
    refuse("a tensor has another number of elements than its shape says");
  tensor.integral = type == 6 || type == 7;
  for (const u64 bits : values) tensor.data.push_back(element(type, bits));
  return tensor;
}

Attribute read_attribute(const std::string& message, std::string* name) {
  Attribute attribute;
  std::vector<u64> numbers;
  for (const Field& field : fields_of(message)) {
    if (field.number == 1) *name = bytes_of(field);
    if (field.number == 2) {
      if (field.wire != 5) refuse("a field of the model's file has another type");
      attribute.real = from_ieee(field.value, 8, 23);
    }
    if (field.number == 3) attribute.number = number_of(field);
    if (field.number == 4) attribute.text = bytes_of(field);
    if (field.number == 5) attribute.tensor = read_tensor(bytes_of(field), nullptr);
    if (field.number == 8) append(field, 0, numbers);
    if (field.number == 20) attribute.type = number_of(field);
    if (field.number == 21) refuse("an attribute refers to one of a function");
  }
  for (const u64 number : numbers) attribute.numbers.push_back(static_cast<i64>(number));
  return attribute;
}

Node read_node(const std::string& message) {
  Node node;
  std::vector<std::string> attributes;
  for (const Field& field : fields_of(message)) {
    if (field.number == 1) node.inputs.push_back(bytes_of(field));
    if (field.number == 2) node.outputs.push_back(bytes_of(field));
    if (field.number == 4) node.op = bytes_of(field);
    if (field.number == 5) attributes.push_back(bytes_of(field));
    if (field.number == 7 && !bytes_of(field).empty() && field.bytes != "ai.onnx")
      refuse("operators of domain " + shown(field.bytes) + " are not in the checker's table");
  }
  for (const std::string& each : attributes) {
    std::string name;
    Attribute attribute;
    try {
      attribute = read_attribute(each, &name);
    } catch (const Refused& refused) {
      refuse("operator " + shown(node.op) + ": " + refused.what());
    }
    if (!node.attributes.emplace(name, std::move(attribute)).second)
      refuse("operator " + shown(node.op) + " has an attribute twice");
  }
  return node;
}

// ValueInfoProto: a name, and a tensor type whose extents are numbers or names.
GraphInput read_input(const std::string& message) {
  GraphInput input;
  i64 element = 0;
  for (const Field& field : fields_of(message)) {
    if (field.number == 1) input.name = bytes_of(field);
    if (field.number != 2) continue;
    for (const Field& type : fields_of(bytes_of(field))) {
      if (type.number != 1) continue;
      for (const Field& part : fields_of(bytes_of(type))) {
        if (part.number == 1) element = number_of(part);
        if (part.number != 2) continue;
        for (const Field& extent : fields_of(bytes_of(part))) {
          if (extent.number != 1) continue;
          i64 value = 1;
          for (const Field& each : fields_of(bytes_of(extent)))
            if (each.number == 1) value = number_of(each);
          input.shape.push_back(value);
        }
      }
    }
  }
  input.real = element == 1 || element == 11;
  return input;
}

void read_graph(const std::string& message, Model& model) {
  std::vector<GraphInput> inputs;
  for (const Field& field : fields_of(message)) {
    if (field.number == 1) model.nodes.push_back(read_node(bytes_of(field)));
    if (field.number == 5) {
      std::string name;
      Tensor tensor = read_tensor(bytes_of(field), &name);
      if (!model.constants.emplace(name, std::move(tensor)).second)
        refuse("two initializers have the same name");
    }
    if (field.number == 11) inputs.push_back(read_input(bytes_of(field)));
    if (field.number == 12) model.outputs.push_back(read_input(bytes_of(field)).name);
    if (field.number == 15) refuse("sparse initializers are not in the checker's table");
  }
  for (GraphInput& input : inputs)
    if (model.constants.count(input.name) == 0) {
      if (!input.real) refuse("an input's element type is not in the checker's table");
      model.inputs.push_back(std::move(input));
    }
}

}  // namespace

Model read_onnx(const std::string& bytes) {
  Model model;
  bool graph = false;
  for (const Field& field : fields_of(bytes)) {
    if (field.number == 7) {
      if (graph) refuse("the model's file has two graphs");
      graph = true;
      read_graph(bytes_of(field), model);
    }
    if (field.number == 8) {
      std::string domain;
      i64 version = 0;
      for (const Field& part : fields_of(bytes_of(field))) {
        if (part.number == 1) domain = bytes_of(part);
        if (part.number == 2) version = number_of(part);
      }
      if (domain.empty() || domain == "ai.onnx") model.opset = version;
    }
    if (field.number == 25) refuse("functions of the model's file are not in the checker's table");
  }
  if (!graph) refuse("the model's file has no graph");
  return model;
}

}  // namespace bf_check

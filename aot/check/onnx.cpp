#include "aot/check/onnx.h"

#include <set>
#include <string_view>

namespace bf_check {

i64 size_of(const std::vector<i64>& shape) {
  i64 size = 1, places = 1;  // loops run over the other extents where one is 0
  for (const i64 extent : shape) {
    if (extent < 0) refuse("a tensor's extent is negative");
    if (extent > kMostElements || (places *= extent > 0 ? extent : 1) > kMostElements)
      refuse("a tensor has too many elements");
    size *= extent;
  }
  return size;
}

void expect_work(const std::vector<i64>& shape, i64 terms) {
  if (size_of(shape) > kMostMade || size_of(shape) * terms > kMostTerms)
    refuse("a tensor that an operator makes is too large");
}

namespace {

u64 little_endian(std::string_view bytes) {
  u64 value = 0;
  for (std::size_t i = bytes.size(); i > 0; --i)
    value = value << 8 | static_cast<unsigned char>(bytes[i - 1]);
  return value;
}

// Bytes that are being read. Every length is held against what is left.
struct Bytes {
  std::string_view left;

  u64 varint() {
    u64 value = 0;
    for (unsigned shift = 0; shift < 70; shift += 7) {
      const u64 byte = fixed(1);
      if (shift == 63 && byte > 1) break;
      value |= (byte & 127) << shift;
      if (byte == 0 && shift > 0)
        refuse("the model's file has a number of more bytes than it needs");
      if (byte < 128) return value;
    }
    refuse("the model's file has a number of too many bytes");
  }

  u64 fixed(unsigned size) { return little_endian(text(size)); }

  u64 number(unsigned width) { return width == 0 ? varint() : fixed(width); }

  std::string_view text(u64 size) {
    if (size > left.size()) refuse("the model's file ends within a message");
    const std::string_view result = left.substr(0, static_cast<std::size_t>(size));
    left.remove_prefix(result.size());
    return result;
  }
};

// How a field may stand in a message: a varint, a number of four bytes or bytes, at most once;
// bytes any number of times; varints or numbers of four or eight bytes, packed in one field or each
// in one of its own.
struct Kind {
  char letter;
  unsigned wire, width;  // width: bytes of a number; 0: varints
  bool once, numbers;
};
constexpr Kind kKinds[] = {{'v', 0, 0, true, true},  {'f', 5, 4, true, true},
                           {'b', 2, 0, true, false}, {'B', 2, 0, false, false},
                           {'V', 0, 0, false, true}, {'F', 5, 4, false, true},
                           {'D', 1, 8, false, true}};

// A message. Its fields are those of a list of words, each a number and a letter of kKinds. All
// others are refused, and so are fields that protobuf would merge, or of which it would take the
// last.
class Message {
 public:
  Message(std::string_view message, const std::string& name, const std::string& fields)
      : name_(name) {
    for (Bytes in{message}; !in.left.empty();) {
      const u64 key = in.varint(), number = key >> 3, wire = key & 7;
      const std::string word = " " + std::to_string(number);
      const std::size_t at = fields.find(word), letter = at + word.size();
      const Kind* kind = nullptr;
      for (const Kind& each : kKinds)
        if (at != std::string::npos && fields[letter] == each.letter) kind = &each;
      if (kind == nullptr) fail(number, "is not in the checker's table");
      const bool packed = kind->numbers && !kind->once && wire == 2;
      if (wire != kind->wire && !packed) fail(number, "has another type");
      Field& field = fields_[number];
      if (field.seen && (kind->once || packed || field.packed)) fail(number, "stands twice");
      field.seen = true, field.packed = packed;
      const std::string_view bytes = wire == 2 ? in.text(in.varint()) : "";
      if (!kind->numbers) field.bytes.push_back(bytes);
      for (Bytes from{bytes}; !from.left.empty() && packed;)
        field.values.push_back(from.number(kind->width));
      if (kind->numbers && !packed) field.values.push_back(in.number(kind->width));
    }
  }

  bool has(u64 number) const { return fields_.count(number) != 0; }
  const std::vector<u64>& values(u64 number) const { return field(number).values; }
  const std::vector<std::string_view>& all(u64 number) const { return field(number).bytes; }
  u64 value(u64 number) const { return has(number) ? values(number)[0] : 0; }
  std::string_view bytes(u64 number) const { return has(number) ? all(number)[0] : ""; }
  std::string text(u64 number) const { return std::string(bytes(number)); }
  std::vector<i64> integers(u64 number) const {
    return {values(number).begin(), values(number).end()};
  }

 private:
  struct Field {
    bool seen = false, packed = false;
    std::vector<u64> values;
    std::vector<std::string_view> bytes;
  };

  [[noreturn]] void fail(u64 number, const std::string& why) const {
    refuse("field " + std::to_string(number) + " of the model's " + name_ + " " + why);
  }

  const Field& field(u64 number) const {
    static const Field none;
    const auto found = fields_.find(number);
    return found == fields_.end() ? none : found->second;
  }

  const std::string name_;
  std::map<u64, Field> fields_;
};

// A type of TensorProto's elements: its number, and the field that holds elements that are not raw.
struct ElementType {
  u64 type, field;
};
constexpr ElementType kElementTypes[] = {{1, 4}, {2, 5}, {3, 5}, {6, 5}, {7, 7}, {9, 5}, {11, 10}};

unsigned width_of(u64 type) {
  if (type == 2 || type == 3 || type == 9) return 1;
  return type == 7 || type == 11 ? 8 : 4;
}

Rat element(u64 type, u64 bits) {
  if (type == 1) return from_ieee(bits, 8, 23);
  if (type == 11) return from_ieee(bits, 11, 52);
  if (type == 3) return Rat(static_cast<std::int8_t>(bits));
  return Rat(
      static_cast<long>(type == 7 ? static_cast<i64>(bits) : static_cast<std::int32_t>(bits)));
}

// Throws Refused: an infinity, or NaN; more bits than the type has. raw: one of raw_data.
void expect_element(u64 type, u64 bits, bool raw) {
  if ((type == 1 && (bits >> 23 & 255) == 255) || (type == 11 && (bits >> 52 & 2047) == 2047))
    refuse("a number of the model is infinite, or none");
  const i64 value = static_cast<std::int32_t>(bits);
  const bool wide = type == 1 || type == 7 || type == 11;
  if (!wide && bits >> 32 != 0 && static_cast<u64>(value) != bits)
    refuse("a number of 32 bits has more");
  const bool is_signed = type == 3 && !raw;
  const i64 most = type == 9 ? 1 : is_signed ? 127 : 255;
  if (width_of(type) == 1 && (value > most || value < (is_signed ? -128 : 0)))
    refuse("a number of 8 bits, or a truth value, is another");
}

Tensor read_tensor(const Message& m) {
  Tensor tensor;
  if (m.value(14) != 0) refuse("a tensor's data are in another file");
  const ElementType* row = nullptr;
  for (const ElementType& each : kElementTypes)
    if (each.type == m.value(2)) row = &each;
  if (row == nullptr)
    refuse("element type " + std::to_string(m.value(2)) + " is not in the checker's table");
  for (const u64 field : {4, 5, 7, 9, 10})
    if (m.has(field) && field != row->field && (field != 9 || m.has(row->field)))
      refuse("a tensor has its data twice, or in a field of another type");
  tensor.shape = m.integers(1);
  tensor.type = row->type;
  const std::size_t size =
      m.has(9) ? m.bytes(9).size() / width_of(row->type) : m.values(row->field).size();
  if (static_cast<i64>(size) != size_of(tensor.shape) ||
      (m.has(9) && m.bytes(9).size() % width_of(row->type) != 0))
    refuse("a tensor has another number of elements than its shape says");
  tensor.data =
      m.has(9) ? Numbers(row->type, m.bytes(9)) : Numbers(row->type, m.values(row->field));
  return tensor;
}

Message tensor_message(std::string_view bytes) {
  return {bytes, "tensor", " 1V 2v 4F 5V 7V 8b 9b 10D 12b 14v 16B"};
}

Attribute read_attribute(const Message& m) {
  Attribute attribute;
  attribute.type = static_cast<i64>(m.value(20));
  constexpr u64 kFields[][2] = {{1, 2}, {2, 3}, {3, 4}, {4, 5}, {7, 8}};  // types, and their fields
  bool known = false;
  for (const auto& [type, field] : kFields) {
    if (m.has(field) && type != m.value(20)) refuse("an attribute has a value of another type");
    known = known || type == m.value(20);
  }
  if (!known) refuse("an attribute's type is not in the checker's table");
  attribute.real = from_ieee(m.value(2), 8, 23);
  attribute.number = static_cast<i64>(m.value(3));
  attribute.text = m.text(4);
  if (m.has(5)) attribute.tensor = read_tensor(tensor_message(m.bytes(5)));
  attribute.numbers = m.integers(8);
  return attribute;
}

Node read_node(std::string_view bytes) {
  Node node;
  const Message m(bytes, "node", " 1B 2B 3b 4b 5B 6b 7b 9B");
  node.inputs.assign(m.all(1).begin(), m.all(1).end());
  node.outputs.assign(m.all(2).begin(), m.all(2).end());
  node.op = m.text(4);
  if (!m.bytes(7).empty() && m.bytes(7) != "ai.onnx")
    refuse("operators of domain " + shown(m.text(7)) + " are not in the checker's table");
  for (const std::string_view each : m.all(5)) try {
      const Message message(each, "attribute", " 1b 2f 3v 4b 5b 8V 13b 20v");
      if (!node.attributes.emplace(message.text(1), read_attribute(message)).second)
        refuse("an attribute stands twice");
    } catch (const Refused& refused) {
      refuse("operator " + shown(node.op) + ": " + refused.what());
    }
  return node;
}

// ValueInfoProto: a name, and a tensor type whose extents are numbers or names.
GraphValue read_value(std::string_view bytes) {
  GraphValue value;
  const Message m(bytes, "value", " 1b 2b 3b 4B"), type(m.bytes(2), "type", " 1b 6b");
  const Message tensor(type.bytes(1), "tensor type", " 1v 2b");
  const Message shape(tensor.bytes(2), "shape", " 1B");
  value.name = m.text(1);
  value.type = tensor.value(1);
  value.has_shape = tensor.has(2);
  for (const std::string_view each : shape.all(1)) {
    const Message extent(each, "extent", " 1v 2b 3b");
    if (extent.has(1) && extent.has(2)) refuse("an extent has a number and a name");
    value.shape.push_back(extent.has(1) ? static_cast<i64>(extent.value(1)) : 1);
    value.open.push_back(!extent.has(1));
  }
  return value;
}

void read_graph(std::string_view bytes, Model& model) {
  const Message m(bytes, "graph", " 1B 2b 5B 10b 11B 12B 13B 14B 16B");
  for (const std::string_view each : m.all(1)) model.nodes.push_back(read_node(each));
  for (const std::string_view each : m.all(5)) {
    const Message tensor = tensor_message(each);
    if (!model.constants.emplace(tensor.text(8), read_tensor(tensor)).second)
      refuse("two initializers have the same name");
  }
  std::set<std::string> names;
  for (const u64 field : {11, 12}) {
    names.clear();
    for (const std::string_view each : m.all(field)) {
      GraphValue value = read_value(each);
      if (value.name.empty() || !names.insert(value.name).second)
        refuse("an input or an output has no name, or that of another");
      const auto constant = model.constants.find(value.name);
      if (field == 12) {
        model.outputs.push_back(std::move(value));
      } else if (constant != model.constants.end()) {
        expect_shape(value, constant->second.shape);
      } else if ((value.type != 1 && value.type != 11) || !value.has_shape) {
        refuse("an input's type is not in the checker's table");
      } else {
        model.inputs.push_back(std::move(value));
      }
    }
  }
}

}  // namespace

void expect_shape(const GraphValue& value, const std::vector<i64>& shape) {
  const bool same_rank = value.shape.size() == shape.size();
  bool fits = true, open = false;
  for (std::size_t i = 0; i < value.shape.size(); ++i) {
    open = open || value.open[i];
    fits = fits && (!same_rank || value.open[i] || value.shape[i] == shape[i]);
  }
  if (!same_rank && !open && value.has_shape) fits = size_of(value.shape) == size_of(shape);
  if (!fits) refuse("the shape of " + shown(value.name) + " is not as the model declares");
}

Numbers::Numbers(u64 type, std::string_view raw) : type_(type), raw_(raw) {
  expect_numbers();
}

Numbers::Numbers(u64 type, const std::vector<u64>& bits)
    : type_(type), bits_(std::make_shared<std::vector<u64>>(bits)) {
  expect_numbers();
}

void Numbers::expect_numbers() const {
  for (std::size_t i = 0; i < size(); ++i) expect_element(type_, bits(i), bits_ == nullptr);
}

std::size_t Numbers::size() const {
  if (type_ == 0) return made_.size();
  return bits_ != nullptr ? bits_->size() : raw_.size() / width_of(type_);
}

u64 Numbers::bits(std::size_t i) const {
  const unsigned width = width_of(type_);
  return bits_ != nullptr ? (*bits_)[i] : little_endian(raw_.substr(i * width, width));
}

Rat Numbers::operator[](std::size_t i) const {
  return type_ == 0 ? made_[i] : element(type_, bits(i));
}

std::vector<Rat> Numbers::all() const {
  std::vector<Rat> numbers;
  numbers.reserve(size());
  for (std::size_t i = 0; i < size(); ++i) numbers.push_back((*this)[i]);
  return numbers;
}

// An empty list takes the type of the first number pushed; the first number of another type makes
// all of them rationals.
void Numbers::push(const Numbers& from, std::size_t i) {
  if (size() == 0 && from.type_ != 0) {
    type_ = from.type_;
    bits_ = std::make_shared<std::vector<u64>>();
  }
  if (type_ != 0 && type_ != from.type_) *this = Numbers(all());
  if (type_ == 0) {
    made_.push_back(from[i]);
  } else {
    bits_->push_back(from.bits(i));
  }
}

Model read_onnx(std::string_view bytes) {
  Model model;
  const Message m(bytes, "file", " 1v 2b 3b 4b 5v 6b 7b 8B 14B");
  if (!m.has(7)) refuse("the model's file has no graph");
  bool seen = false;
  for (const std::string_view each : m.all(8)) {
    const Message set(each, "operator set", " 1b 2v");
    if (!set.bytes(1).empty() && set.bytes(1) != "ai.onnx") continue;
    if (seen) refuse("the model's file has two operator sets");
    seen = true;
    model.opset = static_cast<i64>(set.value(2));
  }
  read_graph(m.bytes(7), model);
  return model;
}

}  // namespace bf_check

#include "aot/check/network.h"

#include "aot/check/bounds.h"
#include "aot/check/value.h"

namespace bf_check {
namespace {

constexpr u64 kMostReserved = 1u << 24;  // terms: many weights may be 0

void fill_readers(Layer& layer) {
  if (layer.column.empty()) return;
  u32 last = 0;
  for (const u32 element : layer.column) last = element > last ? element : last;
  std::vector<u32> count(last + 1), place(last + 1);
  for (const u32 element : layer.column) ++count[element];
  layer.reader_start.push_back(0);
  for (u32 element = 0; element <= last; ++element) {
    if (count[element] == 0) continue;
    place[element] = layer.reader_start.back();
    layer.source.push_back(element);
    layer.reader_start.push_back(place[element] + count[element]);
  }
  layer.reader.resize(layer.column.size());
  layer.reader_weight.resize(layer.column.size());
  for (u32 row = 0; row < layer.count; ++row)
    for (u32 k = layer.start[row]; k < layer.start[row + 1]; ++k) {
      const u32 to = place[layer.column[k]]++;
      layer.reader[to] = row;
      layer.reader_weight[to] = layer.weight[k];
    }
}

}  // namespace

Value Builder::input(const std::vector<i64>& shape) {
  Value value;
  value.shape = shape;
  value.constant = false;
  const i64 size = size_of(shape);
  if (network_.elements + size > kMostElementsOfNetwork)
    refuse("the network has too many elements");
  for (i64 i = 0; i < size; ++i) value.ids.push_back(network_.elements++);
  network_.inputs = network_.layers[0].count = network_.elements;
  readers_.resize(network_.elements);
  layer_of_.resize(network_.elements, 0);
  addends_.resize(network_.elements, 1);
  return value;
}

GridWeight Builder::on_grid(const Rat& weight) const {
  bool rough = false;
  const Int down = floor_shifted(weight, network_.grid.weight_bits, &rough);
  return {to_i64(down, kWeightSize, "a weight of the network"), rough};
}

// s / sqrt(v) = sign(s) sqrt(q), q = s^2 / v, and floor(2^P sqrt(q)) = isqrt(floor(4^P q)).
GridWeight Builder::on_grid(const Rat& scale, const Rat& square) const {
  bool rough = false;
  const Int q = floor_shifted(scale * scale / square, 2 * network_.grid.weight_bits, &rough);
  Int root = sqrt(q);
  rough = rough || root * root != q;
  if (scale < 0) root = -root - (rough ? 1 : 0);
  return {to_i64(root, kWeightSize, "a weight of the network"), rough};
}

void Builder::begin(u64 terms, const Rounding& rounding) {
  if (network_.grid.float32 && rounding.how == Rounded::kUncovered) take(std::nullopt);
  begin(Kind::kAffine, terms);
  rounding_ = rounding;
  layer_.merges = rounding.how == Rounded::kMerged;
}

void Builder::begin(Kind kind, u64 terms) {
  layer_ = Layer();
  terms = terms < kMostReserved ? terms : kMostReserved;
  layer_.column.reserve(terms), layer_.weight.reserve(terms);
  layer_.kind = kind;
  layer_.first = network_.elements;
  layer_.first_number = static_cast<u32>(network_.relaxations.size());
  layer_.first_line = network_.functions;
  layer_.start.push_back(0);
  layer_.rough_start.push_back(0);
}

void Builder::argument(u32 element) {
  if (++readers_.at(element) > kMostReaders) refuse("too many elements read one");
  layer_.column.push_back(element);
}

bool Builder::term(u32 element, const GridWeight& weight) {
  if (weight.value == 0 && !weight.rough) return false;
  argument(element);
  layer_.weight.push_back(weight.value);
  if (weight.rough) layer_.rough.push_back(element);
  return true;
}

void Builder::end_row(const Rat& bias, const Rat& single) {
  bool rough = false;
  const Int down = floor_shifted(bias, network_.grid.value_bits, &rough);
  layer_.bias.push_back(to_i64(down, kValueSize, "a constant of the network"));
  layer_.rough_bias.push_back(rough);
  spend(kRationalSteps + row_terms());
  if (network_.grid.float32 && layer_.kind != Kind::kRelu) layer_.loss.push_back(row_loss());
  if (single != 0)
    links_[layer_.first + layer_.count] = {layer_.column.back(), nullptr, single, bias};
  layer_.start.push_back(static_cast<u32>(layer_.column.size()));
  layer_.rough_start.push_back(static_cast<u32>(layer_.rough.size()));
  if (layer_.column.size() > kMostTerms ||
      network_.elements + ++layer_.count > kMostElementsOfNetwork ||
      layer_.start.back() - layer_.start[layer_.start.size() - 2] > kMostReaders)
    refuse("the network is too large");
}

void Builder::take(const std::optional<Loss>& loss) {
  if (network_.grid.float32 && !loss)
    refuse("its roundings in float32 are not in the checker's table");
  loss_ = loss.value_or(Loss());
}

// A term of a sum of n addends meets at most n roundings, those of its product and of the others'
// additions. What merges is off by so much, and so are the sums that it reads, by themselves.
Loss Builder::row_loss() {
  if (layer_.kind != Kind::kAffine) return loss_;
  if (rounding_.how == Rounded::kExact) return {};
  u64 count = rounding_.more + 1 + (layer_.merges ? 0 : row_terms());
  for (u32 k = layer_.start.back(); k < layer_.column.size() && layer_.merges; ++k)
    count += addends_[layer_.column[k]];
  if (count >= u64{1} << 20) refuse("a sum of float32 has too many terms");
  addends_.resize(layer_.first + layer_.count + 1, 1);
  addends_.back() = static_cast<u32>(count);
  const u64 rest = (u64{1} << 24) - count;  // count u / (1 - count u), rounded up
  const i64 gamma = static_cast<i64>(((count << kLossBits) + rest - 1) / rest);
  return {layer_.merges ? 2 * gamma : gamma, 0};
}

std::vector<u32> Builder::end(bool bounds) {
  layer_.column.shrink_to_fit(), layer_.weight.shrink_to_fit();
  if (layer_.kind == Kind::kAffine) fill_readers(layer_);
  layer_.read_by.resize(layer_.count);
  std::vector<u32> ids(layer_.count);
  for (u32 row = 0; row < layer_.count; ++row) ids[row] = layer_.first + row;
  if (layer_.kind != Kind::kAffine) {
    for (u32 row = 0; row < layer_.count; ++row)
      network_.relaxations.push_back({layer_.kind, ids[row], layer_.column[layer_.start[row]]});
    if (bounds) read_by(layer_.kind == Kind::kRelu ? kReadByRelu : kReadByOther, layer_.column);
    if (layer_.kind == Kind::kFunction) network_.functions += layer_.count;
  }
  network_.elements += layer_.count;
  readers_.resize(network_.elements);
  addends_.resize(network_.elements, 1);
  layer_of_.resize(network_.elements, static_cast<u32>(network_.layers.size()));
  if (layer_.count > 0) network_.layers.push_back(std::move(layer_));
  return ids;
}

void Builder::read_by(ReadBy reader, const std::vector<u32>& ids) {
  for (const u32 id : ids) {
    Layer& layer = network_.layers[layer_of_.at(id)];
    if (layer.kind == Kind::kAffine) layer.read_by[id - layer.first] |= reader;
  }
}

std::vector<u32> Builder::elements_of(const Value& value) {
  if (!value.constant) return value.ids;
  begin(0, {Rounded::kExact});
  for (std::size_t i = 0; i < value.data.size(); ++i) end_row(value.data[i]);
  return end();
}

// The element and the program of it that an element is; where each is rounded, itself.
std::pair<u32, Program> Builder::form_of(u32 element) const {
  std::vector<const Link*> path;
  Program program;
  if (network_.grid.float32) return {element, program};
  for (auto found = links_.find(element); found != links_.end(); found = links_.find(element)) {
    element = found->second.element;
    if (found->second.program) {
      program = *found->second.program;
      break;
    }
    path.push_back(&found->second);
  }
  for (; !path.empty(); path.pop_back())
    program = program.scaled(path.back()->weight, path.back()->bias);
  return {element, program};
}

// Ends the layer that is made where it is of another kind, and begins one of this kind.
void Builder::turn_to(Kind kind, std::vector<u32>& ids) {
  if (layer_.kind == kind) return;
  const std::vector<u32> made = end();
  ids.insert(ids.end(), made.begin(), made.end());
  begin(kind, 0);
}

void Builder::function_row(u32 element, const Program& program) {
  std::shared_ptr<const Program>& shared = programs_[program];
  if (!shared) shared = std::make_shared<const Program>(program);
  spend(kRationalSteps * program.steps().size());
  links_[layer_.first + layer_.count] = {element, shared, 0, 0};
  layer_.program.push_back(shared);
  argument(element);
  end_row(0);
}

std::vector<u32> Builder::relus_of(const std::vector<u32>& ids) {
  begin(Kind::kRelu, 0);
  for (const u32 id : ids) {
    argument(id);
    end_row(0);
  }
  return end();
}

std::vector<u32> Builder::functions_of(const Program& function, const std::vector<u32>& ids,
                                       const std::optional<Loss>& loss, bool bounds) {
  take(loss);
  begin(Kind::kFunction, 0);
  for (const u32 id : ids) {
    auto [element, program] = form_of(id);
    const u32 result = program.add(function, program.result());
    function_row(element, program.ends_with(result));
  }
  return end(bounds);
}

std::vector<u32> Builder::products_of(const std::vector<u32>& ids, const std::vector<u32>& others,
                                      const std::optional<Loss>& loss) {
  std::vector<u32> made;
  take(loss);
  begin(Kind::kProduct, 0);
  for (std::size_t i = 0; i < ids.size(); ++i) {
    auto [element, program] = form_of(ids[i]);
    const auto [other, factor] = form_of(others.at(i));
    turn_to(element == other ? Kind::kFunction : Kind::kProduct, made);
    if (element == other) {
      const u32 a = program.result(), b = program.add(factor, 0);
      const u32 result = program.add(Op::kMul, a, b);
      function_row(element, program.ends_with(result));
    } else {
      argument(ids[i]), argument(others[i]);
      end_row(0);
    }
  }
  turn_to(Kind::kAffine, made);
  return made;
}

Network Builder::finish(const std::vector<u32>& outputs, Shapes shapes) {
  network_.outputs = outputs, network_.shapes = std::move(shapes);
  return std::move(network_);
}

const Value& Operands::in(std::size_t i) const {
  if (optional(i) == nullptr) refuse("operator " + shown(node.op) + " lacks an input");
  return *inputs[i];
}

const Value& Operands::constant(std::size_t i) const {
  if (!in(i).constant)
    refuse("operator " + shown(node.op) + " with a computed input " + std::to_string(i) +
           " is not in the checker's table");
  return *inputs[i];
}

const Attribute* Operands::attribute(const char* name, i64 type) const {
  const auto found = node.attributes.find(name);
  if (found == node.attributes.end()) return nullptr;
  if (found->second.type != type)
    refuse("operator " + shown(node.op) + ": attribute " + name + " has another type");
  return &found->second;
}

std::size_t axis_of(i64 axis, std::size_t rank) {
  const i64 size = static_cast<i64>(rank);
  if (axis < -size || axis >= size) refuse("an axis does not exist");
  return static_cast<std::size_t>(axis < 0 ? axis + size : axis);
}

std::vector<i64> integers_of(const Value& value) {
  std::vector<i64> integers;
  for (const Rat& number : value.data.all()) {
    if (number.get_den() != 1 || !number.get_num().fits_slong_p())
      refuse("an index or extent is no integer");
    integers.push_back(number.get_num().get_si());
  }
  return integers;
}

namespace {

const Operator* found(const std::string& name,
                      std::initializer_list<const std::vector<Operator>*> tables) {
  for (const auto* const table : tables)
    for (const Operator& row : *table)
      if (name == row.name) return &row;
  return nullptr;
}

}  // namespace

const Operator* real_operator(const std::string& name) {
  return found(
      name, {&computing_operators(), &function_operators(), &sum_operators(), &window_operators()});
}

namespace {

// Throws Refused: an operator, a number or type of inputs, or an attribute that no table has.
const Operator& operator_of(const Operands& o) {
  const std::string where = "operator " + shown(o.node.op);
  const Operator* row =
      found(o.node.op, {&moving_operators(), &shape_operators(), &quantised_operators()});
  if (row == nullptr) {
    const bool integers = o.optional(0) != nullptr && o.inputs[0]->type != 0;
    row = integers ? found(o.node.op, {&integer_operators()}) : real_operator(o.node.op);
    bool fits = true;
    for (std::size_t i = integers ? o.inputs.size() : 1; i < o.inputs.size(); ++i)
      fits = fits && (o.inputs[i] == nullptr || o.inputs[i]->type == 0 ||
                      (row != nullptr && row->has_axes));
    for (const Value* const each : o.inputs)
      fits = fits && (!integers || each == nullptr || each->constant);
    if (!fits || (row == nullptr && integers))
      refuse(where + ": arithmetic of integers is not in the checker's table");
  }
  if (row == nullptr || o.inputs.size() > row->inputs)
    refuse(where + " is not in the checker's table");
  for (const auto& [name, attribute] : o.node.attributes)
    if (name.empty() || name.find(' ') != std::string::npos ||
        std::string(row->attributes).find(" " + name + " ") == std::string::npos)
      refuse(where + ": attribute " + shown(name) + " is not in the checker's table");
  return *row;
}

void expect_float32(const Model& model) {
  bool wide = false;
  for (const GraphValue& input : model.inputs) wide = wide || input.type != 1;
  for (const auto& [name, tensor] : model.constants) wide = wide || tensor.type == 11;
  for (const Node& node : model.nodes)
    for (const auto& [name, attribute] : node.attributes)
      wide = wide || attribute.tensor.type == 11;
  if (wide) refuse("doubles are not in the checker's table of float32");
}

// Steps that count for a tensor which an operator makes. Loops run over the other extents where one
// is 0.
u64 steps_of(const Value& value) {
  constexpr u64 kOfNumber = 512, kOfElement = 4;
  size_of(value.shape);  // refuses what is beyond the limits
  u64 places = 1;
  for (const i64 extent : value.shape) places *= static_cast<u64>(extent > 0 ? extent : 1);
  return places * (value.constant ? kOfNumber : kOfElement);
}

// Carries the nodes out in the file's order. Returns the outputs' values, one after the other.
std::vector<Value> run(const Model& model, const std::vector<Value>& inputs, Builder& builder) {
  if (model.opset < 1 || model.opset > 28)
    refuse("operator set " + std::to_string(model.opset) + " is not in the checker's table");
  if (builder.grid().float32) expect_float32(model);
  std::map<std::string, Value> values;
  for (const auto& [name, tensor] : model.constants) {
    values.emplace(name, value_of(tensor));
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) values.emplace(model.inputs[i].name, inputs[i]);
  for (const Node& node : model.nodes) {
    const std::string where = "operator " + shown(node.op);
    Operands operands{node, {}, builder, model.opset};
    for (const std::string& name : node.inputs) {
      const auto found = values.find(name);
      if (!name.empty() && found == values.end())
        refuse(where + " reads " + shown(name) + ", which no earlier node makes");
      operands.inputs.push_back(name.empty() ? nullptr : &found->second);
    }
    const Operator& row = operator_of(operands);
    for (; operands.output < node.outputs.size(); ++operands.output) {
      const std::string& name = node.outputs[operands.output];
      if (name.empty()) continue;
      if (operands.output >= row.outputs)
        refuse(where + " has an output that is not in the checker's table");
      try {
        const auto [made, is_new] = values.emplace(name, row.rule(operands));
        if (!is_new) refuse("two values have the same name");
        builder.spend(steps_of(made->second));
      } catch (const Refused& refused) {
        const std::string why = refused.what();
        refuse(why.rfind("operator ", 0) == 0 ? why : where + ": " + why);
      }
    }
  }
  std::vector<Value> outputs;
  for (const GraphValue& output : model.outputs) {
    const auto found = values.find(output.name);
    if (found == values.end()) refuse("no node makes the output " + shown(output.name));
    expect_shape(output, found->second.shape);
    outputs.push_back(found->second);
  }
  return outputs;
}

// Numbers or elements, one after the other.
struct Wire {
  bool constant;
  Rat number;
  u32 id;
};

void append(const Value& value, std::vector<Wire>& wires) {
  for (i64 i = 0; i < value.size(); ++i) {
    const std::size_t at = static_cast<std::size_t>(i);
    wires.push_back(value.constant ? Wire{true, value.data[at], 0} : Wire{false, 0, value.ids[at]});
  }
}

// The tensor of some of them: constant where all are.
Value wired(const std::vector<i64>& shape, const std::vector<Wire>& wires, Builder& builder) {
  std::vector<Rat> numbers;
  for (const Wire& wire : wires)
    if (wire.constant) numbers.push_back(wire.number);
  if (numbers.size() == wires.size()) return constant_of(shape, numbers);
  Value value;
  value.shape = shape, value.constant = false;
  value.ids = builder.elements_of(constant_of({static_cast<i64>(numbers.size())}, numbers));
  std::size_t made = 0;
  std::vector<u32> ids;
  for (const Wire& wire : wires) ids.push_back(wire.constant ? value.ids[made++] : wire.id);
  value.ids = std::move(ids);
  return value;
}

// Carries out the models, one behind the other. inputs: numbers or elements. Returns the outputs'
// values, one after the other.
std::vector<Value> run_all(const std::vector<Model>& models, const Wiring& wiring,
                           const Value& inputs, Builder& builder, Shapes& shapes) {
  std::vector<Wire> wires;
  append(inputs, wires);
  std::vector<Value> outputs;
  std::size_t at = 0;
  for (const Model& model : models) {
    std::vector<Value> values;
    shapes.emplace_back();
    for (const GraphValue& input : model.inputs) {
      shapes.back().push_back(input.shape);
      std::vector<Wire> own;
      for (i64 i = size_of(input.shape); i > 0; --i, ++at) {
        if (at >= wiring.source.size()) refuse("the models have more inputs than the property");
        own.push_back(wires.at(wiring.source[at]));
      }
      values.push_back(wired(input.shape, own, builder));
    }
    if (values.empty()) refuse("the model has no input");
    for (Value& output : run(model, values, builder)) {
      append(output, wires);
      shapes.back().push_back(output.shape);
      outputs.push_back(std::move(output));
    }
  }
  if (at != wiring.source.size()) refuse("the models have fewer inputs than the property");
  return outputs;
}

}  // namespace

Network make_network(const std::vector<Model>& models, const Wiring& wiring, const Grid& grid,
                     Work& work) {
  Builder builder(grid, work);
  const Value inputs = builder.input({wiring.inputs});
  std::vector<u32> outputs;
  Shapes shapes;
  for (const Value& output : run_all(models, wiring, inputs, builder, shapes)) {
    const std::vector<u32> ids = builder.elements_of(output);
    outputs.insert(outputs.end(), ids.begin(), ids.end());
  }
  std::vector<u32> variables = inputs.ids;
  variables.insert(variables.end(), outputs.begin(), outputs.end());
  for (const auto& [a, b] : wiring.products) {
    const u32 product = builder.products_of({variables.at(a)}, {variables.at(b)}, Loss{}).at(0);
    variables.push_back(product);
    outputs.push_back(product);
  }
  return builder.finish(outputs, std::move(shapes));
}

// Elements of float32 numbers, from which on each operation may round.
static Value rounded_from(const Value& x, Builder& builder) {
  for (std::size_t i = 0; i < x.data.size(); ++i)
    if (!is_ieee(x.data[i], 8, 23)) throw NotProven("the point is none of float32 numbers");
  return {x.shape, false, 0, {}, builder.elements_of(x)};
}

Outputs evaluate(const std::vector<Model>& models, const Wiring& wiring,
                 const std::vector<Rat>& point, const Grid& grid, unsigned coefficient_bits,
                 Work& work) {
  Builder builder(grid, work);
  if (point.size() != wiring.inputs) refuse("the point has another number of inputs");
  Outputs results;
  const Value inputs = constant_of({static_cast<i64>(point.size())}, point);
  const std::vector<Value> outputs =
      run_all(models, wiring, grid.float32 ? rounded_from(inputs, builder) : inputs, builder,
              results.shapes);
  for (const Value& output : outputs) builder.read_by(kReadByOther, output.ids);
  const Network network = builder.finish({}, {});  // of what is behind irrational numbers
  Bounder bounder(network, coefficient_bits, work);
  Part part = bounder.whole({}, {});
  bounder.derive(part);
  const Rat unit(1, u64{1} << grid.value_bits);
  for (const Value& output : outputs) {
    for (const u32 id : output.ids) {
      results.lower.push_back(part.lower[id] * unit);
      results.upper.push_back(part.upper[id] * unit);
    }
    const std::vector<Rat> numbers = output.data.all();
    for (auto* ends : {&results.lower, &results.upper})
      ends->insert(ends->end(), numbers.begin(), numbers.end());
  }
  return results;
}

}  // namespace bf_check

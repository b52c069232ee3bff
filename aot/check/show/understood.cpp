#include "aot/check/certificate.h"
#include "aot/check/show/show.h"

namespace bf_check::show {
namespace {

std::string hexadecimal(const std::string& bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const char c : bytes) {
    const unsigned byte = static_cast<unsigned char>(c);
    text += {kDigits[byte >> 4], kDigits[byte & 15]};
  }
  return text;
}

std::string text_of(const std::vector<i64>& shape) {
  std::string text = "[";
  for (const i64 extent : shape)
    text += (text.size() > 1 ? "," : "") + (extent < 0 ? "?" : std::to_string(extent));
  return text + "]";
}

// The digest of a tensor's numbers, each as [-]DIGITS or [-]DIGITS/DIGITS and an end of the line.
std::string digest_of(const Tensor& tensor) {
  std::string text;
  for (std::size_t i = 0; i < tensor.data.size(); ++i) text += tensor.data[i].get_str() + "\n";
  return hexadecimal(sha256(text));
}

std::string type_name(u64 type) {
  const std::map<u64, std::string> names = {{1, "float"}, {2, "uint8"}, {3, "int8"},   {6, "int32"},
                                            {7, "int64"}, {9, "bool"},  {11, "double"}};
  const auto found = names.find(type);
  return found == names.end() ? "type-" + std::to_string(type) : found->second;
}

std::string constant_text(const std::string& name, const Tensor& tensor) {
  return "  constant " + shown(name) + " " + type_name(tensor.type) + " " + text_of(tensor.shape) +
         " " + digest_of(tensor) + "\n";
}

std::string model_text(const Model& model, const std::string& bytes) {
  std::string text = "model " + hexadecimal(sha256(bytes)) + "\n";
  text += "  operator-set " + std::to_string(model.opset) + "\n";
  for (const auto* values : {&model.inputs, &model.outputs})
    for (const GraphValue& value : *values)
      text += (values == &model.inputs ? "  input " : "  output ") + shown(value.name) + " " +
              type_name(value.type) + " " + text_of(value.shape) + "\n";
  std::map<std::string, std::size_t> counts;
  std::map<std::string, Tensor> constants = model.constants;
  for (const Node& node : model.nodes) {
    ++counts[node.op];
    const auto value = node.attributes.find("value");
    if (node.op == "Constant" && value != node.attributes.end() && !node.outputs.empty())
      constants.emplace(node.outputs[0], value->second.tensor);
  }
  for (const auto& [op, count] : counts)
    text += "  operator " + shown(op) + " " + std::to_string(count) + "\n";
  for (const auto& [name, tensor] : constants) text += constant_text(name, tensor);
  return text;
}

std::string network_text(const Network& network) {
  std::size_t terms = 0, relus = 0, functions = 0, products = 0;
  for (const Layer& layer : network.layers)
    if (layer.kind == Kind::kAffine) terms += layer.column.size();
  for (const Relaxed& each : network.relaxations) {
    relus += each.kind == Kind::kRelu ? 1 : 0;
    functions += each.kind == Kind::kFunction ? 1 : 0;
    products += each.kind == Kind::kProduct ? 1 : 0;
  }
  const std::size_t sums = network.elements - network.inputs - network.relaxations.size();
  std::string text = "network\n";
  const std::pair<const char*, std::size_t> rows[] = {{"elements", network.elements},
                                                      {"inputs", network.inputs},
                                                      {"sums", sums},
                                                      {"terms", terms},
                                                      {"relus", relus},
                                                      {"functions", functions},
                                                      {"products", products}};
  for (const auto& [name, count] : rows)
    text += "  " + std::string(name) + " " + std::to_string(count) + "\n";
  return text;
}

class PropertyText {
 public:
  explicit PropertyText(const Property& property) : property_(property) {}

  std::string text(const std::string& bytes) const {
    std::string text = "property " + hexadecimal(sha256(bytes)) + "\n";
    for (const Declared& network : property_.networks) {
      text += "  network " + (network.name.empty() ? "-" : shown(network.name)) + " " +
              std::to_string(network.inputs) + " " + std::to_string(network.outputs);
      for (const std::vector<i64>& shape : network.shapes) text += " " + text_of(shape);
      text += "\n";
    }
    if (property_.networks.size() > 1)
      for (const u32 variable : property_.wiring.source) text += "  reads " + name(variable) + "\n";
    const auto& products = property_.wiring.products;
    for (std::size_t i = 0; i < products.size(); ++i)
      text += "  product P_" + std::to_string(i) + " " + name(products[i].first) + " " +
              name(products[i].second) + "\n";
    for (const Case& each : property_.cases) {
      text += "  case\n";
      for (std::size_t i = 0; i < each.lower.size(); ++i)
        text += "    X_" + std::to_string(i) + " " + each.lower[i].get_str() + " " +
                each.upper[i].get_str() + "\n";
      for (const Clause& clause : each.clauses) {
        text += "    clause\n";
        for (const Clause::Atom& atom : clause.atoms) text += condition(atom);
      }
    }
    return text;
  }

 private:
  // Input elements are X, outputs of all networks Y, and products P.
  std::string name(u32 variable) const {
    if (variable < property_.inputs) return "X_" + std::to_string(variable);
    variable -= property_.inputs;
    if (variable < property_.outputs) return "Y_" + std::to_string(variable);
    return "P_" + std::to_string(variable - property_.outputs);
  }

  std::string condition(const Clause::Atom& atom) const {
    std::string text = "      ";
    for (const auto& [variable, coefficient] : atom.terms)
      text += coefficient.get_str() + " " + name(variable) + " + ";
    return text + atom.constant.get_str() + (atom.strict ? " < 0\n" : " <= 0\n");
  }

  const Property& property_;
};

std::string header_text(const Header& header) {
  std::string text = "certificate " + std::string(kMagic) + "\n";
  text += std::string("  statement ") + (header.statement == kHolds ? "verified" : "falsified");
  text += header.grid.float32 ? "\n  semantics float32 " + std::to_string(header.grid.ulps)
                              : std::string("\n  semantics real");
  text += "\n  grid " + std::to_string(header.grid.weight_bits) + " " +
          std::to_string(header.grid.value_bits) + " " + std::to_string(header.coefficient_bits);
  for (const std::string& digest : header.models) text += "\n  model " + hexadecimal(digest);
  return text + "\n  property " + hexadecimal(header.property) + "\n  tool " + shown(header.tool) +
         "\n";
}

}  // namespace

std::string understood(const std::vector<std::string>& models, const std::string& property,
                       const std::string& certificate) {
  Input in(certificate);
  const Header header = read_header(in);
  const Property asked = read_property(property);
  const std::vector<Model> read = read_models(models, asked);
  Work work(most_steps(certificate));
  const Network network = make_network(read, asked.wiring, header.grid, work);
  expect_fit(network, asked);
  std::string text = header_text(header);
  for (std::size_t i = 0; i < models.size(); ++i) text += model_text(read[i], models[i]);
  return text + network_text(network) + PropertyText(asked).text(property);
}

}  // namespace bf_check::show

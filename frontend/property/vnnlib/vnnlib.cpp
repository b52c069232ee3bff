#include "frontend/property/vnnlib/vnnlib.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "frontend/diagnostic.h"
#include "frontend/float_environment.h"
#include "frontend/graph/graph.h"
#include "frontend/graph/model.h"
#include "frontend/property/vnnlib/cases.h"
#include "frontend/property/vnnlib/declarations.h"
#include "frontend/property/vnnlib/formula.h"
#include "frontend/property/vnnlib/lexer.h"
#include "frontend/property/vnnlib/source.h"
#include "frontend/property/vnnlib/tied_inputs.h"

namespace bf_aot {
namespace vnnlib {
namespace {

// SMT-LIB commands that say nothing about the property.
constexpr std::array<std::string_view, 7> kIgnored = {
    "set-logic", "set-info", "set-option", "check-sat", "get-model", "get-value", "exit"};

class Reader {
 public:
  Reader(std::string_view text, std::string_view file_name, const PropertyLimits& limits)
      : limits_(limits),
        file_name_(file_name),
        lexer_(text, file_name_),
        declarations_(lexer_, limits_),
        formulas_(lexer_, declarations_, limits_) {}

  Property read() {
    while (lexer_.peek().kind != TokenKind::kEnd) read_command();
    Property property;
    property.file_name = file_name_;
    declarations_.finish(property);
    if (declarations_.has_several_networks()) tie_inputs(property);
    CaseBuilder cases(declarations_, formulas_.rows(), limits_, file_name_);
    cases.set_common(common_);
    for (const Disjunct& disjunct : alternatives_) cases.add(disjunct);
    property.cases = cases.take();
    formulas_.take(property);
    return property;
  }

 private:
  // The networks of a property's inputs and outputs.
  static NetworkNumbers network_numbers(const Property& property) {
    NetworkNumbers numbers;
    std::size_t input = 0, output = 0;
    for (std::size_t n = 0; n < property.networks.size(); ++n) {
      const auto add = [n](const std::vector<PropertyTensor>& tensors, std::size_t& next,
                           std::size_t count, std::vector<int>& to) {
        for (const std::size_t end = next + count; next < end; ++next)
          to.insert(to.end(), static_cast<std::size_t>(element_count(tensors[next].shape)),
                    static_cast<int>(n));
      };
      add(property.inputs, input, property.networks[n].inputs, numbers.inputs);
      add(property.outputs, output, property.networks[n].outputs, numbers.outputs);
    }
    return numbers;
  }

  // Replaces inputs that all alternatives say to be equal by one, or by an output.
  void tie_inputs(Property& property) {
    auto tied = find_tied_inputs(common_.conditions, formulas_.rows(), network_numbers(property));
    if (!tied) return;
    const Token place = lexer_.peek();
    formulas_.rename_inputs(common_, *tied, place);
    for (Disjunct& disjunct : alternatives_) formulas_.rename_inputs(disjunct, *tied, place);
    property.input_source = tied->source;
    property.input_count = tied->count;
    declarations_.tie_inputs(std::move(tied->source), tied->count);
  }

  void read_command() {
    const Token open = lexer_.expect(TokenKind::kOpen, "'('");
    const Token command = lexer_.expect(TokenKind::kWord, "a command");
    const std::string_view name = command.text;
    if (name == "assert") {
      read_assertion(open);
    } else if (name == "declare-const" || name == "declare-fun") {
      declarations_.read_constant(name == "declare-fun");
    } else if (name == "declare-network") {
      declarations_.read_network();
    } else if (name == "vnnlib-version") {
      read_version();
    } else if (std::find(kIgnored.begin(), kIgnored.end(), name) != kIgnored.end()) {
      skip_command();
    } else {
      fail("BF3403", lexer_.place(command), fmt::format("unknown command {}", describe(command)),
           "a property is made of declare-const and assert");
    }
  }

  void read_version() {
    const Token version = lexer_.expect(TokenKind::kWord, "a version like <2.0>");
    std::string_view number = version.text;
    if (number.starts_with('<') && number.ends_with('>'))
      number = number.substr(1, number.size() - 2);
    if (!number.starts_with("1.") && !number.starts_with("2."))
      fail("BF3410", lexer_.place(version),
           fmt::format("version {} of VNN-LIB is not supported", describe(version)),
           "versions 1.0 and 2.0 are");
    lexer_.expect(TokenKind::kClose, "')'");
  }

  void skip_command() {
    for (int depth = 1; depth > 0;) {
      const Token token = lexer_.next();
      if (token.kind == TokenKind::kEnd) lexer_.fail_expected(token, "')'");
      if (token.kind == TokenKind::kOpen) ++depth;
      if (token.kind == TokenKind::kClose) --depth;
    }
  }

  // Conjunctions, which nearly all asserts are, go where all cases have them in common.
  void read_assertion(const Token& place) {
    Disjunction formula = formulas_.read();
    lexer_.expect(TokenKind::kClose, "')' after the formula");
    if (formula.size() == 1) {
      Disjunct& only = formula[0];
      std::move(only.bounds.begin(), only.bounds.end(), std::back_inserter(common_.bounds));
      std::move(only.conditions.begin(), only.conditions.end(),
                std::back_inserter(common_.conditions));
    } else {
      alternatives_ = conjoin(std::move(alternatives_), std::move(formula), limits_, lexer_, place);
    }
  }

  const PropertyLimits limits_;
  const std::string file_name_;
  Lexer lexer_;
  Declarations declarations_;
  FormulaReader formulas_;
  Disjunct common_;
  Disjunction alternatives_ = Disjunction(1);
};

std::vector<Shape> shapes_without_ones(const std::vector<PropertyTensor>& tensors) {
  std::vector<Shape> shapes;
  for (const PropertyTensor& tensor : tensors) {
    shapes.push_back(tensor.shape);
    std::erase(shapes.back(), 1);
  }
  return shapes;
}

std::string counted(std::int64_t count, const char* what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

void check_count(const Property& property, bool inputs, std::int64_t expected) {
  const std::int64_t found = inputs ? property.input_count : property.output_count;
  if (found != expected)
    fail("BF3408", property.file_name,
         fmt::format("the property declares {} but the network has {}",
                     counted(found, inputs ? "input" : "output"), expected),
         "it belongs to another network");
}

// Returns the tensors of a network: those of the networks before it are skipped.
std::vector<PropertyTensor> tensors_of(const Property& property, std::size_t network, bool inputs) {
  const auto count = [inputs](const PropertyNetwork& one) {
    return static_cast<std::ptrdiff_t>(inputs ? one.inputs : one.outputs);
  };
  auto first = (inputs ? property.inputs : property.outputs).begin();
  for (std::size_t i = 0; i < network; ++i) first += count(property.networks[i]);
  return {first, first + count(property.networks[network])};
}

// VNN-LIB 2.0: shapes and names, in the order of the model.
void check_tensors(const std::string& file_name, const std::vector<PropertyTensor>& tensors,
                   const Graph& graph, bool inputs) {
  const std::vector<ValueId>& values = inputs ? graph.inputs : graph.outputs;
  const char* const what = inputs ? "inputs" : "outputs";
  if (tensors.size() != values.size())
    fail("BF3408", file_name,
         fmt::format("the property declares {} {} but the network has {}", tensors.size(), what,
                     values.size()));
  const std::vector<Shape> shapes = shapes_without_ones(tensors);
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const Value& value = graph.value(values[i]);
    Shape shape = value.shape;
    std::erase(shape, 1);
    if (shape != shapes[i])
      fail("BF3408", file_name,
           fmt::format("{} has shape {} but the network's {} has {}", tensors[i].name,
                       to_string(tensors[i].shape), printable(value.name), to_string(value.shape)));
    if (!tensors[i].hidden && !tensors[i].model_name.empty() && tensors[i].model_name != value.name)
      fail("BF3408", file_name,
           fmt::format("{} is '{}' in the model but the network has '{}' there", tensors[i].name,
                       printable(tensors[i].model_name), printable(value.name)),
           fmt::format("declare the {} in the order of the model", what));
  }
}

}  // namespace
}  // namespace vnnlib

Property parse_property(std::string_view text, std::string_view file_name,
                        const PropertyLimits& limits) {
  expect_float_environment();
  return vnnlib::Reader(text, printable(file_name), limits).read();
}

Property read_property(const std::filesystem::path& path, const PropertyLimits& limits) {
  const std::string text = vnnlib::read_source(path, limits.bytes);
  return parse_property(text, path.filename().string(), limits);
}

void check_interface(const Property& property, const Graph& graph) {
  const int networks = std::max(1, static_cast<int>(property.networks.size()));
  if (graph.networks != networks)
    fail("BF3410", property.file_name,
         fmt::format("the query is about {} networks, and one is given", networks),
         "bf-aot verify QUERY --network NAME=FILE, once for each of them");
  for (const bool inputs : {true, false}) {
    std::int64_t count = 0;
    for (const ValueId id : inputs ? graph.inputs : graph.outputs)
      count += element_count(graph.value(id).shape);
    vnnlib::check_count(property, inputs, count);
  }
  if (property.networks.size() == 1) check_network(property, 0, graph);
}

void check_network(const Property& property, std::size_t network, const Graph& graph) {
  for (const bool inputs : {true, false})
    vnnlib::check_tensors(property.file_name, vnnlib::tensors_of(property, network, inputs), graph,
                          inputs);
}

std::map<std::size_t, std::string> hidden_tensors(const Property& property, std::size_t network) {
  std::map<std::size_t, std::string> hidden;
  if (network >= property.networks.size()) return hidden;
  const std::vector<PropertyTensor> outputs = vnnlib::tensors_of(property, network, false);
  for (std::size_t i = 0; i < outputs.size(); ++i)
    if (outputs[i].hidden) hidden.emplace(i, outputs[i].model_name);
  return hidden;
}

}  // namespace bf_aot

#include "frontend/property/vnnlib/declarations.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <functional>
#include <optional>

#include "frontend/diagnostic.h"

namespace bf_aot::vnnlib {
namespace {

// "X_12" -> 12 with prefix 'X'; nothing for other names.
std::optional<std::int64_t> scalar_index(std::string_view name, char prefix) {
  if (name.size() < 3 || name[0] != prefix || name[1] != '_') return std::nullopt;
  std::int64_t index = 0;
  const char* const end = name.data() + name.size();
  const auto [stop, error] = std::from_chars(name.data() + 2, end, index);
  const bool another_way = name[2] == '-' || (name[2] == '0' && name.size() > 3);  // X_-0, X_00
  if (error != std::errc() || stop != end || index < 0 || another_way) return std::nullopt;
  return index;
}

// "[2, 3]" -> 2, 3. Nothing when it is no list of numbers.
std::optional<Shape> parse_indices(std::string_view text) {
  if (text.size() < 2 || text.front() != '[' || text.back() != ']') return std::nullopt;
  text = text.substr(1, text.size() - 2);
  Shape numbers;
  const auto skip_blanks = [&] {
    while (!text.empty() && std::isspace(static_cast<unsigned char>(text[0])) != 0)
      text.remove_prefix(1);
  };
  for (skip_blanks(); !text.empty(); skip_blanks()) {
    std::int64_t number = 0;
    const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || number < 0) return std::nullopt;
    numbers.push_back(number);
    text.remove_prefix(static_cast<std::size_t>(stop - text.data()));
    skip_blanks();
    if (text.empty()) break;
    if (text[0] != ',') return std::nullopt;
    text.remove_prefix(1);
    skip_blanks();
    if (text.empty()) return std::nullopt;  // a comma at the end
  }
  return numbers;
}

constexpr std::array<std::string_view, 5> kFloatTypes = {"float16", "float64", "double", "bfloat16",
                                                         "float"};

}  // namespace

void Declarations::read_constant(bool function) {
  const Token name = lexer_.expect(TokenKind::kWord, "the name of a variable");
  if (function) {
    lexer_.expect(TokenKind::kOpen, "'()'");
    lexer_.expect(TokenKind::kClose, "')'");
  }
  const Token type = lexer_.expect(TokenKind::kWord, "the type Real");
  if (type.text != "Real") lexer_.fail_expected(type, "the type Real");
  lexer_.expect(TokenKind::kClose, "')'");
  declare_scalar(name);
}

void Declarations::declare_scalar(const Token& name) {
  if (!networks_.empty())
    fail("BF3405", lexer_.place(name), "a variable beside a declared network",
         "use the syntax of one version of VNN-LIB");
  const auto input = scalar_index(name.text, 'X');
  const auto output = scalar_index(name.text, 'Y');
  if (!input && !output)
    fail("BF3405", lexer_.place(name),
         fmt::format("variable {} is neither an input nor an output", describe(name)),
         "name inputs X_0, X_1, ... and outputs Y_0, Y_1, ...");
  const std::int64_t index = input ? *input : *output;
  if (index >= limits_.variables)
    fail("BF3404", lexer_.place(name), fmt::format("more than {} variables", limits_.variables));
  std::vector<bool>& declared = scalars_[input ? 0 : 1];
  const auto i = static_cast<std::size_t>(index);
  if (i >= declared.size()) declared.resize(i + 1);
  if (declared[i])
    fail("BF3405", lexer_.place(name), fmt::format("{} is declared twice", describe(name)));
  declared[i] = true;
  count_[input ? 0 : 1] = static_cast<std::int64_t>(declared.size());
}

void Declarations::check_name(const Token& name) const {
  const std::string_view text = name.text;
  const bool letter = !text.empty() && std::isalpha(static_cast<unsigned char>(text[0])) != 0;
  const bool rest = std::all_of(text.begin(), text.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
  });
  if (!letter || !rest) lexer_.fail_expected(name, "a name of letters, digits and '_'");
}

Shape Declarations::read_shape() {
  const Token token = lexer_.expect(TokenKind::kWord, "a shape like [1,10]");
  const auto shape = parse_indices(token.text);
  if (!shape) lexer_.fail_expected(token, "a shape like [1,10]");
  std::int64_t count = 1;
  for (const std::int64_t dimension : *shape) {
    if (dimension == 0) lexer_.fail_expected(token, "a shape without zeros");
    if (dimension > limits_.variables / count)
      fail("BF3404", lexer_.place(token), fmt::format("more than {} variables", limits_.variables));
    count *= dimension;
  }
  return *shape;
}

void Declarations::read_tensor(const Token& keyword) {
  const bool output = keyword.text != "declare-input";
  PropertyNetwork& network = networks_.back();
  if (!output && network.outputs > 0)
    fail("BF3405", lexer_.place(keyword), "an input behind an output", "declare inputs first");
  const Token name = lexer_.expect(TokenKind::kWord, "the name of a tensor");
  check_name(name);
  const Token type = lexer_.expect(TokenKind::kWord, "an element type");
  if (std::find(kFloatTypes.begin(), kFloatTypes.end(), type.text) != kFloatTypes.end())
    fail("BF3409", lexer_.place(type),
         fmt::format("the query is about {} arithmetic, but bounds hold for the network in exact "
                     "arithmetic or in float32",
                     type.text),
         "write Real or float32 if that is what you want to know");
  if (type.text != "Real" && type.text != "real" && type.text != "float32")
    fail("BF3409", lexer_.place(type),
         fmt::format("element type {} is not supported", describe(type)),
         "only Real and float32 are");
  for (const std::vector<PropertyTensor>& others : tensors_)
    if (!others.empty() && (others.front().element_type == "float32") != (type.text == "float32"))
      fail("BF3409", lexer_.place(type), "tensors of several element types",
           "declare all of them Real, or all float32");
  PropertyTensor tensor{std::string(name.text), std::string(type.text), read_shape(), {}};
  if (lexer_.peek().kind == TokenKind::kString) tensor.model_name = std::string(lexer_.next().text);
  tensor.hidden = keyword.text == "declare-hidden";
  if (tensor.hidden && tensor.model_name.empty())
    fail("BF3405", lexer_.place(name), "a hidden tensor without its name in the model",
         "write (declare-hidden H Real [1,50] \"name\")");
  lexer_.expect(TokenKind::kClose, "')'");
  std::int64_t& count = count_[output ? 1 : 0];
  const Tensor made = {output, count, tensor.shape};
  if (!by_name_.try_emplace(network.name + "." + tensor.name, made).second)
    fail("BF3405", lexer_.place(name), fmt::format("{} is declared twice", describe(name)));
  const auto [known, added] = by_name_.try_emplace(tensor.name, made);
  if (!added) known->second.shared = true;
  ++(output ? network.outputs : network.inputs);
  count += element_count(tensor.shape);
  if (count > limits_.variables)
    fail("BF3404", lexer_.place(name), fmt::format("more than {} variables", limits_.variables));
  tensors_[output ? 1 : 0].push_back(std::move(tensor));
}

void Declarations::read_network() {
  const Token name = lexer_.expect(TokenKind::kWord, "the name of a network");
  check_name(name);
  if (std::ranges::find(networks_, name.text, &PropertyNetwork::name) != networks_.end())
    fail("BF3405", lexer_.place(name), fmt::format("{} is declared twice", describe(name)));
  if (networks_.empty() && (count_[0] > 0 || count_[1] > 0))
    fail("BF3405", lexer_.place(name), "a network beside declared variables",
         "use the syntax of one version of VNN-LIB");
  networks_.emplace_back().name = std::string(name.text);
  while (lexer_.peek().kind == TokenKind::kOpen) {
    lexer_.next();
    const Token keyword = lexer_.expect(TokenKind::kWord, "declare-input or declare-output");
    if (keyword.text == "declare-input" || keyword.text == "declare-hidden" ||
        keyword.text == "declare-output") {
      read_tensor(keyword);
    } else if (keyword.text == "equal-to" || keyword.text == "isomorphic-to") {
      read_congruence(keyword);
    } else {
      lexer_.fail_expected(keyword, "declare-input or declare-output");
    }
  }
  lexer_.expect(TokenKind::kClose, "')'");
  const PropertyNetwork& made = networks_.back();
  const bool has_output = std::ranges::any_of(tensors_of(networks_.size() - 1, true),
                                              std::logical_not<>(), &PropertyTensor::hidden);
  if (made.inputs == 0 || !has_output)
    fail("BF3405", lexer_.place(name),
         fmt::format("no {} of {} is declared", made.inputs == 0 ? "input" : "output",
                     describe(name)),
         "declare the inputs, then the outputs");
  if (!made.equal_to.empty()) check_congruence(name, made.equal_to);
  if (!made.isomorphic_to.empty()) check_congruence(name, made.isomorphic_to);
}

// Reads on from "(equal-to" or "(isomorphic-to".
void Declarations::read_congruence(const Token& keyword) {
  PropertyNetwork& network = networks_.back();
  const Token name = lexer_.expect(TokenKind::kWord, "the name of a network");
  const auto end = networks_.end() - 1;
  if (std::find_if(networks_.begin(), end,
                   [&](const PropertyNetwork& one) { return one.name == name.text; }) == end)
    fail("BF3405", lexer_.place(name),
         fmt::format("no network {} is declared before", describe(name)), "declare it first");
  if (!network.equal_to.empty() || !network.isomorphic_to.empty())
    fail("BF3405", lexer_.place(keyword), "a network that is compared with others twice",
         "state equal-to or isomorphic-to once");
  (keyword.text == "equal-to" ? network.equal_to : network.isomorphic_to) = std::string(name.text);
  lexer_.expect(TokenKind::kClose, "')'");
}

std::vector<PropertyTensor> Declarations::tensors_of(std::size_t network, bool outputs) const {
  const auto count = [&](const PropertyNetwork& one) { return outputs ? one.outputs : one.inputs; };
  std::size_t first = 0;
  for (std::size_t i = 0; i < network; ++i) first += count(networks_[i]);
  const auto begin = tensors_[outputs ? 1 : 0].begin() + static_cast<std::ptrdiff_t>(first);
  return {begin, begin + static_cast<std::ptrdiff_t>(count(networks_[network]))};
}

// Networks of one structure have tensors of the same shapes.
void Declarations::check_congruence(const Token& place, const std::string& other) const {
  const auto at = std::ranges::find(networks_, other, &PropertyNetwork::name) - networks_.begin();
  for (const bool outputs : {false, true}) {
    const auto own = tensors_of(networks_.size() - 1, outputs);
    const auto others = tensors_of(static_cast<std::size_t>(at), outputs);
    if (!std::ranges::equal(own, others, {}, &PropertyTensor::shape, &PropertyTensor::shape))
      fail("BF3405", lexer_.place(place),
           fmt::format("the {} of {} have not the shapes of those of '{}'",
                       outputs ? "outputs" : "inputs", describe(place), other));
  }
}

void Declarations::fail_undeclared(const Token& token) const {
  fail("BF3405", lexer_.place(token), fmt::format("{} is not declared", describe(token)),
       networks_.empty() ? "declare inputs X_0, X_1, ... and outputs Y_0, Y_1, ... by declare-const"
                         : "declare it in the network");
}

Variable Declarations::resolve_element(const Token& token) const {
  const std::size_t bracket = std::min(token.text.find('['), token.text.size());
  const auto found = by_name_.find(std::string(token.text.substr(0, bracket)));
  if (found == by_name_.end()) fail_undeclared(token);
  const Tensor& tensor = found->second;
  if (tensor.shared)
    fail("BF3405", lexer_.place(token), fmt::format("several networks declare {}", describe(token)),
         fmt::format("write {}.{} for that of the first", networks_.front().name,
                     token.text.substr(0, bracket)));
  const std::string_view rest = token.text.substr(bracket);
  const auto indices = rest.empty() ? Shape{} : parse_indices(rest);
  if (!indices || indices->size() != tensor.shape.size())
    fail("BF3405", lexer_.place(token),
         fmt::format("{} has not one index for each dimension of {}", describe(token),
                     to_string(tensor.shape)));
  std::int64_t index = 0;
  for (std::size_t i = 0; i < indices->size(); ++i) {
    if ((*indices)[i] >= tensor.shape[i])
      fail("BF3405", lexer_.place(token),
           fmt::format("{} is outside of the shape {}", describe(token), to_string(tensor.shape)),
           "indices start at 0");
    index = index * tensor.shape[i] + (*indices)[i];
  }
  return (tensor.output ? kFirstOutput : 0) + tensor.first + index;
}

Variable Declarations::resolve(const Token& token) const {
  if (!networks_.empty()) return resolve_element(token);
  for (const int side : {0, 1}) {
    const auto index = scalar_index(token.text, side == 0 ? 'X' : 'Y');
    if (!index) continue;
    const std::vector<bool>& declared = scalars_[side];
    if (*index < count_[side] && declared[static_cast<std::size_t>(*index)])
      return (side == 0 ? 0 : kFirstOutput) + *index;
  }
  fail_undeclared(token);
}

std::string Declarations::input_name(std::int64_t index) const {
  if (networks_.empty()) return fmt::format("X_{}", index);
  if (!source_.empty()) index = std::ranges::find(source_, index) - source_.begin();
  for (std::size_t n = 0; n < networks_.size(); ++n)
    for (const PropertyTensor& tensor : tensors_of(n, false)) {
      const std::int64_t count = element_count(tensor.shape);
      if (index >= count) {
        index -= count;
        continue;
      }
      std::string indices;
      for (std::size_t i = tensor.shape.size(); i-- > 0; index /= tensor.shape[i])
        indices =
            fmt::format("{}{}{}", index % tensor.shape[i], indices.empty() ? "" : ",", indices);
      const std::string name =
          has_several_networks() ? networks_[n].name + "." + tensor.name : tensor.name;
      return indices.empty() ? name : fmt::format("{}[{}]", name, indices);
    }
  BF_CHECK(false);
  return {};
}

void Declarations::finish(Property& property) const {
  property.networks = networks_;
  property.input_count = count_[0];
  property.output_count = count_[1];
  const std::string name = property.file_name;
  for (const int side : {0, 1}) {
    const char prefix = side == 0 ? 'X' : 'Y';
    const auto gap = std::find(scalars_[side].begin(), scalars_[side].end(), false);
    if (gap != scalars_[side].end())
      fail("BF3405", name,
           fmt::format("{}_{} is not declared but {}_{} is", prefix, gap - scalars_[side].begin(),
                       prefix, count_[side] - 1),
           "declare one variable for each element of the flattened tensor");
    if (count_[side] == 0)
      fail("BF3405", name, fmt::format("no {} is declared", side == 0 ? "input" : "output"),
           "declare inputs X_0, X_1, ... and outputs Y_0, Y_1, ...");
  }
  property.inputs = tensors_[0];
  property.outputs = tensors_[1];
  if (!networks_.empty()) return;
  property.inputs = {{"X", "Real", {count_[0]}, {}}};
  property.outputs = {{"Y", "Real", {count_[1]}, {}}};
}

}  // namespace bf_aot::vnnlib

#include "frontend/import/file/nnet.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "frontend/diagnostic.h"
#include "frontend/graph/model.h"
#include "frontend/import/file/importer.h"

namespace bf_aot {
namespace {

// The lines of numbers, after a head of comments.
class Lines {
 public:
  Lines(std::string_view text, std::string where) : rest_(text), where_(std::move(where)) {}

  // The numbers of the next line, parted by commas, of which the last may follow them all.
  std::vector<double> next(std::string_view what) {
    std::string_view line = take();
    while (number_ > 0 && line.starts_with("//")) line = take();
    std::vector<double> numbers;
    while (true) {
      const std::size_t comma = std::min(line.find(','), line.size());
      std::string_view word = line.substr(0, comma);
      const std::size_t first = word.find_first_not_of(" \t\r");
      if (first == std::string_view::npos) {
        if (comma < line.size()) wrong(what, "a number is left out");
        break;
      }
      word = word.substr(first, word.find_last_not_of(" \t\r") + 1 - first);
      if (word.starts_with('+')) word.remove_prefix(1);
      double value = 0;
      const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
      if (error != std::errc() || end != word.data() + word.size() || !std::isfinite(value))
        wrong(what, fmt::format("'{}' is no number", printable(word)));
      numbers.push_back(value);
      if (comma == line.size()) break;
      line.remove_prefix(comma + 1);
    }
    return numbers;
  }

  std::vector<double> next(std::string_view what, std::size_t count) {
    std::vector<double> numbers = next(what);
    if (numbers.size() != count)
      wrong(what, fmt::format("{} numbers, but {} expected", numbers.size(), count));
    return numbers;
  }

  [[noreturn]] void wrong(std::string_view what, const std::string& why) const {
    fail("BF1004", fmt::format("{}:{}", where_, number_), fmt::format("{}: {}", what, why),
         "the first line after // says layers, inputs, outputs and the largest layer; see "
         "docs/reference/operators.md");
  }

 private:
  std::string_view take() {
    if (rest_.empty()) wrong("the file", "it ends too early");
    const std::size_t end = std::min(rest_.find('\n'), rest_.size());
    const std::string_view line = rest_.substr(0, end);
    rest_.remove_prefix(std::min(end + 1, rest_.size()));
    ++number_;
    return line;
  }

  std::string_view rest_;
  std::string where_;
  int number_ = 0;
};

std::int64_t extent_of(const Lines& lines, double value, std::string_view what) {
  constexpr double kMost = 1 << 24;
  if (!(value >= 1 && value <= kMost) || value != std::floor(value))
    lines.wrong(what, fmt::format("{} is no size", value));
  return static_cast<std::int64_t>(value);
}

class ModelBuilder {
 public:
  explicit ModelBuilder(std::int64_t inputs) {
    constexpr int kOpset = 17, kIrVersion = 8;
    model_.set_ir_version(kIrVersion);
    model_.set_producer_name("nnet");
    model_.add_opset_import()->set_version(kOpset);
    graph().set_name("nnet");
    onnx::ValueInfoProto* const input = graph().add_input();
    input->set_name("x");
    onnx::TypeProto::Tensor* const type = input->mutable_type()->mutable_tensor_type();
    type->set_elem_type(onnx::TensorProto::DOUBLE);
    for (const std::int64_t extent : {std::int64_t{1}, inputs})
      type->mutable_shape()->add_dim()->set_dim_value(extent);
  }

  // The value becomes that of the operator on it and a constant.
  void apply(const char* op_type, const std::vector<double>& constant,
             const std::vector<std::int64_t>& shape) {
    onnx::TensorProto* const tensor = graph().add_initializer();
    tensor->set_name(fmt::format("c{}", graph().initializer_size() - 1));
    tensor->set_data_type(onnx::TensorProto::DOUBLE);
    for (const std::int64_t extent : shape) tensor->add_dims(extent);
    tensor->mutable_double_data()->Add(constant.begin(), constant.end());
    add_node(op_type)->add_input(tensor->name());
  }
  void apply(const char* op_type) { add_node(op_type); }

  onnx::ModelProto finish() {
    graph().add_output()->set_name(value_);
    return std::move(model_);
  }

 private:
  onnx::GraphProto& graph() { return *model_.mutable_graph(); }

  onnx::NodeProto* add_node(const char* op_type) {
    onnx::NodeProto* const node = graph().add_node();
    node->set_op_type(op_type);
    node->set_name(fmt::format("n{}", graph().node_size() - 1));
    node->add_input(value_);
    value_ = fmt::format("v{}", graph().node_size() - 1);
    node->add_output(value_);
    return node;
  }

  onnx::ModelProto model_;
  std::string value_ = "x";
};

}  // namespace

onnx::ModelProto read_nnet(std::string_view text, const std::string& where,
                           const ImportLimits& limits) {
  Lines lines(text, where);
  const std::vector<double> head = lines.next("sizes");
  if (head.size() < 3) lines.wrong("sizes", "fewer than three numbers");
  const std::int64_t layers = extent_of(lines, head[0], "number of layers");
  if (static_cast<std::size_t>(layers) > limits.nodes)
    fail("BF1005", where, fmt::format("{} layers, the limit is {}", layers, limits.nodes));
  std::vector<std::int64_t> sizes;
  for (const double size : lines.next("sizes of the layers", static_cast<std::size_t>(layers) + 1))
    sizes.push_back(extent_of(lines, size, "size of a layer"));
  if (sizes.front() != extent_of(lines, head[1], "number of inputs") ||
      sizes.back() != extent_of(lines, head[2], "number of outputs"))
    lines.wrong("sizes of the layers", "first and last are not those of inputs and outputs");
  const auto inputs = static_cast<std::size_t>(sizes.front());
  lines.next("flag");  // of earlier versions; nothing depends on it
  const std::vector<double> least = lines.next("least inputs", inputs);
  const std::vector<double> greatest = lines.next("greatest inputs", inputs);
  std::vector<double> mean = lines.next("means", inputs + 1);
  std::vector<double> range = lines.next("ranges", inputs + 1);
  for (const double each : range)
    if (each == 0) lines.wrong("ranges", "one is 0");
  const double output_mean = mean.back(), output_range = range.back();
  mean.pop_back();
  range.pop_back();

  ModelBuilder model(sizes.front());
  const std::vector<std::int64_t> row = {1, sizes.front()};
  model.apply("Max", least, row);
  model.apply("Min", greatest, row);
  model.apply("Sub", mean, row);
  model.apply("Div", range, row);
  for (std::size_t layer = 1; layer < sizes.size(); ++layer) {
    const auto rows = static_cast<std::size_t>(sizes[layer]);
    const auto columns = static_cast<std::size_t>(sizes[layer - 1]);
    // Each number takes two characters at least.
    if (rows > text.size() / 2 / columns)
      fail("BF1004", where, fmt::format("layer {} needs more numbers than the file holds", layer));
    std::vector<double> transposed(rows * columns);
    for (std::size_t i = 0; i < rows; ++i) {
      const std::vector<double> weights = lines.next("weights", columns);
      for (std::size_t j = 0; j < columns; ++j) transposed[j * rows + i] = weights[j];
    }
    std::vector<double> bias;
    for (std::size_t i = 0; i < rows; ++i) bias.push_back(lines.next("bias", 1).front());
    model.apply("MatMul", transposed, {sizes[layer - 1], sizes[layer]});
    model.apply("Add", bias, {1, sizes[layer]});
    if (layer + 1 < sizes.size()) model.apply("Relu");
  }
  model.apply("Mul", {output_range}, {1});
  model.apply("Add", {output_mean}, {1});
  return model.finish();
}

}  // namespace bf_aot

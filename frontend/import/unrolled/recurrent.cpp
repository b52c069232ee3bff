#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <limits>

#include "frontend/graph/model.h"
#include "frontend/graph/shapes.h"
#include "frontend/import/helpers/builder.h"
#include "frontend/import/helpers/importing.h"
#include "frontend/import/operators/operators.h"

// LSTM, GRU and RNN, unrolled: each step reads the same literals of weights. The letters are those
// of ONNX's text.

namespace bf_aot {
namespace {

// ---- Activations

struct Activation {
  std::string name;  // in lower case
  double alpha = 0;
  double beta = 0;
};

// An activation's numbers where the node gives none. NaN: it has no such number; infinite: the node
// has to give it.
struct ActivationForm {
  std::string_view name;
  double alpha;
  double beta;
};

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
constexpr double kGiven = std::numeric_limits<double>::infinity();
constexpr ActivationForm kActivationForms[] = {
    {"affine", kGiven, kGiven},    {"elu", 1, kNone},
    {"hardsigmoid", 0.2f, 0.5f},   {"leakyrelu", 0.01f, kNone},
    {"relu", kNone, kNone},        {"scaledtanh", kGiven, kGiven},
    {"sigmoid", kNone, kNone},     {"softplus", kNone, kNone},
    {"softsign", kNone, kNone},    {"tanh", kNone, kNone},
    {"thresholdedrelu", 1, kNone},
};

// The numbers of an attribute, which the activations that have such a number take in turn.
class ActivationNumbers {
 public:
  ActivationNumbers(const NodeImport& node, std::string_view attribute)
      : attribute_(attribute),
        values_(node.floats_attribute(attribute).value_or(std::vector<double>())) {}

  double next(double otherwise, const std::string& activation) {
    if (std::isnan(otherwise)) return 0;
    if (at_ < values_.size()) return values_[at_++];
    if (std::isinf(otherwise))
      fail("BF1012", "",
           fmt::format("attribute '{}' has no number for {}", attribute_, activation));
    return otherwise;
  }

  // Other tools may give numbers to activations that have none: it is not clear which are whose.
  void check_end() const {
    if (at_ > 0 && at_ < values_.size())
      fail("BF1012", "",
           fmt::format("attribute '{}' has {} numbers, but the activations take {}", attribute_,
                       values_.size(), at_),
           "give numbers for those activations alone that have such a number");
  }

 private:
  std::string_view attribute_;
  std::vector<double> values_;
  std::size_t at_ = 0;
};

std::vector<Activation> read_activations(const NodeImport& node,
                                         const std::vector<std::string>& usual,
                                         std::size_t directions) {
  std::vector<std::string> names;
  if (const auto given = node.strings_attribute("activations")) {
    names = *given;
  } else {
    for (std::size_t d = 0; d < directions; ++d)
      names.insert(names.end(), usual.begin(), usual.end());
  }
  // RNN's default in ONNX's schema is for two directions, and is written down for one, too.
  if (usual.size() == 1 && names.size() == 2) names.resize(directions);
  if (names.size() != usual.size() * directions)
    fail("BF1012", "",
         fmt::format("{} activations, not {}", names.size(), usual.size() * directions));
  ActivationNumbers alphas(node, "activation_alpha");
  ActivationNumbers betas(node, "activation_beta");
  std::vector<Activation> activations;
  for (const std::string& given : names) {
    std::string name = given;
    for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    const auto* const form = std::ranges::find(kActivationForms, name, &ActivationForm::name);
    if (form == std::end(kActivationForms))
      fail("BF1026", "", fmt::format("the activation '{}' is not known", printable(given)));
    const double alpha = alphas.next(form->alpha, name);
    activations.push_back({name, alpha, betas.next(form->beta, name)});
  }
  alphas.check_end();
  betas.check_end();
  return activations;
}

ValueId add_activation(NodeImport& node, ValueId x, const Activation& f) {
  if (f.name == "relu") return add_relu(node, x);
  if (f.name == "affine") return add_scale(node, x, f.alpha, f.beta);
  if (f.name == "scaledtanh") {
    const ValueId inner = add_unary(node, add_scale(node, x, f.beta, 0), {FunctionKind::kTanh});
    return add_scale(node, inner, f.alpha, 0);
  }
  static constexpr std::pair<std::string_view, FunctionKind> kFunctions[] = {
      {"elu", FunctionKind::kElu},
      {"hardsigmoid", FunctionKind::kHardSigmoid},
      {"leakyrelu", FunctionKind::kLeakyRelu},
      {"sigmoid", FunctionKind::kSigmoid},
      {"softplus", FunctionKind::kSoftplus},
      {"softsign", FunctionKind::kSoftsign},
      {"tanh", FunctionKind::kTanh},
      {"thresholdedrelu", FunctionKind::kThresholdedRelu},
  };
  const auto* const found =
      std::ranges::find(kFunctions, f.name, &std::pair<std::string_view, FunctionKind>::first);
  BF_CHECK(found != std::end(kFunctions));
  return add_unary(node, x, {found->second, f.alpha, f.beta});
}

// ---- What the three operators share

// A state that is zero has no value: at the first step, where none is given.
using State = std::optional<ValueId>;

struct Sizes {
  std::int64_t steps = 1, batch = 1, inputs = 1, hidden = 1, directions = 1;
};

// One direction of the node.
struct Cell {
  NodeImport& node;
  Sizes sizes;
  std::vector<Activation> activations;
  double clip = std::numeric_limits<double>::infinity();
  ValueId w, r;               // [gates hidden, inputs], [gates hidden, hidden]
  std::optional<ValueId> wb;  // [gates hidden]; with it there is rb
  std::optional<ValueId> rb;
  std::optional<ValueId> p;  // [3 hidden]

  // Rows [first, first + count) of gates of a matrix or vector.
  ValueId gates(ValueId all, std::int64_t first, std::int64_t count) const {
    const Shape shape = node.shape_of(all);
    const std::int64_t row = element_count(shape) / shape[0];
    Shape part = shape;
    part[0] = count * sizes.hidden;
    if (part == shape) return all;
    return add_index_map(node, all, part, [&] {
      std::vector<std::int64_t> source(static_cast<std::size_t>(element_count(part)));
      std::iota(source.begin(), source.end(), first * sizes.hidden * row);
      return source;
    });
  }
  // Columns of one gate of [batch, gates hidden].
  ValueId gate(ValueId all, std::int64_t index) const {
    const std::int64_t width = node.shape_of(all)[1];
    if (width == sizes.hidden) return all;
    return add_index_map(node, all, {sizes.batch, sizes.hidden}, [&] {
      std::vector<std::int64_t> source;
      for (std::int64_t b = 0; b < sizes.batch; ++b)
        for (std::int64_t i = 0; i < sizes.hidden; ++i)
          source.push_back(b * width + index * sizes.hidden + i);
      return source;
    });
  }
  ValueId linear(ValueId x, ValueId matrix, std::optional<ValueId> bias) const {
    const Gemm op{1, 1, false, true};
    return bias ? node.add(op, {x, matrix, *bias}) : node.add(op, {x, matrix});
  }
  // x w^T + h r^T + bias
  ValueId linear(ValueId x, const State& h, ValueId of_w, ValueId of_r,
                 std::optional<ValueId> bias) const {
    const ValueId sum = linear(x, of_w, bias);
    return h ? add(sum, linear(*h, of_r, std::nullopt)) : sum;
  }
  ValueId add(ValueId a, ValueId b) const { return add_binary(node, Binary::Kind::kAdd, a, b); }
  ValueId multiply(ValueId a, ValueId b) const {
    return add_binary(node, Binary::Kind::kMul, a, b);
  }
  // An activation of a gate, whose input is clipped.
  ValueId activate(ValueId x, std::size_t index) const {
    if (!std::isinf(clip)) x = add_clip(node, x, -clip, clip);
    return add_activation(node, x, activations[index]);
  }
  // Wb + Rb of gates.
  std::optional<ValueId> bias(std::int64_t first, std::int64_t count) const {
    if (!wb) return std::nullopt;
    return add(gates(*wb, first, count), gates(*rb, first, count));
  }
};

// The step of an operator: the next states of x, [batch, inputs], and the states, [batch, hidden].
using Step = std::vector<State> (*)(const Cell& cell, ValueId x, const std::vector<State>& states);

struct Operator {
  std::int64_t gates;
  std::size_t states;
  std::vector<std::string> activations;
  Step step;
};

void check_shape(const NodeImport& node, std::size_t input, const Shape& expected,
                 std::string_view role) {
  if (!node.has_input(input)) return;
  if (node.input_shape(input) != expected)
    fail("BF1014", "",
         fmt::format("{} has shape {}, not {}", role, to_string(node.input_shape(input)),
                     to_string(expected)));
}

// The size of a direction's part of an input whose first dimension is the directions.
ValueId of_direction(NodeImport& node, ValueId all, std::int64_t d) {
  Shape shape = node.shape_of(all);
  const std::int64_t size = element_count(shape) / shape[0];
  shape.erase(shape.begin());
  return add_index_map(node, all, shape, [&] {
    std::vector<std::int64_t> source(static_cast<std::size_t>(size));
    std::iota(source.begin(), source.end(), d * size);
    return source;
  });
}

class Unrolled {
 public:
  Unrolled(NodeImport& node, const Operator& op) : node_(node), op_(op) {
    read_sizes();
    read_lengths();
  }

  void run() {
    const std::vector<Activation> activations =
        read_activations(node_, op_.activations, static_cast<std::size_t>(sizes_.directions));
    for (std::int64_t d = 0; d < sizes_.directions; ++d) {
      Cell cell = make_cell(d);
      const auto begin =
          activations.begin() + d * static_cast<std::ptrdiff_t>(op_.activations.size());
      cell.activations.assign(begin, begin + static_cast<std::ptrdiff_t>(op_.activations.size()));
      unroll(cell, d, backward_ || d == 1);
    }
    if (node_.has_output(0)) emit_all();
    for (std::size_t s = 0; s < op_.states; ++s)
      if (node_.has_output(s + 1)) emit_last(s);
  }

 private:
  void read_sizes() {
    for (const std::size_t i : {0, 1, 2})
      if (node_.input_shape(i).size() != 3)
        fail("BF1014", "",
             fmt::format("input {} has shape {}, not three dimensions", i,
                         to_string(node_.input_shape(i))));
    const std::string direction = node_.string_attribute("direction", "forward");
    if (direction != "forward" && direction != "reverse" && direction != "bidirectional")
      fail("BF1012", "", fmt::format("attribute 'direction' is '{}'", printable(direction)));
    backward_ = direction == "reverse";
    batch_first_ = node_.flag("layout", false);
    const Shape x = node_.input_shape(0);
    sizes_ = {x[batch_first_ ? 1 : 0], x[batch_first_ ? 0 : 1], x[2], node_.input_shape(2)[2],
              direction == "bidirectional" ? 2 : 1};
    const std::int64_t hidden = node_.int_attribute("hidden_size", sizes_.hidden);
    if (hidden != sizes_.hidden)
      fail("BF1012", "",
           fmt::format("attribute 'hidden_size' is {}, but R has {} columns", hidden,
                       sizes_.hidden));
    const std::int64_t d = sizes_.directions, rows = op_.gates * sizes_.hidden;
    const Shape state = batch_first_ ? Shape{sizes_.batch, d, sizes_.hidden}
                                     : Shape{d, sizes_.batch, sizes_.hidden};
    check_shape(node_, 1, {d, rows, sizes_.inputs}, "W");
    check_shape(node_, 2, {d, rows, sizes_.hidden}, "R");
    check_shape(node_, 3, {d, 2 * rows}, "B");
    check_shape(node_, 4, {sizes_.batch}, "sequence_lens");
    check_shape(node_, 5, state, "initial_h");
    check_shape(node_, 6, state, "initial_c");
    check_shape(node_, 7, {d, 3 * sizes_.hidden}, "P");
    for (std::size_t i = 0; i < node_.input_count(); ++i)
      if (node_.has_input(i) && i != kLengths && is_integer_type(node_.input_type(i)))
        fail("BF1019", "", fmt::format("input {} is an integer tensor", i), "store it as float");
  }

  void read_lengths() {
    lengths_.assign(static_cast<std::size_t>(sizes_.batch), sizes_.steps);
    if (node_.has_input(kLengths)) lengths_ = node_.list(kLengths, "sequence lengths");
    for (const std::int64_t length : lengths_)
      if (length < 1 || length > sizes_.steps)
        fail("BF1014", "",
             fmt::format("a sequence length of {}, but there are {} steps", length, sizes_.steps));
  }

  Cell make_cell(std::int64_t d) {
    Cell cell{node_,
              sizes_,
              {},
              std::numeric_limits<double>::infinity(),
              of_direction(node_, node_.input(1), d),
              of_direction(node_, node_.input(2), d),
              {},
              {},
              {}};
    if (node_.has_attribute("clip")) cell.clip = node_.float_attribute("clip", 0);
    if (!(cell.clip > 0)) fail("BF1012", "", fmt::format("attribute 'clip' is {}", cell.clip));
    if (node_.has_input(3)) {
      const ValueId all = of_direction(node_, node_.input(3), d);
      cell.wb = cell.gates(all, 0, op_.gates);
      cell.rb = cell.gates(all, op_.gates, op_.gates);
    }
    if (node_.has_input(7)) cell.p = of_direction(node_, node_.input(7), d);
    return cell;
  }

  // The time that a direction's step reads and writes of a sequence.
  std::int64_t time_of(std::int64_t step, std::int64_t b, bool backward) const {
    const std::int64_t length = lengths_[static_cast<std::size_t>(b)];
    if (step >= length) return 0;  // nothing reads what is made there
    return backward ? length - 1 - step : step;
  }

  void unroll(const Cell& cell, std::int64_t d, bool backward) {
    std::vector<State> states;
    for (std::size_t s = 0; s < op_.states; ++s) states.push_back(initial(5 + s, d));
    std::vector<ValueId>& outputs = outputs_.emplace_back();
    for (std::int64_t step = 0; step < std::ranges::max(lengths_); ++step) {
      const ValueId x = add_index_map(node_, node_.input(0), {sizes_.batch, sizes_.inputs}, [&] {
        std::vector<std::int64_t> source;
        for (std::int64_t b = 0; b < sizes_.batch; ++b) {
          const std::int64_t time = time_of(step, b, backward);
          const std::int64_t row = batch_first_ ? b * sizes_.steps + time : time * sizes_.batch + b;
          for (std::int64_t i = 0; i < sizes_.inputs; ++i)
            source.push_back(row * sizes_.inputs + i);
        }
        return source;
      });
      std::vector<State> next = op_.step(cell, x, states);
      for (std::size_t s = 0; s < op_.states; ++s) states[s] = kept(*next[s], states[s], step);
      outputs.push_back(*states[0]);
    }
    last_.push_back(std::move(states));
  }

  State initial(std::size_t input, std::int64_t d) {
    if (!node_.has_input(input)) return std::nullopt;
    if (uniform_value(node_.constant_if_any(input)) == 0.0) return std::nullopt;
    return add_index_map(node_, node_.input(input), {sizes_.batch, sizes_.hidden}, [&] {
      std::vector<std::int64_t> source;
      for (std::int64_t b = 0; b < sizes_.batch; ++b)
        for (std::int64_t i = 0; i < sizes_.hidden; ++i)
          source.push_back((batch_first_ ? b * sizes_.directions + d : d * sizes_.batch + b) *
                               sizes_.hidden +
                           i);
      return source;
    });
  }

  // The next state; of sequences that have ended, the one before.
  ValueId kept(ValueId next, const State& before, std::int64_t step) {
    if (std::ranges::min(lengths_) > step) return next;
    const Shape shape = {sizes_.batch, sizes_.hidden};
    const ValueId old = before ? *before : zero();
    std::vector<std::int64_t> source;
    for (std::int64_t i = 0; i < sizes_.batch * sizes_.hidden; ++i) {
      const std::int64_t length = lengths_[static_cast<std::size_t>(i / sizes_.hidden)];
      source.push_back(length > step ? i : sizes_.batch * sizes_.hidden + i);
    }
    return add_selection(node_, {next, old}, source, shape);
  }

  ValueId zero() {
    const Shape shape = {sizes_.batch, sizes_.hidden};
    return add_constant(
        node_,
        {shape, std::vector<double>(static_cast<std::size_t>(element_count(shape)), 0.0), {}});
  }

  // Y: [steps, directions, batch, hidden], or [batch, steps, directions, hidden]. What is behind
  // the end of a sequence is 0.
  void emit_all() {
    const std::int64_t size = sizes_.batch * sizes_.hidden;
    std::vector<ValueId> parts;
    for (const std::vector<ValueId>& each : outputs_)
      parts.insert(parts.end(), each.begin(), each.end());
    const auto made = static_cast<std::int64_t>(outputs_[0].size());  // by each direction
    const std::int64_t none = static_cast<std::int64_t>(parts.size()) * size;
    if (std::ranges::min(lengths_) < sizes_.steps) parts.push_back(zero());
    const Shape shape = batch_first_
                            ? Shape{sizes_.batch, sizes_.steps, sizes_.directions, sizes_.hidden}
                            : Shape{sizes_.steps, sizes_.directions, sizes_.batch, sizes_.hidden};
    node_.reader().charge(shape, "");
    std::vector<std::int64_t> source(static_cast<std::size_t>(element_count(shape)), none);
    for (std::int64_t d = 0; d < sizes_.directions; ++d)
      for (std::int64_t step = 0; step < made; ++step)
        for (std::int64_t b = 0; b < sizes_.batch; ++b) {
          if (step >= lengths_[static_cast<std::size_t>(b)]) continue;
          const std::int64_t time = time_of(step, b, backward_ || d == 1);
          const std::int64_t row = batch_first_ ? (b * sizes_.steps + time) * sizes_.directions + d
                                                : (time * sizes_.directions + d) * sizes_.batch + b;
          for (std::int64_t i = 0; i < sizes_.hidden; ++i)
            source[static_cast<std::size_t>(row * sizes_.hidden + i)] =
                (d * made + step) * size + b * sizes_.hidden + i;
        }
    node_.emit(0, add_selection(node_, parts, source, shape));
  }

  // Y_h, Y_c: [directions, batch, hidden], or [batch, directions, hidden].
  void emit_last(std::size_t state) {
    std::vector<ValueId> parts;
    for (const std::vector<State>& each : last_) parts.push_back(*each[state]);
    const Shape shape = batch_first_ ? Shape{sizes_.batch, sizes_.directions, sizes_.hidden}
                                     : Shape{sizes_.directions, sizes_.batch, sizes_.hidden};
    std::vector<std::int64_t> source;
    for (std::int64_t i = 0; i < element_count(shape); ++i) {
      const std::int64_t row = i / sizes_.hidden;
      const std::int64_t d = batch_first_ ? row % sizes_.directions : row / sizes_.batch;
      const std::int64_t b = batch_first_ ? row / sizes_.directions : row % sizes_.batch;
      source.push_back((d * sizes_.batch + b) * sizes_.hidden + i % sizes_.hidden);
    }
    node_.emit(state + 1, add_selection(node_, parts, source, shape));
  }

  static constexpr std::size_t kLengths = 4;

  NodeImport& node_;
  const Operator& op_;
  Sizes sizes_;
  bool backward_ = false;
  bool batch_first_ = false;
  std::vector<std::int64_t> lengths_;          // by sequence of the batch
  std::vector<std::vector<ValueId>> outputs_;  // of each direction's steps
  std::vector<std::vector<State>> last_;       // of each direction
};

// ---- The operators

// H' = f(x W^T + H R^T + Wb + Rb)
std::vector<State> rnn_step(const Cell& cell, ValueId x, const std::vector<State>& states) {
  return {cell.activate(cell.linear(x, states[0], cell.w, cell.r, cell.bias(0, 1)), 0)};
}

void import_rnn(NodeImport& node) {
  Unrolled(node, {1, 1, {"Tanh"}, rnn_step}).run();
}

// Gates z, r, h: H' = (1 - z) h + z H.
std::vector<State> gru_step(const Cell& cell, ValueId x, const std::vector<State>& states) {
  const State& before = states[0];
  const ValueId zr =
      cell.linear(x, before, cell.gates(cell.w, 0, 2), cell.gates(cell.r, 0, 2), cell.bias(0, 2));
  const ValueId z = cell.activate(cell.gate(zr, 0), 0);
  const ValueId w = cell.gates(cell.w, 2, 1);
  const ValueId r_matrix = cell.gates(cell.r, 2, 1);
  ValueId sum = x;
  if (cell.node.flag("linear_before_reset", false)) {
    std::optional<ValueId> wb, rb;
    if (cell.wb) wb = cell.gates(*cell.wb, 2, 1);
    if (cell.rb) rb = cell.gates(*cell.rb, 2, 1);
    sum = cell.linear(x, w, wb);
    if (before || rb) {
      const ValueId r = cell.activate(cell.gate(zr, 1), 0);
      sum = cell.add(sum, cell.multiply(r, before ? cell.linear(*before, r_matrix, rb) : *rb));
    }
  } else {
    State reset;
    if (before) reset = cell.multiply(cell.activate(cell.gate(zr, 1), 0), *before);
    sum = cell.linear(x, reset, w, r_matrix, cell.bias(2, 1));
  }
  const ValueId h = cell.activate(sum, 1);
  const ValueId fresh = cell.multiply(add_scale(cell.node, z, -1, 1), h);
  return {before ? cell.add(fresh, cell.multiply(z, *before)) : fresh};
}

void import_gru(NodeImport& node) {
  Unrolled(node, {3, 1, {"Sigmoid", "Tanh"}, gru_step}).run();
}

// Gates i, o, f, c: C' = f C + i c, H' = o h(C').
std::vector<State> lstm_step(const Cell& cell, ValueId x, const std::vector<State>& states) {
  const State& memory = states[1];
  const ValueId all = cell.linear(x, states[0], cell.w, cell.r, cell.bias(0, 4));
  const auto peep = [&](ValueId sum, std::int64_t index, const State& at) {
    return cell.p && at ? cell.add(sum, cell.multiply(cell.gates(*cell.p, index, 1), *at)) : sum;
  };
  const ValueId i = cell.activate(peep(cell.gate(all, 0), 0, memory), 0);
  const ValueId c = cell.activate(cell.gate(all, 3), 1);
  ValueId next = cell.multiply(i, c);
  if (memory) {
    const ValueId f = cell.node.flag("input_forget", false)
                          ? add_scale(cell.node, i, -1, 1)
                          : cell.activate(peep(cell.gate(all, 2), 2, memory), 0);
    next = cell.add(cell.multiply(f, *memory), next);
  }
  const ValueId o = cell.activate(peep(cell.gate(all, 1), 1, next), 0);
  // ONNX's text clips the input of h, too; ONNX Runtime and others do not.
  return {cell.multiply(o, add_activation(cell.node, next, cell.activations[2])), next};
}

void import_lstm(NodeImport& node) {
  Unrolled(node, {4, 2, {"Sigmoid", "Tanh", "Tanh"}, lstm_step}).run();
}

}  // namespace

OperatorRows recurrent_operators() {
  static constexpr OperatorImporter kRows[] = {
      {"GRU",
       import_gru,
       3,
       6,
       2,
       {"activation_alpha", "activation_beta", "activations", "clip", "direction", "hidden_size",
        "layout", "linear_before_reset", "output_sequence"},
       {},
       true},
      {"LSTM",
       import_lstm,
       3,
       8,
       3,
       {"activation_alpha", "activation_beta", "activations", "clip", "direction", "hidden_size",
        "input_forget", "layout", "output_sequence"},
       {},
       true},
      {"RNN",
       import_rnn,
       3,
       6,
       2,
       {"activation_alpha", "activation_beta", "activations", "clip", "direction", "hidden_size",
        "layout", "output_sequence"},
       {},
       true},
  };
  return kRows;
}

}  // namespace bf_aot

#include "aot/decide/differences.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <tuple>
#include <utility>

#include "runtime/bf/core/rounding.h"

namespace bf_aot::decide {
namespace {

constexpr int kRounds = 2;  // in which bounds find slopes, and slopes tighten bounds
constexpr std::size_t kMostParts = std::size_t{1} << 20;
constexpr std::size_t kMostSlopes = std::size_t{1} << 27;  // of all parts: 1 GB with their ends
constexpr double kInfinity = std::numeric_limits<double>::infinity();

double size_of(const OutputDifference& output) {
  return std::max(-output.lower, output.upper);
}

void unite(std::vector<OutputDifference>& all, const std::vector<OutputDifference>& more) {
  for (std::size_t i = 0; i < more.size(); ++i)
    all[i] = {std::min(all[i].lower, more[i].lower), std::max(all[i].upper, more[i].upper)};
}

// The middle of an input's ends; one of them where no double lies between.
double middle(const Box& box, std::size_t input) {
  return 0.5 * box.lower[input] + 0.5 * box.upper[input];
}

// Returns whether both halves are smaller than the box once their ends are rounded to float32.
bool divides(const Box& box, std::size_t input) {
  const double at = middle(box, input);
  return bf::float_up(at) < bf::float_up(box.upper[input]) &&
         bf::float_down(at) > bf::float_down(box.lower[input]);
}

std::size_t widest(const Box& box, const Box& root) {
  std::size_t found = 0;
  double most = -1;
  for (std::size_t i = 0; i < box.lower.size(); ++i) {
    const double whole = root.upper[i] - root.lower[i];
    const double share = whole > 0 ? (box.upper[i] - box.lower[i]) / whole : 0;
    if (share > most) {
      most = share;
      found = i;
    }
  }
  return found;
}

}  // namespace

std::ptrdiff_t varying(const Box& box) {
  std::ptrdiff_t count = 0;
  for (std::size_t i = 0; i < box.lower.size(); ++i) count += box.lower[i] < box.upper[i] ? 1 : 0;
  return count;
}

input::FloatBox float_box(const Box& box) {
  input::FloatBox made;
  for (const double x : box.lower) made.lower.push_back(bf::float_down(x));
  for (const double x : box.upper) made.upper.push_back(bf::float_up(x));
  return made;
}

double largest(const std::vector<OutputDifference>& outputs) {
  double most = 0;
  for (const OutputDifference& output : outputs) most = std::max(most, size_of(output));
  return most;
}

DifferenceBounds::DifferenceBounds(DifferenceNetwork network, const ModelInfo& info,
                                   const Request& request)
    : output_count_(static_cast<std::size_t>(network.output_count)),
      slopes_(std::make_shared<const std::vector<SlopeNeuron>>(std::move(network.neurons))) {
  Graph outputs = network.graph;
  if (!slopes_->empty()) {
    // Outputs are tensors: those of the differences come first.
    std::int64_t count = 0;
    std::size_t kept = 0;
    while (count < network.output_count)
      count += element_count(outputs.value(outputs.outputs[kept++]).shape);
    // Then come z of the neurons, a tensor for each layer of them.
    for (std::size_t i = kept; i < kept + (outputs.outputs.size() - kept) / 2; ++i)
      layer_ends_.push_back(
          (layer_ends_.empty() ? 0 : layer_ends_.back()) +
          static_cast<std::size_t>(element_count(outputs.value(outputs.outputs[i]).shape)));
    outputs.outputs.resize(kept);
    neurons_ = make_host(std::move(network.graph), info, request, Method::kCrown);
  }
  outputs_ =
      make_host(std::move(outputs), info, request, request.method.value_or(Method::kAlphaCrown));
}

DifferenceBounds DifferenceBounds::twin() const {
  DifferenceBounds made;
  made.output_count_ = output_count_;
  made.slopes_ = slopes_;
  made.layer_ends_ = layer_ends_;
  if (neurons_ != nullptr) made.neurons_ = neurons_->twin();
  made.outputs_ = outputs_->twin();
  return made;
}

void DifferenceBounds::stop_by(engine::StoppedCalls& calls) const {
  for (const auto& host : {neurons_.get(), outputs_.get()})
    if (host != nullptr) calls.include(*host);
}

input::FloatBox DifferenceBounds::box_of(const Part& part) const {
  input::FloatBox box = float_box(part.box);
  box.lower.insert(box.lower.end(), part.least.begin(), part.least.end());
  box.upper.insert(box.upper.end(), part.most.begin(), part.most.end());
  return box;
}

void DifferenceBounds::meet(const engine::Bounds& bounds, Part& part) const {
  part.outputs.resize(output_count_, {-kInfinity, kInfinity});
  for (std::size_t i = 0; i < part.outputs.size(); ++i)
    part.outputs[i] = {std::max<double>(part.outputs[i].lower, bounds.lower[i]),
                       std::min<double>(part.outputs[i].upper, bounds.upper[i])};
}

// The slopes of a function between z and z + d. The sum of two doubles is rounded, and never to the
// other side of zero: a ReLU needs no more, and the next double outward serves all.
void DifferenceBounds::learn_slopes(const engine::Bounds& bounds, Part& part) const {
  const auto first = output_count_;
  const std::size_t neurons = slopes_->size();
  for (std::size_t j = 0; j < neurons; ++j) {
    const std::size_t z = first + j, d = z + neurons;
    const double lower = bounds.lower[z], upper = bounds.upper[z];
    const double low = lower + std::min<double>(bounds.lower[d], 0);
    const double high = upper + std::max<double>(bounds.upper[d], 0);
    const bool by_sides = (*slopes_)[j].kind == SlopeNeuron::Kind::kOther;
    const SlopeNeuron slopes =
        between((*slopes_)[j], by_sides ? low : std::nextafter(low, -kInfinity),
                by_sides ? high : std::nextafter(high, kInfinity));
    const float least = std::max(part.least[j], bf::float_down(slopes.least));
    const float most = std::min(part.most[j], bf::float_up(slopes.most));
    // Where some d is not 0, its slope lies in both ranges. So each d is 0, and any slope will do.
    if (least > most) continue;
    part.least[j] = least;
    part.most[j] = most;
  }
}

void DifferenceBounds::bound_root(Part& part) const {
  for (const SlopeNeuron& neuron : *slopes_) {
    part.least.push_back(bf::float_down(neuron.least));
    part.most.push_back(bf::float_up(neuron.most));
  }
  for (int round = 0; round < kRounds && neurons_ != nullptr; ++round) bound(part);
  meet(outputs_->bounds(box_of(part)), part);
}

void DifferenceBounds::bound(Part& part) const {
  const engine::Bounds bounds = (neurons_ != nullptr ? neurons_ : outputs_)->bounds(box_of(part));
  meet(bounds, part);
  if (neurons_ == nullptr) return;
  learn_slopes(bounds, part);
  find_steepest(bounds, part);
}

// Returns how much is unknown of s d, for each neuron.
std::vector<double> DifferenceBounds::gaps(const engine::Bounds& bounds, const Part& part) const {
  std::vector<double> made;
  for (std::size_t j = 0; j < slopes_->size(); ++j) {
    const std::size_t d = output_count_ + slopes_->size() + j;
    const auto open = static_cast<double>(part.most[j]) - static_cast<double>(part.least[j]);
    made.push_back(open * std::max<double>(std::fabs(bounds.lower[d]), std::fabs(bounds.upper[d])));
  }
  return made;
}

// How far z and z + d of each neuron move together, as the input goes from one end of the box to
// the other and the rest is in the middle. In float32: it proposes splits alone.
std::vector<double> DifferenceBounds::moves(const Part& part, std::size_t input) const {
  std::vector<float> x;
  for (std::size_t i = 0; i < part.box.lower.size(); ++i)
    x.push_back(static_cast<float>(middle(part.box, i)));
  for (std::size_t j = 0; j < slopes_->size(); ++j)
    x.push_back(0.5F * part.least[j] + 0.5F * part.most[j]);
  x[input] = static_cast<float>(part.box.lower[input]);
  const std::vector<float> low = neurons_->evaluate(x);
  x[input] = static_cast<float>(part.box.upper[input]);
  const std::vector<float> high = neurons_->evaluate(x);
  std::vector<double> made;
  for (std::size_t j = 0; j < slopes_->size(); ++j) {
    const std::size_t z = output_count_ + j, d = z + slopes_->size();
    const auto move = static_cast<double>(high[z]) - static_cast<double>(low[z]);
    const auto more = static_cast<double>(high[d]) - static_cast<double>(low[d]);
    made.push_back(std::fabs(move) + std::fabs(move + more));
  }
  return made;
}

void DifferenceBounds::find_steepest(const engine::Bounds& bounds, Part& part) const {
  part.steepest.reset();
  std::vector<std::size_t> inputs;
  for (std::size_t i = 0; i < part.box.lower.size(); ++i)
    if (divides(part.box, i)) inputs.push_back(i);
  if (inputs.empty() || inputs.size() > static_cast<std::size_t>(kFewInputs)) return;
  std::vector<std::vector<double>> moved;
  for (const std::size_t i : inputs) moved.push_back(moves(part, i));
  const std::vector<double> gap = gaps(bounds, part);
  std::vector<double> scores(inputs.size());
  std::size_t j = 0;
  for (const std::size_t end : layer_ends_) {
    // Each layer counts the same, and of it each neuron by its gap.
    std::vector<double> of_layer(inputs.size());
    double gaps_of_layer = 0;
    for (; j < end; ++j) {
      double all = 0;
      for (const std::vector<double>& each : moved) all += each[j];
      if (!(gap[j] > 0) || !(all > 0) || !std::isfinite(gap[j] + all)) continue;
      gaps_of_layer += gap[j];
      for (std::size_t k = 0; k < inputs.size(); ++k) of_layer[k] += gap[j] * (moved[k][j] / all);
    }
    if (!(gaps_of_layer > 0)) continue;
    for (std::size_t k = 0; k < inputs.size(); ++k) scores[k] += of_layer[k] / gaps_of_layer;
  }
  const auto best = std::ranges::max_element(scores);
  if (*best > 0) part.steepest = inputs[static_cast<std::size_t>(best - scores.begin())];
}

std::pair<Box, Box> DifferenceBounds::halves(const Part& part, const Box& root) {
  const std::size_t input = part.steepest.value_or(widest(part.box, root));
  const double at = middle(part.box, input);
  std::pair<Box, Box> made = {part.box, part.box};
  if (part.box.lower[input] < at && at < part.box.upper[input])
    made.first.upper[input] = made.second.lower[input] = at;
  return made;
}

std::vector<OutputDifference> split_differences(
    const DifferenceBounds& bounds, const Box& box,
    const std::function<bool(const std::vector<OutputDifference>&)>& enough,
    const std::function<void(const DifferenceBounds::Part&)>& visit, const system::Stop& stop) {
  using Part = DifferenceBounds::Part;
  const auto less_urgent = [](const Part& a, const Part& b) {
    return largest(a.outputs) < largest(b.outputs);
  };
  std::vector<Part> parts(1);
  parts[0].box = box;
  bool stopped = false;
  const auto bound = [&](const auto& body) {
    try {
      body();
    } catch (const engine::Stopped&) {
      stopped = true;
    }
    return !stopped;
  };
  if (bound([&] { bounds.bound_root(parts[0]); })) visit(parts[0]);
  parts[0].outputs.resize(bounds.outputs(), {-kInfinity, kInfinity});
  const auto all = [&] {
    std::vector<OutputDifference> made = parts[0].outputs;
    for (const Part& part : parts) unite(made, part.outputs);
    return made;
  };
  const std::size_t most = std::min(kMostParts, kMostSlopes / (parts[0].least.size() + 1));
  while (parts.size() < most && !stopped && !stop()) {
    // The part in front is the one that is least known.
    if (enough(parts[0].outputs) && enough(all())) break;
    Part low = parts[0], high = parts[0];
    std::tie(low.box, high.box) = DifferenceBounds::halves(parts[0], box);
    if (low.box == high.box) break;  // no double lies between its ends
    // A part goes when both of its halves are bounded.
    const bool both = bound([&] {
      bounds.bound(low);
      bounds.bound(high);
    });
    if (!both) break;
    std::ranges::pop_heap(parts, less_urgent);
    parts.pop_back();
    for (Part* const half : {&low, &high}) {
      visit(*half);
      parts.push_back(std::move(*half));
      std::ranges::push_heap(parts, less_urgent);
    }
  }
  return all();
}

}  // namespace bf_aot::decide

#include "aot/apps/tune/kernel_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>

#include "frontend/diagnostic.h"
#include "planner/network/error_terms.h"
#include "planner/plan/steps.h"
#include "planner/tuning/schedule_search.h"
#include "runtime/bf/contract/lists.h"
#include "runtime/bf/core/live_neurons.h"

namespace bf_aot::apps {
namespace {

constexpr std::size_t kAlign = 64;
constexpr std::size_t kMarginBytes = 256;
constexpr unsigned char kMargin = 0x5c;

// Roundings of an epilogue, at most: bias, interval, new centre, distance, its step outward.
constexpr int kEpilogue = 16;

std::size_t round_up(std::size_t value, std::size_t unit) {
  return (value + unit - 1) / unit * unit;
}

void* allocate(std::size_t bytes) {
  void* const memory = std::aligned_alloc(kAlign, round_up(bytes, kAlign));
  if (memory == nullptr) fail("BF3000", "tune", "not enough memory for a kernel's arguments");
  return memory;
}

// A multiple of 2^-bits in [-1, 1].
double on_grid(SearchRandom& random, int bits) {
  const double size = std::ldexp(1.0, bits);
  return std::floor(random.uniform() * (2 * size + 1)) / size - 1;
}

}  // namespace

void KernelCheck::Free::operator()(void* memory) const {
  std::free(memory);
}

double KernelCheck::Array::get(std::size_t i) const {
  BF_CHECK(i < count);
  switch (element) {
    case Element::kFloat64:
      return static_cast<const double*>(memory.get())[i];
    case Element::kInt32:
      return static_cast<const std::int32_t*>(memory.get())[i];
    case Element::kUint8:
      return static_cast<const std::uint8_t*>(memory.get())[i];
    case Element::kFloat32:
      break;
  }
  return static_cast<double>(static_cast<const float*>(memory.get())[i]);
}

void KernelCheck::Array::set(std::size_t i, double value) {
  BF_CHECK(i < count);
  switch (element) {
    case Element::kFloat64:
      static_cast<double*>(memory.get())[i] = value;
      return;
    case Element::kInt32:
      static_cast<std::int32_t*>(memory.get())[i] = static_cast<std::int32_t>(value);
      return;
    case Element::kUint8:
      static_cast<std::uint8_t*>(memory.get())[i] = static_cast<std::uint8_t>(value);
      return;
    case Element::kFloat32:
      static_cast<float*>(memory.get())[i] = static_cast<float>(value);
  }
}

std::size_t KernelCheck::Array::bytes() const {
  return count * size_of(element);
}

KernelCheck::KernelCheck(const LoadedKernel& loaded, std::uint64_t seed, int weight_copies)
    : kernel_(loaded.kernel), seed_(seed) {
  for (const Parameter& parameter : loaded.parameters) add(parameter);
  fill();
  const Array& table = array("weight");
  for (int i = 1; i < weight_copies; ++i) {
    copies_.emplace_back(allocate(table.bytes()));
    std::memcpy(copies_.back().get(), table.memory.get(), table.bytes());
  }
}

// Elements of a parameter, as emit_steps.cpp passes them.
std::size_t KernelCheck::count_of(const std::string& name) const {
  const auto in = static_cast<std::size_t>(kernel_.in), out = static_cast<std::size_t>(kernel_.out);
  const auto rows = static_cast<std::size_t>(kernel_.rows);
  const auto boxes = static_cast<std::size_t>(kernel_.boxes);
  const std::size_t padded = round_up(out, static_cast<std::size_t>(kernel_.panel));
  if (name == "live") return static_cast<std::size_t>(bf::live_list_size(kernel_.out));
  if (name == "live_in") return static_cast<std::size_t>(bf::live_list_size(kernel_.in));
  if (name == "weight" || name == "residual") return padded * in;
  if (name == "bias") return padded;
  if (name == "centre" || name == "radius") return in * boxes;
  if (name == "x") return in;
  if (name == "table") return static_cast<std::size_t>(bf::kRelaxRows) * out * boxes;
  if (name == "coefficients") return out * rows;
  if (name == "result") return in * rows;
  if (name == "sums") return 2 * rows;
  // Results of a forward kernel.
  if (boxes > 1) return out * boxes;
  return kernel_.head ? out : padded;
}

void KernelCheck::add(const Parameter& parameter) {
  if (!parameter.type.ends_with('*')) {
    // Interval kernels: results are then the plain ends of the interval.
    scalars_[parameter.name] = parameter.name == "inflate" ? 1.0f : 0.0f;
    pointers_.push_back(&scalars_[parameter.name]);
    return;
  }
  Array made;
  made.count = count_of(parameter.name);
  if (parameter.type.find("double") != std::string::npos) made.element = Element::kFloat64;
  if (parameter.type.find("int32") != std::string::npos) made.element = Element::kInt32;
  made.memory.reset(allocate(made.bytes() + kMarginBytes));
  std::memset(made.memory.get(), 0, made.bytes());
  std::memset(static_cast<char*>(made.memory.get()) + made.bytes(), kMargin, kMarginBytes);
  if (parameter.name == "weight") weight_position_ = pointers_.size();
  pointers_.push_back(made.memory.get());
  arrays_[parameter.name] = std::move(made);
}

void KernelCheck::fill() {
  SearchRandom random(seed_);
  const auto panel = static_cast<std::size_t>(kernel_.panel);
  const auto in = static_cast<std::size_t>(kernel_.in);
  for (const char* name : {"weight", "residual"})
    if (has(name))
      for (std::size_t i = 0; i < array(name).count; ++i) {
        const std::size_t output = i / (panel * in) * panel + i % panel;
        const double scale = name[0] == 'w' ? 1 : 0x1p-13;
        const bool padding = output >= static_cast<std::size_t>(kernel_.out);
        array(name).set(i, padding ? 0 : scale * on_grid(random, name[0] == 'w' ? 11 : 6));
      }
  for (const char* name : {"bias", "centre", "x"})
    if (has(name))
      for (std::size_t i = 0; i < array(name).count; ++i)
        array(name).set(
            i,
            on_grid(random, name[0] == 'c' && array(name).element == Element::kFloat64 ? 16 : 20));
  if (has("radius"))
    for (std::size_t i = 0; i < array("radius").count; ++i)
      array("radius").set(i, std::abs(on_grid(random, 20)));
  if (has("coefficients")) fill_backward();
  for (const char* list : {"live", "live_in"})
    if (has(list)) fill_list(list);
}

// Fills a list with three of four neurons, in the form of list_live() of runtime/bf/core/bounds.h.
void KernelCheck::fill_list(const char* list) {
  SearchRandom random(seed_ + 2);
  const int n = std::string_view(list) == "live" ? kernel_.out : kernel_.in;
  auto* const to = static_cast<std::int32_t*>(array(list).memory.get());
  std::vector<bool>& live = live_[list];
  live.clear();
  for (int j = 0; j < n; ++j) live.push_back(random.below(4) > 0);
  bf::list_if(
      n, [&](int j) { return live[static_cast<std::size_t>(j)]; }, to);
}

bool KernelCheck::is_live(const char* list, int neuron) const {
  const auto found = live_.find(list);
  return found == live_.end() || found->second[static_cast<std::size_t>(neuron)];
}

// Slopes are powers of two or zero: coefficients through the relaxation are exact.
void KernelCheck::fill_backward() {
  SearchRandom random(seed_ + 1);
  Array& coefficients = array("coefficients");
  for (std::size_t i = 0; i < coefficients.count; ++i) coefficients.set(i, on_grid(random, 20));
  if (!has("table")) return;
  Array& table = array("table");
  const std::size_t row = table.count / bf::kRelaxRows;
  for (std::size_t i = 0; i < table.count; ++i) {
    const std::size_t which = i / row;
    constexpr double kSlopes[] = {0, 0.5, 1};
    const bool slope = which == bf::kSlopeUpper || which == bf::kSlopeLower;
    table.set(i, slope ? kSlopes[random.below(3)] : on_grid(random, 10));
  }
  Array& sums = array("sums");
  for (std::size_t i = 0; i < sums.count; ++i) sums.set(i, 0);
}

double KernelCheck::weight(const char* table, int o, int i) const {
  const std::size_t at = static_cast<std::size_t>(o / kernel_.panel * kernel_.panel) *
                             static_cast<std::size_t>(kernel_.in) +
                         static_cast<std::size_t>(i) * static_cast<std::size_t>(kernel_.panel) +
                         static_cast<std::size_t>(o % kernel_.panel);
  return value(table, at);
}

std::string KernelCheck::margins() const {
  for (const auto& [name, each] : arrays_) {
    const auto* const margin = static_cast<const unsigned char*>(each.memory.get()) + each.bytes();
    if (std::any_of(margin, margin + kMarginBytes, [](unsigned char c) { return c != kMargin; }))
      return fmt::format("{} is written beyond its end", name);
  }
  return {};
}

std::string KernelCheck::expect(const std::string& what, double made,
                                const Expected& expected) const {
  if (std::abs(made - expected.value) <= expected.within) return {};  // false for NaN
  return fmt::format("{} is {:.17g}, not {:.17g} within {:.3g}", what, made, expected.value,
                     expected.within);
}

std::string KernelCheck::check_forward() const {
  const auto boxes = static_cast<std::size_t>(kernel_.boxes);
  const bool evaluates = kernel_.kind == KernelKind::kEvaluateAffine;
  const bool centred = kernel_.kind == KernelKind::kCentreAffine;
  const double gamma = gamma_float(kernel_.depth + kEpilogue);
  for (int o = 0; o < kernel_.out; ++o)
    for (std::size_t b = 0; b < boxes; ++b) {
      const double bias = value("bias", static_cast<std::size_t>(o));
      double centre = bias, magnitude = std::abs(bias), radius = 0;
      for (int i = 0; i < kernel_.in; ++i) {
        if (!is_live("live_in", i)) continue;
        const std::size_t at = static_cast<std::size_t>(i) * boxes + b;
        const double w = weight("weight", o, i), c = value(evaluates ? "x" : "centre", at);
        const double whole = w + (has("residual") ? weight("residual", o, i) : 0.0);
        centre += whole * c;
        magnitude += std::abs(whole * c);
        // The residual has no part in the radius, since the error terms pay for it.
        if (!evaluates) radius += std::abs(w) * value("radius", at);
      }
      const std::size_t at = static_cast<std::size_t>(o) * boxes + b;
      const std::string name = fmt::format("output {} of box {}", o, b);
      const auto relu = [&](double z) { return kernel_.relu ? std::max(z, 0.0) : z; };
      std::string wrong;
      if (evaluates) {
        wrong = expect(name, value("y", at),
                       {relu(centre), gamma_float(kernel_.in + kEpilogue) * magnitude});
      } else if (centred) {
        wrong = expect(name, value("out_centre", at),
                       {centre, gamma_double(kernel_.in + kEpilogue) * magnitude});
        if (wrong.empty())
          wrong = expect("radius of " + name, value("out_radius", at), {radius, gamma * radius});
      } else {
        const double within = gamma * (magnitude + radius);
        const double low =
            kernel_.head ? value("lower", at) : value("out_centre", at) - value("out_radius", at);
        const double high =
            kernel_.head ? value("upper", at) : value("out_centre", at) + value("out_radius", at);
        wrong = expect("lower end of " + name, low, {relu(centre - radius), within});
        if (wrong.empty())
          wrong = expect("upper end of " + name, high, {relu(centre + radius), within});
      }
      if (!wrong.empty()) return wrong;
    }
  return {};
}

// Checks the sum of each row. coefficients: those before the relaxation.
std::string KernelCheck::check_sums(const std::vector<double>& coefficients) const {
  const auto rows = static_cast<std::size_t>(kernel_.rows);
  const auto boxes = static_cast<std::size_t>(kernel_.boxes);
  const auto out = static_cast<std::size_t>(kernel_.out);
  const std::size_t row_of_table = out * boxes;
  // Each block adds to what is there.
  const double gamma = gamma_float(2 * kernel_.depth);
  const std::size_t upper = kernel_.wide ? bf::kWideOffsetUpper : bf::kOffsetUpper;
  const std::size_t lower = kernel_.wide ? bf::kWideOffsetLower : bf::kOffsetLower;
  for (std::size_t r = 0; r < rows; ++r) {
    Expected offset;
    for (std::size_t j = 0; j < out; ++j) {
      if (!is_live("live", static_cast<int>(j))) continue;
      const std::size_t at = j * boxes + r % boxes;
      const double a = coefficients[j * rows + r];
      const double line = value("table", (a < 0 ? upper : lower) * row_of_table + at);
      offset.value += a * line;
      offset.within += gamma * std::abs(a * line);
    }
    if (std::string wrong = expect(fmt::format("offset of row {}", r), value("sums", r), offset);
        !wrong.empty())
      return wrong;
  }
  return {};
}

std::string KernelCheck::check_backward(const std::vector<double>& coefficients) const {
  const auto rows = static_cast<std::size_t>(kernel_.rows);
  const auto boxes = static_cast<std::size_t>(kernel_.boxes);
  const std::size_t row_of_table = static_cast<std::size_t>(kernel_.out) * boxes;
  if (!kernel_.plain)
    if (std::string wrong = check_sums(coefficients); !wrong.empty()) return wrong;
  // A wide sum does not round until it is stored.
  const double gamma = gamma_float(kernel_.wide ? 1 : kernel_.depth);
  std::vector<double> relaxed = coefficients;
  if (!kernel_.plain)
    for (std::size_t i = 0; i < relaxed.size(); ++i) {
      const std::size_t at = i / rows * boxes + i % rows % boxes;
      relaxed[i] *=
          value("table", (relaxed[i] < 0 ? bf::kSlopeUpper : bf::kSlopeLower) * row_of_table + at);
    }
  std::vector<Expected> sums(rows);
  for (int k = 0; k < kernel_.in; ++k) {
    if (!is_live("live_in", k)) continue;
    std::ranges::fill(sums, Expected{});
    for (int j = 0; j < kernel_.out; ++j) {
      if (!is_live("live", j)) continue;
      const double w = weight("weight", j, k);
      const double* const a = &relaxed[static_cast<std::size_t>(j) * rows];
      for (std::size_t r = 0; r < rows; ++r) {
        sums[r].value += w * a[r];
        sums[r].within += std::abs(w * a[r]);
      }
    }
    for (std::size_t r = 0; r < rows; ++r) {
      const double scale = kernel_.wide ? std::abs(sums[r].value) : sums[r].within;
      const std::string wrong = expect(fmt::format("coefficient {} of row {}", k, r),
                                       value("result", static_cast<std::size_t>(k) * rows + r),
                                       {sums[r].value, gamma * scale});
      if (!wrong.empty()) return wrong;
    }
  }
  return {};
}

std::string KernelCheck::failure(const LoadedKernel& loaded) {
  fill();
  for (const char* name : {"lower", "upper", "out_centre", "out_radius", "y", "result"})
    if (has(name)) std::memset(array(name).memory.get(), 0xff, array(name).bytes());  // NaN
  std::vector<double> coefficients;
  if (has("coefficients"))
    for (std::size_t i = 0; i < array("coefficients").count; ++i)
      coefficients.push_back(value("coefficients", i));
  loaded.run(pointers_.data());
  if (std::string wrong = margins(); !wrong.empty()) return wrong;
  return has("coefficients") ? check_backward(coefficients) : check_forward();
}

void KernelCheck::prepare_timing() {
  fill();
  if (!has("table")) return;
  Array& table = array("table");
  for (std::size_t i = 0; i < table.count; ++i) table.set(i, 1);
}

void KernelCheck::run(const LoadedKernel& loaded) {
  if (!copies_.empty()) {
    turn_ = (turn_ + 1) % (copies_.size() + 1);
    pointers_[weight_position_] =
        turn_ == 0 ? array("weight").memory.get() : copies_[turn_ - 1].get();
  }
  loaded.run(pointers_.data());
}

}  // namespace bf_aot::apps

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "aot/engine/prebuilt/levels.h"
#include "aot/engine/prebuilt/prebuilt.h"
#include "bf/contract/tables.h"
#include "bf/core/live_neurons.h"
#include "tests/seed.h"
#include "tests/soundness/exact_code.h"

// The kernels of each instruction set that runs here, against sums in the documented order. What
// contraction does not change: bits of sums of small integers. Without contraction: all bits.

namespace bf_aot::engine {

BF_FOR_EACH_PREBUILT(BF_DECLARE_PREBUILT)

namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr int kGuard = 64;  // elements before and behind results that no kernel may write

int padded(int n, int unit) {
  return (n + unit - 1) / unit * unit;
}

template <typename T>
bool same_bits(T a, T b) {
  return std::memcmp(&a, &b, sizeof a) == 0 || (a != a && b != b);
}

// A result that a kernel writes, and what it should be.
template <typename T>
struct Output {
  std::vector<T> made, expected;

  explicit Output(std::size_t count) : made(count + 2 * kGuard, T{-77}), expected(made) {}
  T* at() { return made.data() + kGuard; }
  T& operator[](std::size_t i) { return expected[kGuard + i]; }
  void start_with(const std::vector<T>& values) {
    std::ranges::copy(values, made.begin() + kGuard);
    std::ranges::copy(values, expected.begin() + kGuard);
  }
};

// Random extents and arrays of one call.
class Trial {
 public:
  Trial(const KernelVariant& variant, int lanes, bool integers, std::mt19937& random)
      : variant_(variant), lanes_(lanes), integers_(integers), random_(random) {
    const int boxes = variant.boxes;
    in_ = between(1, 40);
    out_ = between(1, boxes > 1 ? 40 : 150);
    panel_ = lanes * between(1, 6);
    lines_ = between(1, 20);
    const bool backward = variant.kind == KernelKind::kBackwardAffine;
    if (backward)
      chunk_ = panel_ * between(1, 3);
    else
      chunk_ = between(0, 1) == 0 ? in_ : 8 * between(1, 3);
    weight_ = numbers<float>(static_cast<std::size_t>(padded(out_, panel_)) * in_);
    residual_ = numbers<float>(weight_.size());
    live_in_ = list(in_);
    live_out_ = list(out_);
  }

  void run(Thunk call) {
    switch (variant_.kind) {
      case KernelKind::kIntervalAffine:
        return run_interval(call);
      case KernelKind::kCentreAffine:
        return run_centre(call);
      case KernelKind::kEvaluateAffine:
        return run_evaluate(call);
      case KernelKind::kForwardLines:
        return run_lines(call);
      case KernelKind::kBackwardAffine:
        return run_backward(call);
      case KernelKind::kConcretize:
        return run_concretize(call);
      default:
        FAIL() << "no dense kernel";
    }
  }

 private:
  int between(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random_); }

  template <typename T>
  T number() {
    if (between(0, 9) == 0) return 0;
    if (integers_) return static_cast<T>(between(-3, 3));
    return static_cast<T>(std::normal_distribution<double>()(random_));
  }
  template <typename T>
  std::vector<T> numbers(std::size_t count, bool positive = false) {
    std::vector<T> made(count);
    for (T& value : made) value = positive ? std::abs(number<T>()) : number<T>();
    return made;
  }
  std::size_t size(std::int64_t count) const { return static_cast<std::size_t>(count); }

  std::vector<std::int32_t> list(int n) {
    const int share = between(0, 10);
    std::vector<bool> live;
    for (int i = 0; i < n; ++i) live.push_back(between(0, 9) < share);
    std::vector<std::int32_t> made(size(bf::live_list_size(n)));
    bf::list_if(
        n, [&](int i) { return live[size(i)]; }, made.data());
    return made;
  }
  // The numbers that a sum goes through, of first .. end - 1.
  static std::vector<int> chosen(const std::vector<std::int32_t>& list, bool listed, int first,
                                 int end) {
    std::vector<int> made;
    if (listed) {
      for (int i = 0; i < list[0]; ++i)
        if (list[1 + static_cast<std::size_t>(i)] >= first &&
            list[1 + static_cast<std::size_t>(i)] < end)
          made.push_back(list[1 + static_cast<std::size_t>(i)]);
    } else {
      for (int i = first; i < end; ++i) made.push_back(i);
    }
    return made;
  }

  // Element (o, i) of [out / panel][in][panel].
  float element(const std::vector<float>& table, int o, int i) const {
    return table[size((std::int64_t{o} / panel_ * in_ + i) * panel_ + o % panel_)];
  }

  void begin() {
    extents_ = {in_, out_, panel_, chunk_, lines_};
    values_.clear();
    pass(&extents_);
  }
  void pass(const void* pointer) {
    Value value;
    value.pointer = pointer;
    values_.push_back(value);
  }
  void pass_real(float real) {
    Value value;
    value.real = static_cast<double>(real);
    values_.push_back(value);
  }
  template <typename T>
  static void compare(const char* what, const Output<T>& output) {
    for (std::size_t i = 0; i < output.made.size(); ++i)
      ASSERT_TRUE(same_bits(output.made[i], output.expected[i]))
          << what << "[" << static_cast<std::int64_t>(i) - kGuard << "]: " << output.made[i]
          << ", not " << output.expected[i];
  }

  // sum over chunks of the sums over each, of term(i).
  template <typename T, typename Term>
  T sum_of_chunks(Term term) const {
    T sum = 0;
    for (int chunk = 0; chunk < in_; chunk += chunk_) {
      T part = 0;
      for (const int i : chosen(live_in_, variant_.live_in, chunk, std::min(chunk + chunk_, in_)))
        part += term(i);
      sum += part;
    }
    return sum;
  }

  // Outputs that are computed: lanes of outputs fill panels.
  int made_outputs() const { return variant_.boxes > 1 ? out_ : padded(out_, panel_); }

  void run_interval(Thunk call) {
    const int boxes = variant_.boxes, outputs = made_outputs();
    const bool head = variant_.head;
    const int stored = head ? out_ : outputs;
    const auto bias = numbers<float>(size(outputs));
    auto centre = numbers<float>(size(in_ * boxes));
    const auto radius = numbers<float>(size(in_ * boxes), true);
    if (!integers_ && between(0, 3) == 0) centre[0] = kInf;
    const float inflate = integers_ ? 2 : 1.0001f, relative = integers_ ? 1 : 0x1p-20f;
    const float absolute = integers_ ? 1 : 0x1p-30f, gamma = integers_ ? 0 : 0x1p-21f;
    Output<float> first(size(stored * boxes)), second(size(stored * boxes));
    for (int o = 0; o < stored; ++o)
      for (int b = 0; b < boxes; ++b) {
        const auto at = [&](int i) { return size(i * boxes + b); };
        const float mid =
            sum_of_chunks<float>([&](int i) { return element(weight_, o, i) * centre[at(i)]; });
        const float rad = sum_of_chunks<float>(
            [&](int i) { return std::abs(element(weight_, o, i)) * radius[at(i)]; });
        const float z = mid + bias[size(o)];
        const float spread = std::abs(z) * relative + (rad * inflate + absolute);
        float low = z - spread, high = z + spread;
        if (head) {
          if (!(spread <= std::numeric_limits<float>::max())) {
            low = -kInf;
            high = kInf;
          }
          if (variant_.relu) {
            low = low > 0 ? low : 0;
            high = high > 0 ? high : 0;
          }
          first[at(o)] = low;
          second[at(o)] = high;
          continue;
        }
        if (variant_.relu) {
          low = 0 > low ? 0 : low;
          high = 0 > high ? 0 : high;
        }
        const float middle = 0.5f * (low + high);
        first[at(o)] = middle;
        second[at(o)] = (high - low) * static_cast<float>(0.5 * (1 + 0x1p-22)) +
                        (variant_.relu ? middle : std::abs(middle)) * gamma;
      }
    begin();
    for (const float* each :
         {std::as_const(weight_).data(), bias.data(), std::as_const(centre).data(), radius.data()})
      pass(each);
    for (const float each : {inflate, relative, absolute}) pass_real(each);
    if (!head) pass_real(gamma);
    pass(first.at());
    pass(second.at());
    if (variant_.live_in) pass(live_in_.data());
    call(values_.data(), nullptr);
    compare("first", first);
    compare("second", second);
  }

  void run_centre(Thunk call) {
    const int boxes = variant_.boxes, outputs = made_outputs();
    const auto bias = numbers<double>(size(outputs));
    const auto centre = numbers<double>(size(in_ * boxes));
    const auto radius = numbers<float>(size(in_ * boxes), true);
    Output<double> out_centre(size(outputs * boxes));
    Output<float> out_radius(size(outputs * boxes));
    for (int o = 0; o < outputs; ++o)
      for (int b = 0; b < boxes; ++b) {
        const auto at = [&](int i) { return size(i * boxes + b); };
        out_radius[at(o)] = sum_of_chunks<float>(
            [&](int i) { return std::abs(element(weight_, o, i)) * radius[at(i)]; });
        const double mid = sum_of_chunks<double>([&](int i) {
          double w = element(weight_, o, i);
          if (variant_.residual) w = w + static_cast<double>(element(residual_, o, i));
          return w * centre[at(i)];
        });
        out_centre[at(o)] = mid + bias[size(o)];
      }
    begin();
    pass(weight_.data());
    if (variant_.residual) pass(residual_.data());
    pass(bias.data());
    pass(centre.data());
    pass(radius.data());
    pass(out_centre.at());
    pass(out_radius.at());
    if (variant_.live_in) pass(live_in_.data());
    call(values_.data(), nullptr);
    compare("centre", out_centre);
    compare("radius", out_radius);
  }

  void run_evaluate(Thunk call) {
    const auto bias = numbers<float>(size(made_outputs()));
    const auto x = numbers<float>(size(in_));
    const int stored = variant_.head ? out_ : made_outputs();
    Output<float> y(size(stored));
    for (int o = 0; o < stored; ++o) {
      const float sum =
          sum_of_chunks<float>([&](int i) { return element(weight_, o, i) * x[size(i)]; });
      const float value = sum + bias[size(o)];
      y[size(o)] = variant_.relu ? (value > 0 ? value : 0) : value;
    }
    begin();
    pass(weight_.data());
    pass(bias.data());
    pass(x.data());
    pass(y.at());
    call(values_.data(), nullptr);
    compare("y", y);
  }

  void run_lines(Thunk call) {
    const int boxes = variant_.boxes, outputs = made_outputs();
    const auto lines = numbers<float>(size(lines_ * in_ * boxes));
    const auto spread = numbers<float>(size(in_ * boxes), true);
    Output<float> out_lines(size(lines_ * outputs * boxes)), out_spread(size(outputs * boxes));
    for (int o = 0; o < outputs; ++o)
      for (int b = 0; b < boxes; ++b) {
        for (int c = 0; c < lines_; ++c)
          out_lines[size((c * outputs + o) * boxes + b)] = sum_of_chunks<float>([&](int i) {
            return element(weight_, o, i) * lines[size((c * in_ + i) * boxes + b)];
          });
        out_spread[size(o * boxes + b)] = sum_of_chunks<float>(
            [&](int i) { return std::abs(element(weight_, o, i)) * spread[size(i * boxes + b)]; });
      }
    begin();
    pass(weight_.data());
    pass(lines.data());
    pass(spread.data());
    pass(out_lines.at());
    pass(out_spread.at());
    call(values_.data(), nullptr);
    compare("lines", out_lines);
    compare("spread", out_spread);
  }

  // Relaxes the coefficients of neuron j; the sum of a row's offsets.
  void relax_neuron(int j, const std::vector<float>& table, Output<float>& coefficients,
                    std::vector<float>& offset) const {
    const int rows = variant_.rows, boxes = variant_.boxes;
    for (int r = 0; r < rows; ++r) {
      const auto entry = [&](int row) {
        return table[size((row * out_ + j) * boxes + (boxes > 1 ? r % boxes : 0))];
      };
      float& a = coefficients[size(j * rows + r)];
      const bool negative = a < 0;
      const bool wide = variant_.wide;
      offset[size(r)] += a * (negative ? entry(wide ? bf::kWideOffsetUpper : bf::kOffsetUpper)
                                       : entry(wide ? bf::kWideOffsetLower : bf::kOffsetLower));
      a = a * (negative ? entry(bf::kSlopeUpper) : entry(bf::kSlopeLower));
    }
  }

  template <typename T>
  T product(const Output<float>& coefficients, const std::vector<int>& neurons, int k,
            int r) const {
    T sum = 0;
    for (const int j : neurons)
      sum += static_cast<T>(element(weight_, j, k)) *
             static_cast<T>(coefficients.expected[size(kGuard + j * variant_.rows + r)]);
    return sum;
  }

  void run_backward(Thunk call) {
    const int rows = variant_.rows, boxes = variant_.boxes;
    const auto table = numbers<float>(size(6 * out_ * boxes));
    Output<float> coefficients(size(out_ * rows)), sums(size(rows)), result(size(in_ * rows));
    coefficients.start_with(numbers<float>(size(out_ * rows)));
    sums.start_with(numbers<float>(size(rows)));
    std::vector<float> offsets(size(rows));
    const auto columns = chosen(live_in_, variant_.live_in, 0, in_);
    for (int block = 0; block < out_; block += chunk_) {
      const auto neurons =
          chosen(live_out_, variant_.live_out, block, std::min(block + chunk_, out_));
      if (!variant_.plain) {
        std::vector<float> part(size(rows));
        for (const int j : neurons) relax_neuron(j, table, coefficients, part);
        for (int r = 0; r < rows; ++r)
          (variant_.wide ? offsets[size(r)] : sums[size(r)]) += part[size(r)];
      }
      if (variant_.wide) continue;
      for (const int k : columns)
        for (int r = 0; r < rows; ++r) {
          float& to = result[size(k * rows + r)];
          const auto made = product<float>(coefficients, neurons, k, r);
          to = block == 0 ? made : to + made;
        }
    }
    if (variant_.wide) {
      if (!variant_.plain)
        for (int r = 0; r < rows; ++r) sums[size(r)] += offsets[size(r)];
      const auto neurons = chosen(live_out_, variant_.live_out, 0, out_);
      for (const int k : columns)
        for (int r = 0; r < rows; ++r)
          result[size(k * rows + r)] =
              static_cast<float>(product<double>(coefficients, neurons, k, r));
    }
    begin();
    pass(weight_.data());
    if (!variant_.plain) pass(table.data());
    pass(coefficients.at());
    if (!variant_.plain) pass(sums.at());
    pass(result.at());
    if (variant_.live_in) pass(live_in_.data());
    if (variant_.live_out) pass(live_out_.data());
    call(values_.data(), nullptr);
    compare("coefficients", coefficients);
    compare("sums", sums);
    compare("result", result);
  }

  void run_concretize(Thunk call) {
    const int rows = variant_.rows, boxes = variant_.boxes;
    const auto coefficients = numbers<float>(size(in_ * rows));
    const auto radius = numbers<float>(size(in_ * boxes), true);
    Output<float> spread(size(rows));
    for (int r = 0; r < rows; ++r) {
      float sum = 0;
      for (int k = 0; k < in_; ++k)
        sum += std::abs(coefficients[size(k * rows + r)]) *
               radius[size(k * boxes + (boxes > 1 ? r % boxes : 0))];
      spread[size(r)] = sum;
    }
    begin();
    pass(coefficients.data());
    pass(radius.data());
    pass(spread.at());
    call(values_.data(), nullptr);
    compare("spread", spread);
  }

  KernelVariant variant_;
  int lanes_;
  bool integers_;
  std::mt19937& random_;
  int in_, out_, panel_, chunk_, lines_;
  std::vector<float> weight_, residual_;
  std::vector<std::int32_t> live_in_, live_out_;
  KernelExtents extents_;
  std::vector<Value> values_;
};

std::string to_string(const KernelVariant& v) {
  std::string text = "kind " + std::to_string(static_cast<int>(v.kind)) + " rows " +
                     std::to_string(v.rows) + " boxes " + std::to_string(v.boxes);
  const std::pair<bool, const char*> flags[] = {
      {v.wide, " wide"},       {v.plain, " plain"}, {v.live_out, " live_out"},
      {v.live_in, " live_in"}, {v.relu, " relu"},   {v.residual, " residual"},
      {v.head, " head"}};
  for (const auto& [set, name] : flags)
    if (set) text += name;
  return text;
}

// Floats of a vector: boxes fill one.
int lanes_of(const Span<PrebuiltKernel>& kernels) {
  int lanes = 1;
  for (std::size_t i = 0; i < kernels.count; ++i)
    lanes = std::max(lanes, kernels.first[i].variant.boxes);
  return lanes;
}

void check(const char* target, const Span<PrebuiltKernel>& kernels, bool integers) {
  std::mt19937 random(static_cast<unsigned>(bf_aot::testing::seed_from_environment(20)));
  ASSERT_GT(kernels.count, 0u);
  for (std::size_t i = 0; i < kernels.count; ++i)
    for (int trial = 0; trial < 12 * bf_aot::testing::rounds_from_environment(); ++trial) {
      SCOPED_TRACE(std::string(target) + ", " + to_string(kernels.first[i].variant) + ", trial " +
                   std::to_string(trial));
      Trial(kernels.first[i].variant, lanes_of(kernels), integers, random)
          .run(kernels.first[i].call);
      if (::testing::Test::HasFailure()) return;
    }
}

bool runs_here(std::string_view level) {
#define BF_IS(name, target) \
  if (level == target) return true;
  BF_FOR_EACH_EXACT(BF_IS)
#undef BF_IS
  return false;
}

TEST(PrebuiltKernels, SumIntegersExactly) {
#define BF_CHECK_ONE(name, target) \
  if (runs_here(target)) check(target, kernels_##name(), true);
  BF_FOR_EACH_PREBUILT(BF_CHECK_ONE)
#undef BF_CHECK_ONE
}

TEST(PrebuiltKernels, SumInTheOrderOfPrintedOnes) {
#define BF_CHECK_ONE(name, target) check(target, kernels_##name(), false);
  BF_FOR_EACH_EXACT(BF_CHECK_ONE)
#undef BF_CHECK_ONE
}

void expect_distinct(const Span<PrebuiltKernel>& kernels) {
  for (std::size_t i = 0; i < kernels.count; ++i)
    for (std::size_t k = 0; k < i; ++k)
      EXPECT_FALSE(kernels.first[i].variant == kernels.first[k].variant)
          << to_string(kernels.first[i].variant);
}

TEST(PrebuiltKernels, AreListedOnce) {
#define BF_CHECK_ONE(name, target) expect_distinct(kernels_##name());
  BF_FOR_EACH_PREBUILT(BF_CHECK_ONE)
#undef BF_CHECK_ONE
}

}  // namespace
}  // namespace bf_aot::engine

#include <fmt/format.h>

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <numeric>

#include "aot/input/dataset.h"
#include "aot/input/directed.h"
#include "frontend/diagnostic.h"
#include "frontend/graph/graph.h"

namespace bf_aot::input {
namespace {

std::vector<std::int64_t> without_ones(const std::vector<std::int64_t>& shape) {
  std::vector<std::int64_t> kept;
  for (const std::int64_t extent : shape)
    if (extent != 1) kept.push_back(extent);
  return kept;
}

// Reorders every sample from [height, width, channels] to [channels, height, width].
void put_channels_first(std::vector<double>& values, const std::vector<std::int64_t>& shape) {
  const auto pixels = static_cast<std::size_t>(shape[0] * shape[1]);
  const auto channels = static_cast<std::size_t>(shape[2]);
  std::vector<double> sample(pixels * channels);
  for (std::size_t first = 0; first < values.size(); first += sample.size()) {
    const auto begin = values.begin() + static_cast<std::ptrdiff_t>(first);
    std::copy_n(begin, sample.size(), sample.begin());
    for (std::size_t c = 0; c < channels; ++c)
      for (std::size_t p = 0; p < pixels; ++p)
        values[first + c * pixels + p] = sample[p * channels + c];
  }
}

// Divides x by an exact positive number, which is known between two doubles.
double divide(double x, const vnnlib::Number& by, bool up) {
  return quotient(x, (x >= 0) == up ? by.below : by.above, up);
}

float float_end(double x, bool up, const std::string& where) {
  if (!(std::fabs(x) <= static_cast<double>(FLT_MAX)))
    fail("BF3007", where, "the normalised number is beyond the range of float32",
         "check --scale, --mean and --std");
  return to_float(x, up);
}

const vnnlib::Number& of_channel(const std::vector<vnnlib::Number>& numbers, std::size_t channel) {
  return numbers[numbers.size() == 1 ? 0 : channel];
}

// A number in units of value / scale, normalised.
double normalised(double x, std::size_t channel, const Normalisation& n, bool up) {
  if (!n.mean.empty()) {
    const vnnlib::Number& mean = of_channel(n.mean, channel);
    x = sum(x, up ? -mean.below : -mean.above, up);
  }
  return n.deviation.empty() ? x : divide(x, of_channel(n.deviation, channel), up);
}

double scaled(double x, const Normalisation& n, bool up) {
  return n.scale ? divide(x, *n.scale, up) : x;
}

// Adds the next input's ends; both functions give an end rounded down or up.
template <class LowerEnd, class UpperEnd>
void add_ends(SampleBox& box, const LowerEnd& lower_end, const UpperEnd& upper_end,
              const std::string& place) {
  box.lower.push_back(float_end(lower_end(false), false, place));
  box.upper.push_back(float_end(upper_end(true), true, place));
  box.inner_lower.push_back(lower_end(true));
  box.inner_upper.push_back(upper_end(false));
}

void check_value(double value, const Normalisation& n, const std::string& where) {
  if (!std::isfinite(value)) fail("BF3016", where, fmt::format("{} is not finite", value));
  if (!n.range) return;
  if (scaled(value, n, true) < n.range->first.below ||
      scaled(value, n, false) > n.range->second.above)
    fail("BF3016", where,
         fmt::format("{} is out of --clip {} to {}", value, n.range->first.text,
                     n.range->second.text),
         "--scale 255 divides numbers of 0 to 255; --clip is of numbers so divided, not yet "
         "normalised");
}

std::string input_place(const std::string& where, std::size_t input) {
  return fmt::format("{}, input {}", where, input);
}

}  // namespace

ModelSamples arrange(Dataset& data, const std::vector<std::int64_t>& input_shape,
                     std::size_t input_count, std::size_t means) {
  const std::vector<std::int64_t> wanted = without_ones(input_shape);
  std::vector<std::int64_t> shape = data.shape;
  const std::string hint = fmt::format("the model's input is {}", to_string(Shape(input_shape)));
  if (data.size() != input_count)
    fail("BF3016", data.where,
         fmt::format("samples of shape {} have {} numbers, the model has {} inputs",
                     to_string(Shape(shape)), data.size(), input_count),
         hint);
  const bool flat = without_ones(shape).size() <= 1 || wanted.size() <= 1;
  if (!flat && without_ones(shape) != wanted) {
    const std::vector<std::int64_t> turned = {shape.back(), shape[0],
                                              shape.size() > 2 ? shape[1] : 1};
    if (shape.size() != 3 || without_ones(turned) != wanted)
      fail("BF3016", data.where,
           fmt::format("samples of shape {} do not fit", to_string(Shape(shape))), hint);
    if (!data.channels_last)
      fail("BF3016", data.where,
           fmt::format("samples of shape {} have their channels last", to_string(Shape(shape))),
           hint + "; --layout hwc turns them");
    for (std::vector<double>* const values : {&data.values, &data.lower, &data.upper})
      if (!values->empty()) put_channels_first(*values, shape);
    data.channels_last = false;
    data.shape = shape = {turned[0], turned[1], turned[2]};
  }
  // Elements of one channel have the same order in both layouts.
  if (!flat && data.channels_last && shape.size() == 3 && shape.back() == 1 &&
      input_shape.back() != 1) {
    data.channels_last = false;
    data.shape = {1, shape[0], shape[1]};
  }
  ModelSamples samples;
  samples.inputs = input_count;
  samples.values = data.values;
  samples.lower = data.lower;
  samples.upper = data.upper;
  // The number of channels: of the model's own shape, of what is left of a picture, or each input
  // is one.
  const std::size_t image_channels =
      input_shape.size() >= 3
          ? static_cast<std::size_t>(data.channels_last ? input_shape.back() : input_shape[1])
          : 1;
  std::size_t channels = 1;
  if (means > 1) {
    channels = means == image_channels ? image_channels : input_count;
    if (means != channels)
      fail("BF3016", data.where,
           fmt::format("{} means or deviations are given for {} channels", means, image_channels),
           hint);
  }
  samples.channel.resize(input_count);
  for (std::size_t i = 0; i < input_count; ++i)
    samples.channel[i] = data.channels_last ? i % channels : i / (input_count / channels);
  return samples;
}

SampleBox perturb(const ModelSamples& samples, std::size_t index, const vnnlib::Number& eps,
                  const Normalisation& n, const std::string& where) {
  SampleBox box;
  const double* const values = samples.values.data() + index * samples.inputs;
  for (std::size_t i = 0; i < samples.inputs; ++i) {
    const std::string place = input_place(where, i);
    check_value(values[i], n, place);
    const std::size_t channel = samples.channel[i];
    const auto lower_end = [&](bool up) {
      double end = sum(scaled(values[i], n, up), up ? -eps.below : -eps.above, up);
      if (n.range) end = std::max(end, up ? n.range->first.above : n.range->first.below);
      return normalised(end, channel, n, up);
    };
    const auto upper_end = [&](bool up) {
      double end = sum(scaled(values[i], n, up), up ? eps.above : eps.below, up);
      if (n.range) end = std::min(end, up ? n.range->second.above : n.range->second.below);
      return normalised(end, channel, n, up);
    };
    add_ends(box, lower_end, upper_end, place);
    const double middle = normalised(scaled(values[i], n, true), channel, n, true);
    box.sample.push_back(std::clamp(static_cast<float>(middle), box.lower[i], box.upper[i]));
  }
  return box;
}

SampleBox own_box(const ModelSamples& samples, std::size_t index, const Normalisation& n,
                  const std::string& where) {
  SampleBox box;
  for (std::size_t i = 0; i < samples.inputs; ++i) {
    const std::string place = input_place(where, i);
    const double low = samples.lower[index * samples.inputs + i];
    const double high = samples.upper[index * samples.inputs + i];
    check_value(low, n, place);
    check_value(high, n, place);
    if (low > high)
      fail("BF3008", place, fmt::format("the lower end {} is above the upper end {}", low, high),
           "swap them");
    const std::size_t channel = samples.channel[i];
    add_ends(
        box, [&](bool up) { return normalised(scaled(low, n, up), channel, n, up); },
        [&](bool up) { return normalised(scaled(high, n, up), channel, n, up); }, place);
    const float middle = box.lower[i] / 2 + box.upper[i] / 2;
    box.sample.push_back(std::clamp(middle, box.lower[i], box.upper[i]));
  }
  return box;
}

}  // namespace bf_aot::input

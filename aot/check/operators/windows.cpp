#include <algorithm>

#include "aot/check/operators/rows.h"

// Operators that read windows of images: convolutions, their transposes, and pooling. An image has
// one to three axes, behind those of examples and channels.

namespace bf_check {
namespace {

// The places of a window in an image; all by axis. step: the distance of taps (dilation).
struct Windows {
  std::vector<i64> image, window, stride, step, before, places;

  // Returns, by place and tap, the position in the image that the tap reads, or -1 in the padding.
  std::vector<i64> positions() const {
    std::vector<i64> all;
    const i64 taps = size_of(window);
    expect_work({size_of(places), taps}, 1);
    for (i64 place = 0; place < size_of(places); ++place)
      for (i64 tap = 0; tap < taps; ++tap) all.push_back(position(place, tap));
    return all;
  }

 private:
  i64 position(i64 place, i64 tap) const {
    i64 position = 0, size = 1;
    for (std::size_t axis = image.size(); axis-- > 0;) {
      const i64 at =
          place % places[axis] * stride[axis] - before[axis] + tap % window[axis] * step[axis];
      if (at < 0 || at >= image[axis]) return -1;
      position += at * size;
      size *= image[axis], place /= places[axis], tap /= window[axis];
    }
    return position;
  }
};

std::vector<i64> image_of(const Value& x) {
  if (x.shape.size() < 3 || x.shape.size() > 5)
    refuse("images of other than one to three axes are not in the checker's table");
  return {x.shape.begin() + 2, x.shape.end()};
}

i64 reach_of(const Windows& w, std::size_t axis) {
  return (w.window[axis] - 1) * w.step[axis] + 1;
}

// Windows as the attributes say, without their places; after: the padding behind the image.
Windows described(const Operands& o, std::vector<i64> image, const std::vector<i64>& window,
                  std::vector<i64>& after) {
  const std::size_t axes = image.size();
  const std::vector<i64> ones(axes, 1);
  Windows w{
      std::move(image), window, o.numbers("strides", ones), o.numbers("dilations", ones), {}, {}};
  const std::vector<i64> pads = o.numbers("pads", std::vector<i64>(2 * axes, 0));
  if (o.number("ceil_mode", 0) != 0) refuse("ceil_mode is not in the checker's table");
  if (window.size() != axes || w.stride.size() != axes || w.step.size() != axes ||
      pads.size() != 2 * axes || o.numbers("kernel_shape", window) != window)
    refuse("shapes do not fit");
  for (const std::vector<i64>& each : {window, w.stride, w.step})
    for (const i64 number : each)
      if (number < 1 || number > 4096) refuse("a window is not in the checker's table");
  for (const i64 pad : pads)
    if (pad < 0 || pad > 1 << 20) refuse("a padding is not in the checker's table");
  w.before.assign(pads.begin(), pads.begin() + static_cast<std::ptrdiff_t>(axes));
  after.assign(pads.begin() + static_cast<std::ptrdiff_t>(axes), pads.end());
  return w;
}

Windows windows_of(const Operands& o, const std::vector<i64>& image,
                   const std::vector<i64>& window) {
  const std::string mode = o.text("auto_pad", "NOTSET");
  const bool same = mode == "SAME_UPPER" || mode == "SAME_LOWER";
  if ((!same && mode != "VALID" && mode != "NOTSET") ||
      (mode != "NOTSET" && o.attribute("pads", 7) != nullptr))
    refuse("this padding is not in the checker's table");
  std::vector<i64> after;
  Windows w = described(o, image, window, after);
  for (std::size_t i = 0; i < image.size(); ++i) {
    if (same) {
      const i64 places = (image[i] + w.stride[i] - 1) / w.stride[i];
      const i64 all = std::max((places - 1) * w.stride[i] + reach_of(w, i) - image[i], i64{0});
      w.before[i] = mode == "SAME_UPPER" ? all / 2 : all - all / 2;
      after[i] = all - w.before[i];
    }
    const i64 room = image[i] + w.before[i] + after[i] - reach_of(w, i);
    if (room < 0) refuse("a window is larger than its image");
    w.places.push_back(room / w.stride[i] + 1);
  }
  return w;
}

// A convolution's operands: its kernel's channels of the result and of a group of the input, or the
// other way, and taps.
struct Kernel {
  const Value& weight;
  const Value* bias;
  std::vector<i64> window;
  i64 groups, taps;

  explicit Kernel(const Operands& o)
      : weight(o.constant(1)),
        bias(o.optional(2) != nullptr ? &o.constant(2) : nullptr),
        window(image_of(weight)),
        groups(o.number("group", 1)),
        taps(size_of(window)) {
    if (groups < 1 || groups > o.in(1).shape[0] || weight.shape[0] % groups != 0)
      refuse("shapes do not fit");
  }

  Rat bias_of(i64 channel) const {
    return bias == nullptr ? Rat(0) : bias->data[static_cast<std::size_t>(channel)];
  }
  void expect(i64 inputs, i64 of_input, i64 outputs) const {
    if (inputs != of_input || (bias != nullptr && bias->shape != std::vector<i64>{outputs}))
      refuse("shapes do not fit");
  }
};

std::vector<i64> images(i64 examples, i64 channels, const std::vector<i64>& image) {
  std::vector<i64> shape = {examples, channels};
  shape.insert(shape.end(), image.begin(), image.end());
  return shape;
}

Value conv(const Operands& o) {
  const Value& x = o.in(0);
  const Kernel k(o);
  const Windows w = windows_of(o, image_of(x), k.window);
  const i64 outs = k.weight.shape[0], depth = k.weight.shape[1], channels = x.shape[1];
  k.expect(size_of({depth, k.groups}), channels, outs);
  const i64 area = size_of(w.image), places = size_of(w.places);
  const std::vector<i64> shape = images(x.shape[0], outs, w.places), at = w.positions();
  expect_work(shape, size_of({depth, k.taps}));
  Rows rows(o.builder, x.constant, {Rounded::kSum}, size_of(shape) * depth * k.taps);
  const Weights weights = rows.weights(k.weight.data, 1, false);
  for (i64 n = 0; n < x.shape[0]; ++n)
    for (i64 out = 0; out < outs; ++out)
      for (i64 place = 0; place < places; ++place) {
        for (i64 c = 0; c < depth; ++c)
          for (i64 tap = 0; tap < k.taps; ++tap) {
            const i64 from = at[static_cast<std::size_t>(place * k.taps + tap)];
            const i64 channel = out / (outs / k.groups) * depth + c;
            if (from >= 0)
              rows.add(x, static_cast<std::size_t>((n * channels + channel) * area + from), weights,
                       static_cast<std::size_t>((out * depth + c) * k.taps + tap));
          }
        rows.end(k.bias_of(out));
      }
  return rows.finish(shape);
}

// Each element of the input adds the kernel to the window of its place in the result.
Value conv_transpose(const Operands& o) {
  const Value& x = o.in(0);
  const Kernel k(o);
  if (o.text("auto_pad", "NOTSET") != "NOTSET") refuse("auto_pad is not in the checker's table");
  std::vector<i64> after;
  Windows w = described(o, image_of(x), k.window, after);
  const std::vector<i64> more = o.numbers("output_padding", std::vector<i64>(after.size(), 0));
  if (more.size() != after.size()) refuse("shapes do not fit");
  w.places = w.image;
  for (std::size_t i = 0; i < more.size(); ++i) {
    if (more[i] < 0 || more[i] >= std::max(w.stride[i], w.step[i]) || w.places[i] < 1)
      refuse("a padding is not in the checker's table");
    w.image[i] =
        (w.places[i] - 1) * w.stride[i] + reach_of(w, i) + more[i] - w.before[i] - after[i];
    if (w.image[i] < 1) refuse("shapes do not fit");
  }
  const i64 channels = k.weight.shape[0], outs = k.weight.shape[1] * k.groups;
  k.expect(channels, x.shape[1], outs);
  const i64 depth = channels / k.groups, area = size_of(w.image), places = size_of(w.places);
  const std::vector<i64> shape = images(x.shape[0], outs, w.image);
  expect_work(shape, size_of({depth, k.taps}));
  std::vector<std::vector<std::pair<i64, i64>>> readers(static_cast<std::size_t>(area));
  const std::vector<i64> at = w.positions();
  for (std::size_t i = 0; i < at.size(); ++i)
    if (at[i] >= 0)
      readers[static_cast<std::size_t>(at[i])].emplace_back(static_cast<i64>(i) / k.taps,
                                                            static_cast<i64>(i) % k.taps);
  Rows rows(o.builder, x.constant, {Rounded::kSum});
  const Weights weights = rows.weights(k.weight.data, 1, false);
  for (i64 n = 0; n < x.shape[0]; ++n)
    for (i64 out = 0; out < outs; ++out)
      for (const auto& from : readers) {
        const i64 group = out / k.weight.shape[1], own = out % k.weight.shape[1];
        for (i64 c = group * depth; c < (group + 1) * depth; ++c)
          for (const auto& [place, tap] : from)
            rows.add(x, static_cast<std::size_t>((n * channels + c) * places + place), weights,
                     static_cast<std::size_t>((c * k.weight.shape[1] + own) * k.taps + tap));
        rows.end(k.bias_of(out));
      }
  return rows.finish(shape);
}

// Windows of a pooling, of each image and place: the elements that they read, in the order of taps.
std::vector<std::vector<std::size_t>> pooled(const Operands& o, i64& taps,
                                             std::vector<i64>& shape) {
  const Value& x = o.in(0);
  const bool global = o.node.op.rfind("Global", 0) == 0;
  const Windows w =
      windows_of(o, image_of(x), global ? image_of(x) : o.numbers("kernel_shape", {}));
  const std::vector<i64> at = w.positions();
  const i64 places = size_of(w.places), area = size_of(w.image);
  taps = size_of(w.window);
  shape = images(x.shape[0], x.shape[1], w.places);
  expect_work(shape, taps);
  std::vector<std::vector<std::size_t>> windows;
  for (i64 image = 0; image < x.shape[0] * x.shape[1]; ++image)
    for (i64 place = 0; place < places; ++place) {
      windows.emplace_back();
      for (i64 tap = 0; tap < taps; ++tap)
        if (const i64 from = at[static_cast<std::size_t>(place * taps + tap)]; from >= 0)
          windows.back().push_back(static_cast<std::size_t>(image * area + from));
      if (windows.back().empty()) refuse("a window lies in the padding alone");
    }
  return windows;
}

// The means of windows.
Value average_pool(const Operands& o) {
  i64 taps = 0;
  std::vector<i64> shape;
  const auto windows = pooled(o, taps, shape);
  Rows rows(o.builder, o.in(0).constant, {Rounded::kSum, kOfMeans});
  for (const std::vector<std::size_t>& from : windows) {
    const bool all = o.number("count_include_pad", 0) != 0;
    const Weight weight = rows.weight(Rat(1, all ? static_cast<unsigned long>(taps) : from.size()));
    for (const std::size_t i : from) rows.add(o.in(0), i, weight);
    rows.end(0);
  }
  return rows.finish(shape);
}

// The maxima of windows, in the order of taps. A window with fewer taps than others repeats its
// first one.
Value max_pool(const Operands& o) {
  i64 taps = 0;
  std::vector<i64> shape;
  const auto windows = pooled(o, taps, shape);
  if (o.number("storage_order", 0) != 0) refuse("storage_order is not in the checker's table");
  std::vector<Value> left;
  std::size_t most = 1;
  for (std::size_t tap = 0; tap < most; ++tap) {
    std::vector<i64> source;
    for (const std::vector<std::size_t>& from : windows) {
      most = std::max(most, from.size());
      source.push_back(static_cast<i64>(from[tap < from.size() ? tap : 0]));
    }
    left.push_back(moved(o.in(0), shape, source));
  }
  return extreme(o.builder, std::move(left), 1);
}

}  // namespace

const std::vector<Operator>& window_operators() {
  static const std::vector<Operator> table = {
      {"AveragePool", 1,
       " auto_pad ceil_mode count_include_pad dilations kernel_shape pads strides ", average_pool},
      {"Conv", 3, " auto_pad dilations group kernel_shape pads strides ", conv},
      {"ConvTranspose", 3, " auto_pad dilations group kernel_shape output_padding pads strides ",
       conv_transpose},
      {"GlobalAveragePool", 1, " ", average_pool},
      {"GlobalMaxPool", 1, " ", max_pool},
      {"MaxPool", 1, " auto_pad ceil_mode dilations kernel_shape pads storage_order strides ",
       max_pool},
  };
  return table;
}

}  // namespace bf_check

#include "tests/soundness/split_nets.h"

#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "tests/seed.h"
#include "tests/soundness/engine_call.h"

namespace bf_aot::soundness {

std::vector<std::vector<mpq_class>> values_of(const Net& net, const Numbers& x) {
  std::vector<std::vector<mpq_class>> all;
  Net part;
  for (const NetLayer& layer : net.layers) {
    part.layers.push_back(layer);
    const bool relu = part.layers.back().relu;
    part.layers.back().relu = false;
    const Numbers z = ExactNet(part).evaluate(x);
    std::vector<mpq_class>& values = all.emplace_back();
    for (std::size_t j = 0; j < z.values.size(); ++j) values.push_back(z.rational(j));
    part.layers.back().relu = relu;
  }
  return all;
}

NetLayer with_bias(NetLayer layer, std::vector<double> bias) {
  layer.bias = std::move(bias);
  return layer;
}

std::vector<NetLayer> layers_that_cancel(Random& random) {
  const auto factor = [&] {
    return static_cast<double>(1 +
                               std::ldexp(static_cast<float>(pick(random, 1, (1 << 23) - 1)), -23));
  };
  const double a = factor(), b = factor(), c = factor(), d = factor();
  return {with_bias(dense_layer(1, 3, {d, b, 1}, true), {0, 0, -1.5}),
          dense_layer(3, 2, {c, 0, 0, 0, a, 0}, true), dense_layer(2, 2, {b, 0, 0, d}, true),
          dense_layer(2, 1, {a, -c})};
}

std::vector<NetLayer> layers_below_the_range() {
  std::vector<NetLayer> layers = {with_bias(dense_layer(1, 2, {0x1p-140, 1}, true), {0, -1.5}),
                                  dense_layer(2, 1, {0x1p-140, 0}, true)};
  for (int k = 0; k < 5; ++k) layers.push_back(dense_layer(1, 1, {0x1p-140}, true));
  layers.push_back(dense_layer(1, 1, {0x1p-140}));
  return layers;
}

std::vector<NetLayer> layers_of_inexact_bias() {
  NetLayer last = with_bias(dense_layer(2, 1, {1, 0}), {0});
  last.bias_shift = {-0x1p-20};
  last.bias_error = {0x1p-20};
  return {with_bias(dense_layer(1, 2, {1, 1}, true), {0, -1.5}), last};
}

SplitTest::SplitTest() {
  const std::string name =
      fmt::format("{}{}", ::testing::UnitTest::GetInstance()->current_test_info()->name(),
                  testing::seed_from_environment(20261125));
  std::seed_seq sequence(name.begin(), name.end());
  random_.seed(sequence);
}

SplitCase SplitTest::random_case(int number) {
  const std::vector<std::string> targets = engine_targets();
  SplitCase made;
  made.net = random_net(random_, static_cast<Family>(number % kFamilies));
  made.box = random_box(random_, made.net.inputs(), pick(random_, 0, kBoxKinds - 1));
  made.form = static_cast<Form>(number / kFamilies % 3);
  made.target = targets[static_cast<std::size_t>(number) % targets.size()];
  made.number = number;
  return made;
}

int SplitTest::rounds() {
  return testing::rounds_from_environment();
}

}  // namespace bf_aot::soundness

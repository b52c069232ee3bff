#pragma once

#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "planner/entries/row_images.h"
#include "tests/unit/planner/toy.h"
#include "tests/unit/planner/toy_graph.h"

// A good plan of convolutions for tests that break it.
namespace bf_aot::testing {

enum : int { kFirst, kSecond, kBlock, kTop };

// [1][1][n][n] -> [1][1][n][n].
inline ConvGeometry square_conv(std::int64_t size) {
  ConvGeometry g;
  g.in_size = g.out_size = {1, size, size};
  g.kernel = {1, 3, 3};
  g.pad = {0, 1, 1};
  g.in = dense_layout(1, g.in_size);
  g.out = dense_layout(1, g.out_size);
  return g;
}

inline Layer relu_sum(const char* name, std::vector<Term> terms) {
  Layer layer = sum(name, std::move(terms), std::vector<double>(16, 0.0));
  layer.relu = true;
  return layer;
}

// A convolution, a residual block behind it, and a dense head.
inline std::vector<Layer> residual_layers() {
  const std::vector<float> weight = {1, -1, 2, 0.5F, 1, -2, 1, 1, -1};
  const std::vector<std::vector<float>> ones = {std::vector<float>(16, 1.0F)};
  return {relu_sum("first", {conv(-1, square_conv(4), weight)}),
          relu_sum("second", {conv(kFirst, square_conv(4), weight)}),
          relu_sum("block", {conv(kSecond, square_conv(4), weight), identity(kFirst, 16)}),
          dense("head", kBlock, ones, {0})};
}

inline BackwardRows& rows_of(Plan& plan, LayerId layer) {
  for (Step& step : plan.entries[0].steps)
    if (auto* const rows = std::get_if<BackwardRows>(&step); rows && rows->layer == layer)
      return *rows;
  ADD_FAILURE() << "no rows of layer " << layer.number();
  return std::get<BackwardRows>(plan.entries[0].steps[0]);
}

inline Plan residual_plan(std::vector<Layer> layers = residual_layers()) {
  return toy_graph_plan(Method::kCrown, 16, std::move(layers));
}

inline Plan windowed_plan(std::vector<Layer> layers = residual_layers()) {
  Plan plan = residual_plan(std::move(layers));
  for (const int layer : {kSecond, kBlock, kTop}) {
    BackwardRows& rows = rows_of(plan, layer);
    rows.images = row_images(plan, rows);
  }
  return plan;
}

}  // namespace bf_aot::testing

#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace bf_aot::artifacts {

// A place: a number of the data on an axis, or pixels.
using PlotPoint = std::pair<double, double>;

// The field of an SVG drawing in which data is drawn, and the labels of its axes. Texts have to be
// escaped. Lines have the class "grid".
struct Plot {
  double left = 0, right = 0, top = 0, bottom = 0;  // the field's edges, in pixels
  double x_least = 0, x_most = 1;                   // what lies at the left and the right edge
  double y_least = 0, y_most = 1;                   // at the lower and the upper edge

  double x(double value) const { return left + (value - x_least) / (x_most - x_least) * width(); }
  double y(double value) const { return top + (y_most - value) / (y_most - y_least) * height(); }
  double width() const { return right - left; }
  double height() const { return bottom - top; }

  // A label left of the field, at a height in pixels.
  std::string y_label(double pixels, std::string_view text) const;
  // A line through the field with its label: a number of the axis.
  std::string y_line(double value, std::string_view text) const;
  // Labels below the field at numbers of the axis, in rising order. Of labels whose middles are
  // less than `apart` pixels from each other the first one is shown.
  std::string x_labels(const std::vector<std::pair<double, std::string>>& labels,
                       double apart) const;
  // The name of an axis, or what else stands below the labels, centred.
  std::string x_title(std::string_view text) const;
  // A line through points, with attributes of its own: class="line".
  std::string line(const std::vector<PlotPoint>& points, std::string_view attributes) const;
};

// <svg ...> of a size, with attributes of its own, and the size as its view box.
std::string svg_head(double width, double height, std::string_view attributes);

}  // namespace bf_aot::artifacts

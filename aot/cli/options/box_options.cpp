#include "aot/cli/options/box_options.h"

#include <fmt/format.h>
#include <gmpxx.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "aot/cli/options/command_line.h"
#include "aot/cli/options/values.h"
#include "aot/input/array.h"
#include "aot/input/exact_box.h"
#include "aot/input/json/json_reader.h"
#include "aot/input/json/read_text.h"
#include "frontend/diagnostic.h"
#include "frontend/graph/model.h"
#include "frontend/import/file/importer.h"

namespace bf_aot::cli {
namespace {

std::optional<mpq_class> number_in(const std::string& text) {
  vnnlib::Number number;
  if (vnnlib::parse_quotient(text, number) != vnnlib::NumberError::kNone) return std::nullopt;
  return vnnlib::exact(number);
}

mpq_class number_of(const std::string& text, const char* option) {
  return vnnlib::exact(exact_number(text, option));
}

// A JSON array, {"centre": [..]}, or a NumPy file; in row-major order.
std::vector<mpq_class> read_centre(const std::string& path) {
  std::vector<mpq_class> centre;
  const std::string text = input::read_text(path, "centre");
  const std::string where = printable(path);
  if (input::is_npy(text)) {
    const input::Array array = input::parse_npy(text, where);
    input::expect_finite(array);
    for (const double value : array.values) centre.emplace_back(value);
    return centre;
  }
  const nlohmann::json json = input::parse_json_text(text, where);
  const input::JsonAt root{&json, where};
  const bool bare = json.is_array();
  if (!bare) root.allow_keys({"centre", "desc", "note", "dtype"});
  const input::JsonAt numbers = bare ? root : root.key("centre");
  const bool doubles = input::holds_doubles(root);
  for (std::size_t i = 0, count = numbers.expect_array(); i < count; ++i)
    centre.push_back(doubles ? mpq_class(numbers.at(i).number())
                             : vnnlib::exact(numbers.at(i).decimal()));
  return centre;
}

// An interval as typed, and enclosed by doubles.
struct Ends {
  mpq_class lower, upper;
  vnnlib::Number low, high;
};

// clip: two numbers or none.
Ends ends_around(const mpq_class& centre, const mpq_class& eps, const std::vector<mpq_class>& clip,
                 std::size_t input) {
  Ends made{centre - eps, centre + eps, {}, {}};
  if (!clip.empty()) {
    made.lower = std::max(made.lower, clip[0]);
    made.upper = std::min(made.upper, clip[1]);
  }
  if (made.lower > made.upper)
    fail("BF3013", "--clip", fmt::format("the box has no part within the ends, at input {}", input),
         "give the least and the greatest value of an input");
  made.low = vnnlib::enclose(made.lower, {});
  made.high = vnnlib::enclose(made.upper, {});
  return made;
}

void add_ends(input::ExactBox& box, const Ends& ends) {
  input::add_interval(box, ends.low, ends.high,
                      [&] { return vnnlib::decimal_between(ends.lower, ends.upper); });
}

input::TypedBox around_centre(const BoxArguments& arguments, int input_count) {
  const mpq_class eps = number_of(arguments.eps, "--eps");
  if (eps < 0) fail("BF3013", "--eps", "the radius is negative");
  std::vector<mpq_class> clip;
  for (const std::string& end : arguments.clip) clip.push_back(number_of(end, "--clip"));
  input::ExactBox box;
  if (const auto same = number_in(arguments.centre)) {
    const Ends ends = ends_around(*same, eps, clip, 0);
    for (int i = 0; i < input_count; ++i) add_ends(box, ends);
  } else {
    for (const mpq_class& centre : read_centre(arguments.centre))
      add_ends(box, ends_around(centre, eps, clip, box.box.lower.size()));
  }
  input::TypedBox typed;
  typed.file.where = printable(arguments.centre);
  typed.file.box = std::move(box.box);
  typed.inner = std::move(box.inner);
  typed.between = std::move(box.between);
  return typed;
}

struct Radius {
  std::string name;
  mpq_class size;
  bool relative = false;  // to each weight's size
};

// Throws: BF3013.
Radius radius_in(const std::string& text) {
  const std::size_t equals = text.rfind('=');
  if (equals == std::string::npos || equals == 0)
    fail("BF3013", "--weight", fmt::format("{} is no NAME=X", printable(text)),
         "as fc1.weight=0.01, or fc1.weight=1%");
  Radius made;
  made.name = text.substr(0, equals);
  std::string size = text.substr(equals + 1);
  made.relative = size.ends_with('%');
  if (made.relative) size.pop_back();
  made.size = number_of(size, "--weight") / (made.relative ? 100 : 1);
  if (made.size < 0) fail("BF3013", "--weight", "the radius is negative");
  return made;
}

}  // namespace

void add_box_options(CommandLine& app, BoxArguments& arguments) {
  Option* const box =
      app.add_option("--box", arguments.box,
                     "file of a box, or of several: JSON {\"lower\": [..], \"upper\": [..]}, or "
                     "NumPy's .npy of shape (2, ...); -: standard input")
          ->type_name("FILE");
  app.add_option("--index", arguments.index, "which box of a file of several, from 0")
      ->transform(whole(0))
      ->type_name("K")
      ->needs(box);
  Option* const centre =
      app.add_option("--centre", arguments.centre,
                     "centre of the box, with --eps: JSON [..], .npy, or a number for all inputs")
          ->type_name("FILE|X")
          ->excludes(box);
  Option* const eps =
      app.add_option("--eps,--radius", arguments.eps, "distance of the box's ends from its centre")
          ->type_name("X")
          ->excludes(box);
  if (arguments.given()) {
    centre->capture_default_str();
    eps->capture_default_str();
  } else {
    centre->needs(eps);
    eps->needs(centre);
  }
  takes_pair(
      app.add_option("--clip", arguments.clip, "least and greatest value of an input in that box"))
      ->type_name("LO,HI")
      ->excludes(box);
}

input::TypedBox typed_box_of(const BoxArguments& arguments, int input_count) {
  if (!arguments.box.empty()) return input::read_typed_box(arguments.box, arguments.index);
  return around_centre(arguments, input_count);
}

input::BoxFile box_of(const BoxArguments& arguments, int input_count) {
  return typed_box_of(arguments, input_count).file;
}

void add_weight_option(CommandLine& app, WeightArguments& arguments) {
  app.add_option("--weight", arguments.radii,
                 "weights that are inputs, too, at most so far from their values: the name of an "
                 "initializer with a radius, or a share of each weight's size, as fc1.weight=1%; "
                 "may be repeated")
      ->allow_extra_args(false)
      ->type_name("NAME=X");
}

void begin_at_weights(WeightArguments& arguments, const std::string& model, ModelCut& cut) {
  WeightBox made;
  for (const std::string& text : arguments.radii) {
    const Radius radius = radius_in(text);
    const TensorFile tensor = read_initializer(model, radius.name);
    cut.inputs.push_back(radius.name);
    made.tensors.push_back({tensor.name, "Real", tensor.shape, tensor.name});
    for (const double value : tensor.data) {
      const mpq_class weight(value);
      const mpq_class reach = radius.relative ? mpq_class(radius.size * abs(weight)) : radius.size;
      add_ends(made.box, ends_around(weight, reach, {}, made.box.box.lower.size()));
    }
  }
  arguments.weights = std::move(made);
}

void append_weights(const WeightBox& weights, input::BoxFile& file) {
  const Box& box = weights.box.box;
  file.box.lower.insert(file.box.lower.end(), box.lower.begin(), box.lower.end());
  file.box.upper.insert(file.box.upper.end(), box.upper.begin(), box.upper.end());
}

void append_weights(const WeightBox& weights, Property& property) {
  const std::int64_t own = property.input_count;
  const auto count = static_cast<std::int64_t>(weights.box.box.lower.size());
  property.input_count += count;
  property.inputs.insert(property.inputs.end(), weights.tensors.begin(), weights.tensors.end());
  if (!property.networks.empty()) property.networks[0].inputs += weights.tensors.size();
  // Derived values are over x, y and others before them: x is longer now.
  for (DerivedValue& value : property.derived)
    for (AffineForm& operand : value.operands)
      for (auto& [index, factor] : operand.terms)
        if (index >= own) index += count;
  const auto append = [](std::vector<double>& to, const std::vector<double>& ends) {
    to.insert(to.end(), ends.begin(), ends.end());
  };
  for (PropertyCase& one : property.cases) {
    append(one.box.lower, weights.box.box.lower);
    append(one.box.upper, weights.box.box.upper);
    append(one.inner.lower, weights.box.inner.lower);
    append(one.inner.upper, weights.box.inner.upper);
    for (const auto& [index, value] : weights.box.between)
      one.between.emplace_back(index + own, value);
  }
}

}  // namespace bf_aot::cli

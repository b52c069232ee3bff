#include "aot/input/json/typed_box.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <vector>

#include "aot/input/json/tokens.h"
#include "frontend/diagnostic.h"

namespace bf_aot::input {

bool holds_doubles(const JsonAt& object) {
  if (!object.has("dtype")) return false;
  const JsonAt dtype = object.key("dtype");
  if (*dtype.value != "float64")
    fail("BF3004", dtype.where, "the type of the numbers is not read",
         "\"float64\", or leave it out: numbers are decimals then, exact as they are written");
  return true;
}

TypedBox box_at(const JsonAt& object, bool doubles) {
  TypedBox typed;
  BoxFile& file = typed.file;
  file.where = object.where;
  file.exact = true;
  if (object.has("ids")) {
    file.ids = id_sets_at(object.key("ids"));
    return typed;
  }
  const std::vector<vnnlib::Number> lower = object.key("lower").decimals();
  const std::vector<vnnlib::Number> upper = object.key("upper").decimals();
  if (lower.size() != upper.size())
    fail("BF3006", file.where,
         fmt::format("lower has {} numbers but upper has {}", lower.size(), upper.size()));
  ExactBox box;
  const auto end = [&](const char* key, std::size_t i, const vnnlib::Number& decimal) {
    if (!doubles) return decimal;
    const double number = object.key(key).at(i).number();
    return vnnlib::Number{number, number, {}};
  };
  for (std::size_t i = 0; i < lower.size(); ++i) {
    if (vnnlib::compare(lower[i], upper[i]) > 0)
      fail("BF3008", file.where,
           fmt::format("lower[{}] is {}, greater than upper[{}], {}", i, lower[i].text, i,
                       upper[i].text));
    const vnnlib::Number low = end("lower", i, lower[i]), high = end("upper", i, upper[i]);
    add_interval(box, low, high, [&] {
      return vnnlib::decimal_between(vnnlib::exact(lower[i]), vnnlib::exact(upper[i]));
    });
    file.exact = file.exact && low.is_double() && high.is_double();
  }
  file.box = std::move(box.box);
  typed.inner = std::move(box.inner);
  typed.between = std::move(box.between);
  return typed;
}

TypedBox typed_box_at(const JsonAt& object) {
  object.allow_keys({"lower", "upper", "dtype"});
  return box_at(object, holds_doubles(object));
}

}  // namespace bf_aot::input

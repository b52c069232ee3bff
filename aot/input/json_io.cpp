#include "aot/input/json_io.h"

#include <fmt/format.h>

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <nlohmann/json.hpp>

#include "aot/input/array.h"
#include "aot/input/directed.h"
#include "aot/input/exact_box.h"
#include "aot/input/json/json_reader.h"
#include "aot/input/json/read_text.h"
#include "aot/input/json/typed_box.h"
#include "frontend/diagnostic.h"
#include "frontend/graph/model.h"

namespace bf_aot::input {
namespace {

// Reads a box from an array whose first half is the lower ends.
TypedBox npy_box(std::string_view bytes, const std::string& where) {
  const Array array = parse_npy(bytes, where);
  expect_finite(array);
  if (array.shape.empty() || array.shape.front() != 2)
    fail("BF3006", where, "the array's first extent is not 2",
         "numpy.save(FILE, numpy.stack([lower, upper]))");
  const auto middle = array.values.begin() + static_cast<std::ptrdiff_t>(array.values.size() / 2);
  BoxFile file{{{array.values.begin(), middle}, {middle, array.values.end()}}, where, true};
  for (std::size_t i = 0; i < file.box.lower.size(); ++i)
    if (file.box.lower[i] > file.box.upper[i])
      fail("BF3008", where,
           fmt::format("lower[{}] is {}, greater than upper[{}], {}", i, file.box.lower[i], i,
                       file.box.upper[i]));
  Box inner = file.box;
  return {std::move(file), std::move(inner), {}};
}

// The floats next to numbers. side: the key of the numbers in the file `where`, for complaints.
std::vector<float> outward(const std::vector<double>& numbers, bool up, const std::string& where,
                           std::string_view side) {
  std::vector<float> made;
  made.reserve(numbers.size());
  for (const double x : numbers) {
    if (std::fabs(x) > static_cast<double>(FLT_MAX))
      fail("BF3007", fmt::format("{}: {}[{}]", where, side, made.size()),
           fmt::format("{} is beyond the range of float32", x),
           "boxes must be bounded; scale the inputs");
    made.push_back(to_float(x, up));
  }
  return made;
}

void expect_count(std::size_t found, int expected, const std::string& where,
                  std::string_view what) {
  if (found != static_cast<std::size_t>(expected))
    fail("BF3006", where,
         fmt::format("{} numbers, but the model has {} {}", found, expected, what));
}

std::vector<std::vector<double>> rows_at(const JsonAt& array) {
  std::vector<std::vector<double>> rows(array.expect_array());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    rows[i] = array.at(i).numbers();
    if (rows[i].size() != rows[0].size())
      fail("BF3006", array.at(i).where,
           fmt::format("{} numbers, but the first row has {}", rows[i].size(), rows[0].size()));
  }
  return rows;
}

std::vector<double> counted(const JsonAt& array, std::size_t count) {
  std::vector<double> numbers = array.numbers();
  if (numbers.size() != count)
    fail("BF3006", array.where, fmt::format("{} numbers, expected {}", numbers.size(), count));
  return numbers;
}

GoldenBounds bounds_at(const JsonAt& object, std::size_t outputs, std::size_t rows) {
  GoldenBounds bounds;
  bounds.lower = counted(object.key("lower"), outputs);
  bounds.upper = counted(object.key("upper"), outputs);
  if (rows > 0 && object.has("C_lower") && object.has("C_upper")) {
    bounds.spec_lower = counted(object.key("C_lower"), rows);
    bounds.spec_upper = counted(object.key("C_upper"), rows);
  }
  return bounds;
}

void add_clauses(const JsonAt& object, GoldenBox& box) {
  box.limits = counted(object.key("rhs"), box.rows.size());
  const JsonAt clauses = object.key("dnf");
  for (std::size_t i = 0; i < clauses.expect_array(); ++i) {
    box.clauses.emplace_back();
    const JsonAt clause = clauses.at(i);
    for (double row : clause.numbers()) {
      if (!(row >= 0 && row < static_cast<double>(box.rows.size())))
        fail("BF3006", clause.where, fmt::format("there is no row {} of C", row));
      box.clauses.back().push_back(static_cast<std::size_t>(row));
    }
  }
}

GoldenBox golden_box_at(const JsonAt& object, int input_count, int output_count) {
  const auto outputs = static_cast<std::size_t>(output_count);
  GoldenBox box;
  box.file = box_at(object, true).file;
  expect_count(box.file.box.lower.size(), input_count, object.where + ".lower", "inputs");
  if (object.has("desc") && object.key("desc").value->is_string())
    box.description = printable(object.key("desc").value->get<std::string>());
  if (object.has("rounding_dominated"))
    box.rounding_dominated = *object.key("rounding_dominated").value == true;
  if (object.has("C")) box.rows = rows_at(object.key("C"));
  if (!box.rows.empty())
    expect_count(box.rows[0].size(), output_count, object.where + ".C[0]", "outputs");
  if (!box.rows.empty() && object.has("rhs") && object.has("dnf")) add_clauses(object, box);
  if (object.has("forward")) box.forward = counted(object.key("forward"), outputs);
  for (Method method : {Method::kIbp, Method::kCrownIbp, Method::kCrown, Method::kAlphaCrown}) {
    const std::string key = golden_key(method);
    if (object.has(key))
      box.methods.emplace_back(bounds_at(object.key(key), outputs, box.rows.size()));
    else
      box.methods.emplace_back(std::nullopt);
  }
  return box;
}

std::vector<TypedBox> read_typed_boxes(const std::filesystem::path& path) {
  const std::string text = read_text(path, "box file");
  const std::string where = printable(path.string());
  if (is_npy(text)) return {npy_box(text, where)};
  const nlohmann::json json = parse_json_text(text, where);
  const JsonAt root{&json, where};
  if (!root.has("boxes")) {
    root.allow_keys({"lower", "upper", "ids", "desc", "note", "dtype"});
    return {box_at(root, holds_doubles(root))};
  }
  const JsonAt boxes = root.key("boxes");
  const bool doubles = holds_doubles(root);
  std::vector<TypedBox> list;
  const std::size_t count = boxes.expect_array();
  for (std::size_t i = 0; i < count; ++i)
    list.push_back(box_at(boxes.at(i), holds_doubles(boxes.at(i)) || doubles));
  if (list.empty()) fail("BF3009", root.where, "the file has no boxes");
  return list;
}

}  // namespace

std::string golden_key(Method method) {
  if (method == Method::kAlphaCrown) return "alpha_crown_fixed";
  std::string key(to_string(method));
  for (char& c : key)
    if (c == '-') c = '_';
  return key;
}

std::vector<BoxFile> read_boxes(const std::filesystem::path& path) {
  std::vector<BoxFile> list;
  for (TypedBox& each : read_typed_boxes(path)) list.push_back(std::move(each.file));
  return list;
}

TypedBox read_typed_box(const std::filesystem::path& path, std::optional<std::size_t> index) {
  std::vector<TypedBox> boxes = read_typed_boxes(path);
  if (boxes.size() == 1 && index.value_or(0) != 0)
    fail("BF3009", printable(path.string()),
         fmt::format("--index {} in a file of one box", *index));
  if (index.value_or(0) >= boxes.size())
    fail("BF3009", printable(path.string()),
         fmt::format("there is no box {}: the file has {}", index.value_or(0), boxes.size()),
         "boxes are counted from 0");
  return std::move(boxes[index.value_or(0)]);
}

BoxFile read_box(const std::filesystem::path& path, std::optional<std::size_t> index) {
  return read_typed_box(path, index).file;
}

FloatBox round_outward(const BoxFile& file, int input_count) {
  if (file.ids)
    fail("BF3021", file.where, "ids stand where a box is needed", "give lower and upper");
  expect_count(file.box.lower.size(), input_count, file.where, "inputs");
  return {outward(file.box.lower, false, file.where, "lower"),
          outward(file.box.upper, true, file.where, "upper")};
}

bool holds_exactly(const BoxFile& file, const FloatBox& box) {
  const auto same = [](float made, double given) { return static_cast<double>(made) == given; };
  return file.exact && std::ranges::equal(box.lower, file.box.lower, same) &&
         std::ranges::equal(box.upper, file.box.upper, same);
}

namespace {

// The double next to a number, and a bound of the distance.
double rounded(const vnnlib::Number& number, const std::string& where, double& error) {
  if (!std::isfinite(number.below) || !std::isfinite(number.above))
    fail("BF3007", where, fmt::format("{} is beyond the range of doubles", number.text));
  error = number.is_double() ? 0 : std::nextafter(number.above - number.below, INFINITY);
  return number.below;
}

bool all_zero(const std::vector<double>& errors) {
  return std::ranges::all_of(errors, [](double error) { return error == 0; });
}

}  // namespace

LinearSpec read_spec(const std::filesystem::path& path) {
  const nlohmann::json json = parse_json_file(path, "specification");
  const JsonAt root{&json, printable(path.string())};
  root.allow_keys({"C", "d", "desc", "note", "dtype"});
  const bool doubles = holds_doubles(root);
  const auto read = [&](const JsonAt& number, double& error) {
    error = 0;
    return doubles ? number.number() : rounded(number.decimal(), number.where, error);
  };
  LinearSpec spec;
  const JsonAt rows = root.key("C");
  spec.rows = rows_at(rows);  // of equal lengths
  if (spec.rows.empty()) fail("BF3006", rows.where, "there are no rows");
  spec.row_error = spec.rows;
  for (std::size_t i = 0; i < spec.rows.size(); ++i)
    for (std::size_t j = 0; j < spec.rows[i].size(); ++j)
      spec.rows[i][j] = read(rows.at(i).at(j), spec.row_error[i][j]);
  if (std::ranges::all_of(spec.row_error, all_zero)) spec.row_error.clear();
  if (!root.has("d")) return spec;
  spec.offset = counted(root.key("d"), spec.rows.size());
  spec.offset_error = spec.offset;
  for (std::size_t i = 0; i < spec.offset.size(); ++i)
    spec.offset[i] = read(root.key("d").at(i), spec.offset_error[i]);
  if (all_zero(spec.offset_error)) spec.offset_error.clear();
  return spec;
}

Golden read_golden(const std::filesystem::path& path, int input_count, int output_count) {
  const nlohmann::json json = parse_json_file(path, "golden file");
  const JsonAt root{&json, printable(path.string())};
  (void)holds_doubles(root);  // they always are
  Golden golden;
  if (root.has("network") && root.key("network").value->is_string())
    golden.network = printable(root.key("network").value->get<std::string>());
  const JsonAt boxes = root.key("boxes");
  const std::size_t count = boxes.expect_array();
  if (count == 0) fail("BF3006", boxes.where, "there are no boxes");
  for (std::size_t i = 0; i < count; ++i)
    golden.boxes.push_back(golden_box_at(boxes.at(i), input_count, output_count));
  return golden;
}

}  // namespace bf_aot::input

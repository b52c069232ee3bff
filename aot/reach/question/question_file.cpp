#include "aot/reach/question/question_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "aot/input/json/json_reader.h"
#include "aot/input/json/read_text.h"
#include "aot/input/json/typed_box.h"
#include "frontend/diagnostic.h"
#include "frontend/graph/model.h"

namespace bf_aot::reach {
namespace {

using input::JsonAt;

std::size_t count_at(const JsonAt& value) {
  const std::string_view text = value.number_text();
  std::size_t count = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), count);
  if (read.ec != std::errc() || read.ptr != text.data() + text.size())
    fail("BF3004", value.where, fmt::format("{} is no whole number", printable(text)),
         "write it with decimal digits alone");
  return count;
}

// A number, or a text such as "1/3".
std::string time_at(const JsonAt& value) {
  return value.is_number() ? std::string(value.number_text()) : value.text();
}

PlantKind kind_at(const JsonAt& value) {
  const std::string text = value.text();
  if (text == "continuous") return PlantKind::kContinuous;
  if (text == "euler") return PlantKind::kEuler;
  if (text == "discrete") return PlantKind::kDiscrete;
  fail("BF3004", value.where, fmt::format("'{}' is no kind of plant", printable(text)),
       "kinds are continuous, euler and discrete");
}

BoxText box_at(const JsonAt& value) {
  input::TypedBox typed = input::typed_box_at(value);
  return {std::move(typed.file.box), std::move(typed.inner), value.where};
}

Disturbance::Changes changes_at(const JsonAt& object) {
  const auto says = [&](const char* key) { return object.has(key) && object.key(key).flag(); };
  const bool constant = says("constant"), changing = says("changing");
  if (constant && changing)
    fail("BF3004", object.where, "a disturbance is constant and changing", "leave one of them out");
  return constant   ? Disturbance::Changes::kNever
         : changing ? Disturbance::Changes::kAnyTime
                    : Disturbance::Changes::kEachPeriod;
}

std::vector<DisturbanceText> disturbances_at(const JsonAt& object) {
  object.expect_object();
  std::vector<DisturbanceText> made;
  for (const auto& [name, unused] : object.value->items()) {
    const JsonAt each = object.key(name);
    each.allow_keys({"lower", "upper", "dtype", "constant", "changing"});
    nlohmann::json box = *each.value;
    box.erase("constant");
    box.erase("changing");
    made.push_back({name, box_at({&box, each.where}), changes_at(each)});
  }
  return made;
}

RequirementText requirement_at(const JsonAt& object) {
  object.allow_keys({"always", "never", "at", "within", "holds"});
  RequirementText made;
  made.where = object.where;
  const bool timed = object.has("at") || object.has("within");
  if (object.has("always") + object.has("never") + timed != 1 || object.has("holds") != timed ||
      (object.has("at") && object.has("within")))
    fail("BF3605", object.where, "this is not one requirement",
         R"(give {"always": C}, {"never": C}, {"at": T, "holds": C} or {"within": [A, B], )"
         R"("holds": C})");
  if (!timed) {
    const char* const key = object.has("always") ? "always" : "never";
    made.kind = object.has("always") ? Requirement::Kind::kAlways : Requirement::Kind::kNever;
    made.condition = object.key(key).text();
    return made;
  }
  made.condition = object.key("holds").text();
  if (object.has("at")) {
    made.kind = Requirement::Kind::kAt;
    made.from = made.to = time_at(object.key("at"));
    return made;
  }
  made.kind = Requirement::Kind::kWithin;
  const JsonAt window = object.key("within");
  if (window.expect_array() != 2)
    fail("BF3605", window.where, "a window has two ends", "give it as [0.5, 1]");
  made.from = time_at(window.at(0));
  made.to = time_at(window.at(1));
  return made;
}

QuestionText question_at(const JsonAt& root, const std::filesystem::path& folder) {
  root.allow_keys({"controller", "observer", "plant", "kind", "period", "steps", "substeps",
                   "delayed", "first_control", "initial", "state_names", "disturbances",
                   "requirements", "note"});
  QuestionText made;
  made.where = root.where;
  made.folder = folder;
  made.plant = root.key("plant").text();
  if (root.has("controller")) made.controller = root.key("controller").text();
  if (root.has("observer")) made.observer = root.key("observer").text();
  if (root.has("kind")) made.kind = kind_at(root.key("kind"));
  if (root.has("period")) made.period = time_at(root.key("period"));
  made.steps = count_at(root.key("steps"));
  if (root.has("substeps")) made.substeps = count_at(root.key("substeps"));
  if (root.has("delayed")) made.delayed = root.key("delayed").flag();
  if (root.has("first_control"))
    for (const vnnlib::Number& each : root.key("first_control").decimals())
      made.first_control.push_back(vnnlib::round_to_double(exact(each)));
  made.initial = box_at(root.key("initial"));
  if (root.has("state_names")) made.state_names = root.key("state_names").texts();
  if (root.has("disturbances")) made.disturbances = disturbances_at(root.key("disturbances"));
  if (root.has("requirements")) {
    const JsonAt list = root.key("requirements");
    const std::size_t count = list.expect_array();
    for (std::size_t i = 0; i < count; ++i) made.requirements.push_back(requirement_at(list.at(i)));
  }
  return made;
}

}  // namespace

QuestionText read_question(const std::filesystem::path& path) {
  return parse_question(input::read_text(path, "question"), printable(path.string()),
                        path.parent_path());
}

QuestionText parse_question(const std::string& text, const std::string& where,
                            const std::filesystem::path& folder) {
  const nlohmann::json json = input::parse_json_text(text, where);
  return question_at({&json, where}, folder);
}

}  // namespace bf_aot::reach

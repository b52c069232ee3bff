#include "aot/reach/answer/answer_json.h"

#include <cstddef>
#include <nlohmann/json.hpp>
#include <vector>

#include "aot/engine/verifier/report.h"
#include "frontend/numbers/numbers.h"

namespace bf_aot::reach {
namespace {

using Json = nlohmann::ordered_json;

double time_number(const mpq_class& time) {
  return vnnlib::nearest_double(time);
}

Json ranges_json(const std::vector<Range>& ranges) {
  Json made = Json::array();
  for (const Range& each : ranges)
    made.push_back({engine::number_json(each.low), engine::number_json(each.high)});
  return made;
}

Json tube_json(const std::vector<TubePiece>& tube) {
  Json made = Json::array();
  for (const TubePiece& piece : tube)
    made.push_back({{"period", piece.period},
                    {"from", time_number(piece.from)},
                    {"to", time_number(piece.to)},
                    {"state", ranges_json(piece.state)},
                    {"control", ranges_json(piece.control)}});
  return made;
}

Json box_json(const Box& box) {
  return {{"lower", box.lower}, {"upper", box.upper}};
}

Json violation_json(const Violation& found) {
  return {{"requirement", found.requirement},   {"from", time_number(found.from)},
          {"to", time_number(found.to)},        {"start", found.start},
          {"disturbances", found.disturbances}, {"trajectory", tube_json(found.trajectory)}};
}

Json obstacle_json(const Obstacle& found) {
  return {{"period", found.period},
          {"from", time_number(found.from)},
          {"to", time_number(found.to)},
          {"requirement", found.requirement ? Json(*found.requirement) : Json(nullptr)},
          {"reason", found.reason},
          {"state", ranges_json(found.state)},
          {"cell", box_json(found.cell)}};
}

Json leaves_json(const std::vector<Box>& cells) {
  Json made = Json::array();
  for (const Box& each : cells) made.push_back(box_json(each));
  return made;
}

const char* kind_of(PlantKind kind) {
  static constexpr const char* kNames[] = {"continuous", "euler", "discrete"};
  return kNames[static_cast<std::size_t>(kind)];
}

}  // namespace

const char* word(ReachAnswer answer) {
  static constexpr const char* kWords[] = {"verified", "falsified", "unknown", "bounded"};
  return kWords[static_cast<std::size_t>(answer)];
}

Json answer_json(const std::string& name, const Question& question, const ReachOutcome& outcome) {
  Json json;
  json["question"] = name;
  json["answer"] = word(outcome.answer);
  json["kind"] = kind_of(question.loop.kind);
  json["state_names"] = question.loop.state_names;
  json["requirements"] = Json::array();
  for (const Requirement& each : question.requirements) json["requirements"].push_back(each.text);
  json["violation"] = outcome.violation ? violation_json(*outcome.violation) : Json(nullptr);
  json["obstacle"] = outcome.obstacle ? obstacle_json(*outcome.obstacle) : Json(nullptr);
  json["cells"] = outcome.cells_bounded;
  json["closed"] = outcome.closed;
  json["open_cells"] = outcome.open_cells;
  json["order"] = outcome.order;
  json["substeps"] = outcome.substeps;
  json["symbols"] = outcome.symbols;
  json["seconds"] = outcome.seconds;
  json["tube"] = tube_json(outcome.tube);
  json["leaves"] = leaves_json(outcome.cells);
  json["samples"] = outcome.samples;
  return json;
}

}  // namespace bf_aot::reach

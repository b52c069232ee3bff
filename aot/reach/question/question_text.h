#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "aot/reach/question/loop.h"
#include "frontend/numbers/numbers.h"
#include "frontend/property/property.h"

namespace bf_aot::reach {

// A demand as it was typed.
struct RequirementText {
  Requirement::Kind kind = Requirement::Kind::kAlways;
  std::string from, to;  // of kAt and kWithin: decimals, quotients, or "end"
  std::string condition;
  std::string where;  // for messages
};

// A box as it was typed.
struct BoxText {
  Box box;    // encloses it
  Box inner;  // the doubles in it
  std::string where;
};

struct DisturbanceText {
  std::string name;
  BoxText box;
  Disturbance::Changes changes = Disturbance::Changes::kEachPeriod;
};

// A question as a file or a command line gives it, before its networks are read.
struct QuestionText {
  std::string where;             // the file; empty: options of a command line
  std::set<std::string> typed;   // keys that options give, beside a file
  std::filesystem::path folder;  // that the paths of networks start from
  std::string plant;
  std::optional<std::string> controller, observer;
  PlantKind kind = PlantKind::kContinuous;
  std::optional<std::string> period;  // a decimal or a quotient
  std::optional<std::size_t> steps, substeps;
  bool delayed = false;
  std::vector<vnnlib::Rounded> first_control;
  BoxText initial;
  std::vector<std::string> state_names;
  std::vector<DisturbanceText> disturbances;
  std::vector<RequirementText> requirements;

  // Where a key was given: "reach.json: first_control" or "--first-control".
  std::string place(const std::string& key) const;
};

// Networks that stand for files, by the path that a question names them by.
using GivenParts = std::map<std::string, Part>;

// Reads the networks that are not given, and checks that all fits together. Disturbances are in the
// order of the plant's inputs; the substeps of discrete plants are those of the period, and of
// Euler's method 1 where none are given. Throws: BF10xx of a network; BF3007; BF3601 to BF3606,
// BF3610, BF3611.
Question make_question(const QuestionText& text, const GivenParts& given = {});

}  // namespace bf_aot::reach

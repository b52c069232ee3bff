#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

#include "aot/reach/question/question_text.h"
#include "frontend/diagnostic.h"
#include "frontend/graph/model.h"
#include "frontend/import/file/importer.h"
#include "frontend/numbers/numbers.h"

namespace bf_aot::reach {
namespace {

constexpr std::size_t kMostSteps = 1'000'000;  // periods, and steps of a period
constexpr std::size_t kMostStates = 10'000;

std::size_t elements(const Graph& graph, ValueId id) {
  return static_cast<std::size_t>(element_count(graph.value(id).shape));
}

std::string tensors_of(const Graph& graph, const std::vector<ValueId>& ids) {
  std::string made;
  for (const ValueId id : ids)
    made += (made.empty() ? "" : ", ") + printable(graph.value(id).name) + " " +
            to_string(graph.value(id).shape);
  return made;
}

class QuestionMaker {
 public:
  QuestionMaker(const QuestionText& text, const GivenParts& given) : text_(text), given_(given) {}

  Question make() {
    loop_.plant = read_part(text_.plant);
    if (text_.controller) loop_.controller = read_part(*text_.controller);
    if (text_.observer) loop_.observer = read_part(*text_.observer);
    loop_.kind = text_.kind;
    check_plant();
    check_controller();
    set_times();
    set_control();
    set_disturbances();
    loop_.initial = checked_box(text_.initial, states_, "the state");
    loop_.inner = text_.initial.inner;
    set_state_names();
    for (const RequirementText& each : text_.requirements)
      made_.requirements.push_back(requirement_of(each));
    return std::move(made_);
  }

 private:
  Part read_part(const std::string& typed) const {
    if (const auto found = given_.find(typed); found != given_.end()) return found->second;
    ImportedModel imported = import_model(text_.folder / typed);
    return {std::move(imported.graph), std::move(imported.info), typed};
  }

  // -------------------------------------------------------------------------------------------
  // Networks.

  void check_plant() {
    const Graph& graph = loop_.plant.graph;
    const std::string where = printable(loop_.plant.path);
    states_ = elements(graph, graph.inputs[0]);
    const std::size_t own = loop_.controller ? 2 : 1;
    if (graph.inputs.size() < own)
      fail("BF3601", where, "the plant has one input, but there is a controller",
           "its inputs are the state, the control, and disturbances; without a control leave out "
           "the controller");
    if (loop_.controller) controls_ = elements(graph, graph.inputs[1]);
    const std::string inputs = "inputs are " + tensors_of(graph, graph.inputs);
    if (states_ > kMostStates)
      fail("BF3601", where, fmt::format("the state has over {} elements", kMostStates), inputs);
    const char* const next = loop_.kind == PlantKind::kDiscrete ? "next state" : "state's change";
    if (graph.outputs.size() != 1)
      fail("BF3601", where,
           fmt::format("the plant has {} outputs, where the {} is expected", graph.outputs.size(),
                       next),
           fmt::format("outputs are {}; leave out the others", tensors_of(graph, graph.outputs)));
    if (const std::size_t fed = elements(graph, graph.outputs[0]); fed != states_)
      fail("BF3601", where,
           fmt::format("the state has {} elements, the output for the {} {}{}", states_, next, fed,
                       fed < states_ ? fmt::format(": no output feeds x[{}]", fed) : ""),
           inputs + "; outputs are " + tensors_of(graph, graph.outputs));
  }

  // Checks a network of one input and one output. Returns the size of its output.
  static std::size_t checked_map(const Part& part, const char* what, const char* reads,
                                 std::size_t read) {
    const Graph& graph = part.graph;
    const std::string hint =
        fmt::format("inputs are {}; outputs are {}", tensors_of(graph, graph.inputs),
                    tensors_of(graph, graph.outputs));
    if (graph.inputs.size() != 1 || graph.outputs.size() != 1)
      fail("BF3601", printable(part.path),
           fmt::format("the {} has {} inputs and {} outputs, where one of each is expected", what,
                       graph.inputs.size(), graph.outputs.size()),
           hint);
    if (const std::size_t found = elements(graph, graph.inputs[0]); found != read)
      fail("BF3601", printable(part.path),
           fmt::format("the {} reads {} numbers, but {} has {}", what, found, reads, read), hint);
    return elements(graph, graph.outputs[0]);
  }

  void check_controller() const {
    if (loop_.observer && !loop_.controller)
      fail("BF3604", text_.place("observer"), "there is an observer, but no controller",
           "an observer is what the controller reads");
    if (!loop_.controller) return;
    std::size_t read = states_;
    if (loop_.observer) read = checked_map(*loop_.observer, "observer", "the state", states_);
    const std::size_t made =
        checked_map(*loop_.controller, "controller",
                    loop_.observer ? "the observer's output" : "the state", read);
    if (made != controls_)
      fail("BF3601", printable(loop_.controller->path),
           fmt::format("the controller's output has {} elements, but the plant's second input, "
                       "the control, has {}",
                       made, controls_),
           "the plant's inputs are " + tensors_of(loop_.plant.graph, loop_.plant.graph.inputs));
  }

  // -------------------------------------------------------------------------------------------
  // Times.

  void set_times() {
    const bool discrete = loop_.kind == PlantKind::kDiscrete;
    if (!text_.period && !discrete)
      fail("BF3603", text_.place("period"), "there is no period",
           "give the seconds for which a control is held");
    loop_.period = text_.period ? time_of(*text_.period, "BF3603", text_.place("period")) : 1;
    if (loop_.period <= 0 || loop_.period > 1e9)
      fail("BF3603", text_.place("period"),
           fmt::format("the period is {}", vnnlib::exact_text(loop_.period)),
           "it is positive, and at most 1e9");
    if (discrete && (loop_.period.get_den() != 1 || loop_.period > mpq_class(kMostSteps)))
      fail("BF3603", text_.place("period"),
           fmt::format("the period is {} steps", vnnlib::exact_text(loop_.period)),
           "a control is held for a whole number of the plant's steps, at most 1000000");
    loop_.steps = checked_count(text_.steps.value_or(0), "steps", "periods that are looked ahead");
    set_substeps();
    horizon_ = loop_.period * mpq_class(loop_.steps);
  }

  void set_substeps() {
    loop_.substeps = text_.substeps.value_or(0);
    if (loop_.substeps != 0) (void)checked_count(loop_.substeps, "substeps", "steps of a period");
    if (loop_.kind == PlantKind::kContinuous) return;
    if (loop_.kind == PlantKind::kEuler) {
      if (loop_.substeps == 0) loop_.substeps = 1;
      step_ = loop_.period / mpq_class(loop_.substeps);
      return;
    }
    const std::size_t own = loop_.period.get_num().get_ui();
    if (loop_.substeps != 0 && loop_.substeps != own)
      fail("BF3603", text_.place("substeps"),
           fmt::format("there are {} substeps, but a period has {} steps of the plant",
                       loop_.substeps, own),
           "leave them out: a discrete plant has its own steps");
    loop_.substeps = own;
    step_ = 1;
  }

  std::size_t checked_count(std::size_t count, const char* key, const char* what) const {
    if (count == 0 || count > kMostSteps)
      fail("BF3603", text_.place(key), fmt::format("the number of {} is {}", what, count),
           fmt::format("it is from 1 to {}", kMostSteps));
    return count;
  }

  static mpq_class time_of(const std::string& typed, const char* code, const std::string& where) {
    vnnlib::Number number;
    if (vnnlib::parse_quotient(typed, number) != vnnlib::NumberError::kNone)
      fail(code, where, fmt::format("'{}' is no time", printable(typed)),
           "write a decimal, or a quotient as 1/3");
    return exact(number);
  }

  // -------------------------------------------------------------------------------------------
  // Inputs.

  void set_control() {
    loop_.delayed = text_.delayed;
    const std::string where = text_.place("first_control");
    for (const vnnlib::Rounded& each : text_.first_control) {
      if (!std::isfinite(each.error))
        fail("BF3007", where, "a number is beyond the range of doubles", "scale the control");
      loop_.first_control.push_back({each.value, each.error});
    }
    if (loop_.delayed && !loop_.controller)
      fail("BF3604", text_.place("delayed"), "the control is delayed, but there is no controller",
           "leave it out");
    if (!loop_.delayed && !loop_.first_control.empty())
      fail("BF3604", where, "there is a first control, but the control is not delayed",
           "it is held in the first period of a loop that is delayed");
    if (loop_.delayed && loop_.first_control.size() != controls_)
      fail("BF3604", where,
           fmt::format("the first control has {} numbers, but the control has {}",
                       loop_.first_control.size(), controls_),
           "a delayed loop holds it in the first period");
  }

  void set_disturbances() {
    const Graph& graph = loop_.plant.graph;
    std::vector<bool> used(text_.disturbances.size());
    for (std::size_t i = loop_.controller ? 2 : 1; i < graph.inputs.size(); ++i) {
      const std::string& name = graph.value(graph.inputs[i]).name;
      const auto found = std::ranges::find(text_.disturbances, name, &DisturbanceText::name);
      if (found == text_.disturbances.end())
        fail("BF3602", text_.place("disturbances"),
             fmt::format("the plant's input '{}' has no box", printable(name)),
             "inputs behind the state and the control are disturbances: give each a box");
      used[static_cast<std::size_t>(found - text_.disturbances.begin())] = true;
      loop_.disturbances.push_back({name,
                                    checked_box(found->box, elements(graph, graph.inputs[i]),
                                                "the input " + printable(name)),
                                    found->changes, found->box.inner});
    }
    for (std::size_t i = 0; i < used.size(); ++i)
      if (!used[i])
        fail("BF3602", text_.disturbances[i].box.where,
             fmt::format("'{}' is no further input of the plant, or is given twice",
                         printable(text_.disturbances[i].name)),
             "inputs are " + tensors_of(graph, graph.inputs) +
                 "; the first is the state, and the next the control where there is a controller");
  }

  static Box checked_box(const BoxText& typed, std::size_t count, const std::string& of) {
    if (typed.box.lower.size() != count)
      fail("BF3601", typed.where,
           fmt::format("the box has {} intervals, but {} has {} elements", typed.box.lower.size(),
                       of, count),
           "give an interval for each");
    for (const std::vector<double>* ends : {&typed.box.lower, &typed.box.upper})
      for (const double end : *ends)
        if (!std::isfinite(end))
          fail("BF3007", typed.where, "an end is beyond the range of doubles",
               "boxes must be bounded");
    return typed.box;
  }

  void set_state_names() {
    const std::string where = text_.place("state_names");
    const std::vector<std::string>& names = text_.state_names;
    if (!names.empty() && names.size() != states_)
      fail("BF3601", where,
           fmt::format("there are {} names, but the state has {} elements", names.size(), states_),
           "give each element a name, or none");
    for (std::size_t i = 0; i < names.size(); ++i) {
      vnnlib::Number number;
      if (names[i].empty() || names[i].size() > 100 || printable(names[i]) != names[i] ||
          names[i].find_first_of(" ()[];\"") != std::string::npos ||
          vnnlib::parse_number(names[i], number) != vnnlib::NumberError::kSyntax)
        fail("BF3606", where,
             fmt::format("'{}' is no name that conditions can use", printable(names[i])),
             "a name is no number, and has no blanks, quotes, semicolons, parentheses or brackets");
      if (std::find(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(i), names[i]) !=
          names.begin() + static_cast<std::ptrdiff_t>(i))
        fail("BF3606", where, fmt::format("the name '{}' is given twice", names[i]),
             "give each element a name of its own");
    }
    loop_.state_names = names;
  }

  // -------------------------------------------------------------------------------------------
  // Requirements.

  mpq_class instant_of(const std::string& typed, const std::string& where) const {
    return typed == "end" ? horizon_ : time_of(typed, "BF3605", where);
  }

  void check_window(const Requirement& made, const std::string& where) const {
    const auto shown = [](const mpq_class& time) { return vnnlib::exact_text(time); };
    if (made.from > made.to)
      fail("BF3605", where,
           fmt::format("the window begins at {}, behind its end at {}", shown(made.from),
                       shown(made.to)),
           "give its begin first");
    if (made.from < 0 || made.to > horizon_)
      fail("BF3605", where,
           fmt::format("the window from {} to {} is not within the horizon, 0 to {}",
                       shown(made.from), shown(made.to), shown(horizon_)),
           "look more periods ahead, or make the window smaller");
    if (step_ == 0) return;
    mpz_class first;
    const mpq_class number = made.from / step_;
    mpz_cdiv_q(first.get_mpz_t(), number.get_num_mpz_t(), number.get_den_mpz_t());
    if (first * step_ > made.to)
      fail("BF3605", where,
           fmt::format("no step ends from {} to {}", shown(made.from), shown(made.to)),
           fmt::format("this plant has states at multiples of {}", shown(step_)));
  }

  Requirement requirement_of(const RequirementText& typed) const {
    using RequirementKind = Requirement::Kind;
    Requirement made;
    made.kind = typed.kind;
    const Condition condition =
        parse_condition(typed.condition, {states_, controls_, loop_.state_names}, typed.where);
    made.must = typed.kind == RequirementKind::kNever ? condition.negated() : condition;
    made.to = horizon_;
    if (typed.kind == RequirementKind::kAlways || typed.kind == RequirementKind::kNever) {
      made.text = (typed.kind == RequirementKind::kAlways ? "always " : "never ") + typed.condition;
      return made;
    }
    made.from = instant_of(typed.from, typed.where);
    made.to = instant_of(typed.to, typed.where);
    check_window(made, typed.where);
    made.text = typed.kind == RequirementKind::kAt
                    ? fmt::format("at {} {}", typed.from, typed.condition)
                    : fmt::format("within [{}, {}] {}", typed.from, typed.to, typed.condition);
    return made;
  }

  const QuestionText& text_;
  const GivenParts& given_;
  Question made_;
  Loop& loop_ = made_.loop;
  std::size_t states_ = 0, controls_ = 0;
  mpq_class horizon_;
  mpq_class step_ = 0;  // between states; 0: there are states at all times
};

}  // namespace

Range typed_value(const Box& box, const Box& inner, std::size_t i, double x) {
  if (inner.lower.empty()) return {x, x};
  if (inner.lower[i] > inner.upper[i]) return {box.lower[i], box.upper[i]};
  const double value = std::clamp(x, inner.lower[i], inner.upper[i]);
  return {value, value};
}

std::string QuestionText::place(const std::string& key) const {
  if (!where.empty() && !typed.contains(key)) return where + ": " + key;
  std::string option = "--" + key;
  std::ranges::replace(option, '_', '-');
  return option == "--disturbances" ? "--disturbance" : option;
}

Question make_question(const QuestionText& text, const GivenParts& given) {
  return QuestionMaker(text, given).make();
}

}  // namespace bf_aot::reach

#include "aot/reach/show/tube_plot.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <string_view>
#include <vector>

#include "aot/reach/show/panels.h"
#include "aot/reach/show/zones.h"

namespace bf_aot::reach {
namespace {

using Kind = Formula::Kind;

// value <= 0, for value = constant + slope * x[state].
Formula compare(Condition& condition, std::size_t state, double slope, double constant) {
  ScalarProgram& program = condition.values;
  const std::size_t factor = program.constant({slope, 0});
  const std::size_t x = program.input(state);
  const std::size_t product = program.add({ScalarStep::Kind::kMultiply, factor, x, {}, {}});
  const std::size_t shift = program.constant({constant, 0});
  program.outputs.push_back(program.add({ScalarStep::Kind::kAdd, product, shift, {}, {}}));
  return {Kind::kCompare, program.outputs.size() - 1, false, {}};
}

Question question_of(std::size_t states) {
  Question question;
  question.loop.steps = 4;
  question.loop.period = mpq_class(1, 2);
  question.loop.initial = {std::vector<double>(states, -1), std::vector<double>(states, 1)};
  question.loop.plant.path = "plant.onnx";
  return question;
}

Requirement requirement_of(Requirement::Kind kind, mpq_class from, mpq_class to, Kind joined) {
  Requirement requirement;
  requirement.kind = kind;
  requirement.from = std::move(from);
  requirement.to = std::move(to);
  requirement.must.values.inputs = 8;
  requirement.must.formula.kind = joined;
  return requirement;
}

// x[0] <= 2 in [0, 1], and never (x[0] >= 1 and x[1] >= 2).
Question two_states() {
  Question question = question_of(2);
  Requirement first = requirement_of(Requirement::Kind::kWithin, 0, 1, Kind::kAll);
  first.must.formula.parts.push_back(compare(first.must, 0, 1, -2));
  first.text = "within [0, 1] (<= x[0] 2) & \"more\"";
  Requirement never = requirement_of(Requirement::Kind::kNever, 0, 2, Kind::kAny);
  never.must.formula.parts.push_back(compare(never.must, 0, 1, -1));
  never.must.formula.parts.push_back(compare(never.must, 1, 1, -2));
  never.text = "never (and (>= x[0] 1) (>= x[1] 2))";
  question.requirements = {first, never};
  return question;
}

ReachOutcome outcome_of(std::size_t states, std::size_t pieces) {
  ReachOutcome outcome;
  for (std::size_t i = 0; i < pieces; ++i) {
    TubePiece piece;
    piece.from = mpq_class(static_cast<long>(2 * i), static_cast<long>(pieces));
    piece.to = mpq_class(static_cast<long>(2 * i + 2), static_cast<long>(pieces));
    const double low = std::sin(0.1 * static_cast<double>(i));
    for (std::size_t s = 0; s < states; ++s) piece.state.push_back({low, low + 1});
    outcome.tube.push_back(piece);
  }
  return outcome;
}

std::size_t count_of(std::string_view text, std::string_view part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++count;
  return count;
}

// Tags are closed in the order in which they were opened, and values have quotes and no <.
bool is_well_formed(std::string_view text) {
  std::vector<std::string_view> open;
  for (std::size_t at = text.find('<'); at != text.npos; at = text.find('<', at + 1)) {
    const std::size_t end = text.find('>', at);
    const std::string_view tag = text.substr(at + 1, end - at - 1);
    if (end == text.npos || tag.find('<') != tag.npos || count_of(tag, "\"") % 2 != 0) return false;
    const std::string_view name = tag.substr(0, tag.find_first_of(" \n"));
    if (tag.starts_with('/')) {
      if (open.empty() || open.back() != tag.substr(1)) return false;
      open.pop_back();
    } else if (!tag.starts_with('!') && !tag.ends_with('/') && name != "meta") {
      open.push_back(name);
    }
  }
  return open.empty();
}

TEST(TubePlot, drawings_and_pages_are_well_formed) {
  Question question = two_states();
  question.loop.state_names = {"a<b", "\"&'"};
  question.loop.plant.path = "<plant>.onnx";
  ReachOutcome outcome = outcome_of(2, 4);
  outcome.samples = {{{0, 0}, {1, 1}, {0.5, 0.5}}};
  outcome.obstacle = {1, 0, 1, 0, "x < y & z", {}, question.loop.initial};
  Violation violation;
  violation.start = {0.25, -0.5};
  violation.trajectory = outcome_of(2, 2).tube;
  outcome.violation = violation;
  for (const std::string& text : {tube_svg(question, outcome), tube_html(question, outcome)}) {
    EXPECT_TRUE(is_well_formed(text)) << text;
    EXPECT_EQ(text.find("a<b"), text.npos);
    EXPECT_NE(text.find("a&lt;b"), text.npos);
    EXPECT_NE(text.find("class=\"violation\""), text.npos);
  }
  const std::string page = tube_html(question, outcome);
  EXPECT_NE(page.find("x &lt; y &amp; z"), page.npos);
  EXPECT_NE(page.find("[0.25, -0.5]"), page.npos);
  EXPECT_NE(page.find("is not decided in period 1, at 0 to 1 s: x &lt;"), page.npos);
  outcome.obstacle->reason.clear();
  EXPECT_NE(tube_html(question, outcome).find("at 0 to 1 s, for starts from"), page.npos);
  outcome.obstacle->requirement.reset();
  EXPECT_NE(tube_html(question, outcome).find("<p>The tube ended in period 1"), page.npos);
  EXPECT_EQ(page.find("<script"), page.npos);
  EXPECT_FALSE(is_well_formed("<a><b></a></b>"));
  EXPECT_FALSE(is_well_formed("<a title=\"x<y\"></a>"));
}

TEST(TubePlot, corners_of_the_tube_are_where_the_axes_say) {
  Question question = question_of(1);
  ReachOutcome outcome;
  outcome.tube = {{0, 0, 1, {{0, 1}}, {}}, {1, 1, 2, {{-1, 0.5}}, {}}};
  const Panel panel = tube_panels(question, outcome).at(0);
  // The axis is [-1, 1] and 6 % of its span at both ends; the field 62 to 416, 30 to 216.
  const auto y = [](double value) { return 30 + (1.12 - value) / 2.24 * 186; };
  EXPECT_NE(panel.body.find(fmt::format("<path class=\"tube\" "
                                        "d=\"M62.0 {:.1f}H239.0V{:.1f}H62.0ZM239.0 "
                                        "{:.1f}H416.0V{:.1f}H239.0Z\"/>",
                                        y(1), y(0), y(0.5), y(-1))),
            panel.body.npos)
      << panel.body;
}

TEST(TubePlot, zones_are_drawn_in_their_windows) {
  const Question question = two_states();
  const std::vector<Zone> zones = forbidden_zones(question);
  ASSERT_EQ(zones.size(), 2u);
  EXPECT_EQ(zones[0].limits, (std::map<std::size_t, Range>{{0, {2, INFINITY}}}));
  EXPECT_EQ(zones[1].limits,
            (std::map<std::size_t, Range>{{0, {1, INFINITY}}, {1, {2, INFINITY}}}));
  const std::vector<Panel> panels = tube_panels(question, outcome_of(2, 8));
  ASSERT_EQ(panels.size(), 3u);
  EXPECT_EQ(panels[2].title, "x[1] over x[0]");
  EXPECT_NE(panels[0].body.find("<path class=\"zone\" d=\"M62.0 30.0H239.0V"), panels[0].body.npos)
      << panels[0].body;
  EXPECT_NE(panels[0].body.find("<path class=\"together\" d=\"M62.0 30.0H416.0V"),
            panels[0].body.npos);
  EXPECT_NE(panels[2].body.find("class=\"zone\""), panels[2].body.npos);
  EXPECT_NE(panels[2].body.find("class=\"start\""), panels[2].body.npos);
}

TEST(TubePlot, typed_conditions_have_zones) {
  Question question = question_of(2);
  question.loop.state_names = {"angle", "speed"};
  const auto typed = [&](const char* text) {
    return parse_condition(text, {2, 1, question.loop.state_names}, "test");
  };
  Requirement chain = requirement_of(Requirement::Kind::kAlways, 0, 2, Kind::kAll);
  chain.must = typed("(<= -0.5 angle (/ 3 4))");
  Requirement never = requirement_of(Requirement::Kind::kNever, 0, 2, Kind::kAll);
  never.must = typed("(and (<= 1 angle 2) (> (* 2 (- speed 1)) 4) (< u[0] 1))").negated();
  Requirement box = never;
  box.must = typed("(and (<= 1 angle 2) (> (* 2 (- speed 1)) 4))").negated();
  question.requirements = {chain, never, box};
  const std::vector<Zone> zones = forbidden_zones(question);
  ASSERT_EQ(zones.size(), 3u);  // the second one speaks of the control
  EXPECT_EQ(zones[0].limits, (std::map<std::size_t, Range>{{0, {-INFINITY, -0.5}}}));
  EXPECT_EQ(zones[1].limits, (std::map<std::size_t, Range>{{0, {0.75, INFINITY}}}));
  EXPECT_EQ(zones[2].limits, (std::map<std::size_t, Range>{{0, {1, 2}}, {1, {3, INFINITY}}}));
}

TEST(TubePlot, what_is_not_affine_in_one_state_has_no_zone) {
  Question question = question_of(3);
  Requirement sum = requirement_of(Requirement::Kind::kAlways, 0, 2, Kind::kAll);
  ScalarProgram& program = sum.must.values;
  const std::size_t a = program.input(0), b = program.input(2);
  program.outputs.push_back(program.add({ScalarStep::Kind::kAdd, a, b, {}, {}}));
  program.outputs.push_back(program.add({ScalarStep::Kind::kMultiply, a, a, {}, {}}));
  sum.must.formula.parts = {{Kind::kCompare, 0, false, {}}, {Kind::kCompare, 1, false, {}}};
  // -2 x[2] + 6 <= 0: x[2] < 3 is forbidden.
  sum.must.formula.parts.push_back(compare(sum.must, 2, -2, 6));
  question.requirements = {sum};
  const std::vector<Zone> zones = forbidden_zones(question);
  ASSERT_EQ(zones.size(), 1u);
  EXPECT_EQ(zones[0].limits, (std::map<std::size_t, Range>{{2, {-INFINITY, 3}}}));
  EXPECT_EQ(pairs_to_show(question, 4), (std::vector<std::pair<std::size_t, std::size_t>>{{0, 2}}));
}

TEST(TubePlot, many_pieces_are_drawn_by_fewer_that_hold_them) {
  Question question = question_of(12);
  ReachOutcome outcome = outcome_of(12, 100'000);
  outcome.tube[50'000].state[3] = {-40, 50};
  outcome.samples.assign(200, std::vector<std::vector<double>>(5'000, std::vector<double>(12, 1)));
  for (auto& trajectory : outcome.samples)
    for (std::size_t k = 0; k < trajectory.size(); ++k)
      trajectory[k].assign(12, std::sin(static_cast<double>(k)));
  const std::string drawing = tube_svg(question, outcome);
  EXPECT_LT(drawing.size(), 1'000'000u);
  EXPECT_LT(tube_html(question, outcome).size(), 1'000'000u);
  EXPECT_EQ(drawing, tube_svg(question, outcome));
  EXPECT_TRUE(is_well_formed(drawing));
  // The one far piece reaches from the upper to the lower edge of its panel.
  EXPECT_NE(tube_panels(question, outcome).at(3).body.find(" 30.0H"), std::string::npos);
}

TEST(TubePlot, what_is_infinite_or_absent_does_not_spoil_the_axes) {
  Question question = question_of(2);
  ReachOutcome outcome = outcome_of(2, 4);
  outcome.tube[3].state[1] = kEverything;
  outcome.tube[2].state[0] = {-1e308, 1e308};
  outcome.samples = {{{0, NAN}, {1, 0.5}, {INFINITY, 1}}};
  const std::string drawing = tube_svg(question, outcome);
  EXPECT_TRUE(is_well_formed(drawing));
  for (const char* bad : {"nan", "inf\"", "inf "}) EXPECT_EQ(drawing.find(bad), drawing.npos);
  EXPECT_TRUE(is_well_formed(tube_html(question, {})));
  EXPECT_TRUE(is_well_formed(tube_html(question_of(1), {})));
}

}  // namespace
}  // namespace bf_aot::reach

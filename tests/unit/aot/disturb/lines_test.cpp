#include "aot/disturb/lines.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "frontend/numbers/numbers.h"
#include "tests/unit/aot/disturb/reference.h"

namespace bf_aot::disturb {
namespace {

using testing::Reference;

vnnlib::Number number(std::string_view text) {
  vnnlib::Number result;
  EXPECT_EQ(vnnlib::parse_quotient(text, result), vnnlib::NumberError::kNone) << std::string(text);
  return result;
}

// A question about random pictures.
struct Question {
  std::vector<std::string> texts;
  Picture picture;
  bool clips = false, normalises = false;
};

struct Made {
  Made(const Question& question, std::mt19937& random)
      : normalisation(normalisation_of(question)),
        maker(read_disturbances(question.texts, question.picture, "test"), question.picture,
              normalisation, std::vector<std::size_t>(question.picture.size(), 0)) {
    reference.shape = question.picture;
    reference.clips = question.clips;
    reference.least = 0;
    reference.most = 1;
    for (std::size_t i = 0; i < question.picture.size(); ++i)
      stored.push_back(static_cast<double>(random() % 17));
    for (const double each : stored)
      reference.pixels.push_back(question.normalises ? mpq_class(each) / 16 : mpq_class(each));
    picture = maker.scaled(stored);
    for (const Parameter& each : maker.parameters()) {
      reference.disturbances.emplace_back(each.kind, 0);
      if (each.kind == Kind::kBlur) reference.blur_most = each.upper;
    }
  }

  static input::Normalisation normalisation_of(const Question& question) {
    input::Normalisation n;
    if (question.clips) n.range = {number("0"), number("1")};
    if (question.normalises) {
      n.scale = number("16");
      n.mean = {number("0.1307")};
      n.deviation = {number("0.3081")};
    }
    return n;
  }

  // The reference's picture as inputs of a model.
  std::vector<mpq_class> exact(const std::vector<mpq_class>& parameters) {
    for (std::size_t j = 0; j < parameters.size(); ++j)
      reference.disturbances[j].second = parameters[j];
    std::vector<mpq_class> made = reference.disturbed();
    for (mpq_class& v : made)
      if (!normalisation.mean.empty()) v = (v - mpq_class("1307/10000")) / mpq_class("3081/10000");
    return made;
  }

  input::Normalisation normalisation;
  PictureMaker maker;
  Reference reference;
  std::vector<double> stored;
  std::vector<Range> picture;
};

// More than the reference is off.
const mpq_class kReferenceError = [] {
  mpq_class error(1);
  mpq_div_2exp(error.get_mpq_t(), error.get_mpq_t(), 200);
  return error;
}();

Cell random_cell(const std::vector<Parameter>& parameters, std::mt19937& random) {
  Cell cell = whole(parameters);
  for (std::size_t j = 0; j < cell.size(); ++j)
    for (int splits = static_cast<int>(random() % 7); splits > 0; --splits) {
      if (!can_split(parameters[j], cell[j])) break;
      const auto [low, high] = halves(parameters[j], cell[j]);
      cell[j] = random() % 2 == 0 ? low : high;
    }
  return cell;
}

// Points of a cell: its corners, and points between.
double random_t(std::mt19937& random) {
  switch (random() % 4) {
    case 0:
      return -1;
    case 1:
      return 1;
    default:
      return static_cast<double>(random() % 2049) / 1024 - 1;
  }
}

const std::vector<Question>& questions() {
  static const std::vector<Question> all = {
      {{"rotation=-5..5"}, {1, 8, 8, false}, true, true},
      {{"rotation=-180..180"}, {1, 5, 6, false}, false, false},
      {{"scaling=0.9..1.1"}, {2, 5, 4, true}, false, false},
      {{"scaling=1/2..3"}, {1, 5, 5, false}, false, true},
      {{"shearing=-0.3..0.3"}, {1, 6, 5, false}, false, false},
      {{"translation=-1.5..1.5"}, {1, 5, 5, false}, false, false},
      {{"translation-x=-7..7"}, {1, 4, 5, false}, false, false},
      {{"translation-y=0..0"}, {1, 4, 5, false}, false, false},
      {{"blur=0..1"}, {1, 5, 5, false}, false, true},
      {{"blur=0.5..1.5"}, {1, 4, 6, false}, true, true},
      {{"contrast=0.5..1.5"}, {1, 4, 4, false}, true, true},
      {{"brightness=-0.3..0.3"}, {1, 4, 4, false}, true, true},
      {{"fog=0..0.5"}, {3, 3, 3, false}, true, true},
      {{"rotation=-5..5", "scaling=0.9..1.1"}, {1, 5, 5, false}, false, true},
      {{"translation=-1..1", "rotation=-10..10"}, {1, 4, 4, false}, true, true},
      {{"rotation=-3..3", "contrast=0.9..1.1", "brightness=-0.1..0.1"},
       {1, 4, 4, false},
       true,
       true},
      {{"shearing=-0.1..0.1", "blur=0..0.6", "fog=0..0.2"}, {1, 4, 4, false}, true, true},
  };
  return all;
}

TEST(Lines, HoldThePictureOfEveryParameter) {
  std::mt19937 random(63);
  for (const Question& question : questions()) {
    SCOPED_TRACE(question.texts[0]);
    for (int trial = 0; trial < 6; ++trial) {
      Made made(question, random);
      const std::vector<Parameter>& parameters = made.maker.parameters();
      const Cell cell = trial == 0 ? whole(parameters) : random_cell(parameters, random);
      const Lines lines = lines_of(made.maker, made.picture, cell, "test");
      const std::size_t count = made.picture.size();
      for (int point = 0; point < 6; ++point) {
        std::vector<mpq_class> t, at;
        for (std::size_t j = 0; j < cell.size(); ++j) {
          t.emplace_back(random_t(random));
          const mpq_class u = mpq_class(cell[j].middle()) + mpq_class(cell[j].half()) * t[j];
          at.push_back(parameters[j].lower + (parameters[j].upper - parameters[j].lower) * u);
        }
        const std::vector<mpq_class> exact = made.exact(at);
        const std::vector<Range> near = picture_at(made.maker, made.picture, at);
        for (std::size_t i = 0; i < count; ++i) {
          mpq_class rest = exact[i];
          for (std::size_t j = 0; j < t.size(); ++j)
            rest -= mpq_class(static_cast<double>(lines.slopes[j * count + i])) * t[j];
          ASSERT_LE(mpq_class(static_cast<double>(lines.lower[i])), rest + kReferenceError) << i;
          ASSERT_GE(mpq_class(static_cast<double>(lines.upper[i])), rest - kReferenceError) << i;
          ASSERT_LE(mpq_class(near[i].low), exact[i] + kReferenceError) << i;
          ASSERT_GE(mpq_class(near[i].high), exact[i] - kReferenceError) << i;
          ASSERT_LT(near[i].high - near[i].low, 1e-11);
        }
      }
    }
  }
}

// The lines' remainders are near what the picture leaves of them at many parameters.
TEST(Lines, AreNearThePicture) {
  std::mt19937 random(7);
  for (const Question& question : questions()) {
    if (question.texts.size() > 1) continue;
    SCOPED_TRACE(question.texts[0]);
    Made made(question, random);
    const std::vector<Parameter>& parameters = made.maker.parameters();
    Cell cell = whole(parameters);
    for (std::size_t j = 0; j < cell.size(); ++j)
      for (int splits = 0; splits < 3 && can_split(parameters[j], cell[j]); ++splits)
        cell[j] = halves(parameters[j], cell[j]).second;
    const Lines lines = lines_of(made.maker, made.picture, cell, "test");
    const std::size_t count = made.picture.size();
    std::vector<double> least(count, INFINITY), most(count, -INFINITY);
    for (int point = 0; point < 2000; ++point) {
      std::vector<mpq_class> at;
      std::vector<double> t;
      for (std::size_t j = 0; j < cell.size(); ++j) {
        t.push_back(random_t(random));
        at.push_back(parameter_at(parameters[j], cell[j].middle() + cell[j].half() * t[j]));
      }
      const std::vector<Range> near = picture_at(made.maker, made.picture, at);
      for (std::size_t i = 0; i < count; ++i) {
        double rest = near[i].middle();
        for (std::size_t j = 0; j < t.size(); ++j)
          rest -= static_cast<double>(lines.slopes[j * count + i]) * t[j];
        least[i] = std::min(least[i], rest);
        most[i] = std::max(most[i], rest);
      }
    }
    double widths = 0, sampled = 0;
    for (std::size_t i = 0; i < count; ++i) {
      widths += static_cast<double>(lines.upper[i]) - static_cast<double>(lines.lower[i]);
      sampled += most[i] - least[i];
    }
    EXPECT_LE(widths, 2.2 * sampled + 1e-5 * static_cast<double>(count));
  }
}

TEST(Squares, CoverWhatTheyMayCover) {
  std::mt19937 random(5);
  const Question question{{"occlusion=2"}, {1, 4, 5, false}, false, false};
  Made made(question, random);
  ASSERT_EQ(made.maker.ranges(), 0U);
  ASSERT_EQ(made.maker.parameters()[0].places, 3U);
  ASSERT_EQ(made.maker.parameters()[1].places, 4U);
  for (std::size_t last = 0; last < 3; ++last) {
    Cell cell(2);
    cell[0].last = last;
    cell[1] = {0, 0, 1, 2};
    const Lines lines = lines_of(made.maker, made.picture, cell, "test");
    for (std::size_t i = 0; i < made.picture.size(); ++i) {
      const std::size_t y = i / 5, x = i % 5;
      float least = INFINITY, most = -INFINITY;
      for (std::size_t row = 0; row <= last; ++row)
        for (std::size_t column = 1; column <= 2; ++column) {
          const bool inside = y >= row && y < row + 2 && x >= column && x < column + 2;
          const float value = inside ? 0.0F : static_cast<float>(made.stored[i]);
          least = std::min(least, value);
          most = std::max(most, value);
        }
      EXPECT_EQ(lines.lower[i], least) << i;
      EXPECT_EQ(lines.upper[i], most) << i;
    }
  }
}

TEST(Squares, OfAPatchHaveAnyValidNumber) {
  std::mt19937 random(5);
  const Question question{{"patch=2"}, {1, 3, 3, false}, true, true};
  Made made(question, random);
  const Lines lines = lines_of(made.maker, made.picture, Cell{{0, 0, 1, 1}, {0, 0, 0, 0}}, "test");
  for (const std::size_t i : {3U, 4U, 6U, 7U}) {
    EXPECT_NEAR(lines.lower[i], (0 - 0.1307) / 0.3081, 1e-6);
    EXPECT_NEAR(lines.upper[i], (1 - 0.1307) / 0.3081, 1e-6);
  }
  EXPECT_NEAR(lines.lower[0], lines.upper[0], 1e-6);
}

// A side and its halves have the same ends.
TEST(Cells, HalvesAreTheWhole) {
  const std::vector<Parameter> parameters =
      read_disturbances({"rotation=-0.1..0.3", "occlusion=2"}, {1, 8, 8, false}, "test");
  Side side = whole(parameters)[0];
  for (int depth = 0; depth < 30; ++depth) {
    const auto [low, high] = halves(parameters[0], side);
    EXPECT_EQ(low.middle() - low.half(), side.middle() - side.half());
    EXPECT_EQ(low.middle() + low.half(), side.middle());
    EXPECT_EQ(high.middle() - high.half(), side.middle());
    EXPECT_EQ(high.middle() + high.half(), side.middle() + side.half());
    side = depth % 3 == 0 ? low : high;
  }
  EXPECT_EQ(parameter_at(parameters[0], 0), mpq_class(-1, 10));
  EXPECT_EQ(parameter_at(parameters[0], 1), mpq_class(3, 10));
  const auto [low, high] = halves(parameters[1], whole(parameters)[1]);
  EXPECT_EQ(low.first, 0U);
  EXPECT_EQ(high.first, low.last + 1);
  EXPECT_EQ(high.last, 6U);
}

}  // namespace
}  // namespace bf_aot::disturb

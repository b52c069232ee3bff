#include "aot/disturb/lines.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cfloat>
#include <cmath>

#include "aot/input/directed.h"
#include "frontend/diagnostic.h"
#include "frontend/numbers/numbers.h"

namespace bf_aot::disturb {
namespace {

using bf::loops::hull;
using bf::loops::meet;

// Pieces of a side. Powers of two: their ends are doubles. Light changes pictures in lines.
std::size_t pieces_of(const Parameter& parameter, std::size_t sides) {
  if (sides == 1) return 8;
  return parameter.kind >= Kind::kContrast ? 2 : 4;
}

Range enclosed(const mpq_class& exact) {
  const vnnlib::Number number = vnnlib::enclose(exact, "");
  return {number.below, number.above};
}

// A side, or a part of it, as t goes from `from` to `to`: u = middle + half t, exactly.
Range parameters_between(const Parameter& parameter, const Side& side, double from, double to) {
  const double middle = side.middle(), half = side.half();
  return hull(enclosed(parameter_at(parameter, middle + half * from)),
              enclosed(parameter_at(parameter, middle + half * to)));
}

// One piece of a cell: ranges of t, and what is known of the picture there.
struct Piece {
  std::vector<double> centre;  // of t, by side
  std::vector<Dual> within;    // all over the piece, with derivatives by t
  std::vector<Range> at;       // at the centre
};

class LineMaker {
 public:
  LineMaker(const PictureMaker& maker, std::span<const Range> picture, const Cell& cell)
      : maker_(maker), picture_(picture), cell_(cell), sides_(maker.ranges()) {
    for (std::size_t j = 0; j < sides_; ++j) {
      const Parameter& parameter = maker_.parameters()[j];
      counts_.push_back(pieces_of(parameter, sides_));
      halves_.push_back(1.0 / static_cast<double>(counts_[j]));
      rates_.push_back(enclosed((parameter.upper - parameter.lower) * mpq_class(cell_[j].half())));
    }
    std::vector<std::size_t> place(sides_, 0);
    do add(place);
    while (next(place));
  }

  // The slopes that fit the centres of pieces best by their squares: the centres are a grid about
  // 0. Any others would do, too.
  float slope(std::size_t i, std::size_t j) const {
    double products = 0, squares = 0;
    for (const Piece& piece : pieces_) {
      products += piece.centre[j] * piece.at[i].middle();
      squares += piece.centre[j] * piece.centre[j];
    }
    const double best = products / squares;
    return std::fabs(best) <= static_cast<double>(FLT_MAX) ? static_cast<float>(best) : 0.0F;
  }

  // Returns a range of element i less its lines, everywhere in the cell: on each piece by the mean
  // value theorem about its centre, and by its values.
  Range rest(std::size_t i, std::span<const float> slopes) const {
    Range all;
    for (std::size_t k = 0; k < pieces_.size(); ++k) {
      const Piece& piece = pieces_[k];
      // f = s + e with |e| <= error: f(t) - f(c) = s(t) - s(c) + e(t) - e(c).
      const double apart = 2 * piece.within[i].error;
      Range by_mean = piece.at[i] + Range{-apart, apart};
      Range by_value = piece.within[i].value;
      for (std::size_t j = 0; j < sides_; ++j) {
        const auto line = static_cast<double>(slopes[j]);
        const Range slope = {line, line}, centre = {piece.centre[j], piece.centre[j]};
        const Range around = {-halves_[j], halves_[j]};
        by_mean = by_mean - slope * centre + (piece.within[i].slope[j] - slope) * around;
        by_value = by_value - slope * (centre + around);
      }
      const Range both = meet(by_mean, by_value);
      all = k == 0 ? both : hull(all, both);
    }
    return all;
  }

 private:
  bool next(std::vector<std::size_t>& place) const {
    for (std::size_t j = 0; j < sides_; ++j) {
      if (++place[j] < counts_[j]) return true;
      place[j] = 0;
    }
    return false;
  }

  void add(const std::vector<std::size_t>& place) {
    Piece piece;
    std::vector<Range> within, at;
    for (std::size_t j = 0; j < sides_; ++j) {
      const double centre = -1 + static_cast<double>(2 * place[j] + 1) * halves_[j];
      const Parameter& parameter = maker_.parameters()[j];
      piece.centre.push_back(centre);
      within.push_back(
          parameters_between(parameter, cell_[j], centre - halves_[j], centre + halves_[j]));
      at.push_back(parameters_between(parameter, cell_[j], centre, centre));
    }
    piece.within = maker_.disturbed(picture_, within);
    for (Dual& each : piece.within)
      for (std::size_t j = 0; j < sides_; ++j) each.slope[j] = each.slope[j] * rates_[j];
    piece.at = maker_.values(picture_, at);
    pieces_.push_back(std::move(piece));
  }

  const PictureMaker& maker_;
  const std::span<const Range> picture_;
  const Cell& cell_;
  const std::size_t sides_;
  std::vector<std::size_t> counts_;  // of pieces, by side
  std::vector<double> halves_;       // of a piece's width in t
  std::vector<Range> rates_;         // of the parameters by t
  std::vector<Piece> pieces_;
};

// How a square at a place of a set covers a pixel.
enum class Covered { kNever, kSomewhere, kEverywhere };

// Along one side: squares begin from `first` to `last`.
Covered covered(const Parameter& parameter, const Side& side, std::size_t at) {
  const std::size_t size = parameter.size;
  if (at < side.first || at >= side.last + size) return Covered::kNever;
  return at >= side.last && at < side.first + size ? Covered::kEverywhere : Covered::kSomewhere;
}

// Calls cover(element, parameter, whether all squares cover it) for elements that squares cover.
template <class Cover>
void for_each_covered(const PictureMaker& maker, const Cell& cell, const Cover& cover) {
  const std::vector<Parameter>& parameters = maker.parameters();
  const Picture& picture = maker.picture();
  for (std::size_t j = maker.ranges(); j + 1 < parameters.size(); j += 2)
    for (std::size_t y = 0; y < picture.height; ++y)
      for (std::size_t x = 0; x < picture.width; ++x) {
        const Covered rows = covered(parameters[j], cell[j], y);
        const Covered columns = covered(parameters[j + 1], cell[j + 1], x);
        if (rows == Covered::kNever || columns == Covered::kNever) continue;
        const bool always = rows == Covered::kEverywhere && columns == Covered::kEverywhere;
        for (std::size_t c = 0; c < picture.channels; ++c)
          cover(picture.at(c, y, x), parameters[j], always);
      }
}

}  // namespace

Lines lines_of(const PictureMaker& maker, std::span<const Range> picture, const Cell& cell,
               const std::string& where) {
  const LineMaker made(maker, picture, cell);
  const std::size_t sides = maker.ranges(), count = picture.size();
  Lines lines;
  lines.slopes.resize(sides * count);
  std::vector<Range> rests;
  for (std::size_t i = 0; i < count; ++i) {
    std::array<float, kMostParameters> slopes = {};
    for (std::size_t j = 0; j < sides; ++j)
      lines.slopes[j * count + i] = slopes[j] = made.slope(i, j);
    rests.push_back(made.rest(i, std::span(slopes).first(sides)));
  }
  for_each_covered(maker, cell, [&](std::size_t i, const Parameter& square, bool always) {
    Range values = rests[i];
    for (std::size_t j = 0; j < sides; ++j) {
      float& slope = lines.slopes[j * count + i];
      const auto size = static_cast<double>(std::fabs(slope));
      values = values + Range{-size, size};
      slope = 0;
    }
    const Range cover = maker.normalised(maker.cover(square.kind), i);
    rests[i] = always ? cover : hull(values, cover);
  });
  for (std::size_t i = 0; i < count; ++i) {
    if (!(magnitude(rests[i]) <= static_cast<double>(FLT_MAX)))
      fail("BF3007", fmt::format("{}, input {}", where, i),
           "the disturbed number may be beyond the range of float32",
           "check --scale, --mean, --std and the ranges");
    lines.lower.push_back(input::to_float(rests[i].low, false));
    lines.upper.push_back(input::to_float(rests[i].high, true));
  }
  return lines;
}

std::vector<Range> picture_at(const PictureMaker& maker, std::span<const Range> picture,
                              const std::vector<mpq_class>& parameters) {
  std::vector<Range> at;
  Cell cell(parameters.size());
  for (std::size_t j = 0; j < parameters.size(); ++j)
    if (maker.parameters()[j].is_place())
      cell[j].first = cell[j].last = parameters[j].get_num().get_ui();
    else
      at.push_back(enclosed(parameters[j]));
  std::vector<Range> values = maker.values(picture, at);
  for_each_covered(maker, cell, [&](std::size_t i, const Parameter& square, bool) {
    values[i] = maker.normalised(maker.cover(square.kind), i);
  });
  return values;
}

}  // namespace bf_aot::disturb

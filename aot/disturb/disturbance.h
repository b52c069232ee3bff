#pragma once

#include <gmpxx.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

// Disturbances of pictures by a few parameters: what a user writes, and the ranges that parameters
// have. What the disturbances do is in disturb/picture.h; docs/guide/disturbances.md says both.

namespace bf_aot::disturb {

// In the order in which they apply. Those that move pixels apply together, in the order in which
// they are given; so do those from kContrast to kFog.
enum class Kind : std::uint8_t {
  kRotation,      // by so many degrees about the centre, counterclockwise
  kScaling,       // about the centre, by a factor
  kShearing,      // rows move right by so many pixels a row below the centre
  kTranslationX,  // right by so many pixels
  kTranslationY,  // down by so many pixels
  kBlur,          // by a Gaussian of this standard deviation in pixels
  kContrast,      // times a factor
  kBrightness,    // plus a number
  kFog,           // so much of the picture's light is the fog's
  kOcclusion,     // a square of 0
  kPatch,         // a square of any numbers
};

// One parameter: a real number of a range, or a place of a square along one side of the picture.
struct Parameter {
  Kind kind = Kind::kRotation;
  std::string name;        // "rotation", "occlusion row"
  mpq_class lower, upper;  // of a range
  std::size_t size = 0;    // of a square's side; 0: the parameter is no place
  bool is_row = false;     // of a place
  std::size_t places = 0;  // how many places there are

  bool is_place() const { return size > 0; }
};

struct Picture {
  std::size_t channels = 1, height = 1, width = 1;
  bool channels_last = false;  // order of the elements

  std::size_t size() const { return channels * height * width; }
  std::size_t at(std::size_t c, std::size_t y, std::size_t x) const {
    return channels_last ? (y * width + x) * channels + c : (c * height + y) * width + x;
  }
};

inline constexpr std::size_t kMostParameters = 3;

// Reads disturbances: "rotation=-5..5", "translation=-1..1" (two parameters), "occlusion=3". All
// ranges come before all places. Throws: BF3013 with `option` as the place: an unknown kind, no
// range, a number out of what the kind takes, more than kMostParameters parameters, a kind twice, a
// patch with others, a square that is larger than the picture.
std::vector<Parameter> read_disturbances(const std::vector<std::string>& texts,
                                         const Picture& picture, const std::string& option);

// The names of all kinds, for messages: "rotation=LO..HI, ...".
std::string kinds_text();

// A part of the ranges of all parameters: of a range [lower, upper] the numbers lower + (upper -
// lower) u with index / 2^depth <= u <= (index + 1) / 2^depth; the places from first to last.
struct Side {
  std::uint64_t index = 0;
  int depth = 0;
  std::size_t first = 0, last = 0;

  double middle() const;  // of u
  double half() const;    // of the width in u
};
using Cell = std::vector<Side>;

// A range is halved at most so often: u then needs less than a double's 53 bits.
inline constexpr int kMostHalved = 40;

Cell whole(const std::vector<Parameter>& parameters);
// Whether a parameter has parts in the cell.
bool can_split(const Parameter& parameter, const Side& side);
// The two parts of a side, which can be split: together they are all of it.
std::pair<Side, Side> halves(const Parameter& parameter, const Side& side);

// lower + (upper - lower) u.
mpq_class parameter_at(const Parameter& parameter, double u);

}  // namespace bf_aot::disturb

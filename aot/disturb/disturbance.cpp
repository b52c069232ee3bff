#include "aot/disturb/disturbance.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <utility>

#include "frontend/diagnostic.h"
#include "frontend/graph/model.h"
#include "frontend/numbers/numbers.h"

namespace bf_aot::disturb {
namespace {

// A row says what a user may write for a kind. `least` and `most` limit its range.
struct KindRow {
  std::string_view name;
  std::vector<Kind> kinds;  // two: both have the range
  bool is_place = false;
  double least = 0, most = 0;
  const char* limits = "";
};

const std::vector<KindRow>& rows() {
  static const std::vector<KindRow> table = {
      {"rotation", {Kind::kRotation}, false, -360, 360, "from -360 to 360 degrees"},
      {"scaling", {Kind::kScaling}, false, 0x1p-10, 1024, "factors from 2^-10 to 2^10"},
      {"shearing", {Kind::kShearing}, false, -16, 16, "from -16 to 16 pixels a row"},
      {"translation",
       {Kind::kTranslationX, Kind::kTranslationY},
       false,
       -65536,
       65536,
       "from -65536 to 65536 pixels"},
      {"translation-x", {Kind::kTranslationX}, false, -65536, 65536, "from -65536 to 65536 pixels"},
      {"translation-y", {Kind::kTranslationY}, false, -65536, 65536, "from -65536 to 65536 pixels"},
      {"blur", {Kind::kBlur}, false, 0, 8, "standard deviations from 0 to 8 pixels"},
      {"contrast", {Kind::kContrast}, false, 0, 1024, "factors from 0 to 1024"},
      {"brightness", {Kind::kBrightness}, false, -65536, 65536, "from -65536 to 65536"},
      {"fog", {Kind::kFog}, false, 0, 1, "shares from 0 to 1"},
      {"occlusion", {Kind::kOcclusion}, true, 0, 0, ""},
      {"patch", {Kind::kPatch}, true, 0, 0, ""},
  };
  return table;
}

class Reader {
 public:
  Reader(const Picture& picture, const std::string& option) : picture_(picture), option_(option) {}

  void read(const std::string& text) {
    const std::size_t equals = text.find('=');
    const std::string name = text.substr(0, equals);
    const auto row = std::ranges::find(rows(), name, &KindRow::name);
    if (row == rows().end())
      complain(fmt::format("{} is no kind of disturbance", printable(name)), kinds_text());
    if (equals == std::string::npos) complain_form(*row, text);
    const std::string given = text.substr(equals + 1);
    if (row->is_place)
      add_places(*row, given, text);
    else
      add_range(*row, given, text);
  }

  std::vector<Parameter> finish() && {
    for (std::size_t i = 0; i < made_.size(); ++i)
      for (std::size_t j = 0; j < i; ++j)
        if (made_[i].name == made_[j].name)
          complain(made_[i].name + " is there twice", "give one range of it");
    if (made_.size() > kMostParameters)
      complain(fmt::format("there are {} parameters, at most {} are split", made_.size(),
                           kMostParameters),
               "a translation has two, and so have the places of a square");
    const auto is_patch = [](const Parameter& each) { return each.kind == Kind::kPatch; };
    if (std::ranges::any_of(made_, is_patch) && !std::ranges::all_of(made_, is_patch))
      complain("a patch is certified by itself", "leave out the other disturbances");
    std::stable_partition(made_.begin(), made_.end(),
                          [](const Parameter& each) { return !each.is_place(); });
    return std::move(made_);
  }

 private:
  [[noreturn]] void complain(const std::string& message, const std::string& hint) const {
    fail("BF3013", option_, message, hint);
  }
  [[noreturn]] void complain_form(const KindRow& row, const std::string& text) const {
    complain(fmt::format("{} has no range", printable(text)),
             fmt::format("write {}={}", row.name, row.is_place ? "SIZE" : "LO..HI"));
  }

  mpq_class number(const std::string& text) const {
    vnnlib::Number read;
    if (vnnlib::parse_quotient(text, read) != vnnlib::NumberError::kNone)
      complain(fmt::format("{} is no number", printable(text)), "write -5, 0.25 or 8/255");
    return vnnlib::exact(read);
  }

  void add_range(const KindRow& row, const std::string& given, const std::string& text) {
    const std::size_t dots = given.find("..");
    if (dots == std::string::npos) complain_form(row, text);
    const mpq_class lower = number(given.substr(0, dots)), upper = number(given.substr(dots + 2));
    if (lower > upper)
      complain(fmt::format("the lower end of {} is above the upper one", printable(text)),
               "write LO..HI");
    if (lower < row.least || upper > row.most)
      complain(fmt::format("{} is out of what {} takes", printable(text), row.name),
               fmt::format("{} takes {}", row.name, row.limits));
    for (const Kind kind : row.kinds) {
      Parameter& made = made_.emplace_back();
      made.kind = kind;
      made.name = kind == Kind::kTranslationX   ? "translation-x"
                  : kind == Kind::kTranslationY ? "translation-y"
                                                : std::string(row.name);
      made.lower = lower;
      made.upper = upper;
    }
  }

  void add_places(const KindRow& row, const std::string& given, const std::string& text) {
    const bool digits = !given.empty() && given.size() < 6 &&
                        given.find_first_not_of("0123456789") == std::string::npos;
    const std::size_t size = digits ? std::stoul(given) : 0;
    if (size == 0) complain_form(row, text);
    if (size > std::min(picture_.height, picture_.width))
      complain(fmt::format("{} is larger than the picture, {} x {}", printable(text),
                           picture_.height, picture_.width),
               "give the side of a square in pixels");
    for (const bool is_row : {true, false}) {
      Parameter& made = made_.emplace_back();
      made.kind = row.kinds[0];
      made.name = fmt::format("{} {}", row.name, is_row ? "row" : "column");
      made.size = size;
      made.is_row = is_row;
      made.places = (is_row ? picture_.height : picture_.width) - size + 1;
    }
  }

  const Picture& picture_;
  const std::string& option_;
  std::vector<Parameter> made_;
};

}  // namespace

std::string kinds_text() {
  std::string text;
  for (const KindRow& row : rows())
    text += fmt::format("{}{}={}", text.empty() ? "" : ", ", row.name,
                        row.is_place ? "SIZE" : "LO..HI");
  return text;
}

std::vector<Parameter> read_disturbances(const std::vector<std::string>& texts,
                                         const Picture& picture, const std::string& option) {
  Reader reader(picture, option);
  for (const std::string& text : texts) reader.read(text);
  return std::move(reader).finish();
}

double Side::middle() const {
  return std::ldexp(static_cast<double>(2 * index + 1), -depth - 1);
}

double Side::half() const {
  return std::ldexp(1.0, -depth - 1);
}

Cell whole(const std::vector<Parameter>& parameters) {
  Cell cell;
  for (const Parameter& parameter : parameters) {
    Side& side = cell.emplace_back();
    if (parameter.is_place()) side.last = parameter.places - 1;
  }
  return cell;
}

bool can_split(const Parameter& parameter, const Side& side) {
  if (parameter.is_place()) return side.first < side.last;
  return parameter.lower < parameter.upper && side.depth < kMostHalved;
}

std::pair<Side, Side> halves(const Parameter& parameter, const Side& side) {
  Side low = side, high = side;
  if (parameter.is_place()) {
    low.last = side.first + (side.last - side.first) / 2;
    high.first = low.last + 1;
    return {low, high};
  }
  low.depth = high.depth = side.depth + 1;
  low.index = 2 * side.index;
  high.index = 2 * side.index + 1;
  return {low, high};
}

mpq_class parameter_at(const Parameter& parameter, double u) {
  return parameter.lower + (parameter.upper - parameter.lower) * mpq_class(u);
}

}  // namespace bf_aot::disturb

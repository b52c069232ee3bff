#include "aot/disturb/cells.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "aot/disturb/lines.h"
#include "frontend/diagnostic.h"

namespace bf_aot::disturb {
namespace {

// Steps of the grid along each side, by the number of sides.
constexpr std::array<int, kMostParameters + 1> kSteps = {1, 16, 8, 4};
constexpr std::size_t kNumberBytes = 8;

void append(std::uint64_t number, std::vector<std::byte>& bytes) {
  for (std::size_t i = 0; i < kNumberBytes; ++i)
    bytes.push_back(static_cast<std::byte>(number >> (8 * i)));
}

}  // namespace

CellBox box_of(const Subject& subject, const Cell& cell, const std::string& where) {
  const Lines lines = lines_of(subject.maker, subject.picture, cell, where);
  const std::size_t sides = subject.maker.ranges();
  CellBox box;
  box.lower.assign(sides, -1.0F);
  box.upper.assign(sides, 1.0F);
  for (std::vector<float>* const to : {&box.lower, &box.upper})
    to->insert(to->end(), lines.slopes.begin(), lines.slopes.end());
  box.lower.insert(box.lower.end(), lines.lower.begin(), lines.lower.end());
  box.upper.insert(box.upper.end(), lines.upper.begin(), lines.upper.end());
  return box;
}

std::optional<std::size_t> side_to_split(const PictureMaker& maker, const Cell& cell,
                                         const CellBox& box) {
  std::optional<std::size_t> best;
  double most = -1;
  const std::size_t inputs = maker.picture().size();
  for (std::size_t j = 0; j < cell.size(); ++j) {
    const Parameter& parameter = maker.parameters()[j];
    if (!can_split(parameter, cell[j])) continue;
    double change = 0;
    if (parameter.is_place())
      change = 1e30 * static_cast<double>(cell[j].last - cell[j].first);
    else
      for (std::size_t i = 0; i < inputs; ++i)
        change += std::fabs(static_cast<double>(box.lower[maker.ranges() + j * inputs + i]));
    if (change <= most) continue;
    most = change;
    best = j;
  }
  return best;
}

std::pair<Cell, Cell> halves_of(const std::vector<Parameter>& parameters, const Cell& cell,
                                std::size_t side) {
  std::pair<Cell, Cell> made = {cell, cell};
  std::tie(made.first[side], made.second[side]) = halves(parameters[side], cell[side]);
  return made;
}

std::vector<mpq_class> parameters_at(const std::vector<Parameter>& parameters,
                                     const Position& point) {
  std::vector<mpq_class> made;
  for (std::size_t j = 0; j < parameters.size(); ++j)
    made.push_back(parameters[j].is_place() ? mpq_class(point[j])
                                            : parameter_at(parameters[j], point[j]));
  return made;
}

bool is_position(const std::vector<Parameter>& parameters, const std::vector<double>& numbers) {
  if (numbers.size() != parameters.size()) return false;
  for (std::size_t j = 0; j < numbers.size(); ++j) {
    const double most =
        parameters[j].is_place() ? static_cast<double>(parameters[j].places) - 1 : 1;
    if (!(numbers[j] >= 0 && numbers[j] <= most)) return false;
    if (parameters[j].is_place() && numbers[j] != std::floor(numbers[j])) return false;
  }
  return true;
}

Position middle_of(const std::vector<Parameter>& parameters, const Cell& cell) {
  Position made;
  for (std::size_t j = 0; j < cell.size(); ++j)
    made.push_back(parameters[j].is_place()
                       ? static_cast<double>((cell[j].first + cell[j].last) / 2)
                       : cell[j].middle());
  return made;
}

std::vector<Position> grid_of(const std::vector<Parameter>& parameters) {
  const int steps = kSteps[parameters.size()];
  std::vector<Position> made;
  std::vector<int> place(parameters.size(), 0);
  for (bool more = true; more;) {
    Position& at = made.emplace_back();
    for (std::size_t j = 0; j < parameters.size(); ++j) {
      const double u = static_cast<double>(place[j]) / steps;
      at.push_back(parameters[j].is_place()
                       ? std::floor(u * static_cast<double>(parameters[j].places - 1))
                       : u);
    }
    more = false;
    for (int& each : place) {
      if (++each <= steps) {
        more = true;
        break;
      }
      each = 0;
    }
  }
  return made;
}

std::vector<std::byte> bytes_of(const Cell& cell) {
  std::vector<std::byte> bytes;
  for (const Side& side : cell)
    for (const std::uint64_t number : {side.index, static_cast<std::uint64_t>(side.depth),
                                       std::uint64_t{side.first}, std::uint64_t{side.last}})
      append(number, bytes);
  return bytes;
}

std::optional<Cell> cell_from(const std::vector<Parameter>& parameters,
                              std::span<const std::byte> bytes) {
  if (bytes.size() != 4 * kNumberBytes * parameters.size()) return std::nullopt;
  const auto number = [&](std::size_t k) {
    std::uint64_t bits = 0;
    for (std::size_t i = 0; i < kNumberBytes; ++i)
      bits |= std::to_integer<std::uint64_t>(bytes[k * kNumberBytes + i]) << (8 * i);
    return bits;
  };
  Cell cell;
  for (std::size_t j = 0; j < parameters.size(); ++j) {
    const std::uint64_t index = number(4 * j), depth = number(4 * j + 1);
    const std::uint64_t first = number(4 * j + 2), last = number(4 * j + 3);
    if (parameters[j].is_place()) {
      if (index != 0 || depth != 0 || first > last || last >= parameters[j].places)
        return std::nullopt;
    } else if (depth > kMostHalved || index >> depth != 0 || first != 0 || last != 0) {
      return std::nullopt;
    }
    cell.push_back({index, static_cast<int>(depth), first, last});
  }
  return cell;
}

std::vector<std::size_t> channels_of(std::size_t means, std::size_t deviations,
                                     const Picture& picture, std::string& fault) {
  fault.clear();
  if (std::min(means, deviations) > 1 && means != deviations) {
    fault = "there are as many means as deviations, or one of either";
    return {};
  }
  const std::size_t given = std::max(means, deviations);
  if (given > 1 && given != picture.channels && given != picture.size()) {
    fault = fmt::format("{} are given for {} channels", given, picture.channels);
    return {};
  }
  std::vector<std::size_t> channel(picture.size());
  if (given == picture.size()) {
    std::iota(channel.begin(), channel.end(), std::size_t{0});
    return channel;
  }
  for (std::size_t c = 0; c < picture.channels; ++c)
    for (std::size_t y = 0; y < picture.height; ++y)
      for (std::size_t x = 0; x < picture.width; ++x) channel[picture.at(c, y, x)] = c;
  return channel;
}

Picture picture_of(const std::vector<std::int64_t>& input_shape, const input::Dataset& data) {
  std::vector<std::int64_t> shape = input_shape;
  if (shape.size() > 1 && shape[0] == 1) shape.erase(shape.begin());
  const auto is_long = [](std::int64_t extent) { return extent > 1; };
  if (shape.size() < 2 || std::ranges::count_if(shape, is_long) < 2) shape = data.shape;
  const bool as_data = shape == data.shape && shape.size() == 3;
  if (shape.size() == 2) shape.insert(shape.begin(), 1);
  if (shape.size() != 3)
    fail("BF3016", data.where, "the samples are no pictures: they have no height and width",
         "give an array [samples, height, width] or [samples, channels, height, width]");
  // A picture has few channels.
  constexpr std::int64_t kFew = 4;
  Picture picture;
  picture.channels_last = (shape[2] <= kFew && shape[0] > kFew) || (as_data && data.channels_last);
  const auto extent = [&](std::size_t chw, std::size_t hwc) {
    return static_cast<std::size_t>(shape[picture.channels_last ? hwc : chw]);
  };
  picture.channels = extent(0, 2);
  picture.height = extent(1, 0);
  picture.width = extent(2, 1);
  return picture;
}

}  // namespace bf_aot::disturb

#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "aot/disturb/picture.h"

// Cells as searches split them: boxes of inputs of the network that is bounded, points, and bytes.

namespace bf_aot::disturb {

// A picture that disturbances change.
struct Subject {
  const PictureMaker& maker;
  std::span<const Range> picture;  // scaled
};

// A box that holds the disturbed pictures of a cell, as inputs of the network that
// behind_lines() makes for the maker's ranges: t of each range, slopes, offsets. Without ranges
// they are the network's own inputs.
struct CellBox {
  std::vector<float> lower, upper;
};
// Throws: as lines_of().
CellBox box_of(const Subject& subject, const Cell& cell, const std::string& where);

// The parameter whose side is halved: places first, since a square at one place is exact, then the
// side along which the picture changes most. None where no side has parts. box: of the cell.
std::optional<std::size_t> side_to_split(const PictureMaker& maker, const Cell& cell,
                                         const CellBox& box);

// A cell's two halves along a side that has parts.
std::pair<Cell, Cell> halves_of(const std::vector<Parameter>& parameters, const Cell& cell,
                                std::size_t side);

// A point of the ranges as doubles: of each range u, of each place its number. Exact.
using Position = std::vector<double>;
std::vector<mpq_class> parameters_at(const std::vector<Parameter>& parameters,
                                     const Position& point);
// Returns whether the numbers are a point of the ranges and places.
bool is_position(const std::vector<Parameter>& parameters, const std::vector<double>& numbers);
Position middle_of(const std::vector<Parameter>& parameters, const Cell& cell);
// Points where the network is evaluated before any bounds: a grid, the ends among them.
std::vector<Position> grid_of(const std::vector<Parameter>& parameters);

// Bytes that mean the same cell everywhere. None where they are no cell of these parameters.
std::vector<std::byte> bytes_of(const Cell& cell);
std::optional<Cell> cell_from(const std::vector<Parameter>& parameters,
                              std::span<const std::byte> bytes);

// The index of each element's mean and deviation, of which there are so many. Empty where their
// numbers do not fit the picture; `fault` then says why.
std::vector<std::size_t> channels_of(std::size_t means, std::size_t deviations,
                                     const Picture& picture, std::string& fault);

// Channels, height and width of pictures, and their order: of the model's input, or of the data
// where that is flat. data: as arrange() leaves it. Throws: BF3016.
Picture picture_of(const std::vector<std::int64_t>& input_shape, const input::Dataset& data);

}  // namespace bf_aot::disturb

#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace bf_aot::cli {

// An array that numpy.save() wrote: float32 or float64, in C order. Its doubles are exact.
struct NpyArray {
  std::vector<std::size_t> shape;
  std::vector<double> values;  // row-major, all finite
};

// Throws: BF3011 damaged, BF3012 of another type or order, BF3007 a value that is not finite.
NpyArray parse_npy(std::string_view bytes, const std::string& where);

// Throws: the same, and those of read_text().
NpyArray read_npy(const std::filesystem::path& path);

// By its first bytes.
bool is_npy(std::string_view bytes);

}  // namespace bf_aot::cli

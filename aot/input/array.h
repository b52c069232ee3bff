#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/read_bytes.h"

// Arrays of numbers in the files of NumPy: .npy (format versions 1 to 3 of numpy.lib.format) and
// .npz. Errors name the file, and what is wrong there.

namespace bf_aot::input {

// A row-major array. Every element type that is read fits a double, except for integers beyond
// 2^53, which are refused.
struct Array {
  std::string name;   // in an .npz, without ".npy"; else empty
  std::string where;  // "x.npy", "x.npz: images"; for messages
  std::vector<std::int64_t> shape;
  std::vector<double> values;
  bool integers = false;  // the elements are stored as integers

  std::size_t count() const { return shape.empty() ? 1 : static_cast<std::size_t>(shape[0]); }
  // The number of elements of one of count() rows.
  std::size_t row_size() const { return count() == 0 ? 0 : values.size() / count(); }
};

// The most bytes of a file, and of an array as doubles.
inline constexpr std::uint64_t kMostDataBytes = std::uint64_t{1} << 32;

// Reads an .npy file. Throws: BF3001, BF3011 damaged, BF3012 elements or an order that is not read,
// BF3014 too large.
Array read_npy(const std::filesystem::path& path);
Array parse_npy(std::string_view bytes, const std::string& where);

bool is_npy(std::string_view bytes);  // judged by its first bytes

// Throws: BF3007 for an array with a value that is not finite.
void expect_finite(const Array& array);

// Reads all arrays of an .npz file, in its order. Throws: as read_npy(), BF3014 no archive.
std::vector<Array> read_npz(const std::filesystem::path& path);

// The bytes of an .npy file: doubles as <f8, or as <i8 where `integers`.
std::string npy_bytes(const Array& array);

// Writes an .npz file that appears whole or not at all. Throws: BF3102.
void write_npz(const std::filesystem::path& path, const std::vector<Array>& arrays);

// The bytes of a file of data. Throws: BF3001, BF3014 over kMostDataBytes.
std::string read_data_file(const std::filesystem::path& path,
                           Sources sources = Sources::kFilesAndPipes);

}  // namespace bf_aot::input

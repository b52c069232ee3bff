#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace bf_aot::input {

// A picture with eight bits for each channel, row by row, the channels of a pixel together; 1
// channel is grey, 3 are red, green and blue.
struct Picture {
  std::uint32_t width = 0, height = 0, channels = 0;
  std::vector<std::uint8_t> values;  // [height, width, channels]
};

// Reads a PNG file. Throws: BF3001, BF3014.
Picture read_png(const std::filesystem::path& path);

// The bytes of a PNG file; empty where the picture cannot be written.
std::string png_bytes(const Picture& picture);

}  // namespace bf_aot::input

#include "planner/machine/device_peaks.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "frontend/diagnostic.h"
#include "planner/machine/four_digits.h"
#include "planner/machine/profile_reader.h"
#include "planner/machine/shipped_profiles.h"

namespace bf_aot {
namespace {

using Json = nlohmann::ordered_json;

// Limits of a rate a second and of bytes. Every device is within them, and all figures that are
// made with them stay finite.
constexpr double kLeastRate = 1e3, kMostRate = 1e21, kMostBytes = 1e18;

double read_number(const ProfileReader& reader, std::string_view key, double least, double most) {
  const double number = reader.number(key, true);
  if (number < least || number > most)
    reader.bad(fmt::format("'{}' must be {} to {}", key, least, most));
  return number;
}

DeviceRate read_rate(const ProfileReader& reader, std::string_view key) {
  const ProfileReader rate = reader.object(key);
  rate.allow({"group", "all"});
  const auto read = [&](const char* of) { return read_number(rate, of, kLeastRate, kMostRate); };
  const DeviceRate made = {read("group"), read("all")};
  if (made.all < made.group) rate.bad("all groups together must reach what one does");
  return made;
}

int read_count(const ProfileReader& reader, std::string_view key, int most) {
  const double number = reader.number(key, true);
  if (number != std::floor(number) || number > most)
    reader.bad(fmt::format("'{}' must be a whole number of 1 to {}", key, most));
  return static_cast<int>(number);
}

Json rate_json(const DeviceRate& rate) {
  return {{"group", four_digits(rate.group)}, {"all", four_digits(rate.all)}};
}

const std::vector<DevicePeaks>& shipped_devices() {
  static const std::vector<DevicePeaks> list = [] {
    std::vector<DevicePeaks> made;
    for (const std::string_view text : shipped_peaks())
      made.push_back(parse_peaks(std::string(text), "shipped peaks"));
    return made;
  }();
  return list;
}

}  // namespace

// At least as many groups run at once as reach the peak. Where these fit into a memory, all groups
// may read from it.
MachineProfile share_of_box(const DevicePeaks& peaks, double boxes, double weights_bytes) {
  const auto rate = [&](const DeviceRate& of) { return std::min(of.group, of.all / boxes); };
  const double at_once = std::clamp(peaks.float32.all / peaks.float32.group, 1.0, boxes);
  MachineProfile made;
  made.name = peaks.name;
  made.source = peaks.source;
  made.float32_vector = made.float32_scalar = rate(peaks.float32);
  made.float64_vector = made.float64_scalar = rate(peaks.float64);
  double before = 0;
  for (const DeviceMemory& memory : peaks.memories) {
    // The bytes of a box, weights among them, with which those of all groups at a memory fit.
    const double sharing = std::max(1.0, std::ceil(at_once / memory.count));
    double bytes = memory.bytes;
    if (weights_bytes < bytes && std::isfinite(bytes))
      bytes = weights_bytes + (bytes - weights_bytes) / sharing;
    before = std::max(before, bytes);
    made.levels.push_back({before, rate(memory.bytes_per_second)});
  }
  return made;
}

std::vector<std::string> peaks_names() {
  std::vector<std::string> names;
  for (const DevicePeaks& peaks : shipped_devices()) names.push_back(peaks.name);
  return names;
}

const DevicePeaks& find_peaks(std::string_view name) {
  for (const DevicePeaks& peaks : shipped_devices())
    if (peaks.name == name) return peaks;
  fail("BF2131", "", fmt::format("unknown peaks of a device '{}'", name),
       fmt::format("use a file that `bf-aot profile --device` wrote, or one of: {}",
                   fmt::join(peaks_names(), ", ")));
}

std::string to_json_text(const DevicePeaks& peaks) {
  Json memories = Json::array();
  for (const DeviceMemory& memory : peaks.memories)
    memories.push_back({{"bytes", std::isfinite(memory.bytes) ? Json(memory.bytes) : Json(nullptr)},
                        {"count", memory.count},
                        {"bytes_per_second", rate_json(memory.bytes_per_second)}});
  const Json json = {{"name", peaks.name},
                     {"source", peaks.source},
                     {"items", peaks.items},
                     {"float32", rate_json(peaks.float32)},
                     {"float64", rate_json(peaks.float64)},
                     {"memories", memories}};
  return json.dump(2) + "\n";
}

DevicePeaks parse_peaks(const std::string& text, const std::string& where) {
  const Json json = parse_profile_json(text, where, kPeaksWriter);
  const ProfileReader reader(json, where, kPeaksWriter);
  reader.allow({"name", "source", "items", "float32", "float64", "memories"});
  DevicePeaks peaks;
  peaks.name = reader.text("name");
  peaks.source = reader.text("source");
  peaks.items = read_count(reader, "items", 1024);
  peaks.float32 = read_rate(reader, "float32");
  peaks.float64 = read_rate(reader, "float64");
  const std::size_t count = reader.count("memories");
  for (std::size_t i = 0; i < count; ++i) {
    const ProfileReader memory = reader.item("memories", i);
    memory.allow({"bytes", "count", "bytes_per_second"});
    const double bytes = memory.bytes_or_none(i + 1 == count);
    if (std::isfinite(bytes)) (void)read_number(memory, "bytes", 1, kMostBytes);
    peaks.memories.push_back(
        {bytes, read_count(memory, "count", 1 << 20), read_rate(memory, "bytes_per_second")});
  }
  return peaks;
}

}  // namespace bf_aot

#include "aot/input/profile_file.h"

#include <algorithm>
#include <filesystem>

#include "aot/input/json/read_text.h"
#include "frontend/graph/model.h"

namespace bf_aot::input {

namespace {

// Names are shipped; other texts are files, where there is one.
bool is_file(const std::vector<std::string>& names, const std::string& name_or_file) {
  return std::ranges::count(names, name_or_file) == 0 && std::filesystem::exists(name_or_file);
}

}  // namespace

MachineProfile read_profile(const std::string& name_or_file) {
  if (is_file(profile_names(), name_or_file))
    return parse_profile(read_text(name_or_file, "machine profile"), printable(name_or_file));
  return find_profile(name_or_file);
}

DevicePeaks read_peaks(const std::string& name_or_file) {
  if (is_file(peaks_names(), name_or_file))
    return parse_peaks(read_text(name_or_file, "peaks of a device"), printable(name_or_file));
  return find_peaks(name_or_file);
}

}  // namespace bf_aot::input

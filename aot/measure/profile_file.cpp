#include "aot/measure/profile_file.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "frontend/model.h"

namespace bf_aot::cli {

MachineProfile read_profile(const std::string& name_or_file) {
  const std::vector<std::string> names = profile_names();
  if (std::ranges::count(names, name_or_file) == 0 && std::filesystem::exists(name_or_file)) {
    std::ifstream stream(name_or_file, std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(stream), {}};
    return parse_profile(text, printable(name_or_file));
  }
  return find_profile(name_or_file);
}

}  // namespace bf_aot::cli

#include "aot/input/profile_file.h"

#include <algorithm>
#include <filesystem>

#include "aot/input/json/read_text.h"
#include "frontend/graph/model.h"

namespace bf_aot::input {

MachineProfile read_profile(const std::string& name_or_file) {
  const std::vector<std::string> names = profile_names();
  if (std::ranges::count(names, name_or_file) == 0 && std::filesystem::exists(name_or_file))
    return parse_profile(read_text(name_or_file, "machine profile"), printable(name_or_file));
  return find_profile(name_or_file);
}

}  // namespace bf_aot::input

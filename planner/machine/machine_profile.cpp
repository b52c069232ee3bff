#include "planner/machine/machine_profile.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "frontend/diagnostic.h"
#include "planner/machine/four_digits.h"
#include "planner/machine/profile_reader.h"
#include "planner/machine/shipped_profiles.h"
#include "planner/machine/target.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace bf_aot {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kFamilyNames[] = {
    "bind",
    "branch",
    "interval_affine",
    "centre_affine",
    "evaluate_affine",
    "centre_slack",
    "around",
    "relax",
    "relax_box",
    "function",
    "function_turn",
    "pieces",
    "list_rows",
    "list_bent",
    "start_rows",
    "relaxation",
    "backward_affine",
    "backward_wide",
    "concretize",
    "tighten",
    "write",
    "sum_layer",
    "interval_sum",
    "conv_interval",
    "conv_centre",
    "sparse_centre",
    "gather_centre",
    "clear",
    "conv_start",
    "sparse_start",
    "gather_start",
    "relax_rows",
    "conv_backward",
    "conv_wide",
    "sparse_backward",
    "gather_backward",
    "add_rows",
    "relax_product",
    "relax_max",
    "product_rows",
    "product_backward",
    "max_backward",
    "slopes",
};
static_assert(std::size(kFamilyNames) == kFamilies);

// ---- reading

using Reader = ProfileReader;

void read_levels(const Reader& reader, MachineProfile& profile) {
  const std::size_t count = reader.count("levels");
  double before = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const Reader level = reader.item("levels", i);
    level.allow({"bytes", "bytes_per_second"});
    const MemoryLevel made = {level.bytes_or_none(i + 1 == count),
                              level.number("bytes_per_second", true)};
    if (!(made.bytes > before)) level.bad("sizes must rise");
    before = made.bytes;
    profile.levels.push_back(made);
  }
}

void read_families(const Reader& reader, MachineProfile& profile) {
  for (const auto& [key, unused] : reader.at("families").items())
    if (std::ranges::count(kFamilyNames, key) == 0)
      reader.bad(fmt::format("families: unknown key '{}'; known keys: {}", key,
                             fmt::join(kFamilyNames, ", ")));
  const Reader families = reader.object("families");
  for (std::size_t i = 0; i < kFamilies; ++i) {
    const Reader family = families.object(kFamilyNames[i]);
    family.allow({"efficiency", "item", "group"});
    profile.families[i] = {family.number("efficiency", true), family.number("item", false),
                           family.number("group", false)};
  }
}

MachineProfile read_profile(const Json& json, const std::string& where) {
  const Reader reader(json, where);
  reader.allow({"name", "source", "target", "clock", "vector_bytes", "flops_per_second", "chains",
                "call", "levels", "families"});
  MachineProfile profile;
  profile.name = reader.text("name");
  profile.source = reader.text("source");
  profile.target = reader.text("target");
  if (json.contains("clock")) profile.clock = reader.number("clock", true);
  const double bytes = reader.number("vector_bytes", true);
  if (bytes != 4 && bytes != 16 && bytes != 32 && bytes != 64)
    reader.bad("'vector_bytes' must be 4, 16, 32 or 64");
  profile.vector_bytes = static_cast<int>(bytes);
  const Reader flops = reader.object("flops_per_second");
  flops.allow({"float32_vector", "float32_scalar", "float64_vector", "float64_scalar"});
  profile.float32_vector = flops.number("float32_vector", true);
  profile.float32_scalar = flops.number("float32_scalar", true);
  profile.float64_vector = flops.number("float64_vector", true);
  profile.float64_scalar = flops.number("float64_scalar", true);
  profile.chains = static_cast<int>(reader.number("chains", true));
  profile.call = reader.number("call", false);
  read_levels(reader, profile);
  read_families(reader, profile);
  return profile;
}

#if defined(__x86_64__)
// AMD's fifth Zen generation is family 26 (base 15 + extended 11).
bool is_zen5() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__builtin_cpu_is("amd") == 0 || __get_cpuid(1, &a, &b, &c, &d) == 0) return false;
  return (a >> 8 & 15) + (a >> 20 & 255) == 26;
}
#endif

const std::vector<MachineProfile>& shipped() {
  static const std::vector<MachineProfile> profiles = [] {
    std::vector<MachineProfile> list;
    for (const std::string_view text : shipped_profiles())
      list.push_back(parse_profile(std::string(text), "a shipped profile"));
    return list;
  }();
  return profiles;
}

}  // namespace

std::string_view to_string(Family family) {
  return kFamilyNames[static_cast<std::size_t>(family)];
}

double bandwidth(const MachineProfile& profile, double working_set) {
  double slower = 0;  // seconds per byte of the level before, for the part that it still holds
  double size = 0;
  for (const MemoryLevel& level : profile.levels) {
    const double here = 1 / level.bytes_per_second;
    if (working_set <= level.bytes) {
      const double beyond = size > 0 ? std::clamp((working_set - size) / size, 0.0, 1.0) : 1;
      return 1 / (beyond * here + (1 - beyond) * slower);
    }
    slower = here;
    size = level.bytes;
  }
  BF_CHECK(!"a level without bound");
  return 0;
}

std::vector<std::string> profile_names() {
  std::vector<std::string> names;
  for (const MachineProfile& profile : shipped()) names.push_back(profile.name);
  return names;
}

const MachineProfile& find_profile(std::string_view name) {
  for (const MachineProfile& profile : shipped())
    if (profile.name == name) return profile;
  fail("BF2131", "", fmt::format("unknown machine profile '{}'", name),
       fmt::format("use a file that `bf-aot profile` wrote, or one of: {}",
                   fmt::join(profile_names(), ", ")));
}

const MachineProfile& host_profile() {
  const std::string target = find_target("host").name;
#if defined(__x86_64__)
  if (target == "x86-64-v4" && is_zen5()) return find_profile("zen5");
#endif
  return find_profile(target);
}

std::string to_json_text(const MachineProfile& profile) {
  Json levels = Json::array();
  for (const MemoryLevel& level : profile.levels)
    levels.push_back({{"bytes", std::isfinite(level.bytes) ? Json(level.bytes) : Json(nullptr)},
                      {"bytes_per_second", four_digits(level.bytes_per_second)}});
  Json families = Json::object();
  for (std::size_t i = 0; i < kFamilies; ++i) {
    const FamilyCost& cost = profile.families[i];
    families[std::string(kFamilyNames[i])] = {{"efficiency", four_digits(cost.efficiency)},
                                              {"item", four_digits(cost.item)},
                                              {"group", four_digits(cost.group)}};
  }
  Json json = {{"name", profile.name}, {"source", profile.source}, {"target", profile.target}};
  if (profile.clock > 0) json["clock"] = four_digits(profile.clock);
  json.update(Json{{"vector_bytes", profile.vector_bytes},
                   {"flops_per_second",
                    {{"float32_vector", four_digits(profile.float32_vector)},
                     {"float32_scalar", four_digits(profile.float32_scalar)},
                     {"float64_vector", four_digits(profile.float64_vector)},
                     {"float64_scalar", four_digits(profile.float64_scalar)}}},
                   {"chains", profile.chains},
                   {"call", four_digits(profile.call)},
                   {"levels", levels},
                   {"families", families}});
  return json.dump(2) + "\n";
}

MachineProfile parse_profile(const std::string& text, const std::string& where) {
  return read_profile(parse_profile_json(text, where), where);
}

}  // namespace bf_aot

#pragma once

#include <initializer_list>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace bf_aot {

inline constexpr std::string_view kProfileWriter = "bf-aot profile";
inline constexpr std::string_view kPeaksWriter = "bf-aot profile --device";

// A JSON object of a profile, of a machine or a device: every key must be asked for, and be there.
// Each fault of such a file throws BF2132.
class ProfileReader {
 public:
  using Json = nlohmann::ordered_json;

  // writer: the command that writes such files.
  ProfileReader(const Json& json, std::string where, std::string_view writer = kProfileWriter);

  void allow(std::initializer_list<std::string_view> keys) const;
  const Json& at(std::string_view key) const;
  std::string text(std::string_view key) const;
  double number(std::string_view key, bool positive) const;
  ProfileReader object(std::string_view key) const;
  // The i-th object of a list, which has to have one.
  ProfileReader item(std::string_view key, std::size_t i) const;
  std::size_t count(std::string_view key) const;
  const std::string& where() const { return where_; }

  // The size of a memory: that of the last of a list is null, which has no bound, and no other's.
  double bytes_or_none(bool last) const;

  [[noreturn]] void bad(const std::string& what) const;

 private:
  const Json& json_;
  std::string where_;
  std::string_view writer_;
};

// Throws: BF2132 for text that is no JSON, or has a key twice.
nlohmann::ordered_json parse_profile_json(const std::string& text, const std::string& where,
                                          std::string_view writer = kProfileWriter);

}  // namespace bf_aot

#pragma once

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "tests/support/model_text.h"

// Bad inputs as files: each says in comments what it needs and which messages it must give. A
// comment begins with a mark: "#> " or ";> " for messages, "#! " or ";! " for directives.
namespace bf_aot::test {

struct ErrorCase {
  std::vector<std::vector<std::string>> directives;  // words
  std::string expected;
  std::string source;  // the file without the expected lines
};

inline ErrorCase read_error_case(const std::filesystem::path& path, char comment) {
  const std::string message{comment, '>', ' '}, directive{comment, '!', ' '};
  ErrorCase result;
  std::istringstream lines(read_bytes(path));
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(message)) {
      result.expected += line.substr(3) + "\n";
      continue;
    }
    result.source += line + "\n";
    if (!line.starts_with(directive)) continue;
    std::istringstream words(line.substr(3));
    result.directives.emplace_back();
    for (std::string word; words >> word;) result.directives.back().push_back(word);
  }
  return result;
}

// With BF_UPDATE_GOLDEN=1: writes the case with these messages.
inline bool update_error_case(const std::filesystem::path& path, char comment,
                              const ErrorCase& given, const std::string& actual) {
  if (std::getenv("BF_UPDATE_GOLDEN") == nullptr) return false;
  std::string text = given.source;
  std::istringstream lines(actual);
  for (std::string line; std::getline(lines, line);)
    text += std::string{comment, '>', ' '} + line + "\n";
  write_bytes(path, text);
  return true;
}

// Names, without folder and extension, of a folder's files with this extension.
inline std::vector<std::string> error_case_names(const std::filesystem::path& folder,
                                                 const std::string& extension) {
  std::vector<std::string> names;
  for (const std::filesystem::directory_entry& entry : std::filesystem::directory_iterator(folder))
    if (entry.path().extension() == extension) names.push_back(entry.path().stem().string());
  std::sort(names.begin(), names.end());
  return names;
}

inline std::string from_hex(const std::string& hex) {
  std::string bytes;
  for (std::size_t i = 0; i < hex.size(); i += 2)
    bytes += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
  return bytes;
}

// What the group of a pattern matches in a text.
inline std::set<std::string> find_codes(const std::string& text, const std::string& pattern) {
  const std::regex regex(pattern);
  std::set<std::string> codes;
  for (std::sregex_iterator i(text.begin(), text.end(), regex), end; i != end; ++i)
    codes.insert((*i)[1]);
  return codes;
}

}  // namespace bf_aot::test

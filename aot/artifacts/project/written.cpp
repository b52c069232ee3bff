#include "aot/artifacts/project/written.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <sstream>
#include <string_view>
#include <system_error>

#include "frontend/diagnostic.h"
#include "frontend/graph/model.h"
#include "frontend/read_bytes.h"
#include "frontend/sha256.h"

namespace bf_aot::artifacts {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMostListBytes = std::uint64_t{1} << 20;
constexpr std::uint64_t kMostFileBytes = std::uint64_t{1} << 34;
constexpr std::size_t kDigits = 64;
constexpr std::string_view kSeparator = "  ";  // of digest and name

// Files that are a beginning, which the user goes on with.
constexpr std::string_view kEdited[] = {
    "CMakeLists.txt", "README.md", "board.c",   "board.h",
    "board.ld",       "console.c", "example.c", "example_parallel.cpp",
    "toolchain.cmake"};

using Digests = std::map<std::string, std::string, std::less<>>;

bool is_inside(std::string_view name) {
  const fs::path path(name);
  return !name.empty() && !path.is_absolute() &&
         std::ranges::none_of(path, [](const fs::path& part) { return part == ".."; });
}

Digests read_list(const fs::path& folder) {
  const fs::path path = folder / kWrittenList;
  std::error_code error;
  if (!fs::exists(fs::symlink_status(path, error))) return {};
  const auto refuse = [&](const std::string& message) {
    fail("BF3109", path.string(), message, "remove it, or write into another folder");
  };
  const ReadBytes read = read_bytes(path, kMostListBytes, Sources::kFiles);
  if (!read.problem.empty()) refuse("cannot read the list of written files: " + read.problem);
  Digests digests;
  std::istringstream lines(read.bytes);
  for (std::string line; std::getline(lines, line);) {
    const std::string_view text = line;
    const std::string_view digest = text.substr(0, kDigits);
    if (text.size() <= kDigits + kSeparator.size() ||
        digest.find_first_not_of("0123456789abcdef") != std::string_view::npos ||
        text.substr(kDigits, kSeparator.size()) != kSeparator ||
        !is_inside(text.substr(kDigits + kSeparator.size())))
      refuse("the list of written files is damaged");
    digests.emplace(text.substr(kDigits + kSeparator.size()), digest);
  }
  return digests;
}

// The digest of a file; empty where there is none. What is no file has a digest that no file has.
std::string digest_of(const fs::path& path) {
  std::error_code error;
  if (!fs::exists(fs::symlink_status(path, error))) return {};
  const ReadBytes read = read_bytes(path, kMostFileBytes, Sources::kFiles);
  return read.problem.empty() ? sha256(read.bytes) : "none";
}

// Returns whether the user's file takes sources and flags from verifier.cmake. Those that a version
// before wrote have them in them.
bool follows_target(const fs::path& path) {
  if (path.filename() != "CMakeLists.txt") return true;
  const ReadBytes read = read_bytes(path, kMostListBytes, Sources::kFiles);
  return read.problem.empty() && read.bytes.find("verifier.cmake") != std::string::npos;
}

[[noreturn]] void refuse(const fs::path& folder, const std::vector<std::string>& names,
                         std::string_view why, std::string hint) {
  fail("BF3108", folder.string(),
       fmt::format("{}: {}; nothing is written", why,
                   printable(fmt::format("{}", fmt::join(names, ", ")))),
       std::move(hint));
}

std::string list_text(const Digests& digests) {
  std::string text;
  for (const auto& [name, digest] : digests)
    text += fmt::format("{}{}{}\n", digest, kSeparator, name);
  return text;
}

}  // namespace

Rewrite plan_rewrite(const fs::path& folder, const fs::path& staged,
                     const std::vector<std::string>& names) {
  const Digests before = read_list(folder);
  Digests after;
  Rewrite rewrite;
  std::vector<std::string> refused;
  for (const std::string& name : names) {
    const std::string made = digest_of(staged / name);
    const std::string there = digest_of(folder / name);
    const auto written = before.find(name);
    const bool ours = written != before.end();
    after[name] = made;
    if (there.empty() || there == made || (ours && written->second == there)) {
      rewrite.written.push_back(name);
    } else if (ours && std::ranges::count(kEdited, name) > 0) {
      if (!follows_target(folder / name))
        refuse(folder, {name}, "changed, and does not include verifier.cmake, which has the flags",
               "move it away, and make the changes in the new one");
      (made == written->second ? rewrite.kept : rewrite.behind).push_back(name);
      after[name] = written->second;
    } else {
      refused.push_back(name);
    }
  }
  if (!refused.empty())
    refuse(folder, refused, "not written by bf-aot, or changed since",
           "move them away, or write into another folder");
  for (const auto& [name, digest] : before) {
    if (after.contains(name)) continue;
    const std::string there = digest_of(folder / name);
    if (there == digest)
      rewrite.removed.push_back(name);
    else if (!there.empty())
      rewrite.left.push_back(name);
  }
  rewrite.list = list_text(after);
  return rewrite;
}

void remove_files(const fs::path& folder, const std::vector<std::string>& names) {
  std::error_code ignored;  // it stays, and is in nobody's way
  for (const std::string& name : names) {
    fs::remove(folder / name, ignored);
    for (fs::path parent = fs::path(name).parent_path(); !parent.empty();
         parent = parent.parent_path())
      if (!fs::is_empty(folder / parent, ignored) || !fs::remove(folder / parent, ignored)) break;
  }
}

}  // namespace bf_aot::artifacts

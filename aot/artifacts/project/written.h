#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace bf_aot::artifacts {

// The name of a file in a project that lists what bf-aot wrote there, with digests, as `sha256sum`
// does.
inline constexpr char kWrittenList[] = ".bf-aot.sha256";

// The files of a project's folder that are written, kept and removed when it is written again.
struct Rewrite {
  std::vector<std::string> written;  // to be published
  std::vector<std::string> kept;     // changed by the user: they stay as they are
  std::vector<std::string> behind;  // kept, too, though bf-aot would write another text than before
  std::vector<std::string> removed;  // were written before, unchanged since, and no longer needed
  std::vector<std::string> left;     // no longer needed, but changed by the user
  std::string list;                  // the text of kWrittenList
};

// Compares the files `names`, staged in `staged`, with what lies in `folder`. A file that was
// written before and not changed since is replaced. Where files are made to be edited, the user's
// stay; others that the user has changed, or that bf-aot did not write, are refused, and so is a
// changed CMakeLists.txt that does not name verifier.cmake: it has flags of its own. Throws:
// BF3108; BF3109 when the list cannot be read.
Rewrite plan_rewrite(const std::filesystem::path& folder, const std::filesystem::path& staged,
                     const std::vector<std::string>& names);

// Removes files of a folder, and those of its folders that become empty.
void remove_files(const std::filesystem::path& folder, const std::vector<std::string>& names);

}  // namespace bf_aot::artifacts

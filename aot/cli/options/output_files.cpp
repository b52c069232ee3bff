#include "aot/cli/options/output_files.h"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "aot/system/files.h"
#include "frontend/diagnostic.h"
#include "frontend/graph/model.h"
#include "frontend/read_bytes.h"

namespace bf_aot::cli {
namespace {

namespace fs = std::filesystem;

// Options whose value is a file that is written.
constexpr std::string_view kOutputs[] = {
    "output",     "proof",    "counterexample", "junit", "sarif", "report",     "trace",
    "sbom",       "dot",      "html",           "csv",   "curve", "obligation", "results",
    "checkpoint", "save-part"};

// Values of these types name files that are read.
constexpr std::string_view kReadTypes[] = {"FILE", "PATH", "MODEL"};

struct Named {
  std::string option;
  fs::path path;
};

bool is_output(const CommandLine& app, const Option& option) {
  const std::vector<std::string> names = option.get_lnames();
  if (names.empty()) return false;
  const bool tunes = app.get_name() == "bf-aot tune" && names.front() == "tuning-log";
  const bool table = app.get_name() == "bf-aot certify" && names.front() == "counterexamples";
  return tunes || table || std::ranges::find(kOutputs, names.front()) != std::end(kOutputs);
}

bool is_read(const Option& option) {
  const std::string type = option.get_type_name();
  return std::ranges::any_of(
      kReadTypes, [&](std::string_view each) { return type.find(each) != std::string::npos; });
}

// A source's header, manifest and library lie beside it; a curve's drawing beside its table.
std::vector<fs::path> written_for(const Option& option, const fs::path& path) {
  std::vector<fs::path> all = {path};
  const std::string stem = path.stem().string();
  if (path.extension() == ".cpp")
    for (const std::string& name : {stem + ".h", stem + ".json", "lib" + stem + ".a"})
      all.push_back(path.parent_path() / name);
  if (option.get_lnames().front() == "curve")
    all.push_back(fs::path(path).replace_extension(".svg"));
  return all;
}

// Device and inode of a regular file; of none, where it would be made.
struct Identity {
  std::pair<dev_t, ino_t> file{};
  fs::path path;  // empty: the file is there

  auto operator<=>(const Identity&) const = default;
};

// Nothing, where bytes are written in place: such outputs may meet.
std::optional<Identity> identity_of(const fs::path& path) {
  struct stat status = {};
  if (stat(path.c_str(), &status) == 0) {
    if (!S_ISREG(status.st_mode)) return std::nullopt;
    return Identity{{status.st_dev, status.st_ino}, {}};
  }
  std::error_code error;
  const fs::path there = fs::weakly_canonical(fs::absolute(system::behind_links(path)), error);
  return Identity{{}, error ? fs::absolute(path) : there};
}

// Files that a word may name: "FILE", "-" and "NAME=FILE".
std::vector<fs::path> read_for(const std::string& word) {
  std::vector<fs::path> all = {source_path(word)};
  if (const std::size_t equals = word.find('='); equals != std::string::npos)
    all.emplace_back(word.substr(equals + 1));
  return all;
}

}  // namespace

void expect_apart(const CommandLine& app) {
  std::vector<std::pair<Identity, Named>> outputs, inputs;
  for (const Option* const option : app.get_options())
    for (const std::string& word :
         option->count() > 0 ? option->results() : std::vector<std::string>{}) {
      if (is_output(app, *option)) {
        for (const fs::path& path : written_for(*option, word))
          if (const auto found = identity_of(path))
            outputs.push_back({*found, {option->get_name(), path}});
      } else if (is_read(*option)) {
        for (const fs::path& path : read_for(word))
          if (const auto found = identity_of(path); found && found->path.empty())
            inputs.push_back({*found, {option->get_name(), path}});
      }
    }
  for (auto output = outputs.begin(); output != outputs.end(); ++output) {
    const auto meets = [&](const auto& other) { return other.first == output->first; };
    auto other = std::find_if(inputs.begin(), inputs.end(), meets);
    const bool reads = other != inputs.end();
    if (!reads) other = std::find_if(outputs.begin(), output, meets);
    if (other == output || (!reads && other == outputs.end())) continue;
    fail("BF3111", printable(output->second.path.string()),
         output->second.option +
             (reads ? " would overwrite what is read as " : " writes the same file as ") +
             other->second.option,
         "name another file");
  }
}

}  // namespace bf_aot::cli

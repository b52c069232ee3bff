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

#include "aot/build/options/language.h"
#include "aot/system/files.h"
#include "frontend/diagnostic.h"
#include "frontend/external_files.h"
#include "frontend/graph/model.h"
#include "frontend/read_bytes.h"

namespace bf_aot::cli {
namespace {

namespace fs = std::filesystem;

// Values of these types name files that are read.
constexpr std::string_view kReadTypes[] = {"FILE", "PATH", "MODEL"};

struct Named {
  std::string option;
  fs::path path;
};

bool is_read(const Option& option) {
  const std::string type = option.get_type_name();
  return std::ranges::any_of(
      kReadTypes, [&](std::string_view each) { return type.find(each) != std::string::npos; });
}

// A source's header, manifest and library lie beside it in every language; what else does is known
// when it was made. A curve's drawing lies beside its table.
std::vector<fs::path> written_for(const Option& option, const fs::path& path) {
  std::vector<fs::path> all = {path};
  const std::string stem = path.stem().string();
  if (build::language_of(path))
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

// Holds the files that a command writes and those that it reads, with the names of the options.
class Files {
 public:
  explicit Files(const CommandLine& app) {
    for (const Option* const option : app.get_options())
      for (const std::string& word :
           option->count() > 0 && option->is_written() ? option->results() : kNone)
        for (const fs::path& path : written_for(*option, word))
          if (const auto found = identity_of(path))
            outputs_.push_back({*found, {option->get_name(), path}});
  }

  void add_output(const std::string& what, const fs::path& path) {
    const auto found = identity_of(path);
    if (!found) return;
    const auto is_same = [&](const auto& other) {
      return other.first == *found && other.second.option == what;
    };
    if (std::ranges::none_of(outputs_, is_same)) outputs_.push_back({*found, {what, path}});
  }

  void add_input(const std::string& what, const fs::path& path) {
    const auto found = identity_of(path);
    if (fs::is_directory(path)) add_samples(what, path);
    if (!found || !found->path.empty()) return;
    inputs_.push_back({*found, {what, path}});
    if (path.filename().string().find(".onnx") == std::string::npos || !is_above_output(path))
      return;
    for (const fs::path& data : external_files(path))
      if (const auto there = identity_of(data); there && there->path.empty())
        inputs_.push_back({*there, {what, data}});
  }

  // Throws: BF3111.
  void expect_apart() const {
    for (auto output = outputs_.begin(); output != outputs_.end(); ++output) {
      const auto meets = [&](const auto& other) { return other.first == output->first; };
      auto other = std::find_if(inputs_.begin(), inputs_.end(), meets);
      const bool reads = other != inputs_.end();
      if (!reads) other = std::find_if(outputs_.begin(), output, meets);
      if (other == output || (!reads && other == outputs_.end())) continue;
      fail("BF3111", printable(output->second.path.string()),
           output->second.option +
               (reads ? " would overwrite what is read as " : " writes the same file as ") +
               other->second.option,
           "name another file");
    }
  }

 private:
  // The folder of an output that is there already, resolved; empty: it is not.
  static fs::path folder_of(const std::pair<Identity, Named>& output) {
    std::error_code error;
    if (!output.first.path.empty()) return {};
    return fs::canonical(system::behind_links(output.second.path), error).parent_path();
  }

  // Whether an output that is there already lies in the model's folder or below it, where alone
  // tensors may be.
  bool is_above_output(const fs::path& model) const {
    std::error_code error;
    const std::string folder = fs::canonical(model, error).parent_path().string() + "/";
    return std::ranges::any_of(outputs_, [&](const auto& output) {
      return (folder_of(output).string() + "/").starts_with(folder);
    });
  }

  // Outputs in a folder of samples, or in one of its classes, are samples, unless they are tables.
  void add_samples(const std::string& what, const fs::path& folder) {
    std::error_code error;
    const fs::path whole = fs::canonical(folder, error);
    for (const auto& output : outputs_) {
      const fs::path there = folder_of(output), kind = output.second.path.extension();
      if (there.empty() || kind == ".csv" || kind == ".txt") continue;
      if (there == whole || there.parent_path() == whole)
        inputs_.push_back({output.first, {what, output.second.path}});
    }
  }

  inline static const std::vector<std::string> kNone;
  std::vector<std::pair<Identity, Named>> outputs_, inputs_;
};

}  // namespace

void expect_apart(const CommandLine& app) {
  expect_apart(app, "", std::vector<fs::path>());
}

void expect_apart(const CommandLine& app, const std::string& what,
                  const std::vector<fs::path>& written) {
  Files files(app);
  for (const fs::path& path : written) files.add_output(what, path);
  for (const Option* const option : app.get_options())
    if (option->count() > 0 && !option->is_written() && is_read(*option))
      for (const std::string& word : option->results())
        for (const fs::path& path : read_for(word)) files.add_input(option->get_name(), path);
  files.expect_apart();
}

void expect_apart(const CommandLine& app, const std::string& what,
                  const std::set<fs::path>& inputs) {
  Files files(app);
  for (const fs::path& path : inputs) files.add_input(what, path);
  files.expect_apart();
}

}  // namespace bf_aot::cli

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>

#include "aot/cli/options/command_line.h"
#include "aot/cli/options/config_file.h"
#include "aot/decide/parts/tree_file.h"
#include "aot/input/json_io.h"
#include "frontend/diagnostic.h"
#include "tests/fuzz/fuzz_json.h"
#include "tests/support/model_text.h"

namespace bf_aot::test {
namespace {

void check_box(const input::BoxFile& file) {
  const Box& box = file.box;
  BF_CHECK(box.lower.size() == box.upper.size());
  for (std::size_t i = 0; i < box.lower.size(); ++i) {
    BF_CHECK(std::isfinite(box.lower[i]) && std::isfinite(box.upper[i]));
    BF_CHECK(box.lower[i] <= box.upper[i]);
  }
  const input::FloatBox rounded = input::round_outward(file, static_cast<int>(box.lower.size()));
  for (std::size_t i = 0; i < box.lower.size(); ++i) {
    BF_CHECK(std::isfinite(rounded.lower[i]) && double{rounded.lower[i]} <= box.lower[i]);
    BF_CHECK(std::isfinite(rounded.upper[i]) && double{rounded.upper[i]} >= box.upper[i]);
  }
}

void read_options(const std::filesystem::path& path) {
  cli::CommandLine app;
  std::string config, method;
  int tile = 0;
  std::vector<std::string> passes;
  cli::add_config_option(app, config);
  app.add_option("--method", method, "")->group(cli::kPlannerGroup);
  app.add_option("--row-tile", tile, "")->group(cli::kPlannerGroup);
  app.add_option("--disable-pass", passes, "")->group(cli::kPlannerGroup);
  const std::string given = path.string();
  app.parse({"bf-aot", "--config", given.c_str()});
  cli::apply_config(app);
}

void check_tree(const decide::TreeFile& file, const std::string& name) {
  BF_CHECK(file.part.count > 1 || decide::tree::is_whole(file.state));
  const std::string text = decide::to_text(file);
  BF_CHECK(decide::to_text(decide::parse_tree_file(text, name)) == text);
  const decide::tree::TreeState joined = decide::join_parts({{name, file}});
  BF_CHECK(joined.open.size() == file.state.open.size());
}

// Whether the reader accepted the file.
template <typename Read>
bool accepts(const Read& read) {
  try {
    read();
    return true;
  } catch (const CompileError& error) {
    for (const Diagnostic& diagnostic : error.diagnostics()) {
      BF_CHECK(diagnostic.code.starts_with("BF30") || diagnostic.code == "BF3307");
      BF_CHECK(!diagnostic.message.empty());
    }
    return false;
  }
}

}  // namespace

bool try_json(std::string_view text) {
  static const TempFolder folder;
  const std::filesystem::path path = folder.path() / "fuzz.json";
  write_bytes(path, text);
  const bool boxes = accepts([&] {
    for (const input::BoxFile& box : input::read_boxes(path)) check_box(box);
  });
  const bool spec = accepts([&] {
    const LinearSpec made = input::read_spec(path);
    BF_CHECK(!made.rows.empty());
    for (const auto& row : made.rows) BF_CHECK(row.size() == made.rows.front().size());
  });
  const bool golden = accepts([&] { input::read_golden(path, 2, 2); });
  const bool options = accepts([&] { read_options(path); });
  const bool trees = accepts([&] { check_tree(decide::read_tree_file(path), "tree"); });
  return boxes || spec || golden || options || trees;
}

}  // namespace bf_aot::test

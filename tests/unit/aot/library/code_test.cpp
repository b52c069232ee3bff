// compile(), compile_to_files() and report().
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "aot/library/bf_aot.h"
#include "tests/paths.h"

namespace bf_aot::api {
namespace {

namespace fs = std::filesystem;

constexpr char kOpen[] =
    "(declare-const X_0 Real)(declare-const X_1 Real)(declare-const Y_0 Real)(declare-const Y_1 "
    "Real)(assert (<= 0 X_0 1))(assert (<= 0 X_1 1))(assert (<= Y_0 -4))";

Model load(const std::string& name) {
  auto model = Model::load(BF_SOURCE_DIR "/models/" + name);
  if (!model) throw std::runtime_error(model.error().text());
  return *model;
}

std::string read(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

CodeOptions for_board() {
  CodeOptions options;
  options.plan.method = Method::kIbp;
  options.target = "cortex-m4";
  return options;
}

std::string code_of(const CodeOptions& options, const Specification& specification = {},
                    const std::string& stem = "monitor") {
  const auto result = compile(load("tiny.onnx"), stem, options, specification);
  return result ? "" : result.error().code + " " + result.error().where;
}

TEST(LibraryCode, files_are_named_after_the_source) {
  const auto files = compile(load("tiny.onnx"), "monitor", for_board());
  ASSERT_TRUE(files.ok());
  std::vector<std::string> names;
  for (const File& file : *files) names.push_back(file.name);
  EXPECT_EQ(names, (std::vector<std::string>{"monitor.cpp", "monitor.h", "monitor.json"}));
  EXPECT_NE((*files)[0].bytes.find("tiny_bounds("), std::string::npos);
  EXPECT_NE((*files)[2].bytes.find("\"cortex-m4\""), std::string::npos);
}

TEST(LibraryCode, options_reach_the_code) {
  CodeOptions options = for_board();
  options.name = "mine";
  options.plan.batch = 4;
  options.property = kOpen;
  options.decide = true;
  options.plan.method = Method::kCrown;
  const auto files = compile(load("tiny.onnx"), "a", options);
  ASSERT_TRUE(files.ok()) << files.error().text();
  const std::string& header = (*files)[1].bytes;
  for (const char* function : {"mine_bounds_batch(", "mine_verify(", "mine_decide("})
    EXPECT_NE(header.find(function), std::string::npos) << function;
}

TEST(LibraryCode, a_single_file_includes_nothing_of_ours) {
  CodeOptions options = for_board();
  options.single_file = true;
  const auto files = compile(load("tiny.onnx"), "monitor", options);
  ASSERT_TRUE(files.ok());
  EXPECT_EQ((*files)[0].bytes.find("#include \"bf/"), std::string::npos);
}

TEST(LibraryCode, errors) {
  CodeOptions options = for_board();
  EXPECT_EQ(code_of(options, {}, "../monitor"), "BF3501 source");
  EXPECT_EQ(code_of(options, {}, ""), "BF3501 source");
  options.name = "Not-C";
  EXPECT_EQ(code_of(options), "BF3302 name");
  options = for_board();
  options.target = "abacus";
  EXPECT_EQ(code_of(options).substr(0, 6), "BF2101");
  options = for_board();
  options.property = kOpen;
  EXPECT_EQ(code_of(options, {{1, -1}, {}}), "BF3501 property");
  options.property_file = "x.vnnlib";
  EXPECT_EQ(code_of(options), "BF3501 property");
  options.property.clear();
  EXPECT_EQ(code_of(options).substr(0, 2), "BF");
  options = for_board();
  options.property = "(assert";
  EXPECT_EQ(code_of(options).substr(0, 4), "BF34");
}

std::vector<std::string> names_of(const Result<std::vector<File>>& files) {
  std::vector<std::string> names;
  if (files.ok())
    for (const File& file : *files) names.push_back(file.name);
  return names;
}

TEST(LibraryCode, code_for_devices_is_that_of_the_program) {
  const Model model = load("tiny.onnx");
  for (const auto& [target, suffix] : {std::pair{"opencl", ".cl"}, {"cuda", ".cu"}})
    for (const std::optional<int> items : {std::optional<int>(), {1}, {48}}) {
      SCOPED_TRACE(target);
      CodeOptions options;
      options.target = target;
      options.items = items;
      const auto files = compile(model, "a", options);
      ASSERT_TRUE(files.ok()) << files.error().text();
      EXPECT_EQ(names_of(files).front(), std::string("a") + suffix);
      const std::string words = "#define BF_ITEMS " + std::to_string(items.value_or(64)) + "\n";
      EXPECT_NE(files->front().bytes.find(words), std::string::npos);
    }
}

TEST(LibraryCode, targets_and_names_say_the_same_device) {
  const fs::path folder =
      fs::path(testing::TempDir()) / ("library_devices_" + std::to_string(::getpid()));
  fs::create_directories(folder);
  const Model model = load("tiny.onnx");
  const auto written = [&](const char* name, const char* target, std::optional<int> items = {},
                           bool library = false) {
    CodeOptions options;
    options.target = target;
    options.items = items;
    options.library = library;
    const auto paths = compile_to_files(model, folder / name, options);
    EXPECT_EQ(paths.ok(), fs::exists(folder / name)) << name;
    return paths.ok() ? "" : paths.error().code + " " + paths.error().where;
  };
  EXPECT_EQ(written("a.cpp", "opencl"), "BF3112 --target opencl");
  EXPECT_EQ(written("b.c", "cuda"), "BF3112 --target cuda");
  EXPECT_EQ(written("c.cl", "cortex-m4"), "BF3112 --target cortex-m4");
  EXPECT_EQ(written("d.cu", "opencl"), "BF3112 --target opencl");
  EXPECT_EQ(written("e.cpp", "host", 1), "BF3112 --items 1");
  EXPECT_EQ(written("f.cl", "host", 0), "BF3501 items");
  EXPECT_EQ(written("g.cu", "host", 1025), "BF3501 items");
  EXPECT_EQ(written("h.cu", "cuda", {}, true), "BF3112 library");
  EXPECT_EQ(written("i.cl", "host", 1, true), "");
  EXPECT_TRUE(fs::exists(folder / "libi.a"));
  EXPECT_NE(read(folder / "i.cl").find("#define BF_ITEMS 1\n"), std::string::npos);
  EXPECT_NE(read(folder / "i.json").find("\"opencl\""), std::string::npos);
  EXPECT_EQ(written("j.cu", "cuda"), "");
  CodeOptions options;
  options.plan.more["device"] = "opencl";
  EXPECT_EQ(compile(model, "a", options).error().code, "BF3501");
  fs::remove_all(folder);
}

TEST(LibraryCode, levels_of_x86_are_dispatched) {
  CodeOptions options;
  options.target = "x86-64-v3";
  options.dispatch = true;
  const auto files = compile(load("tiny.onnx"), "a", options);
  ASSERT_TRUE(files.ok()) << files.error().text();
  std::vector<std::string> names;
  for (const File& file : *files) names.push_back(file.name);
  for (const char* const name : {"a.cpp", "a.h", "a_x86_64.cpp", "a_x86_64_v3.cpp"})
    EXPECT_EQ(std::ranges::count(names, name), 1) << name;
  options.single_file = true;
  EXPECT_EQ(code_of(options), "BF3501 dispatch");
  options = for_board();
  options.dispatch = true;
  EXPECT_EQ(code_of(options), "BF3104 dispatch");
}

TEST(LibraryCode, files_are_written_with_a_library_where_asked_for) {
  // Of this process: the same test runs for other instruction sets at the same time.
  const fs::path folder =
      fs::path(testing::TempDir()) / ("library_code_" + std::to_string(::getpid()));
  fs::create_directories(folder);
  const Model model = load("tiny.onnx");
  CodeOptions options;
  options.target = "generic";
  const auto paths = compile_to_files(model, folder / "a.cpp", options);
  ASSERT_TRUE(paths.ok()) << paths.error().text();
  EXPECT_EQ(*paths, (std::vector<fs::path>{folder / "a.cpp", folder / "a.h", folder / "a.json"}));
  const auto files = compile(model, "a", options);
  for (const File& file : *files) EXPECT_EQ(read(folder / file.name), file.bytes) << file.name;

  options.library = true;
  const auto with_library = compile_to_files(model, folder / "b.cpp", options);
  ASSERT_TRUE(with_library.ok()) << with_library.error().text();
  EXPECT_TRUE(std::ranges::count(*with_library, folder / "libb.a") == 1);
  EXPECT_TRUE(fs::exists(folder / "libb.a"));

  options.target = "x86-64-v4";
  options.dispatch = true;
  const auto dispatched = compile_to_files(model, folder / "d.cpp", options);
  ASSERT_TRUE(dispatched.ok()) << dispatched.error().text();
  EXPECT_TRUE(fs::exists(folder / "libd.a"));

  options.cxx = "no-such-compiler";
  const auto refused = compile_to_files(model, folder / "c.cpp", options);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, "BF3202");
  EXPECT_FALSE(fs::exists(folder / "c.cpp"));
  EXPECT_EQ(compile_to_files(model, folder / "c.cc").error().code, "BF3501");
  EXPECT_EQ(compile_to_files(model, folder / "none" / "c.cpp").error().code, "BF3101");
  fs::remove_all(folder);
}

// The model's file stays as it is, under each name that one of the verifier's files has.
TEST(LibraryCode, keeps_the_file_of_its_model) {
  const fs::path folder = fs::path(testing::TempDir()) / "bf_aot_library_keeps";
  fs::remove_all(folder);
  fs::create_directories(folder);
  const fs::path tiny = fs::path(BF_SOURCE_DIR) / "models" / "tiny.onnx";
  for (const char* name : {"net.c", "net.h", "net.json"}) {
    fs::copy_file(tiny, folder / name);
    const Model model = Model::load(folder / name).value();
    EXPECT_EQ(compile_to_files(model, folder / "net.c").error().code, "BF3111") << name;
    EXPECT_EQ(fs::file_size(folder / name), fs::file_size(tiny)) << name;
    fs::remove(folder / name);
    EXPECT_TRUE(fs::is_empty(folder)) << name;
  }
  fs::remove_all(folder);
}

TEST(LibraryReport, a_page_names_layers_and_options) {
  const Model model = load("tiny.onnx");
  Options options;
  options.method = Method::kAlphaCrown;
  options.iterations = 7;
  const double lower[] = {-1, -1}, upper[] = {1, 1};
  const auto page = report(model, options, {}, lower, upper);
  ASSERT_TRUE(page.ok()) << page.error().text();
  EXPECT_TRUE(page->starts_with("<!doctype html>")) << page->substr(0, 40);
  for (const char* text : {"alpha-crown", "iterations", "</html>"})
    EXPECT_NE(page->find(text), std::string::npos) << text;
  EXPECT_NE(*page, *report(model, options));  // without boxes there are no bounds
}

TEST(LibraryReport, wrong_boxes) {
  const Model model = load("tiny.onnx");
  const double one[] = {0}, lower[] = {1, 0}, upper[] = {0, 0};
  EXPECT_EQ(report(model, {}, {}, one, one).error().code, "BF3502");
  EXPECT_EQ(report(model, {}, {}, lower, upper).error().where, "box 0, input 0");
}

}  // namespace
}  // namespace bf_aot::api

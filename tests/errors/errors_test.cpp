// One bad model per file: X.textproto is encoded, imported, and must fail with the messages in its
// "#> " lines. "#! " lines say what else the case needs:
//   #! missing            no file is made
//   #! bytes HEX          the file's bytes, instead of the text below
//   #! size N             a file of N zero bytes (sparse)
//   #! data NAME N        a file of N zero bytes beside the model
//   #! tokens NAME SET..  the ids that may stand at each position of an input: "3,5", "-" for none
// BF_UPDATE_GOLDEN=1 rewrites the expected lines.

#include <gtest/gtest.h>

#include <filesystem>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "frontend/diagnostic.h"
#include "frontend/import/file/importer.h"
#include "tests/paths.h"
#include "tests/support/error_cases.h"
#include "tests/support/model_text.h"

namespace bf_aot {
namespace {

namespace fs = std::filesystem;

const fs::path kFolder = BF_SOURCE_DIR "/tests/errors";

void make_sparse(const fs::path& path, std::uint64_t size) {
  test::write_bytes(path, "");
  fs::resize_file(path, size);
}

void make_files(const test::ErrorCase& test_case, const fs::path& model) {
  bool needs_model = true;
  for (const std::vector<std::string>& words : test_case.directives) {
    if (words[0] == "data") {
      make_sparse(model.parent_path() / words.at(1), std::stoull(words.at(2)));
      continue;
    }
    if (words[0] == "tokens") continue;
    needs_model = false;
    if (words[0] == "bytes")
      test::write_bytes(model, words.size() > 1 ? test::from_hex(words[1]) : "");
    else if (words[0] == "size")
      make_sparse(model, std::stoull(words.at(1)));
    else
      ASSERT_EQ(words[0], "missing");
  }
  if (needs_model) test::write_bytes(model, test::encode_model(test_case.source));
}

ModelCut cut_of(const test::ErrorCase& test_case) {
  ModelCut cut;
  for (const std::vector<std::string>& words : test_case.directives) {
    if (words[0] != "tokens") continue;
    TokenInput& input = cut.tokens[words.at(1)];
    for (std::size_t i = 2; i < words.size(); ++i) {
      std::vector<std::int64_t>& set = input.sets.emplace_back();
      std::istringstream ids(words[i] == "-" ? "" : words[i]);
      for (std::string id; std::getline(ids, id, ',');) set.push_back(std::stoll(id));
    }
  }
  return cut;
}

class Errors : public testing::TestWithParam<std::string> {};

TEST_P(Errors, reports_exactly) {
  const fs::path path = kFolder / (GetParam() + ".textproto");
  const test::ErrorCase test_case = test::read_error_case(path, '#');
  const test::TempFolder folder;
  const fs::path model = folder.path() / "model.onnx";
  make_files(test_case, model);
  std::string actual;
  try {
    import_model(model, {}, {}, cut_of(test_case));
  } catch (const CompileError& error) {
    actual = error.what();
  }
  ASSERT_NE(actual, "") << "the model was accepted";
  if (test::update_error_case(path, '#', test_case, actual)) return;
  EXPECT_EQ(actual, test_case.expected);
}

INSTANTIATE_TEST_SUITE_P(All, Errors,
                         testing::ValuesIn(test::error_case_names(kFolder, ".textproto")),
                         [](const auto& instance) { return instance.param; });

std::set<std::string> documented_codes() {
  return test::find_codes(test::read_bytes(BF_SOURCE_DIR "/docs/reference/diagnostics.md"),
                          "\\| (BF10\\d\\d) \\|");
}

TEST(ErrorCodes, each_has_a_bad_model) {
  std::string expected;
  for (const std::string& name : test::error_case_names(kFolder, ".textproto"))
    expected += test::read_error_case(kFolder / (name + ".textproto"), '#').expected;
  EXPECT_EQ(test::find_codes(expected, "error (BF10\\d\\d):"), documented_codes());
}

TEST(ErrorCodes, each_in_the_source_is_documented) {
  std::string source;
  for (const fs::directory_entry& entry :
       fs::recursive_directory_iterator(BF_SOURCE_DIR "/frontend"))
    if (entry.path().extension() == ".cpp") source += test::read_bytes(entry.path());
  EXPECT_EQ(test::find_codes(source, "\"(BF10\\d\\d)\""), documented_codes());
}

}  // namespace
}  // namespace bf_aot

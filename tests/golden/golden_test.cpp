// Runs every *.textproto of this folder: an ONNX model as protobuf text, headed by
//   #> run: --dump-after=PASS [--spec "1,-1;0,1"] [--offset "1;2"] [--disable-pass=PASS]...
// and ended by the expected dump, or diagnostics, in lines that begin with "#>".

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iomanip>
#include <iterator>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "frontend/diagnostic.h"
#include "frontend/import/file/importer.h"
#include "frontend/passes/pipeline.h"
#include "tests/paths.h"

namespace bf_aot {
namespace {

namespace fs = std::filesystem;

const std::string kMark = "#>";

std::string read_file(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void write_file(const fs::path& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

// A golden file's parts.
struct Golden {
  std::string options;   // after "run:"
  std::string model;     // with all comments
  std::string expected;  // without marks
};

Golden parse(const std::string& text) {
  Golden golden;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    const std::string run = kMark + " run:";
    if (line.starts_with(run)) {
      golden.options = line.substr(run.size());
    } else if (line.starts_with(kMark)) {
      golden.expected += line.size() > 3 ? line.substr(3) + "\n" : "\n";
    } else {
      golden.model += line + "\n";
    }
  }
  return golden;
}

std::string print(const Golden& golden) {
  std::string text = kMark + " run:" + golden.options + "\n" + golden.model;
  std::istringstream in(golden.expected);
  for (std::string line; std::getline(in, line);)
    text += line.empty() ? kMark + "\n" : kMark + " " + line + "\n";
  return text;
}

// The model in ONNX's binary format.
std::string encode(const std::string& text) {
  std::string folder = (fs::temp_directory_path() / "bf_golden_XXXXXX").string();
  if (mkdtemp(folder.data()) == nullptr) throw std::runtime_error("no temporary folder");
  const fs::path in = fs::path(folder) / "in";
  const fs::path out = fs::path(folder) / "out";
  write_file(in, text);
  const std::string command =
      std::string("'") + BF_PROTOC + "' --encode=bf_aot.onnx.ModelProto -I '" + BF_SOURCE_DIR +
      "/onnx_schema' bf_aot_onnx.proto <'" + in.string() + "' >'" + out.string() + "'";
  const int status = std::system(command.c_str());
  std::string bytes = read_file(out);
  fs::remove_all(folder);
  if (status != 0) throw std::runtime_error("protoc refuses the model");
  return bytes;
}

// "1,-1;0,1": rows of numbers.
std::vector<std::vector<double>> parse_rows(const std::string& text) {
  std::vector<std::vector<double>> rows;
  std::istringstream in(text);
  for (std::string row; std::getline(in, row, ';');) {
    rows.emplace_back();
    std::istringstream numbers(row);
    for (std::string number; std::getline(numbers, number, ',');)
      rows.back().push_back(std::stod(number));
  }
  return rows;
}

struct Run {
  std::string dump_after;
  std::string spec;
  std::string offset;
  std::vector<std::string> disabled;
};

Run parse_options(const std::string& text) {
  Run run;
  std::istringstream in(text);
  for (std::string option; in >> std::quoted(option);) {
    const std::size_t equals = option.find('=');
    const std::string name = option.substr(0, equals);
    std::string value;
    if (equals == std::string::npos) {
      in >> std::quoted(value);
    } else {
      value = option.substr(equals + 1);
    }
    if (name == "--dump-after") {
      run.dump_after = value;
    } else if (name == "--spec") {
      run.spec = value;
    } else if (name == "--offset") {
      run.offset = value;
    } else if (name == "--disable-pass") {
      run.disabled.push_back(value);
    } else {
      ADD_FAILURE() << "unknown option " << name;
    }
  }
  return run;
}

// What the options ask for; the diagnostics follow the dumps when normalisation fails.
std::string run_passes(const Golden& golden) {
  const Run run = parse_options(golden.options);
  std::ostringstream out;
  try {
    LinearSpec spec;
    spec.rows = parse_rows(run.spec);
    for (const std::vector<double>& row : parse_rows(run.offset)) spec.offset.push_back(row.at(0));
    PassOptions options;
    options.disabled = run.disabled;
    if (!run.spec.empty()) options.spec = &spec;
    if (!run.dump_after.empty()) options.after_pass = dump_after(run.dump_after, out);
    ImportedModel model = import_model_bytes(encode(golden.model), "model.onnx", {});
    normalise(model.graph, options);
  } catch (const CompileError& error) {
    out << error.what();
  }
  return out.str();
}

class GoldenDump : public ::testing::TestWithParam<std::string> {};

TEST_P(GoldenDump, Matches) {
  const fs::path path = fs::path(BF_SOURCE_DIR "/tests/golden") / (GetParam() + ".textproto");
  Golden golden = parse(read_file(path));
  ASSERT_FALSE(golden.options.empty()) << "no line '" << kMark << " run:'";
  const std::string actual = run_passes(golden);
  if (std::getenv("BF_UPDATE_GOLDEN") != nullptr) {
    golden.expected = actual;
    write_file(path, print(golden));
  }
  EXPECT_FALSE(golden.expected.empty()) << "run with BF_UPDATE_GOLDEN=1 to write it";
  EXPECT_EQ(golden.expected, actual);
}

std::vector<std::string> golden_names() {
  std::vector<std::string> names;
  for (const fs::directory_entry& entry : fs::directory_iterator(BF_SOURCE_DIR "/tests/golden"))
    if (entry.path().extension() == ".textproto") names.push_back(entry.path().stem().string());
  std::sort(names.begin(), names.end());
  return names;
}

INSTANTIATE_TEST_SUITE_P(Files, GoldenDump, ::testing::ValuesIn(golden_names()),
                         [](const auto& parameter) { return parameter.param; });

TEST(GoldenFiles, AreThere) {
  EXPECT_GE(golden_names().size(), 10U);
}

}  // namespace
}  // namespace bf_aot

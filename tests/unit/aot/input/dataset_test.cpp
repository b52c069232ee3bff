#include "aot/input/dataset.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "aot/input/array.h"
#include "aot/input/picture.h"
#include "aot/system/files.h"
#include "frontend/diagnostic.h"
#include "tests/support/model_text.h"

namespace bf_aot::input {
namespace {

namespace fs = std::filesystem;

class DatasetTest : public testing::Test {
 protected:
  std::string path(const std::string& name) const { return (folder_ / name).string(); }

  std::string write(const std::string& name, const std::string& bytes) const {
    fs::create_directories((folder_ / name).parent_path());
    system::write_file(path(name), bytes);
    return path(name);
  }

  std::string write_array(const std::string& name, std::vector<std::int64_t> shape,
                          std::vector<double> values) const {
    Array array;
    array.shape = std::move(shape);
    array.values = std::move(values);
    return write(name, npy_bytes(array));
  }

  std::string write_picture(const std::string& name, std::uint32_t channels,
                            std::uint8_t first) const {
    Picture picture{2, 2, channels, {}};
    for (std::uint32_t i = 0; i < 4 * channels; ++i)
      picture.values.push_back(static_cast<std::uint8_t>(first + i));
    return write(name, png_bytes(picture));
  }

  static std::string problem(const DataFiles& files) {
    try {
      (void)read_dataset(files);
    } catch (const CompileError& error) {
      return error.diagnostics().front().code + ": " + error.diagnostics().front().message;
    }
    return "";
  }

  const test::TempFolder temporary_;
  const fs::path& folder_ = temporary_.path();
};

DataFiles files(const std::string& data, const std::string& labels = {}) {
  DataFiles result;
  result.data = data;
  result.labels = labels;
  return result;
}

// As keras.datasets names them.
TEST_F(DatasetTest, ChoosesArraysByTheirNames) {
  const auto array = [](const std::string& name, double value) {
    Array made;
    made.name = name;
    made.shape = {1};
    made.values = {value};
    return made;
  };
  const auto save = [&](std::initializer_list<const char*> names) {
    std::vector<Array> arrays;
    for (const char* const name : names)
      arrays.push_back(array(name, static_cast<double>(arrays.size())));
    write_npz(path("d.npz"), arrays);
    return files(path("d.npz"));
  };
  const auto chosen = [](const DataFiles& of) {
    const Dataset data = read_dataset(of);
    return std::pair(data.values[0], data.labels.empty() ? -1 : data.labels[0]);
  };
  using P = std::pair<double, double>;
  const DataFiles keras = save({"x_train", "y_train", "x_test", "y_test"});
  EXPECT_EQ(chosen(keras), P(2, 3));
  DataFiles train = keras;
  train.sample_name = "x_train";
  EXPECT_EQ(chosen(train), P(0, 1));
  train.label_name = "y_test";
  EXPECT_EQ(chosen(train), P(0, 3));
  EXPECT_EQ(chosen(save({"x_train", "y_train"})), P(0, 1));
  EXPECT_EQ(chosen(save({"X_test", "y_test", "y_train"})), P(0, 1));
  EXPECT_EQ(chosen(save({"x_test", "labels"})), P(0, 1));
  EXPECT_EQ(chosen(save({"x_test", "y_test", "x", "y"})), P(2, 3));
  EXPECT_EQ(chosen(save({"anything"})), P(0, -1));
  DataFiles none = keras;
  none.sample_name = "x_valid";
  EXPECT_EQ(problem(none).substr(0, 6), "BF3016");
  EXPECT_EQ(problem(save({"a", "b"})).substr(0, 6), "BF3016");
  none = files(write("x.csv", "1,2\n"));
  none.sample_name = "x";
  EXPECT_EQ(problem(none), "BF3016: arrays are named in .npz files alone");
}

TEST_F(DatasetTest, RefusesDataWithoutSamples) {
  EXPECT_EQ(problem(files(write_array("x.npy", {0, 4}, {}))), "BF3016: there are no samples");
  EXPECT_EQ(problem(files(write("x.csv", "a,b\n"))), "BF3015: the file has no rows");
}

TEST_F(DatasetTest, ReadsRowsWithALabel) {
  const Dataset data = read_dataset(files(write("x.csv", "a,label,b\n1,2,3\n4,5,6\n")));
  EXPECT_EQ(data.values, (std::vector<double>{1, 3, 4, 6}));
  EXPECT_EQ(data.labels, (std::vector<double>{2, 5}));
  EXPECT_EQ(data.shape, (std::vector<std::int64_t>{2}));
  EXPECT_EQ(data.names, (std::vector<std::string>{"0", "1"}));
}

TEST_F(DatasetTest, ReadsBoxesOfColumns) {
  DataFiles of = files(write("x.csv", "lo_a,lo_b,hi_a,hi_b,y\n1,2,3,4,0\n"));
  of.lower_name = "lo_";
  of.upper_name = "hi_";
  const Dataset data = read_dataset(of);
  EXPECT_EQ(data.lower, (std::vector<double>{1, 2}));
  EXPECT_EQ(data.upper, (std::vector<double>{3, 4}));
  EXPECT_EQ(data.labels, (std::vector<double>{0}));
  of.upper_name = "none";
  EXPECT_EQ(problem(of), "BF3016: no column's name begins with 'none'");
}

TEST_F(DatasetTest, ReadsAFolderOfClasses) {
  write_picture("10/b.png", 1, 8);
  write_picture("2/a.png", 1, 0);
  write_picture("2/c.png", 1, 4);
  const Dataset data = read_dataset(files(folder_.string()));
  EXPECT_EQ(data.names, (std::vector<std::string>{"10/b.png", "2/a.png", "2/c.png"}));
  EXPECT_EQ(data.labels, (std::vector<double>{10, 2, 2}));
  EXPECT_EQ(data.shape, (std::vector<std::int64_t>{2, 2, 1}));
  EXPECT_TRUE(data.channels_last);
  EXPECT_EQ(data.values[0], 8);
}

TEST_F(DatasetTest, NumbersFoldersInTheOrderOfTheirNames) {
  write_picture("dog/a.png", 1, 0);
  write_picture("cat/a.png", 1, 4);
  EXPECT_EQ(read_dataset(files(folder_.string())).labels, (std::vector<double>{0, 1}));
}

TEST_F(DatasetTest, FindsLabelsOfFiles) {
  write_picture("a.png", 1, 0);
  write_picture("b.png", 1, 4);
  const std::string labels = write("labels.csv", "file,label\nb.png,7\na.png,1\n");
  EXPECT_EQ(read_dataset(files(folder_.string(), labels)).labels, (std::vector<double>{1, 7}));
  const std::string missing = write("labels.csv", "file,label\nb.png,7\n");
  EXPECT_EQ(problem(files(folder_.string(), missing)), "BF3016: there is no label of a.png");
}

TEST_F(DatasetTest, RefusesWhatIsNoData) {
  EXPECT_EQ(problem(files(path("none.npz"))), "BF3001: the file cannot be read: no such file");
  EXPECT_EQ(problem(files(path("none.csv"))), "BF3001: the file cannot be read: no such file");
  EXPECT_EQ(problem(files(path("none"))), "BF3001: there is no such file or folder");
  EXPECT_EQ(problem(files(write("x.txt", "1"))),
            "BF3014: data are read from .npz, .npy and .csv files, and from folders");
  EXPECT_EQ(problem(files(write("x.npz", "no archive"))).substr(0, 26),
            "BF3014: it is no .npz file");
  EXPECT_EQ(problem(files(write_array("x.npy", {2, 2}, {1, 2, 3, 4}),
                          write_array("y.npy", {3}, {1, 2, 3}))),
            "BF3016: 3 labels for 2 samples");
  EXPECT_EQ(problem(files(write_array("x.npy", {0, 2}, {}))), "BF3016: there are no samples");
  fs::create_directories(folder_ / "empty");
  EXPECT_EQ(problem(files(path("empty"))), "BF3016: the folder has no .png or .npy file");
  write_picture("mixed/a.png", 1, 0);
  write_picture("mixed/b.png", 3, 0);
  EXPECT_EQ(problem(files(path("mixed"))),
            "BF3016: its shape is [2, 2, 3], but a.png has [2, 2, 1]");
}

TEST_F(DatasetTest, TurnsPicturesToTheModelsOrder) {
  write_picture("p/a.png", 3, 0);
  Dataset data = read_dataset(files(path("p")));
  const ModelSamples turned = arrange(data, {1, 3, 2, 2}, 12, 3);
  EXPECT_EQ(turned.values, (std::vector<double>{0, 3, 6, 9, 1, 4, 7, 10, 2, 5, 8, 11}));
  EXPECT_EQ(turned.channel[0], 0U);
  EXPECT_EQ(turned.channel[11], 2U);
  EXPECT_EQ(data.values, turned.values);

  data = read_dataset(files(path("p")));
  const ModelSamples kept = arrange(data, {1, 2, 2, 3}, 12, 3);
  EXPECT_EQ(kept.values[1], 1);
  EXPECT_EQ(kept.channel[1], 1U);
  EXPECT_EQ(kept.channel[3], 0U);
}

TEST_F(DatasetTest, SaysWhichShapesDoNotFit) {
  const auto refusal = [&](std::vector<std::int64_t> shape, std::vector<std::int64_t> model,
                           std::size_t means = 1) {
    std::size_t count = 1;
    for (const std::int64_t extent : shape) count *= static_cast<std::size_t>(extent);
    std::vector<std::int64_t> all = shape;
    all.insert(all.begin(), 1);
    Dataset data = read_dataset(files(write_array("x.npy", all, std::vector<double>(count, 0.0))));
    std::size_t inputs = 1;
    for (const std::int64_t extent : model) inputs *= static_cast<std::size_t>(extent);
    try {
      (void)arrange(data, model, inputs, means);
    } catch (const CompileError& error) {
      return error.diagnostics().front().message;
    }
    return std::string();
  };
  EXPECT_EQ(refusal({12}, {1, 3, 2, 2}), "");
  EXPECT_EQ(refusal({3, 2, 2}, {1, 3, 2, 2}), "");
  EXPECT_EQ(refusal({4, 4}, {1, 1, 4, 4}), "");
  EXPECT_EQ(refusal({4, 4, 1}, {1, 1, 4, 4}), "");
  EXPECT_EQ(refusal({3, 2, 2}, {1, 12, 1}), "");
  EXPECT_EQ(refusal({2, 2, 3}, {1, 3, 2, 2}),
            "samples of shape [2, 2, 3] have their channels last");
  EXPECT_EQ(refusal({2, 6}, {1, 3, 2, 2}), "samples of shape [2, 6] do not fit");
  EXPECT_EQ(refusal({5}, {1, 3, 2, 2}),
            "samples of shape [5] have 5 numbers, the model has 12 inputs");
  EXPECT_EQ(refusal({12}, {1, 3, 2, 2}, 2), "2 means or deviations are given for 3 channels");
  EXPECT_EQ(refusal({12}, {1, 3, 2, 2}, 12), "");
}

}  // namespace
}  // namespace bf_aot::input

#include "aot/input/dataset.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>

#include "aot/input/array.h"
#include "aot/input/picture.h"
#include "aot/input/table.h"
#include "frontend/diagnostic.h"
#include "frontend/graph/graph.h"
#include "frontend/graph/model.h"

namespace bf_aot::input {
namespace {

namespace fs = std::filesystem;

std::string extension_of(const fs::path& path) {
  std::string extension = path.extension().string();
  std::transform(extension.begin(), extension.end(), extension.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return extension;
}

std::vector<std::string> indices(std::size_t count) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < count; ++i) names.push_back(fmt::format("{}", i));
  return names;
}

void set_samples(Dataset& data, const Array& array) {
  if (array.shape.empty())
    fail("BF3016", array.where, "it is one number", "its first dimension counts the samples");
  data.shape.assign(array.shape.begin() + 1, array.shape.end());
  data.values = array.values;
  data.names = indices(array.count());
}

std::vector<double> labels_of(const Array& array) {
  if (array.values.size() != array.count())
    fail("BF3016", array.where, "labels are one number for each sample");
  return array.values;
}

std::string listed(const std::vector<Array>& arrays) {
  std::string text;
  for (const Array& each : arrays) text += (text.empty() ? "" : ", ") + each.name;
  return text;
}

const Array* find_array(const std::vector<Array>& arrays,
                        std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names)
    for (const Array& each : arrays)
      if (each.name == name) return &each;
  return nullptr;
}

const Array& array_named(const std::vector<Array>& arrays, const std::string& name,
                         const std::string& where) {
  const Array* const found = find_array(arrays, {name});
  if (found == nullptr)
    fail("BF3016", where,
         fmt::format("there is no array '{}' among {}", printable(name), listed(arrays)));
  return *found;
}

// The array whose name says that it has the labels of the samples: "y_test" beside "x_test", as
// Keras has them.
const Array* labels_beside(const std::vector<Array>& arrays, const std::string& samples) {
  if (samples.starts_with("x_") || samples.starts_with("X_"))
    for (const std::string& each : {"y" + samples.substr(1), "Y" + samples.substr(1)})
      if (const Array* const found = find_array(arrays, {each})) return found;
  return find_array(arrays, {"y", "Y", "labels", "targets"});
}

const Array* samples_of(const std::vector<Array>& arrays, const DataFiles& files,
                        const std::string& where) {
  if (!files.sample_name.empty()) return &array_named(arrays, files.sample_name, where);
  const Array* const found = find_array(
      arrays, {"x", "X", "images", "data", "inputs", "x_test", "X_test", "x_train", "X_train"});
  return found == nullptr && arrays.size() == 1 ? arrays.data() : found;
}

void read_archive(Dataset& data, const DataFiles& files) {
  const std::vector<Array> arrays = read_npz(files.data);
  const Array* const samples = samples_of(arrays, files, data.where);
  const Array* const labels = files.label_name.empty()
                                  ? labels_beside(arrays, samples == nullptr ? "" : samples->name)
                                  : &array_named(arrays, files.label_name, data.where);
  if (labels != nullptr) data.labels = labels_of(*labels);
  if (!files.lower_name.empty()) {
    const Array& lower = array_named(arrays, files.lower_name, data.where);
    const Array& upper = array_named(arrays, files.upper_name, data.where);
    if (lower.shape != upper.shape)
      fail("BF3016", data.where, "the arrays of lower and upper ends have different shapes");
    set_samples(data, lower);
    data.lower = lower.values;
    data.upper = upper.values;
    return;
  }
  if (samples == nullptr)
    fail("BF3016", data.where,
         fmt::format("which array has the samples? there are {}", listed(arrays)),
         "name it by --sample-name, or call it x, images, data, inputs, x_test or x_train");
  set_samples(data, *samples);
}

std::vector<std::size_t> columns_with_prefix(const Table& table, const std::string& prefix) {
  std::vector<std::size_t> columns;
  for (std::size_t i = 0; i < table.names.size(); ++i)
    if (table.names[i].starts_with(prefix)) columns.push_back(i);
  if (columns.empty())
    fail("BF3016", table.where, fmt::format("no column's name begins with '{}'", printable(prefix)),
         "the first line names the columns");
  return columns;
}

std::vector<double> numbers(const Table& table, const std::vector<std::size_t>& columns) {
  std::vector<double> values;
  for (std::size_t row = 0; row < table.rows.size(); ++row)
    for (const std::size_t column : columns) values.push_back(table.number(row, column));
  return values;
}

std::optional<std::size_t> label_column(const Table& table, const std::string& name) {
  if (name.empty()) {
    const auto label = table.column("label");
    return label ? label : table.column("y");
  }
  const auto found = table.column(name);
  if (!found) fail("BF3016", table.where, fmt::format("there is no column '{}'", printable(name)));
  return found;
}

void read_rows(Dataset& data, const DataFiles& files) {
  const Table table = read_table(files.data);
  const auto label = label_column(table, files.label_name);
  data.names = indices(table.rows.size());
  if (label) data.labels = numbers(table, {*label});
  std::vector<std::size_t> columns;
  if (!files.lower_name.empty()) {
    columns = columns_with_prefix(table, files.lower_name);
    const std::vector<std::size_t> upper = columns_with_prefix(table, files.upper_name);
    if (columns.size() != upper.size())
      fail("BF3016", table.where,
           fmt::format("{} columns of lower ends, but {} of upper ends", columns.size(),
                       upper.size()));
    data.lower = numbers(table, columns);
    data.upper = numbers(table, upper);
    data.values = data.lower;
  } else {
    for (std::size_t i = 0; i < table.rows[0].size(); ++i)
      if (i != label) columns.push_back(i);
    data.values = numbers(table, columns);
  }
  data.shape = {static_cast<std::int64_t>(columns.size())};
}

// Entries that do not begin with a dot, by name.
std::vector<fs::path> entries_of(const fs::path& folder) {
  std::error_code error;
  std::vector<fs::path> entries;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error))
    if (!at->path().filename().string().starts_with('.')) entries.push_back(at->path());
  if (error) fail("BF3001", printable(folder.string()), "the folder cannot be read");
  std::sort(entries.begin(), entries.end());
  return entries;
}

struct Sample {
  std::vector<std::int64_t> shape;
  std::vector<double> values;
  bool picture = false;
};

Sample read_sample(const fs::path& path) {
  Sample sample;
  if (extension_of(path) == ".npy") {
    Array array = read_npy(path);
    sample.shape = std::move(array.shape);
    sample.values = std::move(array.values);
    return sample;
  }
  const Picture picture = read_png(path);
  sample.picture = true;
  sample.shape = {picture.height, picture.width, picture.channels};
  sample.values.assign(picture.values.begin(), picture.values.end());
  return sample;
}

void add_file(Dataset& data, const fs::path& path, const std::string& name) {
  // The file was found in the folder; the user did not name it.
  if (const std::string problem = why_unreadable(path, Sources::kFiles); !problem.empty())
    fail("BF3001", printable(path.string()), "the file cannot be read: " + problem);
  const Sample sample = read_sample(path);
  if (data.names.empty()) {
    data.shape = sample.shape;
    data.channels_last = sample.picture;
  } else if (sample.shape != data.shape || sample.picture != data.channels_last) {
    fail("BF3016", printable(path.string()),
         fmt::format("its shape is {}, but {} has {}", to_string(Shape(sample.shape)),
                     data.names[0], to_string(Shape(data.shape))));
  }
  data.values.insert(data.values.end(), sample.values.begin(), sample.values.end());
  data.names.push_back(printable(name));
}

std::optional<double> class_number(const std::string& name) {
  int value = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), value);
  if (error != std::errc() || end != name.data() + name.size()) return std::nullopt;
  return value;
}

void read_folder(Dataset& data, const DataFiles& files) {
  std::vector<fs::path> classes;
  bool numbered = true;
  for (const fs::path& entry : entries_of(files.data)) {
    const std::string name = entry.filename().string();
    if (fs::is_directory(entry)) {
      classes.push_back(entry);
      numbered = numbered && class_number(name).has_value();
    } else if (extension_of(entry) == ".png" || extension_of(entry) == ".npy") {
      add_file(data, entry, name);
    } else if (extension_of(entry) != ".csv" && extension_of(entry) != ".txt") {
      fail("BF3014", printable(entry.string()), "files of this kind are not read",
           "a folder holds .png and .npy files, or a folder of them for each class");
    }
  }
  if (!classes.empty() && !data.names.empty())
    fail("BF3016", data.where, "it holds files as well as folders of classes");
  for (std::size_t i = 0; i < classes.size(); ++i) {
    const std::string name = classes[i].filename().string();
    for (const fs::path& file : entries_of(classes[i])) {
      add_file(data, file, name + "/" + file.filename().string());
      data.labels.push_back(numbered ? *class_number(name) : static_cast<double>(i));
    }
  }
  if (data.names.empty()) fail("BF3016", data.where, "the folder has no .png or .npy file");
}

void read_label_table(Dataset& data, const DataFiles& files) {
  const Table table = read_table(files.labels);
  const auto file = table.column("file");
  const auto label = label_column(table, files.label_name);
  if (!file) {
    if (!label && table.rows[0].size() != 1)
      fail("BF3016", table.where, "which column has the labels?", "name it \"label\"");
    data.labels = numbers(table, {label.value_or(0)});
    return;
  }
  if (!label) fail("BF3016", table.where, "there is no column 'label'");
  data.labels.assign(data.names.size(), NAN);
  for (std::size_t row = 0; row < table.rows.size(); ++row) {
    const auto found =
        std::find(data.names.begin(), data.names.end(), printable(table.rows[row][*file]));
    if (found != data.names.end())
      data.labels[static_cast<std::size_t>(found - data.names.begin())] = table.number(row, *label);
  }
  for (std::size_t i = 0; i < data.labels.size(); ++i)
    if (std::isnan(data.labels[i]))
      fail("BF3016", table.where, fmt::format("there is no label of {}", data.names[i]));
}

}  // namespace

Dataset read_dataset(const DataFiles& files) {
  Dataset data;
  data.where = printable(files.data);
  std::error_code error;
  const std::string extension = extension_of(files.data);
  if (fs::is_directory(files.data, error)) {
    read_folder(data, files);
  } else if (extension == ".npz") {
    read_archive(data, files);
  } else if (extension == ".csv") {
    read_rows(data, files);
  } else if (extension == ".npy") {
    set_samples(data, read_npy(files.data));
  } else {
    if (!fs::exists(files.data, error))
      fail("BF3001", data.where, "there is no such file or folder");
    fail("BF3014", data.where, "data are read from .npz, .npy and .csv files, and from folders");
  }
  if (!files.sample_name.empty() && extension != ".npz")
    fail("BF3016", data.where, "arrays are named in .npz files alone", "leave out --sample-name");
  if (!files.lower_name.empty() && data.lower.empty())
    fail("BF3016", data.where, "boxes are read from .npz and .csv files");
  if (data.count() == 0) fail("BF3016", data.where, "there are no samples");
  if (!files.labels.empty()) {
    if (extension_of(files.labels) == ".csv")
      read_label_table(data, files);
    else
      data.labels = labels_of(read_npy(files.labels));
  }
  if (!data.labels.empty() && data.labels.size() != data.count())
    fail("BF3016", files.labels.empty() ? data.where : printable(files.labels),
         fmt::format("{} labels for {} samples", data.labels.size(), data.count()));
  return data;
}

}  // namespace bf_aot::input

#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "frontend/numbers/numbers.h"

namespace bf_aot::input {

// The places of samples, labels and boxes, as the options of a command name them.
struct DataFiles {
  std::string data;    // .npz, .npy, .csv, or a folder
  std::string labels;  // .npy or .csv; empty: within the data, or none
  // Names of arrays in an .npz or of columns in a .csv, for samples, labels and the ends of boxes;
  // in a .csv the name for ends is a prefix of several columns. Empty: the usual names, or none.
  std::string sample_name, label_name;
  std::string lower_name, upper_name;
};

// Samples as they are stored.
struct Dataset {
  std::string where;                 // for messages
  std::vector<std::int64_t> shape;   // of one sample; empty: a number
  std::vector<double> values;        // [samples, elements of the shape]
  std::vector<double> lower, upper;  // [samples, elements of the shape]: boxes, or empty
  std::vector<double> labels;        // [samples], or empty
  std::vector<std::string> names;    // [samples]: files, or indices
  bool channels_last = false;        // pictures: [height, width, channels]

  std::size_t count() const { return names.size(); }
  std::size_t size() const { return count() == 0 ? 0 : values.size() / count(); }
};

// Reads samples, labels and boxes. .npz: the only array, or the first of x, X, images, data,
// inputs; labels y, Y, labels, targets. .csv: a row is a sample; labels are the column "label" or
// "y". Folder: .png and .npy files in the order of their names; each folder in it is a class,
// numbered by its name where all names are numbers, else in the order of names. A .csv of labels
// has one column, or one row for each file with columns "file" and "label".
// Throws: BF3001, BF3014, BF3015, BF3016.
Dataset read_dataset(const DataFiles& files);

// The map from numbers of a file to inputs of a model: (value / scale - mean) / std, with the mean
// and deviation of the element's channel. All are exact decimals; absent ones change nothing. Scale
// and deviations are positive.
struct Normalisation {
  std::optional<vnnlib::Number> scale;
  std::vector<vnnlib::Number> mean, deviation;
  std::optional<std::pair<vnnlib::Number, vnnlib::Number>> range;  // allowed for value / scale
};

// Samples in the order of a model's input.
struct ModelSamples {
  std::size_t inputs = 0;
  std::vector<double> values;        // [samples, inputs], in the model's order, not normalised
  std::vector<double> lower, upper;  // [samples, inputs]: boxes, or empty
  std::vector<std::size_t> channel;  // [inputs]: index of mean and deviation
};

// Brings samples into the order of the model's input. Shapes are compared without dimensions of 1;
// a flat sample fits any shape, and any sample a flat input; pictures, and arrays with
// channels_last, are turned to the model's order. Throws: BF3016 for a shape that does not fit, or
// means that are neither 1, nor one for each channel or input.
ModelSamples arrange(Dataset& data, const std::vector<std::int64_t>& input_shape,
                     std::size_t input_count, std::size_t means);

// The float32 sample and the smallest float32 box around {x : |x - value| <= eps}, cut at the
// range. Both are normalised in exact arithmetic: every end is rounded outward.
// Throws: BF3016 for a value out of the range or not finite, BF3007 beyond float32.
struct SampleBox {
  std::vector<float> sample, lower, upper;
  // The ends of the box of doubles within the exact box; counterexamples are taken from it. lower >
  // upper: there is none.
  std::vector<double> inner_lower, inner_upper;
  // The ends of the box of doubles within the range and the box of a ball; empty: it is not cut.
  std::vector<double> range_lower, range_upper;
};
SampleBox perturb(const ModelSamples& samples, std::size_t index, const vnnlib::Number& eps,
                  const Normalisation& normalisation, const std::string& where);

// The sample box of the data's own box; its sample is the middle.
SampleBox own_box(const ModelSamples& samples, std::size_t index,
                  const Normalisation& normalisation, const std::string& where);

}  // namespace bf_aot::input

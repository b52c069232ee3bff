#include "aot/cli/options/disturbance_options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "aot/cli/options/values.h"
#include "frontend/diagnostic.h"
#include "frontend/graph/model.h"

namespace bf_aot::cli {
namespace {

constexpr char kGroup[] = "Disturbances";

// The one sample that is asked about. Throws: BF3013, BF3016.
void keep_sample(input::Dataset& data, std::size_t index) {
  if (index >= data.count())
    fail("BF3013", "--sample",
         fmt::format("{} has {} samples, counted from 0", data.where, data.count()));
  const std::size_t size = data.size();
  const auto first = data.values.begin() + static_cast<std::ptrdiff_t>(index * size);
  data.values = std::vector<double>(first, first + static_cast<std::ptrdiff_t>(size));
  data.names = {data.names[index]};
  data.lower.clear();
  data.upper.clear();
  data.labels.clear();
}

// Throws: BF3503.
void check_values(const disturb::PictureMaker& maker, const std::vector<double>& values,
                  const input::Normalisation& normalisation) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::string where = fmt::format("the sample, input {}", i);
    if (!std::isfinite(values[i]))
      fail("BF3503", where, fmt::format("{} is not finite", values[i]));
    if (!normalisation.range) continue;
    const std::vector<double> one = {values[i]};
    const disturb::Range scaled = maker.scaled(one)[0];
    if (scaled.high < normalisation.range->first.below ||
        scaled.low > normalisation.range->second.above)
      fail("BF3503", where,
           fmt::format("{} is out of the valid range, {} to {}", values[i],
                       normalisation.range->first.text, normalisation.range->second.text),
           "numbers are divided by --scale first");
  }
}

}  // namespace

void add_normalisation_options(CommandLine& app, NormalisationTexts& texts, const char* group,
                               bool has_clip) {
  app.add_option("--scale", texts.scale, "numbers of the data are divided by this first")
      ->type_name("X")
      ->group(group);
  if (!has_clip)
    takes_pair(
        app.add_option("--clip", texts.clip, "valid range of inputs, at which boxes are cut"))
        ->type_name("LO,HI")
        ->group(group);
  takes_numbers(
      app.add_option("--mean", texts.mean,
                     "subtracted from scaled numbers: one, or one for each channel or input"))
      ->type_name("LIST")
      ->group(group);
  takes_numbers(app.add_option("--std", texts.deviation, "by which they are divided then"))
      ->type_name("LIST")
      ->group(group);
}

vnnlib::Number decimal(const std::string& text, const char* option, bool positive) {
  const vnnlib::Number number = exact_number(text, option);
  if (!std::isfinite(number.below) || !std::isfinite(number.above))
    fail("BF3013", option, fmt::format("{} is beyond the range of doubles", printable(text)));
  if (positive && !(number.below > 0))
    fail("BF3013", option, fmt::format("{} is not positive", printable(text)));
  return number;
}

std::vector<vnnlib::Number> decimals(const std::vector<std::string>& texts, const char* option,
                                     bool positive) {
  std::vector<vnnlib::Number> numbers;
  for (const std::string& text : texts) numbers.push_back(decimal(text, option, positive));
  return numbers;
}

input::Normalisation normalisation_of(const NormalisationTexts& texts) {
  input::Normalisation made;
  if (!texts.scale.empty()) made.scale = decimal(texts.scale, "--scale", true);
  made.mean = decimals(texts.mean, "--mean", false);
  made.deviation = decimals(texts.deviation, "--std", true);
  if (texts.clip.empty()) return made;
  const std::vector<vnnlib::Number> ends = decimals(texts.clip, "--clip", false);
  if (vnnlib::compare(ends[0], ends[1]) >= 0)
    fail("BF3013", "--clip", "the lower end is not below the upper end");
  made.range = {ends[0], ends[1]};
  return made;
}

Option* takes_disturbances(Option* option) {
  return option->list([](const std::string& word) { return word.find('=') != std::string::npos; })
      ->type_name("LIST");
}

void add_disturbance_options(CommandLine& app, DisturbanceArguments& a, bool has_clip) {
  Option* const disturbance = takes_disturbances(
      app.add_option("--disturbance", a.disturbances,
                     std::string("the pictures that this makes of a sample, in place of a box: ") +
                         kDisturbanceHelp));
  Option* const data =
      app.add_option("--data", a.files.data, "the sample's data: .npz, .npy, .csv, or a folder");
  data->type_name("PATH")->needs(disturbance);
  disturbance->group(kGroup)->needs(data);
  data->group(kGroup);
  app.add_option("--sample", a.sample, "index of the sample")
      ->transform(whole(0))
      ->capture_default_str()
      ->type_name("N")
      ->needs(data)
      ->group(kGroup);
  app.add_option("--layout", a.layout,
                 "of samples in arrays: chw, hwc (channels last), or auto: as the model's input")
      ->transform(one_of({"auto", "chw", "hwc"}))
      ->capture_default_str()
      ->needs(data)
      ->group(kGroup);
  add_normalisation_options(app, a.numbers, kGroup, has_clip);
  for (const char* const name : {"--scale", "--mean", "--std"})
    app.get_option(name)->needs(disturbance);
  if (!has_clip) app.get_option("--clip")->needs(disturbance);
}

DisturbedPicture::DisturbedPicture(const DisturbanceArguments& a, const Graph& network) {
  const input::Normalisation normalisation = normalisation_of(a.numbers);
  input::Dataset data = input::read_dataset(a.files);
  keep_sample(data, a.sample);
  if (a.layout != "auto") data.channels_last = a.layout == "hwc";
  const bool one = network.inputs.size() == 1;
  const Shape shape = one ? network.value(network.inputs[0]).shape : Shape();
  std::int64_t inputs = 0;
  for (const ValueId id : network.inputs) inputs += element_count(network.value(id).shape);
  const input::ModelSamples samples =
      input::arrange(data, shape, static_cast<std::size_t>(inputs), normalisation.mean.size());
  const disturb::Picture picture = disturb::picture_of(shape, data);
  if (picture.size() != static_cast<std::size_t>(inputs))
    fail("BF3016", data.where,
         fmt::format("pictures of {} x {} x {} are not the model's {} inputs", picture.channels,
                     picture.height, picture.width, inputs));
  std::string fault;
  std::vector<std::size_t> channels = disturb::channels_of(
      normalisation.mean.size(), normalisation.deviation.size(), picture, fault);
  if (!fault.empty()) fail("BF3013", "--mean", fault);
  std::vector<disturb::Parameter> parameters =
      disturb::read_disturbances(a.disturbances, picture, "--disturbance");
  if (parameters.empty()) fail("BF3013", "--disturbance", "there is none", disturb::kinds_text());
  if (parameters[0].kind == disturb::Kind::kPatch && !normalisation.range)
    fail("BF3013", "--clip", "a patch has any valid numbers", "give the range of valid numbers");
  maker_.emplace(std::move(parameters), picture, normalisation, std::move(channels));
  check_values(*maker_, samples.values, normalisation);
  picture_ = maker_->scaled(samples.values);

  std::string identity = fmt::format(
      "{} x {} x {} {} scale {} clip {} mean {} std {} of", picture.channels, picture.height,
      picture.width, picture.channels_last, a.numbers.scale, fmt::join(a.numbers.clip, ","),
      fmt::join(a.numbers.mean, ","), fmt::join(a.numbers.deviation, ","));
  for (const std::string& text : a.disturbances)
    identity += fmt::format(" {}:{}", text.size(), text);
  for (const double value : samples.values) identity += fmt::format(" {:a}", value);
  input_.emplace(decide::DisturbedInput{{*maker_, picture_}, std::move(identity)});
}

}  // namespace bf_aot::cli

#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "aot/cli/options/command_line.h"
#include "aot/decide/disturbed.h"
#include "aot/input/dataset.h"

namespace bf_aot::cli {

// Numbers of scaled data as a command line gives them.
struct NormalisationTexts {
  std::string scale;
  std::vector<std::string> clip, mean, deviation;
};

// Adds --scale, --clip, --mean and --std to a group of the help text. has_clip: --clip is there.
void add_normalisation_options(CommandLine& app, NormalisationTexts& texts, const char* group,
                               bool has_clip = false);

// A decimal of an option. Throws: BF3013.
vnnlib::Number decimal(const std::string& text, const char* option, bool positive);
std::vector<vnnlib::Number> decimals(const std::vector<std::string>& texts, const char* option,
                                     bool positive);

// The texts must stay as long as what is returned. Throws: BF3013.
input::Normalisation normalisation_of(const NormalisationTexts& texts);

inline constexpr char kDisturbanceHelp[] =
    "KIND=LO..HI of rotation, scaling, shearing, translation, translation-x, translation-y, blur, "
    "contrast, brightness, fog, or KIND=SIZE of occlusion, patch; several apply together";
// Makes words with '=' the values of --disturbance.
Option* takes_disturbances(Option* option);

// A sample, and the disturbances of it that a command asks about in place of a box.
struct DisturbanceArguments {
  std::vector<std::string> disturbances;
  input::DataFiles files;
  std::size_t sample = 0;
  std::string layout = "auto";
  NormalisationTexts numbers;

  bool given() const { return !disturbances.empty(); }
};

// Adds --disturbance, --data, --sample, --layout and the options of normalisation.
void add_disturbance_options(CommandLine& app, DisturbanceArguments& arguments,
                             bool has_clip = false);

// A disturbed picture with all that it refers to.
class DisturbedPicture {
 public:
  // Reads the sample. The arguments must stay as long as this. Throws: BF3001, BF3012 to BF3016,
  // BF3503.
  DisturbedPicture(const DisturbanceArguments& arguments, const Graph& network);
  DisturbedPicture(const DisturbedPicture&) = delete;
  DisturbedPicture& operator=(const DisturbedPicture&) = delete;

  const decide::DisturbedInput& input() const { return *input_; }

 private:
  std::optional<disturb::PictureMaker> maker_;
  std::vector<disturb::Range> picture_;
  std::optional<decide::DisturbedInput> input_;
};

}  // namespace bf_aot::cli

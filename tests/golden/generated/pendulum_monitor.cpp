// watch: a look-ahead monitor of a closed loop. Do not edit.
//
//   plant       plant.onnx
//   sha256      df74e38b0d367926f3975d68d38b1b107844bae7af75e8e4da30af24ad77a01d
//   controller  controller.onnx
//   sha256      ccaae2bd6338b7d71dfcdd486145b7fe427dc278bf55b1082e6b0532ebdbd901
//   periods     20 of 0.05 seconds, each in one step of order 2
//   symbols     10, and 18 within a period
//   workspace   9736 bytes
//   operations  966662 on doubles at most, and 20 calls of the network's verifier
//
// This file and the headers that it includes may be used, changed and shipped by anyone,
// for any purpose, without attribution and without warranty (0BSD).
// clang-format off

#include "watch.h"

#include "watch_network.h"
#include "bf/loops/tube.h"

static_assert(BF_ABI_VERSION == 2, "bf.h is of another version");

namespace {

using namespace bf::loops;

// plant.onnx: its inputs are states, controls and disturbances.
constexpr MonitorStep plant_steps[] = {
    {MonitorStep::Kind::kInput, 0, 0, {}, {}},
    {MonitorStep::Kind::kInput, 1, 0, {}, {}},
    {MonitorStep::Kind::kInput, 2, 0, {}, {}},
    {MonitorStep::Kind::kFunction, 0, 0, {}, {MonitorFunction::Kind::kSin, 0x0p+0, 0x0p+0}},
    {MonitorStep::Kind::kConstant, 0, 0, {0x1.39eb86p+3, 0x0p+0}, {}},
    {MonitorStep::Kind::kMultiply, 3, 4, {}, {}},
    {MonitorStep::Kind::kConstant, 0, 0, {0x1.99999ap-3, 0x0p+0}, {}},
    {MonitorStep::Kind::kMultiply, 1, 6, {}, {}},
    {MonitorStep::Kind::kSubtract, 5, 7, {}, {}},
    {MonitorStep::Kind::kAdd, 8, 2, {}, {}},
};
constexpr std::uint16_t plant_outputs[] = {1, 9};
// The number of Taylor series before those of each step.
constexpr std::uint16_t plant_places[] = {0, 1, 2, 3, 5, 6, 7, 8, 9, 10, 11};

// always (<= -0.5 angle 0.5)
constexpr MonitorStep condition_0_steps[] = {
    {MonitorStep::Kind::kInput, 0, 0, {}, {}},
    {MonitorStep::Kind::kConstant, 0, 0, {-0x1p-1, 0x0p+0}, {}},
    {MonitorStep::Kind::kSubtract, 1, 0, {}, {}},
    {MonitorStep::Kind::kConstant, 0, 0, {0x1p-1, 0x0p+0}, {}},
    {MonitorStep::Kind::kSubtract, 0, 3, {}, {}},
};
constexpr std::uint16_t condition_0_outputs[] = {2, 4};
constexpr MonitorProgram conditions[] = {
    {{condition_0_steps, 5}, {condition_0_outputs, 2}},
};

struct Loop {
  static constexpr PlantKind kKind = PlantKind::kContinuous;
  static constexpr std::size_t kStates = 2, kControls = 1, kDisturbances = 0;
  static constexpr std::size_t kPeriods = 20, kSubsteps = 1, kOrder = 2;
  static constexpr std::size_t kSymbols = 10, kAllSymbols = 18, kSlopes = kAllSymbols + 1;
  static constexpr double kSeconds = 0x1.9999999999999p-5, kSecondsError = 0x1.3333333333334p-58;
  static constexpr std::size_t kRequirements = 1;
  static constexpr bool kLines = true;
  static constexpr TubeSizes kSizes = {kStates, kControls, kDisturbances, kSymbols, kAllSymbols,
                                       10, 13, 2, 5, 2, 1, 1984, 16};
  static_assert(kSizes.bytes() == WATCH_WORKSPACE_BYTES, "bf: another layout of the workspace");

  static MonitorProgram plant() { return {{plant_steps, 10}, {plant_outputs, 2}}; }
  static const std::uint16_t* places() { return plant_places; }
  static MonitorProgram condition(std::size_t i) { return conditions[i]; }
  static Range disturbance(std::size_t) { return {}; }
  static bool is_constant(std::size_t) { return true; }

  template <class Form>
  static bool holds(std::size_t i, const Form* v) {
    switch (i) {
      case 0:
        return (at_most_zero(v[2]) && at_most_zero(v[4]));
    }
    return false;
  }

  static bool bound(const float* lower, const float* upper, float* low, float* high, float* lines,
                    void* workspace) {
    return watch_network_spec_coefficients(lower, upper, low, high, lines, workspace,
                                          WATCH_NETWORK_WORKSPACE_BYTES) == BF_OK;
  }
};

}  // namespace

extern "C" bf_status watch_look_ahead(const double* lower, const double* upper,
                                       watch_result* result, void* workspace,
                                       std::size_t workspace_bytes) {
  return look_ahead<Loop>(lower, upper, result, workspace, workspace_bytes);
}

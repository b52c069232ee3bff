#include "planner/tuning/schedule_space.h"

#include <fmt/format.h>

#include <algorithm>

#include "frontend/diagnostic.h"
#include "runtime/bf/contract/lists.h"
#include "runtime/bf/contract/tiles.h"

namespace bf_aot {
namespace {

constexpr int kUnrolls[] = {1, 2, 4, 8};
constexpr int kMostColumns = 32;       // more than the registers of any target hold
constexpr int kMostAccumulators = 64;  // code size, also of what a file asks for

constexpr int kMostPixels = 8;

int ceil_div(int value, int unit) {
  return (value + unit - 1) / unit;
}

bool is_backward(const Kernel& kernel) {
  return kernel.kind == KernelKind::kBackwardAffine;
}

bool is_convolution(const Kernel& kernel) {
  return kernel.kind == KernelKind::kTermBackward && !kernel.geometry.empty();
}

bool lanes_are_boxes(const Kernel& kernel) {
  return !is_backward(kernel) && kernel.boxes > 1;
}

// Vectors of the lane axis: rows, or outputs of a panel.
int lane_vectors(const Kernel& kernel) {
  if (is_backward(kernel)) return kernel.rows / kernel.schedule.lanes;
  return lanes_are_boxes(kernel) ? 1 : kernel.panel / kernel.schedule.lanes;
}

int summed(const Kernel& kernel) {
  return is_backward(kernel) ? kernel.out : kernel.in;
}

// Chains of a sum in two levels: Nest::summation_depth of the kernels' nests, which checks it.
int depth(const Kernel& kernel, int chunk) {
  return chunk + ceil_div(summed(kernel), chunk) + 1;
}

std::string why_illegal_columns(const Kernel& kernel, const Schedule& schedule) {
  if (schedule.columns < 1 || schedule.columns > kMostColumns)
    return fmt::format("{} columns are not between 1 and {}", schedule.columns, kMostColumns);
  if (is_backward(kernel))
    return schedule.columns <= kernel.in
               ? std::string()
               : fmt::format("{} columns of {}", schedule.columns, kernel.in);
  if (lanes_are_boxes(kernel))
    return kernel.panel % schedule.columns == 0
               ? std::string()
               : fmt::format("{} columns do not divide a panel of {}", schedule.columns,
                             kernel.panel);
  return schedule.columns == 1 ? std::string() : "a forward product of one box has one column";
}

std::string why_illegal_chunk(const Kernel& kernel, const Schedule& schedule) {
  const int own = kernel.schedule.chunk;
  if (schedule.chunk < 1) return "chunks must hold something";
  if (is_backward(kernel)) {
    const int padded = ceil_div(kernel.out, kernel.panel) * kernel.panel;
    if (schedule.chunk % kernel.panel != 0 || schedule.chunk > padded)
      return fmt::format("chunks of {} are no panels of {} among {}", schedule.chunk, kernel.panel,
                         padded);
    // Sums of several layers add up their blocks.
    if (ceil_div(kernel.out, schedule.chunk) > ceil_div(kernel.out, own))
      return fmt::format("chunks of {} make more blocks than those of {}", schedule.chunk, own);
  } else if (schedule.chunk > kernel.in) {
    return fmt::format("chunks of {} among {}", schedule.chunk, kernel.in);
  }
  const bool listed = is_backward(kernel) ? kernel.live_out : kernel.live_in;
  if (listed && schedule.chunk < summed(kernel) && schedule.chunk % bf::kListUnit != 0)
    return fmt::format("lists know where chunks of multiples of {} begin", bf::kListUnit);
  if (depth(kernel, schedule.chunk) > depth(kernel, own))
    return fmt::format("chains of {} roundings, {} are accounted for",
                       depth(kernel, schedule.chunk), depth(kernel, own));
  return {};
}

std::string why_illegal_tile(const Kernel& kernel, const Schedule& schedule) {
  Schedule same = kernel.schedule;
  same.columns = schedule.columns;
  same.pixels = schedule.pixels;
  same.last_columns = schedule.last_columns;
  if (!(same == schedule)) return "of a convolution, channels and pixels alone can be chosen";
  if (schedule.columns < 1 || !bf::is_tile_width(schedule.columns) ||
      schedule.columns > kernel.channels)
    return fmt::format("{} channels together, of {}", schedule.columns, kernel.channels);
  if (schedule.last_columns < 1 ||
      schedule.last_columns > std::min(kernel.channels, bf::kMostTileChannels))
    return fmt::format("{} channels of one pixel together, of {}", schedule.last_columns,
                       kernel.channels);
  if (schedule.pixels < 1 || schedule.pixels > kMostPixels)
    return fmt::format("{} pixels are not between 1 and {}", schedule.pixels, kMostPixels);
  if (accumulators(kernel, schedule) > kMostAccumulators)
    return fmt::format("{} accumulators, {} are allowed", accumulators(kernel, schedule),
                       kMostAccumulators);
  return {};
}

// All tiles that fill at least a third of the registers: fewer sums do not hide their latency.
std::vector<Schedule> conv_schedules(const Kernel& kernel, const Target& target) {
  std::vector<Schedule> list = {kernel.schedule};
  for (int columns = 1; columns <= bf::kMostTileChannels; ++columns)
    for (int pixels = 1; pixels <= kMostPixels; ++pixels) {
      Schedule made = kernel.schedule;
      made.columns = columns;
      made.pixels = pixels;
      const int sums = accumulators(kernel, made);
      if (3 * sums < target.vector_registers || sums >= target.vector_registers) continue;
      if (why_illegal(kernel, made).empty()) list.push_back(made);
    }
  return list;
}

}  // namespace

bool is_tunable(const Kernel& kernel) {
  if (is_convolution(kernel)) return kernel.schedule.lanes > 1;
  return kernel.kind == KernelKind::kIntervalAffine || kernel.kind == KernelKind::kCentreAffine ||
         kernel.kind == KernelKind::kEvaluateAffine || kernel.kind == KernelKind::kBackwardAffine;
}

int accumulators(const Kernel& kernel, const Schedule& schedule) {
  if (is_convolution(kernel)) return schedule.columns * schedule.pixels * schedule.vectors;
  if (is_backward(kernel)) return schedule.columns * schedule.vectors;
  const int tile = lanes_are_boxes(kernel)
                       ? schedule.columns * std::max(1, kernel.boxes / schedule.lanes)
                       : schedule.vectors;
  return kernel.kind == KernelKind::kEvaluateAffine ? tile : 2 * tile;
}

std::string why_illegal(const Kernel& kernel, const Schedule& schedule) {
  BF_CHECK(is_tunable(kernel));
  if (schedule == kernel.schedule) return {};
  if (is_convolution(kernel)) return why_illegal_tile(kernel, schedule);
  if (schedule.pixels != 0 || schedule.last_columns != 0) return "no convolution: it has no pixels";
  if (schedule.lanes != kernel.schedule.lanes)
    return fmt::format("{} lanes, the target's vectors have {}", schedule.lanes,
                       kernel.schedule.lanes);
  const int vectors = lane_vectors(kernel);
  if (schedule.vectors < 1 || schedule.vectors > vectors || vectors % schedule.vectors != 0)
    return fmt::format("groups of {} vectors do not divide {}", schedule.vectors, vectors);
  if (std::string why = why_illegal_columns(kernel, schedule); !why.empty()) return why;
  if (std::string why = why_illegal_chunk(kernel, schedule); !why.empty()) return why;
  if (schedule.groups_first && (!is_backward(kernel) || schedule.vectors == vectors))
    return "there are no groups to go first";
  if (std::ranges::count(kUnrolls, schedule.unroll) == 0)
    return fmt::format("unrolled by {}: 1, 2, 4 and 8 are known", schedule.unroll);
  if (accumulators(kernel, schedule) > kMostAccumulators)
    return fmt::format("{} accumulators, {} are allowed", accumulators(kernel, schedule),
                       kMostAccumulators);
  return {};
}

std::vector<Schedule> legal_schedules(const Kernel& kernel, const Target& target) {
  if (is_convolution(kernel)) return conv_schedules(kernel, target);
  std::vector<Schedule> list = {kernel.schedule};
  std::vector<int> chunks;
  if (is_backward(kernel)) {
    for (int chunk = kernel.panel; chunk < kernel.out + kernel.panel; chunk += kernel.panel)
      chunks.push_back(chunk);
  } else {
    for (const int chunk : {8, 16, 24, 32, 48, 64, 96, 128, 192, 256}) chunks.push_back(chunk);
    chunks.push_back(kernel.in);
  }
  const int registers = target.vector_registers;
  for (int vectors = 1; vectors <= lane_vectors(kernel); ++vectors)
    for (int columns = 1; columns <= kMostColumns; ++columns)
      for (const int chunk : chunks)
        for (const bool groups_first : {false, true})
          for (const int unroll : kUnrolls) {
            const Schedule made{kernel.schedule.lanes, vectors, columns, chunk,
                                groups_first,          unroll};
            // A register is left for the weight or coefficient that is always in flight.
            if (accumulators(kernel, made) >= registers) continue;
            if (!why_illegal(kernel, made).empty() || std::ranges::count(list, made) > 0) continue;
            list.push_back(made);
          }
  return list;
}

std::string to_text(const Schedule& schedule) {
  if (schedule.pixels > 0)
    return fmt::format("{} channels x {} pixels, {} of one", schedule.columns, schedule.pixels,
                       schedule.last_columns);
  std::string text = fmt::format("{} vector{}", schedule.vectors, schedule.vectors == 1 ? "" : "s");
  if (schedule.columns > 1) text = fmt::format("{} columns x {}", schedule.columns, text);
  if (schedule.chunk > 0) text += fmt::format(", chunks of {}", schedule.chunk);
  if (schedule.groups_first) text += ", groups first";
  if (schedule.unroll > 1) text += fmt::format(", unrolled by {}", schedule.unroll);
  return text;
}

}  // namespace bf_aot

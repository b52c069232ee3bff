#pragma once

#include <string>

namespace bf_aot {

// The arrangement of a kernel's loops; see aot/emit/loop. lanes x vectors values are computed at a
// time.
struct Schedule {
  int lanes = 1;              // sums per vector, floats or doubles; 1 is scalar code
  int vectors = 1;            // vectors of the register tile; the lane axis goes by groups of them
  int columns = 1;            // register tile: columns of the product computed together
  int chunk = 0;              // terms summed in one accumulator before they go to the next level
  bool groups_first = false;  // groups of `vectors` outside the columns, not inside
  int unroll = 1;  // steps of the innermost sum per trip of its loop; 1: the compiler's choice
  // Convolutions backward: `columns` channels of so many pixels go together, and `last_columns` of
  // one where a row has no more. 0: portable code, whose compiler alone knows the vectors.
  int pixels = 0;
  int last_columns = 0;
  int items = 1;  // of a device's group, over which outputs are dealt out; 1: one computes all
  // Columns whose weights, for a chunk of terms, items copy to memory of the group before they sum
  // them. 0: each item loads weights itself.
  int staged = 0;
  bool operator==(const Schedule&) const = default;
};

// The result of measurements of a kernel; see planner/tuning/tuning_log.h.
struct TunedSchedule {
  std::string key;  // of the kernel
  std::string target;
  Schedule schedule;
  bool is_default = false;                  // no other schedule was faster by more than the noise
  double seconds = 0, default_seconds = 0;  // of one call, measured in turns
  int candidates = 0;                       // schedules that were measured
  bool operator==(const TunedSchedule&) const = default;
};

}  // namespace bf_aot

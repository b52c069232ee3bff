#pragma once

#include <string>

#include "aot/emit/loop/nest.h"

namespace bf_aot::loop {

// The conditions of each primitive on a nest: the reason for which one does not hold, or none.
struct Legality {
  const Nest& nest;

  Reason operator()(const Split& p) const;
  Reason operator()(const Tile& p) const;
  Reason operator()(const Fuse& p) const;
  Reason operator()(const Reorder& p) const;
  Reason operator()(const Unroll& p) const;
  Reason operator()(const Roll& p) const;
  Reason operator()(const Vectorize& p) const;
  Reason operator()(const Parallel& p) const;
  Reason operator()(const Bind& p) const;
  Reason operator()(const CacheWrite& p) const;
  Reason operator()(const Keep& p) const;
  Reason operator()(const Restrict& p) const;
  Reason operator()(const Inline& p) const;
  Reason operator()(const Prefetch& p) const;
  Reason operator()(const Tensorize& p) const;

  // Conditions on the schedule as it stands.
  Reason why_not_in_lanes() const;
  Reason why_sums_are_lost() const;
  Reason why_not_a_register_tile() const;
  Reason why_not_called() const;

 private:
  Reason why_not_a_loop(const std::string& name) const;
  Reason why_not_serial(const std::string& name) const;
  Reason why_not_a_name(const std::string& name) const;
  Nest within_shared() const;
  Reason why_not_neighbours(const std::string& outer, const std::string& inner) const;
  Reason why_last_is_shorter(const Loop& loop) const;
  Reason why_listed(const Loop& loop) const;
};

}  // namespace bf_aot::loop

#pragma once

#include <memory>
#include <vector>

#include "aot/decide/request.h"
#include "aot/decide/search/search.h"
#include "frontend/passes/specification/mixes.h"

namespace bf_aot::decide {

// Bounds of a network's outputs in real arithmetic: those of a method and of intervals, where mixes
// lie between what they are mixes of. See docs/proofs/mixes.md.
class MixedBounds {
 public:
  MixedBounds(const Graph& network, const ModelInfo& info, const Request& request, Method method);

  const engine::HostVerifier& host() const { return *host_; }

  // Bounds the outputs, and behind them what they are mixes of.
  engine::Bounds bounds(const input::FloatBox& box) const;

 private:
  std::vector<MixedOutputs::Mix> mixes_;
  std::vector<MixedOutputs::Copy> copies_;
  std::unique_ptr<const engine::HostVerifier> host_, intervals_;  // null: host_ has intervals
};

// Bounds cases whose conditions are each on one output, and splits nothing. Null where no output is
// a mix.
std::unique_ptr<Search> make_mix_search(const Graph& network, const ModelInfo& info,
                                        const Property& property, const Request& request);

}  // namespace bf_aot::decide

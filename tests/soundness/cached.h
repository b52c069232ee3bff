#pragma once

#include <string>
#include <vector>

#include "tests/soundness/engine_call.h"
#include "tests/soundness/random_net.h"

// Verifiers with a cache: networks with a specification, and one verifier's context.
namespace bf_aot::soundness {

// A chain of dense ReLU layers with weights of size one.
Net plain_net(const std::vector<int>& widths, std::uint64_t seed);

// Rows on the outputs, few or as many as there are outputs.
LinearSpec random_spec(Random& random, int outputs);

// The network as a graph whose last output holds the specification's rows.
Graph graph_with_spec(const Net& net, const LinearSpec& spec);

using Cached = bf_status (*)(void*, std::size_t, const float*, const float*, float*, float*, void*,
                             std::size_t);
using Init = bf_status (*)(void*, std::size_t);
using Counters = bf_status (*)(const void*, std::size_t, bf_cache_counters*);
using Save = bf_status (*)(const void*, std::size_t, void*, std::size_t);
using Load = bf_status (*)(void*, std::size_t, const void*, std::size_t);

// A verifier's context, with guarded memory around all that a call may write.
class CachedVerifier {
 public:
  // The plan is kept by whoever calls.
  CachedVerifier(const Plan& plan, Callee callee);
  // Network `net` of a batch.
  CachedVerifier(const Batch& batch, std::size_t net);

  const Plan& plan() const { return *plan_; }
  bf_status init();
  Outcome bounds(const FloatBox& box) { return run(false, box); }
  Outcome spec_bounds(const FloatBox& box) { return run(true, box); }
  Outcome plain(bool spec, const FloatBox& box) const;
  bf_cache_counters counters();

  std::vector<unsigned char> save();
  bf_status load(const std::vector<unsigned char>& blob);

  // A context with the same contents elsewhere.
  CachedVerifier copy() const;

  std::size_t blob_bytes() const;
  void* context() { return context_.data(); }
  std::size_t context_bytes() const { return static_cast<std::size_t>(plan().context.bytes); }

 private:
  Outcome run(bool spec, const FloatBox& box);
  engine::Arguments arguments() const;

  const Plan* plan_;
  Callee callee_;
  mutable Arena context_;
};

}  // namespace bf_aot::soundness

#include "tests/soundness/cached.h"

#include <cstring>
#include <stdexcept>
#include <utility>

#include "frontend/passes/pipeline.h"

namespace bf_aot::soundness {

Net plain_net(const std::vector<int>& widths, std::uint64_t seed) {
  Random random(seed);
  std::uniform_real_distribution<float> number(-1, 1);
  Net net;
  net.label = "plain";
  for (std::size_t i = 0; i + 1 < widths.size(); ++i) {
    NetLayer layer;
    layer.in = widths[i];
    layer.out = widths[i + 1];
    layer.relu = i + 2 < widths.size();
    for (int k = 0; k < layer.in * layer.out; ++k)
      layer.weight.push_back(static_cast<double>(number(random)));
    for (int k = 0; k < layer.out; ++k) layer.bias.push_back(static_cast<double>(number(random)));
    net.layers.push_back(std::move(layer));
  }
  return net;
}

LinearSpec random_spec(Random& random, int outputs) {
  LinearSpec spec;
  spec.rows.resize(static_cast<std::size_t>(pick(random, 1, 4)));
  for (std::vector<double>& row : spec.rows)
    for (int j = 0; j < outputs; ++j) row.push_back(pick(random, -2, 2));
  return spec;
}

Graph graph_with_spec(const Net& net, const LinearSpec& spec) {
  Graph graph = to_graph(net);
  PassOptions passes;
  passes.spec = &spec;
  normalise(graph, passes);
  return graph;
}

CachedVerifier::CachedVerifier(const Plan& plan, Callee callee)
    : plan_(&plan),
      callee_(std::move(callee)),
      context_(static_cast<std::size_t>(plan.context.bytes),
               static_cast<std::size_t>(plan.config.target.align)) {
  context_.fill(0xa5);
}

CachedVerifier::CachedVerifier(const Batch& batch, std::size_t net)
    : CachedVerifier(batch.plan(net), callee_of(batch, net)) {}

engine::Arguments CachedVerifier::arguments() const {
  engine::Arguments a;
  a.context.memory = context_.data();
  a.context.bytes = context_bytes();
  return a;
}

bf_status CachedVerifier::init() {
  return callee_({Purpose::kContextInit}, arguments());
}

Outcome CachedVerifier::run(bool spec, const FloatBox& box) {
  const Signature signature = {Purpose::kBounds, spec, false, true};
  return call_bounds(*plan_, callee_, signature, {box}, {&context_, nullptr, 0xff}).boxes.front();
}

Outcome CachedVerifier::plain(bool spec, const FloatBox& box) const {
  return call_bounds(*plan_, callee_, {Purpose::kBounds, spec}, {box}).boxes.front();
}

bf_cache_counters CachedVerifier::counters() {
  bf_cache_counters counters;
  engine::Arguments a = arguments();
  a.context.counters = &counters;
  if (callee_({Purpose::kCacheCounters}, a) != BF_OK) throw std::logic_error("no counters");
  return counters;
}

std::size_t CachedVerifier::blob_bytes() const {
  return BF_BLOB_HEADER_BYTES + static_cast<std::size_t>(plan().context.persistent_bytes);
}

std::vector<unsigned char> CachedVerifier::save() {
  Arena blob(blob_bytes(), 1);
  engine::Arguments a = arguments();
  a.context.blob = blob.data();
  a.context.blob_bytes = blob_bytes();
  if (callee_({Purpose::kContextSave}, a) != BF_OK || !blob.guards_intact())
    throw std::logic_error("no blob");
  const auto* bytes = static_cast<const unsigned char*>(blob.data());
  return {bytes, bytes + blob_bytes()};
}

bf_status CachedVerifier::load(const std::vector<unsigned char>& blob) {
  engine::Arguments a = arguments();
  a.context.from_blob = blob.data();
  a.context.blob_bytes = blob.size();
  const bf_status status = callee_({Purpose::kContextLoad}, a);
  if (!context_.guards_intact()) throw std::logic_error("written outside the context");
  return status;
}

CachedVerifier CachedVerifier::copy() const {
  CachedVerifier made(*plan_, callee_);
  std::memcpy(made.context(), context_.data(), context_bytes());
  return made;
}

}  // namespace bf_aot::soundness

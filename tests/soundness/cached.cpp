#include "tests/soundness/cached.h"

#include <cstring>
#include <stdexcept>

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

CachedVerifier::CachedVerifier(const Batch& batch, std::size_t net)
    : batch_(&batch),
      net_(net),
      context_(static_cast<std::size_t>(batch.plan(net).context.bytes),
               static_cast<std::size_t>(batch.plan(net).config.target.align)) {
  context_.fill(0xa5);
}

bf_status CachedVerifier::init() {
  return reinterpret_cast<Init>(batch_->symbol(net_, "_context_init"))(context(), context_bytes());
}

Outcome CachedVerifier::run(const char* suffix, bool spec, const FloatBox& box) {
  const auto count = static_cast<std::size_t>(spec ? plan().spec_rows : plan().output_count);
  const auto bytes = static_cast<std::size_t>(plan().arena_bytes());
  Arena arena(bytes, static_cast<std::size_t>(plan().config.target.align));
  arena.fill(0xff);
  Outcome outcome{BF_OK, std::vector<float>(count, 12345.0F), std::vector<float>(count, 54321.0F)};
  const auto function = reinterpret_cast<Cached>(batch_->symbol(net_, suffix));
  outcome.status = function(context(), context_bytes(), box.lower.data(), box.upper.data(),
                            outcome.lower.data(), outcome.upper.data(), arena.data(), bytes);
  if (!arena.guards_intact() || !context_.guards_intact())
    throw std::logic_error("written outside the workspace or the context");
  return outcome;
}

Outcome CachedVerifier::plain(bool spec, const FloatBox& box) const {
  const auto count = static_cast<std::size_t>(spec ? plan().spec_rows : plan().output_count);
  const auto bytes = static_cast<std::size_t>(plan().arena_bytes());
  Arena arena(bytes, static_cast<std::size_t>(plan().config.target.align));
  arena.fill(0xaa);
  Outcome outcome{BF_OK, std::vector<float>(count), std::vector<float>(count)};
  const Batch::Bounds function = spec ? batch_->spec_bounds(net_) : batch_->bounds(net_);
  outcome.status = function(box.lower.data(), box.upper.data(), outcome.lower.data(),
                            outcome.upper.data(), arena.data(), bytes);
  return outcome;
}

bf_cache_counters CachedVerifier::counters() {
  bf_cache_counters counters;
  const auto function = reinterpret_cast<Counters>(batch_->symbol(net_, "_cache_counters"));
  if (function(context(), context_bytes(), &counters) != BF_OK)
    throw std::logic_error("no counters");
  return counters;
}

std::size_t CachedVerifier::blob_bytes() const {
  return BF_BLOB_HEADER_BYTES + static_cast<std::size_t>(plan().context.persistent_bytes);
}

std::vector<unsigned char> CachedVerifier::save() {
  Arena blob(blob_bytes(), 1);
  const auto function = reinterpret_cast<Save>(batch_->symbol(net_, "_context_save"));
  if (function(context(), context_bytes(), blob.data(), blob_bytes()) != BF_OK ||
      !blob.guards_intact())
    throw std::logic_error("no blob");
  const auto* bytes = static_cast<const unsigned char*>(blob.data());
  return {bytes, bytes + blob_bytes()};
}

bf_status CachedVerifier::load(const std::vector<unsigned char>& blob) {
  const auto function = reinterpret_cast<Load>(batch_->symbol(net_, "_context_load"));
  const bf_status status = function(context(), context_bytes(), blob.data(), blob.size());
  if (!context_.guards_intact()) throw std::logic_error("written outside the context");
  return status;
}

CachedVerifier CachedVerifier::copy() const {
  CachedVerifier made(*batch_, net_);
  auto& from = const_cast<Arena&>(context_);
  std::memcpy(made.context(), from.data(), context_bytes());
  return made;
}

}  // namespace bf_aot::soundness

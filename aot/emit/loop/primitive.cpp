#include "aot/emit/loop/primitive.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace bf_aot::loop {
namespace {

struct Text {
  std::string operator()(const Split& p) const {
    return fmt::format("split({}, {}, {})", p.loop, p.step, p.outer);
  }
  std::string operator()(const Tile& p) const {
    return fmt::format("tile({}, {}, {}, {}, {}, {})", p.loops[0], p.loops[1], p.steps[0],
                       p.steps[1], p.outers[0], p.outers[1]);
  }
  std::string operator()(const Fuse& p) const {
    return fmt::format("fuse({}, {}, {})", p.outer, p.inner, p.fused);
  }
  std::string operator()(const Reorder& p) const {
    return fmt::format("reorder({})", fmt::join(p.order, ", "));
  }
  std::string operator()(const Unroll& p) const {
    return p.factor == 0 ? fmt::format("unroll({})", p.loop)
                         : fmt::format("unroll({}, {})", p.loop, p.factor);
  }
  std::string operator()(const Roll& p) const { return fmt::format("roll({})", p.loop); }
  std::string operator()(const Vectorize& p) const { return fmt::format("vectorize({})", p.loop); }
  std::string operator()(const Parallel& p) const { return fmt::format("parallel({})", p.loop); }
  std::string operator()(const Bind& p) const {
    return fmt::format("bind({}, {}, {})", p.loop, p.stride, p.items);
  }
  std::string operator()(const CacheWrite& p) const {
    return fmt::format("cache_write({})", p.loop);
  }
  std::string operator()(const Keep& p) const { return fmt::format("keep({})", p.let); }
  std::string operator()(const Restrict& p) const {
    return fmt::format("restrict({}, {}, {})", p.axis, p.begin, p.end);
  }
  std::string operator()(const Inline& p) const { return fmt::format("inline({})", p.let); }
  std::string operator()(const Prefetch& p) const {
    return fmt::format("prefetch({}, {})", p.buffer, p.bytes);
  }
  std::string operator()(const Tensorize& p) const {
    return fmt::format("tensorize({}, {})", p.loop, p.intrinsic);
  }
};

}  // namespace

std::string to_string(const Primitive& primitive) {
  return std::visit(Text{}, primitive);
}

}  // namespace bf_aot::loop

#include "aot/engine/run/constants.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "aot/engine/run/pool.h"
#include "frontend/diagnostic.h"
#include "planner/lowering/weight_tables.h"

namespace bf_aot::engine {
namespace {

int narrow(std::int64_t value) {
  return static_cast<int>(value);  // the planner refuses what a verifier's int does not hold
}

void copy(const Extent& from, int (&to)[3]) {
  for (std::size_t d = 0; d < 3; ++d) to[d] = narrow(from[d]);
}

}  // namespace

bf::ImageStrides strides_of(const ImageLayout& layout) {
  bf::ImageStrides made = {narrow(layout.offset), narrow(layout.batch), narrow(layout.channel), {}};
  for (std::size_t d = 0; d < 3; ++d) made.spatial[d] = narrow(layout.spatial[d]);
  return made;
}

bf::ConvShape shape_of(const ConvGeometry& g) {
  bf::ConvShape made = {};
  made.batch = narrow(g.batch);
  made.groups = narrow(g.groups);
  made.in_channels = narrow(g.in_channels);
  made.out_channels = narrow(g.out_channels);
  copy(g.in_size, made.in_size);
  copy(g.out_size, made.out_size);
  copy(g.kernel, made.kernel);
  copy(g.stride, made.stride);
  copy(g.dilation, made.dilation);
  copy(g.pad, made.pad);
  made.transposed = g.transposed;
  made.in = strides_of(g.in);
  made.out = strides_of(g.out);
  return made;
}

bf::Image image_of(const RowImage& image) {
  bf::Image made = {narrow(image.batch), narrow(image.channels), {}, strides_of(image.layout)};
  copy(image.size, made.size);
  return made;
}

void Constants::Free::operator()(std::byte* memory) const {
  std::free(memory);
}

Constants::Constants(const Lowered& lowered) {
  const Plan& plan = lowered.plan();
  const std::vector<WeightTable>& tables = lowered.tables();
  const auto align = static_cast<std::size_t>(plan.config.target.align);
  blob_bytes_ = static_cast<std::size_t>(blob_bytes(tables, plan.config.target.align));
  // Zeros for what tables are padded with. Large ones are pages that nothing has to clear.
  memory_.reset(static_cast<std::byte*>(std::calloc(1, blob_bytes_ + align)));
  if (memory_ == nullptr)
    fail("BF3504", "weights", fmt::format("there is no memory for {} bytes", blob_bytes_),
         "a smaller network needs less");
  void* begin = memory_.get();
  std::size_t room = blob_bytes_ + align;
  blob_ = static_cast<std::byte*>(
      std::align(align, std::max<std::size_t>(blob_bytes_, 1), begin, room));
  std::vector<const WeightTable*> own;
  for (const WeightTable& table : tables) {
    tables_[{table.layer, table.term, table.kind}] = table.offset;
    if (table.same_as < 0) own.push_back(&table);
  }
  constexpr std::size_t kWorthSharing = 1 << 22;  // bytes
  const int workers = blob_bytes_ < kWorthSharing ? 1 : plan.config.workers;
  share(static_cast<std::size_t>(workers), own.size(),
        [&](std::size_t i, std::size_t) { pack_table(plan, *own[i], blob_ + own[i]->offset); });
}

const void* Constants::table(const calls::Table& table) const {
  return blob_ + tables_.at({table.layer, table.term, table.kind});
}

const std::int32_t* Constants::sources(const StridedView& view) {
  for (const auto& [known, table] : sources_)
    if (known == view) return table->data();
  auto table = std::make_unique<std::vector<std::int32_t>>();
  const int count = view.count[0] * view.count[1] * view.count[2] * view.count[3];
  for (int i = 0; i < count; ++i) {
    const int third = i / view.count[3], second = third / view.count[2];
    table->push_back(
        view.offset + i % view.count[3] * view.stride[3] + third % view.count[2] * view.stride[2] +
        second % view.count[1] * view.stride[1] + second / view.count[1] * view.stride[0]);
  }
  sources_.emplace_back(view, std::move(table));
  return sources_.back().second->data();
}

}  // namespace bf_aot::engine

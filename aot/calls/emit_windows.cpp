#include <fmt/format.h>

#include <algorithm>

#include "aot/calls/emit_terms.h"
#include "aot/calls/step_emitter.h"
#include "frontend/diagnostic.h"
#include "planner/entries/live_pixels.h"
#include "planner/entries/row_images.h"

// Windows of backward rows: docs/proofs/windows.md.

namespace bf_aot {
namespace {

// Numbers, since names of layers are taken by buffers.
std::string image_name(int tensor) {
  return fmt::format("image{}", tensor + 1);
}
std::string window_name(int tensor) {
  return fmt::format("window{}", tensor + 1);
}

}  // namespace

void StepEmitter::declare_images(const BackwardRows& step) {
  for (const RowImage& image : step.images)
    line(fmt::format("constexpr bf::Image {}{{{}, {}, {}, {}}};  // {}", image_name(image.tensor),
                     image.batch, image.channels, extent_literal(image.size),
                     strides_literal(image.layout),
                     image.tensor < 0 ? "the box" : layer(image.tensor).name));
}

// What the readers of each tensor read, from the tile's neurons on.
void StepEmitter::find_windows(const BackwardRows& step) {
  if (step.images.empty()) return;
  mark("windows");
  for (const RowImage& image : step.images) {
    std::string window;
    const auto add = [&](const std::string& read) {
      window = window.empty() ? read : fmt::format("bf::unite({}, {})", window, read);
    };
    const auto add_reads = [&](int reader) {
      const std::vector<Term>& terms = layer(reader).terms;
      for (int t = 0; t < static_cast<int>(terms.size()); ++t) {
        const Term& each = terms[static_cast<std::size_t>(t)];
        if (each.input != image.tensor) continue;
        const bool conv = std::holds_alternative<ConvMap>(each.map);
        if (find_image(step, reader) == nullptr)
          add(fmt::format("bf::whole({}.in_size)", shapes_.at({reader, t})));
        else if (conv)
          add(fmt::format("bf::read_window({}, {})", shapes_.at({reader, t}), window_name(reader)));
        else
          add(window_name(reader));
      }
    };
    if (image.tensor == step.layer)
      add(fmt::format("bf::window_of({}, {} + first, {})", image_name(image.tensor),
                      name(step.neurons), step.tile / 2));
    else
      add_reads(step.layer);
    for (const BackwardLink& link : step.links) add_reads(link.layer);
    line(fmt::format("const bf::Window {} = {};", window_name(image.tensor), window));
  }
}

std::string StepEmitter::window_of(const BackwardRows& step, int tensor) const {
  if (find_image(step, tensor) == nullptr) return {};
  return image_name(tensor) + ", " + window_name(tensor);
}

// Of the layer's first convolution, as the network lays out its images.
std::string StepEmitter::made_shape(int index) const {
  const std::vector<Term>& terms = layer(index).terms;
  const auto conv = std::ranges::find_if(
      terms, [](const Term& term) { return std::holds_alternative<ConvMap>(term.map); });
  BF_CHECK(conv != terms.end());
  return shapes_.at({index, static_cast<int>(conv - terms.begin())});
}

std::string StepEmitter::live_of(const BackwardRows& step, int tensor) const {
  const auto link = std::ranges::find(step.links, tensor, &BackwardLink::layer);
  if (link == step.links.end() || link->live == BufferId::kNone) return "bf::AllLive{}";
  return fmt::format("bf::LivePixels{{{}}}", name(link->live));
}

// The image of a layer with a list, where its coefficients are, and which of its pixels have some.
StepEmitter::Arguments StepEmitter::row_image(const BackwardRows& step, int index) {
  const std::string image = image_name(index);
  if (find_image(step, index) != nullptr)
    return {image, fmt::format("bf::by_pixels({})", image), window_name(index)};
  const std::string shape = made_shape(index);
  return {fmt::format("bf::image_made({})", shape), shape + ".out",
          fmt::format("bf::whole({}.out_size)", shape)};
}

// Through the relaxation of a layer with a list.
void StepEmitter::relax_live(const BackwardRows& step, const BackwardLink& link,
                             const std::string& offsets, const std::string& to) {
  Arguments arguments = row_image(step, link.layer);
  const std::string live = live_of(step, link.layer);
  const DeadZeros where = dead_zeros(plan_, step, link);
  const std::string zeros = where == DeadZeros::kWhereMany
                                ? live + ".many()"
                                : (where == DeadZeros::kAlways ? "true" : "false");
  arguments.insert(arguments.end(),
                   {std::to_string(layer(link.layer).out), name(link.table), offsets, live, zeros,
                    name(link.coefficients_in), to, name(step.sums)});
  call(row_routine("relax_pixels", step), arguments);
}

// Of a tensor whose next link reads a list, before rows are added to its coefficients.
bool StepEmitter::clear_live(const BackwardRows& step, int tensor, BufferId coefficients) {
  const auto link = std::ranges::find(step.links, tensor, &BackwardLink::layer);
  if (link == step.links.end() || link->live == BufferId::kNone) return false;
  Arguments arguments = row_image(step, tensor);
  arguments.insert(arguments.end(), {live_of(step, tensor), name(coefficients)});
  call(row_routine("clear_live", step), arguments);
  return true;
}

// Through the identity, to what another term or clear_window() has left.
void StepEmitter::add_live(const BackwardRows& step, const BackwardLink& link, int input,
                           const std::string& from, BufferId to) {
  const std::string image = image_name(link.layer);
  const bool window = find_image(step, input) != nullptr;
  call(row_routine("add_live", step),
       {image, window ? fmt::format("bf::by_pixels({})", image) : image + ".at",
        window_name(link.layer), live_of(step, link.layer), from, name(to)});
}

std::string StepEmitter::rows_shape(const BackwardRows& step, int index, int number,
                                    bool start) const {
  return rows_shape_name(shapes_.at({index, number}),
                         rows_order(plan_, step, index, number, start));
}

std::string StepEmitter::window_or_whole(const BackwardRows& step, int tensor,
                                         const std::string& size) const {
  if (find_image(step, tensor) != nullptr) return window_name(tensor);
  return fmt::format("bf::whole({})", size);
}

bool StepEmitter::clear_window(const BackwardRows& step, int tensor, const BackwardOut& out) {
  const std::string window = window_of(step, tensor);
  if (window.empty()) return false;
  if (!out.add) call(row_routine("clear_window", step), {window, name(out.coefficients)});
  return true;
}

}  // namespace bf_aot

#include "planner/entries/row_images.h"

#include <algorithm>
#include <set>

namespace bf_aot {
namespace {

// What a term reads of a tensor. of_reader: null where the term's layer has no window.
std::optional<RowImage> image_through(const Term& term, LayerId reader, const RowImage* of_reader) {
  const auto* const conv = std::get_if<ConvMap>(&term.map);
  if (conv != nullptr) {
    const bool agree = of_reader == nullptr || image_made(conv->geometry, reader) == *of_reader;
    return agree ? std::optional(image_read(conv->geometry, term.input)) : std::nullopt;
  }
  if (of_reader == nullptr || !is_identity(term.map)) return std::nullopt;
  RowImage same = *of_reader;
  same.tensor = term.input;
  return same;
}

// Whether coefficients over the layer may lie pixel by pixel: all of its terms take them so.
bool goes_by_pixels(const Plan& plan, LayerId index) {
  const Layer& layer = plan.layer(index);
  return layer.kind == LayerKind::kSum && std::ranges::all_of(layer.terms, [](const Term& term) {
           return std::holds_alternative<ConvMap>(term.map) || is_identity(term.map);
         });
}

// Whether its convolutions make the image.
bool makes(const Plan& plan, const RowImage& image) {
  return std::ranges::all_of(plan.layer(image.tensor).terms, [&](const Term& term) {
    const auto* const conv = std::get_if<ConvMap>(&term.map);
    return conv == nullptr || image_made(conv->geometry, image.tensor) == image;
  });
}

// As all readers see it, if they do.
std::optional<RowImage> image_read_by_all(const Plan& plan, const std::set<LayerId>& readers,
                                          LayerId tensor, const std::vector<RowImage>& known) {
  std::optional<RowImage> image;
  for (const LayerId reader : readers) {
    const Layer& layer = plan.layer(reader);
    const auto inputs = inputs_of(layer);
    if (std::ranges::count(inputs, tensor) == 0) continue;
    if (layer.kind != LayerKind::kSum) return std::nullopt;
    const auto window = std::ranges::find(known, reader, &RowImage::tensor);
    for (const Term& term : layer.terms) {
      if (term.input != tensor) continue;
      const std::optional<RowImage> seen =
          image_through(term, reader, window == known.end() ? nullptr : &*window);
      if (!seen || (image && !(*image == *seen))) return std::nullopt;
      image = seen;
    }
  }
  return image;
}

}  // namespace

bool is_identity(const LinearMap& map) {
  const auto* const gather = std::get_if<GatherMap>(&map);
  return gather != nullptr && gather->source.empty();
}

RowImage image_read(const ConvGeometry& g, LayerId tensor) {
  return {tensor, g.batch, g.in_channels, g.in_size, g.in};
}

RowImage image_made(const ConvGeometry& g, LayerId tensor) {
  return {tensor, g.batch, g.out_channels, g.out_size, g.out};
}

std::optional<RowImage> image_made(const Layer& layer, LayerId tensor) {
  std::optional<RowImage> image;
  for (const Term& term : layer.terms) {
    const auto* const conv = std::get_if<ConvMap>(&term.map);
    if (conv == nullptr) continue;
    const RowImage made = image_made(conv->geometry, tensor);
    if (image && !(*image == made)) return std::nullopt;
    image = made;
  }
  return image;
}

std::vector<RowImage> row_images(const Plan& plan, const BackwardRows& step) {
  std::vector<RowImage> images;
  if (step.iterations > 0) return images;
  if (const auto own = image_made(plan.layer(step.layer), step.layer)) images.push_back(*own);
  const bool neurons = !images.empty();
  std::set<LayerId> readers = {step.layer};
  for (const BackwardLink& link : step.links) readers.insert(link.layer);
  for (const BackwardLink& link : step.links) {
    if (!goes_by_pixels(plan, link.layer)) continue;
    if (const auto image = image_read_by_all(plan, readers, link.layer, images);
        image && makes(plan, *image))
      images.push_back(*image);
  }
  if (const auto image = image_read_by_all(plan, readers, -1, images)) images.push_back(*image);
  if (neurons && images.size() == 1) images.clear();  // nothing below has a window
  return images;
}

}  // namespace bf_aot

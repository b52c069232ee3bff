#include "planner/entries/row_images.h"

#include <algorithm>
#include <map>
#include <set>

namespace bf_aot {
namespace {

// The image as which a term reads its tensor. of_reader: null where its layer has no window.
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

// Returns true if coefficients over the layer may lie pixel by pixel, as all of its terms allow it.
bool goes_by_pixels(const Plan& plan, LayerId index) {
  const Layer& layer = plan.layer(index);
  return layer.kind == LayerKind::kSum && std::ranges::all_of(layer.terms, [](const Term& term) {
           return std::holds_alternative<ConvMap>(term.map) || is_identity(term.map);
         });
}

// Returns true if all convolutions of the image's layer make that image.
bool makes(const Plan& plan, const RowImage& image) {
  return std::ranges::all_of(plan.layer(image.tensor).terms, [&](const Term& term) {
    const auto* const conv = std::get_if<ConvMap>(&term.map);
    return conv == nullptr || image_made(conv->geometry, image.tensor) == image;
  });
}

using Readers = std::map<LayerId, std::vector<LayerId>>;  // of each tensor, among a step's layers
using Images = std::map<LayerId, RowImage>;               // by tensor

Readers readers_of(const Plan& plan, const BackwardRows& step) {
  std::set<LayerId> layers = {step.layer};
  for (const BackwardLink& link : step.links) layers.insert(link.layer);
  Readers readers;
  for (const LayerId layer : layers)
    for (const LayerId input : inputs_of(plan.layer(layer))) {
      std::vector<LayerId>& of_input = readers[input];
      if (of_input.empty() || of_input.back() != layer) of_input.push_back(layer);
    }
  return readers;
}

// The image as which all readers read the tensor; null where they do not agree.
std::optional<RowImage> image_read_by_all(const Plan& plan, const Readers& readers, LayerId tensor,
                                          const Images& known) {
  const auto found = readers.find(tensor);
  if (found == readers.end()) return std::nullopt;
  std::optional<RowImage> image;
  for (const LayerId reader : found->second) {
    const Layer& layer = plan.layer(reader);
    if (layer.kind != LayerKind::kSum) return std::nullopt;
    const auto window = known.find(reader);
    for (const Term& term : layer.terms) {
      if (term.input != tensor) continue;
      const std::optional<RowImage> seen =
          image_through(term, reader, window == known.end() ? nullptr : &window->second);
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
  Images known;
  const auto add = [&](const RowImage& image) {
    images.push_back(image);
    known.emplace(image.tensor, image);
  };
  if (const auto own = image_made(plan.layer(step.layer), step.layer)) add(*own);
  const bool neurons = !images.empty();
  const Readers readers = readers_of(plan, step);
  for (const BackwardLink& link : step.links) {
    if (!goes_by_pixels(plan, link.layer)) continue;
    if (const auto image = image_read_by_all(plan, readers, link.layer, known);
        image && makes(plan, *image))
      add(*image);
  }
  if (const auto image = image_read_by_all(plan, readers, -1, known)) add(*image);
  if (neurons && images.size() == 1) images.clear();  // nothing below has a window
  return images;
}

}  // namespace bf_aot

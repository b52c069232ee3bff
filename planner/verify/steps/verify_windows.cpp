#include <algorithm>
#include <map>
#include <vector>

#include "planner/verify/steps/verify_steps.h"

// Windows of backward rows, docs/proofs/windows.md: what is outside of a
// tensor's window must have coefficients of zero. Written apart from row_images.cpp.
namespace bf_aot {
namespace {

bool same_image(const RowImage& image, std::int64_t batch, std::int64_t channels,
                const Extent& size, const ImageLayout& layout) {
  return image.batch == batch && image.channels == channels && image.size == size &&
         image.layout == layout;
}

// Every element of the tensor is at one place of the image.
void check_places(const RowImage& image, std::int64_t elements) {
  std::vector<bool> taken(static_cast<std::size_t>(elements));
  std::int64_t places = 0;
  for (std::int64_t n = 0; n < image.batch; ++n)
    for (std::int64_t c = 0; c < image.channels; ++c)
      for (std::int64_t z = 0; z < image.size[0]; ++z)
        for (std::int64_t y = 0; y < image.size[1]; ++y)
          for (std::int64_t x = 0; x < image.size[2]; ++x, ++places) {
            const std::int64_t place = image.layout.at(n, c, {z, y, x});
            const bool places_are_of_the_tensor = place >= 0 && place < elements;
            BF_CHECK(places_are_of_the_tensor);
            const bool places_are_distinct = !taken[static_cast<std::size_t>(place)];
            BF_CHECK(places_are_distinct);
            taken[static_cast<std::size_t>(place)] = true;
          }
  BF_CHECK(places == elements);
}

// Checks that a layer reads through a term an `image` whose window follows from the layer's own, or
// the whole image where the layer has no window (null).
void check_term(const Term& term, const RowImage& image, const RowImage* reader) {
  if (const auto* const conv = std::get_if<ConvMap>(&term.map)) {
    const ConvGeometry& g = conv->geometry;
    BF_CHECK(reader == nullptr || same_image(*reader, g.batch, g.out_channels, g.out_size, g.out));
    BF_CHECK(same_image(image, g.batch, g.in_channels, g.in_size, g.in));
    return;
  }
  const auto* const gather = std::get_if<GatherMap>(&term.map);
  BF_CHECK(gather != nullptr && gather->source.empty() && !gather->view);
  BF_CHECK(reader != nullptr);
  const RowImage& own = *reader;
  BF_CHECK(same_image(image, own.batch, own.channels, own.size, own.layout));
}

}  // namespace

void check_windows(const Plan& plan, const BackwardRows& step) {
  if (step.images.empty()) return;
  BF_CHECK(step.iterations == 0);  // walks forward go through whole tensors
  std::map<LayerId, const RowImage*> of_tensor;
  LayerId last = step.layer.next();
  for (const RowImage& image : step.images) {
    BF_CHECK(image.tensor < last && image.tensor >= kNetworkInput);  // readers come first
    last = image.tensor;
    of_tensor[image.tensor] = &image;
    check_places(image,
                 image.tensor < 0 ? plan.input_count : checked_layer(plan, image.tensor).out);
  }
  std::vector<LayerId> readers = {step.layer};
  for (const BackwardLink& link : step.links) readers.push_back(link.layer);
  for (const LayerId reader : readers) {
    const Layer& layer = checked_layer(plan, reader);
    for (std::size_t i = 0; i < inputs_of(layer).size(); ++i) {
      const auto image = of_tensor.find(inputs_of(layer)[i]);
      if (image == of_tensor.end()) continue;
      const auto own = of_tensor.find(reader);
      BF_CHECK(layer.kind == LayerKind::kSum);
      check_term(layer.terms[i], *image->second, own == of_tensor.end() ? nullptr : own->second);
    }
  }
  // Links without a routine for windows would read coefficients in another order.
  for (const auto& [tensor, image] : of_tensor) {
    if (tensor < 0 || tensor == step.layer) continue;
    const Layer& layer = checked_layer(plan, tensor);
    BF_CHECK(layer.kind == LayerKind::kSum);
    for (const Term& term : layer.terms) {
      if (const auto* const conv = std::get_if<ConvMap>(&term.map)) {
        const ConvGeometry& g = conv->geometry;
        BF_CHECK(same_image(*image, g.batch, g.out_channels, g.out_size, g.out));
        continue;
      }
      const auto* const gather = std::get_if<GatherMap>(&term.map);
      BF_CHECK(gather != nullptr && gather->source.empty() && !gather->view);
    }
  }
}

}  // namespace bf_aot

#include <set>

#include "planner/lowering/lower_rows.h"
#include "planner/lowering/walk.h"

// Windows of backward rows: docs/proofs/windows.md.

namespace bf_aot::calls {
namespace {

// Adds the reads of a layer to the window of a tensor, which grows from the tile's neurons on.
void add_reads(const Lowering& l, const BackwardRows& step, LayerId reader, DefineWindow& window) {
  const std::vector<Term>& terms = l.layer(reader).terms;
  for (int t = 0; t < static_cast<int>(terms.size()); ++t) {
    const Term& term = terms[static_cast<std::size_t>(t)];
    if (term.input != window.tensor) continue;
    const Shape shape = {reader, t};
    if (find_image(step, reader) == nullptr)
      window.reads.push_back({WindowRead::Kind::kWhole, shape, reader});
    else if (std::holds_alternative<ConvMap>(term.map))
      window.reads.push_back({WindowRead::Kind::kThroughConvolution, shape, reader});
    else
      window.reads.push_back({WindowRead::Kind::kSame, {}, reader});
  }
}

// The tensors whose windows, or images, calls take by name.
struct Named {
  std::set<LayerId> windows, images;
};

void add_image(const Image& image, Named& named) {
  if (image.made.empty()) named.images.insert(image.tensor);
}

Named named_in(const Body& body) {
  Named named;
  for_each_call(body, [&](const Call& call) {
    for (const Argument& each : call.arguments) {
      if (const auto* const window = std::get_if<Window>(&each);
          window != nullptr && window->of == Window::Of::kTensor)
        named.windows.insert(window->tensor);
      if (const auto* const image = std::get_if<Image>(&each)) add_image(*image, named);
      if (const auto* const strides = std::get_if<Strides>(&each)) add_image(strides->image, named);
    }
  });
  return named;
}

// Adds the images of windows, which bodies inside of others define.
void add_images_of_windows(const Body& body, Named& named) {
  for (const Node& node : body) {
    if (const auto* const window = std::get_if<DefineWindow>(&node.what);
        window != nullptr && window->count > 0)
      named.images.insert(window->tensor);
    if (const auto* const tiles = std::get_if<Tiles>(&node.what))
      add_images_of_windows(tiles->body, named);
    if (const auto* const fits = std::get_if<IfFits>(&node.what)) {
      add_images_of_windows(fits->fits, named);
      add_images_of_windows(fits->other, named);
    }
  }
}

}  // namespace

void drop_unread_windows(Body& body) {
  std::set<LayerId> read = named_in(body).windows;
  for (std::size_t i = body.size(); i-- > 0;) {
    const auto* const window = std::get_if<DefineWindow>(&body[i].what);
    if (window == nullptr) continue;
    if (!read.contains(window->tensor)) {
      body.erase(body.begin() + static_cast<std::ptrdiff_t>(i));
      continue;
    }
    for (const WindowRead& each : window->reads)
      if (each.kind != WindowRead::Kind::kWhole) read.insert(each.reader);
  }
}

void drop_unread_images(Body& body) {
  Named named = named_in(body);
  add_images_of_windows(body, named);
  std::erase_if(body, [&](const Node& node) {
    const auto* const image = std::get_if<DefineImage>(&node.what);
    return image != nullptr && !named.images.contains(image->image.tensor);
  });
}

void define_images(Lowering& l, const BackwardRows& step) {
  for (const RowImage& image : step.images) l.add({DefineImage{image}});
}

void define_windows(Lowering& l, const BackwardRows& step) {
  if (step.images.empty()) return;
  l.part("windows");
  for (const RowImage& image : step.images) {
    DefineWindow window;
    window.tensor = image.tensor;
    if (image.tensor == step.layer) {
      window.neurons = at_first(step.neurons);
      window.count = step.tile / 2;
    } else {
      add_reads(l, step, step.layer, window);
    }
    for (const BackwardLink& link : step.links) add_reads(l, step, link.layer, window);
    l.add({std::move(window)});
  }
}

Arguments window_of(const BackwardRows& step, LayerId tensor) {
  if (find_image(step, tensor) == nullptr) return {};
  return {Image{tensor, {}}, Window{Window::Of::kTensor, tensor, {}}};
}

Window window_or_whole(const BackwardRows& step, LayerId tensor, Window::Of of,
                       const Shape& shape) {
  if (find_image(step, tensor) != nullptr) return {Window::Of::kTensor, tensor, {}};
  return {of, tensor, shape};
}

Shape rows_shape(const Lowering& l, const BackwardRows& step, LayerId layer, int term, bool start) {
  return {layer, term, find_image(step, l.term(layer, term).input) != nullptr,
          !start && find_image(step, layer) != nullptr};
}

bool clear_window(Lowering& l, const BackwardRows& step, LayerId tensor, const BackwardOut& out) {
  Arguments arguments = window_of(step, tensor);
  if (arguments.empty()) return false;
  arguments.push_back(at(out.coefficients));
  if (!out.add) l.call(Routine::kClearWindow, rows_of(step), std::move(arguments));
  return true;
}

}  // namespace bf_aot::calls

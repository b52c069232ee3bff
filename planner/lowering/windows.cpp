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

// Visits a body for the tensors whose windows calls take by name, and whose images calls and
// windows do.
struct Named {
  std::set<LayerId>&windows, &images;

  void operator()(const Call& call) const {
    for (const Argument& each : call.arguments) {
      if (const auto* const window = std::get_if<Window>(&each);
          window != nullptr && window->of == Window::Of::kTensor)
        windows.insert(window->tensor);
      if (const auto* const image = std::get_if<Image>(&each)) add(*image);
      if (const auto* const strides = std::get_if<Strides>(&each)) add(strides->image);
    }
  }
  void operator()(const DefineWindow& window) const {
    if (window.count > 0) images.insert(window.tensor);
  }
  void add(const Image& image) const {
    if (image.made.empty()) images.insert(image.tensor);
  }
};

}  // namespace

void drop_unread_windows(Body& body) {
  std::set<LayerId> read, images;
  for_each_call(body, Named{read, images});
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
  std::set<LayerId> windows, read;
  for_each_call(body, Named{windows, read});
  std::erase_if(body, [&](const Node& node) {
    const auto* const image = std::get_if<DefineImage>(&node.what);
    return image != nullptr && !read.contains(image->image.tensor);
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

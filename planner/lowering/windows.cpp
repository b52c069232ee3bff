#include "planner/lowering/lower_rows.h"

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

}  // namespace

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

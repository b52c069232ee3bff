#pragma once

#include "planner/lowering/lower.h"

// Parts of backward rows. `step` is the tile that the calls are for: a step, or its `last`.

namespace bf_aot::calls {

std::vector<TemplateArgument> rows_of(const BackwardRows& step);
// The second half of the sums: the spread.
Argument spread_of(const BackwardRows& step);

// rows.cpp: one tile, from the weights to tighter bounds.
void rows_once(Lowering& l, const BackwardRows& step);

// links.cpp: coefficients over a layer's activations -> over its inputs.
void start_term(Lowering& l, const BackwardRows& step, const BackwardOut& out);
void lower_link(Lowering& l, const BackwardRows& step, const BackwardLink& link);
// Adds what rows gain at a link with a ball, before its coefficients are passed on.
void ball_gain(Lowering& l, const BackwardRows& step, const BackwardLink& link);

// relax_rows.cpp: the relaxation of a dense or sum layer, apart from its products. What its
// products read is relaxed_of().
void relax_link(Lowering& l, const BackwardRows& step, const BackwardLink& link, const Kernel& how);
BufferId relaxed_of(const BackwardLink& link);
// Clears the live coefficients of a tensor whose next link reads a list, before rows are added to
// them; returns whether the tensor has a list.
bool clear_live(Lowering& l, const BackwardRows& step, LayerId tensor, BufferId coefficients);
// Adds live coefficients through the identity to what another term or clear_window() has left.
void add_live(Lowering& l, const BackwardRows& step, const BackwardLink& link, LayerId input,
              BufferId to);
Live live_of(const BackwardRows& step, LayerId tensor);

// windows.cpp: rows that see a part of their images.
void define_images(Lowering& l, const BackwardRows& step);
void define_windows(Lowering& l, const BackwardRows& step);
// Drops what no call below reads, of a tile's body, and of the step's.
void drop_unread_windows(Body& body);
void drop_unread_images(Body& body);
// The arguments that say which part of a tensor with a window; none for another.
Arguments window_of(const BackwardRows& step, LayerId tensor);
Window window_or_whole(const BackwardRows& step, LayerId tensor, Window::Of of, const Shape& shape);
// The shape of a convolution between rows; of the first coefficients, outputs are neurons.
Shape rows_shape(const Lowering& l, const BackwardRows& step, LayerId layer, int term, bool start);
// Clears a tensor with a window before its first share; returns whether it has one.
bool clear_window(Lowering& l, const BackwardRows& step, LayerId tensor, const BackwardOut& out);

// slopes.cpp: rows with slopes of their own.
Place slopes_of(const Lowering& l, const BackwardRows& step, const BackwardLink& link);
void choose_slopes(Lowering& l, const BackwardRows& step);

}  // namespace bf_aot::calls

#pragma once

#include <optional>
#include <string>

#include "planner/plan/plan.h"

namespace bf_aot {

// Says what a dense layer's kernel does in the forward pass besides its sums.
struct ForwardKernel {
  bool relu = false;
  bool head = false;     // writes to the caller
  bool live_in = false;  // of the inputs that a list has
};

// How a kernel multiplies rows by a dense layer's weights.
struct RowKernel {
  bool wide = false;      // sums in double, rounded once
  bool plain = false;     // of coefficients that are relaxed already
  bool live_out = false;  // of the neurons that a list has
  bool live_in = false;   // of the columns that a list has
};

// Chooses weight layouts and kernels: one Kernel per distinct key. The choices follow the measured
// rules of docs/proofs/schedules.md.
class LoweringPlanner {
 public:
  explicit LoweringPlanner(Plan& plan);

  // Makes all kernels that are chosen later serve so many boxes side by side.
  void use_boxes(int boxes) { boxes_ = boxes; }

  // Lanes of a vector of floats; 1: scalar code.
  int lanes() const { return lanes_; }

  // Rows of a backward tile whose target has `neurons` candidates (both signs are rows). wide: sums
  // are in double. asked: 0 for the configured number or, without one, the planner's own.
  int row_tile(int neurons, bool wide, int asked) const;
  // Rows of a smaller tile for the last of `neurons`, of which all have rows or an unknown number;
  // 0 where it would save nothing, or little of so many tiles.
  int last_tile(int neurons, bool all, bool wide, int tile) const;

  // map: of the kernel.
  KernelId bind(KernelKind kind, std::string_view map = "");
  KernelId forward(KernelKind kind, LayerId layer, const ForwardKernel& how);
  KernelId relax(LayerId layer);
  KernelId start_rows(LayerId layer, int tile);
  KernelId backward(LayerId layer, int tile, const RowKernel& how);
  // start_rows(layer, tile) and backward(below, tile, ..) in one routine, for layers below of few
  // inputs; whether there is one.
  bool has_first_link(LayerId below, int tile) const;
  KernelId first_link(LayerId layer, LayerId below, int tile, bool live_out);
  KernelId concretize(int tile);
  // Forward lines: of a layer over the box, through a layer, of its activation.
  KernelId start_lines(LayerId layer);
  KernelId forward_lines(LayerId layer);
  KernelId relax_lines(LayerId layer);

  // Routines of the runtime for the other kinds of layers; `kind` is kTermInterval, kTermCentre,
  // kTermStart or kTermBackward. tile, wide: of the last two.
  KernelId term(KernelKind kind, LayerId layer, int term, int tile = 0, bool wide = false);
  KernelId relax_rows(LayerId layer, int tile, bool wide);
  // The kernel of a product or max layer: kRelaxProduct, kRelaxMax, kIntervalMax.
  KernelId nonlinear(KernelKind kind, LayerId layer);
  // Kernels of rows that choose their slopes: relax_rows with these, the walk forward through a
  // term (-1: through a dense layer), and the step of the slopes.
  KernelId relax_free_rows(LayerId layer, int tile, bool wide);
  KernelId forward_rows(LayerId layer, int term, int tile);
  KernelId step_slopes(LayerId layer, int tile, bool chosen);

  // Longest chain of float32 roundings of one backward sum through a term, with `readers` readers
  // of its input adding to the same coefficients.
  static int term_depth(const Term& term, int readers);

  // Longest chain of float32 roundings of one interval sum through all terms of a sum layer.
  static int interval_depth(const Layer& layer);

  // Longest chain of float32 roundings of one sum in forward(kind, layer), backward(layer).
  bool comes_from_memory(const Layer& layer) const;
  int forward_depth(KernelKind kind, LayerId layer) const;  // of kForwardLines, too
  int backward_depth(LayerId layer) const;
  // Blocks of neurons that backward(layer) sums one after the other.
  int backward_blocks(LayerId layer) const;

  const Kernel& kernel(KernelId id) const { return plan_.kernel(id); }

 private:
  int panel_of(LayerId layer) const;
  int backward_chunk(LayerId layer) const;
  int forward_chunk(KernelKind kind, LayerId layer) const;
  int box_columns(LayerId layer) const;
  Schedule lines_schedule(LayerId layer) const;
  bool is_prebuilt() const { return plan_.config.lowering == Lowering::kPrebuilt; }
  bool is_of_device() const { return bf_aot::is_of_device(plan_.config.language); }
  int padded_rows(int rows, bool wide) const;
  void use_row_lanes(Kernel& kernel, int tile, bool wide) const;
  void use_conv_tile(Kernel& kernel, bool depthwise) const;
  KernelId rows_routine(KernelKind kind, const std::string& map, int in, int out, int tile,
                        bool wide);
  Kernel dense(KernelKind kind, LayerId layer) const;
  KernelId intern(Kernel kernel);
  std::optional<Rejected> tune(Kernel& kernel) const;

  Plan& plan_;
  int lanes_ = 1;
  int boxes_ = 1;
};

}  // namespace bf_aot

#pragma once

#include <string>
#include <vector>

#include "planner/entries/build_entries.h"
#include "planner/network/error_terms.h"

namespace bf_aot {

// Makes one entry: its steps in order, their buffers, and the error terms of each. What every
// constant pays for, with proofs: the notes that the parts below name.
class EntryBuilder {
 public:
  // boxes: side by side; see Entry::boxes.
  EntryBuilder(Plan& plan, LoweringPlanner& lowering, EntryKind kind, int boxes = 1);

  Entry build();

 private:
  // Bounds of a layer's activations, as its readers see them.
  struct Activation {
    BufferId centre = BufferId::kNone, radius = BufferId::kNone;
  };

  // State of a tensor that backward steps read.
  struct Relaxed {
    BufferId centre = BufferId::kNone, below = BufferId::kNone, above = BufferId::kNone;
    BufferId radius = BufferId::kNone, slack = BufferId::kNone, table = BufferId::kNone;
    BufferId choice = BufferId::kNone;
    BufferId slopes = BufferId::kNone;
  };

  // Buffers for the coefficients of one BackwardRows.
  class CoefficientSlots;
  // And for the values of tensors on the way forward.
  class ValueSlots;
  // And for tables that are made anew.
  class Repeats;

  const Layer& layer(int index) const { return plan_.layers[static_cast<std::size_t>(index)]; }
  int layer_count() const { return static_cast<int>(plan_.layers.size()); }
  int elements(int index) const { return index < 0 ? plan_.input_count : layer(index).out; }

  bool is_needed(int index) const { return needed_[static_cast<std::size_t>(index)]; }
  int position(int index) const { return position_[static_cast<std::size_t>(index)]; }
  bool is_head(int index) const { return position(index) >= 0; }
  // Reads of a tensor (-1: the box) by needed layers.
  int readers(int index) const { return readers_[static_cast<std::size_t>(index + 1)]; }
  bool has_reader(int index) const { return readers(index) > 0; }

  double drop(ErrorTerm which, double value) const { return term(config_, which, value); }

  BufferId buffer(std::string name, Element element, std::int64_t count);
  int padded(int index) const;
  void mark_needed(const std::vector<int>& heads);
  bool is_dense() const;
  bool has_float_intervals() const;

  // The list of a layer's live neurons, after the step that makes its activation.
  void list_live(int index);
  double row_products(int index) const;
  BufferId live_inputs(int index) const;
  BufferId live(int index) const {
    return index < 0 ? BufferId::kNone : live_[static_cast<std::size_t>(index)];
  }

  // build_entries.cpp: docs/proofs/interval-pass.md
  int interval_depth(int index) const;
  double product_gamma(int index, int depth, ErrorTerm which) const;
  double reader_gamma(int index);
  double centre_gamma(int index);
  void build_interval();
  template <typename IntervalStep>
  void set_interval_errors(int index, int products, IntervalStep& step);
  void interval_affine(int index, const Activation& out);
  void interval_sum(int index, const Activation& out, bool head);
  void interval_max(int index, const Activation& out);
  void build_evaluate();

  // centred_steps.cpp: docs/proofs/centre-path.md and docs/proofs/backward-pass.md
  void build_centred();
  double radius_inflate(int index);
  const Activation& activation(int index) const {
    return index < 0 ? box_ : activations_[static_cast<std::size_t>(index)];
  }
  bool keeps_tables() const;
  void add_state(int index, bool interval, Relaxed& state);
  void centre_affine(int index, bool interval, Relaxed& state);
  void centre_sum(int index, Relaxed& state);
  int backward_depth(int index) const;
  double wide_gamma(int index) const;
  double offset_gamma(int index) const;
  double free_offset_gamma(int index) const;
  Activation add_activation(int index);
  void relax(int index, Relaxed& state);
  template <typename NonlinearStep>
  void finish_nonlinear(KernelKind kind, int index, const Relaxed& state, NonlinearStep step);
  void relax_product(int index, Relaxed& state);
  void relax_max(int index, Relaxed& state);

  // line_steps.cpp: docs/proofs/forward-lines.md
  bool has_lines() const;
  int lines_depth(int index) const;
  double lines_gamma(int index) const;
  double lines_concretize() const;
  LineBounds line_bounds(int index);
  BufferId add_lines(int index);
  void start_lines(int index, const Relaxed& state);
  void forward_lines(int index);
  void tighten_lines(int index, Relaxed& state);
  void relax_lines(int index, const Relaxed& state);

  // backward_steps.cpp: docs/proofs/backward-pass.md
  void tighten(int index, const Relaxed& state);
  bool tightens_hidden() const;  // some hidden layer has backward bounds
  void tighten_optimised(int index, const Relaxed& state);
  BackwardRows begin_rows(int index, const Relaxed& state, const std::string& name);
  std::vector<bool> cone_of(int index) const;
  int longest_path(int index) const;
  void start(int index, BackwardRows& step, CoefficientSlots& slots);
  bool can_start_in_first_link(int index, const BackwardRows& step) const;
  BackwardLink link(int index, CoefficientSlots& slots);
  void choose_slopes(const std::string& name, BackwardRows& step);
  void walk_forward(const std::string& name, BackwardRows& step);
  void mark_free_slopes();
  std::vector<BackwardOut> outs(int index, CoefficientSlots& slots);
  void pass_back(int index, BackwardRows& step, CoefficientSlots& slots);
  void fuse_spread(BackwardRows& step);
  void use_lists(BackwardRows& step);
  void choose_kernels(BackwardRows& step);
  void end_smaller(BackwardRows& step);
  void add_row_errors(int index, BackwardRows& step);
  void remake_tables(const std::string& name, BackwardRows& step);  // remade_tables.cpp

  Plan& plan_;
  const PlannerConfig& config_;
  LoweringPlanner& lowering_;
  Entry entry_;
  std::vector<bool> needed_;
  std::vector<int> position_;
  std::vector<int> readers_;  // of the box, then of each layer
  std::vector<Relaxed> relaxed_;
  std::vector<bool> free_slopes_;  // ReLU layers below rows that choose slopes
  std::vector<Activation> activations_;
  std::vector<BufferId> lines_, activation_lines_;  // forward lines of z and a, by layer
  std::vector<BufferId> live_;                      // kNone: not listed
  std::vector<int> centre_step_, relax_step_;  // that made a layer's centres, and its relaxation
  Activation box_;
};

}  // namespace bf_aot

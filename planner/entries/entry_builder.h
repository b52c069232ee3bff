#pragma once

#include <string>
#include <unordered_set>
#include <vector>

#include "planner/entries/build_entries.h"
#include "planner/network/error_terms.h"

namespace bf_aot {

// The most products in one sum of a layer of several terms, and the additions of these.
int most_products(const Layer& layer);

// State that the parts of an entry's builder share: the entry so far, its layers and buffers, and
// roundings that several of them pay for.
class EntryState {
 protected:
  // boxes: side by side; see Entry::boxes.
  EntryState(Plan& plan, LoweringPlanner& lowering, EntryKind kind, int boxes);
  void use_method(Method method) { entry_.by = method; }

  // Bounds of a layer's activations, as its readers see them.
  struct Activation {
    BufferId centre = BufferId::kNone, radius = BufferId::kNone;
  };

  // State of a tensor that backward steps read.
  struct Relaxed {
    BufferId centre = BufferId::kNone, below = BufferId::kNone, above = BufferId::kNone;
    BufferId radius = BufferId::kNone, slack = BufferId::kNone, row_slack = BufferId::kNone;
    BufferId table = BufferId::kNone;
    BufferId choice = BufferId::kNone;
    BufferId slopes = BufferId::kNone;
    BufferId reach = BufferId::kNone;  // MeetBall::reach
  };

  const Layer& layer(LayerId index) const { return plan_.layer(index); }
  const DomainChoice& choice(LayerId index) const { return plan_.domain(entry_, index); }
  LayerId layer_count() const { return plan_.layers.end_id(); }
  int elements(LayerId index) const { return index < 0 ? plan_.input_count : layer(index).out; }
  bool is_needed(LayerId index) const { return needed_[index]; }
  int position(LayerId index) const { return position_[index]; }
  bool is_head(LayerId index) const { return position(index) >= 0; }
  // Reads of a tensor by needed layers.
  int readers(LayerId index) const { return readers_[index]; }
  bool has_reader(LayerId index) const { return readers(index) > 0; }
  double drop(ErrorTerm which, double value) const { return term(config_, which, value); }

  const Activation& activation(LayerId index) const {
    return index < 0 ? box_ : activations_[index];
  }
  BufferId live(LayerId index) const { return index < 0 ? BufferId::kNone : live_[index]; }
  BufferId buffer(std::string name, Element element, std::int64_t count);
  int padded(LayerId index) const;
  void mark_needed(const std::vector<LayerId>& heads);
  // The tensors whose values or boxes a layer is made of: of means that are boxes alone, scores in
  // place of shares.
  std::vector<LayerId> read_by(const Layer& reader) const;
  bool is_dense() const;
  // The processor has no doubles, and the layers' functions have tables in float32.
  bool has_float_functions() const;
  // Plain inference, which counts no errors of its own: functions are taken at computed centres.
  bool is_evaluation() const;
  bool has_float_intervals() const;
  bool keeps_tables() const;

  // The list of a layer's live neurons, after the step that makes its activation.
  void list_live(LayerId index);
  double row_products(LayerId index) const;
  BufferId live_inputs(LayerId index) const;
  Activation add_activation(LayerId index);

  int interval_depth(LayerId index) const;
  double product_gamma(LayerId index, int depth, ErrorTerm which) const;
  double float_bias(LayerId index) const;
  double reader_gamma(LayerId index);
  double centre_gamma(LayerId index);
  double radius_inflate(LayerId index);

  Plan& plan_;
  const PlannerConfig& config_;
  LoweringPlanner& lowering_;
  Entry entry_;
  std::unordered_set<std::string> buffer_names_;
  PerLayer<bool> needed_;
  PerLayer<int> position_;
  PerTensor<int> readers_;
  PerLayer<Relaxed> relaxed_;
  PerLayer<bool> free_slopes_;  // layers below rows that choose their lines
  PerLayer<Activation> activations_;
  PerLayer<BufferId> lines_, activation_lines_;  // forward lines of z and a, by layer
  PerLayer<BufferId> live_;                      // kNone: not listed
  PerLayer<int> centre_step_, relax_step_;       // that made a layer's centres, and its relaxation
  Activation box_;
};

// Backward rows: docs/proofs/backward-pass.md. backward_steps.cpp, slope_steps.cpp,
// remade_tables.cpp.
class BackwardSteps : protected EntryState {
 protected:
  using EntryState::EntryState;

  void tighten(LayerId index, const Relaxed& state);
  bool tightens_hidden() const;  // some hidden layer has backward bounds
  void tighten_optimised(LayerId index, const Relaxed& state);
  void mark_free_slopes();
  void check_links() const;

 private:
  // Buffers for the coefficients of one BackwardRows.
  class CoefficientSlots;
  // Buffers for the values of tensors on the way forward.
  class ValueSlots;
  // Steps and buffers that make tables anew.
  class Repeats;

  BackwardRows begin_rows(LayerId index, const Relaxed& state, const std::string& name);
  PerLayer<bool> cone_of(LayerId index) const;
  int longest_path(LayerId index) const;
  void start(LayerId index, BackwardRows& step, CoefficientSlots& slots);
  bool can_start_in_first_link(LayerId index, const BackwardRows& step) const;
  bool gains_in_ball(LayerId index) const;
  BackwardLink link(LayerId index, CoefficientSlots& slots);
  void choose_slopes(const std::string& name, BackwardRows& step);
  void walk_forward(const std::string& name, BackwardRows& step);
  std::vector<BackwardOut> outs(LayerId index, CoefficientSlots& slots);
  void pass_back(LayerId index, BackwardRows& step, CoefficientSlots& slots);
  void fuse_spread(BackwardRows& step);
  void use_lists(BackwardRows& step);
  void choose_kernels(BackwardRows& step);
  void end_smaller(BackwardRows& step);
  double concretize_inflate(bool wide) const;
  double one_hot_slack(bool wide) const;
  void add_row_errors(LayerId index, BackwardRows& step);
  void remake_tables(const std::string& name, BackwardRows& step);  // remade_tables.cpp
};

// Forward lines: docs/proofs/forward-lines.md. line_steps.cpp.
class LineSteps : protected BackwardSteps {
 protected:
  using BackwardSteps::BackwardSteps;

  bool has_lines() const;
  void start_lines(LayerId index, const Relaxed& state);
  void forward_lines(LayerId index);
  void tighten_lines(LayerId index, Relaxed& state);
  void relax_lines(LayerId index, const Relaxed& state);

 private:
  int lines_depth(LayerId index) const;
  double lines_gamma(LayerId index) const;
  double lines_concretize() const;
  LineBounds line_bounds(LayerId index);
  BufferId add_lines(LayerId index);
};

// Centres in double, and relaxations: docs/proofs/centre-path.md. centred_steps.cpp.
class CentredSteps : protected LineSteps {
 protected:
  using LineSteps::LineSteps;

  void build_centred();

 private:
  void add_state(LayerId index, bool interval, Relaxed& state);
  template <typename CentreStep>
  void add_magnitudes(LayerId index, std::int64_t in, double centre, CentreStep& step);
  template <typename CentreStep>
  void add_row_slack(LayerId index, double products, CentreStep& step);
  void centre_affine(LayerId index, bool interval, Relaxed& state);
  void centre_sum(LayerId index, Relaxed& state);
  int backward_depth(LayerId index) const;
  double wide_gamma(LayerId index) const;
  double offset_gamma(LayerId index) const;
  double free_offset_gamma(LayerId index) const;
  bool is_in_ball(LayerId tensor) const;
  void meet_ball(LayerId index, Relaxed& state);
  void relax(LayerId index, Relaxed& state);
  template <typename NonlinearStep>
  void finish_nonlinear(KernelKind kind, LayerId index, const Relaxed& state, NonlinearStep step);
  void free_table(LayerId index, Relaxed& state);
  void add_table(LayerId index, const char* name, std::int64_t floats, Relaxed& state);
  void relax_product(LayerId index, Relaxed& state);
  void relax_max(LayerId index, Relaxed& state);
  void relax_log_softmax(LayerId index, Relaxed& state);
  void relax_contraction(LayerId index, Relaxed& state);
};

// Makes one entry: its steps in order, their buffers, and the error terms of each. What every
// constant pays for, with proofs: the notes that the parts name. Intervals in float32 and inference
// here: docs/proofs/interval-pass.md. build_entries.cpp.
class EntryBuilder : private CentredSteps {
 public:
  EntryBuilder(Plan& plan, LoweringPlanner& lowering, EntryKind kind, int boxes = 1)
      : CentredSteps(plan, lowering, kind, boxes) {}
  // The entry is of one of Plan::cheaper.
  EntryBuilder(Plan& plan, LoweringPlanner& lowering, EntryKind kind, Method by)
      : CentredSteps(plan, lowering, kind, 1) {
    use_method(by);
  }

  Entry build();

 private:
  void build_interval();
  template <typename IntervalStep>
  void set_interval_errors(LayerId index, int products, IntervalStep& step);
  void interval_affine(LayerId index, const Activation& out);
  void interval_sum(LayerId index, const Activation& out, bool head);
  void interval_max(LayerId index, const Activation& out);
  void interval_product(LayerId index, const Activation& out);
  void build_evaluate();
  std::vector<LayerId> written_as(LayerId index) const;
  bool has_dense_reader(LayerId index) const;
};

}  // namespace bf_aot

#pragma once

#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "aot/interface/emit.h"
#include "frontend/diagnostic.h"
#include "planner/lowering/weight_tables.h"
#include "planner/plan/plan.h"

namespace bf_aot {

// The least float that is at least `value`, as a literal: error terms only grow.
std::string literal_up(double value);

// "out_lower + 3": a place in the caller's arrays.
std::string at_position(const std::string& array, int position);

// "bf::sparse_backward<32>": a routine for the rows of a tile.
std::string row_routine(const std::string& function, const BackwardRows& step);

// Prints the steps of an entry point as calls of kernels and of the runtime, a block per task.
class StepEmitter {
 public:
  StepEmitter(const Plan& plan, const Entry& entry, const Instruments& instruments);

  std::string text();

 private:
  using Arguments = std::vector<std::string>;

  const Layer& layer(int index) const { return plan_.layers[static_cast<std::size_t>(index)]; }
  const Term& term(int index, int number) const {
    return layer(index).terms[static_cast<std::size_t>(number)];
  }
  const Kernel& kernel(KernelId id) const { return plan_.kernels[static_cast<std::size_t>(id)]; }
  const std::string& name(BufferId id) const { return entry_.buffer(id).name; }
  // "nullptr" for no buffer, and for a table that is left out.
  std::string name_or_null(BufferId id) const;
  std::string table(int index, TableKind kind) const { return term_table(index, -1, kind); }
  std::string term_table(int index, int number, TableKind kind) const;
  // Where a gather term reads: a table, strides, or nullptr for the identity.
  std::string sources(int index, int number) const;
  std::string origin(const Task& task) const;

  // Lines are indented by two more for each block that is open.
  void line(const std::string& text);
  void call(const std::string& function, const Arguments& arguments);
  void declare(const Buffer& buffer);
  void emit_step(int step);

  // Nothing without the instrument. The buffers that come to life with an op of the current step,
  // and those that die with it: those that live within a round of its ops, or the others.
  void poison_new(int op, bool in_a_round = false);
  void poison_dead(int op, bool in_a_round = false);
  void poison(const Buffer& buffer);
  bool lives_in_a_round(const Buffer& buffer) const;
  // In an instrumented verifier: the call that follows belongs to this part of the task.
  void mark(const std::string& part);
  void mark(KernelId id) { mark(kernel(id).function); }

  // emit_steps.cpp: dense layers and what all networks have
  void emit(const BindBox& step);
  void emit(const IntervalAffine& step);
  void emit(const CentreAffine& step);
  void call_centre(const CentreAffine& step);
  std::string summed_radius(const CentreAffine& step) const;
  void emit(const Relax& step);
  void relax_slopes(const Relax& step);
  std::string relax_errors(const Relax& step, double offset) const;
  void emit(const ListLive& step);
  void emit(const WriteBounds& step);
  void emit(const EvaluateAffine& step);

  // emit_lines.cpp: forward lines, of one box or of several
  void emit(const StartLines& step);
  void emit(const ForwardLines& step);
  void emit(const TightenLines& step);
  void emit(const RelaxLines& step);
  // "bf::start_lines<16>": a routine for the entry's boxes.
  std::string lines_routine(const char* function) const;
  std::string line_bounds(const LineBounds& bounds) const;
  // Elements from one row of a pre-activation's lines to the next.
  std::int64_t line_stride(int layer) const;

  // emit_cached.cpp: what calls keep for each other
  void emit(const MeetAnchor& step);
  void emit(const KeepAnchor& step);
  void emit(const MeetOutputs& step);
  void open_part(int first_step);
  void close_part(int next_step);

  // emit_terms.cpp: sums, products, maxima
  void emit(const IntervalSum& step);
  void emit(const IntervalMax& step);
  void emit(const CentreSum& step);
  void emit(const RelaxProduct& step);
  void emit(const RelaxMax& step);
  void emit(const WriteValues& step);
  void interval_term(const IntervalSum& step, int number);
  void centre_term(const CentreSum& step, int number);
  std::string interval_errors(double inflate, double relative, double absolute) const;
  // A term's map, weights and remainders, if the routine takes any.
  std::vector<std::string> term_arguments(int layer, int number, bool remainders) const;

  // emit_rows.cpp
  void emit(const BackwardRows& step);
  std::string row_list(const BackwardRows& step) const;
  void list_rows(const BackwardRows& step);
  void open_tile(const BackwardRows& step);
  void close_tile(const BackwardRows& step);
  std::vector<const Buffer*> buffers_of_tile(const BackwardRows& step) const;
  void poison_tile(const BackwardRows& step);
  void rows_of_tile(const BackwardRows& step);
  void rows_once(const BackwardRows& step);
  void start_term(const BackwardRows& step, const BackwardOut& out);
  void link(const BackwardRows& step, const BackwardLink& link);
  void first_link(const BackwardRows& step, const BackwardLink& link);
  void dense_link(const BackwardRows& step, const BackwardLink& link);
  void sum_link(const BackwardRows& step, const BackwardLink& link);
  void conv_link(const BackwardRows& step, const BackwardLink& link, const BackwardOut& out,
                 const std::string& from);
  void product_link(const BackwardRows& step, const BackwardLink& link);
  void max_link(const BackwardRows& step, const BackwardLink& link);
  // The relaxation of a dense or sum layer, apart from its products; returns what these read.
  std::string relax_link(const BackwardRows& step, const BackwardLink& link, const Kernel& how);

  // emit_windows.cpp: rows that see a part of their images
  void declare_images(const BackwardRows& step);
  void find_windows(const BackwardRows& step);
  // "image3, window3" of a tensor that has a window; else empty.
  std::string window_of(const BackwardRows& step, int tensor) const;
  // The shape of a convolution between rows; of the first coefficients, outputs are neurons.
  std::string rows_shape(const BackwardRows& step, int index, int number, bool start) const;
  std::string window_or_whole(const BackwardRows& step, int tensor, const std::string& size) const;
  // Before the first share of a tensor with a window; returns whether it did so.
  bool clear_window(const BackwardRows& step, int tensor, const BackwardOut& out);

  // Of layers with a list of live channels.
  std::string made_shape(int index) const;
  std::string live_of(const BackwardRows& step, int tensor) const;
  std::string spread_of(const BackwardRows& step) const;
  void concretize(const BackwardRows& step);
  Arguments row_image(const BackwardRows& step, int index);
  bool clear_live(const BackwardRows& step, int tensor, BufferId coefficients);
  void relax_live(const BackwardRows& step, const BackwardLink& link, const std::string& offsets,
                  const std::string& to);
  void add_live(const BackwardRows& step, const BackwardLink& link, int input,
                const std::string& from, BufferId to);

  // emit_slopes.cpp: rows with slopes of their own
  void optimise(const BackwardRows& step);
  std::string slopes_of(const BackwardRows& step, const BackwardLink& link) const;
  std::string begin_slopes(const BackwardRows& step);
  void walk(const BackwardRows& step, const BackwardLink& link);
  void forward(const BackwardRows& step, const BackwardLink& link);
  const std::string& values_of(const BackwardRows& step, int tensor) const;
  void follow_lines(const BackwardRows& step, const BackwardLink& link);

  // emit_boxes.cpp: several boxes side by side
  std::string box_routine(const char* function) const;
  std::string stride() const;
  void boxed(const BindBox& step);
  void boxed(const IntervalAffine& step);
  void boxed(const CentreAffine& step);
  void boxed(const Relax& step);
  void boxed(const BackwardRows& step);
  void boxed(const ListLive& step);
  void boxed(const WriteBounds& step);
  void boxed(const StartLines& step) { emit(step); }
  void boxed(const ForwardLines& step) { emit(step); }
  void boxed(const TightenLines& step) { emit(step); }
  void boxed(const RelaxLines& step) { emit(step); }
  template <typename OtherStep>
  void boxed(const OtherStep&) {
    BF_CHECK(!"a step of several boxes");
  }
  void list_box_rows(const BackwardRows& step);
  void box_rows_once(const BackwardRows& step);

  const Plan& plan_;
  const Entry& entry_;
  const Instruments instruments_;
  int step_ = 0;
  std::map<std::tuple<int, int, TableKind>, std::string> tables_;
  std::map<std::pair<int, int>, std::string> shapes_;  // of convolutions, by layer and term
  std::string text_;
  int depth_ = 1;
  int task_ = -1;
};

}  // namespace bf_aot

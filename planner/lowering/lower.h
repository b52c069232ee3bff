#pragma once

#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "planner/lowering/weight_tables.h"
#include "planner/plan/plan.h"
#include "planner/plan/program.h"

namespace bf_aot::calls {

using Arguments = std::vector<Argument>;

// Makes the program of one entry: what the functions below share. They append to its body.
class Lowering {
 public:
  // `tables`: weight_tables(plan).
  Lowering(const Plan& plan, const Entry& entry, const std::vector<WeightTable>& tables);

  Program run();

  const Plan& plan() const { return plan_; }
  const Entry& entry() const { return entry_; }
  const Layer& layer(LayerId index) const { return plan_.layer(index); }
  const Term& term(LayerId index, int number) const { return layer(index).term(number); }
  const Kernel& kernel(KernelId id) const { return plan_.kernel(id); }

  // Null where the table is left out.
  Argument table(LayerId layer, TableKind kind) const { return table(layer, -1, kind); }
  Argument table(LayerId layer, int term, TableKind kind) const;
  // The elements that a gather term reads: a table, strides, or null for the identity.
  Argument sources(LayerId layer, int term) const;

  void add(Node node) { body_.push_back(std::move(node)); }
  void part(std::string name) { add({Part{std::move(name)}}); }
  void part(KernelId id) { part(kernel(id).function); }
  void call(Callee callee, Arguments arguments);
  void call(Routine routine, std::vector<TemplateArgument> constants, Arguments arguments);
  // Returns what `fill` adds as a body of its own.
  template <typename Fill>
  Body within(Fill fill) {
    Body outer = std::exchange(body_, {});
    fill();
    return std::exchange(body_, std::move(outer));
  }

  // Asks whether there is time for the current step, or for a tile of its rows.
  void ask();

  // Lifetimes of buffers that begin with an op of the current step, and of those that end with it:
  // those that live within a round of its ops, or the others.
  void begin(int op, bool in_a_round = false);
  void end(int op, bool in_a_round = false);
  bool lives_in_a_round(const Buffer& buffer) const;

 private:
  using Lifetimes = std::map<std::pair<int, int>, std::vector<BufferId>>;  // by step and op

  void lower_step(int step);
  void add_lifetimes(const Lifetimes& at, int op, bool in_a_round);

  const Plan& plan_;
  const Entry& entry_;
  std::set<std::tuple<LayerId, int, TableKind>> tables_;
  Lifetimes begins_, ends_;  // of buffers that the run makes
  Body body_;
  int step_ = 0;
};

// The planes of a layer of products as those of a contraction: where its table has the offsets and
// the slopes over both factors.
struct Planes {
  ContractionShape shape;
  Arguments extents;  // batch, rows, columns, sums
  Argument offsets, over_x, over_y;
};

// Null for no buffer.
Argument at(BufferId buffer, std::int64_t offset = 0);
// The place in a buffer of the tile's first neuron.
Place at_first(BufferId buffer, std::int64_t factor = 1);
Given given(Array array, std::int64_t position = 0);
Integer number(std::int64_t value);
Constant exact(double value, Pays pays);
Constant rounded_up(double value, Pays pays);
Errors errors_of(const RelaxProduct& step);
void append(Arguments& to, Arguments more);

// |c| of a tensor of n elements; of all boxes.
void magnitudes(Lowering& l, BufferId centre, std::int64_t n, const CentreMagnitudes& to);
// Adds the call that makes intervals of the radii of a layer of n neurons with magnitudes.
template <typename CentreStep>
void interval_of_neurons(Lowering& l, std::int64_t n, const CentreStep& step) {
  const CentreMagnitudes& m = *step.magnitudes;
  l.part("interval_of_neurons");
  l.call(Routine::kIntervalOfNeurons,
         {at(m.out), number(n * l.entry().boxes), exact(step.inflate, Pays::kInflate),
          exact(m.relative, Pays::kWeightRelative), exact(m.absolute, Pays::kAbsolute),
          exact(m.pay, Pays::kPay), at(step.radius_out), at(step.below), at(step.above)});
}

// Gives each neuron a slack of its own: `sums` adds the calls that sum its terms. bias, run: as of
// start_sum().
template <typename CentreStep, typename Sums>
void row_slack(Lowering& l, const CentreStep& step, Argument bias, std::int64_t run, Sums sums) {
  const Integer n = number(l.layer(step.layer).out);
  const std::vector<TemplateArgument> boxes = {number(l.entry().boxes)};
  if (step.rows.bias == 0)
    return l.call(Routine::kCommonSlack, boxes, {n, at(step.slack), at(step.row_slack)});
  l.call(Routine::kStartRowSlack, boxes,
         {std::move(bias), n, number(run), at(step.radius_out),
          exact(step.rows.bias, Pays::kRowBias), at(step.slack), at(step.row_slack)});
  sums();
  l.call(Routine::kFinishRowSlack, boxes,
         {n, exact(step.centre_relative, Pays::kCentreRelative),
          exact(step.rows.absolute, Pays::kAbsolute), at(step.slack), at(step.row_slack)});
}

// Adds the call that makes activations of bounds of a layer's arguments, in place.
template <typename IntervalStep>
void interval_function(Lowering& l, const IntervalStep& step) {
  const Layer& layer = l.layer(step.layer);
  l.part("interval_function");
  l.call(Routine::kIntervalFunction,
         {number(std::int64_t{layer.out} * l.entry().boxes), FunctionOf{*layer.function, true},
          rounded_up(step.gamma, Pays::kGamma), at(step.centre_out), at(step.radius_out)});
}

// sums.cpp
Planes planes_of(const Lowering& l, LayerId layer, BufferId table);

// The layer's convolution, as the network lays out its images.
Shape shape_made(const Lowering& l, LayerId layer);

// dense.cpp
void lower(Lowering& l, const BindBox& step);
void lower(Lowering& l, const IntervalAffine& step);
void lower(Lowering& l, const CentreAffine& step);
void lower(Lowering& l, const Relax& step);
void lower(Lowering& l, const ListLive& step);
void lower(Lowering& l, const WriteBounds& step);
void lower(Lowering& l, const EvaluateAffine& step);
void lower(Lowering& l, const WriteValues& step);

// sums.cpp
void lower(Lowering& l, const IntervalSum& step);
void lower(Lowering& l, const IntervalMax& step);
void lower(Lowering& l, const CentreSum& step);
void lower(Lowering& l, const RelaxProduct& step);
void lower(Lowering& l, const RelaxMax& step);
void lower(Lowering& l, const RelaxLogSoftmax& step);
void lower(Lowering& l, const RelaxContraction& step);
void lower(Lowering& l, const MeetBall& step);

// lines.cpp, cached.cpp
void lower(Lowering& l, const StartLines& step);
void lower(Lowering& l, const ForwardLines& step);
void lower(Lowering& l, const TightenLines& step);
void lower(Lowering& l, const RelaxLines& step);
void lower(Lowering& l, const MeetAnchor& step);
void lower(Lowering& l, const KeepAnchor& step);
void lower(Lowering& l, const MeetOutputs& step);

// rows.cpp: a loop over tiles of neurons, or over rounds of several boxes
void lower(Lowering& l, const BackwardRows& step);

}  // namespace bf_aot::calls

#pragma once

#include <cmath>
#include <map>
#include <string>

#include "planner/cost/cost_model.h"
#include "planner/machine/machine_profile.h"
#include "planner/plan/plan.h"

namespace bf_aot {

// The work of one call of a kernel or routine.
struct Work {
  double float32 = 0, float64 = 0;    // flops that are needed
  double slots32 = -1, slots64 = -1;  // flops that the schedule takes the time of, idle lanes and
                                      // latencies included; -1: those that are needed
  double bytes = 0;
  double items = 0, groups = 0;  // see Family
};

// The time of a call.
struct CallTime {
  double seconds = 0;
  bool waits = false;  // its bytes take longer than its flops
};

// Runs of products of a convolution, by how its loops in runtime/ go.
struct ConvWork {
  double products = 0;
  double rows_of_taps = 0;  // pairs of a position's row and a tap's row that are inside the image
  double taps = 0;          // pairs of a position and a tap that are inside
};
ConvWork conv_work(const ConvGeometry& geometry);

// The number of units that hold `value`, the last one perhaps in part.
inline double divided_up(double value, double unit) {
  return std::ceil(value / unit);
}

// The number of mispredicted branches among `changes`, those that go another way than the time
// before. It is less: the pattern of a short layer of n neurons is learned when calls repeat.
double surprises(double changes, double n);

// Costs of an entry's steps.
class StepCoster {
 public:
  StepCoster(const Plan& plan, const Entry& entry, const MachineProfile& profile);

  StepCost cost(const Step& step, const StepActivity& activity);

 private:
  const Layer& layer(LayerId index) const { return plan_.layer(index); }
  const Kernel& kernel(KernelId id) const { return plan_.kernel(id); }
  double row_vectors(int rows) const;  // vectors that hold so many rows
  double peak(bool wide, int lanes) const;
  double bytes_of_layer(LayerId index) const;  // weights
  CallTime call_time(Family family, const Work& work, int lanes, double working_set) const;

  // `calls` of a part; lanes: of the code's vectors, 1 for scalar code.
  void add(Family family, const std::string& name, KernelId kernel, double calls, const Work& work,
           int lanes, double working_set);
  void add(Family family, const std::string& name, KernelId kernel, double calls, const Work& work);
  void add_writes(const char* name, int elements);

  void count(double calls, const Work& work, const CallTime& time);
  // Adds work to the calls that add() was last given.
  void also(Family family, double calls, const Work& work, double working_set = 0);
  void also_branches(double calls, double surprises);  // mispredicted in each

  // One overload per step: cost_steps.cpp
  void visit(const BindBox& step, const StepActivity&);
  void visit(const IntervalAffine& step, const StepActivity&);
  void visit(const IntervalSum& step, const StepActivity&);
  void visit(const IntervalMax& step, const StepActivity&);
  void visit(const CentreAffine& step, const StepActivity&);
  void visit(const CentreSum& step, const StepActivity&);
  void forward_term(LayerId layer, std::size_t number, KernelId kernel, bool narrow);
  void visit(const Relax& step, const StepActivity& activity);
  void visit(const RelaxProduct& step, const StepActivity&);
  void visit(const RelaxMax& step, const StepActivity&);
  void visit(const RelaxLogSoftmax& step, const StepActivity&);
  void visit(const RelaxContraction& step, const StepActivity&);
  void visit(const StartLines& step, const StepActivity&);
  void visit(const ForwardLines& step, const StepActivity&);
  void visit(const TightenLines& step, const StepActivity&);
  void visit(const RelaxLines& step, const StepActivity& activity);
  void visit(const ListLive& step, const StepActivity& activity);
  void visit(const WriteBounds& step, const StepActivity&);
  void visit(const EvaluateAffine& step, const StepActivity&);
  void visit(const WriteValues& step, const StepActivity&);
  void visit(const MeetBall& step, const StepActivity&);
  void visit(const MeetAnchor& step, const StepActivity&);
  void visit(const KeepAnchor& step, const StepActivity&);
  void visit(const MeetOutputs& step, const StepActivity&);

  // cost_rows.cpp
  void visit(const BackwardRows& step, const StepActivity& activity);
  void pass_back(const BackwardRows& step, double once, double neurons);
  void repeat(const RepeatedStep& step, double tiles);
  void ball_gain(const BackwardRows& step, const BackwardLink& link, double tiles);
  void choose_slopes(const BackwardRows& step, double tiles);
  void start_term(const BackwardRows& step, const BackwardOut& out, double tiles);
  void clear(const BackwardRows& step, double elements, double tiles);
  double share(LayerId tensor) const;       // of its elements that a tile of rows touches
  double live_share(LayerId tensor) const;  // of its elements that its list has; 1 without one
  Kernel live_part(KernelId id, LayerId input) const;
  void function_of(LayerId index, const char* routine);
  // The share of an image's pixels and channels that the list of live channels has; 1 without one.
  // See runtime/bf/sums/live.h.
  double live_pixels(const BackwardRows& step, LayerId tensor) const;
  void dense_link(const BackwardRows& step, const BackwardLink& link, double tiles);
  void sum_link(const BackwardRows& step, const BackwardLink& link, double tiles);
  void term_back(const BackwardRows& step, LayerId index, const BackwardOut& target, double tiles);
  void conv_back(const BackwardRows& step, LayerId index, const BackwardOut& target, double tiles);

  const Plan& plan_;
  const Entry& entry_;
  const MachineProfile& profile_;
  int lanes_ = 1;                     // floats in a vector of the target
  double working_set_ = 0;            // bytes that a call of the entry touches
  double rows_set_ = 0;               // bytes that a tile of the step at hand touches
  std::map<LayerId, double> shares_;  // window_shares() of the step at hand
  std::map<LayerId, double> live_;    // by layer, of the steps so far: neurons that its list has
  StepCost made_;
  std::size_t last_ = 0;  // part that add() went to
};

}  // namespace bf_aot

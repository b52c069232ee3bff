#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "frontend/property/property.h"
#include "planner/plan/plan.h"

namespace bf_aot::reference {

// Estimates in double what plans of one network find on boxes: for comparing plans, not for claims.
// Plans differ in their domains alone; what two of them have in common is computed once.
class Estimator {
 public:
  // plan.layers must stay as they are.
  explicit Estimator(const Plan& plan);
  ~Estimator();

  std::size_t add_box(const Box& box);  // its number, from 0

  // Lets backward rows bound at most so many of the neurons that a step bounds by them; the others
  // are estimated from these. Default: all.
  void set_most_rows(std::size_t most);

  struct Result {
    std::vector<double> widths;  // of the entry's heads' elements, in order
    std::vector<double> lower;   // of the same, and their upper bounds
    std::vector<double> upper;
    PerLayer<std::size_t> rows;     // neurons that backward rows bound
    PerLayer<std::size_t> bent;     // neurons whose relaxation is not exact
    PerLayer<std::size_t> changes;  // of a layer with an activation, those that are relaxed in
                                    // another way than the one before: see StepActivity
    PerLayer<std::size_t> turned;   // of a layer with a smooth function, those in whose interval
                                    // its curvature changes sign; by samples
    PerLayer<std::size_t> live;     // neurons that are not 0 on the whole box
    bool operator==(const Result&) const = default;
  };
  // An entry that bounds, of the plan as it is now.
  Result run(const Entry& entry, std::size_t box);

  // Operations spent so far, as work_of() counts them.
  double work() const;

 private:
  class Runs;
  std::unique_ptr<Runs> runs_;
};

// Operations of one step of a reference run: of a layer's map two for each product, and for a
// smooth function what its samples take. rows: neurons bounded backward.
double work_of(const Plan& plan, const Step& step, std::size_t rows);

}  // namespace bf_aot::reference

#pragma once

#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "aot/emit/calls/error_constants.h"
#include "aot/emit/text/dialect.h"
#include "planner/lowering/lowered.h"
#include "planner/plan/plan.h"
#include "planner/plan/program.h"

namespace bf_aot::emit {

// Additions to the code, for tests and measurements.
struct Instruments {
  // Fills the bytes of a buffer with this byte before the op that first writes them and after the
  // op that last touches them. Bounds that change by it read stale memory.
  std::optional<unsigned char> poison;
  // Calls the hook before each call of a kernel or routine, and at the end of an entry point.
  bool time_parts = false;
  // Marks the lines of steps, kernels, tables and functions, see aot/emit/text/marks.h.
  bool marks = false;
};

}  // namespace bf_aot::emit

namespace bf_aot::calls {

// Prints arguments and calls, by one overload for each kind.
class CallText {
 public:
  // errors: the names of error constants; null: constants are printed as numbers.
  CallText(const Lowered& lowered, const Entry& entry, const ErrorConstants* errors);

  std::string operator()(const Null& argument) const;
  std::string operator()(const Place& argument) const;
  std::string operator()(const ElementOf& argument) const;
  std::string operator()(const Given& argument) const;
  std::string operator()(const Local& argument) const;
  std::string operator()(const Table& argument) const;
  std::string operator()(const Integer& argument) const;
  std::string operator()(const Flag& argument) const;
  std::string operator()(const Constant& argument) const;
  std::string operator()(const Left& argument) const;
  std::string operator()(const OutputStride& argument) const;
  std::string operator()(const SumRounding& argument) const;
  std::string operator()(const FunctionOf& argument) const;
  std::string operator()(const Shape& argument) const;
  std::string operator()(const StridedView& argument) const;
  std::string operator()(const Image& argument) const;
  std::string operator()(const Strides& argument) const;
  std::string operator()(const Window& argument) const;
  std::string operator()(const Live& argument) const;
  std::string operator()(const Zeros& argument) const;
  std::string operator()(const Listed& argument) const;
  std::string operator()(const Errors& argument) const;

  // The call as text: "bf::relax_rows<16>(...)".
  std::string text(const Call& call) const;
  // The definition of a structure before the call, of a device; empty: it needs none.
  std::string made_structure(const Call& call) const;
  std::string name(BufferId id) const { return entry_.buffer(id).name; }
  // The constant of a convolution's shape.
  std::string shape_text(const Shape& shape) const;

 private:
  std::string callee(const Call& call) const;
  std::string c_name(const Call& call) const;
  std::vector<std::string> constants_in_c(const Call& call) const;
  std::string sources_in_c(const Argument& argument) const;
  std::string reference(const std::string& name) const;
  std::string members(const Errors& argument) const;
  std::string member(const Shape& shape, std::string_view name) const;

  const Plan& plan_;
  const Entry& entry_;
  const emit::Dialect dialect_;
  const ErrorConstants* errors_;
  std::map<std::tuple<LayerId, int, TableKind>, std::string> tables_;
  std::map<std::pair<LayerId, int>, std::string> shapes_;  // of convolutions, by layer and term
};

// Prints the entries of a plan.
class Bodies {
 public:
  Bodies(const Lowered& lowered, const emit::Instruments& instruments);

  // The body of an entry point after its checks: one block per task.
  std::string of(const Entry& entry) const;
  // Definitions of the error constants that bodies name.
  std::string error_constants() const { return errors_.definitions(); }

 private:
  const Lowered& lowered_;
  const emit::Instruments& instruments_;
  ErrorConstants errors_;
};

// The mark around the lines of an entry's step.
std::string step_mark(const Plan& plan, const Entry& entry, int step);

// Whether items of a device's group call it with memory that they share: bf_team of bf/c/core.h.
bool takes_team(const Plan& plan, const Call& call);

// Names of an image and of a window, "image3", "window3". They have numbers, since buffers take the
// names of layers.
std::string image_name(LayerId tensor);
std::string window_name(LayerId tensor);

// The argument that tells the runtime a strided view: "bf::Strided<0, 1, 8, 1, ..>{}" or
// "bf_strided(0, 1, 8, 1, ..)".
std::string sources_text(const StridedView& view, const emit::Dialect& dialect = emit::Dialect());

// Prints template arguments.
class ConstantText {
 public:
  explicit ConstantText(const Plan& plan) : plan_(plan) {}

  std::string operator()(const Integer& constant) const;
  std::string operator()(const Flag& constant) const;
  std::string operator()(const Tile& constant) const;
  std::string operator()(const Groups& constant) const;

 private:
  const Plan& plan_;
};

// The runtime's headers that programs need besides those of every verifier, one #include a line.
std::string runtime_includes(const Plan& plan, const std::vector<Program>& programs);

// Returns the same for a source in C, with those of every verifier.
std::string c_includes(const Plan& plan, const std::vector<Program>& programs);

}  // namespace bf_aot::calls

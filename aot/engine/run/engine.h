#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "aot/engine/run/constants.h"
#include "aot/engine/run/operations.h"
#include "aot/engine/run/run.h"
#include "planner/lowering/lowered.h"
#include "planner/plan/functions.h"
#include "planner/plan/plan.h"
#include "runtime/bf.h"

namespace bf {
template <class EndOfBox, class RowOfSpec>
struct PropertyTablesOf;
using PropertyTables = PropertyTablesOf<float, float>;
}  // namespace bf

namespace bf_aot {
struct Property;
}

namespace bf_aot::engine {

class PropertyMemory;

// The arguments of the functions of a verifier, by what they are for. A function reads those that
// its signature names, see parameters_of(). Shapes are those of the generated header.
struct Arguments {
  // Bounds, verdicts and decisions read these.
  struct Boxes {
    std::size_t count = 1;
    const float *lower = nullptr, *upper = nullptr;  // [count, inputs]
    bf_status* statuses = nullptr;                   // [count]
  };
  // Bounds are written here.
  struct Bounded {
    float *lower = nullptr, *upper = nullptr;  // [count, outputs or spec rows]
    float* coefficients = nullptr;             // [count, spec rows, inputs]; may be null
    float* ranges = nullptr;                   // [2, neurons]; may be null
  };
  // Evaluation reads x and writes y.
  struct Point {
    const float* x = nullptr;  // [inputs]
    float* y = nullptr;        // [outputs]
  };
  // The box of a property's case is written here.
  struct Case {
    std::size_t index = 0;
    float *lower = nullptr, *upper = nullptr;  // [inputs], its box
  };
  // Verdicts and decisions are written here.
  struct Decision {
    bf_result* results = nullptr;       // [count]
    const bf_budget* budget = nullptr;  // may be null
    bf_search* search = nullptr;        // may be null
  };
  // Functions with a context keep in it what later calls take.
  struct Kept {
    void* memory = nullptr;
    std::size_t bytes = 0;
    bf_cache_counters* counters = nullptr;
    void* blob = nullptr;
    const void* from_blob = nullptr;
    std::size_t blob_bytes = 0;
  };
  // The engine alone writes these, see CallMemory: generated functions have no such arguments.
  struct Notes {
    std::vector<int>* open = nullptr;
    std::vector<Ranges>* ranges = nullptr;
    // Functions without workers add to it, by call of the entry that entry_of() says.
    std::vector<double>* seconds = nullptr;
    // May end the call. Functions of bounds without a context ask it; not where boxes are shared
    // among workers.
    Watch* watch = nullptr;
  };

  Boxes boxes;
  Bounded bounds;
  Point point;
  Case of_case;
  Decision decision;
  Kept context;
  Notes notes;
  void* workspace = nullptr;
  std::size_t workspace_bytes = 0;
  const bf_executor* executor = nullptr;
};

// A pointer among the parameters of a function.
struct EnginePointer {
  std::size_t place = 0;  // in Arguments
  std::size_t bytes = 0;  // behind it, for each box where per_box; not of a workspace
  bool per_box = false, written = false, workspace = false;
  bool required = false;  // null is refused
};

struct EngineOptions {
  bool with_parts = false;  // there are parts to call a hook before
  // The property that the plan is made for. It is read when the engine is made.
  const Property* property = nullptr;
};

// Runs a plan of lowering prebuilt in this process, by code that is built with the engine: the same
// steps on the same memory as in the generated verifier, and the same results where no compiler
// fuses products into sums. Functions may be called by several threads at once, each with memory of
// its own.
class Engine {
 public:
  // The plan is kept. Throws BF3304 when there is no code for its target, and BF3504 without
  // memory for its constants.
  explicit Engine(std::shared_ptr<const Lowered> lowered, const EngineOptions& options = {});
  // Uses `code` instead of what find_prebuilt() finds.
  Engine(std::shared_ptr<const Lowered> lowered, const Prebuilt& code,
         const EngineOptions& options = {});

  const Plan& plan() const { return *plan_; }
  const Lowered& lowered() const { return *lowered_; }

  // Calls the function of the verifier with this signature, one of plan().functions, and returns
  // what the generated function would. NAME_info, which returns no status, cannot be called;
  // functions of a property can in engines that are made with it. hook: called before each part of
  // a task of bounds, in engines made with_parts. Throws: Stopped, where the notes' watch ends the
  // call.
  bf_status call(const Signature& signature, const Arguments& arguments,
                 TraceHook hook = nullptr) const;

  // The entry that a function of bounds or evaluation runs, for each box in turn or for several
  // boxes side by side.
  EntryKind entry_of(const Signature& signature) const;
  // The number of calls of the entry's program, in the order of for_each_call().
  std::size_t calls(EntryKind kind) const;
  // Makes `code` what the call runs from now on, also in functions of this engine that are running
  // now: it must compute the same. Returns what it ran before.
  Thunk replace(EntryKind kind, std::size_t call, Thunk code) const;

 private:
  const EntryOperations& entry(EntryKind kind) const;
  const std::vector<EnginePointer>& pointers_of(const ExportedFunction& function) const;
  bf_status check_box(const float* lower, const float* upper) const;
  bf_status check_boxes(const Arguments& a) const;
  bf_status check(const ExportedFunction& function, const Arguments& a, bf::Team& team) const;
  bf_status bounds(const ExportedFunction& function, const Arguments& a, const bf::Team& team,
                   TraceHook hook) const;
  bf_status cached_bounds(const Signature& signature, const Arguments& a, TraceHook hook) const;
  bf_status batch(const ExportedFunction& function, const Arguments& a, const bf::Team& team,
                  TraceHook hook) const;
  bf_status batch_by_turns(const Signature& signature, const Arguments& a) const;
  bf_status turns_of_workers(const ExportedFunction& function, const Arguments& a,
                             const bf::Team& team) const;
  bf_status groups_of_workers(const ExportedFunction& function, const Arguments& a,
                              const bf::Team& team) const;
  bf_status context_call(const Signature& signature, const Arguments& a) const;
  const bf::PropertyTables& property() const;
  bf_status verdicts(const ExportedFunction& function, const Arguments& a,
                     const bf::Team& team) const;
  bf_status verify(const Signature& signature, const Arguments& a, const bf::Team& team) const;
  bf_status verify_together(const Signature& signature, const Arguments& a,
                            const bf::Team& team) const;
  bf_status property_box(const Arguments& a) const;
  bf_status decide(const Arguments& a) const;
  bf_status decide_by_neurons(const Arguments& a) const;
  Arguments box_of(const Signature& signature, const Arguments& a, std::size_t i) const;

  std::shared_ptr<const Lowered> lowered_;
  const Plan* plan_;
  Constants constants_;
  std::vector<EntryOperations> entries_;
  std::vector<std::vector<EnginePointer>> pointers_;  // of each of the plan's functions
  std::shared_ptr<const PropertyMemory> property_;    // may be null
};

}  // namespace bf_aot::engine

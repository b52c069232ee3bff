#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "planner/functions/float_table.h"
#include "planner/functions/function_table.h"
#include "runtime/bf/functions/float_functions.h"
#include "runtime/bf/functions/function_table.h"

namespace bf_aot::engine {

// Tables of functions in the runtime's form. Returned pointers are valid as long as this lives.
class FunctionViews {
 public:
  const bf::FunctionView* of(const Function& function);
  const bf::FloatFunction* float_of(const Function& function);

 private:
  struct Memory {
    FunctionTable table;
    std::vector<bf::FunctionRun> runs;
    bf::FunctionView view;
  };
  struct FloatMemory {
    FloatTable table;
    std::vector<bf::FloatTurn> turns;
    bf::FloatFunction view;
  };
  std::vector<std::pair<Function, std::unique_ptr<Memory>>> known_;
  std::vector<std::pair<Function, std::unique_ptr<FloatMemory>>> known_floats_;
};

}  // namespace bf_aot::engine

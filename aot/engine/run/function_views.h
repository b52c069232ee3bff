#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "planner/functions/function_table.h"
#include "runtime/bf/functions/function_table.h"

namespace bf_aot::engine {

// Tables of functions in the runtime's form. Returned pointers are valid as long as this lives.
class FunctionViews {
 public:
  const bf::FunctionView* of(const Function& function);

 private:
  struct Memory {
    FunctionTable table;
    std::vector<bf::FunctionRun> runs;
    bf::FunctionView view;
  };
  std::vector<std::pair<Function, std::unique_ptr<Memory>>> known_;
};

}  // namespace bf_aot::engine

#pragma once

#include <cstdlib>
#include <filesystem>
#include <memory>

#include "planner/plan/plan.h"
#include "runtime/bf.h"

namespace bf_aot::bench {

// A network compiled for this machine and loaded, with a workspace.
class LoadedVerifier {
 public:
  // Compiles and loads a verifier for batches of `boxes` boxes and for `workers` workers; the
  // workspace is enough for a batch. Throws std::runtime_error where it cannot be compiled or
  // loaded.
  LoadedVerifier(const std::filesystem::path& model, Method method, std::size_t boxes,
                 std::size_t workers);

  // The function NAME + suffix. Throws std::runtime_error where there is none.
  template <typename Function>
  Function function(const char* suffix) const {
    return reinterpret_cast<Function>(symbol(suffix));
  }

  const Plan& plan() const { return plan_; }
  void* workspace() const { return workspace_.get(); }
  std::size_t bytes() const { return bytes_; }

 private:
  struct Unload {
    void operator()(void* library) const;
  };
  struct Free {
    void operator()(void* memory) const { std::free(memory); }
  };

  void* symbol(const char* suffix) const;

  Plan plan_;
  std::unique_ptr<void, Unload> library_;
  std::unique_ptr<void, Free> workspace_;
  std::size_t bytes_ = 0;
};

// Throws std::runtime_error unless the status is BF_OK.
void expect_ok(bf_status status);

}  // namespace bf_aot::bench

#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "aot/emit/interface/emit.h"
#include "frontend/property/property.h"
#include "planner/planner.h"
#include "runtime/bf.h"
#include "tests/soundness/net.h"

namespace bf_aot::soundness {

// A folder that goes with the object.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

// How a batch of verifiers is made.
struct Build {
  std::string compiler;  // "g++"
  std::vector<std::string> flags;
};

PlannerConfig planner_config(Method method, Lowering lowering, const std::string& target);

// Lowering tuned with any legal schedule for each kernel of the network's plan, as a tuning log
// may hold them.
PlannerConfig with_random_schedules(const Graph& graph, PlannerConfig config, Random& random);

struct Outcome {
  bf_status status = BF_OK;
  std::vector<float> lower, upper;
};

// Memory of a given alignment with guard bytes around it.
class Arena {
 public:
  Arena(std::size_t bytes, std::size_t align);

  void* data() { return bytes_.data() + begin_; }
  void fill(unsigned char byte);
  bool guards_intact() const;

 private:
  static constexpr unsigned char kGuard = 0x5c;
  static constexpr std::size_t kGuardBytes = 256;
  std::vector<unsigned char> bytes_;
  std::size_t begin_ = 0, count_ = 0;
};

// Verifiers of many networks in one shared object.
class Batch {
 public:
  using Bounds = bf_status (*)(const float*, const float*, float*, float*, void*, std::size_t);
  using Evaluate = bf_status (*)(const float*, float*, void*, std::size_t);

  Batch() = default;
  ~Batch();
  Batch(const Batch&) = delete;
  Batch& operator=(const Batch&) = delete;

  // Plans and emits; returns the network's number.
  std::size_t add(const Net& net, const PlannerConfig& config);
  std::size_t add(const Graph& graph, bool has_spec, const PlannerConfig& config,
                  const emit::Instruments& instruments = {});
  // With the functions of a property, whose rows are the graph's last output.
  std::size_t add(const Graph& graph, const Property& property, const PlannerConfig& config);

  // Compiles all of them in one run of the compiler, and loads them.
  void build(const Build& how);

  std::size_t size() const { return plans_.size(); }
  const Plan& plan(std::size_t i) const { return plans_.at(i); }
  Bounds bounds(std::size_t i) const;
  Bounds spec_bounds(std::size_t i) const;
  Evaluate evaluate(std::size_t i) const;

  // NAME_bounds on a poisoned workspace.
  Outcome run(std::size_t i, const FloatBox& box, unsigned char poison = 0xaa) const;

  // A function of a network's verifier: "_bounds_cached". Throws when there is none.
  void* symbol(std::size_t i, const std::string& suffix) const;
  bool has_symbol(std::size_t i, const std::string& suffix) const;

 private:
  std::size_t add(Plan plan, const Property* property, const emit::Instruments& instruments);
  std::string next_name() const;

  TemporaryFolder folder_;
  std::vector<Plan> plans_;
  bool verdicts_ = false;  // there are functions of properties
  std::vector<std::string> assembly_;
  std::string unit_;
  void* library_ = nullptr;
};

// False for a compiler that this machine lacks.
// At how many of all corners of the box an output is outside its bounds.
int corners_outside(const ExactNet& exact, const FloatBox& box, const Outcome& outcome);

// As the name of a parameter of tests, which has no dashes.
std::string test_name(std::string_view name);

bool has_compiler(const std::string& name);

}  // namespace bf_aot::soundness

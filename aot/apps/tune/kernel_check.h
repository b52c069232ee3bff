#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "aot/apps/tune/kernel_library.h"

namespace bf_aot::apps {

// Arguments of a printed affine kernel, and the results that it must have.
//
// All numbers lie on grids (weights of 12 bits, others of 21 at most), so that double arithmetic
// computes every sum without rounding while float32 rounds: a kernel's result may differ from it by
// what the plan's error terms pay for, gamma of its depth, and by no more.
class KernelCheck {
 public:
  // weight_copies: the number of tables that run() reads in turn, so that they come from where a
  // network's would.
  KernelCheck(const LoadedKernel& loaded, std::uint64_t seed, int weight_copies);

  // Calls a kernel of the same signature, after arguments that it overwrites are made anew. Returns
  // what is wrong with the results, or an empty text.
  std::string failure(const LoadedKernel& loaded);

  // prepare_timing() makes arguments that stay normal numbers however often a kernel works on them
  // in place; run() calls a kernel on them.
  void prepare_timing();
  void run(const LoadedKernel& loaded);

 private:
  struct Free {
    void operator()(void* memory) const;
  };
  // An array of the kernel; `count` elements and a margin that nothing may write to.
  struct Array {
    std::unique_ptr<void, Free> memory;
    std::size_t count = 0;
    Element element = Element::kFloat32;
    double get(std::size_t i) const;
    void set(std::size_t i, double value);
    std::size_t bytes() const;
  };
  // A result must lie within `within` of `value`.
  struct Expected {
    double value = 0, within = 0;
  };

  std::size_t count_of(const std::string& name) const;
  void add(const Parameter& parameter);
  void fill();
  void fill_backward();
  void fill_list(const char* list);
  Array& array(const std::string& name) { return arrays_.at(name); }
  bool has(const std::string& name) const { return arrays_.contains(name); }
  double weight(const char* table, int o, int i) const;  // of a packed table
  bool is_live(const char* list, int neuron) const;      // true for all without a list
  double value(const char* name, std::size_t i) const { return arrays_.at(name).get(i); }
  std::string margins() const;
  std::string check_forward() const;
  std::string check_backward(const std::vector<double>& coefficients) const;
  std::string check_sums(const std::vector<double>& coefficients) const;
  std::string expect(const std::string& what, double made, const Expected& expected) const;

  Kernel kernel_;
  std::uint64_t seed_;
  std::map<std::string, Array> arrays_;
  std::map<std::string, std::vector<bool>> live_;  // by list
  std::map<std::string, float> scalars_;
  std::vector<std::unique_ptr<void, Free>> copies_;  // of the weights
  std::vector<void*> pointers_;
  std::size_t weight_position_ = 0, turn_ = 0;
};

}  // namespace bf_aot::apps

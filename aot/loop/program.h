#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "aot/loop/nest.h"

namespace bf::loop {

// Nest `nest` runs inside loop `loop` of nest `host`, once per iteration: before what the host has
// in that loop, or after it, as the program orders the two. Both begin with the same loops, down to
// this one, which are written once.
struct ComputeAt {
  std::string nest;
  std::string host;
  std::string loop;
  bool operator==(const ComputeAt&) const = default;
};

std::string to_string(const ComputeAt& primitive);

// Nests that run one after the other, or inside each other's loops.
class Program {
 public:
  struct Placed {
    std::string name;
    Nest nest;
    std::string host;       // empty: at the top
    std::size_t depth = 0;  // loops of the host around it
  };

  // Runs after what is there. Names differ.
  void add(std::string name, Nest nest);

  const std::vector<Placed>& nests() const { return nests_; }
  const std::vector<ComputeAt>& applied() const { return applied_; }
  bool empty() const { return nests_.empty(); }
  bool has_nest(const std::string& name) const;
  const Nest& nest(const std::string& name) const;
  Nest& nest(const std::string& name);

  Reason why_not(const ComputeAt& primitive) const;
  void apply(const ComputeAt& primitive);
  void compute_at(const std::string& nest, const std::string& host, const std::string& loop);

  // Of any of its nests.
  Reason why_incomplete() const;

  // Nests that run inside loops of the nest `at`, in order; empty for those that do so themselves.
  std::vector<std::size_t> guests(std::size_t at) const;

 private:
  std::size_t position(const std::string& name) const;
  Reason why_order_matters(const ComputeAt& primitive, std::size_t depth) const;

  std::vector<Placed> nests_;
  std::vector<ComputeAt> applied_;
};

}  // namespace bf::loop

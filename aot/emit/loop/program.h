#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "aot/emit/loop/nest.h"

namespace bf_aot::loop {

// Runs nest `nest` inside loop `loop` of nest `host`, once per iteration, before or after what the
// host has in that loop, as the program orders the two. Both begin with the same loops, down to
// this one, which are printed once.
struct ComputeAt {
  std::string nest;
  std::string host;
  std::string loop;
  bool operator==(const ComputeAt&) const = default;
};

// The memory of an array: of the function, or of all items of a device's group.
enum class Scope : std::uint8_t { kFunction, kGroup };

// Copies what an iteration of loop `loop` of the nest reads of the buffer, in the order in which it
// is read, to an array `packed`. The copy is a nest of that name. Of an axis with a list it copies
// all values of the tile, or all places.
//
// In memory of a group the rows of the array have odd lengths, so that items that read a column of
// it read different banks of that memory.
struct CacheRead {
  std::string nest;
  std::string buffer;
  std::string loop;
  std::string packed;
  Scope scope = Scope::kFunction;
  bool operator==(const CacheRead&) const = default;
};

// Lets nest `consumer` compute what it reads of the stores of nest `producer`, which is removed.
struct InlineNest {
  std::string producer;
  std::string consumer;
  bool operator==(const InlineNest&) const = default;
};

using ProgramPrimitive = std::variant<ComputeAt, CacheRead, InlineNest>;

std::string to_string(const ProgramPrimitive& primitive);

// Nests that run one after the other, or inside each other's loops.
class Program {
 public:
  struct Placed {
    std::string name;
    Nest nest;
    std::string host;       // empty: at the top
    std::size_t depth = 0;  // loops of the host around it
  };

  // An array of the function, or the one array of the group's memory.
  struct Local {
    std::string name;
    Type type = Type::kFloat32;
    std::int64_t size = 0;
    Scope scope = Scope::kFunction;
  };

  // Adds a nest that runs after those that are there. Names must differ.
  void add(std::string name, Nest nest);

  void add_local(Local local);

  const std::vector<Placed>& nests() const { return nests_; }
  const std::vector<Local>& locals() const { return locals_; }
  const std::vector<ProgramPrimitive>& applied() const { return applied_; }
  bool has_nest(const std::string& name) const;
  const Nest& nest(const std::string& name) const;
  Nest& nest(const std::string& name);

  // The first condition of a primitive that does not hold, and its application, which aborts then.
  Reason why_not(const ProgramPrimitive& primitive) const;
  void apply(const ProgramPrimitive& primitive);
  void compute_at(const std::string& nest, const std::string& host, const std::string& loop);

  // The floats of memory of a group that the nests need; 0: none.
  std::int64_t staged() const;

  // The reason why one of the nests cannot run as it stands; none if all can.
  Reason why_incomplete() const;

  // The nests that run inside loops of the nest `at`, in order; empty if that one does so itself.
  std::vector<std::size_t> guests(std::size_t at) const;

 private:
  Reason check(const ComputeAt& primitive) const;
  Reason check(const CacheRead& primitive) const;
  Reason check(const InlineNest& primitive) const;
  void run(const ComputeAt& primitive);
  void run(const CacheRead& primitive);
  void run(const InlineNest& primitive);

  std::size_t position(const std::string& name) const;
  static Reason why_listed(const Nest& nest);
  Reason why_not_alone(const std::string& name) const;
  Reason why_order_matters(const ComputeAt& primitive, std::size_t depth) const;

  std::vector<Placed> nests_;
  std::vector<Local> locals_;
  std::vector<ProgramPrimitive> applied_;
};

}  // namespace bf_aot::loop

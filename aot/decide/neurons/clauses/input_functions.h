#pragma once

#include <array>
#include <cstddef>
#include <limits>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "aot/decide/neurons/clauses/sums.h"

namespace bf_aot::decide {

// Neurons that depend on one input alone are functions of it, of straight pieces: through several
// layers, too. Here they are bounded on cells of the input's range, whose ends are about where
// pieces meet, from below and from above by a line each. Proof: docs/proofs/neuron-splits.md. Not
// for several threads.
class InputFunctions {
 public:
  // sums is kept by reference.
  explicit InputFunctions(const Sums& sums);

  // The only input that a variable depends on: an input, or one of a neuron that is covered.
  std::optional<std::size_t> input_of(std::size_t variable) const;

  // The ends of an input's cells, rising.
  const std::vector<double>& ends_of(std::size_t input) const { return ends_[input]; }

  // Adds the sum of weights times activations of variables that depend on the same input alone, and
  // returns its number.
  std::size_t add(std::span<const SumSource> sources);

  // The ends between which a function lies where its input lies in [low, high], in the box.
  std::pair<double, double> range(std::size_t function, double low, double high) const;

  // The ends of the part of [low, high], in the box, on which the function may be at most
  // (is_upper) or at least a limit; nothing where there is none.
  std::optional<std::pair<double, double>> part_of(std::size_t function, double low, double high,
                                                   double limit, bool is_upper) const;

  // Returns all such parts of the box, as disjoint intervals by rising ends.
  std::vector<std::pair<double, double>> parts_of(std::size_t function, double limit,
                                                  bool is_upper) const;

 private:
  // At x = (1 - t) begin + t end of a cell a value lies between the same mixtures of its ends.
  struct Lines {
    double low_begin = 0, low_end = 0, high_begin = 0, high_end = 0;

    Lines finite() const;
  };
  struct Range {
    double low = std::numeric_limits<double>::quiet_NaN(), high = low;
    std::pair<double, double> ends;
  };
  struct Function {
    std::size_t input = 0;
    std::vector<Lines> lines;  // of each cell
    // The last answers of range(): an input that is on one side of a gap has few ranges.
    mutable std::array<Range, 4> last;
    mutable std::size_t next = 0;
  };

  void find_inputs();
  void find_cells(std::size_t input);
  std::vector<double> values_at(std::size_t input, std::size_t count, double x) const;
  void bound_neurons(std::size_t input);
  Lines lines_of(std::span<const SumSource> sources, std::size_t cell) const;
  Lines activation(std::size_t variable, std::size_t cell) const;
  std::optional<std::pair<double, double>> part_of_cell(const Function& function, std::size_t cell,
                                                        double low, double high, double limit,
                                                        bool is_upper) const;

  const Sums& sums_;
  std::vector<std::size_t> input_of_;         // by variable; kNone: several
  std::vector<std::vector<std::size_t>> of_;  // by input: the neurons, as variables
  std::vector<std::vector<double>> ends_;     // by input: of the cells
  std::vector<std::vector<Lines>> lines_;     // by variable that is covered: of its z, by cell
  std::vector<Function> functions_;
};

}  // namespace bf_aot::decide

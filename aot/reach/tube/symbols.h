#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "aot/reach/numbers/form.h"

namespace bf_aot::reach {

// Says what comes in the place of symbols that are given up.
enum class Reduction : std::uint8_t {
  kBox,   // a box: the least ranges now
  kAxes,  // a parallelotope along their principal axes: less is lost later where states contract
};

// Gives out the symbols of forms, of which there are at most so many.
class Symbols {
 public:
  Symbols(std::size_t most, Reduction reduction) : most_(most), reduction_(reduction) {}

  // A number of the range over a symbol of its own; over none where the range is one number.
  Form form_over_own(const Range& range);

  // The symbols so far are those of the start: they are never taken back.
  void keep_first() { first_ = next_; }

  // Makes of each form's radius a symbol of its own, as long as there are any: remainders that
  // forms have in common from now on cancel.
  void add_remainders(std::vector<Form>& forms);

  // Takes back symbols until at most `left` are in use, or those of the start and one for each
  // form: those that add least to the ranges beyond what one box of them would (Girard,
  // Reachability of Uncertain Linear Systems Using Zonotopes, 2005). In their place comes a
  // parallelotope that holds what they may be, along their principal axes or those of the forms.
  // The others get new numbers. `forms`: all forms whose symbols are still wanted; the first ones
  // are the state.
  void make_room(const std::vector<std::vector<Form>*>& forms, std::size_t left);

 private:
  std::size_t most_ = 0, first_ = 0, next_ = 0;
  Reduction reduction_;
};

}  // namespace bf_aot::reach

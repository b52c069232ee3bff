#pragma once

#include <cstddef>
#include <vector>

#include "aot/reach/numbers/form.h"

namespace bf_aot::reach {

// Gives out the symbols of forms, of which there are at most so many.
class Symbols {
 public:
  explicit Symbols(std::size_t most) : most_(most) {}

  // A number of the range over a symbol of its own; over none where the range is one number.
  Form form_over_own(const Range& range);

  // The symbols so far are those of the start: they are never taken back.
  void keep_first() { first_ = next_; }

  // Makes of each form's radius a symbol of its own, as long as there are any: remainders that
  // forms have in common from now on cancel.
  void add_remainders(std::vector<Form>& forms);

  // Takes back symbols until at most `left` are in use, or only those of the start: of those that
  // add least to the ranges beyond what one box of them would, the forms' slopes become radii
  // (Girard, Reachability of Uncertain Linear Systems Using Zonotopes, 2005). The others get new
  // numbers. `forms`: all forms whose symbols are still wanted; the first ones are the state.
  void make_room(const std::vector<std::vector<Form>*>& forms, std::size_t left);

 private:
  std::size_t most_ = 0, first_ = 0, next_ = 0;
};

}  // namespace bf_aot::reach

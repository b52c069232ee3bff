#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "aot/reach/numbers/form.h"
#include "runtime/bf/loops/symbols.h"

namespace bf_aot::reach {

// Says what comes in the place of symbols that are given up.
enum class Reduction : std::uint8_t {
  kBox,   // a box: the least ranges now
  kAxes,  // a parallelotope along their principal axes: less is lost later where states contract
};

// The runtime's symbols, with room of their own. In the place of symbols that are given up comes a
// box, or a parallelotope that holds what they may be, along their principal axes.
class Symbols {
 public:
  Symbols(std::size_t most, Reduction reduction)
      : spreads_(most),
        kept_(std::make_unique<bool[]>(most)),
        of_(most, spreads_.data(), kept_.get()),
        reduction_(reduction) {}

  Form form_over_own(const Range& range) { return of_.form_over_own(range); }
  void keep_first() { of_.keep_first(); }
  void add_remainders(std::vector<Form>& forms) { of_.add_remainders(forms.data(), forms.size()); }

  // forms: all whose symbols are still wanted; the first ones are the state.
  void make_room(const std::vector<std::vector<Form>*>& forms, std::size_t left);

 private:
  void make_room_along_axes(const std::vector<bf::loops::FormGroup<Form>>& groups,
                            std::size_t left);

  std::vector<double> spreads_;
  std::unique_ptr<bool[]> kept_;
  bf::loops::Symbols<Form> of_;
  Reduction reduction_;
};

}  // namespace bf_aot::reach

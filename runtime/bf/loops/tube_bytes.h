#pragma once

#include <stddef.h>

namespace bf::loops {

constexpr size_t form_bytes(size_t slopes) {
  return 8 * (slopes + 3);
}
constexpr size_t larger_of(size_t a, size_t b) {
  return a < b ? b : a;
}
constexpr size_t to_eight(size_t bytes) {
  return (bytes + 7) / 8 * 8;
}

// The room of a tube: what stays, and behind it one place for what steps, networks and conditions
// need, one after the other.
struct TubeSizes {
  size_t states, controls, disturbances, symbols, all_symbols;
  size_t plant_steps;                      // of the plant's program
  size_t series;                           // of Taylor series, those of the state included; 0: none
  size_t order;                            // of Taylor series
  size_t condition_steps;                  // of the longest condition
  size_t network_inputs, network_outputs;  // 0: no network
  size_t network_workspace, network_align;

  constexpr size_t form() const { return form_bytes(all_symbols + 1); }
  constexpr size_t held() const { return controls + disturbances; }

  constexpr size_t fixed_bytes() const {
    return form() * (4 * states + held() + disturbances) + 8 * all_symbols + to_eight(all_symbols);
  }
  constexpr size_t step_bytes() const {
    if (series == 0) return form() * (states + held() + plant_steps);
    return form() * series * (order + 1) +
           16 * (2 * held() + 3 * states + plant_steps + series * (order + 2));
  }
  constexpr size_t condition_bytes() const {
    return form() * (states + controls + states + controls + states + condition_steps);
  }
  // Its box, its bounds and its lines, behind which its workspace lies.
  constexpr size_t network_bytes() const {
    const size_t box = symbols + 3 * network_inputs + network_inputs * symbols;
    const size_t floats = 2 * box + 2 * network_outputs + 2 * network_outputs * (box + 1);
    const size_t bytes = 4 * floats + network_align;
    return bytes / network_align * network_align;
  }
  constexpr size_t bytes() const {
    const size_t network = network_outputs == 0 ? 0
                                                : form() * network_inputs + network_bytes() +
                                                      network_workspace + network_align;
    return to_eight(fixed_bytes() + larger_of(larger_of(step_bytes(), condition_bytes()), network));
  }
};

}  // namespace bf::loops

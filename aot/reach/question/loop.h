#pragma once

#include <gmpxx.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "aot/reach/numbers/interval.h"
#include "aot/reach/question/condition.h"
#include "frontend/graph/graph.h"
#include "frontend/graph/model.h"
#include "frontend/numbers/exact_arithmetic.h"
#include "frontend/property/property.h"

namespace bf_aot::reach {

// A network of the loop, as it was imported.
struct Part {
  Graph graph;
  ModelInfo info;
  std::string path;  // as it was typed
};

enum class PlantKind : std::uint8_t {
  kContinuous,  // (x, u, w..) -> dx/dt, while the control is held
  kEuler,       // the same network; the next state is x + h f(x, u, w)
  kDiscrete,    // (x, u, w..) -> the next x, or x -> the next x with the controller inside
};

// The number of an interval as it was typed that x, a double of its enclosure `box`, stands for:
// the double in the interval next to x; of an interval without doubles, all that it may be. inner:
// the doubles of the typed intervals; empty: those of `box`.
Range typed_value(const Box& box, const Box& inner, std::size_t i, double x);

// A further input of the plant. Its elements take any value of the box.
struct Disturbance {
  std::string name;  // of the plant's input
  Box box;
  enum class Changes : std::uint8_t {
    kNever,       // one value for all time
    kEachPeriod,  // one in each period, held during it
    kAnyTime,     // any value at any time: of continuous plants a measurable function
  };
  Changes changes = Changes::kEachPeriod;
  Box inner = {};  // see typed_value()

  bool is_constant() const { return changes == Changes::kNever; }
  bool is_held() const { return changes != Changes::kAnyTime; }
};

// A controller in its plant. The state x has n elements, the control u m.
struct Loop {
  std::optional<Part> controller;  // x -> u; none where the plant has no control
  std::optional<Part> observer;    // x -> what the controller reads
  Part plant;
  PlantKind kind = PlantKind::kContinuous;
  // The control is computed at the beginning of each period of so many seconds. Of discrete plants
  // it is the number of the plant's steps that it is held for.
  mpq_class period = 1;
  std::size_t steps = 1;     // periods that are looked ahead
  std::size_t substeps = 0;  // of a period: Euler steps, plant steps, or validated steps; 0: chosen
  bool delayed = false;      // the control that is computed in a period is held in the next one
  std::vector<Bounded> first_control;  // [m], held in the first period where delayed
  std::vector<Disturbance> disturbances;
  Box initial;                           // [n]
  Box inner;                             // see typed_value()
  std::vector<std::string> state_names;  // [n] or empty

  std::size_t states() const { return initial.lower.size(); }
};

// A demand: at all times of a window the state satisfies a condition. Times are seconds since the
// start; of discrete loops steps of the plant.
struct Requirement {
  enum class Kind : std::uint8_t { kAlways, kNever, kAt, kWithin };
  Kind kind = Kind::kAlways;
  mpq_class from, to;  // the window, whole horizon for kAlways and kNever
  Condition must;      // of kNever already negated
  std::string text;    // "never (and (<= x[0] 2) ..)"
};

struct Question {
  Loop loop;
  std::vector<Requirement> requirements;  // all are demanded; may be none
};

}  // namespace bf_aot::reach

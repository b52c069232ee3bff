#pragma once

#include <cstddef>
#include <functional>
#include <limits>
#include <optional>
#include <random>
#include <span>
#include <vector>

#include "aot/reach/question/loop.h"
#include "aot/reach/search/lanes.h"
#include "aot/system/stop.h"

namespace bf_aot::reach {

// Makes a loop run one way.
struct Scenario {
  std::vector<double> start;                      // [states]
  std::vector<std::vector<double>> disturbances;  // [periods][elements of all disturbances]
};

// A scenario's states at all moments of its simulation, and the controls that are held.
struct Trajectory {
  std::vector<std::vector<double>> states;    // [moment][state]
  std::vector<std::vector<double>> controls;  // [period][control]
};

// How far a requirement is from being broken along a trajectory, and where it is least so.
struct Margin {
  double value = std::numeric_limits<double>::infinity();  // negative: broken
  std::size_t moment = 0;
};

// Runs a loop in double. Nothing is claimed of the results: they are for plots, and for finding
// what is then proven. Continuous plants take steps of Runge and Kutta's method of order 4, as many
// a period as trials say; Euler's and discrete plants take the steps that the loop has. Results do
// not depend on which scenarios are run together.
class Simulation {
 public:
  // The question must outlive it. accuracy: of continuous plants' states, relative where they are
  // above 1 and aimed at alone. coarsest: the fewest steps a period of such plants.
  // stop: ends this and every run by Stopped.
  explicit Simulation(const Question& question, double accuracy = 1e-9, std::size_t coarsest = 4,
                      system::Stop stop = {});

  // Thrown where a run was told to end.
  struct Stopped {};

  // A time at which states are known: the beginnings of periods, the steps between them, and the
  // ends of the requirements' windows.
  struct Moment {
    double time = 0;
    std::size_t period = 0;  // of the control that is held; of the last moment: the last one
    bool instant = false;    // the beginning of a period, or the end
  };
  const std::vector<Moment>& moments() const { return moments_; }
  std::size_t controls() const { return controls_; }
  std::size_t disturbances() const { return disturbances_; }  // elements of all of them
  const Question& question() const { return question_; }

  std::vector<Trajectory> run(std::span<const Scenario> scenarios) const;

  // [scenario][requirement]
  std::vector<std::vector<Margin>> margins(std::span<const Scenario> scenarios) const;

 private:
  struct Grid {
    std::vector<Moment> moments;
    std::vector<mpq_class> times;  // of the moments
  };
  // Is told of each moment in order: its number, the state and the control that is held.
  using Visit = std::function<void(std::size_t, std::span<const Lanes>, std::span<const Lanes>)>;

  Grid grid(std::size_t steps) const;
  std::size_t steps_for(double accuracy, std::size_t coarsest) const;
  void find_windows(const Grid& grid);
  void walk(std::span<const Scenario> scenarios, const Visit& visit) const;
  void control(std::span<const Lanes> state, std::span<Lanes> to) const;
  void step(std::vector<Lanes>& inputs, double length) const;
  void derive(const std::vector<Lanes>& inputs, std::span<Lanes> to) const;
  bool is_stepped() const { return question_.loop.kind != PlantKind::kContinuous; }

  const Question& question_;
  const system::Stop stop_;
  std::optional<LaneNetwork> controller_, observer_;
  LaneNetwork plant_;
  std::vector<std::size_t> plant_inputs_;  // elements of x, u and w, one after the other
  std::size_t states_, controls_ = 0, disturbances_ = 0;
  std::vector<Moment> moments_;
  std::vector<LaneProgram> conditions_;  // the values of each requirement
  struct Window {
    std::size_t begin = 0, end = 0;
  };
  std::vector<Window> windows_;  // of each requirement, moments
};

// How far a formula is from being broken by values; negative where it is. Of values that are not
// numbers: infinite.
double margin_of(const Formula& formula, std::span<const double> values);

// The scenarios of a loop as points of a cube [0, 1]^n: one coordinate for each element that
// varies.
class ScenarioSpace {
 public:
  explicit ScenarioSpace(const Loop& loop);

  std::size_t size() const { return axes_.size(); }
  std::size_t states() const { return states_; }  // the first axes are elements of the start
  // Coordinates are clamped to the cube; 0 and 1 give the ends of the boxes.
  Scenario at(std::span<const double> point) const;
  // The coordinates of a state, which is clamped to the initial box; the others stay.
  void move_start(std::vector<double>& point, std::span<const double> state) const;

 private:
  struct Axis {
    double lower = 0, upper = 0;
    std::size_t element = 0;
    std::optional<std::size_t> period;  // of disturbances: none is all of them
  };

  const Loop& loop_;
  Scenario middle_;  // where nothing varies, all there is
  std::vector<Axis> axes_;
  std::size_t states_ = 0;
};

// A number from 0 to 1 below, the same on all machines.
double random_share(std::mt19937_64& random);

// Scenarios for plots: at most half of them corners of the initial box, with disturbances at their
// ends; the others are random.
std::vector<Scenario> typical_scenarios(const Loop& loop, std::size_t count, std::uint64_t seed);

// Their states at the beginnings of periods and at the end: [trajectory][instant][state].
std::vector<std::vector<std::vector<double>>> sample(const Simulation& simulation,
                                                     std::size_t count, std::uint64_t seed);

}  // namespace bf_aot::reach

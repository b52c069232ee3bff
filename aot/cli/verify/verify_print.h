#pragma once

#include <optional>
#include <string>

#include "aot/cli/verify/verify_arguments.h"
#include "aot/decide/decision.h"
#include "aot/decide/parts/tree_keeper.h"
#include "aot/prove/proof_file.h"
#include "aot/system/interrupt.h"
#include "aot/system/progress.h"
#include "aot/system/stop.h"
#include "frontend/property/property.h"

namespace bf_aot::cli {

// Shows counters in a line on stderr when that is a terminal; elsewhere --verbose tells the result
// and the time of each step.
class Counter {
 public:
  explicit Counter(decide::DecisionPhase phase);
  ~Counter();
  Counter(const Counter&) = delete;
  Counter& operator=(const Counter&) = delete;

  void show(const decide::DecisionProgress& progress);

 private:
  const char* what_;
  decide::DecisionProgress last_;
  bool shown_;
  bool printed_ = false;
  double next_ = 0.5;
  system::Stopwatch stopwatch_;
};

// Shows the progress of decisions, a counter for each of their phases.
class PhaseCounter {
 public:
  void show(const decide::DecisionProgress& progress);
  void end();  // the next progress has a new counter

 private:
  std::optional<Counter> counter_;
  std::optional<decide::DecisionPhase> phase_;
};

// The end of --timeout: a stop, and a watchdog for work that does not ask it. What that prints is
// the object of other ends, with the counts that are known so far.
class TimeLimit {
 public:
  TimeLimit(const VerifyArguments& arguments, int code);

  const system::Stop& stop() const { return stop_; }
  const std::string& text() const { return text_; }
  void end() { watchdog_.end(); }

  void set_property(const Property& property);
  void add(const decide::DecisionMethod& method);
  void show(const decide::DecisionProgress& progress);

 private:
  void write();

  const VerifyArguments& arguments_;
  const double seconds_;  // 0: no limit
  const system::Stop stop_;
  system::Watchdog watchdog_;
  std::string property_, semantics_, text_;
  decide::Outcome outcome_;
  double next_ = 0;
  system::Stopwatch stopwatch_;
};

// proof: the certificate of the answer, or null.
void print(const VerifyArguments& arguments, const Property& property,
           const decide::Outcome& outcome, const prove::ProofReport* proof = nullptr);

// Writes a counterexample to the files that were asked for. Throws: BF3101 to BF3103.
void write_counterexample(const VerifyArguments& arguments, const Property& property,
                          const decide::Witness& witness);

// A part by itself verifies nothing. proof: its part of the certificate, or null. Returns the exit
// code.
int print_part(const VerifyArguments& arguments, const decide::TreeKeeper& keeper,
               const Property& property, const decide::Outcome& outcome,
               const prove::ProofReport* proof = nullptr);

}  // namespace bf_aot::cli

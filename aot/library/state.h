#pragma once

#include <fmt/format.h>

#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "aot/build/compile_options.h"
#include "aot/build/options/option_rows.h"
#include "aot/decide/property/sample.h"
#include "aot/decide/request.h"
#include "aot/library/bf_aot.h"
#include "aot/system/stop.h"
#include "frontend/check_scope.h"
#include "frontend/diagnostic.h"
#include "frontend/float_environment.h"
#include "frontend/property/property.h"
#include "planner/lowering/lowered.h"
#include "planner/network/ball_norms.h"
#include "planner/plan/plan_fwd.h"

namespace bf_aot::api {

struct Model::State {
  decide::Sampler network;  // as it was imported
  ModelInfo info;
  std::vector<Tensor> inputs, outputs;
  std::size_t input_count = 0, output_count = 0;
  std::vector<std::vector<std::int64_t>> token_sets = {};
  std::size_t numbers = 0;  // elements of all constants
  bool derivative = false;  // made by derivative(): bounded in exact real arithmetic alone
  std::string path = {};    // of the file; empty: read from memory
  std::shared_ptr<const std::string> bytes = {};  // that were read from memory
  // The tensor whose largest element the only output counts, as of ArgMax; empty: it does not.
  std::string chosen_by = {};
  ModelCut cut = {};  // what of the file was read
  // All plans that are made of the model share these.
  std::shared_ptr<KnownNorms> norms = std::make_shared<KnownNorms>();
};

// Makes the interface's objects, whose constructors are private, and reads a Model's state.
class Library {
 public:
  static Model model(std::shared_ptr<const Model::State> state) { return Model(std::move(state)); }
  static Verifier verifier(std::shared_ptr<const Verifier::State> state) {
    return Verifier(std::move(state));
  }
  static Certifier certifier(std::shared_ptr<const Certifier::State> state) {
    return Certifier(std::move(state));
  }
  static DisturbanceCertifier disturbance_certifier(
      std::shared_ptr<const DisturbanceCertifier::State> state) {
    return DisturbanceCertifier(std::move(state));
  }
  static const Model::State& state(const Model& model) { return *model.state_; }

  // Bounds the specification's rows on boxes until `stop`: the ends of those that it left out are
  // NaN. Errors: as those of Verifier::spec_bounds().
  static Result<Bounds> bounds_until(const Verifier& verifier, std::span<const float> lower,
                                     std::span<const float> upper, const system::Stop& stop);
};

// Returns the model with the hidden tensors that a query declares of a network as outputs; itself
// where there are none. Throws: Failed BF3410, BF3024 the file has changed; BF1017.
Model with_hidden(const Model& model, const Property& property, std::size_t network = 0);

// Returns the model behind lines in so many parameters, see behind_lines(). It has bounds in exact
// real arithmetic alone.
Model with_lines(const Model& model, std::size_t parameters);

// Certificates and hidden tensors are about the bytes that the model was read from. Throws: Failed
// BF3024 its file has others now. where: the option, for the message.
void expect_unchanged(const Model& model, const std::string& where);

// Thrown within a call; guarded() makes its `error` the call's result.
struct Failed {
  Error error;
};

[[noreturn]] inline void refuse(std::string code, std::string where, std::string message,
                                std::string hint = {}) {
  throw Failed{{std::move(code), std::move(where), std::move(message), std::move(hint), {}}};
}

// Throws: Failed where the result is an error.
template <class T>
T value_of(Result<T> result) {
  if (!result) throw Failed{result.error()};
  return std::move(result.value());
}

// The values that fields and `more` give, read by the table of options. Throws: Failed,
// CompileError BF3501.
build::OptionValues values_of(const Options& options);
// decision: what the fields say; `more` wins.
build::OptionValues values_of(const VerifyOptions& options, const build::DecisionOptions& decision);
// Moves options of `more` that have a field into it; the rest stays in `more`.
Options settled(const Options& options);

// Throws: Failed BF3501 where bounds of the model by these semantics say nothing.
void check_semantics(const Model& model, bf_aot::Semantics semantics);

// Options of a plan that the engine carries out, on this machine. Throws: as check_semantics(),
// CompileError.
build::CompileOptions compile_options(const Model& model, const build::OptionValues& values);

// The options of a verifier's plan. Throws: Failed BF3501, BF2007, BF2009.
build::CompileOptions compile_options(const Model& model, const Options& options,
                                      const Specification& specification);

// Calls a function of the caller's. Throws: Failed BF3505 where it throws; CompileError BF3306
// where it leaves this thread in another mode.
template <class Function>
void tell(const Function& function) {
  try {
    function();
  } catch (const std::exception& error) {
    refuse("BF3505", "progress", std::string("the function threw: ") + error.what());
  } catch (...) {
    refuse("BF3505", "progress", "the function threw");
  }
  expect_float_environment();
}

// Throws: CompileError.
std::shared_ptr<const Lowered> plan_for(const Model& model, const build::CompileOptions& options);

// A property, with the identity that a tree's file keeps of it.
struct PropertySource {
  std::function<Property()> read;
  std::function<std::string()> bytes = [] { return std::string(); };
  std::string path = {};  // empty: from memory
};

// Checks options of decisions, and makes the request that they are. Throws: Failed, CompileError
// BF3501.
decide::Request request_of(const Model& model, const VerifyOptions& options);
VerifyResult to_result(const decide::Outcome& outcome);

// Decides a property, as verify() does. plans: of the model's other decisions with the same options
// and rows, or null. range: where counterexamples of balls lie, or null. Throws: Failed BF3501,
// BF3505, and CompileError.
VerifyResult decide(const Model& model, const VerifyOptions& options, const PropertySource& source,
                    decide::RowPlans* plans = nullptr, const Box* range = nullptr);

// The Error for the exception that is being handled. `doing`: the activity for messages, "planning
// the verifier". numbers: elements of the network, by which a lack of memory is explained; 0: not
// known.
Error current_error(const char* doing, std::size_t numbers = 0) noexcept;

// Runs the body of a call: its value, or the Error for whatever it throws. Refuses threads whose
// arithmetic is not IEEE 754's: BF3306.
template <class T, class Body>
Result<T> guarded(const char* doing, const Body& body, std::size_t numbers = 0) noexcept {
  const ThrowingChecks checks;
  try {
    expect_float_environment();
    return Result<T>(body());
  } catch (...) {
    return current_error(doing, numbers);
  }
}

}  // namespace bf_aot::api

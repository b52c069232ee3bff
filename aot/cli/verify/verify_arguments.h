#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "aot/cli/options/box_options.h"
#include "aot/cli/options/command_line.h"
#include "aot/cli/options/disturbance_options.h"
#include "aot/cli/options/gate_options.h"
#include "aot/cli/options/options.h"
#include "aot/cli/options/verdict_report.h"
#include "aot/decide/parts/tree_keeper.h"
#include "aot/decide/request.h"
#include "frontend/property/property.h"

namespace bf_aot::cli {

struct MeasureArguments {
  std::string width;  // empty: no measure is asked for
  std::string html, inner, outer;
};

struct VerifyArguments {
  ModelArguments model;
  std::string property;
  DisturbanceArguments disturbance;
  WeightArguments weights;
  std::vector<std::string> networks;
  std::string counterexample, assignments;
  std::string instances, results, counterexamples;
  bool must_hold = false;
  GateFiles gate;
  MeasureArguments measure;
  std::optional<std::size_t> index;
  bool competition = false;
  bool json = false;

  build::DecisionOptions& decision() { return model.values.decision; }
  const build::DecisionOptions& decision() const { return model.values.decision; }

  Wording wording() const {
    return !networks.empty() ? Wording::kStandard
           : competition     ? Wording::kCompetition
                             : Wording::kPlain;
  }
};

// Adds the options of verify. jobs: the help text of --jobs.
inline constexpr char kJobs[] =
    "threads that bound and split; with --instances instances at once, each in a process "
    "of its own (default: as many as there are cores)";
void add_options(CommandLine& app, VerifyArguments& arguments, const char* jobs = kJobs);

// --network NAME=FILE makes the positional MODEL the query, --weight makes weights inputs. Returns
// whether the files are complete. Throws: as begin_at_weights().
bool assign_files(VerifyArguments& arguments);

// The property that is asked about, also of weights. Throws: as read_property().
Property property_of(const VerifyArguments& arguments);

// The files of the networks that the query declares, in its order; the one MODEL without --network.
// A network that is equal to another has that one's file unless it is given one. Throws: BF3413
// where --network names other networks than the query declares.
std::vector<std::string> network_files(const VerifyArguments& arguments, const Property& property);
inline void check_networks(const VerifyArguments& arguments, const Property& property) {
  (void)network_files(arguments, property);
}

// Returns the request that the options make. --method auto leaves the choice of methods to
// decide().
decide::Request request_of(const VerifyArguments& arguments);

// Throws: BF3020 where nothing would be split.
void expect_splits(const VerifyArguments& arguments);

// Returns the keeper of a tree's file; null where no file is asked for. Throws: BF3020.
std::unique_ptr<decide::TreeKeeper> make_keeper(const VerifyArguments& arguments,
                                                const Property& property);

}  // namespace bf_aot::cli

#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "aot/artifacts/gate/gate.h"
#include "aot/build/options/decision_options.h"
#include "aot/library/bf_aot.h"

// Runs over many questions, in the files of VNN-COMP: a line "onnx,vnnlib,timeout" for each, and a
// line "category,onnx,vnnlib,prepare_seconds,result,run_seconds" for its answer.

namespace bf_aot::apps {

struct Instance {
  std::string onnx, vnnlib;  // as they are written: paths from the file's folder
  double timeout_seconds = 0;
};

struct InstanceFile {
  std::filesystem::path folder;
  std::string category;  // the folder's name
  std::vector<Instance> instances;

  // The path of a file that the instances name, with ".gz" added where only that exists.
  std::filesystem::path existing(const std::string& name) const;
};

// Reads a file of instances. Throws: BF3001, BF3015.
InstanceFile read_instances(const std::filesystem::path& path);

// The answer about an instance. An error is no verdict: a file cannot be handled, or a process
// ended before its answer.
enum class InstanceAnswer : std::uint8_t { kUnsat, kSat, kUnknown, kTimeout, kError };
const char* to_string(InstanceAnswer answer);

struct InstanceResult {
  std::size_t index = 0;  // in the file
  InstanceAnswer answer = InstanceAnswer::kError;
  double prepare_seconds = 0, run_seconds = 0;
  std::string message;         // with kError
  std::string counterexample;  // with kSat, in the competitions' syntax
  bool has_proof = false, rechecked = false;
  bool is_earlier = false;  // an earlier process found it, whose certificates a folder may have
  std::string no_proof;     // why there is none of an answer, where one was asked for
};

struct InstanceSettings {
  // Its timeout is for each instance, in place of the file's; 0: the file's. Its jobs are instances
  // at once, each in a process of its own. Its folder is for certificates.
  build::DecisionOptions decision;
  api::VerifyOptions options;             // for each instance, but timeout and jobs
  std::optional<std::size_t> index;       // the only instance to decide
  std::filesystem::path counterexamples;  // a folder for those of sat instances; or empty
  bool must_hold = false;                 // of reports: what is not proven has failed

  int jobs() const;
};

struct InstanceTotals {
  std::size_t unsat = 0, sat = 0, unknown = 0, timeout = 0, error = 0;
  std::size_t earlier = 0;    // those of all these that an earlier process found
  std::size_t proofs = 0;     // certificates that were written, or checked
  std::size_t rechecked = 0;  // those that were there, and were checked
  double seconds = 0;
};

struct InstancesRun {
  InstanceTotals totals;
  artifacts::Gate gate;  // a case for each instance
};

// Decides every instance that `results` has no line for, and appends a line as each ends, with
// progress on a terminal. A model is read once for the instances in a row that are about it.
// Throws: BF3102, BF3015 a damaged file of results, Interrupted.
InstancesRun run_instances(const InstanceFile& file, const std::filesystem::path& results,
                           const InstanceSettings& settings);

}  // namespace bf_aot::apps

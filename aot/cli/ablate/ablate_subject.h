#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "aot/build/compile.h"
#include "aot/engine/verifier/verifier.h"
#include "aot/input/json_io.h"

namespace bf_aot::cli {

// A condition that must not hold of a row of the specification: row <= limit, or row >= limit.
struct Excluded {
  int row = 0;
  bool at_least = false;
  double limit = 0;
};

// A box that the verifiers of a model are asked about.
struct Question {
  Box exact;
  input::FloatBox box;
  // The question is proven when some condition of each clause is excluded. Empty: nothing is asked.
  std::vector<std::vector<Excluded>> clauses;
  std::optional<input::GoldenBounds> reference;  // by crown
  bool rounding_dominated = false;               // too small for widths to be compared
};

// The least distance, over the clauses, by which the best of its conditions is excluded by bounds
// of the rows: positive exactly if all clauses are excluded.
double margin_of(const Question& question, const engine::Bounds& rows);

// A network, and the questions about it.
struct Subject {
  std::filesystem::path model;
  std::string sha256;
  std::string digest;  // SHA-256 of the questions
  std::optional<LinearSpec> spec;
  std::optional<Property> property;
  std::vector<Question> questions;
};

struct SubjectFiles {
  std::filesystem::path model;
  std::string property, golden;    // one of them, or none
  std::vector<std::string> boxes;  // box files
  std::size_t most_boxes = 0;      // taken from a file
};

// Reads a model and its questions. Throws: CompileError for the model or a file.
Subject read_subject(const SubjectFiles& files);

}  // namespace bf_aot::cli

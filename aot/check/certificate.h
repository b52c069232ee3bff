#pragma once

#include <string>
#include <vector>

#include "aot/check/bounds.h"
#include "aot/check/input.h"

// Certificates, as docs/reference/certificate.md has them.

namespace bf_check {

constexpr char kMagic[] = "BFC2";
constexpr u64 kDeepestTree = 2048;
constexpr u64 kMostKept = u64{1} << 25;  // depth times elements: the memory of a walk

enum Statement : unsigned char { kHolds = 1, kViolated = 2 };
enum Semantics : unsigned char { kReal = 0, kFloat32 = 1 };  // behind kFloat32: ulps
enum Tag : unsigned char {
  kLeaf = 0,         // per clause: atom
  kLeafChoices = 1,  // per clause: count, (atom, multiplier)..., flags, slopes, multipliers
  kEmpty = 2,
  kHalve = 3,   // element
  kCut = 4,     // element, place
  kNeuron = 5,  // neuron: first its argument >= 0, then <= 0
  kDerive = 6,
  kEach = 7,  // a tree for each clause
};
constexpr unsigned kHasSlopes = 1, kHasMultipliers = 2;  // flags of kLeafChoices

struct Header {
  Statement statement = kHolds;
  Grid grid;
  unsigned coefficient_bits = 40;
  std::vector<std::string> models;  // SHA-256 of the files, as the property declares networks
  std::string property;             // SHA-256 of the file
  std::string tool;                 // who made it; for readers alone
};

// The header that a certificate begins with. Throws NotProven.
Header read_header(Input& in);

// How trees are walked. The answer does not depend on it.
struct Checking {
  std::size_t jobs = 1;  // threads
  // Called now and then with the bytes of the trees that are walked, by one thread at a time.
  std::function<void(std::size_t bytes)> tell;
};

// A nonnegative combination of a clause's atoms: a violation has sum <= 0, and < 0 where `closed`.
struct Combination {
  Sum sum;
  bool closed = false;
};
// weights: atom and factor. Throws NotProven: an atom that the clause does not have.
Combination combined(const Network& network, const Property& property, const Clause& clause,
                     const std::vector<std::pair<u64, u64>>& weights);

// The steps that bf-check takes for a certificate, where it is not told.
inline u64 most_steps(const std::string& certificate) {
  return (u64{1} << 33) + (u64{1} << 20) * certificate.size();
}

// Reads files of models. Throws Refused: as read_onnx(); models that are not as many as the
// networks of the property, or not alike where it says that these are.
std::vector<Model> read_models(const std::vector<std::string>& models, const Property& property);

// Throws Refused where the property declares shapes, and others than these.
void expect_shapes(const Shapes& shapes, const Property& property);

// Throws Refused where the property is about another number of outputs, or other shapes.
void expect_fit(const Network& network, const Property& property);

// Checks a certificate of these files, which are expanded; the n-th model is the n-th network that
// the property declares. Returns what it proves. Throws Refused: a file that the checker does not
// take; NotProven: a certificate that proves nothing, with the place, or that takes more steps than
// `work` has.
Statement check(const std::vector<std::string>& models, const std::string& property,
                const std::string& certificate, Work& work, const Checking& way = {});

}  // namespace bf_check

#include "aot/prove/tree_writer.h"

#include <algorithm>
#include <cmath>

namespace bf_aot::prove {

using namespace bf_check;

namespace {

// Where at most this many inputs vary, boxes are split, else neurons, if there are any.
constexpr std::size_t kMostSplitInputs = 16;
constexpr std::size_t kBuffer = 1 << 16;

}  // namespace

TreeWriter::TreeWriter(const Question& question, Pieces& pieces, Tasks<OpenNode>& tasks,
                       const Frontier* frontier)
    : question_(question),
      network_(question.network),
      pieces_(pieces),
      tasks_(tasks),
      frontier_(frontier),
      work_(UINT64_MAX, [this] { pause(); }),
      bounder_(question.network, question.coefficient_bits, work_),
      fast_(bounder_, question.slopes.weights(), work_),
      slopes_(question.slopes, work_),
      side_(question.network.relaxations.size()) {}

void TreeWriter::write(OpenNode node) {
  piece_ = node.piece;
  walk(node);
  pieces_.flush(piece_, true);
}

void TreeWriter::pause() {
  if (tasks_.has_failed()) throw NoCertificate("making the certificate was stopped");
  question_.pause();
}

void TreeWriter::put(std::uint64_t number) {
  for (; number >= 128; number >>= 7) piece_->bytes += static_cast<char>((number & 127) | 128);
  piece_->bytes += static_cast<char>(number);
}

void TreeWriter::put_place(std::int64_t place) {
  put(static_cast<std::uint64_t>(place) << 1 ^ static_cast<std::uint64_t>(place >> 63));
}

void TreeWriter::put_leaf(std::uint64_t atom) {
  put(kLeaf);
  put(atom);
  ++totals_.leaves;
}

void TreeWriter::expect_depth(std::uint64_t depth) const {
  if (depth >= kDeepestTree || (depth + 1) * network_.elements > kMostKept)
    throw NoCertificate("the tree of the certificate is too deep");
}

void TreeWriter::begin_node(std::uint64_t depth) {
  if (piece_->bytes.size() >= kBuffer) pieces_.flush(piece_, false);
  ++totals_.nodes;
  pause();
  expect_depth(depth);
}

void TreeWriter::begin_root(OpenNode& node) {
  const Case& of_case = question_.property.cases[node.of_case];
  for (std::size_t i = 0; i < of_case.clauses.size(); ++i) node.clauses.push_back(i);
  node.part = bounder_.whole(of_case.lower, of_case.upper);
  std::size_t varying = 0;
  for (std::uint32_t i = 0; i < network_.inputs; ++i)
    varying += node.part.lower[i] < node.part.upper[i] ? 1 : 0;
  node.boxes = varying <= kMostSplitInputs || network_.relaxations.empty();
}

void TreeWriter::derive(Part& part) {
  put(kDerive);
  fast_.derive(part);
}

// Whether the checker excludes the part by the combination.
bool TreeWriter::excludes(const Part& part, const Combination& combination,
                          const Choices& choices) {
  return bounder_.is_above(part, combination.sum, combination.closed, choices);
}

// Sets what the writer holds of the node that it writes.
void TreeWriter::enter(const OpenNode& node) {
  const Case& of_case = question_.property.cases[node.of_case];
  if (case_ != &of_case) {
    case_ = &of_case;
    atoms_.clear();
    for (const Clause& clause : of_case.clauses) {
      atoms_.emplace_back();
      for (std::uint64_t i = 0; i < clause.atoms.size(); ++i)
        atoms_.back().push_back(combined(network_, question_.property, clause, {{i, 1}}));
    }
  }
  clauses_ = node.clauses;
  for (const std::uint32_t n : path_) side_[n] = 0;
  path_.clear();
  for (const auto& [n, side] : node.path) {
    side_[n] = side;
    path_.push_back(n);
  }
}

void TreeWriter::walk(OpenNode& node) {
  const bool root = node.root;
  if (root) begin_root(node);
  node.root = false;
  enter(node);
  if (node.derives) {
    derive(node.part);
  }
  if (node.boxes) {
    box(node);
  } else if (root) {
    neurons(node);
  } else {
    split_neurons(node);
  }
}

// Writes nodes that stand one after the other, or leaves some to writers that wait.
void TreeWriter::several(std::size_t count, std::uint64_t depth,
                         const std::function<OpenNode(std::size_t)>& make) {
  std::optional<Pieces::At> rest;
  const auto part = [&](OpenNode& node) {
    const auto [piece, behind] = pieces_.part(piece_);
    node.piece = piece;
    return behind;
  };
  if (frontier_ != nullptr && depth >= frontier_->depth) {
    for (std::size_t i = 0; i < count; ++i) {
      OpenNode node = make(i);
      const Pieces::At behind = part(node);
      frontier_->leave(std::move(node));
      pieces_.flush(piece_, true);
      piece_ = behind;
    }
    return;
  }
  for (std::size_t i = 0; i < count; ++i) {
    for (; i + 1 < count && tasks_.is_wanted(); --count) {
      OpenNode node = make(count - 1);
      const Pieces::At behind = part(node);
      tasks_.add(std::move(node));
      if (rest) {
        pieces_.flush(behind, true);
      } else {
        rest = behind;
      }
    }
    OpenNode node = make(i);
    walk(node);
  }
  if (!rest) return;
  pieces_.flush(piece_, true);
  piece_ = *rest;
}

// The least value of a plane on the part's box.
double TreeWriter::least(const Part& part, const Plane& plane) const {
  double sum = plane.constant;
  for (std::uint32_t x = 0; x < network_.inputs; ++x)
    sum += plane.slope[x] * static_cast<double>(plane.slope[x] > 0 ? part.lower[x] : part.upper[x]);
  return sum;
}

std::vector<double> TreeWriter::slopes_of(const SumBound& bound) const {
  const double unit = std::ldexp(1.0, -static_cast<int>(bounder_.bits()[0]));
  std::vector<double> slopes;
  for (const std::int64_t a : bound.coefficient) slopes.push_back(static_cast<double>(a) * unit);
  return slopes;
}

TreeWriter::Plane TreeWriter::plane_of(const Part& part, std::uint64_t atom, SumBound bound) const {
  Plane plane;
  plane.atom = atom;
  plane.slope = slopes_of(bound);
  plane.constant =
      std::ldexp(static_cast<double>(bound.value), -static_cast<int>(bounder_.bits()[0])) -
      least(part, plane);
  plane.bound = std::move(bound);
  return plane;
}

// Whether the checker excludes a part, of which the box of inputs alone is another than that of
// which the plane is, by the plane's condition.
bool TreeWriter::excludes(const Part& part, const Plane& plane) {
  const Combination& atom = atoms_[clauses_[0]][plane.atom];
  if (!plane.bound.has_inputs) return excludes(part, atom, {});
  const i128 value = value_on(plane.bound, part);
  return atom.closed ? value >= 0 : value > 0;
}

// Writes a leaf where each clause has a condition that the part's bounds exclude. Else: planes of
// the conditions, where there is one clause, and scores of the inputs.
bool TreeWriter::leaf(const Part& part, std::vector<double>* scores, std::vector<Plane>& planes) {
  if (part.empty) {
    put(kEmpty);
    ++totals_.leaves;
    return true;
  }
  std::vector<Sum> sums;
  const auto add = [&](const Combination& atom, int sign) {
    sums.push_back(atom.sum);
    for (auto& term : sums.back().terms) term.second *= sign;
  };
  for (const std::size_t k : clauses_)
    for (const Combination& atom : atoms_[k]) add(atom, 1);
  std::vector<SumBound> bounds = fast_.lower_bounds(part, sums);
  std::vector<std::uint64_t> chosen;
  std::vector<std::vector<double>> factors;  // of the best condition of each clause that is open
  sums.clear();
  std::size_t at = 0;
  for (const std::size_t k : clauses_) {
    std::optional<std::uint64_t> found;
    std::optional<std::size_t> best;  // of bounds
    const std::size_t begin = at;
    at += atoms_[k].size();
    for (std::size_t i = begin; i < at && !found; ++i) {
      const Combination& atom = atoms_[k][i - begin];
      const SumBound& bound = bounds[i];
      if (bound.has ? (atom.closed ? bound.value >= 0 : bound.value > 0) : excludes(part, atom, {}))
        found = i - begin;
      if (bound.has && (!best || bound.value > bounds[*best].value)) best = i;
    }
    if (found) {
      chosen.push_back(*found);
    } else if (best) {
      factors.push_back(slopes_of(bounds[*best]));
      add(atoms_[k][*best - begin], -1);
    }
  }
  if (chosen.size() == clauses_.size()) {
    put(kLeaf);
    for (const std::uint64_t atom : chosen) put(atom);
    ++totals_.leaves;
    return true;
  }
  for (std::size_t i = 0; i < bounds.size() && clauses_.size() == 1; ++i)
    if (bounds[i].has) planes.push_back(plane_of(part, i, std::move(bounds[i])));
  if (scores == nullptr) return false;
  const std::vector<SumBound> above = fast_.lower_bounds(part, sums);
  for (std::size_t i = 0; i < above.size(); ++i) {
    const std::vector<double> other = slopes_of(above[i]);
    for (std::uint32_t x = 0; x < network_.inputs; ++x)
      factors[i][x] = std::abs(factors[i][x]) + std::abs(other[x]);
    add_share(part, factors[i], *scores);
  }
  return false;
}

// Adds an input's share of what all inputs do in the part's box, by these factors.
void TreeWriter::add_share(const Part& part, const std::vector<double>& factors,
                           std::vector<double>& scores) const {
  double all = 0;
  const auto width = [&](std::uint32_t x) {
    return static_cast<double>(part.upper[x] - part.lower[x]);
  };
  for (std::uint32_t x = 0; x < network_.inputs; ++x) all += factors[x] * width(x);
  for (std::uint32_t x = 0; x < network_.inputs && all > 0; ++x)
    scores[x] += factors[x] * width(x) / all;
}

// Multipliers, from 0 to 255, by which the sum of the planes is positive on the part's box;
// empty: none were found. The least value is concave in each multiplier.
std::vector<std::pair<std::uint64_t, std::uint64_t>> TreeWriter::combination(
    const Part& part, const std::vector<Plane>& planes) const {
  std::vector<double> weight(planes.size(), 1);
  const auto value = [&] {
    Plane sum;
    sum.slope.assign(network_.inputs, 0);
    for (std::size_t i = 0; i < planes.size(); ++i) {
      sum.constant += weight[i] * planes[i].constant;
      for (std::uint32_t x = 0; x < network_.inputs; ++x)
        sum.slope[x] += weight[i] * planes[i].slope[x];
    }
    return least(part, sum);
  };
  double most = value();
  for (int round = 0; round < 6 && most <= 0; ++round)
    for (std::size_t i = 0; i < planes.size(); ++i)
      for (const double factor : {0.0, 0.25, 0.5, 0.8, 1.25, 2.0, 4.0}) {
        const double before = weight[i];
        weight[i] = std::min(before * factor, 255.0);
        double largest = 0;
        for (const double each : weight) largest = std::max(largest, each);
        const double now = largest > 0 ? value() : most;
        if (now > most) {
          most = now;
        } else {
          weight[i] = before;
        }
      }
  std::vector<std::pair<std::uint64_t, std::uint64_t>> weights;
  if (most <= 0) return weights;
  const double largest = *std::max_element(weight.begin(), weight.end());
  for (std::size_t i = 0; i < planes.size(); ++i) {
    const auto whole = static_cast<std::uint64_t>(std::lround(weight[i] / largest * 100));
    if (whole > 0) weights.emplace_back(planes[i].atom, whole);
  }
  return weights;
}

// Writes a leaf by a combination of the clause's conditions where that excludes it.
bool TreeWriter::combined_leaf(const Part& part, const std::vector<Plane>& planes) {
  if (planes.size() < 2) return false;
  const auto weights = combination(part, planes);
  if (weights.empty()) return false;
  const Combination sum =
      combined(network_, question_.property, case_->clauses[clauses_[0]], weights);
  if (!excludes(part, sum, {})) return false;
  put(kLeafChoices);
  put(weights.size());
  for (const auto& [atom, weight] : weights) {
    put(atom);
    put(weight);
  }
  put(0);
  ++totals_.leaves;
  return true;
}

// The part's input whose halves are likely to be bounded best.
std::uint32_t TreeWriter::widest(const Part& part, const std::vector<double>& scores) const {
  std::optional<std::uint32_t> best;
  for (std::uint32_t x = 0; x < network_.inputs; ++x)
    if (part.upper[x] - part.lower[x] > 1 && (!best || scores[x] > scores[*best])) best = x;
  if (!best) throw NoCertificate("a part of the box is a point that bounds do not decide");
  return *best;
}

void TreeWriter::halve(OpenNode& node, std::uint32_t input) {
  put(kHalve);
  put(input);
  const std::int64_t low = node.part.lower[input], high = node.part.upper[input];
  const std::int64_t place = low + (high - low) / 2;
  several(2, node.depth, [&](std::size_t i) {
    OpenNode half = node;
    (i == 0 ? half.part.upper : half.part.lower)[input] = place;
    ++half.depth;
    return half;
  });
}

// Cuts off what a plane excludes of an input's range, where that is a part of it worth a record.
// Returns the input; none where nothing is cut. away: what is cut off.
std::optional<std::uint32_t> TreeWriter::clip(Part& part, const Plane& plane, Part& away) {
  constexpr double kWorth = 0.1;
  const double low = least(part, plane);
  if (low >= 0) return std::nullopt;
  for (std::uint32_t x = 0; x < network_.inputs; ++x) {
    const double a = plane.slope[x], width = static_cast<double>(part.upper[x] - part.lower[x]);
    // plane > 0 where x_i is further than this from the end at which the plane is least.
    const double room = -low / std::abs(a) + 2;
    if (!(room < (1 - kWorth) * width)) continue;
    const auto step = static_cast<std::int64_t>(room) + 1;
    away = part;
    const std::int64_t place = a > 0 ? part.lower[x] + step : part.upper[x] - step;
    (a > 0 ? away.lower : away.upper)[x] = place;
    if (!excludes(away, plane)) continue;
    (a > 0 ? part.upper : part.lower)[x] = place;
    put(kCut);
    put(x);
    put_place(place);
    return x;
  }
  return std::nullopt;
}

// Splits inputs. Bounds are derived for each part, and those of its halves start from them.
void TreeWriter::box(OpenNode& node) {
  begin_node(node.depth);
  derive(node.part);
  std::vector<double> scores(network_.inputs);
  std::vector<Plane> planes;
  if (leaf(node.part, &scores, planes) || combined_leaf(node.part, planes)) return;
  divide(node, scores, planes, 0, 1);
}

// Clips the part by the planes from `next` on, and then halves it, or derives it anew where little
// of it is left.
void TreeWriter::divide(OpenNode& node, std::vector<double>& scores,
                        const std::vector<Plane>& planes, std::size_t next, double share) {
  Part& part = node.part;
  expect_depth(node.depth);
  Part away;
  for (; next < planes.size(); ++next) {
    if (least(part, planes[next]) > 0 && excludes(part, planes[next]))
      return put_leaf(planes[next].atom);
    const std::vector<std::int64_t> lower = part.lower, upper = part.upper;
    const std::optional<std::uint32_t> x = clip(part, planes[next], away);
    if (!x) continue;
    share *= static_cast<double>(part.upper[*x] - part.lower[*x]) /
             static_cast<double>(upper[*x] - lower[*x]);
    const bool first = part.upper[*x] == upper[*x];  // what is away comes first
    if (first) put_leaf(planes[next].atom);
    ++node.depth;
    divide(node, scores, planes, next, share);
    if (!first) put_leaf(planes[next].atom);
    return;
  }
  if (share < 0.5) {
    ++node.depth;
    return box(node);
  }
  add_share(part, question_.input_weights, scores);
  halve(node, widest(part, scores));
}

// Splits neurons, by bounds that are derived once for a case.
void TreeWriter::neurons(OpenNode& node) {
  begin_node(node.depth);
  derive(node.part);
  std::vector<Plane> planes;
  if (leaf(node.part, nullptr, planes) || combined_leaf(node.part, planes)) return;
  node.proposal = slopes_.rule(node.part);
  if (node.clauses.size() == 1) return split_neurons(node);
  put(kEach);
  several(node.clauses.size(), node.depth, [&](std::size_t i) {
    OpenNode one = node;
    one.clauses = {node.clauses[i]};
    ++one.depth;
    return one;
  });
}

// The clause's condition whose bound is best. With `steps` steps of optimisation.
TreeWriter::Best TreeWriter::best_of(const Part& part, const Proposal& start, int steps) {
  Best best;
  best.bound = -HUGE_VAL;
  const std::vector<Combination>& atoms = atoms_[clauses_[0]];
  for (std::uint64_t i = 0; i < atoms.size(); ++i) {
    Proposal proposal = start;
    const double bound = slopes_.improve(part, atoms[i].sum, side_, proposal, steps, 0);
    if (bound > best.bound || i == 0) best = {i, bound, proposal};
  }
  return best;
}

// Writes a leaf with the proposal's choices where the checker's bound by them is good enough.
bool TreeWriter::leaf_by(const Part& part, const Best& best) {
  Choices choices;
  const Combination& atom = atoms_[clauses_[0]][best.atom];
  const std::size_t count = network_.relaxations.size();
  choices.slope.assign(count, kRuleSlope);
  choices.multiplier.assign(count, 0);
  choices.side = side_;
  // Those that matter and are not the rule's.
  slopes_.bound(part, atom.sum, side_, best.proposal);
  std::vector<std::uint32_t> chosen;
  for (std::uint32_t n = 0; n < count; ++n) {
    const double slope = best.proposal.slope[n], a = slopes_.arrived(n);
    const bool open = is_open(network_, part, n) && a > 0;
    if (!open && !(is_curved(network_, part, n) && a != 0 && slope != kNoChoice)) continue;
    const auto place =
        static_cast<unsigned char>(std::lround(std::ldexp(slope, static_cast<int>(kSlopeBits))));
    const std::uint32_t z = network_.relaxations[n].argument;
    if (open ? place == (rule_is_one(part, z) ? 1 << kSlopeBits : 0)
             : !slopes_.is_choice(part, n, place))
      continue;
    choices.slope[n] = place;
    chosen.push_back(n);
  }
  const double most = std::ldexp(1.0, static_cast<int>(kCoefficientSize)) - 1;
  for (const std::uint32_t n : path_)
    choices.multiplier[n] = static_cast<std::int64_t>(std::clamp(
        std::ldexp(best.proposal.multiplier[n], static_cast<int>(bounder_.bits()[0])), 0.0, most));
  if (!excludes(part, atom, choices)) return false;
  put(kLeafChoices);
  put(1);
  put(best.atom);
  put(1);
  put((chosen.empty() ? 0 : kHasSlopes) | (path_.empty() ? 0 : kHasMultipliers));
  if (!chosen.empty()) put(chosen.size());
  std::uint32_t next = 0;
  for (const std::uint32_t n : chosen) {
    put(n - next);
    piece_->bytes += static_cast<char>(choices.slope[n]);
    next = n + 1;
  }
  for (const std::uint32_t n : path_) put(static_cast<std::uint64_t>(choices.multiplier[n]));
  ++totals_.leaves;
  return true;
}

// The split of a relaxation: of a ReLU by its argument's sign, else of the argument or wider factor
// in halves, or where they are not too unequal, by its sign, which sigmoids bend by.
TreeWriter::Split TreeWriter::split_of(const Part& part, std::uint32_t n) const {
  const Relaxed& relaxed = network_.relaxations[n];
  Split split = {n, relaxed.argument, 0, relaxed.kind == Kind::kRelu};
  if (split.is_neuron) return split;
  const auto width = [&](std::uint32_t e) { return part.upper[e] - part.lower[e]; };
  if (relaxed.kind == Kind::kProduct) {
    const std::uint32_t other = slopes_.other_factor(n);
    if (width(other) > width(split.element)) split.element = other;
  }
  const std::int64_t low = part.lower[split.element], high = part.upper[split.element];
  const bool by_sign = low < 0 && high > 0 && std::min(-low, high) > (high - low) / 5;
  split.place = by_sign ? 0 : low + (high - low) / 2;
  return split;
}

// A half of a node's part: the one at the greater values first for neurons, as their record has it.
OpenNode TreeWriter::half_of(const OpenNode& node, const Split& split, std::size_t i) const {
  OpenNode half = node;
  half.derives = false;
  ++half.depth;
  if (split.is_neuron) {
    const int side = i == 0 ? 1 : -1;
    bounder_.split(half.part, split.relaxation, side);
    half.path.emplace_back(split.relaxation, static_cast<signed char>(side));
    return half;
  }
  half.is_cut = true;
  half.derives = true;
  (i == 0 ? half.part.upper : half.part.lower)[split.element] = split.place;
  // Without a choice, a line is that of the whole.
  double& place = half.proposal.slope[split.relaxation];
  if (place == kNoChoice) place = 0.5;
  return half;
}

void TreeWriter::put_split(const Split& split) {
  put(split.is_neuron ? kNeuron : kCut);
  put(split.is_neuron ? split.relaxation : split.element);
  if (!split.is_neuron) put_place(split.place);
}

// The candidate whose two halves have the best bounds together. The node has the last bound's
// proposal.
TreeWriter::Split TreeWriter::chosen_split(const OpenNode& node, std::uint64_t atom,
                                           const std::vector<std::uint32_t>& candidates) {
  const Sum& sum = atoms_[clauses_[0]][atom].sum;
  Split chosen = split_of(node.part, candidates[0]);
  double most = -HUGE_VAL;
  for (const std::uint32_t n : candidates) {
    const Split split = split_of(node.part, n);
    double total = 0;
    for (const std::size_t i : {0, 1}) {
      const OpenNode half = half_of(node, split, i);
      if (split.is_neuron) side_[n] = half.path.back().second;
      total += std::min(0.0, slopes_.bound(half.part, sum, side_, half.proposal));
    }
    if (split.is_neuron) side_[n] = 0;
    if (total > most) {
      most = total;
      chosen = split;
    }
  }
  return chosen;
}

void TreeWriter::split_neurons(OpenNode& node) {
  constexpr int kRootSteps = 60, kSteps = 8;
  constexpr std::size_t kCandidates = 10;
  const Part& part = node.part;
  begin_node(node.depth);
  if (part.empty) {
    put(kEmpty);
    ++totals_.leaves;
    return;
  }
  const bool is_first = path_.empty() && !node.is_cut;
  std::vector<Plane> planes;
  if (is_first && leaf(part, nullptr, planes)) return;
  const Best best = best_of(part, node.proposal, is_first ? kRootSteps : kSteps);
  if (best.bound > 0 && leaf_by(part, best)) return;
  slopes_.bound(part, atoms_[clauses_[0]][best.atom].sum, side_, best.proposal);
  const std::vector<double> losses = slopes_.losses(part, side_, best.proposal);
  std::vector<std::uint32_t> candidates;
  for (std::uint32_t n = 0; n < losses.size(); ++n)
    if (side_[n] == 0 && (is_open(network_, part, n) || (losses[n] > 0 && is_wide(part, n))))
      candidates.push_back(n);
  std::sort(candidates.begin(), candidates.end(), [&](std::uint32_t a, std::uint32_t b) {
    return losses[a] != losses[b] ? losses[a] > losses[b] : a < b;
  });
  if (candidates.empty()) return last_neuron(node, best);
  if (candidates.size() > kCandidates) candidates.resize(kCandidates);
  node.proposal = best.proposal;
  const Split chosen = chosen_split(node, best.atom, candidates);
  put_split(chosen);
  several(2, node.depth, [&](std::size_t i) { return half_of(node, chosen, i); });
}

// Whether the argument or a factor of a function or product can be halved.
bool TreeWriter::is_wide(const Part& part, std::uint32_t n) const {
  const std::uint32_t element = split_of(part, n).element;
  return part.upper[element] - part.lower[element] > 1;
}

// A part whose neurons all have a side: a linear program, whose multipliers are looked for longer,
// and a box that is halved where they are not found.
void TreeWriter::last_neuron(OpenNode& node, const Best& start) {
  const Best best = best_of(node.part, start.proposal, 300);
  if (leaf_by(node.part, best)) return;
  std::vector<double> scores(network_.inputs);
  const Combination& atom = atoms_[clauses_[0]][best.atom];
  bounder_.is_above(node.part, atom.sum, atom.closed, {});
  for (std::uint32_t x = 0; x < network_.inputs; ++x)
    scores[x] = std::abs(static_cast<double>(bounder_.input_coefficients()[x])) *
                static_cast<double>(node.part.upper[x] - node.part.lower[x]);
  node.proposal = best.proposal;
  node.derives = true;
  halve(node, widest(node.part, scores));
}

}  // namespace bf_aot::prove

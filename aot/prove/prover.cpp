#include "aot/prove/prover.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <optional>
#include <utility>

#include "aot/check/certificate.h"
#include "aot/prove/slope_search.h"

namespace bf_aot::prove {

using namespace bf_check;

namespace {

// Where at most this many inputs vary, boxes are split, else neurons.
constexpr std::size_t kMostSplitInputs = 16;
constexpr std::size_t kBuffer = 1 << 16;

class Prover {
 public:
  Prover(const Network& network, const Property& property, const ProofRequest& request,
         unsigned coefficient_bits)
      : network_(network),
        property_(property),
        request_(request),
        bounder_(network, coefficient_bits),
        slopes_(network),
        weights_(slopes_.input_weights()),
        side_(network.argument.size()),
        start_(std::chrono::steady_clock::now()) {}

  ProofTotals run(std::string header) {
    out_ = std::move(header);
    for (const Case& each : property_.cases) {
      case_ = &each;
      clauses_.clear();
      for (std::size_t i = 0; i < each.clauses.size(); ++i) clauses_.push_back(i);
      atoms_.clear();
      for (const Clause& clause : each.clauses) {
        atoms_.emplace_back();
        for (std::uint64_t i = 0; i < clause.atoms.size(); ++i)
          atoms_.back().push_back(combined(network_, property_, clause, {{i, 1}}));
      }
      Part whole = bounder_.whole(each.lower, each.upper);
      std::size_t varying = 0;
      for (std::uint32_t i = 0; i < network_.inputs; ++i)
        varying += whole.lower[i] < whole.upper[i] ? 1 : 0;
      if (varying <= kMostSplitInputs) {
        box(whole, 0);
      } else {
        neurons(whole);
      }
    }
    flush(0);
    return totals_;
  }

 private:
  void put(std::uint64_t number) {
    while (number >= 128) {
      out_ += static_cast<char>((number & 127) | 128);
      number >>= 7;
    }
    out_ += static_cast<char>(number);
  }

  void flush(std::size_t most) {
    if (out_.size() < most) return;
    totals_.bytes += out_.size();
    request_.write(out_);
    out_.clear();
  }

  void begin_node(std::uint64_t depth) {
    flush(kBuffer);
    ++totals_.nodes;
    if (request_.stop()) throw NoCertificate("making the certificate was stopped");
    const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start_;
    if (request_.seconds > 0 && passed.count() > request_.seconds)
      throw NoCertificate("the certificate could not be made within its time");
    expect_depth(depth);
  }

  void expect_depth(std::uint64_t depth) const {
    if (depth >= kDeepestTree || (depth + 1) * network_.elements > kMostKept)
      throw NoCertificate("the tree of the certificate is too deep");
  }

  // A plane below a clause's condition on a part: the violation has plane(x) <= 0.
  struct Plane {
    std::uint64_t atom = 0;
    std::vector<double> slope;  // by input
    double constant = 0;        // in units of values, as slope times value is
  };

  // The least value of a plane on the part's box.
  double least(const Part& part, const Plane& plane) const {
    double sum = plane.constant;
    for (std::uint32_t x = 0; x < network_.inputs; ++x)
      sum +=
          plane.slope[x] * static_cast<double>(plane.slope[x] > 0 ? part.lower[x] : part.upper[x]);
    return sum;
  }

  // The plane of the last bound, which is `bound`.
  Plane plane_of(const Part& part, std::uint64_t atom, i128 bound) const {
    Plane plane;
    plane.atom = atom;
    const double unit = std::ldexp(1.0, -static_cast<int>(bounder_.bits()[0]));
    for (const std::int64_t a : bounder_.input_coefficients())
      plane.slope.push_back(static_cast<double>(a) * unit);
    plane.constant = 0;
    plane.constant = static_cast<double>(bound) * unit - least(part, plane);
    return plane;
  }

  // Writes a leaf where each clause has a condition that the part's bounds exclude. Else: planes of
  // the conditions, where there is one clause, and scores of the inputs.
  bool leaf(const Part& part, std::vector<double>& scores, std::vector<Plane>& planes) {
    static const Choices rule;
    std::vector<std::uint64_t> chosen;
    bool all = true;
    for (const std::size_t k : clauses_) {
      std::optional<std::uint64_t> found;
      std::optional<i128> most;
      std::vector<double> best(network_.inputs);
      for (std::uint64_t i = 0; i < atoms_[k].size() && !found; ++i) {
        const Combination& atom = atoms_[k][i];
        const auto bound = bounder_.lower_bound(part, atom.sum, rule, bounder_.bits()[0]);
        if (part.empty || bounder_.is_above(part, atom.sum, atom.closed, rule)) {
          found = i;
          continue;
        }
        if (!bound) continue;
        if (clauses_.size() == 1) planes.push_back(plane_of(part, i, *bound));
        if (most && *bound <= *most) continue;
        most = bound;
        for (std::uint32_t x = 0; x < network_.inputs; ++x)
          best[x] = std::abs(static_cast<double>(bounder_.input_coefficients()[x]));
        Sum negated = atom.sum;
        for (auto& term : negated.terms) term.second = -term.second;
        if (bounder_.lower_bound(part, negated, rule, bounder_.bits()[0]))
          for (std::uint32_t x = 0; x < network_.inputs; ++x)
            best[x] += std::abs(static_cast<double>(bounder_.input_coefficients()[x]));
      }
      all = all && found;
      if (found) {
        chosen.push_back(*found);
      } else {
        add_share(part, best, scores);
      }
    }
    if (!all) return false;
    if (part.empty) {
      put(kEmpty);
    } else {
      put(kLeaf);
      for (const std::uint64_t atom : chosen) put(atom);
    }
    ++totals_.leaves;
    return true;
  }

  // Adds an input's share of what all inputs do in the part's box, by these factors.
  void add_share(const Part& part, const std::vector<double>& factors,
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
  std::vector<std::pair<std::uint64_t, std::uint64_t>> combination(
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
  bool combined_leaf(const Part& part, const std::vector<Plane>& planes) {
    if (planes.size() < 2) return false;
    const auto weights = combination(part, planes);
    if (weights.empty()) return false;
    const Combination sum = combined(network_, property_, case_->clauses[clauses_[0]], weights);
    if (!bounder_.is_above(part, sum.sum, sum.closed, {})) return false;
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
  std::uint32_t widest(const Part& part, const std::vector<double>& scores) const {
    std::optional<std::uint32_t> best;
    for (std::uint32_t x = 0; x < network_.inputs; ++x)
      if (part.upper[x] - part.lower[x] > 1 && (!best || scores[x] > scores[*best])) best = x;
    if (!best) throw NoCertificate("a part of the box is a point that bounds do not decide");
    return *best;
  }

  void halve(Part& part, std::uint32_t input, Part& first) {
    put(kHalve);
    put(input);
    const std::int64_t place = part.lower[input] + (part.upper[input] - part.lower[input]) / 2;
    first = part;
    first.upper[input] = place;
    part.lower[input] = place;
  }

  // Cuts off what a plane excludes of an input's range, where that is a part of it worth a record.
  // Returns the input; none where nothing is cut. away: what is cut off.
  std::optional<std::uint32_t> clip(Part& part, const Plane& plane, Part& away) {
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
      const Combination& atom = atoms_[clauses_[0]][plane.atom];
      if (!bounder_.is_above(away, atom.sum, atom.closed, {})) continue;
      (a > 0 ? part.upper : part.lower)[x] = place;
      put(kCut);
      put(x);
      put(static_cast<std::uint64_t>(place) << 1 ^ static_cast<std::uint64_t>(place >> 63));
      return x;
    }
    return std::nullopt;
  }

  // Splits inputs. Bounds are derived for each part, and those of its halves start from them.
  void box(Part& part, std::uint64_t depth) {
    begin_node(depth);
    bounder_.derive(part);
    put(kDerive);
    std::vector<double> scores(network_.inputs);
    std::vector<Plane> planes;
    if (leaf(part, scores, planes) || combined_leaf(part, planes)) return;
    divide(part, scores, planes, 0, 1, depth);
  }

  // Clips the part by the planes from `next` on, and then halves it, or derives it anew where
  // little of it is left.
  void divide(Part& part, std::vector<double>& scores, const std::vector<Plane>& planes,
              std::size_t next, double share, std::uint64_t depth) {
    expect_depth(depth);
    Part away;
    for (; next < planes.size(); ++next) {
      const Combination& atom = atoms_[clauses_[0]][planes[next].atom];
      if (least(part, planes[next]) > 0 && bounder_.is_above(part, atom.sum, atom.closed, {}))
        return put_leaf(planes[next].atom);
      const std::vector<std::int64_t> lower = part.lower, upper = part.upper;
      const std::optional<std::uint32_t> x = clip(part, planes[next], away);
      if (!x) continue;
      share *= static_cast<double>(part.upper[*x] - part.lower[*x]) /
               static_cast<double>(upper[*x] - lower[*x]);
      const bool first = part.upper[*x] == upper[*x];  // what is away comes first
      if (first) put_leaf(planes[next].atom);
      divide(part, scores, planes, next, share, depth + 1);
      if (!first) put_leaf(planes[next].atom);
      return;
    }
    if (share < 0.5) return box(part, depth + 1);
    add_share(part, weights_, scores);
    Part half;
    halve(part, widest(part, scores), half);
    box(half, depth + 1);
    box(part, depth + 1);
  }

  void put_leaf(std::uint64_t atom) {
    put(kLeaf);
    put(atom);
    ++totals_.leaves;
  }

  // Splits neurons, by bounds that are derived once for a case.
  void neurons(Part& part) {
    put(kDerive);
    bounder_.derive(part);
    const bool each = clauses_.size() > 1;
    std::vector<double> scores(network_.inputs);
    std::vector<Plane> planes;
    if (leaf(part, scores, planes)) return;
    if (each) put(kEach);
    const std::vector<std::size_t> all = clauses_;
    for (const std::size_t k : all) {
      clauses_ = {k};
      Part copy = part;
      split_neurons(copy, slopes_.rule(copy), each ? 1 : 0);
    }
    clauses_ = all;
  }

  struct Best {
    std::uint64_t atom = 0;
    double bound = -HUGE_VAL;
    Proposal proposal;
  };

  // The clause's condition whose bound is best. With `steps` steps of optimisation.
  Best best_of(const Part& part, const Proposal& start, int steps) {
    Best best;
    const std::vector<Combination>& atoms = atoms_[clauses_[0]];
    for (std::uint64_t i = 0; i < atoms.size(); ++i) {
      Proposal proposal = start;
      const double bound = slopes_.improve(part, atoms[i].sum, side_, proposal, steps, 0);
      if (bound > best.bound || i == 0) best = {i, bound, proposal};
    }
    return best;
  }

  // Writes a leaf with the proposal's choices where the checker's bound by them is good enough.
  bool leaf_by(const Part& part, const Best& best) {
    Choices choices;
    const Combination& atom = atoms_[clauses_[0]][best.atom];
    const std::size_t count = network_.argument.size();
    choices.slope.assign(count, kRuleSlope);
    choices.multiplier.assign(count, 0);
    choices.side = side_;
    // Those that matter and are not the rule's.
    slopes_.bound(part, atom.sum, side_, best.proposal);
    std::vector<std::uint32_t> chosen;
    for (std::uint32_t n = 0; n < count; ++n) {
      if (!is_open(network_, part, n) || slopes_.arrived(n) <= 0) continue;
      const std::uint32_t z = network_.argument[n];
      const long slope =
          std::lround(std::ldexp(best.proposal.slope[n], static_cast<int>(kSlopeBits)));
      if (slope == (part.lower[z] + part.upper[z] > 0 ? 1 << kSlopeBits : 0)) continue;
      choices.slope[n] = static_cast<unsigned char>(slope);
      chosen.push_back(n);
    }
    const double most = std::ldexp(1.0, static_cast<int>(kCoefficientSize)) - 1;
    for (const std::uint32_t n : path_)
      choices.multiplier[n] = static_cast<std::int64_t>(
          std::clamp(std::ldexp(best.proposal.multiplier[n], static_cast<int>(bounder_.bits()[0])),
                     0.0, most));
    if (!bounder_.is_above(part, atom.sum, atom.closed, choices)) return false;
    put(kLeafChoices);
    put(1);
    put(best.atom);
    put(1);
    put((chosen.empty() ? 0 : kHasSlopes) | (path_.empty() ? 0 : kHasMultipliers));
    if (!chosen.empty()) put(chosen.size());
    std::uint32_t next = 0;
    for (const std::uint32_t n : chosen) {
      put(n - next);
      out_ += static_cast<char>(choices.slope[n]);
      next = n + 1;
    }
    for (const std::uint32_t n : path_) put(static_cast<std::uint64_t>(choices.multiplier[n]));
    ++totals_.leaves;
    return true;
  }

  void split_neurons(Part& part, const Proposal& start, std::uint64_t depth) {
    constexpr int kRootSteps = 60, kSteps = 15;
    constexpr std::size_t kCandidates = 4;
    begin_node(depth);
    if (part.empty) {
      put(kEmpty);
      ++totals_.leaves;
      return;
    }
    std::vector<double> scores(network_.inputs);
    std::vector<Plane> planes;
    if (path_.empty() && leaf(part, scores, planes)) return;
    const Best best = best_of(part, start, path_.empty() ? kRootSteps : kSteps);
    if (best.bound > 0 && leaf_by(part, best)) return;
    const Sum& sum = atoms_[clauses_[0]][best.atom].sum;
    slopes_.bound(part, sum, side_, best.proposal);
    std::vector<double> losses = slopes_.losses(part);
    std::vector<std::uint32_t> candidates;
    for (std::uint32_t n = 0; n < losses.size(); ++n)
      if (is_open(network_, part, n) && side_[n] == 0) candidates.push_back(n);
    std::sort(candidates.begin(), candidates.end(), [&](std::uint32_t a, std::uint32_t b) {
      return losses[a] != losses[b] ? losses[a] > losses[b] : a < b;
    });
    if (candidates.empty()) return last_neuron(part, best, depth);
    if (candidates.size() > kCandidates) candidates.resize(kCandidates);
    std::uint32_t chosen = candidates[0];
    double most = -HUGE_VAL;
    for (const std::uint32_t n : candidates) {
      double least = HUGE_VAL, total = 0;
      for (const int side : {1, -1}) {
        Part half = part;
        bounder_.split(half, n, side);
        side_[n] = static_cast<signed char>(side);
        const double bound = std::min(0.0, slopes_.bound(half, sum, side_, best.proposal));
        least = std::min(least, bound);
        total += bound;
      }
      side_[n] = 0;
      if (least + 0.1 * total > most) {
        most = least + 0.1 * total;
        chosen = n;
      }
    }
    put(kNeuron);
    put(chosen);
    path_.push_back(chosen);
    for (const int side : {1, -1}) {
      Part half = part;
      bounder_.split(half, chosen, side);
      side_[chosen] = static_cast<signed char>(side);
      split_neurons(half, best.proposal, depth + 1);
    }
    side_[chosen] = 0;
    path_.pop_back();
  }

  // A part whose neurons all have a side: a linear program, whose multipliers are looked for
  // longer, and a box that is halved where they are not found.
  void last_neuron(Part& part, const Best& start, std::uint64_t depth) {
    const Best best = best_of(part, start.proposal, 300);
    if (leaf_by(part, best)) return;
    std::vector<double> scores(network_.inputs);
    const Combination& atom = atoms_[clauses_[0]][best.atom];
    bounder_.is_above(part, atom.sum, atom.closed, {});
    for (std::uint32_t x = 0; x < network_.inputs; ++x)
      scores[x] = std::abs(static_cast<double>(bounder_.input_coefficients()[x])) *
                  static_cast<double>(part.upper[x] - part.lower[x]);
    Part first;
    halve(part, widest(part, scores), first);
    for (Part* half : {&first, &part}) {
      put(kDerive);
      bounder_.derive(*half);
      split_neurons(*half, best.proposal, depth + 1);
    }
  }

  const Network& network_;
  const Property& property_;
  const ProofRequest& request_;
  Bounder bounder_;
  SlopeSearch slopes_;
  const Case* case_ = nullptr;
  const std::vector<double> weights_;            // by input: see SlopeSearch
  std::vector<std::size_t> clauses_;             // that the tree is about
  std::vector<std::vector<Combination>> atoms_;  // by clause
  std::vector<signed char> side_;                // by neuron
  std::vector<std::uint32_t> path_;              // neurons that are split
  std::string out_;
  ProofTotals totals_;
  std::chrono::steady_clock::time_point start_;
};

std::string header_of(const ProofRequest& request, const Header& header) {
  std::string text = kMagic;
  for (const unsigned number : {static_cast<unsigned>(header.statement), header.grid.weight_bits,
                                header.grid.value_bits, header.coefficient_bits})
    text += static_cast<char>(number);
  text += sha256(request.model) + sha256(request.property);
  const std::string tool = request.tool.substr(0, 127);
  text += static_cast<char>(tool.size());
  return text + tool;
}

}  // namespace

void expect_covered(const std::string& model, const std::string& property) {
  const Network network = make_network(read_onnx(model), Grid{});
  expect_fit(network, read_property(property));
  const Bounder bounder(network, Header{}.coefficient_bits);
}

// A finer grid loses less, a coarser one holds larger values: the first is taken that holds all.
ProofTotals write_proof(const ProofRequest& request) {
  const Model model = read_onnx(request.model);
  const Property property = read_property(request.property);
  bool written = false;
  ProofRequest counted = request;
  counted.write = [&](const std::string& bytes) {
    written = true;
    request.write(bytes);
  };
  for (const unsigned value_bits : {Grid{}.value_bits, 28u, 20u}) {
    Header header;
    header.grid.value_bits = value_bits;
    const Network network = make_network(model, header.grid);
    expect_fit(network, property);
    try {
      return Prover(network, property, counted, header.coefficient_bits)
          .run(header_of(request, header));
    } catch (const NotProven& why) {
      if (written || value_bits == 20) throw NoCertificate(why.what());
    }
  }
  throw NoCertificate("no grid holds the network's values");
}

ProofTotals write_violation(const ProofRequest& request, const std::vector<Rat>& point) {
  Header header;
  header.statement = kViolated;
  std::string text = header_of(request, header);
  for (const Rat& number : point) {
    const std::string digits = number.get_str();
    for (std::size_t size = digits.size();; size >>= 7) {
      text += static_cast<char>(size < 128 ? size : (size & 127) | 128);
      if (size < 128) break;
    }
    text += digits;
  }
  const Property property = read_property(request.property);
  if (!is_violated(property, point, evaluate(read_onnx(request.model), point)))
    throw NoCertificate("the point does not violate the property as the checker reads it");
  request.write(text);
  return {0, 0, text.size()};
}

}  // namespace bf_aot::prove

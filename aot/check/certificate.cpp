#include "aot/check/certificate.h"

namespace bf_check {
namespace {

class Input {
 public:
  explicit Input(const std::string& bytes) : bytes_(bytes) {}

  [[noreturn]] void fail(const std::string& why) const {
    throw NotProven("byte " + std::to_string(at_) + ": " + why);
  }

  unsigned byte() {
    if (at_ >= bytes_.size()) fail("the certificate ends too early");
    return static_cast<unsigned char>(bytes_[at_++]);
  }

  u64 number() {
    u64 value = 0;
    for (unsigned shift = 0;; shift += 7) {
      const u64 part = byte();
      if (shift == 63 && part > 1) fail("a number has more than 64 bits");
      value |= (part & 127) << shift;
      if (part < 128) return value;
    }
  }

  std::string text(u64 size) {
    if (size > bytes_.size() - at_) fail("the certificate ends too early");
    const std::string part = bytes_.substr(at_, static_cast<std::size_t>(size));
    at_ += static_cast<std::size_t>(size);
    return part;
  }

  bool done() const { return at_ == bytes_.size(); }

 private:
  const std::string& bytes_;
  std::size_t at_ = 0;
};

Header read_header(Input& in) {
  const std::string magic = in.text(4);
  if (magic == "BFC1") in.fail("this is a certificate of version 1: make it anew");
  if (magic != kMagic) in.fail("this is no certificate");
  Header header;
  const unsigned statement = in.byte();
  if (statement != kHolds && statement != kViolated) in.fail("no such statement");
  header.statement = static_cast<Statement>(statement);
  const unsigned semantics = in.byte();
  if (semantics > kFloat32) in.fail("no such semantics");
  header.grid.float32 = semantics == kFloat32;
  if (header.grid.float32) header.grid.ulps = in.byte();
  header.grid.weight_bits = in.byte();
  header.grid.value_bits = in.byte();
  header.coefficient_bits = in.byte();
  const auto outside = [](unsigned bits, unsigned most) { return bits < 8 || bits > most; };
  if (outside(header.grid.weight_bits, 50) || outside(header.grid.value_bits, 48) ||
      outside(header.coefficient_bits, 48))
    in.fail("no such grid");
  for (u64 left = in.number(); left > 0; --left) header.models.push_back(in.text(32));
  header.property = in.text(32);
  header.tool = in.text(in.number());
  return header;
}

// Walks the tree of a case. Each node of the tree is a part, and what is proven of a node follows
// from what is proven of the nodes below it, which cover it.
class Walk {
 public:
  Walk(Input& in, Bounder& bounder, Work& work, const Property& property, const Case& of_case)
      : in_(in),
        work_(work),
        bounder_(bounder),
        network_(bounder.network()),
        property_(property),
        case_(of_case),
        end_(of_case.clauses.size()),
        side_(network_.relaxations.size()) {}

  void node(Part& part, u64 depth) {
    work_.spend(network_.elements);
    if (depth > kDeepestTree || depth * network_.elements > kMostKept)
      in_.fail("the tree is too deep");
    unsigned tag = in_.byte();
    for (; tag == kDerive; tag = in_.byte()) bounder_.derive(part);
    if (tag == kLeaf || tag == kLeafChoices) return leaf(part, tag == kLeafChoices);
    if (tag == kHalve || tag == kCut) return cut(part, depth, tag == kHalve);
    if (tag == kNeuron) return split(part, depth);
    if (tag == kEach) return each(part, depth);
    if (tag != kEmpty) in_.fail("no such record");
    if (!part.empty) in_.fail("a part that is said to be empty is not");
  }

 private:
  void each(const Part& part, u64 depth) {
    if (end_ - begin_ < 2) in_.fail("there are no clauses to be told apart");
    const std::size_t end = end_;
    for (std::size_t i = 0; i < end; ++i) {
      Part copy = part;
      begin_ = i, end_ = i + 1;
      node(copy, depth + 1);
    }
    begin_ = 0, end_ = end;
  }

  void cut(Part& part, u64 depth, bool halve) {
    const u64 input = in_.number();
    if (input >= network_.inputs) in_.fail("no such input");
    const i64 low = part.lower[input], high = part.upper[input];
    i64 place = low + (high - low) / 2;
    if (!halve) {
      const u64 coded = in_.number();
      place = static_cast<i64>(coded >> 1) ^ -static_cast<i64>(coded & 1);
    }
    if (place < low || place > high) in_.fail("an input is cut outside of its part");
    Part first = part;
    first.upper[input] = place;
    node(first, depth + 1);
    part.lower[input] = place;
    node(part, depth + 1);
  }

  void split(Part& part, u64 depth) {
    const u64 neuron = in_.number();
    if (neuron >= network_.relaxations.size() || network_.relaxations[neuron].kind != Kind::kRelu)
      in_.fail("no such neuron");
    if (!part.derived) in_.fail("a neuron is split before its bounds are derived");
    if (side_[neuron] != 0) in_.fail("a neuron is split twice");
    path_.push_back(static_cast<u32>(neuron));
    for (const int side : {1, -1}) {
      Part half = part;
      side_[neuron] = static_cast<signed char>(side);
      bounder_.split(half, static_cast<u32>(neuron), side);
      node(half, depth + 1);
    }
    side_[neuron] = 0;
    path_.pop_back();
  }

  void leaf(const Part& part, bool chooses) {
    for (std::size_t k = begin_; k < end_; ++k) {
      const Clause& clause = case_.clauses[k];
      work_.spend(network_.elements);
      std::vector<std::pair<u64, u64>> weights;
      const u64 count = chooses ? in_.number() : 1;
      if (count > clause.atoms.size()) in_.fail("too many conditions");
      for (u64 i = 0; i < count; ++i) {
        const u64 atom = in_.number();
        weights.emplace_back(atom, chooses ? in_.number() : 1);
      }
      const unsigned flags = chooses ? in_.byte() : 0;
      if (flags > (kHasSlopes | kHasMultipliers)) in_.fail("no such flags");
      Choices choices;
      if ((flags & kHasSlopes) != 0) {
        choices.slope.assign(network_.relaxations.size(), kRuleSlope);
        u64 next = 0;  // a slope's relaxation is told by its distance from the one before
        for (u64 left = in_.number(); left > 0; --left) {
          const u64 gap = in_.number();
          if (gap >= choices.slope.size() - next) in_.fail("no such relaxation");
          const unsigned slope = in_.byte();
          if (slope > 1u << kSlopeBits) in_.fail("no such slope");
          choices.slope[next + gap] = static_cast<unsigned char>(slope);
          next += gap + 1;
        }
      }
      if ((flags & kHasMultipliers) != 0) {
        choices.side = side_;
        choices.multiplier.assign(network_.relaxations.size(), 0);
        for (const u32 n : path_) {
          const u64 multiplier = in_.number();
          if (multiplier >> kCoefficientSize != 0) in_.fail("a multiplier is too large");
          choices.multiplier[n] = static_cast<i64>(multiplier);
        }
      }
      const Combination sum = combined(network_, property_, clause, weights);
      if (!part.empty && !bounder_.is_above(part, sum.sum, sum.closed, choices))
        in_.fail("the bound of a leaf does not exclude its clause");
    }
  }

  Input& in_;
  Work& work_;
  Bounder& bounder_;
  const Network& network_;
  const Property& property_;
  const Case& case_;
  std::size_t begin_ = 0, end_;    // the clauses that the part is about
  std::vector<signed char> side_;  // by relaxation, of the part that is walked
  std::vector<u32> path_;          // neurons that are split, from the root
};

}  // namespace

Combination combined(const Network& network, const Property& property, const Clause& clause,
                     const std::vector<std::pair<u64, u64>>& weights) {
  Combination result;
  for (const auto& [index, weight] : weights) {
    if (index >= clause.atoms.size()) throw NotProven("no such condition");
    const Clause::Atom& atom = clause.atoms[static_cast<std::size_t>(index)];
    const Int factor = static_cast<unsigned long>(weight);
    for (const auto& [variable, coefficient] : atom.terms)
      result.sum.terms.emplace_back(
          variable < property.inputs ? variable : network.outputs[variable - property.inputs],
          coefficient * factor);
    result.sum.constant += atom.constant * factor;
    result.closed = result.closed || (atom.strict && weight > 0);
  }
  return result;
}

void expect_shapes(const std::vector<std::vector<i64>>& shapes, const Property& property) {
  if (!property.shapes.empty() && property.shapes != shapes)
    refuse("the property declares other shapes than the model has");
}

void expect_fit(const Network& network, const Property& property) {
  if (network.inputs != property.inputs || network.outputs.size() != property.outputs)
    refuse("the property is about " + std::to_string(property.inputs) + " inputs and " +
           std::to_string(property.outputs) + " outputs, and the model has " +
           std::to_string(network.inputs) + " and " + std::to_string(network.outputs.size()));
  expect_shapes(network.shapes, property);
}

Statement check(const std::vector<std::string>& models, const std::string& property,
                const std::string& certificate, Work& work) {
  Input in(certificate);
  const Header header = read_header(in);
  if (header.models.size() != models.size())
    in.fail("the certificate is about another number of models");
  for (std::size_t i = 0; i < models.size(); ++i)
    if (header.models[i] != sha256(models[i])) in.fail("the certificate is about another model");
  if (header.property != sha256(property)) in.fail("the certificate is about another property");
  if (models.size() != 1) refuse("the property declares another number of networks");
  const Model read = read_onnx(models[0]);
  const Property asked = read_property(property);
  if (header.statement == kViolated) {
    std::vector<Rat> point;
    for (u32 i = 0; i < asked.inputs; ++i) point.push_back(from_fraction(in.text(in.number())));
    if (!in.done()) in.fail("the certificate goes on behind its end");
    const Outputs outputs = evaluate(read, point, header.grid, header.coefficient_bits, work);
    expect_shapes(outputs.shapes, asked);
    if (!is_violated(asked, point, outputs.lower, outputs.upper))
      in.fail("the point does not violate the property");
    return kViolated;
  }
  const Network network = make_network(read, header.grid, work);
  expect_fit(network, asked);
  Bounder bounder(network, header.coefficient_bits, work);
  for (const Case& each : asked.cases) {
    Part whole = bounder.whole(each.lower, each.upper);
    Walk(in, bounder, work, asked, each).node(whole, 0);
  }
  if (!in.done()) in.fail("the certificate goes on behind its end");
  return kHolds;
}

}  // namespace bf_check

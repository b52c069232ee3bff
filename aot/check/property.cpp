#include "aot/check/property.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

namespace bf_check {
namespace {

constexpr u32 kMostVariables = 1u << 20;  // of inputs, or of outputs: each has a name
constexpr std::size_t kMostClauses = 1u << 16;
constexpr std::size_t kMostEnds = 1u << 24;  // inputs by alternatives
constexpr std::size_t kMostBits = 1u << 17;  // of a number that a product makes
constexpr std::size_t kMostProducts = 1u << 16;
constexpr std::size_t kMostWays = 1u << 10;
constexpr std::size_t kMostCopied = 1u << 20;  // terms that all ways have together
constexpr int kDeepest = 200;

// A word, or a list of expressions.
struct Expression {
  bool list = false;
  std::string word;
  std::vector<Expression> parts;
};

class Reader {
 public:
  explicit Reader(const std::string& text) : text_(text) {}

  bool done() {
    while (at_ < text_.size() && (is_space(text_[at_]) || text_[at_] == ';')) {
      if (text_[at_] == ';') {
        while (at_ < text_.size() && text_[at_] != '\n') ++at_;
      } else {
        ++at_;
      }
    }
    return at_ == text_.size();
  }

  Expression next(int depth = 0) {
    if (done()) refuse("the property's file ends within an expression");
    if (depth > kDeepest) refuse("the property is nested too deeply");
    Expression expression;
    if (text_[at_] == ')') refuse("the property has ')' without '('");
    if (text_[at_] == '(') {
      ++at_;
      expression.list = true;
      while (true) {
        if (done()) refuse("the property's file ends within an expression");
        if (text_[at_] == ')') break;
        expression.parts.push_back(next(depth + 1));
      }
      ++at_;
      return expression;
    }
    // Blanks within [...] belong to the word, and are dropped beside its marks.
    int brackets = 0;
    bool blank = false;
    for (; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (c == '(' || c == ')' || c == ';' || c == '"' || c == '|') break;
      if (is_space(c) && brackets == 0) break;
      brackets += c == '[' ? 1 : c == ']' ? -1 : 0;
      if (blank && !is_space(c) && c != ',' && c != ']' && expression.word.back() != ',' &&
          expression.word.back() != '[')
        refuse("the property has a blank within a number of [...]");
      blank = is_space(c);
      if (!blank) expression.word += c;
    }
    if (expression.word.empty()) refuse("the property has a character that is not in the grammar");
    return expression;
  }

 private:
  static bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

  const std::string& text_;
  std::size_t at_ = 0;
};

std::pair<u32, u32> ordered(u32 a, u32 b) {
  return {std::min(a, b), std::max(a, b)};
}

// A linear term. Of the parser's variables: inputs from 0, outputs from kMostVariables, products
// from twice that.
struct Linear {
  std::map<u32, Rat> terms;
  Rat constant = 0;

  void add(const Linear& other, const Rat& factor) {
    for (const auto& [variable, coefficient] : other.terms) {
      Rat& sum = terms[variable];
      sum += factor * coefficient;
      if (sum == 0) terms.erase(variable);
    }
    constant += factor * other.constant;
  }
};

// Terms that a comparison or an operation reads, and what must hold where they are those: one of
// the ways to choose the parts of maxima.
struct Way {
  std::vector<Formula> guards;
  std::vector<Linear> values;

  std::size_t size() const {
    std::size_t size = 1 + guards.size() + values.size();
    for (const Linear& value : values) size += value.terms.size();
    return size;
  }
};

// A tensor that is declared, or a variable of VNN-LIB 1.0, which has no axes.
struct Declaration {
  u32 first = 0;                       // of its elements among all inputs, or outputs
  bool input = false, shared = false;  // shared: several networks have one of this name
  std::vector<i64> shape;
};

// The extents, or indices, of "[1,2]"; none of "[]". Throws Refused: another text.
std::vector<i64> numbers_of(const std::string& text) {
  const std::size_t end = text.size() - 1;
  if (text.size() < 2 || text[0] != '[' || text[end] != ']') refuse("a shape is no [...]");
  std::vector<i64> numbers;
  for (std::size_t i = 1, next = 0; i <= end && text != "[]"; i = next + 1) {
    next = std::min(text.find(',', i), end);
    const std::string number = text.substr(i, next - i);
    if (number.empty() || number.size() > 8 || (number[0] == '0' && number != "0") ||
        number.find_first_not_of("0123456789") != std::string::npos)
      refuse("a number within [...] of the property is not in the grammar");
    numbers.push_back(std::stol(number));
  }
  return numbers;
}

class Parser {
 public:
  Property parse(const std::string& text) {
    Reader reader(text);
    property_.violation.form = Formula::kAll;
    while (!reader.done()) command(reader.next());
    return std::move(property_);
  }

 private:
  void command(const Expression& e) {
    if (!e.list || e.parts.empty() || e.parts[0].list) refuse("the property has no command");
    const std::string& name = e.parts[0].word;
    if (ended_ && name != "exit") refuse("the property goes on behind its check-sat or exit");
    ended_ = ended_ || name == "check-sat" || name == "exit";
    if (name == "declare-const" || name == "declare-fun") {
      constant(e, name == "declare-fun" ? 3 : 2);
    } else if (name == "declare-network") {
      network(e);
    } else if (name == "assert") {
      if (e.parts.size() != 2) refuse("an assert has one formula");
      property_.violation.parts.push_back(formula(e.parts[1], false));
    } else if (name != "vnnlib-version" && name != "set-logic" && name != "set-info" &&
               name != "check-sat" && name != "exit") {
      refuse("command '" + shown(name) + "' is not in the checker's grammar");
    }
  }

  // type: where it stands.
  void constant(const Expression& e, std::size_t type) {
    if (e.parts.size() != type + 1 || e.parts[type].word != "Real" || e.parts[1].word.size() < 3 ||
        (type == 3 && (!e.parts[2].list || !e.parts[2].parts.empty())) || has_networks_)
      refuse("a declaration of the property is not in the grammar");
    const std::string& word = e.parts[1].word;
    if (word[1] != '_' || (word[0] != 'X' && word[0] != 'Y'))
      refuse("the property declares '" + shown(word) + "', which is neither X_i nor Y_i");
    if (word.substr(2) != std::to_string(word[0] == 'X' ? property_.inputs : property_.outputs))
      refuse("the property declares '" + shown(word) + "' out of order");
    if (property_.networks.empty()) property_.networks.emplace_back();
    declare(word, {}, word[0] == 'X');
  }

  void declare(const std::string& name, const std::vector<i64>& shape, bool input) {
    u32& count = input ? property_.inputs : property_.outputs;
    Declared& network = property_.networks.back();
    if (name.empty() || name.find_first_of(".[]") != std::string::npos)
      refuse("a name of the property is not in the grammar");
    const Declaration made{count, input, false, shape};
    if (has_networks_ && !variables_.emplace(network.name + "." + name, made).second)
      refuse("the property declares a name twice");
    const auto [known, added] = variables_.emplace(name, made);
    if (!added && !has_networks_) refuse("the property declares a name twice");
    known->second.shared = !added;
    u64 size = 1;
    for (const i64 extent : shape)
      if ((size *= static_cast<u64>(extent)) > kMostVariables)
        refuse("a shape of the property is not in the grammar");
    (input ? network.inputs : network.outputs) += static_cast<u32>(size);
    if ((count += static_cast<u32>(size)) > kMostVariables)
      refuse("the property declares too much");
  }

  void network(const Expression& e) {
    if (e.parts.size() < 2 || !property_.violation.parts.empty() ||
        (!has_networks_ && !property_.networks.empty()))
      refuse("a network of the property is declared where the grammar has none");
    has_networks_ = true;
    for (const Declared& other : property_.networks)
      if (other.name == e.parts[1].word) refuse("the property declares a name twice");
    property_.networks.emplace_back().name = e.parts[1].word;
    Declared& made = property_.networks.back();
    if (made.name.find_first_of(".[]") != std::string::npos || made.name.empty())
      refuse("a name of the property is not in the grammar");
    for (std::size_t i = 2; i < e.parts.size(); ++i) {
      const Expression& d = e.parts[i];
      if (!d.list || d.parts.size() < 2)
        refuse("a declaration of the property is not in the grammar");
      const std::string& kind = d.parts[0].word;
      if (kind == "equal-to" || kind == "isomorphic-to") {
        relation(d, kind == "equal-to" ? made.equal : made.isomorphic);
        continue;
      }
      const bool input = kind == "declare-input";
      if (d.parts.size() != 4 || (!input && kind != "declare-output") ||
          d.parts[2].word != "Real" || (input && made.outputs > 0))
        refuse("a declaration of the property is not in the grammar");
      made.shapes.push_back(numbers_of(d.parts[3].word));
      declare(d.parts[1].word, made.shapes.back(), input);
    }
    if (made.inputs == 0 || made.outputs == 0)
      refuse("a network of the property has no input or no output");
    for (const auto& other : {made.equal, made.isomorphic})
      if (other && property_.networks[*other].shapes != made.shapes)
        refuse("networks of the property that are alike have other shapes");
  }

  // (equal-to NAME) or (isomorphic-to NAME), of an earlier network.
  void relation(const Expression& e, std::optional<std::size_t>& other) {
    for (std::size_t i = 0; i + 1 < property_.networks.size(); ++i)
      if (!other && e.parts.size() == 2 && property_.networks[i].name == e.parts[1].word)
        return void(other = i);
    refuse("a relation of networks is not in the grammar");
  }

  // The number of a variable; inputs come first, then outputs, then products.
  u32 variable(const std::string& word) const {
    const std::size_t bracket = std::min(word.find('['), word.size());
    const auto found = variables_.find(word.substr(0, bracket));
    if (found == variables_.end())
      refuse("the property reads '" + shown(word) + "', which it does not declare");
    const Declaration& tensor = found->second;
    if (tensor.shared) refuse("several networks declare '" + shown(word) + "'");
    std::vector<i64> at;
    if (bracket < word.size()) at = numbers_of(word.substr(bracket));
    if (at.size() != tensor.shape.size() || (bracket < word.size() && at.empty()))
      refuse("'" + shown(word) + "' has not one index for each axis");
    i64 index = 0;
    for (std::size_t i = 0; i < at.size(); ++i) {
      if (at[i] >= tensor.shape[i]) refuse("'" + shown(word) + "' is outside of its tensor");
      index = index * tensor.shape[i] + at[i];
    }
    return static_cast<u32>(index) + tensor.first + (tensor.input ? 0 : kMostVariables);
  }

  // The terms behind an expression's first word, by each way.
  std::vector<Way> ways(const Expression& e) {
    std::vector<Way> all(1);
    for (std::size_t i = 1; i < e.parts.size(); ++i) {
      std::vector<Way> of_term = term(e.parts[i]), longer;
      if (all.size() * of_term.size() > kMostWays) refuse("the property has too many alternatives");
      if (of_term.size() == 1 && of_term[0].guards.empty()) {
        if (all.size() > 1) count_copies(all.size() * of_term[0].size());
        for (Way& way : all) way.values.push_back(of_term[0].values[0]);
        continue;
      }
      for (const Way& way : all)
        for (const Way& more : of_term) {
          count_copies(way.size() + more.size());
          longer.push_back(way);
          longer.back().values.push_back(more.values[0]);
          longer.back().guards.insert(longer.back().guards.end(), more.guards.begin(),
                                      more.guards.end());
        }
      all = std::move(longer);
    }
    return all;
  }

  // The value of a term, by each way.
  std::vector<Way> term(const Expression& e) {
    if (!e.list) return {{{}, {word(e.word)}}};
    if (e.parts.size() < 2 || e.parts[0].list)
      refuse("a term of the property is not in the grammar");
    const std::string& name = e.parts[0].word;
    std::vector<Way> all = ways(e), result;
    for (Way& way : all) {
      if (name == "max" || name == "min") {
        extremes(way, name == "max", result);
      } else if (name == "abs" && way.values.size() == 1) {
        way.values.emplace_back().add(way.values[0], -1);
        extremes(way, true, result);
      } else {
        result.push_back({std::move(way.guards), {arithmetic(name, way.values)}});
        if (all.size() > 1) count_copies(result.back().size());
      }
    }
    if (result.size() > kMostWays) refuse("the property has too many alternatives");
    return result;
  }

  // Bounds the memory of ways.
  void count_copies(std::size_t terms) {
    if ((copied_ += terms) > kMostCopied) refuse("the property has too many alternatives");
  }

  // Adds the ways in which each of the values is the greatest, or the least.
  void extremes(const Way& way, bool greatest, std::vector<Way>& result) {
    for (std::size_t i = 0; i < way.values.size(); ++i) {
      count_copies(way.size() + way.values.size() * way.values[i].terms.size());
      Way one{way.guards, {way.values[i]}};
      for (std::size_t j = 0; j < way.values.size(); ++j)
        if (j != i)
          one.guards.push_back(comparison(way.values[j], way.values[i], false, !greatest));
      result.push_back(std::move(one));
    }
  }

  Linear word(const std::string& word) const {
    Linear result;
    const char c = word[0];
    if (c == '-' || c == '+' || c == '.' || (c >= '0' && c <= '9')) {
      result.constant = from_decimal(word);
    } else {
      result.terms[variable(word)] = 1;
    }
    return result;
  }

  Linear arithmetic(const std::string& name, const std::vector<Linear>& values) {
    Linear result = values[0], scaled;
    Rat factor = name == "-" && values.size() == 1 ? -1 : 1;  // of all
    if (name != "+" && name != "-" && name != "*")
      refuse("'" + shown(name) + "' is not in the checker's grammar");
    for (std::size_t i = 1; i < values.size(); ++i) {
      Linear other = values[i];
      if (name != "*") {
        result.add(other, name == "+" ? 1 : -1);
        continue;
      }
      if (result.terms.empty()) std::swap(result, other);
      if (!other.terms.empty()) {
        result = product(result, other);
        continue;
      }
      factor *= other.constant;
      expect_bits(factor);
    }
    if (factor == 1) return result;
    scaled.add(result, factor);
    return scaled;
  }

  // The product of two sums, in which products of two variables are variables.
  Linear product(const Linear& a, const Linear& b) {
    Linear result;
    for (const auto& [v, c] : a.terms)
      for (const auto& [w, d] : b.terms) {
        const auto [place, added] =
            products_.try_emplace(ordered(v, w), static_cast<u32>(products_.size()));
        if (added) property_.wiring.products.push_back(place->first);
        if (products_.size() > kMostProducts) refuse("the property has too many products");
        Linear term;
        term.terms[2 * kMostVariables + place->second] = c * d;
        expect_bits(c * d);
        result.add(term, 1);
      }
    Linear rest = a;
    rest.constant = 0;
    result.add(rest, b.constant);
    result.add(b, a.constant);
    return result;
  }

  static void expect_bits(const Rat& x) {
    if (bits_of(x.get_num()) + bits_of(x.get_den()) > kMostBits)
      refuse("the arithmetic of the property makes a number of too many digits");
  }

  static std::size_t bits_of(const Int& x) { return mpz_sizeinbase(x.get_mpz_t(), 2); }

  // a <= b, or a < b; negated: b < a, or b <= a.
  Formula comparison(const Linear& a, const Linear& b, bool strict, bool negated) {
    Linear difference = negated ? b : a;
    difference.add(negated ? a : b, -1);
    Condition condition;
    for (const auto& term : difference.terms) condition.terms.push_back(term);
    condition.constant = difference.constant;
    condition.strict = strict != negated;
    Formula formula;
    formula.form = Formula::kAtom;
    formula.atom = property_.conditions.size();
    property_.conditions.push_back(std::move(condition));
    return formula;
  }

  // The formula, or what holds where it does not.
  Formula formula(const Expression& e, bool negated) {
    Formula result;
    if (!e.list && (e.word == "true" || e.word == "false")) {
      result.form = (e.word == "true") != negated ? Formula::kAll : Formula::kAny;
      return result;
    }
    if (!e.list || e.parts.empty() || e.parts[0].list)
      refuse("a formula of the property is not in the grammar");
    const std::string& name = e.parts[0].word;
    if (name == "not" && e.parts.size() == 2) return formula(e.parts[1], !negated);
    if (name == "and" || name == "or") {
      if (e.parts.size() < 2) refuse("'" + name + "' of nothing is not in the checker's grammar");
      result.form = (name == "and") != negated ? Formula::kAll : Formula::kAny;
      for (std::size_t i = 1; i < e.parts.size(); ++i)
        result.parts.push_back(formula(e.parts[i], negated));
      return result;
    }
    const bool less = name == "<=" || name == "<", equal = name == "=" || name == "==";
    if (!(less || equal || name == ">=" || name == ">") || e.parts.size() < 3)
      refuse("'" + shown(name) + "' is not in the checker's grammar");
    // A chain: each pair of neighbours is compared.
    const bool strict = name == "<" || name == ">";
    const std::vector<Way> all = ways(e);
    for (const Way& way : all) {
      Formula chain;
      chain.form = negated ? Formula::kAny : Formula::kAll;
      for (std::size_t i = 0; i + 1 < way.values.size(); ++i) {
        const Linear &a = way.values[i], &b = way.values[i + 1];
        if (less || equal) chain.parts.push_back(comparison(a, b, strict, negated));
        if (!less) chain.parts.push_back(comparison(b, a, strict, negated));
      }
      if (all.size() == 1) return chain;
      count_copies(way.size());
      Formula& one = result.parts.emplace_back();
      one.parts = way.guards;
      one.parts.push_back(std::move(chain));
    }
    result.form = Formula::kAny;
    return result;
  }

  Property property_;
  bool has_networks_ = false, ended_ = false;
  std::size_t copied_ = 0;
  std::map<std::string, Declaration> variables_;  // tensors, by name
  std::map<std::pair<u32, u32>, u32> products_;   // by their factors
};

// How the variables that the parser numbers become those of conditions: inputs that are equal are
// one (docs/reference/certificate.md), and so are their products.
class Wires {
 public:
  explicit Wires(Property& property) : property_(property), first_(property.inputs) {
    std::iota(first_.begin(), first_.end(), 0);
    if (property.networks.size() > 1) find_equals();
    number_inputs();
    number_products();
    for (Condition& condition : property.conditions) {
      Linear sum;
      for (const auto& [variable, coefficient] : condition.terms) {
        Linear term;
        term.terms[number(variable)] = coefficient;
        sum.add(term, 1);
      }
      condition.terms.assign(sum.terms.begin(), sum.terms.end());
    }
  }

 private:
  // Adds the pairs of variables (u, v) of which u <= v holds in all alternatives.
  void collect(const Formula& formula, std::set<std::pair<u32, u32>>& at_most) const {
    if (formula.form == Formula::kAtom) {
      const Condition& condition = property_.conditions[formula.atom];
      const auto& terms = condition.terms;
      if (terms.size() != 2 || condition.strict || condition.constant != 0 ||
          terms[0].second != -terms[1].second || terms[1].first >= 2 * kMostVariables)
        return;
      const std::size_t less = terms[0].second > 0 ? 0 : 1;
      at_most.emplace(terms[less].first, terms[1 - less].first);
    } else if (formula.form == Formula::kAll || formula.parts.size() == 1) {
      for (const Formula& part : formula.parts) collect(part, at_most);
    }
  }

  void find_equals() {
    std::set<std::pair<u32, u32>> at_most;
    collect(property_.violation, at_most);
    for (const auto& [a, b] : at_most) {
      if (a >= kMostVariables || b >= kMostVariables || at_most.count({b, a}) == 0) continue;
      const auto [less, more] = ordered(class_of(a), class_of(b));
      first_[more] = less;
    }
    // The pairs are in the order of the outputs: the least one takes a class's place.
    for (const auto& [a, b] : at_most)
      if (a >= kMostVariables && b < kMostVariables && at_most.count({b, a}) != 0 &&
          network_of(a) < network_of(class_of(b)))
        outputs_.try_emplace(class_of(b), a - kMostVariables);
  }

  u32 class_of(u32 input) {
    while (first_[input] != input) input = first_[input] = first_[first_[input]];
    return input;
  }

  std::size_t network_of(u32 variable) const {
    const bool input = variable < kMostVariables;
    u32 left = input ? variable : variable - kMostVariables;
    for (std::size_t i = 0;;
         left -= input ? property_.networks[i].inputs : property_.networks[i].outputs, ++i)
      if (left < (input ? property_.networks[i].inputs : property_.networks[i].outputs)) return i;
  }

  void number_inputs() {
    Wiring& wiring = property_.wiring;
    for (u32 i = 0; i < first_.size(); ++i)
      if (class_of(i) == i && outputs_.count(i) == 0) first_number_[i] = wiring.inputs++;
    for (u32 i = 0; i < first_.size(); ++i) {
      const auto output = outputs_.find(class_of(i));
      wiring.source.push_back(output == outputs_.end() ? first_number_.at(class_of(i))
                                                       : wiring.inputs + output->second);
    }
    property_.inputs = wiring.inputs;
  }

  // Products of the same factors are one.
  void number_products() {
    std::map<std::pair<u32, u32>, u32> seen;
    std::vector<std::pair<u32, u32>> kept;
    for (const auto& [a, b] : property_.wiring.products) {
      const auto [place, added] =
          seen.try_emplace(ordered(number(a), number(b)), static_cast<u32>(kept.size()));
      if (added) kept.push_back(place->first);
      products_.push_back(place->second);
    }
    property_.wiring.products = std::move(kept);
  }

  u32 number(u32 variable) const {
    if (variable < kMostVariables) return property_.wiring.source[variable];
    if (variable < 2 * kMostVariables) return property_.inputs + variable - kMostVariables;
    return property_.inputs + property_.outputs + products_[variable - 2 * kMostVariables];
  }

  Property& property_;
  std::vector<u32> first_;           // input: another of its class, or itself
  std::map<u32, u32> outputs_;       // class: the output that takes its place
  std::map<u32, u32> first_number_;  // class: its element
  std::vector<u32> products_;        // product: the one that it is
};

using Conjunction = std::vector<std::size_t>;  // atoms

std::vector<Conjunction> alternatives(const Formula& formula) {
  if (formula.form == Formula::kAtom) return {{formula.atom}};
  std::vector<Conjunction> all;
  if (formula.form == Formula::kAll) all.emplace_back();
  for (const Formula& part : formula.parts) {
    const std::vector<Conjunction> of_part = alternatives(part);
    if (formula.form == Formula::kAny) {
      all.insert(all.end(), of_part.begin(), of_part.end());
    } else {
      if (all.size() * of_part.size() > kMostClauses)
        refuse("the property has too many alternatives");
      if (of_part.size() == 1) {
        for (Conjunction& a : all) a.insert(a.end(), of_part[0].begin(), of_part[0].end());
        continue;
      }
      std::vector<Conjunction> products;
      for (const Conjunction& a : all)
        for (const Conjunction& b : of_part) {
          products.push_back(a);
          products.back().insert(products.back().end(), b.begin(), b.end());
        }
      all = std::move(products);
    }
    if (all.size() > kMostClauses || (!all.empty() && all.size() * all[0].size() > 4 * kMostEnds))
      refuse("the property has too many alternatives");
  }
  return all;
}

// The multiple of a condition whose coefficients are coprime integers.
Clause::Atom scaled(const Condition& condition) {
  Int multiple = 1, divisor = 0;
  for (const auto& term : condition.terms)
    mpz_lcm(multiple.get_mpz_t(), multiple.get_mpz_t(), term.second.get_den_mpz_t());
  Clause::Atom atom;
  for (const auto& [variable, coefficient] : condition.terms) {
    const Rat integer = coefficient * multiple;
    atom.terms.emplace_back(variable, integer.get_num());
    mpz_gcd(divisor.get_mpz_t(), divisor.get_mpz_t(), integer.get_num_mpz_t());
  }
  if (divisor == 0) divisor = 1;
  for (auto& term : atom.terms) term.second /= divisor;
  Rat factor(multiple, divisor);
  factor.canonicalize();
  atom.constant = condition.constant * factor;
  atom.strict = condition.strict;
  return atom;
}

void make_cases(Property& property) {
  const u32 inputs = property.inputs;
  std::map<std::pair<std::vector<Rat>, std::vector<Rat>>, std::size_t> seen;
  const std::vector<Conjunction> all = alternatives(property.violation);
  if (all.size() * inputs > kMostEnds) refuse("the property has too many alternatives");
  for (const Conjunction& conjunction : all) {
    std::vector<std::optional<Rat>> least(inputs), most(inputs);
    std::vector<Rat> lower, upper;
    Clause clause;
    bool empty = false;
    for (const std::size_t index : conjunction) {
      const Condition& condition = property.conditions[index];
      if (condition.terms.size() != 1 || condition.terms[0].first >= inputs) {
        clause.atoms.push_back(scaled(condition));
        continue;
      }
      const auto& [input, coefficient] = condition.terms[0];
      const Rat end = -condition.constant / coefficient;
      std::optional<Rat>& known = (coefficient > 0 ? most : least)[input];
      if (!known || (coefficient > 0 ? end < *known : end > *known)) known = end;
    }
    for (u32 i = 0; i < inputs; ++i) {
      if (!least[i] || !most[i])
        refuse("input " + std::to_string(i) + " has no lower and upper bound in an alternative");
      empty = empty || *least[i] > *most[i];
      lower.push_back(*least[i]), upper.push_back(*most[i]);
    }
    if (empty) continue;
    const auto [place, added] = seen.try_emplace({lower, upper}, property.cases.size());
    if (added) property.cases.push_back({lower, upper, {}});
    property.cases[place->second].clauses.push_back(std::move(clause));
  }
}

// lower, upper: of all variables.
bool holds(const Property& property, const Formula& formula, const std::vector<Rat>& lower,
           const std::vector<Rat>& upper) {
  if (formula.form == Formula::kAtom) {
    const Condition& condition = property.conditions[formula.atom];
    Rat sum = condition.constant;
    for (const auto& [variable, coefficient] : condition.terms)
      sum += coefficient * (coefficient > 0 ? upper : lower)[variable];
    return condition.strict ? sum < 0 : sum <= 0;
  }
  for (const Formula& part : formula.parts)
    if (holds(property, part, lower, upper) == (formula.form == Formula::kAny))
      return formula.form == Formula::kAny;
  return formula.form == Formula::kAll;
}

}  // namespace

Property read_property(const std::string& text) {
  Property property = Parser().parse(text);
  if (property.inputs == 0) refuse("the property declares no input");
  const Wires wires(property);
  make_cases(property);
  if (property.cases.empty()) refuse("the property has no case: no input satisfies its asserts");
  return property;
}

bool is_violated(const Property& property, const std::vector<Rat>& inputs, std::vector<Rat> lower,
                 std::vector<Rat> upper) {
  if (inputs.size() != property.inputs || lower.size() != property.outputs)
    refuse("the property is about another number of inputs or outputs");
  lower.insert(lower.begin(), inputs.begin(), inputs.end());
  upper.insert(upper.begin(), inputs.begin(), inputs.end());
  for (const auto& [a, b] : property.wiring.products) {
    Rat least = lower[a] * lower[b], most = least;
    for (const Rat& corner :
         {Rat(lower[a] * upper[b]), Rat(upper[a] * lower[b]), Rat(upper[a] * upper[b])})
      least = std::min(least, corner), most = std::max(most, corner);
    lower.push_back(least), upper.push_back(most);
  }
  return holds(property, property.violation, lower, upper);
}

}  // namespace bf_check

#include "aot/check/property.h"

#include <algorithm>
#include <map>
#include <optional>

namespace bf_check {
namespace {

constexpr u32 kMostVariables = 1u << 20;  // of inputs, or of outputs: each has a name
constexpr std::size_t kMostClauses = 1u << 16;
constexpr std::size_t kMostEnds = 1u << 24;  // inputs by alternatives
constexpr std::size_t kMostBits = 1u << 17;  // of a number that a product makes
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

// A linear term.
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

class Parser {
 public:
  Property parse(const std::string& text) {
    Reader reader(text);
    property_.violation.form = Formula::kAll;
    while (!reader.done()) command(reader.next());
    for (Condition& condition : property_.conditions)
      for (auto& term : condition.terms)
        if (term.first >= kMostVariables) term.first += property_.inputs - kMostVariables;
    for (auto* of : {&input_shapes_, &output_shapes_})
      property_.shapes.insert(property_.shapes.end(), of->begin(), of->end());
    return std::move(property_);
  }

 private:
  void command(const Expression& e) {
    if (!e.list || e.parts.empty() || e.parts[0].list) refuse("the property has no command");
    const std::string& name = e.parts[0].word;
    if (ended_ && name != "exit") refuse("the property goes on behind its check-sat or exit");
    ended_ = ended_ || name == "check-sat" || name == "exit";
    if (name == "declare-const" || name == "declare-fun") {
      const std::size_t type = name == "declare-fun" ? 3 : 2;
      if (e.parts.size() != type + 1 || e.parts[type].word != "Real" ||
          e.parts[1].word.size() < 3 ||
          (type == 3 && (!e.parts[2].list || !e.parts[2].parts.empty())) || has_network_)
        refuse("a declaration of the property is not in the grammar");
      const std::string& word = e.parts[1].word;
      if (word[1] != '_' || (word[0] != 'X' && word[0] != 'Y'))
        refuse("the property declares '" + shown(word) + "', which is neither X_i nor Y_i");
      if (word.substr(2) != std::to_string(word[0] == 'X' ? property_.inputs : property_.outputs))
        refuse("the property declares '" + shown(word) + "' out of order");
      declare(word, word[0] == 'X');
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

  void declare(const std::string& name, bool input) {
    u32& count = input ? property_.inputs : property_.outputs;
    if (!variables_.emplace(name, std::make_pair(input, count)).second || ++count > kMostVariables)
      refuse("the property declares a name twice, or too much");
  }

  void network(const Expression& e) {
    if (!variables_.empty()) refuse("several networks are not in the checker's grammar");
    has_network_ = true;
    for (std::size_t i = 2; i < e.parts.size(); ++i) {
      const Expression& d = e.parts[i];
      const bool input = d.list && !d.parts.empty() && d.parts[0].word == "declare-input";
      if (!d.list || d.parts.size() != 4 || (!input && d.parts[0].word != "declare-output") ||
          d.parts[2].word != "Real")
        refuse("a declaration of the property is not in the grammar");
      elements(d.parts[1].word, d.parts[3].word, input);
    }
    if (property_.inputs == 0) refuse("the property's network has no input");
  }

  // Declares the elements of a tensor, NAME[0,0] for one; shape: "[1,2]".
  void elements(const std::string& name, const std::string& shape, bool input) {
    std::vector<std::string> names{name + "["};
    std::vector<i64> extents;
    const std::size_t end = shape.size() - 1;
    if (shape.size() < 2 || shape[0] != '[' || shape[end] != ']') refuse("a shape is no [...]");
    for (std::size_t i = 1, next = 0; i <= end && shape != "[]"; i = next + 1) {
      next = std::min(shape.find(',', i), end);
      const Rat extent = from_decimal(shape.substr(i, next - i));
      if (extent.get_den() != 1 || extent < 0 || extent * names.size() > kMostVariables)
        refuse("a shape of the property is not in the grammar");
      extents.push_back(extent.get_num().get_si());
      std::vector<std::string> longer;
      for (const std::string& each : names)
        for (i64 k = 0; k < extent.get_num(); ++k)
          longer.push_back(each + (i > 1 ? "," : "") + std::to_string(k));
      names = std::move(longer);
    }
    (input ? input_shapes_ : output_shapes_).push_back(extents);
    for (const std::string& each : names) declare(shape == "[]" ? name : each + "]", input);
  }

  // The number of a variable; inputs come first.
  u32 variable(const std::string& word) const {
    const auto found = variables_.find(word);
    if (found == variables_.end())
      refuse("the property reads '" + shown(word) + "', which it does not declare");
    return found->second.second + (found->second.first ? 0 : kMostVariables);
  }

  Linear linear(const Expression& e) const {
    Linear result;
    if (!e.list) {
      const char c = e.word[0];
      if (c == '-' || c == '+' || c == '.' || (c >= '0' && c <= '9')) {
        result.constant = from_decimal(e.word);
      } else {
        result.terms[variable(e.word)] = 1;
      }
      return result;
    }
    if (e.parts.size() < 2 || e.parts[0].list)
      refuse("a term of the property is not in the grammar");
    const std::string& name = e.parts[0].word;
    result = linear(e.parts[1]);
    if (name == "-" && e.parts.size() == 2) {
      Linear negated;
      negated.add(result, -1);
      return negated;
    }
    if (name != "+" && name != "-" && name != "*")
      refuse("'" + shown(name) + "' is not in the checker's grammar");
    Rat factor = 1;  // of a product
    for (std::size_t i = 2; i < e.parts.size(); ++i) {
      Linear other = linear(e.parts[i]);
      if (name != "*") {
        result.add(other, name == "+" ? 1 : -1);
        continue;
      }
      if (result.terms.empty()) std::swap(result, other);
      if (!other.terms.empty()) refuse("'*' of such terms is not in the checker's grammar");
      factor *= other.constant;
      if (bits_of(factor.get_num()) + bits_of(factor.get_den()) > kMostBits)
        refuse("the arithmetic of the property makes a number of too many digits");
    }
    if (name != "*") return result;
    Linear product;
    product.add(result, factor);
    return product;
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
    result.form = negated ? Formula::kAny : Formula::kAll;
    const bool strict = name == "<" || name == ">";
    for (std::size_t i = 1; i + 1 < e.parts.size(); ++i) {
      const Linear a = linear(e.parts[i]), b = linear(e.parts[i + 1]);
      if (less || equal) result.parts.push_back(comparison(a, b, strict, negated));
      if (!less) result.parts.push_back(comparison(b, a, strict, negated));
    }
    return result;
  }

  Property property_;
  bool has_network_ = false, ended_ = false;
  std::vector<std::vector<i64>> input_shapes_, output_shapes_;
  std::map<std::string, std::pair<bool, u32>> variables_;  // inputs or outputs, by name
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

bool holds(const Property& property, const Formula& formula, const std::vector<Rat>& inputs,
           const std::vector<Rat>& lower, const std::vector<Rat>& upper) {
  if (formula.form == Formula::kAtom) {
    const Condition& condition = property.conditions[formula.atom];
    Rat sum = condition.constant;
    for (const auto& [variable, coefficient] : condition.terms)
      sum += coefficient * (variable < property.inputs
                                ? inputs[variable]
                                : (coefficient > 0 ? upper : lower)[variable - property.inputs]);
    return condition.strict ? sum < 0 : sum <= 0;
  }
  for (const Formula& part : formula.parts)
    if (holds(property, part, inputs, lower, upper) == (formula.form == Formula::kAny))
      return formula.form == Formula::kAny;
  return formula.form == Formula::kAll;
}

}  // namespace

Property read_property(const std::string& text) {
  Property property = Parser().parse(text);
  if (property.inputs == 0) refuse("the property declares no input");
  make_cases(property);
  if (property.cases.empty()) refuse("the property has no case: no input satisfies its asserts");
  return property;
}

bool is_violated(const Property& property, const std::vector<Rat>& inputs,
                 const std::vector<Rat>& lower, const std::vector<Rat>& upper) {
  if (inputs.size() != property.inputs || lower.size() != property.outputs)
    refuse("the property is about another number of inputs or outputs");
  return holds(property, property.violation, inputs, lower, upper);
}

}  // namespace bf_check

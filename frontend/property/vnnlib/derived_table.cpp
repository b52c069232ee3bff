#include "frontend/property/vnnlib/derived_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "frontend/diagnostic.h"

namespace bf_aot::vnnlib {
namespace {

mpq_class power_of_two(long exponent) {
  mpq_class power = 1;
  if (exponent >= 0)
    mpq_mul_2exp(power.get_mpq_t(), power.get_mpq_t(), static_cast<mp_bitcnt_t>(exponent));
  else
    mpq_div_2exp(power.get_mpq_t(), power.get_mpq_t(), static_cast<mp_bitcnt_t>(-exponent));
  return power;
}

template <class Visit>
void for_each_number(const std::vector<Affine>& forms, const Visit& visit) {
  for (const Affine& form : forms) {
    for (const auto& [variable, factor] : form.terms) visit(factor);
    if (form.constant != 0) visit(form.constant);
  }
}

// The positive number by which the forms' numbers become coprime integers over a power of two, at
// most 1 in magnitude: so they are doubles unless they have many digits.
mpq_class common_factor(const std::vector<Affine>& forms) {
  mpz_class denominators = 1, numerators = 0, largest = 0;
  for_each_number(forms,
                  [&](const mpq_class& x) { denominators = lcm(denominators, x.get_den()); });
  for_each_number(forms, [&](const mpq_class& x) {
    const mpz_class integer = abs(x.get_num()) * (denominators / x.get_den());
    numerators = gcd(numerators, integer);
    largest = std::max(largest, integer);
  });
  mpq_class factor(numerators, denominators);
  factor.canonicalize();
  largest /= numerators;
  return factor * power_of_two(static_cast<long>(mpz_sizeinbase(largest.get_mpz_t(), 2)));
}

void divide_by(Affine& form, const mpq_class& factor) {
  for (auto& [variable, each] : form.terms) each /= factor;
  form.constant /= factor;
}

// Makes the form primitive with a positive first factor, and returns what it was divided by.
mpq_class make_primitive(Affine& form) {
  mpq_class factor = common_factor({form});
  if (form.terms.front().second < 0) factor = -factor;
  divide_by(form, factor);
  return factor;
}

std::string key_of(const Affine& form) {
  std::string key;
  for (const auto& [variable, factor] : form.terms)
    key += fmt::format("{}:{} ", variable, factor.get_str(36));
  return key + form.constant.get_str(36) + ";";
}

void sort_by_key(std::vector<Affine>& forms) {
  std::vector<std::pair<std::string, Affine>> keyed;
  for (Affine& form : forms) {
    std::string key = key_of(form);
    keyed.emplace_back(std::move(key), std::move(form));
  }
  std::ranges::sort(keyed, {}, [](const auto& each) { return each.first; });
  for (std::size_t i = 0; i < forms.size(); ++i) forms[i] = std::move(keyed[i].second);
}

}  // namespace

int DerivedTable::degree_of(const Affine& form) const {
  int degree = 1;
  for (const auto& [variable, factor] : form.terms)
    if (variable >= kFirstDerived) degree = std::max(degree, at(variable).degree);
  return degree;
}

Multiple DerivedTable::find(Kind kind, std::vector<Affine> operands, int degree, mpq_class factor,
                            const Token& place) {
  if (degree > limits_.degree)
    fail("BF3404", lexer_.place(place),
         fmt::format("a term of degree {}, the limit is {}", degree, limits_.degree),
         "state the condition on a network that computes the term");
  std::string key = fmt::format("{} ", static_cast<int>(kind));
  for (const Affine& operand : operands) key += key_of(operand);
  const Variable next = kFirstDerived + static_cast<Variable>(entries_.size());
  const auto [found, added] = numbers_.try_emplace(std::move(key), next);
  if (added && entries_.size() == limits_.derived)
    fail("BF3404", lexer_.place(place),
         fmt::format("more than {} products and maxima", limits_.derived),
         "split the property: the verdicts of its parts decide it");
  if (added) entries_.push_back({kind, std::move(operands), degree});
  return {found->second, std::move(factor)};
}

Multiple DerivedTable::sum(Affine form, const Token& place) {
  mpq_class factor = make_primitive(form);
  const int degree = degree_of(form);
  return find(Kind::kSum, {std::move(form)}, degree, std::move(factor), place);
}

Multiple DerivedTable::product(Affine a, Affine b, const Token& place) {
  mpq_class factor = make_primitive(a);
  factor *= make_primitive(b);
  const int degree = degree_of(a) + degree_of(b);
  std::vector<Affine> operands = {std::move(a), std::move(b)};
  sort_by_key(operands);
  return find(Kind::kProduct, std::move(operands), degree, std::move(factor), place);
}

Multiple DerivedTable::largest(std::vector<Affine> forms, const Token& place) {
  mpq_class factor = common_factor(forms);
  int degree = 1;
  for (Affine& form : forms) {
    divide_by(form, factor);
    degree = std::max(degree, degree_of(form));
  }
  sort_by_key(forms);
  return find(Kind::kMax, std::move(forms), degree, std::move(factor), place);
}

std::vector<DerivedValue> DerivedTable::take(Property& property) const {
  constexpr std::int64_t kFirst = kFirstDerived - kFirstOutput;
  std::vector<bool> read(entries_.size());
  for (const PropertyRow& row : property.rows)
    for (const auto& [index, factor] : row.outputs)
      if (index >= kFirst) read[static_cast<std::size_t>(index - kFirst)] = true;
  for (std::size_t i = entries_.size(); i-- > 0;)
    if (read[i])
      for (const Affine& operand : entries_[i].operands)
        for (const auto& [variable, factor] : operand.terms)
          if (variable >= kFirstDerived)
            read[static_cast<std::size_t>(variable - kFirstDerived)] = true;

  std::vector<std::int64_t> number(entries_.size());
  const std::vector<std::int64_t>& source = property.input_source;
  const auto element = [&](Variable variable) {
    if (is_input(variable))
      return source.empty() ? variable : source[static_cast<std::size_t>(variable)];
    if (variable < kFirstDerived) return property.input_count + variable - kFirstOutput;
    return property.input_count + property.output_count +
           number[static_cast<std::size_t>(variable - kFirstDerived)];
  };
  const auto form_of = [&](const Affine& affine) {
    std::map<std::int64_t, mpq_class> sums;
    for (const auto& [variable, factor] : affine.terms) sums[element(variable)] += factor;
    AffineForm form{{}, affine.constant};
    for (auto& [index, factor] : sums)
      if (factor != 0) form.terms.emplace_back(index, std::move(factor));
    return form;
  };
  std::vector<DerivedValue> values;
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    if (!read[i]) continue;
    number[i] = static_cast<std::int64_t>(values.size());
    DerivedValue& value = values.emplace_back();
    value.kind = entries_[i].kind;
    for (const Affine& operand : entries_[i].operands) value.operands.push_back(form_of(operand));
  }
  for (PropertyRow& row : property.rows)
    for (auto& [index, factor] : row.outputs)
      if (index >= kFirst)
        index = property.output_count + number[static_cast<std::size_t>(index - kFirst)];
  return values;
}

}  // namespace bf_aot::vnnlib

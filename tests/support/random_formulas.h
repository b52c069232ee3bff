#pragma once

#include <gmpxx.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "frontend/numbers/numbers.h"

// Random formulas of VNN-LIB, with what they mean in exact arithmetic.

namespace bf_aot::test {

// Inputs, of doubles, and outputs.
struct Point {
  std::vector<mpq_class> x, y;
};

// The parts that formulas are made of.
struct FormulaKind {
  int inputs = 3, outputs = 3;
  bool linear = true;
  // Numbers have so many digits in front of up to as many places: 1000 and 3, or 20 and 1.
  int digits = 1000, places = 3;
};

// A formula of the language, with its text and its meaning.
struct Formula {
  std::string text;
  std::function<bool(const Point&)> holds;
};

struct Term {
  std::string text;
  std::function<mpq_class(const Point&)> value;
};

class Generator {
 public:
  explicit Generator(unsigned seed, FormulaKind kind = {}) : random_(seed), kind_(kind) {}

  int below(int limit) { return static_cast<int>(random_() % static_cast<unsigned>(limit)); }

  // A decimal of few digits, in one of its many forms.
  Term number() {
    const int digits = below(2 * kind_.digits + 1) - kind_.digits;
    const int places = below(kind_.places + 1);
    mpq_class value(digits);
    for (int i = 0; i < places; ++i) value /= 10;
    std::string text = vnnlib::exact_text(value);
    if (below(4) == 0)
      text = std::to_string(digits) + "e-" + (below(2) == 0 ? "0" : "") + std::to_string(places);
    if (below(8) == 0 && value < 0) text = "(- " + vnnlib::exact_text(-value) + ")";
    return {text, [value](const Point&) { return value; }};
  }

  Term variable(bool input) {
    const auto i = static_cast<std::size_t>(below(input ? kind_.inputs : kind_.outputs));
    if (input) return {"X_" + std::to_string(i), [i](const Point& p) { return p.x[i]; }};
    return {"Y_" + std::to_string(i), [i](const Point& p) { return p.y[i]; }};
  }

  Term term(int depth) {
    if (!kind_.linear && !terms_.empty() && below(4) == 0)
      return terms_[static_cast<std::size_t>(below(static_cast<int>(terms_.size())))];
    if (!kind_.linear && depth > 0 && below(2) == 0) return nonlinear_term(depth);
    const int kind = depth <= 0 ? below(2) : below(6);
    if (kind == 0) return number();
    if (kind <= 2) return variable(below(3) == 0);
    const Term a = term(depth - 1);
    if (kind == 5) {
      const Term factor = number();
      return {"(* " + factor.text + space() + a.text + ")",
              [=](const Point& p) { return mpq_class(factor.value(p) * a.value(p)); }};
    }
    const Term b = term(depth - 1);
    const bool minus = kind == 4;
    return {std::string(minus ? "(-" : "(+") + space() + a.text + space() + b.text + ")",
            [=](const Point& p) {
              return minus ? mpq_class(a.value(p) - b.value(p))
                           : mpq_class(a.value(p) + b.value(p));
            }};
  }

  Term nonlinear_term(int depth) {
    const int kind = below(6);
    if (kind == 0) return named<Term>(depth, [&] { return term(depth - 1); });
    const Term a = term(depth - 1);
    if (kind == 1)
      return {"(abs " + a.text + ")", [=](const Point& p) { return mpq_class(abs(a.value(p))); }};
    const Term b = term(depth - 1);
    const std::string both = space() + a.text + space() + b.text + ")";
    switch (kind) {
      case 2:
        return {"(*" + both, [=](const Point& p) { return mpq_class(a.value(p) * b.value(p)); }};
      case 3:
        return {"(max" + both, [=](const Point& p) { return std::max(a.value(p), b.value(p)); }};
      case 4:
        return {"(min" + both, [=](const Point& p) { return std::min(a.value(p), b.value(p)); }};
      default: {
        const Formula condition = formula(depth - 2);
        return {"(ite " + condition.text + both,
                [=](const Point& p) { return condition.holds(p) ? a.value(p) : b.value(p); }};
      }
    }
  }

  // (let ((name term)) body) or (let ((name formula)) body), where the body may use the name.
  template <class Made, class Body>
  Made named(int depth, const Body& body) {
    const std::string name = "t" + std::to_string(below(3));  // may hide another one
    const bool of_formula = below(3) == 0;
    const auto terms = terms_;
    const auto formulas = formulas_;
    const Term term_of = of_formula ? Term() : term(depth - 1);
    const Formula formula_of = of_formula ? formula(depth - 1) : Formula();
    std::erase_if(terms_, [&](const Term& each) { return each.text == name; });
    std::erase_if(formulas_, [&](const Formula& each) { return each.text == name; });
    if (of_formula)
      formulas_.push_back({name, formula_of.holds});
    else
      terms_.push_back({name, term_of.value});
    Made made = body();
    made.text = "(let ((" + name + " " + (of_formula ? formula_of.text : term_of.text) + "))" +
                space() + made.text + ")";
    terms_ = terms;
    formulas_ = formulas;
    return made;
  }

  Formula comparison() {
    static constexpr const char* kOperators[] = {"<=", ">=", "<", ">", "=", "!="};
    const int op = below(12) < 10 ? below(4) : 4 + below(2);
    Term a, b;
    if (kind_.linear && below(2) == 0) {  // nearly all that real files hold
      a = variable(below(2) == 0);
      b = number();
      if (below(4) == 0) std::swap(a, b);
    } else {
      a = term(2);
      b = term(2);
    }
    return {std::string("(") + kOperators[op] + space() + a.text + space() + b.text + ")",
            [=](const Point& p) {
              const int order = cmp(a.value(p), b.value(p));
              const bool results[] = {order <= 0, order >= 0, order<0, order> 0, order == 0,
                                      order != 0};
              return results[op];
            }};
  }

  Formula formula(int depth) {
    if (!kind_.linear && !formulas_.empty() && below(4) == 0)
      return formulas_[static_cast<std::size_t>(below(static_cast<int>(formulas_.size())))];
    if (!kind_.linear && depth > 0 && below(4) == 0) {
      if (below(2) == 0) return named<Formula>(depth, [&] { return formula(depth - 1); });
      const Formula c = formula(depth - 1), a = formula(depth - 1), b = formula(depth - 1);
      return {"(ite " + c.text + " " + a.text + " " + b.text + ")",
              [=](const Point& p) { return c.holds(p) ? a.holds(p) : b.holds(p); }};
    }
    const int kind = depth <= 0 ? 0 : below(5);
    if (kind == 0) return comparison();
    if (kind == 1) {
      const Formula a = formula(depth - 1);
      return {"(not" + space() + a.text + ")", [=](const Point& p) { return !a.holds(p); }};
    }
    const bool conjunction = kind % 2 == 0;
    std::vector<Formula> parts;
    std::string text = conjunction ? "(and" : "(or";
    for (int i = 1 + below(3); i > 0; --i) {
      parts.push_back(formula(depth - 1));
      const bool blank = below(4) != 0 || parts.back().text[0] != '(';  // ")(" needs none
      text += blank ? space() : "";
      text += parts.back().text;
    }
    return {text + ")", [=](const Point& p) {
              for (const Formula& part : parts)
                if (part.holds(p) != conjunction) return !conjunction;
              return conjunction;
            }};
  }

  std::string space() {
    static constexpr const char* kSpaces[] = {" ", " ", " ", "\n\t", "  ", " ; comment )(\n"};
    return kSpaces[below(6)];
  }

  // Mostly numbers that formulas name, where conditions change.
  double coordinate() {
    const double near = (below(2001) - 1000) / std::pow(10, below(4));
    const int kind = below(4);
    if (kind == 0) return std::nextafter(near, INFINITY);
    if (kind == 1) return std::nextafter(near, -INFINITY);
    return near;
  }

  Point point() {
    Point p;
    for (int i = 0; i < kind_.inputs; ++i) p.x.emplace_back(coordinate());
    for (int i = 0; i < kind_.outputs; ++i) {
      mpq_class y(below(2001) - 1000);
      for (int k = below(4); k > 0; --k) y /= 10;
      p.y.push_back(y);
    }
    return p;
  }

 private:
  std::mt19937 random_;
  FormulaKind kind_;
  std::vector<Term> terms_;  // names of `let` that are in scope
  std::vector<Formula> formulas_;
};

}  // namespace bf_aot::test

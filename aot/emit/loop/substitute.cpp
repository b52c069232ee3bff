#include "aot/emit/loop/substitute.h"

#include <algorithm>
#include <utility>

#include "frontend/diagnostic.h"

namespace bf_aot::loop {
namespace {

std::vector<Statement>::iterator find_let(std::vector<Statement>& statements,
                                          const std::string& name) {
  return std::ranges::find_if(statements, [&](const Statement& each) {
    const auto* let = std::get_if<Let>(&each);
    return let != nullptr && let->name == name;
  });
}

void change_indices(Statement& statement, const IndexChange& change) {
  if (auto* store = std::get_if<Store>(&statement)) {
    store->index = change(store->index);
    for (Range& range : store->within) range.value = change(range.value);
  }
}

}  // namespace

void change_values(Statement& statement, const ExprChange& change) {
  ExprPtr& value = std::holds_alternative<Let>(statement) ? std::get<Let>(statement).value
                                                          : std::get<Store>(statement).value;
  value = rewrite(value, change);
}

void change_values(Expression& expression, const ExprChange& change) {
  for (Statement& each : expression.body) change_values(each, change);
  for (Sum& sum : expression.sums) sum.value = rewrite(sum.value, change);
  for (Statement& each : expression.epilogue) change_values(each, change);
}

ExprPtr change_indices(const ExprPtr& value, const IndexChange& change) {
  return rewrite(value, [&](const ExprPtr& each) {
    if (each->kind != ExprKind::kLoad) return each;
    Expr copy = *each;
    copy.index = change(copy.index);
    for (Range& range : copy.within) range.value = change(range.value);
    return ExprPtr(std::make_shared<const Expr>(std::move(copy)));
  });
}

void change_indices(Expression& expression, const IndexChange& change) {
  for (std::vector<Statement>* list : {&expression.body, &expression.epilogue})
    for (Statement& each : *list) {
      change_indices(each, change);
      ExprPtr& value = std::holds_alternative<Let>(each) ? std::get<Let>(each).value
                                                         : std::get<Store>(each).value;
      value = change_indices(value, change);
    }
  for (Sum& sum : expression.sums) {
    sum.value = change_indices(sum.value, change);
    sum.index = change(sum.index);
  }
}

void inline_let(Expression& expression, std::string name) {
  const bool in_body = find_let(expression.body, name) != expression.body.end();
  std::vector<Statement>& list = in_body ? expression.body : expression.epilogue;
  const auto at = find_let(list, name);
  BF_CHECK(at != list.end());
  const ExprPtr value = std::get<Let>(*at).value;
  const ExprChange change = [&](const ExprPtr& each) {
    return each->kind == ExprKind::kLocal && each->name == name ? value : each;
  };
  for (auto user = list.erase(at); user != list.end(); ++user) change_values(*user, change);
  if (!in_body) return;
  for (Sum& sum : expression.sums) sum.value = rewrite(sum.value, change);
}

Expression without_lets(Expression expression) {
  while (true) {
    const auto let = std::ranges::find_if(
        expression.body, [](const Statement& each) { return std::holds_alternative<Let>(each); });
    if (let == expression.body.end()) return expression;
    inline_let(expression, std::get<Let>(*let).name);
  }
}

}  // namespace bf_aot::loop

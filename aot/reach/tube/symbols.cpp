#include "aot/reach/tube/symbols.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace bf_aot::reach {
namespace {

// The sum of a symbol's slopes less the largest: what a box of it is too large by, about.
double spread(const std::vector<Form>& state, std::size_t symbol) {
  double sum = 0, most = 0;
  for (const Form& each : state) {
    const double slope = std::fabs(each.slope_of(symbol));
    sum += slope;
    most = std::max(most, slope);
  }
  return sum - most;
}

// Makes a part of the radius of what is not kept.
void keep_slopes(Form& form, const std::vector<bool>& kept) {
  std::vector<double> slope;
  double lost = 0;
  for (std::size_t k = 0; k < kept.size(); ++k) {
    if (kept[k])
      slope.push_back(form.slope_of(k));
    else
      lost += std::fabs(form.slope_of(k));
  }
  form.slope = std::move(slope);
  // Sums of numbers of at least 0, each addition of which may lose 2^-53.
  if (lost > 0)
    form.radius = (form.radius + lost) * (1 + static_cast<double>(kept.size() + 4) * 0x1p-52);
}

}  // namespace

Form Symbols::form_over_own(const Range& range) {
  Form made = form_of(range);
  if (made.radius == 0 || next_ >= most_) return made;
  made.slope.resize(next_ + 1);
  made.slope[next_++] = made.radius;
  made.radius = 0;
  return made;
}

void Symbols::add_remainders(std::vector<Form>& forms) {
  for (Form& each : forms) {
    if (each.radius == 0 || !std::isfinite(each.radius) || next_ >= most_) continue;
    each.slope.resize(next_ + 1);
    each.slope[next_++] = each.radius;
    each.radius = 0;
  }
}

void Symbols::make_room(const std::vector<std::vector<Form>*>& forms, std::size_t left) {
  if (next_ <= left) return;
  const std::size_t keep = std::max(first_, left);
  std::vector<std::pair<double, std::size_t>> order;
  for (std::size_t k = first_; k < next_; ++k) order.emplace_back(-spread(*forms.front(), k), k);
  std::ranges::sort(order);
  std::vector<bool> kept(next_, false);
  for (std::size_t k = 0; k < first_; ++k) kept[k] = true;
  for (std::size_t i = 0; first_ + i < keep; ++i) kept[order[i].second] = true;
  for (std::vector<Form>* const some : forms)
    for (Form& each : *some) keep_slopes(each, kept);
  next_ = keep;
}

}  // namespace bf_aot::reach

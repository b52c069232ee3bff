#pragma once

#include "bf/loops/forms.h"

namespace bf::loops {

// Forms that lie side by side.
template <class Form>
struct FormGroup {
  Form* first;
  size_t count;
};

// Gives out the symbols of forms, of which there are at most so many.
template <class Form>
class Symbols {
 public:
  // spreads, kept: [most], scratch of make_room().
  Symbols(size_t most, double* spreads, bool* kept) : most_(most), spreads_(spreads), kept_(kept) {}

  // A number of the range over a symbol of its own; over none where the range is one number.
  Form form_over_own(const Range& range) {
    Form made = form_of<Form>(range);
    add_remainders(&made, 1);
    return made;
  }

  // The symbols so far are those of the start: they are never taken back.
  void keep_first() { first_ = next_; }

  // Makes of each form's radius a symbol of its own, as long as there are any: remainders that
  // forms have in common from now on cancel.
  void add_remainders(Form* forms, size_t count) {
    for (size_t i = 0; i < count; ++i) {
      Form& each = forms[i];
      if (each.radius == 0 || !is_finite(each.radius) || next_ >= most_) continue;
      each.slope.resize(next_ + 1);
      each.slope[next_++] = each.radius;
      each.radius = 0;
    }
  }

  // The number of symbols in use, which are the first ones.
  size_t in_use() const { return next_; }
  void set_in_use(size_t count) { next_ = count; }

  // Takes back symbols until at most `left` are in use, or those of the start and one for each
  // form. In the place of those that are given up comes a box of what they may be, over a symbol
  // for each form that has some of them; the others get new numbers. groups: all forms whose
  // symbols are still wanted; the first ones are the state.
  void make_room(const FormGroup<Form>* groups, size_t count, size_t left) {
    if (next_ <= left) return;
    const size_t keep = choose_kept(groups, count, left);
    size_t changed = 0;
    for_each(groups, count, [&](Form& form) { changed += gives_up(form) ? 1 : 0; });
    size_t next = keep;
    for_each(groups, count, [&](Form& form) {
      const bool changes = gives_up(form);
      const double lost = keep_slopes(form, keep);
      if (!changes) return;
      form.slope.resize(keep + changed);
      form.slope[next++] = lost;
      form.radius = next_up(form.radius);
    });
    next_ = next;
  }

  // Says in `kept` which symbols stay: those of the start, and of the others those that add most to
  // the ranges beyond what one box of them would (Girard, Reachability of Uncertain Linear Systems
  // Using Zonotopes, 2005). Returns how many. Arguments: of make_room().
  size_t choose_kept(const FormGroup<Form>* groups, size_t count, size_t left) {
    size_t rows = 0;
    for (size_t g = 0; g < count; ++g) rows += groups[g].count;
    const size_t others = left < rows ? 0 : left - rows;
    const size_t keep = first_ < others ? others : first_;
    for (size_t k = 0; k < next_; ++k) {
      kept_[k] = k < first_;
      spreads_[k] = spread(groups[0], k);
    }
    for (size_t chosen = first_; chosen < keep; ++chosen) {
      size_t best = next_;
      for (size_t k = first_; k < next_; ++k)
        if (!kept_[k] && (best == next_ || spreads_[k] > spreads_[best])) best = k;
      kept_[best] = true;
    }
    return keep;
  }

 private:
  template <class Work>
  static void for_each(const FormGroup<Form>* groups, size_t count, const Work& work) {
    for (size_t g = 0; g < count; ++g)
      for (size_t i = 0; i < groups[g].count; ++i) work(groups[g].first[i]);
  }

  // The sum of a symbol's slopes less the largest: what a box of it is too large by, about.
  static double spread(const FormGroup<Form>& state, size_t symbol) {
    double sum = 0, most = 0;
    for (size_t i = 0; i < state.count; ++i) {
      const double slope = size_of(state.first[i].slope_of(symbol));
      sum += slope;
      most = larger(most, slope);
    }
    return sum - most;
  }

  bool gives_up(const Form& form) const {
    for (size_t k = 0; k < next_; ++k)
      if (!kept_[k] && form.slope_of(k) != 0) return true;
    return false;
  }

  // Leaves the slopes of the symbols that are kept. Returns at least the sum of the others'
  // magnitudes.
  double keep_slopes(Form& form, size_t keep) const {
    double lost = 0;
    size_t to = 0;
    form.slope.resize(next_);
    for (size_t k = 0; k < next_; ++k) {
      if (kept_[k])
        form.slope[to++] = form.slope[k];
      else
        lost += size_of(form.slope[k]);
    }
    form.slope.resize(keep);
    return inflated(lost, next_ - keep);
  }

  size_t most_, first_ = 0, next_ = 0;
  double* spreads_;
  bool* kept_;
};

}  // namespace bf::loops

#include "aot/library/explain.h"

#include <algorithm>
#include <cstdint>
#include <numeric>

namespace bf_aot::api {
namespace {

// All sets of so many inputs that vary are tried.
constexpr std::size_t kMostEnumerated = 12;
// Numbers of the boxes that are asked about together.
constexpr std::size_t kMostNumbers = std::size_t{1} << 22;

class Explainer {
 public:
  Explainer(const SampleBoxes& box, const AskBoxes& ask) : box_(box), ask_(ask) {
    for (std::size_t i = 0; i < box.samples.size(); ++i)
      if (box.lower[i] < box.upper[i]) varying_.push_back(i);
  }

  Explanation run() {
    const CertifiedSample alone = ask({{}})[0];
    if (alone.robustness != Robustness::kCertified) return made_;
    made_.exists = true;
    if (ask({varying_})[0].robustness == Robustness::kCertified) {
      made_.minimal = made_.smallest = true;
      return made_;
    }
    free_one_by_one();
    if (varying_.size() <= kMostEnumerated) try_smaller();
    std::ranges::sort(made_.fixed);
    return std::move(made_);
  }

 private:
  using Inputs = std::vector<std::size_t>;

  // The results for boxes in which these inputs, of all that vary, are free.
  std::vector<CertifiedSample> ask(const std::vector<Inputs>& free) {
    const std::size_t inputs = box_.samples.size();
    std::vector<CertifiedSample> results;
    const std::size_t most = std::max<std::size_t>(kMostNumbers / inputs, 1);
    for (std::size_t first = 0; first < free.size(); first += most) {
      const std::size_t count = std::min(most, free.size() - first);
      std::vector<float> samples, lower, upper;
      std::vector<double> inner_lower, inner_upper, range_lower, range_upper;
      for (std::size_t k = first; k < first + count; ++k) {
        for (auto* const each : {&samples, &lower, &upper})
          each->insert(each->end(), box_.samples.begin(), box_.samples.end());
        for (auto* const each : {&inner_lower, &inner_upper})
          each->insert(each->end(), box_.samples.begin(), box_.samples.end());
        range_lower.insert(range_lower.end(), box_.range_lower.begin(), box_.range_lower.end());
        range_upper.insert(range_upper.end(), box_.range_upper.begin(), box_.range_upper.end());
        for (const std::size_t i : free[k]) {
          const std::size_t at = (k - first) * inputs + i;
          lower[at] = box_.lower[i];
          upper[at] = box_.upper[i];
          inner_lower[at] = box_.inner_lower.empty() ? lower[at] : box_.inner_lower[i];
          inner_upper[at] = box_.inner_upper.empty() ? upper[at] : box_.inner_upper[i];
        }
      }
      std::vector<CertifiedSample> some =
          ask_({samples, lower, upper, inner_lower, inner_upper, range_lower, range_upper});
      std::ranges::move(some, std::back_inserter(results));
    }
    made_.questions += free.size();
    return results;
  }

  // The inputs that vary, those of the least influence first: by margins where each alone is free.
  Inputs by_influence() {
    std::vector<Inputs> alone;
    for (const std::size_t i : varying_) alone.push_back({i});
    const std::vector<CertifiedSample> found = ask(alone);
    Inputs order(varying_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, std::greater(), [&](std::size_t k) { return found[k].margin; });
    for (std::size_t& k : order) k = varying_[k];
    return order;
  }

  // Frees inputs in blocks, which double as long as they are proven free and are halved where they
  // are not. An input that is fixed stays so: a counterexample without it lies in larger boxes,
  // too.
  void free_one_by_one() {
    const Inputs order = by_influence();
    Inputs free;
    made_.minimal = true;
    std::size_t block = std::max<std::size_t>(order.size() / 2, 1);
    for (std::size_t next = 0; next < order.size();) {
      block = std::min(block, order.size() - next);
      Inputs more = free;
      const auto first = order.begin() + static_cast<std::ptrdiff_t>(next);
      more.insert(more.end(), first, first + static_cast<std::ptrdiff_t>(block));
      const Robustness found = ask({more})[0].robustness;
      if (found == Robustness::kCertified) {
        free = std::move(more);
        next += block;
        block *= 2;
      } else if (block > 1) {
        block /= 2;
      } else {
        made_.fixed.push_back(order[next++]);
        made_.minimal = made_.minimal && found == Robustness::kFalsified;
      }
    }
  }

  // Tries all smaller sets, the smallest ones first.
  void try_smaller() {
    const auto all = static_cast<std::uint32_t>(varying_.size());
    bool none_unknown = true;
    for (std::size_t size = 0; size < made_.fixed.size(); ++size) {
      std::vector<Inputs> sets, free;
      for (std::uint32_t bits = 0; bits < (1U << all); ++bits) {
        Inputs fixed, rest;
        for (std::size_t k = 0; k < all; ++k)
          ((bits >> k & 1U) != 0 ? fixed : rest).push_back(varying_[k]);
        if (fixed.size() != size) continue;
        sets.push_back(std::move(fixed));
        free.push_back(std::move(rest));
      }
      const std::vector<CertifiedSample> found = ask(free);
      for (std::size_t k = 0; k < found.size(); ++k) {
        if (found[k].robustness == Robustness::kCertified) {
          made_.fixed = sets[k];
          made_.minimal = made_.smallest = none_unknown;
          return;
        }
        none_unknown = none_unknown && found[k].robustness == Robustness::kFalsified;
      }
    }
    made_.smallest = none_unknown;
    if (made_.smallest) made_.minimal = true;
  }

  const SampleBoxes& box_;
  const AskBoxes& ask_;
  Inputs varying_;
  Explanation made_;
};

}  // namespace

Explanation explain_sample(const SampleBoxes& box, const AskBoxes& ask) {
  return Explainer(box, ask).run();
}

}  // namespace bf_aot::api

#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "aot/apps/certify/results.h"
#include "aot/artifacts/report/plot.h"

// These parts stand on the page about one run and on that about several.

namespace bf_aot::apps {

// "97.7 %".
std::string percent(double share);

// The radius in words, as text: not escaped.
std::string name_of_radius(const CertifyRun& run, std::size_t radius);

// A page up to its body, and from the end of its main part on.
std::string page_head(const std::string& title);
std::string page_foot(const std::string& version);

// The colours of verdicts, and a tally's bar in them.
std::string verdict_legend();
std::string verdict_bars(const Tally& tally);

// A row for each radius.
std::string radii_table(const CertifyRun& run, const std::vector<Tally>& all);

// Certified accuracy over the radii, and the share that is not falsified, which bounds the true
// robust accuracy from above. Empty where all radii are equal.
std::string accuracy_curve(const CertifyRun& run, const std::vector<Tally>& all);

// A row for each stage of a complete run says what it decided.
std::string stages_section(const CertifyRun& run, const std::string& id);

// A plot of shares, from 0 to all, in a picture of this height. room: to the right of the field.
artifacts::Plot share_plot(double height, double room, double x_least, double x_most);
// The picture's beginning, with lines for shares. label: what it shows.
std::string begin_plot(const artifacts::Plot& plot, const char* label);

}  // namespace bf_aot::apps

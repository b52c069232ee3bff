#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "aot/cli/ablate/ablate_summary.h"

namespace bf_aot::cli {

// A file of plots/: a gnuplot script or the data that it reads.
struct PlotFile {
  std::string name;
  std::string text;
};

// The files of plots/: plots.gp and its data. The script writes each figure as SVG and as PNG
// beside itself.
std::vector<PlotFile> plot_files(const std::vector<NetworkRows>& networks);

// Writes the files into folder/plots and runs gnuplot there. False when it is not installed.
// Throws: BF3102; BF3322 when gnuplot fails.
bool write_plots(const std::filesystem::path& folder, const std::vector<AblationRow>& rows);

}  // namespace bf_aot::cli

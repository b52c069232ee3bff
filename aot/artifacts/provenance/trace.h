#pragma once

#include <string>
#include <vector>

#include "aot/artifacts/provenance/pass_log.h"
#include "aot/build/compile.h"
#include "aot/emit/text/emitted_file.h"
#include "aot/emit/text/marks.h"

namespace bf_aot::artifacts {

/// The version of the trace's form: it changes when a key is renamed, removed or means another
/// thing (docs/reference/versions.md).
inline constexpr int kTraceFormat = 1;

// The marked lines of one generated file.
struct FileLines {
  std::string file;    // its name
  std::string sha256;  // of the file without its marks
  std::vector<emit::MarkedLines> lines;
};

// Takes the marks out of a verifier's sources, whose names begin with `stem`.
std::vector<FileLines> take_lines(std::vector<emit::EmittedFile>& files, const std::string& stem);

// Links the nodes of the ONNX file to passes, layers, steps, kernels, lines and buffers, and back,
// as JSON; see docs/reference/trace.md.
std::string trace_text(const build::FrontendResult& front, const PassLog& log,
                       const Lowered& lowered, const std::vector<FileLines>& files);

}  // namespace bf_aot::artifacts

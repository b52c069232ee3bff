#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "aot/build/compile_options.h"
#include "aot/build/frontend_result.h"
#include "aot/build/library.h"
#include "aot/engine/verifier/verifier.h"
#include "aot/reach/numbers/form.h"
#include "frontend/graph/model.h"

namespace bf_aot::reach {

// Bounds a network whose inputs are forms over symbols: each output becomes a form over the same
// symbols. The lines are those of the plan's backward rows, by a verifier of the network
//
//   f(c + G z + d r),   inputs z, r in [-1, 1], and c, G, d that are points,
//
// so that one plan serves all forms. Not reentrant; twin() is for another thread.
class NetworkLines {
 public:
  // symbols: of the forms. compile: as for a decision. Throws: CompileError.
  NetworkLines(Graph network, const ModelInfo& info, std::size_t symbols,
               const build::CompileOptions& compile, const build::CompilerOptions& compiler);
  NetworkLines(const NetworkLines& other, std::unique_ptr<const engine::HostVerifier> host);
  ~NetworkLines();
  NetworkLines(NetworkLines&&) = default;
  NetworkLines& operator=(NetworkLines&&) = default;

  NetworkLines twin() const;

  std::size_t symbols() const { return symbols_; }
  std::size_t inputs() const { return inputs_; }
  std::size_t outputs() const { return outputs_; }

  // x: [inputs], over at most symbols() symbols. Forms that claim nothing where x is not finite or
  // beyond float32, or where the network's bounds are not finite.
  std::vector<Form> bound(const std::vector<Form>& x) const;

 private:
  std::size_t symbols_ = 0, inputs_ = 0, outputs_ = 0;
  bool has_lines_ = false;  // of the plan's rows; else outputs are ranges
  std::unique_ptr<const engine::HostVerifier> host_;
};

// The front half of the verifier that NetworkLines asks, and what `options` need for it: rows of
// all outputs, whose coefficients its plan keeps where it can.
build::FrontendResult front_of_lines(Graph network, const ModelInfo& info, std::size_t symbols,
                                     build::CompileOptions& options);

// f(c + G z + d r) as a network of the one input (z, r, c, G, d), which has symbols + inputs +
// inputs + inputs symbols + inputs elements. Requires: the network's inputs vary freely.
Graph over_symbols(Graph network, std::size_t symbols);

}  // namespace bf_aot::reach

#pragma once

#include <string>
#include <string_view>

namespace bf_aot {

/// The state of the sources that this program was built from, as "git describe" names it:
/// "v0.2.0-3-g1a2b3c4d", or "1a2b3c4d-dirty" where no version is tagged and files were changed.
/// Empty where nothing is known of it. It is defined by cmake/source_state.cmake, in an object of
/// its own, so that a commit changes that one; tests have an empty one.
std::string_view source_state() noexcept;

/// "0.2.0 (v0.2.0-3-g1a2b3c4d)", or the version alone where nothing is known of the sources.
inline std::string with_source_state(std::string_view version) {
  const std::string_view state = source_state();
  std::string text(version);
  if (!state.empty()) text.append(" (").append(state).append(")");
  return text;
}

}  // namespace bf_aot

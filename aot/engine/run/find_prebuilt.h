#pragma once

#include <string_view>

#include "aot/engine/prebuilt/prebuilt.h"

namespace bf_aot::engine {

// The code for a target with the name that --target takes; null where this build has none.
const Prebuilt* find_prebuilt(std::string_view target);

}  // namespace bf_aot::engine

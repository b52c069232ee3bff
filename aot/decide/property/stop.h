#pragma once

#include "aot/system/stop.h"

namespace bf_aot::decide {

// Asked between pieces of work.
using StopAsked = system::Stop;

}  // namespace bf_aot::decide

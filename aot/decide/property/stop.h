#pragma once

#include <functional>

namespace bf_aot::decide {

// Asked between pieces of work: whether to leave what is not decided as it is.
using StopAsked = std::function<bool()>;

}  // namespace bf_aot::decide

#pragma once

#include <functional>

namespace bf_aot::decide {

// Asked between pieces of work: whether to end now and leave undecided what is still open.
using StopAsked = std::function<bool()>;

}  // namespace bf_aot::decide

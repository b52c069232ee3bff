#include "aot/reach/numbers/form.h"

namespace bf_aot::reach {

std::vector<Range> ranges_of(const std::vector<Form>& forms) {
  std::vector<Range> made;
  for (const Form& each : forms) made.push_back(range_of(each));
  return made;
}

}  // namespace bf_aot::reach

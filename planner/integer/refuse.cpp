#include "planner/integer/refuse.h"

#include "frontend/diagnostic.h"

namespace bf_aot {
namespace {

constexpr char kUseFloat[] = "use --arithmetic float";

}  // namespace

void refuse_integers(const std::string& origin, const std::string& why) {
  fail("BF2113", origin, why, kUseFloat);
}

void refuse_property(const std::string& where, const std::string& why) {
  fail("BF2113", where, why,
       "state the property over outputs alone, leave --property out, or use --arithmetic float");
}

void refuse_crown(const std::string& origin, const std::string& why) {
  fail("BF2113", origin, why, "--method ibp bounds it in integers, --arithmetic float by crown");
}

void refuse_loose_constants(const std::string& origin) {
  fail(
      "BF2115", origin,
      "its constants are no exact doubles, and some number lies so near to the middle of two codes "
      "that they do not tell which it gets",
      kUseFloat);
}

}  // namespace bf_aot

// Devices are opened beside other work, one at a time; who needs none any more waits for one that
// is being opened alone.

#include "aot/engine/device/opening.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <memory>
#include <optional>
#include <string>

#include "frontend/diagnostic.h"

namespace bf_aot::engine {
namespace {

std::string failure_of(const OpeningDevice& opening, bool waits) {
  try {
    (void)(waits ? opening.wait() : opening.get());
  } catch (const CompileError& error) {
    return error.diagnostics().front().code;
  }
  return {};
}

TEST(OpeningDevice, GoesOnBesideOtherWork) {
  std::promise<void> go_on;
  const OpeningDevice opening([&]() -> std::shared_ptr<const Device> {
    go_on.get_future().wait();
    fail("BF3342", "opencl:0", "refused");
  });
  EXPECT_EQ(failure_of(opening, false), "") << "not known yet";
  go_on.set_value();
  EXPECT_EQ(failure_of(opening, true), "BF3342");
  EXPECT_EQ(failure_of(opening, false), "BF3342") << "each time";
}

TEST(OpeningDevice, GivesUpWhatHasNotBegun) {
  std::promise<void> begun, go_on;
  std::atomic<int> opened = 0;
  std::optional<OpeningDevice> first, second;
  first.emplace([&]() -> std::shared_ptr<const Device> {
    begun.set_value();
    go_on.get_future().wait();
    ++opened;
    return nullptr;
  });
  begun.get_future().wait();
  second.emplace([&]() -> std::shared_ptr<const Device> {
    opened += 10;
    return nullptr;
  });
  second.reset();  // at once
  go_on.set_value();
  first.reset();  // waits
  EXPECT_EQ(opened, 1);
}

}  // namespace
}  // namespace bf_aot::engine

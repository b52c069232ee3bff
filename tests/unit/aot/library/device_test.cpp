// Boxes in the memory of a device of CUDA, by a driver whose device is this processor
// (tests/cli/device/false_cuda.c): pointers of its memory are this program's.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "aot/library/bf_aot.h"
#include "tests/paths.h"

namespace bf_aot::api {
namespace {

constexpr std::size_t kThere = 9;

// Loads the driver and its compiler from the folder, under the names by which they are looked for.
bool load_false_cuda(const std::string& folder) {
  for (const std::string name : {"libcuda.so.1", "libnvrtc.so.13"}) {
    const std::string library = folder + "/" + name;
    const std::string command = "gcc -shared -fPIC -Wl,-soname," + name +
                                " " BF_SOURCE_DIR "/tests/cli/device/false_cuda.c -o '" + library +
                                "'";
    if (std::system(command.c_str()) != 0 ||
        dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL) == nullptr)
      return false;
  }
  return setenv("BF_FALSE_FOLDER", folder.c_str(), 1) == 0 &&
         std::system("g++ --version > /dev/null") == 0;
}

class LibraryDevice : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = ::testing::TempDir() + "false_cuda_XXXXXX";
    if (mkdtemp(folder_.data()) != nullptr) loaded_ = load_false_cuda(folder_);
  }
  static void TearDownTestSuite() { std::filesystem::remove_all(folder_); }

  void SetUp() override {
    if (!loaded_) GTEST_SKIP() << "no gcc, or no g++";
    for (std::size_t i = 0; i < lower_.size(); ++i) {
      lower_[i] = 0.1F + 0.01F * static_cast<float>(i % 7);
      upper_[i] = lower_[i] + 0.02F;
    }
  }

  static Verifier make(const std::string& device, Method method) {
    const auto model = Model::load(BF_SOURCE_DIR "/models/collision_avoidance_6x50.onnx");
    Options options;
    options.method = method;
    if (!device.empty()) options.more["device"] = device;
    return Verifier::make(*model, options, {{1, -1, 0, 0, 0}, {}}).value();
  }

  DeviceBoxes there() const { return {kThere, lower_.data(), upper_.data()}; }

  static inline std::string folder_;
  static inline bool loaded_ = false;
  std::vector<float> lower_ = std::vector<float>(kThere * 5), upper_ = lower_;
};

TEST_F(LibraryDevice, bounds_of_boxes_there_are_those_of_boxes_here) {
  const Verifier device = make("cuda", Method::kCrown), engine = make("", Method::kCrown);
  for (const bool spec : {false, true}) {
    const auto made = spec ? device.spec_bounds(there()) : device.bounds(there());
    ASSERT_TRUE(made.ok()) << made.error().text();
    const auto copied = spec ? device.spec_bounds(lower_, upper_) : device.bounds(lower_, upper_);
    EXPECT_EQ(made->boxes, kThere);
    EXPECT_EQ(made->rows, spec ? 1u : 5u);
    EXPECT_EQ(made->lower, copied->lower);
    EXPECT_EQ(made->upper, copied->upper);
    EXPECT_EQ(made->methods, std::vector<Method>(kThere, Method::kCrown));
    const auto here = spec ? engine.spec_bounds(lower_, upper_) : engine.bounds(lower_, upper_);
    for (std::size_t i = 0; i < made->lower.size(); ++i) {
      EXPECT_NEAR(made->lower[i], here->lower[i], 1e-4);
      EXPECT_NEAR(made->upper[i], here->upper[i], 1e-4);
    }
  }
}

TEST_F(LibraryDevice, a_call_there_tells_that_it_is_done_and_stops_before_the_first) {
  const Verifier device = make("cuda:0", Method::kIbp);
  std::vector<std::size_t> told;
  Call call;
  call.progress = [&](std::size_t done) { told.push_back(done); };
  ASSERT_TRUE(device.bounds(there(), call).ok());
  EXPECT_EQ(told.front(), 1U);
  EXPECT_EQ(told.back(), kThere);
  std::stop_source source;
  source.request_stop();
  call.stop = source.get_token();
  EXPECT_EQ(device.bounds(there(), call).error().code, "BF3506");
}

// The false device has no number of processors, so that the first group is one box.
TEST_F(LibraryDevice, a_call_tells_between_groups_of_boxes_and_may_be_stopped_there) {
  for (const bool copied : {false, true}) {
    const Verifier device = make("cuda", Method::kIbp);
    std::stop_source source;
    std::vector<std::size_t> told, watched;
    Call call;
    call.stop = source.get_token();
    call.watch = [&](const Watched& at) { watched.push_back(at.done); };
    call.progress = [&](std::size_t done) {
      told.push_back(done);
      source.request_stop();
    };
    const auto made = copied ? device.bounds(lower_, upper_, call) : device.bounds(there(), call);
    ASSERT_FALSE(made.ok());
    EXPECT_EQ(made.error().code, "BF3506");
    EXPECT_NE(made.error().text().find("stopped after 1 of 9"), std::string::npos);
    EXPECT_EQ(told, (std::vector<std::size_t>{1}));
    EXPECT_EQ(watched, (std::vector<std::size_t>{0, 1}));
  }
}

TEST_F(LibraryDevice, within_a_time_boxes_are_bounded_by_cheaper_methods_of_this_processor) {
  Call call;
  call.timeout_seconds = 1e-9;
  const Verifier device = make("cuda", Method::kCrown), engine = make("", Method::kIbp);
  const auto cheapest = device.bounds(lower_, upper_, call), here = engine.bounds(lower_, upper_);
  ASSERT_TRUE(cheapest.ok() && here.ok());
  EXPECT_EQ(cheapest->lower, here->lower);
  EXPECT_EQ(cheapest->methods, here->methods);
  const auto of_there = device.bounds(there(), call);
  ASSERT_TRUE(of_there.ok()) << of_there.error().text();
  EXPECT_EQ(of_there->lower, here->lower);
  EXPECT_EQ(of_there->methods, here->methods);

  // The time is over after the first box of the device.
  constexpr double kSeconds = 1;
  call.timeout_seconds = kSeconds;
  call.watch = [&](const Watched& at) {
    if (at.method == Method::kCrown && at.done == 1)
      std::this_thread::sleep_for(std::chrono::duration<double>(kSeconds));
  };
  const auto some = device.bounds(lower_, upper_, call);
  ASSERT_TRUE(some.ok()) << some.error().text();
  EXPECT_EQ(some->methods.front(), Method::kCrown);
  for (std::size_t i = 1; i < kThere; ++i) EXPECT_NE(some->methods[i], Method::kCrown);
}

TEST_F(LibraryDevice, a_fork_of_the_process_that_used_the_device_is_refused) {
  const Verifier opened = make("cuda", Method::kIbp);
  ASSERT_TRUE(opened.bounds(lower_, upper_).ok());
  const pid_t fork_of = fork();
  ASSERT_GE(fork_of, 0);
  if (fork_of == 0) {
    const auto model = Model::load(BF_SOURCE_DIR "/models/collision_avoidance_6x50.onnx");
    Options options;
    options.more["device"] = "cuda";
    const auto anew = Verifier::make(*model, options);
    const auto is_named = [](const Error& error) {
      return error.code == "BF3344" && error.text().find("forked") != std::string::npos;
    };
    const auto old = opened.bounds(lower_, upper_);
    const bool good = !anew.ok() && is_named(anew.error()) && !old.ok() && is_named(old.error()) &&
                      make("", Method::kIbp).bounds(lower_, upper_).ok();
    _exit(good ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(fork_of, &status, 0), fork_of);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  EXPECT_TRUE(opened.bounds(lower_, upper_).ok());
}

TEST_F(LibraryDevice, what_is_no_box_there_is_named_and_bounds_nothing) {
  const Verifier device = make("cuda", Method::kIbp);
  EXPECT_EQ(device.bounds(DeviceBoxes{0, lower_.data(), upper_.data()}).error().code, "BF3502");
  EXPECT_EQ(device.spec_bounds(DeviceBoxes{kThere, nullptr, upper_.data()}).error().code, "BF3502");
  for (const float wrong :
       {-9.0F, std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    const float before = std::exchange(upper_[5 * 3 + 2], wrong);
    const auto made = device.bounds(there());
    ASSERT_FALSE(made.ok()) << wrong;
    EXPECT_EQ(made.error().code, "BF3503");
    EXPECT_NE(made.error().text().find("box 3, input 2"), std::string::npos) << made.error().text();
    upper_[5 * 3 + 2] = before;
  }
  EXPECT_TRUE(device.bounds(there()).ok());
}

}  // namespace
}  // namespace bf_aot::api

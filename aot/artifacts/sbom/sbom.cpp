#include "aot/artifacts/sbom/sbom.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "frontend/graph/model.h"

namespace bf_aot::artifacts {

std::vector<build::RuntimeFile> files_of(const Bill& bill) {
  constexpr std::uint64_t kMaxBytes = std::uint64_t{1} << 32;
  std::vector<build::RuntimeFile> files;
  for (const std::string& name : bill.files)
    files.push_back({name, read_file(bill.folder / name, kMaxBytes, "file")});
  return files;
}

std::string bill_time() {
  constexpr std::int64_t kLast = 253'402'300'799;  // of year 9999
  std::int64_t seconds = 0;
  if (const char* const text = std::getenv("SOURCE_DATE_EPOCH")) {
    const std::string_view digits(text);
    std::from_chars(digits.data(), digits.data() + digits.size(), seconds);
  }
  if (seconds < 0 || seconds > kLast) seconds = 0;
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(static_cast<std::time_t>(seconds)));
}

std::string sbom_text(const std::filesystem::path& file, const Plan& plan, const Bill& bill) {
  return file.string().ends_with(".cdx.json") ? cyclonedx_text(plan, bill) : spdx_text(plan, bill);
}

}  // namespace bf_aot::artifacts

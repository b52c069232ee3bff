#include "aot/cli/verify/verify_proof.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <utility>

#include "aot/emit/text/banner.h"
#include "aot/prove/prover.h"
#include "aot/system/files.h"
#include "aot/system/progress.h"
#include "frontend/diagnostic.h"
#include "frontend/gzip.h"
#include "frontend/read_bytes.h"

namespace bf_aot::cli {
namespace {

constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 31;

std::string bytes_of(const std::string& path) {
  ReadBytes read = read_bytes(path, kMostBytes, Sources::kFiles);
  if (!read.problem.empty())
    fail("BF3022", path, "a certificate is about a file: " + read.problem, "name a file");
  if (!is_gzip(read.bytes)) return std::move(read.bytes);
  Unpacked unpacked = unpack_gzip(read.bytes, kMostBytes);
  if (unpacked.state != Unpacked::State::kWhole)
    fail("BF3022", path, "its compression is damaged, or it is too large", "expand it");
  return std::move(unpacked.bytes);
}

[[noreturn]] void fail_to_write(const std::string& path) {
  fail("BF3102", path, fmt::format("cannot write: {}", std::strerror(errno)),
       "check the permissions and the free space");
}

}  // namespace

void read_proof_files(ProofWork& work) {
  work.model_bytes = bytes_of(work.model);
  work.property_bytes = bytes_of(work.property);
  try {
    prove::expect_covered(work.model_bytes, work.property_bytes);
  } catch (const bf_check::Refused& why) {
    fail("BF3022", work.model,
         fmt::format("the checker of certificates does not take this question: {}", why.what()),
         "decide it without --proof; docs/reference/certificate.md has the tables");
  }
}

ProofReport write_proof(const ProofWork& work, const std::string& answer,
                        const std::vector<mpq_class>* point) {
  const system::Stopwatch stopwatch;
  const std::filesystem::path path = work.path;
  const std::string name = path.filename().string();
  system::Staging staging(path.has_parent_path() ? path.parent_path() : ".");
  std::ofstream stream(staging.folder() / name, std::ios::binary | std::ios::trunc);
  prove::ProofRequest request;
  request.model = work.model_bytes;
  request.property = work.property_bytes;
  request.tool = "bf-aot " + emit::version_text();
  request.seconds = work.seconds;
  request.write = [&](const std::string& bytes) {
    stream.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    if (!stream) fail_to_write(work.path);
  };
  request.stop = [] {
    system::throw_if_interrupted();
    return false;
  };
  const auto fail_to_prove = [&](const char* why) {
    fail("BF3023", work.path,
         fmt::format("the answer is '{}', but there is no certificate: {}", answer, why),
         "decide without --proof, or give --proof-seconds more");
  };
  ProofReport report;
  try {
    const prove::ProofTotals totals =
        point == nullptr ? prove::write_proof(request) : prove::write_violation(request, *point);
    report = {totals.bytes, totals.leaves, 0};
  } catch (const prove::NoCertificate& why) {
    fail_to_prove(why.what());
  } catch (const bf_check::Refused& why) {
    fail_to_prove(why.what());
  }
  stream.close();
  if (!stream) fail_to_write(work.path);
  staging.publish({name});
  report.seconds = stopwatch.seconds();
  return report;
}

}  // namespace bf_aot::cli

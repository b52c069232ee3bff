#include "aot/prove/proof_file.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <utility>

#include "aot/prove/prover.h"
#include "aot/system/files.h"
#include "aot/system/progress.h"
#include "frontend/diagnostic.h"
#include "frontend/graph/model.h"
#include "frontend/gzip.h"
#include "frontend/read_bytes.h"

namespace bf_aot::prove {
namespace {

constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 31;

[[noreturn]] void fail_to_write(const std::filesystem::path& path) {
  fail("BF3102", printable(path.string()), fmt::format("cannot write: {}", std::strerror(errno)),
       "check the permissions and the free space");
}

}  // namespace

std::string bytes_of(const std::filesystem::path& path) {
  const std::string where = printable(path.string());
  ReadBytes read = read_bytes(path, kMostBytes, Sources::kFiles);
  if (!read.problem.empty())
    fail("BF3022", where, "a certificate is about a file: " + read.problem, "name a file");
  if (!is_gzip(read.bytes)) return std::move(read.bytes);
  Unpacked unpacked = unpack_gzip(read.bytes, kMostBytes);
  if (unpacked.state != Unpacked::State::kWhole)
    fail("BF3022", where, "its compression is damaged, or it is too large", "expand it");
  return std::move(unpacked.bytes);
}

void expect_covered(const ProofFile& proof, const std::string& where) {
  try {
    expect_covered(proof.model, proof.property);
  } catch (const bf_check::Refused& why) {
    fail("BF3022", where,
         fmt::format("the checker of certificates does not take this question: {}", why.what()),
         "decide it without a certificate; docs/reference/certificate.md has the tables");
  }
}

ProofReport write_proof_file(const ProofFile& proof, const std::vector<mpq_class>* point) {
  const system::Stopwatch stopwatch;
  const std::string name = proof.path.filename().string();
  system::Staging staging(proof.path.has_parent_path() ? proof.path.parent_path() : ".");
  std::ofstream stream(staging.folder() / name, std::ios::binary | std::ios::trunc);
  ProofRequest request;
  request.model = proof.model;
  request.property = proof.property;
  request.tool = "bf-aot " BF_AOT_VERSION;
  request.seconds = proof.seconds;
  request.stop = proof.stop;
  request.write = [&](const std::string& bytes) {
    stream.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    if (!stream) fail_to_write(proof.path);
  };
  ProofReport report;
  try {
    const ProofTotals totals =
        point == nullptr ? write_proof(request) : write_violation(request, *point);
    report = {totals.bytes, totals.leaves, 0, {}};
  } catch (const NoCertificate& why) {
    report.missing = why.what();
  } catch (const bf_check::Refused& why) {
    report.missing = why.what();
  }
  if (report.missing.empty()) {
    stream.close();
    if (!stream) fail_to_write(proof.path);
    staging.publish({name});
  }
  report.seconds = stopwatch.seconds();
  return report;
}

}  // namespace bf_aot::prove

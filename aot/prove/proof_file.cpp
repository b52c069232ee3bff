#include "aot/prove/proof_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <new>
#include <system_error>
#include <utility>

#include "aot/check/certificate.h"
#include "aot/prove/prover.h"
#include "aot/system/files.h"
#include "aot/system/process.h"
#include "aot/system/progress.h"
#include "frontend/diagnostic.h"
#include "frontend/graph/model.h"
#include "frontend/gzip.h"
#include "frontend/read_bytes.h"
#include "frontend/source_state.h"

namespace bf_aot::prove {
namespace {

constexpr double kMostUlps = 255;
constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 31;

// Where the bytes of a certificate go, as ProofFile::path says.
class Destination {
 public:
  explicit Destination(const std::filesystem::path& path) {
    if (!path.empty()) file_.emplace(path);
    if (path.extension() == ".gz") packer_.emplace();
  }
  void write(const std::string& bytes) {
    if (!file_)
      kept_ += bytes;
    else
      file_->write(packer_ ? packer_->add(bytes) : bytes);
  }
  // Returns what no file has.
  std::string publish() {
    if (packer_) file_->write(packer_->end());
    if (file_) file_->publish();
    return std::move(kept_);
  }

 private:
  std::optional<system::OutputFile> file_;
  std::optional<GzipPacker> packer_;
  std::string kept_;
};

// Writes a certificate by make(write), whole or not at all; not where make() has none.
template <class Make>
ProofReport write_whole(const std::filesystem::path& path, const Make& make) {
  const system::Stopwatch stopwatch;
  Destination destination(path);
  ProofReport report;
  bf_check::throw_without_memory();
  try {
    const ProofTotals totals = make([&](const std::string& bytes) { destination.write(bytes); });
    report = {totals.bytes, totals.leaves, 0, {}, {}};
  } catch (const NoCertificate& why) {
    report.missing = why.what();
  } catch (const bf_check::Refused& why) {
    report.missing = why.what();
  } catch (const std::bad_alloc&) {
    report.missing = "out of memory";
  }
  if (report.missing.empty()) report.certificate = destination.publish();
  report.seconds = stopwatch.seconds();
  return report;
}

std::string expanded(std::string bytes, const std::string& where) {
  if (!is_gzip(bytes)) return bytes;
  Unpacked unpacked = unpack_gzip(bytes, kMostBytes);
  if (unpacked.state != Unpacked::State::kWhole)
    fail("BF3022", where, "its compression is damaged, or it is too large", "expand it");
  return std::move(unpacked.bytes);
}

std::size_t jobs_of(const ProofFile& proof) {
  return proof.jobs > 0 ? proof.jobs : system::core_count();
}

// Whether the checker says that the certificate proves that the property holds. Throws:
// bf_check::NotProven, Refused.
bool is_proven(const ProofFile& proof, const std::string& certificate) {
  bf_check::Input in(certificate);
  const bf_check::Grid grid = bf_check::read_header(in).grid;
  if (grid.float32 != proof.ulps.has_value() || grid.ulps != proof.ulps.value_or(0)) return false;
  const system::Stop stop = proof.stop.or_interrupt();
  bf_check::Work work(bf_check::most_steps(certificate), [&] {
    if (stop()) throw bf_check::NotProven("there is no time left");
  });
  const bf_check::Checking way{jobs_of(proof), nullptr};
  return bf_check::check(proof.models, proof.property, certificate, work, way) == bf_check::kHolds;
}

ProofRequest request_of(const ProofFile& proof, std::function<void(const std::string&)> write) {
  ProofRequest request;
  request.models = proof.models;
  request.property = proof.property;
  request.ulps = proof.ulps;
  request.tool = "bf-aot " + with_source_state(BF_AOT_VERSION);
  request.jobs = jobs_of(proof);
  request.stop = proof.stop.or_interrupt();
  if (proof.seconds > 0) request.stop = request.stop.within(proof.seconds);
  request.write = std::move(write);
  return request;
}

}  // namespace

std::optional<unsigned> whole_ulps(const std::optional<double>& libm_ulps) {
  if (!libm_ulps) return std::nullopt;
  if (*libm_ulps > kMostUlps)
    fail("BF3024", "--libm-ulps", "certificates are about functions that are off by at most 255",
         "decide it without a certificate");
  return static_cast<unsigned>(std::ceil(*libm_ulps));
}

std::string bytes_of(const std::filesystem::path& path) {
  const std::string where = printable(path.string());
  ReadBytes read = read_bytes(path, kMostBytes, Sources::kFiles);
  if (!read.problem.empty())
    fail("BF3022", where, "a certificate is about a file: " + read.problem, "name a file");
  return expanded(std::move(read.bytes), where);
}

void expect_covered(const ProofFile& proof, const std::string& where) {
  bf_check::throw_without_memory();
  try {
    expect_covered(proof.models, proof.property, proof.ulps);
  } catch (const bf_check::Refused& why) {
    fail("BF3022", where,
         fmt::format("the checker of certificates does not take this question: {}", why.what()),
         "decide it without a certificate; docs/reference/certificate.md has the tables");
  } catch (const std::bad_alloc&) {  // making it tells, with the answer
  }
}

std::optional<ProofFile> proof_of(const build::DecisionOptions& options,
                                  const ProofSubject& subject) {
  const bool has_file =
      !options.proof.file.empty() && options.proof.file != build::ProofOptions::kKept;
  if (options.proof.recheck && !has_file)
    fail("BF3024", "recheck", "there is no file of a certificate to check", "name it by proof");
  if (options.proof.file.empty()) return std::nullopt;
  const auto refuse = [&](const char* why) {
    fail("BF3024", subject.option, why, "decide it without a certificate");
  };
  if (!subject.is_real && !subject.libm_ulps)
    refuse("certificates are about exact real arithmetic, or about float32 with subnormals");
  if (!subject.is_whole) refuse("certificates are about the whole model, as its file has it");
  ProofFile proof;
  if (has_file) proof.path = options.proof.file;
  const auto read = [&](const std::string& input) {
    std::error_code none;
    if (std::filesystem::equivalent(proof.path, input, none))
      fail("BF3111", subject.option, "it would overwrite the model or the property",
           "name another file");
    return bytes_of(input);
  };
  for (const ProofSubject::Model& model : subject.models)
    proof.models.push_back(model.file.empty() ? expanded(*model.bytes, "the model")
                                              : read(model.file));
  proof.property = subject.property.empty() ? subject.text : read(subject.property);
  proof.seconds = options.proof.seconds;
  proof.jobs = options.jobs;
  proof.recheck = options.proof.recheck;
  proof.ulps = whole_ulps(subject.is_real ? std::nullopt : subject.libm_ulps);
  const std::string& first = subject.models.at(0).file;
  expect_covered(proof, first.empty() ? "the model" : printable(first));
  return proof;
}

std::optional<ProofReport> rechecked(const ProofFile& proof) {
  std::error_code none;
  if (!proof.recheck || !std::filesystem::is_regular_file(proof.path, none)) return std::nullopt;
  const system::Stopwatch stopwatch;
  bf_check::throw_without_memory();
  try {
    const std::string certificate = bytes_of(proof.path);
    if (!is_proven(proof, certificate)) return std::nullopt;
    ProofReport report{certificate.size(), 0, stopwatch.seconds(), {}, {}};
    report.rechecked = true;
    return report;
  } catch (const bf_check::NotProven&) {
  } catch (const bf_check::Refused&) {
  } catch (const CompileError&) {  // a file that is damaged: it is made anew
  } catch (const std::bad_alloc&) {
  }
  return std::nullopt;
}

ProofReport write_proof_file(const ProofFile& proof, const std::vector<mpq_class>* point) {
  return write_whole(proof.path, [&](std::function<void(const std::string&)> write) {
    const ProofRequest request = request_of(proof, std::move(write));
    return point == nullptr ? write_proof(request) : write_violation(request, *point);
  });
}

ProofReport write_proof_part(const ProofFile& proof, std::size_t index, std::size_t count) {
  return write_whole(proof.path, [&](std::function<void(const std::string&)> write) {
    return write_proof_part(request_of(proof, std::move(write)), {index, count});
  });
}

ProofReport join_proofs(const std::vector<std::string>& parts, const std::filesystem::path& path) {
  return write_whole(path, [&](const std::function<void(const std::string&)>& write) {
    return ProofTotals{0, 0, join_proof_parts(parts, write)};
  });
}

}  // namespace bf_aot::prove

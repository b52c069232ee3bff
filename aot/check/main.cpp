#include <cstdio>
#include <exception>
#include <new>
#include <string>

#include "aot/check/certificate.h"

namespace {

constexpr char kHelp[] =
    "Usage: bf-check MODEL PROPERTY CERTIFICATE [STEPS]\n"
    "\n"
    "Checks a certificate that bf-aot verify --proof wrote, by itself and without floating point.\n"
    "The answer is 'checked: verified' (no input violates the property), 'checked: falsified' (an\n"
    "input does), or 'not proven' and why.\n"
    "STEPS: most steps of arithmetic; without it 2^33, and 2^20 for each byte of the certificate.\n"
    "\n"
    "Exit code: 0 checked: verified, 3 checked: falsified, 4 not proven, 1 a file cannot be "
    "handled,\n"
    "2 wrong usage.\n";

int run(const std::string& model, const std::string& property, const std::string& certificate,
        const std::string& steps) {
  using namespace bf_check;
  throw_without_memory();
  try {
    const std::string bytes = read_file(certificate);
    Work work(steps.empty() ? most_steps(bytes) : std::stoull(steps));
    const bool holds = check({read_file(model)}, read_file(property), bytes, work) == kHolds;
    std::puts(holds ? "checked: verified" : "checked: falsified");
    return holds ? 0 : 3;
  } catch (const NotProven& why) {
    std::printf("not proven: %s\n", why.what());
    return 4;
  } catch (const std::bad_alloc&) {
    std::fputs("bf-check: out of memory\n", stderr);
  } catch (const std::exception& why) {
    std::fprintf(stderr, "bf-check: %s\n", why.what());
  }
  return 1;
}

// An answer that nobody gets is none.
int with_output(int code) {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return code;
  std::perror("bf-check: standard output");
  return 1;
}

}  // namespace

int main(int count, char** words) {
  const std::string first = count > 1 ? words[1] : "";
  const bool helps = count == 2 && (first == "--help" || first == "-h");
  const std::string steps = count == 5 ? words[4] : "";
  const bool counts = steps.size() < 19 && steps.find_first_not_of("0123456789") == steps.npos;
  if (count == 4 || (count == 5 && counts && !steps.empty()))
    return with_output(run(first, words[2], words[3], steps));
  std::fputs(kHelp, helps ? stdout : stderr);
  return helps ? with_output(0) : 2;
}

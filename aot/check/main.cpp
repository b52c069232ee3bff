#include <cstdio>
#include <exception>
#include <new>
#include <string>
#include <vector>

#include "aot/check/certificate.h"
#include "aot/check/show/show.h"

namespace {

using namespace bf_check;

constexpr char kHelp[] =
    "Usage: bf-check [OPTIONS] MODEL... PROPERTY CERTIFICATE\n"
    "\n"
    "Checks a certificate that bf-aot verify --proof wrote, by itself and without floating point.\n"
    "The n-th MODEL is the n-th network that the property declares. Files may be compressed by "
    "gzip.\n"
    "The answer is 'checked: verified' (no input violates the property), 'checked: falsified' (an\n"
    "input does), or 'not proven' and why.\n"
    "\n"
    "  --jobs N    threads that check; the answer does not depend on it (default: 1)\n"
    "  --steps N   most steps of arithmetic; without it 2^33, and 2^20 for each byte of the\n"
    "              certificate\n"
    "  --quiet     no progress, and no answer but the exit code\n"
    "\n"
    "Instead of checking, these say what is in the files; the exit code is 0 then:\n"
    "  --print       what is understood of them: models, network, cases of the property\n"
    "  --tree        the records of the certificate, one a line\n"
    "  --statistics  how many records there are of each kind\n"
    "\n"
    "Exit code: 0 checked: verified, 3 checked: falsified, 4 not proven, 1 a file cannot be "
    "handled,\n"
    "2 wrong usage.\n";

struct Arguments {
  bool helps = false, quiet = false, wrong = false;
  u64 steps = 0, jobs = 1;
  bool has_steps = false;
  std::string show;  // what is said instead of checking
  std::vector<std::string> files;
};

// A number of at most 18 digits.
bool read_number(const char* word, u64& number) {
  const std::string text = word == nullptr ? "" : word;
  if (text.empty() || text.size() > 18 || text.find_first_not_of("0123456789") != text.npos)
    return false;
  number = std::stoull(text);
  return true;
}

Arguments read_arguments(char** words) {
  constexpr u64 kMostJobs = 1024;
  Arguments read, wrong;
  wrong.wrong = true;
  for (; *words != nullptr; ++words) {
    const std::string word = *words;
    if (word == "--help" || word == "-h") {
      read.helps = true;
    } else if (word == "--quiet") {
      read.quiet = true;
    } else if (word == "--steps" || word == "--jobs") {
      const bool right = read_number(words[1], word == "--steps" ? read.steps : read.jobs);
      if (!right || read.jobs == 0 || read.jobs > kMostJobs) return wrong;
      read.has_steps = read.has_steps || word == "--steps";
      ++words;
    } else if (word == "--print" || word == "--tree" || word == "--statistics") {
      if (!read.show.empty()) return wrong;
      read.show = word;
    } else if (word.rfind("--", 0) == 0) {
      return wrong;
    } else {
      read.files.push_back(word);
    }
  }
  read.wrong = !read.helps && read.files.size() < 3;
  return read;
}

int run(const Arguments& asked) {
  throw_without_memory();
  try {
    std::vector<std::string> files;
    for (const std::string& path : asked.files) files.push_back(read_file(path));
    const std::string certificate = std::move(files.back()), property = std::move(files.end()[-2]);
    files.resize(files.size() - 2);
    if (!asked.show.empty()) {
      const std::string text = asked.show == "--print"
                                   ? show::understood(files, property, certificate)
                               : asked.show == "--tree" ? show::records(property, certificate)
                                                        : show::statistics(property, certificate);
      std::fputs(text.c_str(), stdout);
      return 0;
    }
    Work work(asked.has_steps ? asked.steps : most_steps(certificate));
    bool holds = false;
    {
      show::Progress progress(certificate.size(), asked.quiet);
      const Checking way{asked.jobs, [&](std::size_t walked) { progress.tell(walked); }};
      holds = check(files, property, certificate, work, way) == kHolds;
    }
    if (!asked.quiet) std::puts(holds ? "checked: verified" : "checked: falsified");
    return holds ? 0 : 3;
  } catch (const NotProven& why) {
    if (!asked.quiet) std::printf("not proven: %s\n", why.what());
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
  const Arguments asked = read_arguments(words + (count > 0 ? 1 : 0));
  if (!asked.wrong && !asked.helps) return with_output(run(asked));
  std::fputs(kHelp, asked.wrong ? stderr : stdout);
  return asked.wrong ? 2 : with_output(0);
}

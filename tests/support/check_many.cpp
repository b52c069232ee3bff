// Asks bf-check's library about many certificates in one process. Standard input holds questions:
// the number of models, and then for each model, the property and the certificate its size and
// bytes; sizes are of four bytes, the lowest first. For each question a byte is written: bf-check's
// exit code, as a digit.
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "aot/check/certificate.h"

namespace {

constexpr bf_check::u64 kMostSteps = bf_check::u64{1} << 30;

bool read_size(std::size_t& size) {
  unsigned char bytes[4];
  if (std::fread(bytes, 1, 4, stdin) != 4) return false;
  size = bytes[0] | bytes[1] << 8 | bytes[2] << 16 | static_cast<std::size_t>(bytes[3]) << 24;
  return true;
}

bool read_file(std::string& file) {
  std::size_t size = 0;
  if (!read_size(size)) return false;
  file.resize(size);
  return std::fread(&file[0], 1, size, stdin) == size;
}

char answer(const std::vector<std::string>& models, const std::string& property,
            const std::string& certificate) {
  try {
    bf_check::Work work(kMostSteps);
    return bf_check::check(models, property, certificate, work) == bf_check::kHolds ? '0' : '3';
  } catch (const bf_check::NotProven&) {
    return '4';
  } catch (const std::exception&) {
    return '1';
  }
}

}  // namespace

int main() {
  std::size_t count = 0;
  while (read_size(count)) {
    std::vector<std::string> models(count);
    std::string property, certificate;
    for (std::string& model : models)
      if (!read_file(model)) return 1;
    if (!read_file(property) || !read_file(certificate)) return 1;
    std::putchar(answer(models, property, certificate));
    std::fflush(stdout);
  }
  return 0;
}

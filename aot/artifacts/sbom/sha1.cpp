#include "aot/artifacts/sbom/sha1.h"

#include <nettle/sha1.h>

#include <array>
#include <cstdint>

#include "frontend/sha256.h"

namespace bf_aot::artifacts {

std::string sha1(std::string_view bytes) {
  sha1_ctx context;
  sha1_init(&context);
  sha1_update(&context, bytes.size(), reinterpret_cast<const std::uint8_t*>(bytes.data()));
  std::array<std::uint8_t, SHA1_DIGEST_SIZE> digest{};
  sha1_digest(&context, digest.size(), digest.data());
  return hex(digest);
}

}  // namespace bf_aot::artifacts

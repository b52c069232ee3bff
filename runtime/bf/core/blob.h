#pragma once

#include "bf.h"
#include "bf/contract/integers.h"
#include "bf/core/context.h"

// The persistent part of a context as a blob that survives a restart: a header, then the bytes.
// Numbers are in the machine's byte order; another order's magic is not this one.

namespace bf {

struct BlobHeader {
  std::uint64_t magic;
  char model_sha256[64];
  std::uint32_t abi;
  std::uint32_t starts;  // marks, as in Context
  std::uint64_t fingerprint;
  std::uint64_t bytes;  // that follow
  std::uint32_t anchor;
  std::uint32_t reserved;
  std::uint64_t checksum;  // of all bytes of the blob but these
};
static_assert(sizeof(BlobHeader) == BF_BLOB_HEADER_BYTES, "bf.h says how long it is");

constexpr std::uint64_t kBlobMagic = 0x30626f6c62436642;  // "BfCblob0"

// FNV-1a with 64 bits. A changed byte is always noticed: x -> (x ^ byte) prime is one-to-one in x
// and in the byte, so two blobs that differ in one byte differ from there on. Other changes go
// unnoticed with probability 2^-64.
constexpr std::uint64_t kChecksumStart = 0xcbf29ce484222325;
static inline std::uint64_t checksum(std::uint64_t sum, const void* from, std::size_t bytes) {
  const unsigned char* const at = static_cast<const unsigned char*>(from);
  for (std::size_t i = 0; i < bytes; ++i) sum = (sum ^ at[i]) * 0x100000001b3;
  return sum;
}

static inline std::uint64_t blob_checksum(BlobHeader header, const void* content,
                                          std::size_t bytes) {
  header.checksum = 0;
  return checksum(checksum(kChecksumStart, &header, sizeof header), content, bytes);
}

static inline void copy_bytes(const void* from, std::size_t bytes, void* to) {
  const unsigned char* const source = static_cast<const unsigned char*>(from);
  unsigned char* const target = static_cast<unsigned char*>(to);
  for (std::size_t i = 0; i < bytes; ++i) target[i] = source[i];
}

// blob: sizeof(BlobHeader) + bytes. sha256: 64 digits.
static inline void save_blob(const void* context, std::size_t begin, std::size_t bytes,
                             const char* sha256, void* blob) {
  const Context& state = *static_cast<const Context*>(context);
  const unsigned char* const content = static_cast<const unsigned char*>(context) + begin;
  BlobHeader header = {};
  header.magic = kBlobMagic;
  copy_bytes(sha256, sizeof header.model_sha256, header.model_sha256);
  header.abi = BF_ABI_VERSION;
  header.starts = state.starts;
  header.fingerprint = state.fingerprint;
  header.bytes = bytes;
  header.anchor = state.anchor;
  header.checksum = blob_checksum(header, content, bytes);
  copy_bytes(&header, sizeof header, blob);
  copy_bytes(content, bytes, static_cast<unsigned char*>(blob) + sizeof header);
}

// Loads a blob into an empty context. Its header tells whose blob it is before the checksum is
// made, so that a stale blob is not called a corrupt one.
static inline bf_status load_blob(void* context, std::size_t begin, std::size_t bytes,
                                  const char* sha256, const void* blob) {
  Context& state = *static_cast<Context*>(context);
  BlobHeader header;
  copy_bytes(blob, sizeof header, &header);
  if (header.magic != kBlobMagic) return BF_BLOB_FOREIGN;
  for (std::size_t i = 0; i < sizeof header.model_sha256; ++i)
    if (header.model_sha256[i] != sha256[i]) return BF_BLOB_FOREIGN;
  if (header.abi != BF_ABI_VERSION || header.fingerprint != state.fingerprint ||
      header.bytes != bytes)
    return BF_BLOB_STALE;
  const unsigned char* const content = static_cast<const unsigned char*>(blob) + sizeof header;
  if (header.checksum != blob_checksum(header, content, bytes)) return BF_BLOB_CORRUPT;
  copy_bytes(content, bytes, static_cast<unsigned char*>(context) + begin);
  mark(state.anchor, header.anchor);
  mark(state.starts, header.starts);
  ++state.counters.loads;
  return BF_OK;
}

}  // namespace bf

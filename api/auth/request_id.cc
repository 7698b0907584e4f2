// A random name of the process and a counter: cheaper than fresh randomness for each request, and
// as unique.
#include "api/auth/request_id.h"

#include <openssl/rand.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>

#include "schedd/base/check.h"
#include "schedd/base/limits.h"

namespace muster::auth {
namespace {

std::string ProcessName() {
  std::array<unsigned char, 8> bytes{};
  MUSTER_CHECK(RAND_bytes(bytes.data(), static_cast<int>(bytes.size())) == 1);
  std::string out;
  for (const unsigned char byte : bytes) {
    out += "0123456789abcdef"[byte >> 4];
    out += "0123456789abcdef"[byte & 15];
  }
  return out + "-";
}

}  // namespace

std::string NextRequestId() {
  static const std::string process = ProcessName();
  static std::atomic<std::uint64_t> number{0};
  return process + std::to_string(++number);
}

bool SaneRequestId(std::string_view id) {
  return !id.empty() && id.size() <= limits::kRequestIdBytes &&
         std::all_of(id.begin(), id.end(), [](char c) {
           return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
                  c == '.' || c == '_' || c == '-';
         });
}

}  // namespace muster::auth

// Kueue derives a Workload's name from the kind, the job's name and a hash, cut to the longest name
// that an object may have. The way back (JobNameIn) removes prefix and hash and does not check the
// hash; the caller compares WorkloadNameOf of the job that it finds.
#include "api/service/workload_name.h"

#include <openssl/sha.h>

#include <string_view>

#include "api/service/views.h"

namespace muster::api {
namespace {

// Longest name of an object, and the parts of a Workload's name.
constexpr std::size_t kNameBytes = 253;
constexpr std::size_t kHashDigits = 5;
constexpr std::size_t kPrefixBytes = kNameBytes - 1 - kHashDigits;

// The kind in lower case and a hyphen.
std::string PrefixOf(ShapeKind shape) {
  std::string prefix;
  for (const char c : ShapeKindName(shape))
    prefix.push_back(c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c);
  return prefix + "-";
}

// The first hexadecimal digits of SHA-1 over kind, group, name and uid, one per line.
std::string HashOf(const JobRecord& job) {
  const std::string_view version = ApiVersionOf(job.shape);
  const std::string text = std::string(ShapeKindName(job.shape)) + "\n" +
                           std::string(version.substr(0, version.find('/'))) + "\n" + job.name +
                           "\n" + job.uid.ToString();
  unsigned char digest[SHA_DIGEST_LENGTH];
  SHA1(reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest);
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string hash;
  for (std::size_t i = 0; hash.size() < kHashDigits; ++i) {
    hash.push_back(kDigits[digest[i] >> 4]);
    hash.push_back(kDigits[digest[i] & 15]);
  }
  hash.resize(kHashDigits);
  return hash;
}

}  // namespace

std::string WorkloadNameOf(const JobRecord& job) {
  if (job.shape == ShapeKind::kWorkload) return job.name;
  // The name is cut and never the hash, which keeps names of long jobs apart.
  return (PrefixOf(job.shape) + job.name).substr(0, kPrefixBytes) + "-" + HashOf(job);
}

std::string JobNameIn(const std::string& workload_name, ShapeKind shape) {
  const std::string prefix = PrefixOf(shape);
  if (shape == ShapeKind::kWorkload) return workload_name;
  if (!workload_name.starts_with(prefix)) return "";
  const std::size_t around = prefix.size() + 1 + kHashDigits;
  if (workload_name.size() <= around) return "";
  return workload_name.substr(prefix.size(), workload_name.size() - around);
}

}  // namespace muster::api

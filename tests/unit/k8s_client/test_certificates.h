// Keys and certificates made for one test run, with OpenSSL.
#pragma once

#include <memory>
#include <string>
#include <vector>

namespace muster::k8s::test {

struct Identity {
  std::string certificate_pem, key_pem;
};

/// A certificate authority of its own.
class Authority {
 public:
  explicit Authority(const std::string& name);
  ~Authority();
  const std::string& certificate_pem() const;
  /// `names` as OpenSSL writes them: "IP:127.0.0.1,DNS:localhost". Valid from `from_s` to `to_s`,
  /// seconds from now.
  Identity Issue(const std::string& common_name, const std::string& names, long from_s = -3600,
                 long to_s = 3600) const;
  /// A list of revocations with these certificates of its own, as PEM text. It ends in `to_s`
  /// seconds.
  std::string Revoke(const std::vector<Identity>& revoked, long to_s = 3600) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace muster::k8s::test

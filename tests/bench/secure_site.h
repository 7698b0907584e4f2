// SecureSite: what a site gives a musterd that is reached by TLS and tokens: a certificate, an
// issuer with its keys, people with tokens, and thousands of bindings. All of it is on loopback.
#pragma once

#include <string>
#include <thread>
#include <vector>

#include "schedd/base/result.h"
#include "tests/bench/server.h"
#include "tests/unit/auth_jwt/token_maker.h"

namespace muster::bench {

/// Has a directory and a thread of its own, which end with it. Not thread-safe.
class SecureSite {
 public:
  SecureSite();
  ~SecureSite();
  SecureSite(const SecureSite&) = delete;
  SecureSite& operator=(const SecureSite&) = delete;

  /// Writes the files and starts the issuer.
  Status Open();
  /// The flags that make a musterd one of this site.
  std::vector<std::string> Flags() const;
  /// The server's certificate, which is its own authority.
  std::string CertificatePath() const { return dir_ + "/server.pem"; }
  /// One token for each of the people, signed by RS256: each has five groups and may submit in the
  /// namespace "bench" by one of them.
  std::vector<std::string> Tokens() const;
  /// Gives a server the namespaces, a binding that lets the people submit in "bench", and as many
  /// others as make `count`, one in ten of them a ClusterRoleBinding.
  static Status ApplyBindings(const Server& server, int count);

 private:
  Status WriteCertificate() const;
  void Answer(int fd) const;
  void Serve() const;

  std::string dir_, issuer_;
  int listener_ = -1;
  testing::SigningKey key_;
  std::thread thread_;
};

}  // namespace muster::bench

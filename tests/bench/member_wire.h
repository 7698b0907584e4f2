// MemberWire: a plain client of one member's API server with one keep-alive connection and one
// request at a time. muster-bench compares Muster with it, so it shares nothing with backends/k8s
// but the kubeconfig.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "schedd/base/result.h"

namespace muster::bench {

/// A member's address and credentials.
struct MemberTarget {
  std::string host, port, token, ca;  // ca: PEM; used with tls only
  bool tls = false;
};

/// Reads a kubeconfig whose user has a token. Errors (kInvalidArgument, kNotFound) have one
/// sentence.
Result<MemberTarget> LoadTarget(const std::string& kubeconfig);

/// Blocking. Not thread-safe but for Abort.
class MemberWire {
 public:
  explicit MemberWire(MemberTarget target);
  ~MemberWire();
  MemberWire(const MemberWire&) = delete;
  MemberWire& operator=(const MemberWire&) = delete;

  /// The body of the answer. Errors: a status over 299, or the connection broke; the next call
  /// connects again.
  Result<std::string> Call(const std::string& method, const std::string& path,
                           const std::string& body = "",
                           const std::string& content_type = "application/json");
  /// Gives each line of the answer to `line` until the server ends it or Abort is called.
  Status Follow(const std::string& path, const std::function<void(std::string_view)>& line);
  /// Ends a Follow and any later call; from any thread.
  void Abort();

 private:
  struct Connection;
  Status Connect();
  void Disconnect();
  MemberTarget target_;
  std::mutex mutex_;  // guards the members below against Abort
  bool aborted_ = false;
  std::unique_ptr<Connection> connection_;
};

}  // namespace muster::bench

// Credentials: how the client authenticates to a member at present, and which certificates it
// trusts. Follows files that change, runs the exec plugin before its credentials expire, and renews
// once after a 401.
//
// Used on the client's strand only. Reading its files blocks as long as a small local file takes,
// at most once a second; the plugin runs on a thread of its own.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "backends/k8s/client/exec_plugin.h"
#include "backends/k8s/client/kubeconfig.h"
#include "backends/k8s/client/member_files.h"
#include "backends/k8s/client/strand_gate.h"
#include "backends/k8s/client/tls_setup.h"
#include "schedd/base/clock.h"
#include "schedd/base/result.h"

namespace muster::k8s {

/// What a request is sent with.
struct Auth {
  std::string header;                // "Bearer ..." or ""
  std::shared_ptr<TlsContext> tls;   // null: plain HTTP
  std::uint64_t generation = 0;      // grows with every change of the header or the certificates
  std::uint64_t tls_generation = 0;  // grows with the certificates: no older connection is reused
};

class Credentials : public std::enable_shared_from_this<Credentials> {
 public:
  /// `member` is for the log. `changed` is called on the strand when Current, having answered null,
  /// has become ready or failed.
  Credentials(const Clock& clock, std::shared_ptr<StrandGate> gate, const MemberAccess& access,
              std::string member, std::function<void()> changed);
  ~Credentials();

  /// Null while the plugin runs: wait for `changed`. kUnauthenticated, with a sentence: there are
  /// no credentials at present.
  Result<const Auth*> Current();
  /// The member answered 401 to a request sent with `generation`. True: there are, or will be,
  /// other credentials, so repeat the request.
  bool Renew(std::uint64_t generation);
  /// The member accepted a request sent with `generation`.
  void Accepted(std::uint64_t generation);
  /// Kills the plugin.
  void Stop();

 private:
  /// A certificate, key or token, from the kubeconfig or a file.
  struct Source {
    Material material;
    const char* field = "";  // for sentences
    std::string content;
    FileStamp stamp;
  };
  struct PluginRun;

  void LookAtFiles(bool force);
  Status ReadSource(Source* source, bool force);
  Status Rebuild();
  void TellUnused(const Status& read);
  void StartPlugin();
  void PluginDone(Result<ExecCredentials> result);

  const Clock& clock_;
  const std::shared_ptr<StrandGate> gate_;
  const MemberAccess access_;
  const std::string member_;
  const std::function<void()> changed_;
  Source ca_, certificate_, key_, token_;
  bool stale_ = false;  // a source has changed since auth_ was made
  bool looked_ = false;
  Monotonic looked_at_;
  std::optional<Auth> auth_;    // the last that worked
  std::optional<Error> error_;  // why there are none at present
  std::string unused_;          // why newer files are not used; "" if they are
  std::uint64_t generation_ = 0;
  std::optional<TlsMaterial> tls_made_of_;
  // The plugin.
  std::shared_ptr<PluginRun> run_;  // while it runs
  std::thread thread_;
  std::optional<ExecCredentials> given_;
  bool plugin_rejected_ = false;  // a 401 came for given_
  Monotonic plugin_retry_at_;     // the plugin is not run before
  // Renewals that the member has not accepted yet.
  int renewals_ = 0;
  Monotonic renewed_at_;
  bool stopped_ = false;
};

}  // namespace muster::k8s

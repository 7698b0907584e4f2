// Member: one Kubernetes member for as long as the backend runs, through all its sessions. It reads
// the kubeconfig, makes a session, and makes another when the session asks for it.
//
// Start, Reload, SetHeartbeat, Renew and Stop are called by the backend's keeper thread alone (they
// may block on the disk and on a session's end); the other methods by any thread.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "backends/k8s/client/kubeconfig.h"
#include "backends/k8s/k8s_backend.h"
#include "backends/k8s/session.h"
#include "schedd/base/mutex.h"

namespace muster::k8s {

class Member {
 public:
  /// `ask` posts work to the keeper thread.
  Member(const ClientEnvironment& environment, MemberOptions options, std::string instance_id,
         std::function<void(std::function<void()>)> ask);
  ~Member();

  const MemberOptions& options() const { return options_; }
  void Start(ObservationSink& sink);
  void Stop();
  /// The kubeconfig may have changed: connects anew if its text has changed or no session exists. A
  /// new text that cannot be used leaves the session as it is, which says so; a kubeconfig that is
  /// gone ends it.
  void Reload();
  /// The heartbeat period for this session and all later ones.
  void SetHeartbeat(std::int64_t seconds);
  /// `end` is called with each session right before that is closed.
  void OnSessionEnd(std::function<void(const Session*)> end) { session_ends_ = std::move(end); }

  /// Null while there is none; then `trouble` is set to the reason.
  SessionPtr session(std::string* trouble = nullptr) const;
  ClusterFacts facts() const;

 private:
  void Open();
  void Renew(Renewal why);
  void Refresh(bool gone_ends);
  void CloseSession();
  void Fail(const std::string& trouble);
  void Keep(const SessionPtr& session, const std::string& trouble);
  void TryAgain();
  Result<MemberAccess> Load() const;

  const ClientEnvironment environment_;
  const MemberOptions options_;
  const std::string instance_id_;
  const std::function<void(std::function<void()>)> ask_;
  std::function<void(const Session*)> session_ends_;

  // Used by the keeper thread alone.
  ObservationSink* sink_ = nullptr;
  std::string kubeconfig_;  // the text that the session was made from
  std::string unusable_;    // why the text of now is not used; "" if it is
  std::int64_t heartbeat_s_;
  int failures_ = 0;
  std::uint64_t retries_ = 0;  // numbers the retries; only the latest is carried out
  /// Timers and sessions hold it weakly; after Stop their late calls do nothing.
  std::shared_ptr<bool> alive_;

  mutable Mutex mutex_;
  SessionPtr session_ MUSTER_GUARDED_BY(mutex_);
  std::string trouble_ MUSTER_GUARDED_BY(mutex_) = "it is not connected";
};

}  // namespace muster::k8s

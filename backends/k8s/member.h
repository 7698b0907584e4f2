// Member: one Kubernetes member for as long as the backend runs, through all its sessions: reads
// its kubeconfig, makes a session, and another when the session says so.
//
// Start, Reload, SetHeartbeat, Renew and Stop are called by the backend's keeper thread alone (they
// may block on the disk and on a session's end); the rest by any thread.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "backends/k8s/k8s_backend.h"
#include "backends/k8s/session.h"

namespace muster::k8s {

class Member {
 public:
  /// `ask` runs work on the keeper thread soon.
  Member(const ClientEnvironment& environment, MemberOptions options, std::string instance_id,
         std::function<void(std::function<void()>)> ask);
  ~Member();

  const MemberOptions& options() const { return options_; }
  void Start(ObservationSink& sink);
  void Stop();
  /// Its kubeconfig may have changed: connects anew if its text has, or nothing is connected.
  void Reload();
  /// Its period, for this session and all that follow.
  void SetHeartbeat(std::int64_t seconds);
  /// Called with each session that ends, before it does.
  void OnSessionEnd(std::function<void(const Session*)> end) { session_ends_ = std::move(end); }

  /// Null while there is none; `trouble` then says why.
  SessionPtr session(std::string* trouble = nullptr) const;
  ClusterFacts facts() const;

 private:
  void Open();
  void Renew(Renewal why);
  void CloseSession();
  void Fail(const std::string& trouble);

  const ClientEnvironment environment_;
  const MemberOptions options_;
  const std::string instance_id_;
  const std::function<void(std::function<void()>)> ask_;
  std::function<void(const Session*)> session_ends_;

  // The keeper's own.
  ObservationSink* sink_ = nullptr;
  std::string kubeconfig_;  // its text when the session was made
  std::int64_t heartbeat_s_;
  int failures_ = 0;
  std::uint64_t retries_ = 0;  // only the latest one counts
  /// What timers and sessions that outlive a Stop still hold is void then.
  std::shared_ptr<bool> alive_;

  mutable std::mutex mutex_;  // guards what follows
  SessionPtr session_;
  std::string trouble_ = "it is not connected";
};

}  // namespace muster::k8s

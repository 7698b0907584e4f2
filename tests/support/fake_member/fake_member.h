// FakeMember: a simulated Kubernetes cluster in this process, behind plain HTTP on loopback: API
// server, controllers, nodes, pods that run no process, and faults on request.
//
// All methods are thread-safe. When a method returns, its effect is complete and the controllers
// have settled; clients receive the resulting watch events later, over their sockets.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tests/support/fake_member/faults.h"

namespace muster::fake {

/// The thread that runs the I/O of fake members; several may share one.
class Loop {
 public:
  Loop();
  ~Loop();
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;
  struct Impl;
  Impl& impl() { return *impl_; }

 private:
  std::unique_ptr<Impl> impl_;
};

struct FakeMemberOptions {
  std::uint64_t seed = 1;
  int nodes = 4;
  std::string token;  // "" = no authentication
  /// If set, time moves only by Advance; otherwise it is the machine's.
  bool manual_clock = false;
  bool events = true;
  std::size_t history = 10000;  // changes kept for watches, of each resource
  std::int64_t pod_stop_ms = 0;
  std::int64_t bookmark_ms = 60'000;  // between bookmarks of a watch that asked for them
  int port = 0;                       // 0: the kernel chooses
  std::shared_ptr<Loop> loop;         // nullptr: a loop of its own; a shared one must outlive it
};

class FakeMember {
 public:
  explicit FakeMember(FakeMemberOptions options = {});
  ~FakeMember();
  FakeMember(const FakeMember&) = delete;
  FakeMember& operator=(const FakeMember&) = delete;

  int port() const;
  std::string url() const;
  /// A kubeconfig with one context and, if there is one, the token.
  std::string Kubeconfig() const;
  /// The uid of namespace kube-system.
  std::string incarnation() const;

  /// A request of a user of the member cluster: it meets no faults and is not counted, and the
  /// objects that it creates are foreign. Returns the status and the body of the answer.
  Answer Call(const std::string& method, const std::string& target, const std::string& body = "",
              const std::string& content_type = "application/json");
  /// The object at a path such as /api/v1/namespaces/default; CHECKs that it is there.
  json::object Object(const std::string& path) const;

  int Inject(Fault fault);
  void Withdraw(int fault);
  void ClearFaults();
  /// How often a fault has been applied.
  std::int64_t Struck(int fault) const;

  /// Until Resume, requests are taken but not answered, and watches send nothing; Resume sends all.
  void Pause();
  void Resume();
  /// Breaks all connections and accepts none until Start, which uses the same port.
  void Stop();
  void Start();
  /// Breaks all connections once.
  void BreakConnections();
  void CloseWatches();
  void SendBookmarks();
  /// Old versions and continue tokens answer 410 from now on.
  void Compact();
  /// Another, empty cluster under the same address.
  void Wipe();
  /// Saves the state under a name; Restore returns to it, resource versions included.
  void Save(const std::string& name);
  void Restore(const std::string& name);
  void SetToken(const std::string& token);
  /// Whether the user may do that: "create" of "jobs.batch" in `ns`, or everywhere if `ns` is "".
  void SetRight(const std::string& verb, const std::string& plural, const std::string& ns,
                bool allowed);
  void SetInstalled(const std::string& plural, bool installed);
  void SetPodQuota(const std::string& ns, std::int64_t pods);
  /// If off, objects change only by writes of clients.
  void SetControllers(bool on);
  /// Lets time pass (manual_clock only).
  void Advance(std::int64_t ms);

  /// Writes an object's status in place of its controller.
  void SetStatus(const std::string& path, const std::string& status);
  /// Disrupts a pod: condition DisruptionTarget with the reason, phase Failed.
  void Disrupt(const std::string& ns, const std::string& pod, const std::string& reason);
  void SetNodeReady(const std::string& node, bool ready);
  void AppendLog(const std::string& ns, const std::string& pod, const std::string& text);

  Counts counts() const;
  /// The names of an attempt's pods that have not ended.
  std::vector<std::string> ActivePods(const std::string& job_uid, int attempt) const;

  struct Impl;

 private:
  const bool own_loop_;
  const std::shared_ptr<Loop> loop_;
  std::shared_ptr<Impl> impl_;
};

}  // namespace muster::fake

// FakeMember: a Kubernetes cluster in this process, behind plain HTTP on loopback: API server,
// controllers, nodes and pods that only pretend, and faults on request.
//
// All methods are thread-safe. What a method does is done, and the controllers have settled, when
// it returns; what clients hear of it, over sockets, comes after that.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tests/support/fake_member/faults.h"

namespace muster::fake {

/// The thread that members do their I/O on; several may share one.
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
  std::string token;  // "" = whoever comes is let in
  /// Time stands still but for Advance; otherwise it is the machine's.
  bool manual_clock = false;
  bool events = true;
  std::size_t history = 10000;  // changes kept for watches, of each resource
  std::int64_t pod_stop_ms = 0;
  std::int64_t bookmark_ms = 60'000;  // between bookmarks of a watch that asked for them
  int port = 0;                       // 0: the kernel chooses
  std::shared_ptr<Loop> loop;         // nullptr: one of its own; a shared one must outlive them
};

class FakeMember {
 public:
  explicit FakeMember(FakeMemberOptions options = {});
  ~FakeMember();
  FakeMember(const FakeMember&) = delete;
  FakeMember& operator=(const FakeMember&) = delete;

  int port() const;
  std::string url() const;
  /// A kubeconfig with one context and, if the member has one, its token in it.
  std::string Kubeconfig() const;
  /// The uid of namespace kube-system.
  std::string incarnation() const;

  /// A request as a user of the member's own makes it: no faults, nothing counted; what it makes
  /// is foreign. The answer's status and body.
  Answer Call(const std::string& method, const std::string& target, const std::string& body = "",
              const std::string& content_type = "application/json");
  /// The object at a path such as /api/v1/namespaces/default; CHECKs that it is there.
  json::object Object(const std::string& path) const;

  int Inject(Fault fault);
  void Withdraw(int fault);
  void ClearFaults();
  /// How often a fault has struck.
  std::int64_t Struck(int fault) const;

  /// Requests are taken and nothing is answered, watches say nothing, until Resume: then all is.
  void Pause();
  void Resume();
  /// Connections break and none is taken until Start, on the same port.
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
  /// Keeps the state under a name; Restore goes back to it, versions too.
  void Save(const std::string& name);
  void Restore(const std::string& name);
  void SetToken(const std::string& token);
  void SetInstalled(const std::string& plural, bool installed);
  void SetPodQuota(const std::string& ns, std::int64_t pods);
  /// Off: nothing becomes of objects but what is written.
  void SetControllers(bool on);
  /// Lets time pass (manual_clock only).
  void Advance(std::int64_t ms);

  /// Writes an object's status, whatever the controllers think.
  void SetStatus(const std::string& path, const std::string& status);
  /// A pod is put off its node: condition DisruptionTarget with the reason, phase Failed.
  void Disrupt(const std::string& ns, const std::string& pod, const std::string& reason);
  void SetNodeReady(const std::string& node, bool ready);
  void AppendLog(const std::string& ns, const std::string& pod, const std::string& text);

  Counts counts() const;
  /// The names of an attempt's pods that may run.
  std::vector<std::string> ActivePods(const std::string& job_uid, int attempt) const;

  struct Impl;

 private:
  const bool own_loop_;
  const std::shared_ptr<Loop> loop_;
  std::shared_ptr<Impl> impl_;
};

}  // namespace muster::fake

// Fleet: follows the MemberCluster objects: members that a kubeconfig Secret is named for come and
// go while the daemon runs, and all Kubernetes members are asked as often as their objects say.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "backends/fleet/registry.h"
#include "backends/k8s/k8s_backend.h"
#include "schedd/dispatch/dispatcher.h"
#include "schedd/world/world_view.h"

namespace muster {

/// The members that the objects declare, by name; without a kubeconfig where its Secret is missing
/// or unreadable. Pure.
std::vector<MemberDeclaration> DeclaredMembers(const ObjectTable& objects);

/// The heartbeat periods of the Kubernetes members that flags declare, in seconds by name. Pure.
std::map<std::string, std::int64_t> HeartbeatsOfFlagged(const ObjectTable& objects);

class Fleet {
 public:
  /// All outlive it. `view` is that of a daemon that is ready.
  Fleet(std::string directory, k8s::KubernetesMembers& backend, dispatch::Dispatcher& dispatcher,
        std::function<WorldViewPtr()> view);
  ~Fleet() { Stop(); }

  /// Takes what is declared now, and follows it on a thread of its own.
  void Start();
  void Stop();

 private:
  void Look();

  const std::function<WorldViewPtr()> view_;
  k8s::KubernetesMembers& backend_;
  fleet::Registry registry_;
  std::shared_ptr<const ObjectTable> seen_;    // as they are carried out
  std::map<std::string, std::int64_t> paced_;  // heartbeat periods as they were told
  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::jthread thread_;
};

}  // namespace muster

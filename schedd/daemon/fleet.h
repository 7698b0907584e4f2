// Fleet: follows the MemberCluster objects. Members whose object names a kubeconfig Secret are
// added and removed while the daemon runs, and each Kubernetes member is asked for its state as
// often as its object says.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "backends/fleet/registry.h"
#include "backends/k8s/k8s_backend.h"
#include "schedd/dispatch/dispatcher.h"
#include "schedd/world/world_view.h"

namespace muster {

/// The members that objects declare, by name. The kubeconfig is "" where its Secret is missing or
/// unreadable. Pure.
std::vector<MemberDeclaration> DeclaredMembers(const ObjectTable& objects);

/// The heartbeat periods, in seconds by name, of the Kubernetes members that flags declare. Pure.
std::map<std::string, std::int64_t> HeartbeatsOfFlagged(const ObjectTable& objects);

class Fleet {
 public:
  /// All arguments must outlive it. `directory` is for files of members; `view` reads the world of
  /// a daemon that is ready.
  Fleet(std::string directory, k8s::KubernetesMembers& backend, dispatch::Dispatcher& dispatcher,
        std::function<WorldViewPtr()> view);
  ~Fleet() { Stop(); }

  /// Takes the members that are declared now, then follows changes on a thread of its own.
  void Start();
  void Stop();

 private:
  void Look();

  const std::function<WorldViewPtr()> view_;
  k8s::KubernetesMembers& backend_;
  fleet::Registry registry_;
  // The table that was carried out last.
  std::shared_ptr<const ObjectTable> seen_;
  // The heartbeat periods that the backend was given last.
  std::map<std::string, std::int64_t> paced_;
  std::jthread thread_;
};

}  // namespace muster

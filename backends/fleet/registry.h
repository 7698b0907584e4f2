// Registry: keeps the members that MemberCluster objects declare, in the Kubernetes backend and as
// kubeconfig files. registry.cc says how.
//
// Not thread-safe: one caller at a time. Blocks on the disk and on the calls of its target.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "backends/k8s/k8s_backend.h"
#include "backends/member_probe.h"

namespace muster::fleet {

/// The functions through which the registry changes the set of running members, called one at a
/// time. `add` and `remove` start and end a member; `reload` says that the member's kubeconfig file
/// has changed or gone; `pace` gives it another heartbeat period, in seconds.
struct Target {
  std::function<void(k8s::MemberOptions)> add;
  std::function<void(const std::string&name)> remove, reload;
  std::function<void(const std::string& name, std::int64_t heartbeat_s)> pace;
};

class Registry {
 public:
  /// `directory` is created when the first file is written. Every other entry in it is deleted.
  Registry(std::string directory, Target target);

  /// Makes exactly these members exist. False: a file could not be written; the caller calls again.
  bool Apply(const std::vector<MemberDeclaration>& members);

 private:
  bool Put(const MemberDeclaration& member);
  bool Write(const MemberDeclaration& member) const;
  bool SweepFiles() const;
  std::string DirectoryOf(const std::string& name) const;

  const std::string directory_;
  const Target target_;
  /// By name, as they run now.
  std::map<std::string, MemberDeclaration> members_;
};

}  // namespace muster::fleet

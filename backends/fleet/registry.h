// Registry: the members that are declared by objects, kept in the backend and as kubeconfig files.
// README.md tells how.
//
// One thread at a time; blocks on the disk and on what the target does.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "backends/k8s/k8s_backend.h"
#include "backends/member_probe.h"

namespace muster::fleet {

/// What runs members. `add` and `remove` are called once each, in turn; `reload` after the
/// member's kubeconfig has changed or gone; `pace` with another heartbeat period, in seconds.
struct Target {
  std::function<void(k8s::MemberOptions)> add;
  std::function<void(const std::string& name)> remove, reload;
  std::function<void(const std::string& name, std::int64_t heartbeat_s)> pace;
};

class Registry {
 public:
  /// `directory` is made when it is needed; nothing else may be kept there.
  Registry(std::string directory, Target target);

  /// Makes exactly these members exist. False: something could not be written; call it again.
  bool Apply(const std::vector<MemberDeclaration>& members);

 private:
  bool Put(const MemberDeclaration& member);
  bool Write(const MemberDeclaration& member) const;
  bool SweepFiles() const;
  std::string DirectoryOf(const std::string& name) const;

  const std::string directory_;
  const Target target_;
  std::map<std::string, MemberDeclaration> members_;  // as they run
};

}  // namespace muster::fleet

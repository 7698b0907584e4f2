// The Kubernetes backend: runs attempts on clusters that are reached through their own API servers.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "backends/backend.h"
#include "backends/member_objects.h"
#include "backends/member_probe.h"
#include "backends/member_queues.h"
#include "schedd/base/clock.h"
#include "schedd/base/lead_term.h"
#include "schedd/base/random.h"

namespace muster::k8s {

/// One member, as declared. Its kubeconfig is read when the backend starts; an unusable kubeconfig
/// shows as a message in the member's facts.
struct MemberOptions {
  std::string name;
  std::string kubeconfig;       // an absolute path
  std::string context;          // "": current-context
  std::string credentials_dir;  // files it names lie below this; "": the kubeconfig's directory
  bool fast = false;            // one unsuspended create instead of create, record, release
  bool allow_exec = false;      // exec plugins of the kubeconfig may run
  int connections = 0;          // for requests; 0: the client's default
  LabelMap labels;
  /// True: the member was added while the daemon runs. Its kubeconfig is a copy of a Secret and
  /// may name no files.
  bool registered = false;
  std::int64_t heartbeat_s = 60;  // MemberCluster::heartbeat_s
};

struct KubernetesOptions {
  std::vector<MemberOptions> members;
  std::string instance_id;  // of this Muster: value of the label muster.io/instance
  // The three below must outlive the backend.
  const Clock* clock = nullptr;
  TimerService* timers = nullptr;
  Random* random = nullptr;
  /// Requests that change a member are sent only while the lead holds; null: no other daemon can
  /// lead.
  std::shared_ptr<LeadTerm> lead = nullptr;
};

/// The backend together with the means to add and remove members. The methods that change one
/// member are called by one thread at a time; each blocks until it is carried out.
class KubernetesMembers : public Backend,
                          public MemberProbe,
                          public MemberQueues,
                          public MemberObjects {
 public:
  using Backend::Remove;
  using MemberObjects::Remove;
  /// Replaces a member of the same name.
  virtual void AddMember(MemberOptions options) = 0;
  /// Calls for the member fail from now on; attempts there run on. No error if there is none.
  virtual void DropMember(const std::string& name) = 0;
  /// The member's kubeconfig has changed: connects anew if its text has.
  virtual void ReloadMember(const std::string& name) = 0;
  /// Sets the heartbeat period, 1 to 600 s: facts are sent at least so often, and kube-system is
  /// probed as often, but at least every ten seconds. No error if there is no such member.
  virtual void SetHeartbeat(const std::string& name, std::int64_t seconds) = 0;
};

/// Reaches no member before Start. Callbacks and sink calls come from the backend's own threads. A
/// member that cannot be reached or used delays no other: its calls fail with kUnavailable and a
/// sentence, and the connection is tried for ever.
std::unique_ptr<KubernetesMembers> MakeKubernetesBackend(KubernetesOptions options);

}  // namespace muster::k8s

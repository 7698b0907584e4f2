// The Kubernetes backend: members reached through their own API servers. README.md tells how.
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

/// One member, as declared. What its kubeconfig says is read when the backend starts, and what is
/// wrong with it is shown in the member's facts.
struct MemberOptions {
  std::string name;
  std::string kubeconfig;       // an absolute path
  std::string context;          // "": current-context
  std::string credentials_dir;  // files it names lie below; "": its own directory
  bool fast = false;            // one unsuspended create instead of create, record, release
  bool allow_exec = false;      // exec plugins of the kubeconfig may run
  int connections = 0;          // for requests; 0: the client's own number
  LabelMap labels;
  /// Added while the daemon runs: the kubeconfig is a copy of a Secret and may name no files.
  bool registered = false;
  std::int64_t heartbeat_s = 60;  // MemberCluster::heartbeat_s
};

struct KubernetesOptions {
  std::vector<MemberOptions> members;
  std::string instance_id;  // of this Muster: value of the label muster.io/instance
  // These outlive the backend.
  const Clock* clock = nullptr;
  TimerService* timers = nullptr;
  Random* random = nullptr;
  /// Members are written to only while it holds; null: nobody else can lead.
  std::shared_ptr<LeadTerm> lead = nullptr;
};

/// The backend, and members that come and go. What is said of a member's name here is said by one
/// thread at a time; each call blocks until it is carried out.
class KubernetesMembers : public Backend,
                          public MemberProbe,
                          public MemberQueues,
                          public MemberObjects {
 public:
  using Backend::Remove;
  using MemberObjects::Remove;
  /// In the place of one that has its name.
  virtual void AddMember(MemberOptions options) = 0;
  /// Its calls fail from now on; what runs there goes on. No error if there is none.
  virtual void DropMember(const std::string& name) = 0;
  /// Its kubeconfig has changed: connects anew if its text has.
  virtual void ReloadMember(const std::string& name) = 0;
  /// From now on, in seconds; what it means: README.md, "Facts". No error if there is none.
  virtual void SetHeartbeat(const std::string& name, std::int64_t seconds) = 0;
};

/// Nothing is reached before Start. Callbacks and sink calls come from the backend's own threads.
/// A member that cannot be reached or used keeps nobody waiting: its calls fail with kUnavailable
/// and a sentence, and it is tried for ever.
std::unique_ptr<KubernetesMembers> MakeKubernetesBackend(KubernetesOptions options);

}  // namespace muster::k8s

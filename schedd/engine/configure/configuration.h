// Configuration: all of a command or nothing, on a copy that becomes the world when every change
// fits; then jobs, queues and members follow.
//
// configuration.cc applies edits; removal_rules.cc says what may not be removed; object_edits.cc
// writes one field of one object; take_config.cc makes a configuration the world; follow_config.cc
// has jobs follow it (queues, priorities, checks, stop policies), follow_placements.cc placements.
// On the engine thread only.
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "schedd/engine/configure/placement_wakes.h"
#include "schedd/engine/decide/machines.h"
#include "schedd/engine/jobs/node_failures.h"
#include "schedd/engine/jobs/resource_checks.h"
#include "schedd/engine/jobs/stand_in_queue.h"
#include "schedd/engine/live/held_ends.h"
#include "schedd/engine/live/works.h"
#include "schedd/text/json.h"

namespace muster {

/// Who is told that the live configuration is another one.
class ConfigFollower {
 public:
  virtual ~ConfigFollower() = default;
  virtual void Configure() = 0;
};

class Configuration {
 public:
  /// The owners of what follows from a configuration. All must outlive it.
  struct Owners {
    WaitingJobs& waiting;
    LiveJobs& jobs;
    const DispatchRows& rows;
    Attempts& attempts;
    StandInQueue& stand_ins;
    Machines& machines;
    NodeFailures& node_failures;
    ResourceChecks& checks;
    KnownMembers& members;
    HeldEnds& held_ends;
    const Works& works;
  };
  Configuration(EngineContext& context, CommitPipeline& commits, LiveConfig& config,
                const Owners& owners);
  /// Must outlive it too.
  void AddFollower(ConfigFollower* follower) { followers_.push_back(follower); }

  // --- configuration.cc
  void Handle(ApplyCommand command);
  /// Every change, or the error of the first that does not fit; with `dry_run` none. What was
  /// applied is written with the open transaction.
  Result<std::vector<AppliedObject>> Apply(const Actor& actor,
                                           const std::vector<ObjectChange>& changes, bool dry_run);
  /// As the store has them, at this version.
  static std::pair<ConfigPtr, std::shared_ptr<const ObjectTable>> Read(
      const std::vector<ObjectPtr>& objects, std::int64_t version);

  // --- object_edits.cc
  void Handle(CordonCommand command);
  void Handle(SetCheckActiveCommand command);
  using Edit = std::function<void(json::object* manifest)>;
  /// Edits the manifest of one object, and answers with the object once that is durable.
  void EditObject(const Actor& actor, const ObjectKey& key, std::int64_t expected_resource_version,
                  const Edit& edit, Callback<ObjectPtr> done);
  /// Marks a member as cordoned and drained.
  void EditDrain(const DrainCommand& command, Callback<ObjectPtr> done);

  // --- follow_config.cc
  /// HoldAndDrain: what holds quota is evicted. Hold: what was not dispatched yet gives it back
  /// (rule A54).
  void DrainStopped();

 private:
  // The configuration as it is to be.
  struct ConfigEdit {
    ConfigPtr config;
    std::shared_ptr<const ObjectTable> objects;
    std::vector<ObjectKey> changed;  // put or removed
    bool matters = false;            // to what is charged to whom
  };

  Status CheckRemoval(const ConfigView& config, const ObjectChange& change) const;
  Status CheckEvictionRemoval(const ConfigView& config, const ObjectChange& change) const;

  std::vector<ObjectKey> WriteCascade(const std::vector<ObjectPtr>& gone);
  void AddEditAudit(const Actor& actor, const AppliedObject& one, const ConfigView& after);
  ObjectPtr WriteEdit(const AppliedObject& one);
  void Take(ConfigEdit edit);
  void FollowMembers(const ConfigView& before, const std::vector<ObjectKey>& changed);
  void WakeForMember(const ConfigView& before, const std::string& name);
  void ForgetMember(const std::string& name);
  void ResolveQueues();
  void DrainQueue(const JobPtr& job, const ClusterQueue* queue, const LocalQueue* local);
  void WakeRestarted();
  void WakeRestarted(const JobPtr& job);
  void SyncReserved();
  void PushPriorities(const ConfigView& before);
  void FollowPlacements(const ConfigView& before, const std::vector<ObjectKey>& changed);
  std::set<JobId> JobsWithin(const PlacementReach& reach);
  void RequeueFor(const JobPtr& entry, bool other_equals);

  EngineContext& context_;
  CommitPipeline& commits_;
  LiveConfig& config_;
  WaitingJobs& waiting_;
  LiveJobs& jobs_;
  const DispatchRows& rows_;
  Attempts& attempts_;
  StandInQueue& stand_ins_;
  Machines& machines_;
  NodeFailures& node_failures_;
  ResourceChecks& checks_;
  KnownMembers& members_;
  HeldEnds& held_ends_;
  const Works& works_;
  std::vector<ConfigFollower*> followers_;
};

}  // namespace muster

// Configuration: edits of objects, all changes of a command or none, on a copy that becomes the
// live configuration; then jobs, queues and members follow.
//
// configuration.cc applies edits; removal_rules.cc says what may not be removed; object_edits.cc
// writes one field of one object; take_config.cc makes a draft the live configuration;
// follow_config.cc has jobs follow (queues, priorities, checks, stop policies),
// follow_placements.cc placements. On the engine thread only.
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "schedd/engine/configure/placement_wakes.h"
#include "schedd/engine/decide/machines.h"
#include "schedd/engine/jobs/array_tasks.h"
#include "schedd/engine/jobs/node_failures.h"
#include "schedd/engine/jobs/resource_checks.h"
#include "schedd/engine/jobs/stand_in_queue.h"
#include "schedd/engine/live/held_ends.h"
#include "schedd/engine/live/works.h"
#include "schedd/text/json.h"

namespace muster {

/// An owner that is called after the live configuration was replaced.
class ConfigFollower {
 public:
  virtual ~ConfigFollower() = default;
  virtual void Configure() = 0;
};

class Configuration {
 public:
  /// The owners whose state follows from the configuration. All must outlive this.
  struct Owners {
    WaitingJobs& waiting;
    LiveJobs& jobs;
    const DispatchRows& rows;
    Attempts& attempts;
    ArrayTasks& array_tasks;
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
  /// Followers must outlive this.
  void AddFollower(ConfigFollower* follower) { followers_.push_back(follower); }

  // --- configuration.cc
  void Handle(ApplyCommand command);
  /// Applies every change, or none and returns the error of the first that does not fit. With
  /// `dry_run` nothing is changed in any case. Objects are written with the open transaction; the
  /// caller answers the client. Called for commands, and by Leaving for the status of eviction
  /// objects.
  Result<std::vector<AppliedObject>> Apply(const Actor& actor,
                                           const std::vector<ObjectChange>& changes, bool dry_run);
  /// The configuration that these stored objects make, at this version, and their table; for a
  /// recovery.
  static std::pair<ConfigPtr, std::shared_ptr<const ObjectTable>> Read(
      const std::vector<ObjectPtr>& objects, std::int64_t version);

  // --- object_edits.cc
  void Handle(CordonCommand command);
  void Handle(SetCheckActiveCommand command);
  using Edit = std::function<void(json::object* manifest)>;
  /// Edits the manifest of one object as an ApplyCommand would, and answers with the object once it
  /// is durable.
  void EditObject(const Actor& actor, const ObjectKey& key, std::int64_t expected_resource_version,
                  const Edit& edit, Callback<ObjectPtr> done);
  /// Marks a member as cordoned and draining (muster.io/draining).
  void EditDrain(const DrainCommand& command, Callback<ObjectPtr> done);

  // --- follow_config.cc
  /// Stop policies (rule A54): HoldAndDrain evicts the jobs that hold quota; Hold takes the quota
  /// back from jobs that were not dispatched yet. Also called by recovery, because the daemon may
  /// have died before it was done.
  void DrainStopped();

 private:
  // A configuration that is about to become the live one.
  struct ConfigEdit {
    ConfigPtr config;
    std::shared_ptr<const ObjectTable> objects;
    // The objects that were put or removed.
    std::vector<ObjectKey> changed;
    // It may change which amounts are charged to which queue.
    bool matters = false;
  };

  Status CheckRemoval(const ConfigView& config, const ObjectChange& change) const;
  Status CheckEvictionRemoval(const ConfigView& config, const ObjectChange& change) const;

  std::vector<ObjectKey> WriteCascade(const std::vector<ObjectPtr>& gone);
  void AddEditAudit(const Actor& actor, const AppliedObject& one, std::int64_t old_version,
                    const ConfigView& after);
  /// Notes a request that found everything as it wants it.
  void AuditUnchanged(const Actor& actor, const std::vector<AppliedObject>& outcomes);
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
  ArrayTasks& array_tasks_;
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

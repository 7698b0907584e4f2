#include "api/service/placement_status.h"

#include <algorithm>
#include <array>
#include <optional>
#include <set>

#include "api/service/views.h"
#include "schedd/core/placement_ask.h"

namespace muster::api {
namespace {

constexpr std::size_t kResourcesShown = 1000;
constexpr std::size_t kUnplacedShown = 20;  // as KubeFleet
constexpr std::size_t kFailedShown = 100;   // as KubeFleet, per cluster
constexpr std::string_view kAdmittedText = "The workload is admitted to member cluster ";

/// How far a job has come, as its record tells.
enum class Stage : std::uint8_t {
  kWaiting,      // for quota or a gate
  kUnfulfilled,  // no member takes it
  kReserved,     // a member is chosen; its admission checks are not ready
  kSent,         // to the member, which has not told of it yet
  kRefused,      // by the member, for good
  kStarting,     // its object is there
  kAvailable,    // runs, or has run
};

enum class Verdict : std::uint8_t { kTrue, kUnknown, kFalse };  // the worse, the larger

enum Step : std::size_t { kScheduled, kRollout, kOverridden, kWork, kApplied, kIsAvailable };

struct StepWords {
  const char* type;
  std::array<const char*, 3> of_placement, of_cluster;  // reasons, by Verdict
};
constexpr std::array<StepWords, 6> kSteps = {{
    {"Scheduled",
     {"SchedulingPolicyFulfilled", "SchedulePending", "SchedulingPolicyUnfulfilled"},
     {"Scheduled", "SchedulePending", "ScheduleFailed"}},
    {"RolloutStarted",
     {"RolloutStarted", "RolloutStartedUnknown", "RolloutNotStartedYet"},
     {"RolloutStarted", "RolloutStartedUnknown", "RolloutNotStartedYet"}},
    {"Overridden",
     {"NoOverrideSpecified", "OverriddenPending", "OverriddenFailed"},
     {"NoOverrideSpecified", "OverriddenPending", "OverriddenFailed"}},
    {"WorkSynchronized",
     {"WorkSynchronized", "WorkSynchronizedUnknown", "WorkNotSynchronizedYet"},
     {"AllWorkSynced", "WorkSynchronizedUnknown", "SyncWorkFailed"}},
    {"Applied",
     {"ApplySucceeded", "ApplyPending", "ApplyFailed"},
     {"AllWorkHaveBeenApplied", "ApplyInProgress", "NotAllWorkHaveBeenApplied"}},
    {"Available",
     {"ResourceAvailable", "ResourceAvailableUnknown", "ResourceNotAvailableYet"},
     {"AllWorkAreAvailable", "ResourceAvailableUnknown", "NotAllWorkAreAvailable"}},
}};

struct Placed {
  JobPtr job;
  Stage stage = Stage::kWaiting;
};

// What the jobs of one condition amount to: the worst verdict, and who has it.
struct Sum {
  Verdict verdict = Verdict::kTrue;
  WallTime since;
  const JobRecord* first = nullptr;
  std::size_t count = 0, all = 0;
  std::set<std::string> clusters;
};

Stage StageOf(const JobRecord& job) {
  switch (job.state) {
    case JobState::kHeld:
      return Stage::kWaiting;
    case JobState::kPending:
      return job.reason == Reason::kNoMemberCluster || job.reason == Reason::kWaitingForCapacity
                 ? Stage::kUnfulfilled
                 : Stage::kWaiting;
    case JobState::kReserved:
      return Stage::kReserved;
    case JobState::kAdmitted: {
      // A member that says anything about the job's pods has its object.
      const bool told = job.reason == Reason::kAdmitted && !job.message.starts_with(kAdmittedText);
      const bool pods = job.ready_pods + job.succeeded_pods + job.failed_pods > 0;
      return told || pods ? Stage::kStarting : Stage::kSent;
    }
    case JobState::kFailed:
      return job.reason == Reason::kFailedToStart && !job.start_time.set() ? Stage::kRefused
                                                                           : Stage::kAvailable;
    default:
      return Stage::kAvailable;
  }
}

// Of those that have ended, the ones that a member had or refused, as long as the object is there.
bool Counts(const JobRecord& job) {
  if (!IsTerminal(job.state)) return true;
  if (job.deletion_requested || job.cluster.empty()) return false;
  return job.start_time.set() || job.state == JobState::kSucceeded ||
         StageOf(job) == Stage::kRefused;
}

Verdict VerdictOf(Stage stage, std::size_t step) {
  const auto fails = [&](Step at, Stage of) { return step == at && stage == of; };
  if (fails(kScheduled, Stage::kWaiting) || fails(kApplied, Stage::kSent)) return Verdict::kUnknown;
  const bool failed = fails(kScheduled, Stage::kUnfulfilled) || fails(kRollout, Stage::kReserved) ||
                      fails(kApplied, Stage::kRefused) || fails(kIsAvailable, Stage::kStarting);
  return failed ? Verdict::kFalse : Verdict::kTrue;
}

WallTime FirstSet(std::initializer_list<WallTime> times) {
  for (const WallTime& time : times)
    if (time.set()) return time;
  return {};
}

WallTime TimeOf(const Placed& placed, std::size_t step) {
  const JobRecord& job = *placed.job;
  const Condition* quota = FindCondition(job, "QuotaReserved");
  const WallTime reserved = quota != nullptr ? quota->last_transition : WallTime{};
  const WallTime sent = FirstSet({job.admit_time, reserved, job.submit_time});
  if (step == kScheduled) {
    const Condition* picked = FindCondition(job, "Placed");
    if (picked != nullptr && picked->status) return picked->last_transition;
    return placed.stage <= Stage::kUnfulfilled ? FirstSet({reserved, job.submit_time}) : sent;
  }
  if (step <= kWork) return sent;
  if (placed.stage == Stage::kRefused) return FirstSet({job.end_time, sent});
  return placed.stage == Stage::kAvailable ? FirstSet({job.start_time, job.end_time, sent}) : sent;
}

Sum SumOf(const std::vector<Placed>& jobs, std::size_t step) {
  Sum sum;
  sum.all = jobs.size();
  for (const Placed& one : jobs) {
    const Verdict verdict = VerdictOf(one.stage, step);
    if (verdict < sum.verdict) continue;
    if (verdict > sum.verdict) {
      sum = Sum{};
      sum.verdict = verdict;
      sum.all = jobs.size();
    }
    const WallTime time = TimeOf(one, step);
    const bool earlier = time < sum.since;
    if (sum.count++ == 0) sum.first = one.job.get();
    if (!sum.since.set() || earlier == (verdict != Verdict::kTrue)) sum.since = time;
    if (!one.job->cluster.empty()) sum.clusters.insert(one.job->cluster);
  }
  return sum;
}

std::string NameOf(const JobRecord& job) { return job.ns + "/" + job.name; }

// What the first of them says, and how many more there are.
std::string Because(const Sum& sum) {
  if (sum.first == nullptr || sum.first->message.empty()) return "";
  std::string text = ": ";
  if (sum.all > 1) text += "job " + NameOf(*sum.first) + ": ";
  text += sum.first->message;
  if (sum.count > 1) text += " (and " + std::to_string(sum.count - 1) + " more)";
  return text;
}

std::string PlacementMessage(std::size_t step, const Sum& sum, std::size_t clusters) {
  const std::string all = std::to_string(clusters) + " cluster(s)";
  const std::string those = std::to_string(sum.clusters.size()) + " cluster(s)";
  const bool good = sum.verdict == Verdict::kTrue;
  switch (step) {
    case kScheduled:
      if (good)
        return "found all cluster needed as specified by the scheduling policy, found " + all;
      if (sum.verdict == Verdict::kUnknown) return "Scheduling has not completed" + Because(sum);
      return "could not find all clusters needed as specified by the scheduling policy, found " +
             all + " instead" + Because(sum);
    case kRollout:
      if (good) return "All " + all + " start rolling out the latest resource";
      return "The rollout is being blocked by admission checks in " + those + Because(sum);
    case kOverridden:
      return "No override rules are configured for the selected resources";
    case kWork:
      return "Works(s) are succcesfully created or updated in " + std::to_string(clusters) +
             " target cluster(s)' namespaces";
    case kApplied:
      if (good) return "The selected resources are successfully applied to " + all;
      if (sum.verdict == Verdict::kUnknown)
        return "The selected resources are being applied to " + those + Because(sum);
      return "Failed to apply resources to " + those +
             ", please check the `failedPlacements` status";
    default:
      if (good) return "The selected resources in " + all + " are available now";
      return "The selected resources in " + those + " are still not available yet" + Because(sum);
  }
}

// Why this member: the sentence that the decision left on the job.
std::string PickedMessage(const Sum& sum, const std::string& cluster) {
  const Condition* placed = FindCondition(*sum.first, "Placed");
  std::string text = placed != nullptr && placed->status
                         ? placed->message
                         : "Successfully scheduled resources for placement in \"" + cluster + "\"";
  if (sum.count > 1) text += " (and " + std::to_string(sum.count - 1) + " more)";
  return text;
}

std::string ClusterMessage(std::size_t step, const Sum& sum, const std::string& cluster) {
  const bool good = sum.verdict == Verdict::kTrue;
  const std::string job = "job " + NameOf(*sum.first);
  switch (step) {
    case kScheduled:
      return PickedMessage(sum, cluster);
    case kRollout:
      if (good) return "Detected the new changes on the resources and started the rollout process";
      return "The rollout is being blocked by admission checks" + Because(sum);
    case kOverridden:
      return "No override rules are configured for the selected resources";
    case kWork:
      return "All of the works are synchronized to the latest";
    case kApplied:
      if (good) return "All corresponding work objects are applied";
      if (sum.verdict == Verdict::kUnknown) return "Work object of " + job + " is being applied";
      return "Work object of " + job + " has failed to apply";
    default:
      if (good) return "All corresponding work objects are available";
      return "Work object of " + job + " is not yet available: " + sum.first->message;
  }
}

json::object ConditionOf(const std::string& type, const char* reason, const std::string& message,
                         Verdict verdict, WallTime since, const StoredObject& object) {
  const char* const status = verdict == Verdict::kTrue    ? "True"
                             : verdict == Verdict::kFalse ? "False"
                                                          : "Unknown";
  json::object out;
  out["type"] = type;
  out["status"] = status;
  out["observedGeneration"] = object.generation;
  // What happened before the placement came is true of it since it came.
  out["lastTransitionTime"] = FormatRfc3339(std::max(since, object.creation_time));
  out["reason"] = reason;
  out["message"] = message;
  return out;
}

std::size_t ClustersOf(const std::vector<Placed>& jobs) {
  std::set<std::string> clusters;
  for (const Placed& one : jobs)
    if (!one.job->cluster.empty()) clusters.insert(one.job->cluster);
  return clusters.size();
}

// In order, up to the first that is not True.
json::array PlacementConditions(const StoredObject& object, const std::vector<Placed>& jobs) {
  const std::string prefix = object.kind == ObjectKind::kClusterResourcePlacement
                                 ? "ClusterResourcePlacement"
                                 : "ResourcePlacement";
  json::array out;
  if (jobs.empty()) {
    out.push_back(ConditionOf(prefix + kSteps[kScheduled].type, "SchedulePending",
                              "Scheduling has not completed: no job is selected", Verdict::kUnknown,
                              object.creation_time, object));
    return out;
  }
  const std::size_t clusters = ClustersOf(jobs);
  for (std::size_t step = 0; step < kSteps.size(); ++step) {
    const Sum sum = SumOf(jobs, step);
    out.push_back(ConditionOf(prefix + kSteps[step].type,
                              kSteps[step].of_placement[static_cast<std::size_t>(sum.verdict)],
                              PlacementMessage(step, sum, clusters), sum.verdict, sum.since,
                              object));
    if (sum.verdict != Verdict::kTrue) break;
  }
  return out;
}

json::object ResourceJson(const JobRecord& job) {
  const std::string_view api_version = ApiVersionOf(job.shape);
  const std::size_t slash = api_version.find('/');
  json::object out;
  out["group"] = api_version.substr(0, slash);
  out["kind"] = ShapeKindName(job.shape);
  out["name"] = job.name;
  out["namespace"] = job.ns;
  out["version"] = api_version.substr(slash + 1);
  return out;
}

json::object ClusterStatus(const StoredObject& object, const std::string& cluster,
                           const std::vector<Placed>& jobs) {
  json::array conditions, failed;
  for (std::size_t step = 0; step < kSteps.size(); ++step) {
    const Sum sum = SumOf(jobs, step);
    conditions.push_back(ConditionOf(
        kSteps[step].type, kSteps[step].of_cluster[static_cast<std::size_t>(sum.verdict)],
        ClusterMessage(step, sum, cluster), sum.verdict, sum.since, object));
    if (sum.verdict != Verdict::kTrue) break;
  }
  for (const Placed& one : jobs) {
    if (one.stage != Stage::kRefused || failed.size() >= kFailedShown) continue;
    json::object entry = ResourceJson(*one.job);
    entry["condition"] =
        ConditionOf("Applied", "ManifestApplyFailed",
                    "Failed to apply the manifest (error: " + one.job->message + ")",
                    Verdict::kFalse, one.job->end_time, object);
    failed.push_back(std::move(entry));
  }
  json::object out;
  out["clusterName"] = cluster;
  out["conditions"] = std::move(conditions);
  if (!failed.empty()) out["failedPlacements"] = std::move(failed);
  out["observedResourceIndex"] = "0";
  return out;
}

json::array ClusterStatuses(const StoredObject& object, const std::vector<Placed>& jobs) {
  std::map<std::string, std::vector<Placed>> by_cluster;
  json::array out;
  for (const Placed& one : jobs)
    if (!one.job->cluster.empty()) by_cluster[one.job->cluster].push_back(one);
  for (const auto& [cluster, placed] : by_cluster)
    out.push_back(ClusterStatus(object, cluster, placed));
  std::size_t shown = 0;
  for (const Placed& one : jobs) {
    if (one.stage != Stage::kUnfulfilled || shown++ >= kUnplacedShown) continue;
    const std::string mention = jobs.size() > 1 ? "job " + NameOf(*one.job) + ": " : "";
    json::object condition =
        ConditionOf(kSteps[kScheduled].type, "ScheduleFailed", mention + one.job->message,
                    Verdict::kFalse, TimeOf(one, kScheduled), object);
    out.push_back(json::object{{"conditions", json::array{std::move(condition)}}});
  }
  return out;
}

/// True if the cluster-scoped placement selects this namespace.
bool Takes(const Placement& placement, const Namespace& ns) {
  return std::any_of(
      placement.selectors.begin(), placement.selectors.end(),
      [&](const ResourceSelector& selector) { return core::SelectsNamespace(selector, ns); });
}

json::array SelectedResources(const ConfigView& config, const Placement* placement,
                              const std::vector<Placed>& jobs) {
  json::array out;
  for (const auto& [name, ns] : config.namespaces) {
    if (placement == nullptr || !placement->ns.empty() || out.size() >= kResourcesShown) break;
    if (!Takes(*placement, ns)) continue;
    out.push_back(
        json::object{{"group", ""}, {"kind", "Namespace"}, {"name", name}, {"version", "v1"}});
  }
  for (const Placed& one : jobs) {
    if (out.size() >= kResourcesShown) break;
    out.push_back(ResourceJson(*one.job));
  }
  return out;
}

/// Which jobs one placement can be asked about at all: a cheap look before what governs each.
class Candidates {
 public:
  Candidates(const ConfigView& config, const Placement& placement) : placement_(placement) {
    const auto named = [&](const auto& object) { return object.placement == placement.name; };
    const auto any = [&](const auto& table) {
      return std::any_of(table.begin(), table.end(),
                         [&](const auto& entry) { return named(entry.second); });
    };
    named_by_default_ =
        any(config.local_queues) || any(config.cluster_queues) || any(config.namespaces);
    if (!placement.ns.empty()) return;
    for (const auto& [name, ns] : config.namespaces)
      if (Takes(placement, ns)) namespaces_.insert(name);
  }

  bool Has(const JobRecord& job) const {
    if (!placement_.ns.empty() && job.ns != placement_.ns) return false;
    if (named_by_default_) return true;
    if (job.placement != nullptr && job.placement->placement == placement_.name) return true;
    if (placement_.ns.empty()) return namespaces_.contains(job.ns);
    return std::any_of(placement_.selectors.begin(), placement_.selectors.end(),
                       [&](const ResourceSelector& one) { return core::Selects(one, job); });
  }

 private:
  const Placement& placement_;
  bool named_by_default_ = false;
  std::set<std::string> namespaces_;
};

}  // namespace

GovernedJobs FindGoverned(const WorldView& view, ObjectKind kind, const std::string& ns,
                          const std::string& name) {
  GovernedJobs out;
  const bool of_cluster = kind == ObjectKind::kClusterResourcePlacement;
  const PlacementTable& placements = *view.config->placements;
  PlacementPtr only;
  if (!name.empty()) only = placements.Find(of_cluster ? "" : ns, name);
  if (placements.all().empty() || (!name.empty() && only == nullptr)) return out;
  std::optional<Candidates> candidates;
  if (only != nullptr) candidates.emplace(*view.config, *only);
  view.jobs.ForEach(JobId{}, [&](const JobPtr& job) {
    if (!of_cluster && !ns.empty() && job->ns != ns) return true;
    if (!Counts(*job) || (candidates && !candidates->Has(*job))) return true;
    const PlacementPtr governing = core::GoverningPlacement(*view.config, *job, nullptr);
    if (governing == nullptr || governing->ns.empty() != of_cluster) return true;
    if (only == nullptr || governing == only) out[{governing->ns, governing->name}].push_back(job);
    return true;
  });
  return out;
}

json::object PlacementStatus(const WorldView& view, const StoredObject& object,
                             const std::vector<JobPtr>& jobs) {
  std::vector<Placed> placed;
  placed.reserve(jobs.size());
  for (const JobPtr& job : jobs) placed.push_back({job, StageOf(*job)});
  const PlacementPtr placement = view.config->placements->Find(object.ns, object.name);
  json::object status;
  status["conditions"] = PlacementConditions(object, placed);
  status["observedResourceIndex"] = "0";
  status["placementStatuses"] = ClusterStatuses(object, placed);
  status["selectedResources"] = SelectedResources(*view.config, placement.get(), placed);
  return status;
}

}  // namespace muster::api

// Writes the status of a placement in KubeFleet's words and order.
//
// A placement has parts: the works of its members and the jobs that it governs. For each condition,
// in order, PartSum takes the worst verdict of all parts; the first condition that is not True is
// the last one shown. The same is done per member, over the parts on that member, for
// placementStatuses. The condition Scheduled also depends on what the policy found for
// configuration objects (placement_objects.h). Sentences name the first part that is not well and
// count the others.
//
// Lists have KubeFleet's bounds. Two departures: selectedResources lists what an envelope holds
// where KubeFleet lists the envelope, and resourceRevisions is Muster's own.
#include "api/service/placement_status.h"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "api/service/placement_objects.h"
#include "api/service/placement_parts.h"
#include "api/service/placement_works.h"
#include "api/service/views.h"

namespace muster::api {
namespace {

constexpr std::size_t kResourcesShown = 1000;
// Members without the placement's objects that are listed, and failed objects per member, as in
// KubeFleet.
constexpr std::size_t kUnplacedShown = 20;
constexpr std::size_t kFailedShown = 100;

// KubeFleet's words for one condition: its type, and its reasons by Verdict.
struct StepWords {
  const char* type;
  std::array<const char*, 3> of_placement, of_cluster;
};
constexpr std::array<StepWords, kStepCount> kWords = {{
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
    {"DiffReported",
     {"DiffReportingCompleted", "DiffReportingPending", "DiffReportingIncompleteOrFailed"},
     {"AllWorkHaveDiffReported", "DiffReportInProgress", "NotAllWorkHaveDiffReported"}},
}};

// The placement whose status is written and all its parts, works before jobs.
struct Subject {
  const StoredObject& object;
  ApplyType apply = ApplyType::kClientSide;
  PlacedObjects objects;
  std::vector<Part> parts;
};

// The conditions that a placement with this apply strategy has, in order.
std::vector<Step> StepsOf(ApplyType apply) {
  std::vector<Step> steps = {kStepScheduled, kStepRollout, kStepOverridden, kStepWork};
  if (apply == ApplyType::kReportDiff)
    steps.push_back(kStepDiff);
  else
    steps.insert(steps.end(), {kStepApplied, kStepAvailable});
  return steps;
}

// The parts of one condition taken together: the worst verdict, and the parts that have it.
struct PartSum {
  Verdict verdict = Verdict::kTrue;
  WallTime since;
  const Part* first = nullptr;     // the first part with the worst verdict
  std::size_t count = 0, all = 0;  // parts with that verdict, parts at all
  std::set<std::string> clusters;  // of the parts with that verdict
  bool overridden = false;         // overrides have changed an object of some of them
};

// `since` is the latest time if all parts are True (since then all are), else the earliest time of
// the parts that are not.
PartSum SumOf(const std::vector<const Part*>& parts, Step step) {
  PartSum sum;
  for (const Part* part : parts) {
    const Verdict verdict = VerdictOf(*part, step);
    if (verdict < sum.verdict) continue;
    if (verdict > sum.verdict) {
      sum = PartSum{};
      sum.verdict = verdict;
    }
    const WallTime time = SinceOf(*part, step);
    const bool earlier = time < sum.since;
    if (sum.count++ == 0) sum.first = part;
    if (!sum.since.set() || earlier == (verdict != Verdict::kTrue)) sum.since = time;
    if (!ClusterOf(*part).empty()) sum.clusters.insert(ClusterOf(*part));
    if (step == kStepOverridden && ReasonOf(*part, step) != nullptr) sum.overridden = true;
  }
  sum.all = parts.size();
  return sum;
}

// What the first part says, and how many more parts there are; with its separator, or "".
std::string Because(const PartSum& sum, Step step) {
  if (sum.first == nullptr || BecauseOf(*sum.first, step).empty()) return "";
  std::string text = ": ";
  if (sum.all > 1) text += MentionOf(*sum.first) + ": ";
  text += BecauseOf(*sum.first, step);
  if (sum.count > 1) text += " (and " + std::to_string(sum.count - 1) + " more)";
  return text;
}

std::string Clusters(std::size_t count) { return std::to_string(count) + " cluster(s)"; }

// KubeFleet's sentence for a condition that is True. The misspelling in kStepWork is KubeFleet's.
std::string AllAreWell(Step step, bool overridden, std::size_t clusters) {
  const std::string all = Clusters(clusters);
  switch (step) {
    case kStepScheduled:
      return "found all cluster needed as specified by the scheduling policy, found " + all;
    case kStepRollout:
      return "All " + all + " start rolling out the latest resource";
    case kStepOverridden:
      return overridden ? "The selected resources are successfully overridden in " + all
                        : "No override rules are configured for the selected resources";
    case kStepWork:
      return "Works(s) are succcesfully created or updated in " + std::to_string(clusters) +
             " target cluster(s)' namespaces";
    case kStepApplied:
      return "The selected resources are successfully applied to " + all;
    case kStepAvailable:
      return "The selected resources in " + all + " are available now";
    case kStepDiff:
    case kStepCount:
      break;
  }
  return "Diff reporting in " + all + " has been completed";
}

// KubeFleet's sentence for a condition that is not True; any condition but Scheduled.
std::string SomeAreNot(Step step, const PartSum& sum) {
  const std::string those = Clusters(sum.clusters.size());
  const bool unknown = sum.verdict == Verdict::kUnknown;
  switch (step) {
    case kStepRollout:
      return std::string("The rollout is being blocked by ") +
             (sum.first->job != nullptr ? "admission checks" : "the rollout strategy") + " in " +
             those + Because(sum, step);
    case kStepOverridden:
      return "Failed to override resources in " + those + Because(sum, step);
    case kStepApplied:
      if (unknown)
        return "The selected resources are being applied to " + those + Because(sum, step);
      return "Failed to apply resources to " + those +
             ", please check the `failedPlacements` status";
    case kStepAvailable:
      if (unknown) {
        return "There are still " + those +
               " in the process of checking the availability of the selected resources" +
               Because(sum, step);
      }
      return "The selected resources in " + those + " are still not available yet" +
             Because(sum, step);
    default:
      break;
  }
  if (unknown) {
    return "There are still " + those +
           " in the process of checking for configuration differences" + Because(sum, step);
  }
  return "Diff reporting in " + std::to_string(sum.clusters.size()) +
         " clusters is still in progress or has failed";
}

// The sentence of a member's condition: that of the first part on the member.
std::string ClusterMessage(Step step, const PartSum& sum) {
  std::string text = MessageOf(*sum.first, step);
  if (step == kStepScheduled && sum.count > 1)
    text += " (and " + std::to_string(sum.count - 1) + " more)";
  if (step == kStepRollout && sum.verdict != Verdict::kTrue) text += Because(sum, step);
  return text;
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
  // A part may be older than the placement; no condition is.
  out["lastTransitionTime"] = FormatRfc3339(std::max(since, object.creation_time));
  out["reason"] = reason;
  out["message"] = message;
  return out;
}

// The condition Scheduled of the placement: the worse of the verdict on its parts and of what the
// policy found for configuration objects.
json::object ScheduledCondition(const Subject& subject, const std::string& type, const PartSum& sum,
                                std::size_t clusters) {
  const PlacedObjects& objects = subject.objects;
  // The configuration objects are worse off than the jobs, so the sentence is about them.
  const bool by_objects = objects.scheduled > sum.verdict;
  const Verdict verdict = std::max(objects.scheduled, sum.verdict);
  const auto because = [&](const char* separator) {
    return objects.because.empty() ? "" : separator + objects.because;
  };
  const char* reason = kWords[kStepScheduled].of_placement[static_cast<std::size_t>(verdict)];
  std::string message;
  if (verdict == Verdict::kTrue) {
    message = AllAreWell(kStepScheduled, false, clusters) + because("; ");
  } else if (by_objects && !objects.selection.obstacle.empty()) {
    reason = "InvalidResourceSelectors";
    message = objects.selection.obstacle;
  } else {
    message = verdict == Verdict::kUnknown
                  ? "Scheduling has not completed"
                  : "could not find all clusters needed as specified by the scheduling policy, "
                    "found " +
                        Clusters(clusters) + " instead";
    message += by_objects ? because(": ") : Because(sum, kStepScheduled);
  }
  return ConditionOf(type, reason, message, verdict, sum.since, subject.object);
}

std::vector<const Part*> AllOf(const std::vector<Part>& parts) {
  std::vector<const Part*> out;
  out.reserve(parts.size());
  for (const Part& part : parts) out.push_back(&part);
  return out;
}

// The placement's conditions in order, up to the first that is not True.
json::array PlacementConditions(const Subject& subject) {
  const StoredObject& object = subject.object;
  const std::string prefix = object.kind == ObjectKind::kClusterResourcePlacement
                                 ? "ClusterResourcePlacement"
                                 : "ResourcePlacement";
  json::array out;
  // The placement selects only jobs, and no job is there.
  if (subject.parts.empty() && !subject.objects.selects) {
    out.push_back(ConditionOf(prefix + kWords[kStepScheduled].type, "SchedulePending",
                              "Scheduling has not completed: no job is selected", Verdict::kUnknown,
                              object.creation_time, object));
    return out;
  }
  const std::vector<const Part*> parts = AllOf(subject.parts);
  std::set<std::string> clusters;
  for (const Part* part : parts)
    if (!ClusterOf(*part).empty()) clusters.insert(ClusterOf(*part));
  for (const Step step : StepsOf(subject.apply)) {
    const PartSum sum = SumOf(parts, step);
    const std::string type = prefix + kWords[step].type;
    const bool good = sum.verdict == Verdict::kTrue;
    if (step == kStepScheduled) {
      out.push_back(ScheduledCondition(subject, type, sum, clusters.size()));
      // Without parts, or with members missing, KubeFleet shows no further conditions.
      if (parts.empty() || subject.objects.scheduled != Verdict::kTrue) break;
    } else {
      const char* reason = kWords[step].of_placement[static_cast<std::size_t>(sum.verdict)];
      if (good && sum.overridden) reason = "OverriddenSucceeded";
      out.push_back(ConditionOf(
          type, reason,
          good ? AllAreWell(step, sum.overridden, clusters.size()) : SomeAreNot(step, sum),
          sum.verdict, sum.since, object));
    }
    if (!good) break;
  }
  return out;
}

// KubeFleet's ResourceIdentifier of a job.
json::object JobIdentifier(const JobRecord& job) {
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

// Adds the jobs that the member refused to its failedPlacements.
void AddRefusedJobs(const Subject& subject, const std::vector<const Part*>& parts,
                    json::array* failed) {
  for (const Part* part : parts) {
    if (part->job == nullptr || part->stage != JobStage::kRefused) continue;
    if (failed->size() >= kFailedShown) break;
    json::object entry = JobIdentifier(*part->job);
    entry["condition"] =
        ConditionOf("Applied", "ManifestApplyFailed",
                    "Failed to apply the manifest (error: " + part->job->message + ")",
                    Verdict::kFalse, part->job->end_time, subject.object);
    failed->push_back(std::move(entry));
  }
}

// KubeFleet's applicableClusterResourceOverrides and applicableResourceOverrides, from the names
// "ClusterResourceOverride/NAME" and "ResourceOverride/[NAMESPACE/]NAME" of the work.
void AddOverrides(const Work& work, json::object* out) {
  json::array of_cluster, of_namespace;
  for (const std::string& override_name : work.overrides) {
    const std::size_t slash = override_name.find('/');
    const std::string rest = override_name.substr(slash + 1);
    if (override_name.substr(0, slash) == "ClusterResourceOverride") {
      of_cluster.emplace_back(rest);
      continue;
    }
    const std::size_t more = rest.find('/');
    const bool qualified = more != std::string::npos;
    of_namespace.push_back(json::object{{"name", qualified ? rest.substr(more + 1) : rest},
                                        {"namespace", qualified ? rest.substr(0, more) : work.ns}});
  }
  if (!of_cluster.empty()) (*out)["applicableClusterResourceOverrides"] = std::move(of_cluster);
  if (!of_namespace.empty()) (*out)["applicableResourceOverrides"] = std::move(of_namespace);
}

// One member's entry in placementStatuses. `work` is null if the member has only jobs.
json::object ClusterStatus(const Subject& subject, const std::string& cluster,
                           const std::vector<const Part*>& parts, const Work* work) {
  json::array conditions, failed, drifted, diffed;
  for (const Step step : StepsOf(subject.apply)) {
    const PartSum sum = SumOf(parts, step);
    const char* reason = ReasonOf(*sum.first, step);
    if (reason == nullptr) reason = kWords[step].of_cluster[static_cast<std::size_t>(sum.verdict)];
    conditions.push_back(ConditionOf(kWords[step].type, reason, ClusterMessage(step, sum),
                                     sum.verdict, sum.since, subject.object));
    if (sum.verdict != Verdict::kTrue) break;
  }
  // Jobs have no revisions: "0". A work that has not been made from a snapshot has no index.
  std::string index = "0";
  if (work != nullptr) {
    failed = FailedPlacements(*work, subject.apply);
    drifted = DriftedPlacements(*work);
    diffed = DiffedPlacements(*work);
    index = work->snapshot < 0 ? "" : std::to_string(work->snapshot);
  }
  AddRefusedJobs(subject, parts, &failed);
  json::object out;
  out["clusterName"] = cluster;
  out["conditions"] = std::move(conditions);
  if (!failed.empty()) out["failedPlacements"] = std::move(failed);
  if (!drifted.empty()) out["driftedPlacements"] = std::move(drifted);
  if (!diffed.empty()) out["diffedPlacements"] = std::move(diffed);
  if (!index.empty()) out["observedResourceIndex"] = index;
  if (work != nullptr) AddOverrides(*work, &out);
  return out;
}

// placementStatuses: an entry for each member with a part, then, without clusterName, entries for
// members and jobs that could not be scheduled.
json::array ClusterStatuses(const Subject& subject) {
  std::map<std::string, std::vector<const Part*>> by_cluster;
  std::map<std::string, const Work*> works;
  for (const WorkPtr& work : subject.objects.works) works[work->cluster] = work.get();
  for (const Part& part : subject.parts)
    if (!ClusterOf(part).empty()) by_cluster[ClusterOf(part)].push_back(&part);
  json::array out;
  for (const auto& [cluster, parts] : by_cluster) {
    const auto work = works.find(cluster);
    out.push_back(
        ClusterStatus(subject, cluster, parts, work == works.end() ? nullptr : work->second));
  }
  // Entries without a member: one per reason, up to KubeFleet's bound.
  std::size_t shown = 0;
  const auto unplaced = [&](const std::string& message, WallTime since) {
    if (shown++ >= kUnplacedShown) return;
    json::object condition = ConditionOf(kWords[kStepScheduled].type, "ScheduleFailed", message,
                                         Verdict::kFalse, since, subject.object);
    out.push_back(json::object{{"conditions", json::array{std::move(condition)}}});
  };
  for (const std::string& sentence : subject.objects.unpicked)
    unplaced(sentence, subject.object.creation_time);
  for (const Part& part : subject.parts) {
    if (part.job == nullptr || part.stage != JobStage::kUnfulfilled) continue;
    const std::string mention = subject.parts.size() > 1 ? MentionOf(part) + ": " : "";
    unplaced(mention + part.job->message, SinceOf(part, kStepScheduled));
  }
  return out;
}

}  // namespace

json::object PlacementStatus(const WorldView& view, const StoredObject& object,
                             const std::vector<JobPtr>& jobs) {
  Subject subject{object, ApplyType::kClientSide, {}, {}};
  const PlacementPtr placement = view.config->placements->Find(object.ns, object.name);
  if (placement != nullptr) {
    subject.apply = placement->apply.type;
    subject.objects = LookAtObjects(view, *placement, jobs.size());
  }
  const PlacedObjects& objects = subject.objects;
  subject.parts.reserve(objects.works.size() + jobs.size());
  for (const WorkPtr& work : objects.works) {
    subject.parts.push_back(
        {nullptr, JobStage::kWaiting, ProgressOf(*work, objects.Latest(), subject.apply)});
  }
  for (const JobPtr& job : jobs) subject.parts.push_back({job, JobStageOf(*job), nullptr});
  json::object status;
  status["conditions"] = PlacementConditions(subject);
  const ResourceSnapshot* latest = objects.Latest();
  status["observedResourceIndex"] = latest == nullptr ? "0" : std::to_string(latest->index);
  status["placementStatuses"] = ClusterStatuses(subject);
  if (latest != nullptr) status["resourceRevisions"] = ResourceRevisions(objects);
  json::array selected = SelectedObjects(objects);
  for (const JobPtr& job : jobs) {
    if (selected.size() >= kResourcesShown) break;
    selected.push_back(JobIdentifier(*job));
  }
  status["selectedResources"] = std::move(selected);
  return status;
}

}  // namespace muster::api

// Turns one member's work row into the conditions RolloutStarted, Overridden, WorkSynchronized and
// Applied/Available (or DiffReported) and into the lists of failed, drifted and differing objects.
//
// A row records for each manifest the result of its last apply or comparison and its availability.
// A condition takes the worst manifest; the conditions after the first that is not True stay empty,
// since nothing shows them. `Work::waits` says what the row waits for: its turn in the rollout, or
// its member, which does not hold the rollout itself back.
#include "api/service/placement_works.h"

#include <algorithm>
#include <utility>

#include "schedd/core/member/policy_fit.h"

namespace muster::api {
namespace {

// Objects in each list, as in KubeFleet.
constexpr std::size_t kShown = 100;
// Work::waits begins with this if the row waits for its member.
constexpr std::string_view kOfMember = "member cluster ";
constexpr const char* kRollsOut =
    "Detected the new changes on the resources and started the rollout process";

// The verdict on a manifest's last apply or, under ReportDiff, on its last comparison. A result of
// the other strategy, recorded before the strategy was changed, is Unknown.
Verdict ResultOf(ManifestResult result, ApplyType type) {
  const bool report = type == ApplyType::kReportDiff;
  switch (result) {
    case ManifestResult::kPending:
      return Verdict::kUnknown;
    case ManifestResult::kApplied:
      return report ? Verdict::kUnknown : Verdict::kTrue;
    case ManifestResult::kFoundDiff:
    case ManifestResult::kFoundDiffInDegradedMode:
    case ManifestResult::kNoDiffFound:
      return report ? Verdict::kTrue : Verdict::kUnknown;
    case ManifestResult::kFailedToReportDiff:
      return report ? Verdict::kFalse : Verdict::kUnknown;
    case ManifestResult::kApplyFailed:
    case ManifestResult::kFailedToTakeOver:
    case ManifestResult::kNotTakenOver:
    case ManifestResult::kFoundDrifts:
    case ManifestResult::kFoundDriftsInDegradedMode:
      return report ? Verdict::kUnknown : Verdict::kFalse;
  }
  return Verdict::kUnknown;
}

// Objects whose availability cannot be tracked count as available, as in KubeFleet.
Verdict AvailabilityOf(ManifestAvailability availability) {
  switch (availability) {
    case ManifestAvailability::kAvailable:
    case ManifestAvailability::kNotTrackable:
      return Verdict::kTrue;
    case ManifestAvailability::kNotYet:
      return Verdict::kFalse;
    case ManifestAvailability::kUnknown:
      break;
  }
  return Verdict::kUnknown;
}

// The worst verdict on a work's manifests, since when, and the first manifest that has it. `since`
// is the latest time if all are True, else the earliest of those with the worst verdict.
struct WorstManifest {
  Verdict verdict = Verdict::kTrue;
  WallTime since;
  const ManifestStatus* first = nullptr;  // null if all are True
};
template <class Judge>
WorstManifest WorstOf(const Work& work, const Judge& judge) {
  WorstManifest worst;
  for (const ManifestStatus& manifest : work.manifests) {
    const Verdict verdict = judge(manifest);
    if (verdict < worst.verdict) continue;
    if (verdict > worst.verdict) worst = {verdict, manifest.since, &manifest};
    const bool well = verdict == Verdict::kTrue;
    worst.since =
        well ? std::max(worst.since, manifest.since) : std::min(worst.since, manifest.since);
  }
  return worst;
}

std::string InParentheses(const std::string& text) { return text.empty() ? "" : " (" + text + ")"; }

// RolloutStarted is False while the work is only scheduled, is behind the newest snapshot, or waits
// for its turn.
WorkStep RolloutOf(const Work& work, const ResourceSnapshot* latest) {
  const bool behind = latest != nullptr && work.snapshot < latest->index;
  const bool waits = !work.waits.empty() && !work.waits.starts_with(kOfMember);
  if (work.state != WorkState::kScheduled && !behind && !waits)
    return {Verdict::kTrue, work.bound_at, nullptr, kRollsOut, ""};
  WallTime since = work.scheduled_at;
  if (work.state != WorkState::kScheduled)
    since = behind ? std::max(latest->created_at, work.bound_at) : work.bound_at;
  return {Verdict::kFalse, since, nullptr, "The rollout is being blocked by the rollout strategy",
          work.waits};
}

// Always True here: failed overrides end ProgressOf before.
WorkStep OverriddenOf(const Work& work) {
  if (work.overrides.empty()) {
    return {Verdict::kTrue, work.bound_at, nullptr,
            "No override rules are configured for the selected resources", ""};
  }
  return {Verdict::kTrue, work.bound_at, "OverriddenSucceeded",
          "Successfully applied the override rules on the resources", ""};
}

// Applied, or DiffReported under ReportDiff.
WorkStep AppliedOf(const Work& work, ApplyType type) {
  const bool report = type == ApplyType::kReportDiff;
  const std::string name = "Work object " + WorkNameOf(work);
  const WorstManifest worst = WorstOf(
      work, [&](const ManifestStatus& manifest) { return ResultOf(manifest.result, type); });
  switch (worst.verdict) {
    case Verdict::kTrue:
      return {Verdict::kTrue, std::max({work.bound_at, work.synced_at, worst.since}), nullptr,
              report ? "All corresponding work objects have reported diff"
                     : "All corresponding work objects are applied",
              ""};
    case Verdict::kUnknown:
      return {Verdict::kUnknown, std::max(work.bound_at, worst.since), nullptr,
              name + (report ? " is being compared" : " is being applied") +
                  (work.waits.empty() ? "" : ": " + work.waits),
              work.waits};
    case Verdict::kFalse:
      break;
  }
  return {Verdict::kFalse, worst.since, nullptr,
          name + (report ? " has failed to report diff" : " has failed to apply") +
              InParentheses(work.waits),
          ""};
}

// Available; `applied` is the time since when all manifests are applied.
WorkStep AvailableOf(const Work& work, const ResourceSnapshot* latest, WallTime applied) {
  const std::string name = WorkNameOf(work);
  const WorstManifest worst = WorstOf(
      work, [](const ManifestStatus& manifest) { return AvailabilityOf(manifest.availability); });
  if (worst.verdict != Verdict::kTrue) {
    const std::string which = MentionOf(worst.first->ref);
    const bool unknown = worst.verdict == Verdict::kUnknown;
    return {worst.verdict, applied, nullptr,
            unknown ? "Work object " + name + " has not yet completed availability check: " + which
                    : "Work object " + name + " is not yet available: " + which,
            which};
  }
  // One object that cannot be tracked gives the condition another reason.
  const bool trackable =
      std::none_of(work.manifests.begin(), work.manifests.end(), [](const auto& manifest) {
        return manifest.availability == ManifestAvailability::kNotTrackable;
      });
  if (!trackable) {
    return {Verdict::kTrue, applied, "NotAllWorkAreAvailabilityTrackable",
            "The availability of work object " + name + " is not trackable", ""};
  }
  if (latest != nullptr && latest->resources.empty())
    return {Verdict::kTrue, applied, "NoResourcesSelected", "No resources selected.", ""};
  return {Verdict::kTrue, applied, nullptr, "All corresponding work objects are available", ""};
}

// True if the recorded differences of a manifest came after Muster applied it.
bool IsDrift(const ManifestStatus& manifest) {
  switch (manifest.result) {
    case ManifestResult::kApplied:
    case ManifestResult::kFoundDrifts:
    case ManifestResult::kFoundDriftsInDegradedMode:
      return true;
    case ManifestResult::kApplyFailed:
      return !manifest.applied.empty();
    case ManifestResult::kPending:
    case ManifestResult::kFailedToTakeOver:
    case ManifestResult::kNotTakenOver:
    case ManifestResult::kFoundDiff:
    case ManifestResult::kFoundDiffInDegradedMode:
    case ManifestResult::kNoDiffFound:
    case ManifestResult::kFailedToReportDiff:
      break;
  }
  return false;
}

// The condition of an entry in failedPlacements. `applied`: the manifest is applied and not
// available.
json::object FailedCondition(const ManifestStatus& manifest, bool applied) {
  json::object out;
  const bool report = manifest.result == ManifestResult::kFailedToReportDiff;
  out["type"] = applied ? "Available" : report ? "DiffReported" : "Applied";
  out["status"] = "False";
  out["observedGeneration"] = manifest.generation;
  out["lastTransitionTime"] = FormatRfc3339(manifest.since);
  out["reason"] = applied ? "ManifestNotAvailableYet" : ManifestResultName(manifest.result);
  if (applied) {
    out["message"] = "The object is not yet available" +
                     (manifest.message.empty() ? "" : ": " + manifest.message);
  } else {
    out["message"] =
        std::string(report ? "Failed to report diff" : "Failed to apply the manifest") +
        " (error: " + manifest.message + ")";
  }
  return out;
}

// driftedPlacements (`drifts`) or diffedPlacements.
json::array DifferentPlacements(const Work& work, bool drifts) {
  json::array out;
  for (const ManifestStatus& manifest : work.manifests) {
    // The differences of a pending manifest are those of its revision before.
    if (manifest.result == ManifestResult::kPending) continue;
    if (manifest.differences.empty() || IsDrift(manifest) != drifts || out.size() >= kShown)
      continue;
    json::object entry = ResourceIdentifier(manifest.ref, manifest.envelope);
    entry["observationTime"] = FormatRfc3339(manifest.observed_at);
    // An object that does not exist on the member has no generation.
    if (manifest.generation > 0) entry["targetClusterObservedGeneration"] = manifest.generation;
    entry[drifts ? "firstDriftedObservedTime" : "firstDiffedObservedTime"] =
        FormatRfc3339(manifest.first_differed_at);
    json::array details;
    for (const Difference& difference : manifest.differences) {
      json::object detail{{"path", difference.path}};
      if (difference.in_member) detail["valueInMember"] = *difference.in_member;
      if (difference.in_hub) detail["valueInHub"] = *difference.in_hub;
      details.push_back(std::move(detail));
    }
    entry[drifts ? "observedDrifts" : "observedDiffs"] = std::move(details);
    out.push_back(std::move(entry));
  }
  return out;
}

}  // namespace

std::string WorkNameOf(const Work& work) {
  return (work.ns.empty() ? "" : work.ns + ".") + work.placement + "-work";
}

std::shared_ptr<const WorkProgress> ProgressOf(const Work& work, const ResourceSnapshot* latest,
                                               ApplyType type) {
  auto progress = std::make_shared<WorkProgress>();
  progress->cluster = work.cluster;
  auto& steps = progress->steps;
  core::MemberScore score;
  score.affinity = work.affinity_score;
  score.spread = work.spread_score;
  steps[kStepScheduled] = {Verdict::kTrue, work.scheduled_at, nullptr,
                           core::PickedSentence(work.cluster, score), ""};
  if (!work.override_error.empty()) {
    // The rollout reached this member, but the overrides failed, so nothing was applied.
    const WallTime since = std::max(work.scheduled_at, work.bound_at);
    steps[kStepRollout] = {Verdict::kTrue, since, nullptr, kRollsOut, ""};
    steps[kStepOverridden] = {
        Verdict::kFalse, since, nullptr,
        "Failed to apply the override rules on the resources: " + work.override_error,
        work.override_error};
    return progress;
  }
  steps[kStepRollout] = RolloutOf(work, latest);
  if (steps[kStepRollout].verdict != Verdict::kTrue) return progress;
  steps[kStepOverridden] = OverriddenOf(work);
  steps[kStepWork] = {Verdict::kTrue, work.bound_at, nullptr,
                      "All of the works are synchronized to the latest", ""};
  const bool report = type == ApplyType::kReportDiff;
  const WorkStep applied = AppliedOf(work, type);
  steps[report ? kStepDiff : kStepApplied] = applied;
  if (applied.verdict != Verdict::kTrue) return progress;
  const Step last = report ? kStepDiff : kStepAvailable;
  if (!report) steps[last] = AvailableOf(work, latest, applied.since);
  // The last known state is good. If the member does not answer at present, the sentence says so.
  steps[last].message += InParentheses(work.waits);
  return progress;
}

json::object ResourceIdentifier(const ResourceRef& ref, const std::string& envelope) {
  json::object out;
  if (!ref.group.empty()) out["group"] = ref.group;
  out["kind"] = ref.kind;
  out["name"] = ref.name;
  if (!ref.ns.empty()) out["namespace"] = ref.ns;
  out["version"] = ref.version;
  const std::size_t slash = envelope.find('/');
  if (slash == std::string::npos) return out;
  json::object of;
  of["name"] = envelope.substr(slash + 1);
  const std::string type = envelope.substr(0, slash);
  // A ResourceEnvelope is in the namespace of the objects it holds.
  if (type == "ResourceEnvelope") of["namespace"] = ref.ns;
  of["type"] = type;
  out["envelope"] = std::move(of);
  return out;
}

json::array FailedPlacements(const Work& work, ApplyType type) {
  json::array out;
  for (const ManifestStatus& manifest : work.manifests) {
    if (out.size() >= kShown) break;
    const Verdict result = ResultOf(manifest.result, type);
    // Applied, but known not to be available.
    const bool unavailable = result == Verdict::kTrue && type != ApplyType::kReportDiff &&
                             manifest.availability == ManifestAvailability::kNotYet;
    if (result != Verdict::kFalse && !unavailable) continue;
    json::object entry = ResourceIdentifier(manifest.ref, manifest.envelope);
    entry["condition"] = FailedCondition(manifest, unavailable);
    out.push_back(std::move(entry));
  }
  return out;
}

json::array DriftedPlacements(const Work& work) { return DifferentPlacements(work, true); }

json::array DiffedPlacements(const Work& work) { return DifferentPlacements(work, false); }

}  // namespace muster::api

#include "api/service/placement_works.h"

#include <algorithm>
#include <utility>

#include "schedd/core/member/policy_fit.h"

namespace muster::api {
namespace {

constexpr std::size_t kShown = 100;                        // as KubeFleet, per cluster
constexpr std::string_view kOfMember = "member cluster ";  // how Work::waits tells of the member
constexpr const char* kRollsOut =
    "Detected the new changes on the resources and started the rollout process";

/// Of its last apply, or of its last comparison under ReportDiff. What the other way of applying
/// has left on record says nothing.
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

/// The worst of them, and since when: the first of those that are not well.
struct Worst {
  Verdict verdict = Verdict::kTrue;
  WallTime since;
  const ManifestStatus* first = nullptr;  // null if all is well
};
template <class Judge>
Worst WorstOf(const Work& work, const Judge& judge) {
  Worst worst;
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

/// A work that waits for something else than its member waits for its turn.
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

WorkStep OverriddenOf(const Work& work) {
  if (work.overrides.empty()) {
    return {Verdict::kTrue, work.bound_at, nullptr,
            "No override rules are configured for the selected resources", ""};
  }
  return {Verdict::kTrue, work.bound_at, "OverriddenSucceeded",
          "Successfully applied the override rules on the resources", ""};
}

WorkStep AppliedOf(const Work& work, ApplyType type) {
  const bool report = type == ApplyType::kReportDiff;
  const std::string name = "Work object " + WorkNameOf(work);
  const Worst worst = WorstOf(
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

WorkStep AvailableOf(const Work& work, const ResourceSnapshot* latest, WallTime applied) {
  const std::string name = WorkNameOf(work);
  const Worst worst = WorstOf(
      work, [](const ManifestStatus& manifest) { return AvailabilityOf(manifest.availability); });
  if (worst.verdict != Verdict::kTrue) {
    const std::string which = MentionOf(worst.first->ref);
    const bool unknown = worst.verdict == Verdict::kUnknown;
    return {worst.verdict, applied, nullptr,
            unknown ? "Work object " + name + " has not yet completed availability check: " + which
                    : "Work object " + name + " is not yet available: " + which,
            which};
  }
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

json::array DifferentPlacements(const Work& work, bool drifts) {
  json::array out;
  for (const ManifestStatus& manifest : work.manifests) {
    if (manifest.result == ManifestResult::kPending) continue;  // of what it was before
    if (manifest.differences.empty() || IsDrift(manifest) != drifts || out.size() >= kShown)
      continue;
    json::object entry = ResourceIdentifier(manifest.ref, manifest.envelope);
    entry["observationTime"] = FormatRfc3339(manifest.observed_at);
    // What is not there has none.
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
    // Nothing is applied of what could not be made; the rollout itself has come to the member.
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
  // All is well as far as it is known; that the member is away is worth a word.
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
  if (type == "ResourceEnvelope") of["namespace"] = ref.ns;  // an envelope stays in its own
  of["type"] = type;
  out["envelope"] = std::move(of);
  return out;
}

json::array FailedPlacements(const Work& work, ApplyType type) {
  json::array out;
  for (const ManifestStatus& manifest : work.manifests) {
    if (out.size() >= kShown) break;
    const Verdict result = ResultOf(manifest.result, type);
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

// Dispatch modes (rules P33, P34). A ClusterQueue with such a mode has the admission check
// muster.io/member-queues, which no outside controller can answer: its jobs hold quota and wait
// until a member's own queue has admitted them. schedd/nomination asks the members and listens to
// them; here is what becomes durable.
//
// 1. NominateCommand writes the members that are asked into the job's record. Only when that is
//    durable does schedd/nomination make copies on them.
// 2. ChooseMemberCommand names the member that admitted the job first. In one commit the job's room
//    moves to that member, the check becomes ready and the job is dispatched there. Later
//    admissions by other members find the job no longer waiting and are refused.
//
// If a member's queue takes a running job back, it is evicted with the reason MemberEvicted and
// comes back after a delay, as from a check that says Retry.
//
// Nominations from outside (mode External) are judged by the verdicts of placement
// (core::CandidatesOf), so that no member is asked that placement would refuse.
#include "schedd/engine/jobs/nominations.h"

#include <algorithm>
#include <set>

#include "schedd/base/limits.h"
#include "schedd/core/member/member_candidates.h"
#include "schedd/engine/context/object_names.h"
#include "schedd/engine/jobs/refusals.h"
#include "schedd/model/member_queues.h"

namespace muster {
namespace {

// Muster nominates by itself (its actor has no user name), unless the mode is External.
Status CheckAsker(const ConfigView& config, const JobRecord& job, const NominateCommand& command) {
  if (command.actor.user.empty()) return Done{};
  const auto queue = config.cluster_queues.find(job.admission->cluster_queue);
  const DispatchMode mode =
      queue == config.cluster_queues.end() ? DispatchMode::kDirect : queue->second.dispatch.mode;
  if (mode == DispatchMode::kExternal) return Done{};
  return Refused(job, "is of a ClusterQueue whose dispatch mode is " +
                          std::string(DispatchModeName(mode)) +
                          ": only with External are its member clusters nominated from outside");
}

// The command must be about the attempt that is waited for: an answer about an earlier one comes
// too late. `attempt` -1 means any.
Status CheckWaits(const JobRecord& job, std::int32_t attempt) {
  if (!AsksMembers(job)) return Refused(job, "does not wait for a member cluster's own queue");
  if (attempt >= 0 && attempt != AttemptOfCopies(job)) {
    return Refused(job, "waits for the start of attempt " + std::to_string(AttemptOfCopies(job)) +
                            ", not of " + std::to_string(attempt));
  }
  return Done{};
}

// All errors at once, one sentence for each member that cannot be asked, with its index as field.
Status CheckMembers(const std::vector<std::string>& clusters,
                    const core::MemberCandidates& candidates) {
  if (clusters.size() > limits::kNominatedClusters) {
    const std::string most = std::to_string(limits::kNominatedClusters);
    Error error = InvalidArgument("clusters: at most " + most + " can be nominated");
    error.fields.push_back({"clusters", "at most " + most + " can be nominated"});
    return error;
  }
  Error error = InvalidArgument("");
  std::set<std::string> seen;
  for (std::size_t i = 0; i < clusters.size(); ++i) {
    const std::string& name = clusters[i];
    const auto refused = candidates.refused.find(name);
    const bool known = refused != candidates.refused.end() ||
                       std::find(candidates.members.begin(), candidates.members.end(), name) !=
                           candidates.members.end();
    std::string why;
    if (!known) {
      why = "there is no member cluster \"" + name + "\"";
    } else if (refused != candidates.refused.end()) {
      why = "member cluster " + name + " cannot take the job: " + refused->second;
    } else if (!seen.insert(name).second) {
      why = "member cluster " + name + " is named twice";
    }
    if (why.empty()) continue;
    error.detail += (error.detail.empty() ? "" : "; ") + why;
    error.fields.push_back({"clusters[" + std::to_string(i) + "]", std::move(why)});
  }
  return error.fields.empty() ? Status(Done{}) : Status(std::move(error));
}

bool Contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// Changes the state of the check muster.io/member-queues, if the job has it.
void ChangeCheck(JobRecord* job, const std::function<void(AdmissionCheckStatus*)>& change) {
  ChangeState(job, [&](AdmissionState* state) {
    for (AdmissionCheckStatus& check : state->checks)
      if (check.name == kMemberQueuesCheck) change(&check);
  });
}

}  // namespace

// Only nominations by users are audited.
void Nominations::Handle(NominateCommand command) {
  const Result<JobPtr> outcome = Nominate(command);
  if (outcome.ok() && !command.actor.user.empty()) {
    std::string names;
    for (const std::string& name : command.clusters) names += (names.empty() ? "" : ",") + name;
    commits_.AddAudit(command.actor, "nominate", ObjectName(**outcome), names, 0,
                      (*outcome)->resource_version);
  }
  commits_.AnswerOutcome(std::move(command.done), outcome);
}

// The list replaces the one before. The time of the check says when a member was added last:
// Incremental counts its steps from it. The room that the job holds is on the first member of the
// list, unless it is on a later one already.
Result<JobPtr> Nominations::Nominate(const NominateCommand& command) {
  const JobPtr job = jobs_.Find(command.job);
  if (job == nullptr) return NoSuchJob(command.job);
  if (const Status waits = CheckWaits(*job, command.attempt); !waits.ok()) return waits.error();
  if (const Status may = CheckAsker(*config_.view(), *job, command); !may.ok()) return may.error();
  const WallTime now = context_.clock.WallNow();
  // Muster's own choice was made from these verdicts.
  if (!command.actor.user.empty()) {
    const auto clusters = jobs_.planned().Clusters(*config_.view(), members_.facts());
    const auto placed = jobs_.placed().Counts();
    const Status fit = CheckMembers(
        command.clusters, core::CandidatesOf(*config_.view(), context_.settings(),
                                             core::MemberRoom(clusters), placed.get(), *job, now));
    if (!fit.ok()) return fit.error();
  }
  if (StateOf(*job).nominated == command.clusters) return job;
  auto draft = std::make_shared<JobRecord>(*job);
  ChangeState(draft.get(), [&](AdmissionState* state) { state->nominated = command.clusters; });
  const auto& before = StateOf(*job).nominated;
  const bool more = std::any_of(command.clusters.begin(), command.clusters.end(),
                                [&](const auto& name) { return !Contains(before, name); });
  if (more)
    ChangeCheck(draft.get(), [&](AdmissionCheckStatus* check) { check->last_transition = now; });
  if (!command.clusters.empty() && !Contains(command.clusters, draft->cluster)) {
    draft->cluster = command.clusters.front();
    if (IsTrue(*draft, "Placed")) {
      changes::SayWhyItRunsThere(
          draft.get(), "Room is held on \"" + draft->cluster + "\": its own queue is asked", now);
    }
  }
  return jobs_.Put(job, std::move(draft), "JobNominated");
}

void Nominations::Handle(ChooseMemberCommand command) {
  const Result<JobPtr> outcome = Choose(command);
  commits_.AnswerOutcome(std::move(command.done), outcome);
}

// The first member wins; the room that the job held elsewhere moves with `cluster`.
Result<JobPtr> Nominations::Choose(const ChooseMemberCommand& command) {
  const JobPtr job = jobs_.Find(command.job);
  if (job == nullptr) return NoSuchJob(command.job);
  if (const Status waits = CheckWaits(*job, command.attempt); !waits.ok()) return waits.error();
  // The job would not be dispatched now, and the copy that the member admitted would not be kept.
  if (!OtherChecksReady(*job)) return Refused(*job, "waits for another admission check");
  if (!Contains(StateOf(*job).nominated, command.cluster))
    return Refused(*job, "was not offered to member cluster " + command.cluster);
  if (!config_.view()->member_clusters.contains(command.cluster))
    return Refused(*job, "cannot go to member cluster " + command.cluster + ": it is removed");
  const WallTime now = context_.clock.WallNow();
  auto draft = std::make_shared<JobRecord>(*job);
  draft->cluster = command.cluster;
  ChangeState(draft.get(), [](AdmissionState* state) { state->nominated.clear(); });
  ChangeCheck(draft.get(), [&](AdmissionCheckStatus* check) {
    check->state = CheckState::kReady;
    check->message = "admitted by the queue of member cluster " + command.cluster;
    check->last_transition = now;
    check->retry_count = 0;
  });
  if (IsTrue(*draft, "Placed")) {
    changes::SayWhyItRunsThere(
        draft.get(), "Placed on \"" + command.cluster + "\": its own queue admitted the job", now);
  }
  attempts_.GoOn(jobs_.Put(job, std::move(draft), "JobCheckUpdated"));
  return jobs_.all().at(job->id);
}

}  // namespace muster

// Members whose own queues are asked to admit a job (dispatch modes; rule P33): who is
// asked, and who has admitted it first. Between the two the job holds quota as one with an
// admission check that is not ready.
#include <algorithm>
#include <set>

#include "schedd/base/limits.h"
#include "schedd/core/member/member_candidates.h"
#include "schedd/engine/impl.h"
#include "schedd/model/member_queues.h"

namespace muster {
namespace {

Error NoSuchJob(JobId id) {
  return NotFound("job " + std::to_string(id.value) + " does not exist");
}

Error Refused(const JobRecord& job, const std::string& why) {
  return {Code::kFailedPrecondition, "job " + std::to_string(job.id.value) + " " + why};
}

// Muster nominates by itself unless the queue leaves it to somebody else.
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

Status CheckWaits(const JobRecord& job, std::int32_t attempt) {
  if (!AsksMembers(job)) return Refused(job, "does not wait for a member cluster's own queue");
  if (attempt >= 0 && attempt != AttemptOfCopies(job)) {
    return Refused(job, "waits for the start of attempt " + std::to_string(AttemptOfCopies(job)) +
                            ", not of " + std::to_string(attempt));
  }
  return Done{};
}

// One sentence for each member that cannot be asked.
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

void ChangeCheck(JobRecord* job, const std::function<void(AdmissionCheckStatus*)>& change) {
  ChangeState(job, [&](AdmissionState* state) {
    for (AdmissionCheckStatus& check : state->checks)
      if (check.name == kMemberQueuesCheck) change(&check);
  });
}

}  // namespace

void Engine::Impl::Handle(NominateCommand command) {
  const auto outcome = [&]() -> Result<JobPtr> {
    const auto found = live.jobs.find(command.job);
    if (found == live.jobs.end()) return NoSuchJob(command.job);
    const JobPtr job = found->second;
    if (const Status waits = CheckWaits(*job, command.attempt); !waits.ok()) return waits.error();
    if (const Status may = CheckAsker(*live.config, *job, command); !may.ok()) return may.error();
    const WallTime now = clock.WallNow();
    if (!command.actor.user.empty()) {  // Muster's own choice was made so
      const auto clusters = live.planned.Clusters(*live.config, facts);
      const auto placed = placed_jobs.Counts();
      const Status fit =
          CheckMembers(command.clusters,
                       core::CandidatesOf(*live.config, *options.settings,
                                          core::MemberRoom(clusters), placed.get(), *job, now));
      if (!fit.ok()) return fit.error();
    }
    if (StateOf(*job).nominated == command.clusters) return job;
    auto draft = std::make_shared<JobRecord>(*job);
    ChangeState(draft.get(), [&](AdmissionState* state) { state->nominated = command.clusters; });
    const auto& before = StateOf(*job).nominated;
    const bool more = std::any_of(command.clusters.begin(), command.clusters.end(),
                                  [&](const auto& name) { return !Contains(before, name); });
    // When the last were asked: the next ones of Incremental are a while after it.
    if (more)
      ChangeCheck(draft.get(), [&](AdmissionCheckStatus* check) { check->last_transition = now; });
    // Room is held where it is likely to run.
    if (!command.clusters.empty() && !Contains(command.clusters, draft->cluster)) {
      draft->cluster = command.clusters.front();
      if (IsTrue(*draft, "Placed")) {
        changes::SayWhyItRunsThere(
            draft.get(), "Room is held on \"" + draft->cluster + "\": its own queue is asked", now);
      }
    }
    return Put(job, std::move(draft), "JobNominated");
  }();
  if (outcome.ok() && !command.actor.user.empty()) {
    std::string names;
    for (const std::string& name : command.clusters) names += (names.empty() ? "" : ",") + name;
    AddAudit(command.actor, "nominate", ObjectName(**outcome), names);
  }
  AnswerJob(std::move(command.done), outcome);
}

// The first to say so gets the job, and it is dispatched there in the same commit: the copies on
// other members are withdrawn after it, and whoever else admits it later comes too late.
void Engine::Impl::Handle(ChooseMemberCommand command) {
  const auto outcome = [&]() -> Result<JobPtr> {
    const auto found = live.jobs.find(command.job);
    if (found == live.jobs.end()) return NoSuchJob(command.job);
    const JobPtr job = found->second;
    if (const Status waits = CheckWaits(*job, command.attempt); !waits.ok()) return waits.error();
    // It would not be dispatched now, and the copy would not be kept.
    if (!OtherChecksReady(*job)) return Refused(*job, "waits for another admission check");
    if (!Contains(StateOf(*job).nominated, command.cluster))
      return Refused(*job, "was not offered to member cluster " + command.cluster);
    if (!live.config->member_clusters.contains(command.cluster))
      return Refused(*job, "cannot go to member cluster " + command.cluster + ": it is removed");
    const WallTime now = clock.WallNow();
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
          draft.get(), "Placed on \"" + command.cluster + "\": its own queue admitted the job",
          now);
    }
    GoOn(Put(job, std::move(draft), "JobCheckUpdated"));
    return live.jobs.at(job->id);
  }();
  AnswerJob(std::move(command.done), outcome);
}

}  // namespace muster

// Two kinds of jobs matter. A job that holds quota and waits for its check muster.io/member-queues
// is asked for (Ask): first which members should be asked (Hold, Extend), then which copies must
// exist (Wish), then whether a member has admitted its copy (WinnerOf). A job that runs where a
// member's queue admitted it is followed (Follow): when that queue takes it back, its check says
// Retry and the job is evicted. At the end Collect removes every copy that no job accounts for.
//
// The first member to admit (by the members' clocks, the better member on a tie) gets the job; the
// engine makes that durable and dispatches in one commit, and only then do the other copies go,
// because only then are they no longer nominated.
#include "schedd/nomination/step/plan.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "schedd/base/fault_points.h"
#include "schedd/base/limits.h"
#include "schedd/core/member/member_candidates.h"
#include "schedd/model/admission_lifecycle.h"
#include "schedd/model/member_queues.h"

namespace muster::nomination {
namespace {

using Queue = MemberQueueState::Queue;

constexpr std::int32_t kRetryMinS = 10, kRetryMaxS = 300;
// A message is a sentence, not a report.
constexpr std::size_t kMembersInMessage = 5;
constexpr std::size_t kMessageBytes = 1024;

bool Contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// "a: ...; b: ...; and 3 more".
std::string Sentences(const std::vector<std::pair<std::string, std::string>>& said) {
  std::string text;
  for (std::size_t i = 0; i < said.size() && i < kMembersInMessage; ++i)
    text += (i == 0 ? "" : "; ") + said[i].first + ": " + said[i].second;
  if (said.size() > kMembersInMessage)
    text += "; and " + std::to_string(said.size() - kMembersInMessage) + " more";
  if (text.size() <= kMessageBytes) return text;
  std::size_t end = kMessageBytes;
  // The cut must not fall inside a UTF-8 sequence.
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  return text.substr(0, end);
}

// Why a job can never be given to a member's queue; "" if it can.
std::string NeverHanded(const JobRecord& job) {
  if (job.shape == ShapeKind::kLeaderWorkerSet)
    return "a LeaderWorkerSet cannot be handed to a member's own queue as one workload";
  if (job.elastic) return "an elastic job cannot be handed to a member's own queue";
  for (const PodSetAssignment& pod_set : job.admission->pod_sets) {
    if (pod_set.topology != nullptr || pod_set.topology_delayed)
      return "a job of a flavor with a topology has its machines from Muster, not from a member's "
             "own queue";
  }
  return "";
}

// The CopyId of the copies of the job's next attempt, or of the attempt that runs.
std::string IdOf(const JobRecord& job) {
  return CopyId(job.ns, CopyName(job.uid, AttemptOfCopies(job)));
}

// Plans once; Run gives the result.
class Planner {
 public:
  Planner(const WorldView& world, const MemberQueueStates& members, const std::set<JobId>& busy,
          WallTime now)
      : world_(world), members_(members), busy_(busy), now_(now) {}

  NominationPlan Run() {
    world_.jobs.ForEach(JobId{}, [this](const JobPtr& job) {
      if (AsksMembers(*job)) {
        Ask(job);
      } else if (IsRunByMemberQueue(*job) && !IsTrue(*job, "Evicted") &&
                 job->reason != Reason::kCancelled && job->reason != Reason::kDeadlineMissed &&
                 job->reason != Reason::kDeadlineExceeded && job->reason != Reason::kClientGone) {
        Follow(job);
      }
      return true;
    });
    Collect();
    return std::move(plan_);
  }

 private:
  const MemberQueueState* StateOfMember(const std::string& name) const {
    const auto found = members_.find(name);
    return found == members_.end() ? nullptr : &found->second;
  }
  // A member without a state is none that can run a queue.
  Queue QueueOf(const std::string& name) const {
    const MemberQueueState* state = StateOfMember(name);
    return state == nullptr ? Queue::kNone : state->queue;
  }
  bool IsHealthy(const std::string& name) const {
    for (const core::ClusterView& view : world_.clusters)
      if (view.member.name == name) return view.member.healthy;
    return false;
  }
  // The copy of a job on a member; null if the member has none, does not answer, or is unsure of
  // it.
  const MemberCopy* CopyOf(const std::string& member, const std::string& name) const {
    const MemberQueueState* state = StateOfMember(member);
    if (state == nullptr || !state->answers || state->unsure.contains(name)) return nullptr;
    const auto found = state->copies.find(name);
    return found == state->copies.end() ? nullptr : &found->second;
  }

  // Decides for one job that waits for a member. The first step that leads to a command ends it:
  // the next plan goes on when the command is durable.
  void Ask(const JobPtr& job) {
    const std::string name = IdOf(*job);
    if (const std::string never = NeverHanded(*job); !never.empty())
      return Answer(*job, CheckState::kRejected, never);
    // Other checks come first: what they add to the pods must be in the copies.
    if (!OtherChecksReady(*job)) return;
    const auto queue = world_.config->cluster_queues.find(job->admission->cluster_queue);
    if (queue == world_.config->cluster_queues.end()) return;
    Ballot ballot = Hold(*job, queue->second.dispatch, name);
    Wish(job, name);
    if (busy_.contains(job->id)) return;
    if (const auto winner = WinnerOf(*job, name, ballot.candidates)) {
      ChooseMemberCommand command;
      command.job = job->id;
      command.attempt = AttemptOfCopies(*job);
      command.cluster = *winner;
      plan_.choices.push_back(std::move(command));
      return;
    }
    if (ballot.hopeless) return Answer(*job, CheckState::kRetry, ballot.why);
    if (ballot.wanted != StateOf(*job).nominated) {
      NominateCommand command;
      command.job = job->id;
      command.attempt = AttemptOfCopies(*job);
      command.clusters = std::move(ballot.wanted);
      plan_.nominations.push_back(std::move(command));
      return;
    }
    Answer(*job, CheckState::kPending,
           Progress(*job, queue->second.dispatch, name, ballot.candidates));
  }

  // The members that should be asked for one job.
  struct Ballot {
    std::vector<std::string> wanted;
    // No member can be asked, so the job should not keep its quota.
    bool hopeless = false;
    std::string why;
    core::MemberCandidates candidates;
  };

  // True if asking this member may still lead to an admission.
  bool IsAble(const std::string& member, const std::string& copy) const {
    const MemberQueueState* state = StateOfMember(member);
    if (state == nullptr || state->queue == Queue::kNone || !IsHealthy(member)) return false;
    const auto refusal = state->refusals.find(copy);
    return refusal == state->refusals.end() || !refusal->second.for_good;
  }

  // Members that are nominated already stay, unless the placement forbids them by now or they run
  // no queue; an External mode's nominations always stay. A member that is away may come back.
  Ballot Hold(const JobRecord& job, const MemberDispatch& dispatch, const std::string& copy) {
    if (!room_) room_.emplace(world_.clusters);
    Ballot ballot;
    ballot.candidates = core::CandidatesOf(*world_.config, *world_.settings, *room_,
                                           world_.placed.get(), job, now_);
    const core::MemberCandidates& all = ballot.candidates;
    std::vector<std::pair<std::string, std::string>> unfit(all.refused.begin(), all.refused.end());
    std::vector<std::string> fit;
    bool known = true, able = false;
    for (const std::string& name : all.members) {
      known = known && QueueOf(name) != Queue::kUnknown;
      if (QueueOf(name) == Queue::kRuns) fit.push_back(name);
      if (!IsAble(name, copy)) unfit.emplace_back(name, WordOf(name, copy));
      able = able || IsAble(name, copy);
    }
    for (const std::string& name : StateOf(job).nominated) {
      const bool away = world_.config->member_clusters.contains(name) && !IsHealthy(name);
      const bool stays = Contains(all.members, name) && QueueOf(name) != Queue::kNone;
      const bool mine = dispatch.mode == DispatchMode::kExternal || away || stays;
      if (mine) ballot.wanted.push_back(name);
      able = able || IsAble(name, copy);
    }
    if (!able && known) {
      ballot.hopeless = true;
      ballot.why = unfit.empty()
                       ? "no member cluster can be asked"
                       : "no member cluster's own queue can be asked: " + Sentences(unfit);
      return ballot;
    }
    Extend(job, dispatch, fit, &ballot.wanted);
    return ballot;
  }

  // Adds members by the mode: all that fit, or `step` more of them when `every_s` has passed.
  void Extend(const JobRecord& job, const MemberDispatch& dispatch,
              const std::vector<std::string>& fit, std::vector<std::string>* wanted) {
    std::size_t more = limits::kNominatedClusters;
    if (dispatch.mode == DispatchMode::kExternal || dispatch.mode == DispatchMode::kDirect) return;
    if (dispatch.mode == DispatchMode::kIncremental) {
      more = static_cast<std::size_t>(std::max(1, dispatch.step));
      const bool left = std::any_of(fit.begin(), fit.end(), [&](const std::string& name) {
        return !Contains(*wanted, name);
      });
      const WallTime next = MemberQueuesCheck(job)->last_transition.PlusSeconds(dispatch.every_s);
      if (!StateOf(job).nominated.empty() && left && next > now_) return;
    }
    for (const std::string& name : fit) {
      if (more == 0 || wanted->size() >= limits::kNominatedClusters) return;
      if (Contains(*wanted, name)) continue;
      wanted->push_back(name);
      --more;
    }
  }

  // Copies for the nominated members that do not have one. Nominations are recorded, so every copy
  // is durable as a wish before it is made.
  void Wish(const JobPtr& job, const std::string& name) {
    for (const std::string& member : StateOf(*job).nominated) {
      wanted_.emplace(member, name);
      plan_.watched.insert(member);
      const MemberQueueState* state = StateOfMember(member);
      if (state == nullptr || state->queue != Queue::kRuns || !state->answers) continue;
      if (state->unsure.contains(name) || state->copies.contains(name) ||
          state->refusals.contains(name)) {
        continue;
      }
      plan_.copies.push_back({job, member});
    }
  }

  // The member whose copy was admitted first, by the members' clocks; of equal times the better
  // member. A member that the placement refuses by now does not get the job.
  std::optional<std::string> WinnerOf(const JobRecord& job, const std::string& name,
                                      const core::MemberCandidates& candidates) const {
    const MemberCopy* best = nullptr;
    for (const std::string& member : StateOf(job).nominated) {
      const MemberCopy* copy = CopyOf(member, name);
      if (copy == nullptr || copy->evicted || copy->deleting || copy->finished) continue;
      if (!copy->admitted && !MUSTER_PLANTED(unadmitted_member_chosen)) continue;
      if (candidates.refused.contains(member)) continue;
      if (best == nullptr || copy->admitted_since < best->admitted_since) best = copy;
    }
    if (best == nullptr) return std::nullopt;
    return best->key.cluster;
  }

  // What the check's message says while the job waits: a word of each member.
  std::string Progress(const JobRecord& job, const MemberDispatch& dispatch,
                       const std::string& name, const core::MemberCandidates& candidates) const {
    const auto& nominated = StateOf(job).nominated;
    if (nominated.empty()) {
      return dispatch.mode == DispatchMode::kExternal
                 ? "waits until member clusters are nominated for it"
                 : "waits to hear which member clusters run a queue of their own";
    }
    std::vector<std::pair<std::string, std::string>> said;
    for (const std::string& member : nominated) {
      const auto refused = candidates.refused.find(member);
      const bool barred = refused != candidates.refused.end() && IsHealthy(member);
      said.emplace_back(member, barred ? "cannot take the job any more: " + refused->second
                                       : WordOf(member, name));
    }
    return Sentences(said);
  }

  // What one member says of the job, or why it cannot be asked.
  std::string WordOf(const std::string& member, const std::string& name) const {
    const MemberQueueState* state = StateOfMember(member);
    if (state == nullptr || state->queue == Queue::kNone) {
      const bool told = state != nullptr && !state->trouble.empty();
      return told ? state->trouble : "runs no queue of its own";
    }
    if (!IsHealthy(member)) return "does not answer";
    if (const auto refusal = state->refusals.find(name); refusal != state->refusals.end())
      return refusal->second.message;
    const MemberCopy* copy = CopyOf(member, name);
    if (copy == nullptr || copy->message.empty()) return "is asked";
    return copy->message;
  }

  // A job that runs where a member's queue admitted it may run only while that queue lets it.
  void Follow(const JobPtr& job) {
    const std::string name = IdOf(*job);
    wanted_.emplace(job->cluster, name);
    plan_.watched.insert(job->cluster);
    const MemberQueueState* state = StateOfMember(job->cluster);
    if (state == nullptr || !state->answers || state->unsure.contains(name) ||
        busy_.contains(job->id))
      return;
    // If the member no longer has the queue's API, its objects are gone with it.
    const auto copy = state->copies.find(name);
    const std::string of = "the queue of member cluster " + job->cluster;
    if (state->queue != Queue::kRuns || copy == state->copies.end() || copy->second.deleting) {
      return Answer(*job, CheckState::kRetry, of + " does not have it any more");
    }
    const MemberCopy& one = copy->second;
    if (one.out_of_sync || (!one.finished && (one.evicted || !one.admitted)))
      Answer(*job, CheckState::kRetry, of + " took it back: " + one.message);
  }

  // Sets the state and message of the check, unless they are so already.
  void Answer(const JobRecord& job, CheckState state, std::string message) {
    const AdmissionCheckStatus& check = *MemberQueuesCheck(job);
    if (busy_.contains(job.id) || (check.state == state && check.message == message)) return;
    SetCheckStatusCommand command;
    command.job = job.id;
    AdmissionCheckStatus answer = check;
    answer.state = state;
    answer.message = std::move(message);
    if (state == CheckState::kRetry) answer.requeue_after_s = RetryAfterS(check.retry_count);
    command.checks.push_back(std::move(answer));
    plan_.answers.push_back(std::move(command));
  }

  // Removes copies that no job accounts for, whichever daemon made them.
  void Collect() {
    if (MUSTER_PLANTED(copies_not_collected)) return;
    for (const auto& [member, state] : members_) {
      if (!state.answers) continue;
      for (const auto& [name, copy] : state.copies) {
        if (copy.deleting || state.unsure.contains(name) || wanted_.contains({member, name}))
          continue;
        plan_.removals.push_back({member, copy.ns, copy.name, copy.uid});
        plan_.watched.insert(member);
      }
    }
  }

  const WorldView& world_;
  const MemberQueueStates& members_;
  const std::set<JobId>& busy_;
  const WallTime now_;
  NominationPlan plan_;
  // Made once for all jobs; unset until a job needs it.
  std::optional<core::MemberRoom> room_;
  // (member, CopyId) of the copies that must exist.
  std::set<std::pair<std::string, std::string>> wanted_;
};

}  // namespace

std::string CopyId(const std::string& ns, const std::string& name) { return ns + "/" + name; }

bool AnyDispatchMode(const ConfigView& config) {
  return std::any_of(
      config.cluster_queues.begin(), config.cluster_queues.end(),
      [](const auto& one) { return one.second.dispatch.mode != DispatchMode::kDirect; });
}

std::int32_t RetryAfterS(std::int32_t retries) {
  return std::min(kRetryMaxS, kRetryMinS << std::clamp(retries, 0, 10));
}

NominationPlan PlanNominations(const WorldView& world, const MemberQueueStates& members,
                               const std::set<JobId>& busy, WallTime now) {
  if (!world.ready) return {};
  return Planner(world, members, busy, now).Run();
}

}  // namespace muster::nomination

// Members that do not answer, or were created anew (rule D16).
//
// The time line of a silent member: its backend reports it as unhealthy and as not answering
// (TakeFacts notes the time, and no new job goes there); for EngineOptions::lost_after_ms nothing
// else is done, because it may answer again; from then on it is lost. Every kCheckEveryNs, Fire
// goes over the rows of lost members: their jobs leave the candidates for preemption, their
// attempts become Unknown, and the policy of each attempt's ClusterQueue says whether and when the
// attempt is written off. An administrator may shorten that by fencing the member. When the member
// answers, it is listed, and the list says what became of each attempt.
//
// Since when a member is silent is stored in the rows that are Unknown, so timeouts go on after a
// restart (Restore).
//
// A member whose incarnation differs is another cluster under the same name: nothing that ran there
// exists any more, so all attempts with the old incarnation are lost at once.
#include "schedd/engine/members/lost_members.h"

#include <algorithm>

#include "schedd/base/fault_points.h"
#include "schedd/engine/live/wakes.h"
#include "schedd/telemetry/log.h"

namespace muster {
namespace {

constexpr std::int64_t kCheckEveryNs = 2 * kNanosPerSecond;
// The rows that one step changes; the rest comes with the next step.
constexpr std::size_t kRowsAtOnce = 512;

template <class T>
// Compares the values; each pointer may be null.
bool SameValue(const std::shared_ptr<const T>& a, const std::shared_ptr<const T>& b) {
  return a == b || (a != nullptr && b != nullptr && *a == *b);
}

// True if the facts that change seldom are equal: health, labels, amounts, version, kinds.
bool SameMember(const ClusterFacts& a, const ClusterFacts& b) {
  return a.cluster == b.cluster && a.healthy == b.healthy && a.answers == b.answers &&
         a.labels == b.labels && a.allocatable == b.allocatable && a.capacity == b.capacity &&
         a.node_count == b.node_count && a.version == b.version && SameValue(a.kinds, b.kinds);
}

// Whether the member answers, so that it is not lost. One that is not healthy may answer: it takes
// no new jobs then, and what runs there is reported.
bool Heard(const ClusterFacts& told) { return told.healthy || told.answers; }

// True if the facts that change with every pod on the member are equal.
bool SameRoom(const ClusterFacts& a, const ClusterFacts& b) {
  return a.used_by_others == b.used_by_others && SameValue(a.machines, b.machines);
}

}  // namespace

// Takes the facts, then acts on the difference. Facts of a removed member come too late. Other room
// wakes only jobs that wait for room; other facts also rebuild the trees of machines and wake the
// queues that the member may help.
void LostMembers::Handle(FactsCommand command) {
  const std::string cluster = command.facts.cluster;
  if (members_.IsRemoved(cluster)) return;
  const ClusterFacts& known = members_.FactsOf(cluster);
  const bool same = SameMember(known, command.facts);
  const bool same_room = SameRoom(known, command.facts);
  const auto& declared = config_.view()->member_clusters;
  const auto member = declared.find(cluster);
  const bool serves = member != declared.end();
  const MemberCluster before =
      serves ? WithFacts(member->second, members_.facts()) : MemberCluster{};
  // The view shows the message.
  if (known.message != command.facts.message) commits_.MarkChanged();
  const std::string was = known.incarnation;
  if (TakeFacts(std::move(command.facts))) commits_.OrderList(cluster);
  if (members_.FactsOf(cluster).incarnation != was) LoseRecreated(cluster);
  if (same && same_room) return;
  if (!same) machines_.ForgetTrees();
  if (serves) {
    QueueNames names = waiting_.waits_for_room();
    if (!same) {
      names.merge(
          WokenByMember(&before, WithFacts(member->second, members_.facts()), *config_.view()));
    }
    waiting_.Wake(names);
  }
  commits_.MarkChanged();
}

// Facts without an incarnation (the member could not be asked) keep the known one. `lost_from` is
// set from the steady clock, so a change of the time of day loses no member.
bool LostMembers::TakeFacts(ClusterFacts told) {
  const std::string cluster = told.cluster;
  if (told.incarnation.empty()) told.incarnation = members_.FactsOf(cluster).incarnation;
  members_.RefuseSecondName(&told);
  // A pod on its way was counted as starting here and then as taken there; with these facts it
  // counts once, which may free room.
  const WallTime counted = told.machines == nullptr ? WallTime{} : told.observed_at;
  if (told.healthy && jobs_.placed().TakeFacts(cluster, counted)) {
    waiting_.Wake(waiting_.waits_for_room());
    commits_.MarkChanged();
  }
  const bool back = Heard(told) && members_.SetFound(cluster);
  if (back) jobs_.ReturnHolders(cluster);
  if (!Heard(told) && members_.Answers(cluster)) {
    Log(LogLevel::kWarning, "engine", "member_unhealthy",
        {{"cluster", cluster}, {"err", told.message}});
    const Monotonic now = context_.clock.Now();
    members_.SetLost(cluster, {context_.clock.WallNow(), now,
                               now + MillisToNanos(context_.options.lost_after_ms)});
    next_check_ = now;
  }
  members_.SetFacts(std::move(told));
  return back;
}

// A row that is Unknown has in `detail` since when its member is silent. The member gets
// lost_after_ms once more from now, because it may have come back while the daemon was away.
// Members that have reported as healthy since the start are left alone.
void LostMembers::Restore() {
  const Monotonic now = context_.clock.Now();
  const Monotonic lost_from = now + MillisToNanos(context_.options.lost_after_ms);
  for (const auto& [key, row] : rows_.all()) {
    if (row.state != DispatchState::kUnknown) continue;
    ClusterFacts told = members_.FactsOf(key.cluster);
    WallTime since;
    if ((!told.cluster.empty() && Heard(told)) || !ParseRfc3339(row.detail, &since)) continue;
    told.cluster = key.cluster;
    told.healthy = told.answers = false;
    if (told.message.empty()) told.message = "has not answered since " + row.detail;
    members_.SetFacts(std::move(told));
    const std::int64_t age_us = std::max<std::int64_t>(0, context_.clock.WallNow().us - since.us);
    members_.SetLost(key.cluster, {since, now + -MicrosToNanos(age_us), lost_from});
  }
  next_check_ = now;
  std::vector<std::string> told;
  for (const auto& [cluster, one] : members_.facts()) told.push_back(cluster);
  for (const std::string& cluster : told) LoseRecreated(cluster);
}

// Rows without an incarnation were not created there yet.
void LostMembers::LoseRecreated(const std::string& cluster) {
  const auto told = members_.facts().find(cluster);
  if (told == members_.facts().end() || told->second.incarnation.empty()) return;
  const std::string incarnation = told->second.incarnation;
  std::vector<DispatchKey> gone;
  for (const auto& [key, row] : rows_.all()) {
    if (key.cluster == cluster && !row.incarnation.empty() && row.incarnation != incarnation)
      gone.push_back(key);
  }
  if (gone.empty()) return;
  Log(LogLevel::kWarning, "engine", "member_recreated", {{"cluster", cluster}});
  commits_.AddEvent("MemberRecreated", JobId{}, "membercluster/" + cluster, "",
                    "It is another cluster than before, under the same name");
  for (const DispatchKey& key : gone)
    attempts_.Step(key, dispatch::ClusterRecreated{incarnation}, nullptr);
}

// True if the policy of the attempt's queue gives it up now; `since`: the beginning of the silence.
// Attempts in Conflict or Quarantined wait for an administrator, not for their member.
bool LostMembers::IsWrittenOff(const DispatchRow& row, Monotonic since) const {
  if (!IsLive(row.state) || row.state == DispatchState::kConflict ||
      row.state == DispatchState::kQuarantined) {
    return false;
  }
  const OnClusterLost policy = attempts_.PolicyOf(row);
  return policy.policy == ClusterLostPolicy::kFail || MUSTER_PLANTED(policy_wait_ignored) ||
         (policy.policy == ClusterLostPolicy::kAfterTimeout &&
          context_.clock.Now() - since >= SecondsToNanos(policy.timeout_s));
}

// Goes over all rows, but changes at most kRowsAtOnce of them. A row that is changed is not found
// again: it is Unknown or written off then.
bool LostMembers::Fire() {
  const Monotonic now = context_.clock.Now();
  if (members_.lost().empty() || now < next_check_) return false;
  next_check_ = now + kCheckEveryNs;
  std::vector<std::pair<DispatchKey, dispatch::StepInput>> due;
  for (const auto& [key, row] : rows_.all()) {
    const LostMember* lost = members_.FindLost(key.cluster);
    if (lost == nullptr || now < lost->lost_from) continue;
    if (IsLive(row.state)) jobs_.EraseHolder(row.job);
    const std::string since = FormatRfc3339(lost->since);
    if (IsWrittenOff(row, lost->since_mono)) {
      due.emplace_back(key, dispatch::GivenUp{"member cluster " + key.cluster +
                                              " has not answered since " + since});
    } else if (row.state == DispatchState::kCreated || row.state == DispatchState::kRunning ||
               row.state == DispatchState::kFinishing) {
      due.emplace_back(key, dispatch::MemberAway{since});
    }
    if (due.size() >= kRowsAtOnce) {
      next_check_ = now;
      break;
    }
  }
  for (const auto& [key, input] : due) attempts_.Step(key, input, nullptr);
  return !due.empty();
}

// Fencing says that nothing runs on the member any more; it is refused while the member answers. A
// removal by force (`whatever_policy`) gives up held ends too, whether the member answers or not:
// the user was told what it may hold.
void LostMembers::Handle(FenceCommand command) {
  const auto refuse = [&](Error error) {
    commits_.Answer([done = std::move(command.done), error = std::move(error)] { done(error); });
  };
  if (!config_.view()->member_clusters.contains(command.cluster))
    return refuse(NotFound("member cluster " + command.cluster + " does not exist"));
  if (command.whatever_policy) held_ends_.Abandon(command.cluster);
  const LostMember* lost = members_.FindLost(command.cluster);
  if (lost == nullptr) {
    return refuse({Code::kFailedPrecondition,
                   "member cluster " + command.cluster +
                       " answers: cordon it and requeue its jobs instead of fencing it"});
  }
  commits_.AddEvent(
      "MemberFenced", JobId{}, "membercluster/" + command.cluster, "",
      "Fenced by " + command.actor.user + "; away since " + FormatRfc3339(lost->since));
  commits_.AddAudit(command.actor, "fence", "membercluster/" + command.cluster, "");
  const std::size_t given_up = GiveUp(command);
  commits_.AnswerOutcome(std::move(command.done), Result<std::size_t>(given_up));
}

// Gives up the attempts on the fenced member, but for those whose queue's policy is `wait`. Returns
// how many the state machine gave up.
std::size_t LostMembers::GiveUp(const FenceCommand& command) {
  std::vector<DispatchKey> fenced;
  for (const auto& [key, row] : rows_.all()) {
    if (key.cluster != command.cluster || !IsLive(row.state)) continue;
    const ClusterLostPolicy policy = attempts_.PolicyOf(row).policy;
    // An attempt that is being stopped counts as stopped, whatever the policy.
    if (command.whatever_policy || policy != ClusterLostPolicy::kWait ||
        row.state == DispatchState::kRevoking) {
      fenced.push_back(key);
    }
  }
  std::size_t given_up = 0;
  for (const DispatchKey& key : fenced) {
    const auto effect = attempts_.Step(
        key,
        dispatch::GivenUp{"member cluster " + key.cluster + " was fenced by " + command.actor.user},
        nullptr);
    given_up += effect == dispatch::Effect::kGivenUp ? 1 : 0;
  }
  return given_up;
}

}  // namespace muster

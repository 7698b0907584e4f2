// Members that do not answer (rule D16): since when, what
// their jobs show, and what the policy of a job's ClusterQueue makes of its attempt. Quota stays
// charged until an attempt is written off.
#include <algorithm>

#include "schedd/engine/impl.h"
#include "schedd/telemetry/log.h"

namespace muster {
namespace {

constexpr std::int64_t kCheckEveryNs = 2 * kNanosPerSecond;
constexpr std::size_t kRowsAtOnce = 512;  // of one step; what is left comes with the next

template <class T>
bool SameValue(const std::shared_ptr<const T>& a, const std::shared_ptr<const T>& b) {
  return a == b || (a != nullptr && b != nullptr && *a == *b);
}

bool SameMember(const ClusterFacts& a, const ClusterFacts& b) {
  return a.cluster == b.cluster && a.healthy == b.healthy && a.labels == b.labels &&
         a.allocatable == b.allocatable && a.capacity == b.capacity &&
         a.node_count == b.node_count && a.version == b.version && SameValue(a.kinds, b.kinds);
}

// What changes with every pod there.
bool SameRoom(const ClusterFacts& a, const ClusterFacts& b) {
  return a.used_by_others == b.used_by_others && SameValue(a.machines, b.machines);
}

}  // namespace

void Engine::Impl::Handle(FactsCommand command) {
  if (removed_members.contains(command.facts.cluster)) return;
  const ClusterFacts& known = facts[command.facts.cluster];
  const bool same = SameMember(known, command.facts);
  const bool same_room = SameRoom(known, command.facts);
  const auto declared = live.config->member_clusters.find(command.facts.cluster);
  const bool serves = declared != live.config->member_clusters.end();
  const MemberCluster before = serves ? WithFacts(declared->second, facts) : MemberCluster{};
  if (known.message != command.facts.message) dirty = true;  // it is shown
  const std::string cluster = command.facts.cluster;
  const std::string was = known.incarnation;
  if (TakeFacts(std::move(command.facts)))
    tx.orders.push_back({dispatch::Action::kList, DispatchKey{{}, 0, cluster}});
  if (facts[cluster].incarnation != was) LoseRecreated(cluster);
  if (same && same_room) return;
  if (!same) forest_known = false;
  if (serves) {
    QueueNames names;
    if (!same) names = WokenByMember(&before, WithFacts(declared->second, facts), *live.config);
    names.insert(waits_for_room.begin(), waits_for_room.end());
    WakeQueues(names);
  }
  dirty = true;
}

// One cluster under two names would be counted and listed twice: who came first has it.
void Engine::Impl::RefuseSecondName(ClusterFacts* told) {
  second_names.erase(told->cluster);
  if (told->incarnation.empty()) return;
  for (const auto& [name, other] : facts) {
    if (name == told->cluster || other.incarnation != told->incarnation ||
        second_names.contains(name)) {
      continue;
    }
    second_names.insert(told->cluster);
    told->healthy = false;
    told->message = "it is member cluster " + name + " under another name";
    return;
  }
}

// True if the member answers again.
bool Engine::Impl::TakeFacts(ClusterFacts told) {
  const std::string cluster = told.cluster;
  if (told.incarnation.empty()) told.incarnation = facts[cluster].incarnation;
  RefuseSecondName(&told);
  // Room that pods on their way had been counted in twice.
  const WallTime counted = told.machines == nullptr ? WallTime{} : told.observed_at;
  if (told.healthy && placed_jobs.TakeFacts(cluster, counted)) {
    WakeQueues(QueueNames(waits_for_room));
    dirty = true;
  }
  const bool back = told.healthy && lost_members.erase(cluster) > 0;
  if (back) ReturnHolders(cluster);
  if (!told.healthy && !lost_members.contains(cluster)) {
    Log(LogLevel::kWarning, "engine", "member_unhealthy",
        {{"cluster", cluster}, {"err", told.message}});
    lost_members[cluster] = {clock.WallNow(), clock.Now(),
                             clock.Now() + MillisToNanos(options.lost_after_ms)};
    next_loss_check = clock.Now();
  }
  facts[cluster] = std::move(told);
  return back;
}

bool Engine::Impl::IsOnLostMember(const JobRecord& job) const {
  const auto lost = lost_members.find(job.cluster);
  return lost != lost_members.end() && clock.Now() >= lost->second.lost_from;
}

// What was no victim while its member was away may be one again.
void Engine::Impl::ReturnHolders(const std::string& cluster) {
  for (const auto& [id, job] : live.jobs) {
    if (job->cluster == cluster && HoldsQuota(job->state) && job->admission != nullptr)
      live.holders.Put(HolderOf(live.planned.usage().tree(), *options.settings, job));
  }
}

// After a recovery nothing is decided before the members have said what they have: a database that
// lost writes would start again elsewhere what runs there. A member that is away is not waited for.
bool Engine::Impl::AwaitsLists() {
  if (unlisted.empty()) return false;
  std::erase_if(unlisted, [this](const std::string& name) { return lost_members.contains(name); });
  if (clock.Now() >= lists_due) unlisted.clear();
  return !unlisted.empty();
}

// After a start the rows say since when a member has been away. It may answer by now.
void Engine::Impl::RestoreLost() {
  const Monotonic lost_from = clock.Now() + MillisToNanos(options.lost_after_ms);
  for (const auto& [key, row] : live.dispatches) {
    if (row.state != DispatchState::kUnknown) continue;
    ClusterFacts& told = facts[key.cluster];
    WallTime since;
    if ((!told.cluster.empty() && told.healthy) || !ParseRfc3339(row.detail, &since)) continue;
    told.cluster = key.cluster;
    told.healthy = false;
    if (told.message.empty()) told.message = "has not answered since " + row.detail;
    const std::int64_t age_us = std::max<std::int64_t>(0, clock.WallNow().us - since.us);
    LostMember& member =
        lost_members.try_emplace(key.cluster, LostMember{since, clock.Now(), lost_from})
            .first->second;
    member.since = std::min(member.since, since);
    member.since_mono = std::min(member.since_mono, clock.Now() + -MicrosToNanos(age_us));
  }
  next_loss_check = clock.Now();
}

// What a member that was created anew had is gone with it.
void Engine::Impl::LoseRecreated(const std::string& cluster) {
  const auto told = facts.find(cluster);
  if (told == facts.end() || told->second.incarnation.empty()) return;
  const std::string incarnation = told->second.incarnation;
  std::vector<DispatchKey> gone;
  for (const auto& [key, row] : live.dispatches) {
    if (key.cluster == cluster && !row.incarnation.empty() && row.incarnation != incarnation)
      gone.push_back(key);
  }
  if (gone.empty()) return;
  Log(LogLevel::kWarning, "engine", "member_recreated", {{"cluster", cluster}});
  AddEvent("MemberRecreated", JobId{}, "membercluster/" + cluster, "",
           "It is another cluster than before, under the same name");
  for (const DispatchKey& key : gone)
    StepRow(key, dispatch::ClusterRecreated{incarnation}, nullptr);
}

OnClusterLost Engine::Impl::PolicyOf(const DispatchRow& row) const {
  const auto job = live.jobs.find(row.job);
  if (job == live.jobs.end()) return {};
  const AdmissionPtr& admission = job->second->admission;
  const auto queue = live.config->cluster_queues.find(
      admission == nullptr ? job->second->cluster_queue : admission->cluster_queue);
  return queue == live.config->cluster_queues.end() ? OnClusterLost{}
                                                    : queue->second.on_cluster_lost;
}

bool Engine::Impl::IsWrittenOff(const DispatchRow& row, Monotonic since) const {
  if (!IsLive(row.state) || row.state == DispatchState::kConflict ||
      row.state == DispatchState::kQuarantined) {
    return false;
  }
  const OnClusterLost policy = PolicyOf(row);
  return policy.policy == ClusterLostPolicy::kFail ||
         (policy.policy == ClusterLostPolicy::kAfterTimeout &&
          clock.Now() - since >= SecondsToNanos(policy.timeout_s));
}

bool Engine::Impl::FireLosses() {
  const Monotonic now = clock.Now();
  if (lost_members.empty() || now < next_loss_check) return false;
  next_loss_check = now + kCheckEveryNs;
  std::vector<std::pair<DispatchKey, dispatch::StepInput>> due;
  for (const auto& [key, row] : live.dispatches) {
    const auto lost = lost_members.find(key.cluster);
    if (lost == lost_members.end()) continue;
    const LostMember& member = lost->second;
    if (now < member.lost_from) continue;
    if (IsLive(row.state) && live.holders.Find(row.job) != nullptr) live.holders.Erase(row.job);
    const std::string since = FormatRfc3339(member.since);
    if (IsWrittenOff(row, member.since_mono)) {
      due.emplace_back(key, dispatch::GivenUp{"member cluster " + key.cluster +
                                              " has not answered since " + since});
    } else if (row.state == DispatchState::kCreated || row.state == DispatchState::kRunning ||
               row.state == DispatchState::kFinishing) {
      due.emplace_back(key, dispatch::MemberAway{since});
    }
    if (due.size() >= kRowsAtOnce) {
      next_loss_check = now;
      break;
    }
  }
  for (const auto& [key, input] : due) StepRow(key, input, nullptr);
  return !due.empty();
}

// The attempt is over for Muster, wherever its pods are: what its queue wants then.
void Engine::Impl::LeaveMember(const JobPtr& job, const dispatch::StepResult& result) {
  const std::string why = changes::StopText(*job);
  if (changes::IsCancelling(*job)) {
    EndJob(job, JobEvent::kCancel, Reason::kCancelled, why + "; " + result.message, nullptr);
    return;
  }
  const ClusterLostPolicy policy = PolicyOf(result.row).policy;
  const bool again = policy == ClusterLostPolicy::kAfterTimeout ||
                     policy == ClusterLostPolicy::kAfterFence || changes::IsRequeuing(*job);
  if (!again || policy == ClusterLostPolicy::kFail || !MayRequeue(*job)) {
    EndJob(job, JobEvent::kFail, Reason::kLost, result.message, nullptr);
    return;
  }
  if (!changes::IsRequeuing(*job)) {
    EvictFor(job, Reason::kLost, {std::string(ReasonName(Reason::kLost)), "", result.message});
  }
  RequeueStopped(live.jobs.at(job->id));
}

void Engine::Impl::Handle(FenceCommand command) {
  const auto refuse = [&](Error error) {
    answers.push_back([done = std::move(command.done), error = std::move(error)] { done(error); });
  };
  if (!live.config->member_clusters.contains(command.cluster))
    return refuse(NotFound("member cluster " + command.cluster + " does not exist"));
  // Whether it answers or not: whoever removes it by force has been told what it may hold.
  if (command.whatever_policy) held_ends.Abandon(command.cluster);
  const auto lost = lost_members.find(command.cluster);
  if (lost == lost_members.end()) {
    return refuse({Code::kFailedPrecondition,
                   "member cluster " + command.cluster +
                       " answers: cordon it and requeue its jobs instead of fencing it"});
  }
  std::vector<DispatchKey> fenced;
  for (const auto& [key, row] : live.dispatches) {
    if (key.cluster != command.cluster || !IsLive(row.state)) continue;
    const ClusterLostPolicy policy = PolicyOf(row).policy;
    // What is being stopped has stopped, whatever its queue's policy is.
    if (command.whatever_policy || policy != ClusterLostPolicy::kWait ||
        row.state == DispatchState::kRevoking) {
      fenced.push_back(key);
    }
  }
  AddEvent("MemberFenced", JobId{}, "membercluster/" + command.cluster, "",
           "Fenced by " + command.actor.user + "; away since " + FormatRfc3339(lost->second.since));
  AddAudit(command.actor, "fence", "membercluster/" + command.cluster, "");
  std::size_t given_up = 0;
  for (const DispatchKey& key : fenced) {
    const auto effect = StepRow(
        key,
        dispatch::GivenUp{"member cluster " + key.cluster + " was fenced by " + command.actor.user},
        nullptr);
    given_up += effect == dispatch::Effect::kGivenUp ? 1 : 0;
  }
  AnswerAfterCommit([done = std::move(command.done), given_up](const Error* error) {
    if (error != nullptr) {
      done(*error);
    } else {
      done(given_up);
    }
  });
}

}  // namespace muster

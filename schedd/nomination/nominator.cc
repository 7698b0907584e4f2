// The nominator's thread. Each round (Step) takes the answers that have arrived, starts lists of
// members that are due (StartLists), and, if the world, an answer or time may have changed
// something, plans (step/plan.h) and carries the plan out (CarryOut): commands to the engine, calls
// that make and remove copies.
//
// A copy is `unsure` while a call about it is under way, or has ended after the last list began:
// the list may not show its effect yet. The plan neither chooses such a copy nor misses it. Members
// are listed every 2 s while their copies matter, else every minute. Nothing is remembered beyond
// lists: after a restart each member is listed once, and copies that no job accounts for are
// removed, whichever daemon made them.
#include "schedd/nomination/nominator.h"

#include <algorithm>
#include <deque>
#include <utility>

#include "schedd/model/member_queues.h"
#include "schedd/nomination/impl.h"
#include "schedd/shapes/kinds/member_pod_sets.h"
#include "schedd/shapes/kinds/shape.h"
#include "schedd/telemetry/log.h"
#include "schedd/text/json.h"

namespace muster::nomination {
namespace {

constexpr std::chrono::milliseconds kLook{200};
// Time alone may change the plan.
constexpr std::int64_t kLookAgainNs = kNanosPerSecond;
// While no queue has a dispatch mode and no member a copy, there may still be a job that an earlier
// member queue runs.
constexpr std::int64_t kQuietLookNs = 10 * kNanosPerSecond;
// Calls under way at one member: jobs have the other connections.
constexpr std::size_t kCallsPerMember = 8;
// Copies rendered together.
constexpr std::size_t kCopiesAtOnce = 64;

// The CopyId of the job's copies.
std::string IdOf(const JobRecord& job) {
  return CopyId(job.ns, CopyName(job.uid, AttemptOfCopies(job)));
}

// True if the member itself refused, and would refuse again.
bool IsForGood(Code code) {
  switch (code) {
    case Code::kInvalidArgument:
    case Code::kPermissionDenied:
    case Code::kAlreadyExists:
    case Code::kFailedPrecondition:
      return true;
    default:
      return false;
  }
}

// True if the member's backend reports it as healthy.
bool IsHealthy(const WorldView& world, const std::string& cluster) {
  for (const core::ClusterView& view : world.clusters)
    if (view.member.name == cluster) return view.member.healthy;
  return false;
}

// The pod sets of a job, from the object as the member's API server completed it.
Result<std::vector<CopyPodSet>> PodSetsOf(const std::string& completed) {
  auto object = ParseJson(completed);
  if (!object.ok()) return InvalidArgument("the member's answer cannot be read");
  auto sets = shapes::MemberPodSetsOf(std::move(*object));
  if (!sets.ok()) return sets.error();
  std::vector<CopyPodSet> out;
  for (const shapes::MemberPodSet& one : *sets)
    out.push_back({one.name, one.count, WriteJson(one.pod_template)});
  return out;
}

}  // namespace

Nominator::Impl::Impl(View view_in, Post post_in, Manifests manifests_in, MemberQueues& members_in,
                      const Clock& clock_in, NominatorOptions options_in)
    : view(std::move(view_in)),
      post(std::move(post_in)),
      manifests(std::move(manifests_in)),
      members(members_in),
      clock(clock_in),
      options(std::move(options_in)) {}

// `weak`: an answer that comes after the nominator is gone is dropped.
template <class T>
Callback<T> Nominator::Impl::OnThread(std::function<void(Impl&, Result<T>)> work) {
  return [weak = weak_from_this(), work = std::move(work)](Result<T> result) {
    const auto self = weak.lock();
    if (self == nullptr) return;
    auto shared = std::make_shared<Result<T>>(std::move(result));
    self->arrived.PushAlways(
        [impl = self.get(), work, shared] { work(*impl, std::move(*shared)); });
  };
}

void Nominator::Impl::Run(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    Step();
    TakeArrived(kLook);
  }
}

void Nominator::Impl::TakeArrived(std::chrono::nanoseconds wait) {
  std::deque<std::function<void()>> work;
  arrived.PopAll(&work, wait);
  for (const auto& one : work) one();
}

void Nominator::Impl::Step() {
  TakeArrived(std::chrono::nanoseconds::zero());
  const WorldViewPtr world = view();
  if (!world->ready) return;
  SyncMembers(*world);
  StartLists(*world);
  const Monotonic now = clock.Now();
  const bool copies = std::any_of(lanes.begin(), lanes.end(), [](const auto& lane) {
    return !lane.second.state.copies.empty();
  });
  const bool quiet = !copies && watched.empty() && !AnyDispatchMode(*world->config);
  if (now < next_look && (quiet || (world == seen && !dirty))) return;
  seen = world;
  dirty = false;
  next_look = now + (quiet ? kQuietLookNs : kLookAgainNs);
  RefreshUnsure();
  MemberQueueStates states;
  for (const auto& [name, lane] : lanes) states.emplace(name, lane.state);
  CarryOut(*world, PlanNominations(*world, states, busy, clock.WallNow()));
}

// A lane for each member that can run a queue, also if it has none now: it may get one. A lane
// without its member stays until its calls have ended.
void Nominator::Impl::SyncMembers(const WorldView& world) {
  std::erase_if(lanes, [&](const auto& lane) {
    return !world.config->member_clusters.contains(lane.first) && lane.second.under_way == 0 &&
           !lane.second.listing;
  });
  for (const auto& [name, member] : world.config->member_clusters)
    if (!lanes.contains(name) && members.RunsQueue(name)) lanes[name];
}

// Starts the lists that are due; a member that is not healthy is not asked.
void Nominator::Impl::StartLists(const WorldView& world) {
  const Monotonic now = clock.Now();
  const bool modes = AnyDispatchMode(*world.config);
  for (auto& [cluster, lane] : lanes) {
    if (!IsHealthy(world, cluster)) {
      if (lane.state.answers) dirty = true;
      lane.state.answers = false;
      // The member is listed at once when it is back.
      lane.next_list = {};
      continue;
    }
    // Each member is listed once after the start: an earlier daemon may have left copies there.
    const bool wanted = modes || !lane.state.copies.empty() || watched.contains(cluster) ||
                        lane.state.queue == MemberQueueState::Queue::kUnknown;
    if (lane.listing || !wanted || now < lane.next_list) continue;
    lane.listing = true;
    lane.list_began = ++ticks;
    members.ListCopies(cluster, OnThread<std::vector<MemberCopy>>(
                                    [cluster](Impl& self, Result<std::vector<MemberCopy>> listed) {
      self.TakeList(cluster, std::move(listed));
    }));
  }
}

// The answer to a list. kFailedPrecondition means that the member runs no queue, kPermissionDenied
// that its queue may not be asked; any other error that the member did not answer.
void Nominator::Impl::TakeList(const std::string& cluster, Result<std::vector<MemberCopy>> listed) {
  const auto found = lanes.find(cluster);
  if (found == lanes.end()) return;
  MemberLane& lane = found->second;
  MemberQueueState& state = lane.state;
  lane.listing = false;
  dirty = true;
  const bool often = watched.contains(cluster) || !listed.ok();
  lane.next_list = clock.Now() + MillisToNanos(often ? options.list_ms : options.idle_list_ms);
  if (!listed.ok() && listed.error().code != Code::kFailedPrecondition) {
    state.answers = false;
    if (listed.error().code != Code::kPermissionDenied) return;
    state.queue = MemberQueueState::Queue::kNone;
    state.trouble = "its queue may not be asked: " + listed.error().detail;
    lane.next_list = clock.Now() + MillisToNanos(options.idle_list_ms);
    return;
  }
  state.answers = true;
  state.trouble.clear();
  state.copies.clear();
  if (!listed.ok()) {
    state.queue = MemberQueueState::Queue::kNone;
    lane.next_list = clock.Now() + MillisToNanos(options.idle_list_ms);
    return;
  }
  state.queue = MemberQueueState::Queue::kRuns;
  for (MemberCopy& copy : *listed) {
    std::string id = CopyId(copy.ns, copy.name);
    state.copies[std::move(id)] = std::move(copy);
  }
  const Monotonic now = clock.Now();
  for (auto one = lane.calls.begin(); one != lane.calls.end();) {
    CopyCalls& calls = one->second;
    if (calls.settled < lane.list_began) calls.told = true;
    const std::int64_t longest_ns = MillisToNanos(SaturatingMul(2, options.retry_max_ms));
    const bool lately = calls.failures > 0 && now < calls.again + longest_ns;
    if (calls.under_way > 0 || !calls.told || lately) {
      ++one;
      continue;
    }
    state.refusals.erase(one->first);
    one = lane.calls.erase(one);
  }
}

// Recomputes which copies are unsure. A refusal is forgotten after its wait, so that the copy is
// tried again.
void Nominator::Impl::RefreshUnsure() {
  const Monotonic now = clock.Now();
  for (auto& [cluster, lane] : lanes) {
    lane.state.unsure.clear();
    for (const auto& [name, calls] : lane.calls) {
      const bool waits = calls.failures > 0 && now < calls.again;
      if (calls.under_way > 0 || !calls.told || (waits && !lane.state.refusals.contains(name)))
        lane.state.unsure.insert(name);
      if (!waits) lane.state.refusals.erase(name);
    }
  }
}

// Sends the engine a command about a job, unless one is under way for it.
template <class Cmd>
void Nominator::Impl::Send(JobId job, Cmd command, const char* what) {
  if (!busy.insert(job).second) return;
  command.done = OnThread<JobPtr>([job, what](Impl& self, const Result<JobPtr>& outcome) {
    self.busy.erase(job);
    self.dirty = true;
    if (outcome.ok()) return;
    // The job has changed meanwhile, or the daemon is recovering: the next plan decides anew.
    Log(LogLevel::kDebug, "nomination", what,
        {{"job", job.value}, {"err", outcome.error().detail}});
  });
  if (post(Command(std::move(command)))) return;
  busy.erase(job);
  dirty = true;
}

// A member that is watched from now on is listed soon, also if its next list was a minute away.
void Nominator::Impl::CarryOut(const WorldView& world, NominationPlan plan) {
  for (const std::string& cluster : plan.watched) {
    const auto lane = lanes.find(cluster);
    if (lane == lanes.end() || watched.contains(cluster)) continue;
    lane->second.next_list =
        std::min(lane->second.next_list, clock.Now() + MillisToNanos(options.list_ms));
  }
  watched = std::move(plan.watched);
  for (NominateCommand& one : plan.nominations) {
    const JobId job = one.job;
    Send(job, std::move(one), "nomination_refused");
  }
  for (ChooseMemberCommand& one : plan.choices) {
    const JobId job = one.job;
    Send(job, std::move(one), "choice_refused");
  }
  for (SetCheckStatusCommand& one : plan.answers) {
    const JobId job = one.job;
    Send(job, std::move(one), "answer_refused");
  }
  RemoveCopies(plan.removals);
  MakeCopies(world, plan.copies);
}

// Makes copies as far as the members' calls allow; the others are in the next plan again.
void Nominator::Impl::MakeCopies(const WorldView& world, const std::vector<CopyWish>& wishes) {
  std::vector<const CopyWish*> batch;
  std::vector<JobId> ids;
  for (const CopyWish& wish : wishes) {
    MemberLane& lane = lanes[wish.cluster];
    if (batch.size() >= kCopiesAtOnce) break;
    if (lane.under_way >= kCallsPerMember) continue;
    ++lane.under_way;
    ++lane.calls[IdOf(*wish.job)].under_way;
    batch.push_back(&wish);
    ids.push_back(wish.job->id);
  }
  if (batch.empty()) return;
  const auto texts = manifests(ids);
  for (std::size_t i = 0; i < batch.size(); ++i) {
    const CopyWish& wish = *batch[i];
    const std::string name = IdOf(*wish.job);
    const auto order = texts.ok() ? OrderOf(world, wish, (*texts)[i])
                                  : Result<CopyOrder>(Unavailable(texts.error().detail));
    if (!order.ok()) {
      EndCall(wish.cluster, name, true, order.error());
      continue;
    }
    members.EnsureCopy(*order, OnThread<Done>([cluster = wish.cluster, name](
                                                  Impl& self, const Result<Done>& outcome) {
      self.EndCall(cluster, name, true, outcome);
    }));
  }
}

// The order of one copy: the job's object as it will be when it is dispatched to that member,
// suspended.
Result<CopyOrder> Nominator::Impl::OrderOf(const WorldView& world, const CopyWish& wish,
                                           const std::string& manifest) const {
  const auto parsed = ParseJson(manifest);
  if (!parsed.ok()) return InvalidArgument("its stored manifest cannot be read");
  JobRecord attempt = *wish.job;
  attempt.attempt = AttemptOfCopies(*wish.job);
  attempt.cluster = wish.cluster;
  attempt.state = JobState::kAdmitted;
  auto rendered = shapes::Render(attempt, *parsed, *world.config,
                                 {options.instance_id, true, options.default_image});
  if (!rendered.ok()) return rendered.error();
  const shapes::RenderedObject& object = rendered->object;
  CopyOrder order;
  order.key = {attempt.uid, attempt.attempt, attempt.cluster};
  order.ns = attempt.ns;
  order.local_queue = attempt.local_queue;
  order.priority = EffectivePriority(attempt, *world.settings);
  order.object = {object.api_version, object.kind, object.ns, object.name,
                  WriteJson(object.manifest)};
  order.pod_sets_of = PodSetsOf;
  return order;
}

// Removes copies as far as the members' calls allow.
void Nominator::Impl::RemoveCopies(const std::vector<CopyRemoval>& removals) {
  for (const CopyRemoval& removal : removals) {
    MemberLane& lane = lanes[removal.cluster];
    if (lane.under_way >= kCallsPerMember) continue;
    ++lane.under_way;
    const std::string id = CopyId(removal.ns, removal.name);
    ++lane.calls[id].under_way;
    members.RemoveCopy(removal, OnThread<Done>([cluster = removal.cluster, id](
                                                   Impl& self, const Result<Done>& outcome) {
                         self.EndCall(cluster, id, false, outcome);
                       }));
  }
}

// A call that makes (`ensured`) or removes a copy has ended. After a success the member is listed
// at once.
void Nominator::Impl::EndCall(const std::string& cluster, const std::string& name, bool ensured,
                              const Result<Done>& outcome) {
  const auto found = lanes.find(cluster);
  if (found == lanes.end()) return;
  MemberLane& lane = found->second;
  CopyCalls& calls = lane.calls[name];
  --lane.under_way;
  --calls.under_way;
  calls.settled = ++ticks;
  dirty = true;
  if (outcome.ok()) {
    calls.failures = 0;
    calls.told = false;
    lane.state.refusals.erase(name);
    lane.next_list = {};
    return;
  }
  Fail(&lane, name, ensured, outcome.error());
  Log(LogLevel::kInfo, "nomination", ensured ? "copy_not_made" : "copy_not_removed",
      {{"cluster", cluster}, {"reason", name}, {"err", outcome.error().detail}});
}

// The copy is not called again before retry_min_ms, doubled with each failure up to retry_max_ms.
void Nominator::Impl::Fail(MemberLane* lane, const std::string& name, bool ensured,
                           const Error& error) {
  CopyCalls& calls = lane->calls[name];
  std::int64_t wait_ms = options.retry_min_ms;
  for (int i = 0; i < calls.failures && wait_ms < options.retry_max_ms; ++i) wait_ms *= 2;
  ++calls.failures;
  calls.again = clock.Now() + MillisToNanos(std::min(wait_ms, options.retry_max_ms));
  // After an unknown outcome the copy may exist; a failed precondition may mean that the member no
  // longer runs a queue. A list shows both.
  calls.told = error.code != Code::kUnknown;
  if (error.code == Code::kUnknown || error.code == Code::kFailedPrecondition) lane->next_list = {};
  if (ensured && error.code != Code::kUnknown)
    lane->state.refusals[name] = {error.detail, IsForGood(error.code)};
}

Nominator::Nominator(View view, Post post, Manifests manifests, MemberQueues& members,
                     const Clock& clock, NominatorOptions options)
    : impl_(std::make_shared<Impl>(std::move(view), std::move(post), std::move(manifests), members,
                                   clock, std::move(options))) {}

Nominator::~Nominator() { Stop(); }

void Nominator::Start() {
  impl_->thread =
      std::jthread([impl = impl_.get()](const std::stop_token& stop) { impl->Run(stop); });
}

void Nominator::Stop() {
  if (!impl_->thread.joinable()) return;
  impl_->thread.request_stop();
  impl_->arrived.Close();
  impl_->thread.join();
}

void Nominator::Step() { impl_->Step(); }

}  // namespace muster::nomination

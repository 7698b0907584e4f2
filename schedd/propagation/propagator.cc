#include "schedd/propagation/propagator.h"

#include <algorithm>
#include <utility>

#include "schedd/base/limits.h"
#include "schedd/telemetry/log.h"

namespace muster::propagation {
namespace {

constexpr std::chrono::milliseconds kLookEvery{200};
constexpr std::int64_t kPlanEveryNs = 200 * kNanosPerMilli;  // at most, while the world changes
constexpr std::int64_t kReplanNs = 10 * kNanosPerSecond;     // members' facts may matter too
// Answers wait for company, the longer the more is written along with them: rows are written whole.
constexpr std::int64_t kGatherNs = 100 * kNanosPerMilli;
constexpr std::int64_t kGatherPerObjectNs = kNanosPerMilli / 10;
constexpr std::int64_t kRecordAgainNs = kNanosPerSecond;
// News of a member count at most that often, and less often where there is much to look at.
constexpr std::int64_t kListenEveryNs = 2 * kNanosPerSecond;
constexpr std::int64_t kListenPerObjectNs = 20 * kNanosPerMilli;

// A commit of that much holds up those of jobs for a moment only.
constexpr std::size_t kRecordObjects = 40'000;
constexpr std::size_t kRecordBytes = 16 << 20;

std::size_t WeightOf(const Work& work) {
  std::size_t weight = 1 + work.manifests.size();
  for (const ManifestStatus& manifest : work.manifests) weight += manifest.differences.size();
  return weight;
}

// True if something of it is left to the next plan, which asks for it again.
bool Shorten(WorkPlan* plan) {
  std::size_t bytes = 0, snapshots = 0;
  while (snapshots < plan->snapshots.size() && bytes <= kRecordBytes) {
    for (const SelectedResource& one : plan->snapshots[snapshots]->resources)
      bytes += one.manifest.size();
    ++snapshots;
  }
  std::size_t weight = 0, works = 0;
  // Rows may be about any of the snapshots.
  const bool has_all = snapshots == plan->snapshots.size();
  while (has_all && works < plan->works.size() && weight <= kRecordObjects)
    weight += WeightOf(*plan->works[works++]);
  if (has_all && works == plan->works.size()) return false;
  plan->snapshots.resize(snapshots);
  plan->works.resize(works);
  plan->ended_snapshots.clear();  // rows that are left out may still be about them
  return true;
}

std::string OwnerOf(const WorkKey& key) {
  const auto& [ns, placement, cluster] = key;
  return ns.empty() ? placement : ns + "/" + placement;
}

bool IsWell(ManifestResult result) {
  return result == ManifestResult::kApplied || result == ManifestResult::kNoDiffFound;
}

template <class... F>
struct Overloads : F... {
  using F::operator()...;
};
template <class... F>
Overloads(F...) -> Overloads<F...>;

}  // namespace

Propagator::Propagator(std::function<WorldViewPtr()> view, std::function<bool(Command)> post,
                       MemberObjects& members, const Clock& clock, Metrics& metrics,
                       PropagatorOptions options)
    : view_(std::move(view)),
      post_(std::move(post)),
      members_(members),
      clock_(clock),
      metrics_(metrics),
      options_(std::move(options)),
      // Bounded by the calls under way and by what listeners say.
      events_(std::make_shared<BoundedQueue<Event>>(limits::kInboxCommands)) {
  members_.Listen([events = events_](const std::string& cluster) {
    // When it is full the periodic look finds it.
    static_cast<void>(events->Push(Changed{cluster}));
  });
}

void Propagator::Start() {
  thread_ = std::jthread([this](const std::stop_token& stop) {
    const std::stop_callback wake(stop, [this] { events_->PushAlways(Wake{}); });
    while (!stop.stop_requested()) Step(kLookEvery);
  });
}

void Propagator::Stop() {
  thread_.request_stop();
  if (thread_.joinable()) thread_.join();
}

void Propagator::Step(std::chrono::nanoseconds wait) {
  std::deque<Event> arrived;
  events_->PopAll(&arrived, wait);
  for (Event& event : arrived) {
    std::visit(Overloads{[this](Answer& one) { Handle(std::move(one)); },
                         [this](Changed& one) { Handle(one); }, [this](Noted& one) { Handle(one); },
                         [](Wake&) {}},
               event);
  }
  const WorldViewPtr world = view_();
  // While the database is away another daemon may lead: nothing is done.
  if (world == nullptr || !world->ready) return;
  LookAtMembers(*world);
  FollowWorks(*world);
  StirChanged();
  if (!recording_ && clock_.Now() >= record_at_) {
    // In turns, so that neither waits for ever.
    const bool recorded = planned_last_ ? RecordAnswers() || RecordPlan(*world)
                                        : RecordPlan(*world) || RecordAnswers();
    static_cast<void>(recorded);
  }
  SendDue();
}

void Propagator::LookAtMembers(const WorldView& world) {
  std::map<std::string, MemberState> states;
  for (const core::ClusterView& one : world.clusters) {
    const MemberCluster& member = one.member;
    const bool heard = member.observed_at.set() || !member.healthy;
    states[member.name] = {true, heard, member.healthy, members_.TakesObjects(member.name)};
  }
  for (auto& [name, member] : fleet_) {
    if (!states.contains(name)) states[name] = {};
  }
  for (const auto& [name, state] : states) {
    MemberState& known = fleet_[name].state;
    if (known == state) continue;
    known = state;
    members_changed_ = plan_due_ = true;
  }
  std::erase_if(fleet_,
                [](const auto& one) { return !one.second.state.known && one.second.calls == 0; });
}

void Propagator::FollowWorks(const WorldView& world) {
  if (world.works == table_ && world.config == config_ && !members_changed_) return;
  const Monotonic now = clock_.Now();
  const bool all = world.config != config_ || members_changed_;
  std::map<WorkKey, WorkProgress> kept;
  for (const auto& [key, row] : world.works->works) {
    auto node = works_.extract(key);
    WorkProgress& progress =
        node.empty() ? kept[key] : kept.insert(std::move(node)).position->second;
    if (!all && progress.row() == row) continue;
    const auto member = fleet_.find(row->cluster);
    progress.Follow(row, world, member == fleet_.end() ? MemberState{} : member->second.state, now,
                    &shelf_);
  }
  works_ = std::move(kept);
  std::erase_if(shelf_, [](const auto& one) { return one.second.expired(); });
  table_ = world.works;
  config_ = world.config;
  members_changed_ = false;
  CountWorks(world);
}

void Propagator::Handle(const Changed& changed) {
  const auto member = fleet_.find(changed.cluster);
  if (member != fleet_.end()) member->second.changed = true;
}

void Propagator::StirChanged() {
  const Monotonic now = clock_.Now();
  for (auto& [name, member] : fleet_) {
    if (!member.changed || now < member.listens_at) continue;
    member.changed = false;
    std::int64_t objects = 0;
    for (auto& [key, progress] : works_) {
      if (std::get<2>(key) != name) continue;
      progress.Stir(now);
      objects += static_cast<std::int64_t>(progress.size());
    }
    member.listens_at = now + kListenEveryNs + kListenPerObjectNs * objects;
  }
}

void Propagator::Handle(Answer answer) {
  const std::string& cluster = std::get<2>(answer.work);
  busy_.erase({cluster, answer.call.id});
  if (const auto member = fleet_.find(cluster); member != fleet_.end()) --member->second.calls;
  Report(answer);
  const auto found = works_.find(answer.work);
  if (found == works_.end()) return;
  const Monotonic now = clock_.Now();
  if (const auto* applied = std::get_if<Result<ObjectOutcome>>(&answer.outcome)) {
    found->second.Applied(answer.call, *applied, now, clock_.WallNow());
  } else {
    found->second.Removed(answer.call, std::get<Result<bool>>(answer.outcome), now);
  }
}

void Propagator::Handle(const Noted& noted) {
  recording_ = false;
  if (!noted.outcome.ok()) record_at_ = clock_.Now() + kRecordAgainNs;
  if (noted.plan && !noted.outcome.ok()) plan_due_ = true;
  for (const WorkKey& key : noted.works) {
    const auto found = works_.find(key);
    if (found == works_.end()) continue;
    if (noted.outcome.ok()) {
      found->second.Recorded();
    } else {
      found->second.NotRecorded();
    }
  }
}

bool Propagator::RecordAnswers() {
  const Monotonic now = clock_.Now();
  std::int64_t touched = 0;
  for (const auto& [key, progress] : works_) {
    if (progress.touched()) touched += static_cast<std::int64_t>(progress.size()) + 1;
  }
  if (touched == 0) {
    gathering_ = false;
    return false;
  }
  if (!gathering_) {
    gathering_ = true;
    gathers_since_ = now;
  }
  if (now - gathers_since_ < kGatherNs + kGatherPerObjectNs * touched) return false;
  gathering_ = false;
  RecordWorksCommand command;
  Noted noted;
  std::size_t weight = 0;
  // In turns, if it is too much for one command.
  auto at = works_.upper_bound(recorded_last_);
  for (std::size_t i = 0; i < works_.size(); ++i, ++at) {
    if (at == works_.end()) at = works_.begin();
    auto& [key, progress] = *at;
    if (!progress.touched()) continue;
    if (weight > kRecordObjects) {
      gathering_ = true;  // what is left has waited
      break;
    }
    Work work = progress.Fold(clock_.WallNow());
    progress.Recording();
    if (work == *progress.row()) {
      progress.Recorded();
      continue;
    }
    weight += WeightOf(work);
    recorded_last_ = key;
    noted.works.push_back(key);
    command.works.push_back(std::make_shared<const Work>(std::move(work)));
  }
  if (command.works.empty()) return false;
  planned_last_ = false;
  return Record(std::move(command), std::move(noted));
}

bool Propagator::RecordPlan(const WorldView& world) {
  const Monotonic now = clock_.Now();
  const bool changed = world.objects != planned_objects_ || world.works != planned_works_ ||
                       world.config != planned_config_;
  const bool timed = again_at_.set() && clock_.WallNow() >= again_at_;
  if (!(plan_due_ || changed || timed || now >= replan_at_) || now < plan_at_) return false;
  plan_at_ = now + kPlanEveryNs;
  replan_at_ = now + kReplanNs;
  plan_due_ = false;
  planned_objects_ = world.objects;
  planned_works_ = world.works;
  planned_config_ = world.config;
  WorkPlan plan = options_.plan(
      world, [this](const std::string& cluster) { return members_.TakesObjects(cluster); },
      clock_.WallNow());
  again_at_ = plan.again_at;
  if (plan.empty()) return false;
  plan_due_ = Shorten(&plan);
  planned_last_ = true;
  RecordWorksCommand command;
  command.works = std::move(plan.works);
  command.ended_works = std::move(plan.ended_works);
  command.snapshots = std::move(plan.snapshots);
  command.ended_snapshots = std::move(plan.ended_snapshots);
  Noted noted;
  noted.plan = true;
  return Record(std::move(command), std::move(noted));
}

bool Propagator::Record(RecordWorksCommand command, Noted noted) {
  auto shared = std::make_shared<Noted>(noted);
  command.done = [events = events_, shared](Status outcome) {
    shared->outcome = std::move(outcome);
    events->PushAlways(std::move(*shared));
  };
  recording_ = true;
  if (post_(std::move(command))) return true;
  noted.outcome = Unavailable("the inbox is full");
  Handle(noted);
  return false;
}

void Propagator::SendDue() {
  const Monotonic now = clock_.Now();
  // Who has waited longest comes first: where a member is slow, looks at what is well would leave
  // no call for what is new.
  std::vector<std::pair<Monotonic, std::map<WorkKey, WorkProgress>::iterator>> due;
  for (auto work = works_.begin(); work != works_.end(); ++work) {
    if (now < work->second.next()) continue;
    const auto member = fleet_.find(std::get<2>(work->first));
    if (member != fleet_.end() && member->second.calls < limits::kObjectCallsPerMember)
      due.emplace_back(work->second.next(), work);
  }
  std::stable_sort(due.begin(), due.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  for (const auto& [since, work] : due) {
    auto& [key, progress] = *work;
    const auto member = fleet_.find(std::get<2>(key));
    const std::size_t under_way = member->second.calls;
    if (under_way >= limits::kObjectCallsPerMember) continue;
    const auto busy = [&](const ObjectId& id) { return busy_.contains({member->first, id}); };
    for (const ObjectCall& call :
         progress.Due(now, limits::kObjectCallsPerMember - under_way, busy)) {
      ++member->second.calls;
      busy_.insert({member->first, call.id});
      Send(key, call);
    }
  }
}

// Told once, also if whoever was asked forgets about it: the object would be busy for ever.
class Propagator::Asked {
 public:
  Asked(std::shared_ptr<BoundedQueue<Event>> events, Answer answer)
      : events_(std::move(events)), answer_(std::move(answer)) {}
  Asked(const Asked&) = delete;
  Asked& operator=(const Asked&) = delete;
  ~Asked() {
    if (told_) return;
    const Error error = Unavailable("the call was given up");
    if (answer_.call.remove) {
      Tell(Result<bool>(error));
    } else {
      Tell(Result<ObjectOutcome>(error));
    }
  }
  template <class T>
  void Tell(const Result<T>& outcome) {
    if (std::exchange(told_, true)) return;
    answer_.outcome = outcome;
    events_->PushAlways(std::move(answer_));
  }

 private:
  const std::shared_ptr<BoundedQueue<Event>> events_;
  Answer answer_;
  bool told_ = false;
};

void Propagator::Send(const WorkKey& work, const ObjectCall& call) {
  const auto asked = std::make_shared<Asked>(events_, Answer{work, call, Result<bool>(false)});
  const auto tell = [asked](const auto& outcome) { asked->Tell(outcome); };
  if (call.remove) {
    members_.Remove(call.removal, tell);
  } else {
    members_.Apply(call.order, tell);
  }
}

void Propagator::Report(const Answer& answer) {
  const std::string& cluster = std::get<2>(answer.work);
  const std::string placement = OwnerOf(answer.work);
  const ResourceRef& ref = answer.call.remove ? answer.call.removal.ref : answer.call.order.ref;
  const std::string object = MentionOf(ref);
  const auto log = [&](LogLevel level, const char* event, std::string_view reason,
                       std::string_view why) {
    Log(level, "propagation", event,
        {{"cluster", cluster},
         {"placement", placement},
         {"object", object},
         {"reason", reason},
         {"err", why}});
  };
  if (const auto* removed = std::get_if<Result<bool>>(&answer.outcome)) {
    if (!removed->ok()) {
      log(LogLevel::kWarning, "object_not_removed", CodeName(removed->error().code),
          removed->error().detail);
    } else if (**removed) {
      log(LogLevel::kInfo, "object_removed", "", "");
    }
    return;
  }
  const auto& applied = std::get<Result<ObjectOutcome>>(answer.outcome);
  const std::string result =
      applied.ok() ? std::string(ManifestResultName(applied->status.result)) : "NoAnswer";
  metrics_
      .GetCounter("muster_object_applies_total", "Configuration objects looked at on members",
                  {{"result", result}})
      .Add();
  if (!applied.ok()) {
    log(LogLevel::kWarning, "object_not_applied", CodeName(applied.error().code),
        applied.error().detail);
  } else if (applied->wrote) {
    log(LogLevel::kInfo, "object_applied", result, "");
  } else if (!IsWell(applied->status.result) &&
             applied->status.result != answer.call.order.before.result) {
    log(LogLevel::kWarning, "object_refused", result, applied->status.message);
  }
}

void Propagator::CountWorks(const WorldView& world) {
  std::map<WorkState, std::int64_t> counts;
  for (const auto& [key, work] : world.works->works) ++counts[work->state];
  for (const auto& [state, name] :
       {std::pair(WorkState::kScheduled, "Scheduled"), std::pair(WorkState::kBound, "Bound"),
        std::pair(WorkState::kLeaving, "Leaving")}) {
    metrics_
        .GetGauge("muster_works", "What placements have on members, by state", {{"state", name}})
        .Set(static_cast<double>(counts[state]));
  }
}

}  // namespace muster::propagation

// The propagator's thread. Each round (Step) takes the answers that have arrived and then compares
// the published world with what it knows:
//
// 1. LookAtMembers and FollowWorks take the new state of members and rows.
// 2. RecordPlan or RecordAnswers sends the engine one command, in turns and one at a time; the rows
//    are written again as a whole, so answers are collected for a while first.
// 3. SendDue sends the calls that are due to members.
//
// Nothing is sent to a member before the row that lists the object is durable, because Due only
// looks at rows of the published (committed) world. While the database is away nothing is done:
// another daemon may lead.
#include "schedd/propagation/propagator.h"

#include <algorithm>
#include <utility>

#include "schedd/base/limits.h"
#include "schedd/telemetry/log.h"

namespace muster::propagation {
namespace {

constexpr std::chrono::milliseconds kLookEvery{200};
// The shortest time between two plans while the world changes.
constexpr std::int64_t kPlanEveryNs = 200 * kNanosPerMilli;
// The longest time between two plans: the plan also depends on facts of members that change
// quietly.
constexpr std::int64_t kReplanNs = 10 * kNanosPerSecond;
// Answers are collected before they are recorded, for longer where more rows are written along.
constexpr std::int64_t kGatherNs = 100 * kNanosPerMilli;
constexpr std::int64_t kGatherPerObjectNs = kNanosPerMilli / 10;
// After a command failed, the next one waits this long.
constexpr std::int64_t kRecordAgainNs = kNanosPerSecond;
// Reports of changes on a member are followed at most this often, and less often where there are
// many objects to look at.
constexpr std::int64_t kListenEveryNs = 2 * kNanosPerSecond;
constexpr std::int64_t kListenPerObjectNs = 20 * kNanosPerMilli;

// The most that one command records: a larger commit would hold up the commits of jobs.
constexpr std::size_t kRecordObjects = 40'000;
constexpr std::size_t kRecordBytes = 16 << 20;

// What recording a row costs, counted in manifests and differences.
std::size_t WeightOf(const Work& work) {
  std::size_t weight = 1 + work.manifests.size();
  for (const ManifestStatus& manifest : work.manifests) weight += manifest.differences.size();
  return weight;
}

// Cuts a plan to what one commit may record. True if something was left out; the next plan has it
// again.
bool Shorten(WorkPlan* plan) {
  std::size_t bytes = 0, snapshots = 0;
  while (snapshots < plan->snapshots.size() && bytes <= kRecordBytes) {
    for (const SelectedResource& one : plan->snapshots[snapshots]->resources)
      bytes += one.manifest.size();
    ++snapshots;
  }
  std::size_t weight = 0, works = 0;
  // Rows may refer to any of the snapshots, so rows are recorded after all snapshots.
  const bool has_all = snapshots == plan->snapshots.size();
  while (has_all && works < plan->works.size() && weight <= kRecordObjects)
    weight += WeightOf(*plan->works[works++]);
  if (has_all && works == plan->works.size()) return false;
  plan->snapshots.resize(snapshots);
  plan->works.resize(works);
  // Rows that are left out may still refer to them.
  plan->ended_snapshots.clear();
  return true;
}

std::string OwnerOf(const WorkKey& key) {
  const auto& [ns, placement, cluster] = key;
  return ns.empty() ? placement : ns + "/" + placement;
}

bool IsWell(ManifestResult result) {
  return result == ManifestResult::kApplied || result == ManifestResult::kNoDiffFound;
}

// For std::visit: one lambda for each alternative.
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
      // Answers use PushAlways and are bounded by the calls under way; reports of members use Push.
      events_(std::make_shared<BoundedQueue<Event>>(limits::kInboxCommands)) {
  members_.Listen([events = events_](const std::string& cluster) {
    // If the queue is full the report is dropped; the regular look finds the change.
    static_cast<void>(events->Push(MemberChange{cluster}));
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
                         [this](MemberChange& one) { Handle(one); },
                         [this](RecordOutcome& one) { Handle(one); }, [](Wake&) {}},
               event);
  }
  const WorldViewPtr world = view_();
  // While the database is away another daemon may lead, so nothing is done.
  if (world == nullptr || !world->ready) return;
  LookAtMembers(*world);
  FollowWorks(*world);
  StirChanged();
  if (!recording_ && clock_.Now() >= record_at_) {
    // Plans and answers take turns, so that neither waits for ever.
    const bool recorded = planned_last_ ? RecordAnswers() || RecordPlan(*world)
                                        : RecordPlan(*world) || RecordAnswers();
    static_cast<void>(recorded);
  }
  SendDue();
}

// A member that is gone from the configuration stays in fleet_ as not known until its calls have
// ended.
void Propagator::LookAtMembers(const WorldView& world) {
  std::map<std::string, MemberState> states;
  for (const core::ClusterView& one : world.clusters) {
    const MemberCluster& member = one.member;
    const bool heard = member.observed_at.set() || !member.healthy;
    const bool answers = member.healthy || member.answers;
    states[member.name] = {true, heard, answers, members_.TakesObjects(member.name)};
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

// Rows that are new get a WorkProgress, rows that are gone lose theirs. All rows are followed again
// if the configuration or a member has changed, otherwise only those that differ.
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

// A member has reported that its objects changed; StirChanged follows it up.
void Propagator::Handle(const MemberChange& changed) {
  const auto member = fleet_.find(changed.cluster);
  if (member != fleet_.end()) member->second.changed = true;
}

// All objects on members with a report are looked at again, at a bounded rate.
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

// The answer of a member to a call of Send.
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

// The engine has recorded a command, or could not.
void Propagator::Handle(const RecordOutcome& noted) {
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

// Sends one command with the rows that have new answers. Rows of a large backlog take turns,
// starting after the row that was recorded last. True if a command was sent.
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
  RecordOutcome noted;
  std::size_t weight = 0;
  auto at = works_.upper_bound(recorded_last_);
  for (std::size_t i = 0; i < works_.size(); ++i, ++at) {
    if (at == works_.end()) at = works_.begin();
    auto& [key, progress] = *at;
    if (!progress.touched()) continue;
    if (weight > kRecordObjects) {
      // The rows that are left have waited already: they are recorded next, without another wait.
      gathering_ = true;
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

// Plans (step/plan.h) if the world has changed or time may have changed something, and sends one
// command with the difference. True if a command was sent.
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
  RecordOutcome noted;
  noted.plan = true;
  return Record(std::move(command), std::move(noted));
}

// False if the engine's inbox is full; the same is tried again later.
bool Propagator::Record(RecordWorksCommand command, RecordOutcome noted) {
  auto shared = std::make_shared<RecordOutcome>(noted);
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

// Sends the calls that are due, at most kObjectCallsPerMember under way at one member and one for
// each object, whichever placement it is for. The work that has waited longest comes first: on a
// slow member regular looks would otherwise leave no call for new objects.
void Propagator::SendDue() {
  const Monotonic now = clock_.Now();
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

// Gives the answer of one call to the thread exactly once. If the backend drops the callback
// without calling it, the destructor answers; else the object would count as busy for ever.
class Propagator::PendingCall {
 public:
  PendingCall(std::shared_ptr<BoundedQueue<Event>> events, Answer answer)
      : events_(std::move(events)), answer_(std::move(answer)) {}
  PendingCall(const PendingCall&) = delete;
  PendingCall& operator=(const PendingCall&) = delete;
  ~PendingCall() {
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
  const auto asked =
      std::make_shared<PendingCall>(events_, Answer{work, call, Result<bool>(false)});
  const auto tell = [asked](const auto& outcome) { asked->Tell(outcome); };
  if (call.remove) {
    members_.Remove(call.removal, tell);
  } else {
    members_.Apply(call.order, tell);
  }
}

// Logs and counts an answer; an object that stays as it was is not logged.
void Propagator::Report(const Answer& answer) {
  const std::string& cluster = std::get<2>(answer.work);
  const std::string placement = OwnerOf(answer.work);
  const ResourceRef& ref = answer.call.remove ? answer.call.removal.ref : answer.call.order.ref;
  const std::string object = MentionOf(ref);
  const auto log =
      [&](LogLevel level, const char* event, std::string_view reason, std::string_view why) {
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

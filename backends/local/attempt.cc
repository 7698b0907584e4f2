// Attempt: carries out what the controller of its kind decides. attempt_pods.cc holds what its
// pods' directories say, attempt_context.cc what a pod is built from, attempt_report.cc the methods
// that report, attempt_state.cc the record on disk.
//
// Advance is the engine: it asks the controller (a pure function of the object, all pods so far and
// a memo) which pods to start and stop, does that, and repeats while something changes, up to
// kRounds times. It is called after every change of a pod's directory (inotify), after a timer, and
// after orders. The controller's end, Succeeded or Failed, is written first; then all pods are
// stopped; the attempt has ended when none is left.
//
// Nothing runs twice. A supervisor holds a lock on its pod's file `alive`, and writes status.json
// before it starts any container. So a free lock without a status means that no container ever ran,
// and the supervisor is started (at most a few times); a free lock with an unfinished status
// means that the supervisor was killed, so its remains are killed and the pod has failed
// (OnSilence).
//
// attempt.json is written before the action that it describes, so a daemon that dies between the
// two repeats the action. What the disk or the kernel refuses is tried again (TryAgain).
#include "backends/local/attempt.h"

#include <algorithm>
#include <utility>

#include "backends/local/pods/batch_world.h"
#include "backends/local/pods/pod_users.h"
#include "backends/local/process/access_list.h"
#include "backends/local/process/files.h"
#include "schedd/base/limits.h"
#include "schedd/base/names.h"
#include "schedd/text/lenient.h"

namespace muster::local {
namespace {

// Rounds of one Advance; each starts or ends a pod.
constexpr int kRounds = 64;
// Other users may pass through the directory, but not list it.
constexpr unsigned kPassOnly = 0711;
// The attempt's own directory: only users of its pods may pass (LetPass).
constexpr unsigned kClosed = 0700;

// Pod names become directories.
bool FitsIntoName(const std::string& name) { return name.size() <= 200; }
bool LeavesDirectory(const std::string& name) {
  return name.empty() || name[0] == '.' || name.find('/') != std::string::npos;
}

}  // namespace

Attempt::Attempt(AttemptWorld& world, std::string dir) : world_(world), dir_(std::move(dir)) {}

Attempt::~Attempt() {
  if (timer_) world_.options.timers->Cancel(*timer_);
  world_.loop->Unwatch(steps_watch_);
  for (const auto& pod : pods_) {
    world_.loop->Unwatch(pod->watch);
    Unshare(pod.get());
  }
}

Result<std::shared_ptr<Attempt>> Attempt::Create(AttemptWorld& world, const std::string& dir,
                                                 const DispatchOrder& order,
                                                 std::vector<int> ports) {
  const ManifestText& object = order.object;
  const Controller* controller = FindController(object.api_version, object.kind);
  if (controller == nullptr) {
    return InvalidArgument("a local member cannot run " + object.api_version + " " + object.kind);
  }
  const Result<json::object> manifest = ParseManifest(object.json);
  if (!manifest.ok()) return manifest.error();
  for (const json::object* pod_template : controller->templates(*manifest)) {
    if (Status sound = CheckTemplate(*pod_template); !sound.ok()) return sound.error();
  }
  std::shared_ptr<Attempt> attempt(new Attempt(world, dir));
  AttemptState& state = attempt->state_;
  state.key = order.key;
  state.job = order.job;
  state.account = order.account;
  // A user that the job may not have is refused before anything of it runs (rule U61).
  for (const json::object* pod_template : controller->templates(*manifest)) {
    const Result<PodUsers> users =
        UsersOf(ObjectOrEmpty(*pod_template, "spec"), attempt->Accounts());
    if (!users.ok()) return users.error();
  }
  state.remote_uid = Uid::Make(*world.options.random).ToString();
  state.api_version = object.api_version;
  state.kind = object.kind;
  state.ns = object.ns;
  state.name = object.name;
  state.created = world.options.clock->WallNow();
  state.suspended = true;
  state.scale = order.scale;
  state.ports = std::move(ports);
  // Containers of other users must reach their volumes below, but need not list these directories.
  if (Status made = MakeDirectories(dir, kClosed); !made.ok()) return made.error();
  if (Status made = MakeDirectories(dir + "/pods", kPassOnly); !made.ok()) return made.error();
  if (Status wrote = WriteManifests(dir, order); !wrote.ok()) return wrote.error();
  // attempt.json comes last: a directory without it is no attempt and is removed at the next start.
  if (Status wrote = WriteAttemptState(dir, state); !wrote.ok()) return wrote.error();
  if (Status loaded = attempt->Load(); !loaded.ok()) return loaded.error();
  return attempt;
}

Result<std::shared_ptr<Attempt>> Attempt::Adopt(AttemptWorld& world, const std::string& dir) {
  std::shared_ptr<Attempt> attempt(new Attempt(world, dir));
  Result<AttemptState> state = ReadAttemptState(dir);
  if (!state.ok()) return state.error();
  attempt->state_ = std::move(*state);
  // An earlier release kept no account. A daemon that is not root had one user for all jobs.
  if (attempt->state_.account_unknown && world.abilities.own_uid != 0)
    attempt->state_.account = static_cast<std::uint32_t>(world.abilities.own_uid);
  if (Status loaded = attempt->Load(); !loaded.ok()) return loaded.error();
  if (Status adopted = attempt->AdoptPods(); !adopted.ok()) return adopted.error();
  return attempt;
}

Status Attempt::Load() {
  Result<Manifests> manifests = ReadManifests(dir_);
  if (!manifests.ok()) return manifests.error();
  object_ = std::move(manifests->object);
  dependents_ = std::move(manifests->dependents);
  controller_ = FindController(state_.api_version, state_.kind);
  if (controller_ == nullptr) return Internal("an attempt has an unknown kind");
  for (const json::object* pod_template : controller_->templates(object_))
    batch_ = batch_ || IsBatchPod(*pod_template);
  return Done{};
}

Status Attempt::Release() {
  if (!state_.suspended) return Done{};
  state_.suspended = false;
  state_.released = world_.options.clock->WallNow();
  if (Status wrote = WriteAttemptState(dir_, state_); !wrote.ok()) {
    state_.suspended = true;
    return wrote;
  }
  return Done{};
}

Status Attempt::Resize(const DispatchOrder& order) {
  if (order.scale <= state_.scale || state_.outcome.phase != RemotePhase::kPending) return Done{};
  const Result<json::object> object = ParseManifest(order.object.json);
  if (!object.ok()) return object.error();
  // attempt.json with the new scale comes last: without it the same order is carried out again.
  if (Status wrote = WriteManifests(dir_, order); !wrote.ok()) return wrote;
  object_ = *object;
  const std::int64_t before = std::exchange(state_.scale, order.scale);
  if (Status wrote = WriteAttemptState(dir_, state_); !wrote.ok()) {
    state_.scale = before;
    return wrote;
  }
  return Done{};
}

void Attempt::Remove(const RemovePolicy& policy, Callback<RemovalResult> done) {
  if (state_.removed && policy.keep_logs) return done(RemovalResult{true});
  state_.keep_logs = policy.keep_logs && (!state_.removing || state_.keep_logs);
  state_.removing = true;
  state_.grace_ms = policy.grace_period_s < 0 ? -1 : SecondsToMillis(policy.grace_period_s);
  // Even if the disk is full, the pods are stopped. If the daemon dies before they are gone, the
  // dispatcher repeats the removal.
  if (Status wrote = WriteAttemptState(dir_, state_); !wrote.ok()) trouble_ = wrote.error().detail;
  waiting_.push_back(std::move(done));
  StopAll({state_.grace_ms, CauseOf(policy.cause)});
  Advance();
}

// A wake that is due ends here alone, before the looks, which may ask for another one: an event of
// one pod does not do what another one is to be looked at again for.
void Attempt::LookAgain() {
  if (wake_at_ <= world_.options.clock->WallNow()) wake_at_ = {};
  // What is still in the way says so again.
  trouble_.clear();
  for (const auto& pod : pods_) {
    if (pod->disk.record.live()) LookAt(pod.get());
  }
  Advance();
}

int Attempt::live_pods() const {
  return static_cast<int>(std::count_if(pods_.begin(), pods_.end(),
                                        [](const auto& pod) { return pod->disk.record.live(); }));
}

// Writes attempt.json; schedules another try if that fails. Of an attempt whose directory somebody
// has removed nothing can be kept, nor found by a later daemon.
bool Attempt::Save() {
  const Status wrote = WriteAttemptState(dir_, state_);
  if (!wrote.ok() && IsDirectory(dir_)) {
    TryAgain(wrote.error().detail);
    return false;
  }
  trouble_.clear();
  return true;
}

// A wake that was asked for stays: if a later decision has made it needless it costs one look.
void Attempt::Advance() {
  // FinishRemoval makes the backend drop its reference.
  const std::shared_ptr<Attempt> self = shared_from_this();
  KillOverdue();
  ReadSteps();
  for (int round = 0; round < kRounds && Round(); ++round) {
  }
  if (state_.removing && live_pods() == 0) return FinishRemoval();
  Rearm();
  Report();
}

// Does what is due once; true if that may make more due.
bool Attempt::Round() {
  if (state_.suspended || leaving() || state_.outcome.ended.set()) return false;
  if (state_.outcome.phase == RemotePhase::kPending) return StepController();
  StopAll({-1, state_.outcome.reason == Reason::kDeadlineExceeded ? StopRequest::Cause::kTimeLimit
                                                                  : StopRequest::Cause::kNone});
  if (live_pods() > 0) return false;
  // The attempt has ended only when none of its pods runs any more.
  const WallTime now = world_.options.clock->WallNow();
  EndSteps(now);
  state_.outcome.ended = now;
  if (!Save()) state_.outcome.ended = {};
  return false;
}

// Asks the controller and carries out its answer. True if another round is needed at once: the
// attempt has ended, a pod was refused or has ended before it could be stopped (nothing else will
// tell of it), or the controller wants to be asked again now.
bool Attempt::StepController() {
  std::vector<PodRecord> records;
  for (const auto& pod : pods_) records.push_back(pod->disk.record);
  ControllerInput input;
  input.name = state_.name;
  input.ns = state_.ns;
  input.object = &object_;
  input.pods = &records;
  input.memo = &state_.memo;
  input.ports = state_.ports;
  input.now = world_.options.clock->WallNow();
  // A time limit does not run on while the job is suspended.
  input.paused_us = PausedUs(input.now);
  input.started = state_.released.Plus(input.paused_us);
  input.backoff_us = MillisToMicros(world_.options.pod_backoff_ms);
  ControllerOutput output = controller_->step(input);
  reclaimable_ = std::move(output.reclaimable);
  const bool ended =
      output.phase == RemotePhase::kSucceeded || output.phase == RemotePhase::kFailed;
  // An end that is not on disk is not reported.
  if (ended) {
    state_.outcome = {output.phase, output.reason, output.message, {}};
  } else {
    phase_ = output.phase;
  }
  if (ended || (!output.memo.empty() && output.memo != state_.memo)) {
    json::object before = std::move(state_.memo);
    state_.memo = std::move(output.memo);
    if (!Save()) {
      state_.memo = std::move(before);
      state_.outcome = {};
      return false;
    }
  }
  if (ended) return true;
  bool gone = false;
  for (const auto& pod : pods_) {
    if (!pod->disk.record.live() || std::find(output.stop.begin(), output.stop.end(),
                                              pod->disk.record.identity.id) == output.stop.end()) {
      continue;
    }
    StopPod(pod.get(), {});
    gone = gone || !pod->disk.record.live();
  }
  const std::size_t before = pods_.size();
  StartPods(std::move(output.start));
  // Of a suspended job no time comes nearer.
  if (!state_.paused_since.set()) WakeAt(output.wake_at);
  const bool refused = std::any_of(pods_.begin() + static_cast<std::ptrdiff_t>(before), pods_.end(),
                                   [](const auto& pod) { return !pod->disk.record.live(); });
  return gone || refused || (output.wake_at.set() && output.wake_at <= input.now);
}

// Starts pods until one cannot be started; the others wait for the next try.
void Attempt::StartPods(std::vector<PodWish> wishes) {
  if (wishes.empty()) return;
  for (PodWish& wish : wishes) NameHost(&wish);
  AddHosts(wishes);
  for (const PodWish& wish : wishes) {
    if (StartPod(wish)) continue;
    TryAgain(std::string(trouble_));
    return;
  }
  trouble_.clear();
}

// Writes a pod's directory and starts its supervisor. A pod that cannot be built is written as
// failed. False if the disk, the kernel or the name service refused, which is tried again.
bool Attempt::StartPod(const PodWish& wish) {
  // Not even a record of the refusal may be written then. The API lets no such name pass.
  if (LeavesDirectory(wish.identity.id)) {
    trouble_ = "no pod can have the name " + Quoted(wish.identity.id);
    return false;
  }
  const WallTime now = world_.options.clock->WallNow();
  auto pod = std::make_unique<Pod>();
  pod->dir = dir_ + "/pods/" + wish.identity.id;
  pod->sequence = static_cast<std::int64_t>(pods_.size());
  Share(wish, pod.get());
  PodContext context = ContextFor(wish, pod->dir);
  context.cpus = pod->cpus;
  context.devices = pod->devices;
  Result<BuiltPod> built =
      FitsIntoName(wish.identity.id)
          ? BuildPod(wish, context)
          : Result<BuiltPod>(InvalidArgument("the pod's name is too long for this host"));
  // Nothing is kept by a pod that is not started.
  const auto refuse = [this, &pod](const std::string& why) {
    Unshare(pod.get());
    trouble_ = why;
    return false;
  };
  if (!built.ok() && built.error().code == Code::kUnavailable) return refuse(built.error().detail);
  if (built.ok()) {
    if (Status let = LetPass(dir_, built->users); !let.ok()) return refuse(let.error().detail);
    if (built->batch_user && !MakeStepsDirectory(*built->batch_user)) return refuse(trouble_);
  }
  const Status wrote =
      built.ok()
          ? WritePodDirectory(pod->dir, wish.identity, pod->sequence, now, *built)
          : WriteRefusedPod(pod->dir, wish.identity, pod->sequence, now, built.error().detail);
  if (!wrote.ok()) return refuse(wrote.error().detail);
  Result<PodOnDisk> disk = ReadPodDirectory(pod->dir, &pod->sequence);
  if (!disk.ok()) return refuse(disk.error().detail);
  pod->disk = std::move(*disk);
  pods_.push_back(std::move(pod));
  Pod* added = pods_.back().get();
  if (!added->disk.record.live()) Unshare(added);
  LookAt(added);
  return true;
}

// No pod runs any more: keeps the record and the logs, or deletes the directory; then answers.
void Attempt::FinishRemoval() {
  const std::shared_ptr<Attempt> self = shared_from_this();
  std::vector<Callback<RemovalResult>> waiting = std::move(waiting_);
  waiting_.clear();
  if (!state_.outcome.ended.set()) EndSteps(world_.options.clock->WallNow());
  if (state_.keep_logs) {
    state_.removing = false;
    state_.removed = true;
    if (!state_.outcome.ended.set()) {
      const WallTime now = world_.options.clock->WallNow();
      state_.outcome = {RemotePhase::kFailed, Reason::kCancelled, "stopped on request", now};
    }
    const bool saved = Save();
    Report();
    for (Callback<RemovalResult>& done : waiting) {
      saved ? done(RemovalResult{true})
            : done(Unavailable("the attempt's end cannot be written: " + trouble_));
    }
    return;
  }
  const Status removed = RemoveTree(dir_);
  if (removed.ok()) world_.forget(state_.key);
  for (Callback<RemovalResult>& done : waiting) {
    removed.ok() ? done(RemovalResult{true}) : done(removed.error());
  }
}

void Attempt::WakeAt(WallTime when) { wake_at_ = Earlier(wake_at_, when); }

// Sets one timer for the earliest of wake_at_ and the pods' kill_at.
void Attempt::Rearm() {
  if (timer_) world_.options.timers->Cancel(*timer_);
  timer_.reset();
  const Clock& clock = *world_.options.clock;
  Monotonic due;
  if (wake_at_.set()) {
    due = clock.Now() +
          MicrosToNanos(std::max<std::int64_t>(1, SaturatingSub(wake_at_.us, clock.WallNow().us)));
  }
  for (const auto& pod : pods_) {
    if (!pod->disk.record.live() || pod->kill_at.ns == 0) continue;
    due = due.ns == 0 ? pod->kill_at : std::min(due, pod->kill_at);
  }
  if (due.ns == 0) return;
  const std::weak_ptr<Attempt> self = weak_from_this();
  const std::weak_ptr<EventLoop> loop = world_.loop;
  timer_ = world_.options.timers->At(due, [self, loop] {
    const std::shared_ptr<EventLoop> running = loop.lock();
    if (!running) return;
    running->PostAlways([self] {
      if (const std::shared_ptr<Attempt> attempt = self.lock()) attempt->LookAgain();
    });
  });
}

}  // namespace muster::local

// SimulatedBackend: attempts as entries of a map, and one timer for the first end.
//
// An attempt that runs has an entry (end time, key) in `ending`. One timer is set for the first of
// these entries; when it fires, EndDue ends every attempt whose time has come, reports it, and sets
// the timer for the next. So a call costs a map access under one lock, and a hundred thousand
// attempts need one timer.
//
// Observations of one attempt must not overtake each other: a report is read and delivered under
// `delivery`, by Ensure as well as by the timer. Stop takes that lock last, so no report is under
// way once it returns.
#include "backends/simulated/simulated_backend.h"

#include <charconv>
#include <optional>
#include <set>
#include <utility>

#include "schedd/base/mutex.h"
#include "schedd/text/json.h"
#include "schedd/text/lenient.h"

namespace muster::simulated {
namespace {

// Each simulated member is a cluster of its own.
std::string IncarnationOf(const std::string& cluster) { return "simulated-" + cluster; }

struct Attempt {
  Observation seen;
  // Name and pod count.
  std::vector<std::pair<std::string, std::int32_t>> pod_sets;
  std::int64_t run_time_ms = 0;
  // DispatchOrder::scale of the order that gave the pod counts.
  std::int64_t scale = 0;
  bool suspended = false;
  // The last signal or line that was sent to it, as a text; "" if there was none.
  std::string sent = {};
};

// Whether the attempt is one of the `percent` in a hundred that fail. A hash of the key decides, so
// that the same attempt fails in every run of the same jobs.
bool Fails(const DispatchKey& key, std::int32_t percent) {
  std::uint64_t mixed = key.job_uid.hi ^ (key.job_uid.lo * 0x9e3779b97f4a7c15ULL) ^
                        static_cast<std::uint64_t>(key.attempt);
  mixed ^= mixed >> 32;
  mixed *= 0xd6e8feb86659fd93ULL;
  mixed ^= mixed >> 32;
  return static_cast<std::int32_t>(mixed % 100) < percent;
}

// The milliseconds of kRunTimeAnnotation; nothing if the object has none, or one that is no number.
std::optional<std::int64_t> RunTimeOf(const ManifestText& object) {
  if (object.json.find(kRunTimeAnnotation) == std::string::npos) return std::nullopt;
  const auto manifest = ParseJson(object.json);
  if (!manifest.ok()) return std::nullopt;
  const json::string* digits = FindText(*manifest, {"metadata", "annotations", kRunTimeAnnotation});
  if (digits == nullptr) return std::nullopt;
  std::int64_t ms = 0;
  const char* const behind = digits->data() + digits->size();
  const auto [end, failed] = std::from_chars(digits->data(), behind, ms);
  if (failed != std::errc() || end != behind || ms < 0) return std::nullopt;
  return ms;
}

bool Ended(const Observation& seen) {
  return seen.phase == RemotePhase::kSucceeded || seen.phase == RemotePhase::kFailed;
}

}  // namespace

struct SimulatedBackend::Impl : std::enable_shared_from_this<Impl> {
  Impl(const Clock& clock_in, TimerService& timers_in, SimulatedOptions options_in)
      : clock(clock_in), timers(timers_in), options(std::move(options_in)) {}

  // Sets the timer for the first end, unless it is set for that time or an earlier one.
  void ArmLocked() MUSTER_REQUIRES(mutex) {
    if (ending.empty() || stopped) return;
    const Monotonic first = ending.begin()->first;
    if (armed && armed_for <= first) return;
    if (armed) timers.Cancel(timer);
    armed = true;
    armed_for = first;
    timer = timers.At(first, [weak = weak_from_this()] {
      if (const auto self = weak.lock()) self->EndDue();
    });
  }

  // Ends and reports every attempt whose time has come. Runs on the timer's thread.
  void EndDue() {
    MutexLock delivering(delivery);
    std::vector<Observation> ended;
    ObservationSink* to = nullptr;
    {
      MutexLock lock(mutex);
      armed = false;
      const Monotonic now = clock.Now();
      while (!ending.empty() && ending.begin()->first <= now) {
        const auto found = attempts.find(ending.begin()->second);
        ending.erase(ending.begin());
        if (found == attempts.end() || Ended(found->second.seen)) continue;
        EndLocked(&found->second);
        ended.push_back(found->second.seen);
      }
      ArmLocked();
      to = sink;
    }
    if (to == nullptr) return;
    for (Observation& seen : ended) to->OnObservation(std::move(seen));
  }

  // Reports the attempt's present state. Reading and reporting under `delivery` keep an older state
  // from being reported after a newer one.
  void ReportNow(const DispatchKey& key) {
    MutexLock delivering(delivery);
    Observation seen;
    ObservationSink* to = nullptr;
    {
      MutexLock lock(mutex);
      const auto found = attempts.find(key);
      if (found == attempts.end()) return;
      seen = found->second.seen;
      to = sink;
    }
    if (to != nullptr) to->OnObservation(std::move(seen));
  }

  void EndLocked(Attempt* attempt) MUSTER_REQUIRES(mutex) {
    Observation& seen = attempt->seen;
    const bool fails = Fails(seen.key, options.failure_percent);
    seen.phase = fails ? RemotePhase::kFailed : RemotePhase::kSucceeded;
    (fails ? seen.failed_pods : seen.succeeded_pods) = seen.active_pods;
    seen.active_pods = seen.ready_pods = 0;
    seen.end_time = clock.WallNow();
    seen.exit_code = fails ? 1 : 0;
    seen.reason = fails ? Reason::kFailed : Reason::kNone;
    seen.message = fails ? "simulated failure" : "";
  }

  // Starts all pods of the attempt and schedules their end.
  void RunLocked(Attempt* attempt) MUSTER_REQUIRES(mutex) {
    attempt->suspended = false;
    attempt->seen.phase = RemotePhase::kRunning;
    attempt->seen.start_time = clock.WallNow();
    for (const auto& [name, count] : attempt->pod_sets) attempt->seen.active_pods += count;
    attempt->seen.ready_pods = attempt->seen.active_pods;
    ending.emplace(clock.Now() + MillisToNanos(attempt->run_time_ms), attempt->seen.key);
    ArmLocked();
  }

  // Takes over the pod counts of a newer size of an elastic job.
  static void ResizeLocked(const DispatchOrder& order, Attempt* attempt) {
    if (order.scale <= attempt->scale || Ended(attempt->seen)) return;
    attempt->scale = order.scale;
    attempt->pod_sets.clear();
    std::int32_t pods = 0;
    for (const PodSetAssignment& pod_set : order.pod_sets) {
      attempt->pod_sets.emplace_back(pod_set.name, pod_set.count);
      pods += pod_set.count;
    }
    if (!attempt->suspended) attempt->seen.active_pods = attempt->seen.ready_pods = pods;
  }

  // Notes what is sent to an attempt; kNotFound unless it runs.
  Result<Done> Send(const DispatchKey& key, std::string what) {
    MutexLock lock(mutex);
    const auto found = attempts.find(key);
    if (found == attempts.end() || found->second.seen.phase != RemotePhase::kRunning)
      return NotFound("member " + key.cluster + " does not run this attempt");
    found->second.sent = std::move(what);
    return Done{};
  }

  bool Has(const DispatchKey& key, const std::string& uid) {
    MutexLock lock(mutex);
    const auto found = attempts.find(key);
    return found != attempts.end() && found->second.seen.remote_uid == uid;
  }

  bool Serves(const std::string& cluster) const {
    for (const SimulatedCluster& one : options.clusters) {
      if (one.name == cluster) return true;
    }
    return false;
  }

  const Clock& clock;
  TimerService& timers;
  const SimulatedOptions options;
  // Held while an observation is delivered, so that Stop can wait for it.
  Mutex delivery MUSTER_ACQUIRED_BEFORE(mutex);
  Mutex mutex;
  ObservationSink* sink MUSTER_GUARDED_BY(mutex) = nullptr;
  std::map<DispatchKey, Attempt> attempts MUSTER_GUARDED_BY(mutex);
  // The running attempts by the time of their end.
  std::set<std::pair<Monotonic, DispatchKey>> ending MUSTER_GUARDED_BY(mutex);
  // Attempts ever made; numbers their uids.
  std::int64_t made MUSTER_GUARDED_BY(mutex) = 0;
  bool armed MUSTER_GUARDED_BY(mutex) = false;
  bool stopped MUSTER_GUARDED_BY(mutex) = false;
  Monotonic armed_for MUSTER_GUARDED_BY(mutex);
  TimerId timer MUSTER_GUARDED_BY(mutex) = 0;
};

SimulatedBackend::SimulatedBackend(const Clock& clock, TimerService& timers,
                                   SimulatedOptions options)
    : impl_(std::make_shared<Impl>(clock, timers, std::move(options))) {}

SimulatedBackend::~SimulatedBackend() { Stop(); }

std::vector<std::string> SimulatedBackend::Clusters() const {
  std::vector<std::string> names;
  for (const SimulatedCluster& cluster : impl_->options.clusters) names.push_back(cluster.name);
  return names;
}

// Creates, releases or resizes the attempt. The answer goes out before the observation, so that the
// dispatcher knows the uid when it sees the state.
void SimulatedBackend::Ensure(const DispatchOrder& order, Callback<RemoteRef> done) {
  if (!impl_->Serves(order.key.cluster))
    return done(NotFound("no simulated member " + order.key.cluster));
  if (!order.permit.Holds()) return done(NotLeading());
  if (!order.expected_uid.empty() && !impl_->Has(order.key, order.expected_uid))
    return done(NotFound("member " + order.key.cluster + " does not have this attempt"));
  RemoteRef ref{"", IncarnationOf(order.key.cluster)};
  const std::int64_t run_time_ms = RunTimeOf(order.object).value_or(impl_->options.run_time_ms);
  {
    MutexLock lock(impl_->mutex);
    const auto [found, fresh] = impl_->attempts.try_emplace(order.key);
    Attempt& attempt = found->second;
    if (fresh) {
      attempt.seen.key = order.key;
      attempt.seen.remote_uid = "simulated-" + std::to_string(++impl_->made);
      attempt.seen.phase = RemotePhase::kSuspended;
      attempt.suspended = true;
      attempt.run_time_ms = run_time_ms;
      for (const PodSetAssignment& pod_set : order.pod_sets)
        attempt.pod_sets.emplace_back(pod_set.name, pod_set.count);
      attempt.scale = order.scale;
    } else {
      Impl::ResizeLocked(order, &attempt);
    }
    if (attempt.suspended && !order.suspended && !Ended(attempt.seen)) impl_->RunLocked(&attempt);
    ref.remote_uid = attempt.seen.remote_uid;
  }
  done(std::move(ref));
  impl_->ReportNow(order.key);
}

// With `keep_logs` the attempt is stopped and stays in the map as cancelled; else it is forgotten.
void SimulatedBackend::Remove(const DispatchKey& key, const RemovePolicy& policy,
                              Callback<RemovalResult> done) {
  RemovalResult removed;
  {
    MutexLock lock(impl_->mutex);
    const auto found = impl_->attempts.find(key);
    const bool ours =
        found != impl_->attempts.end() &&
        (policy.expected_uid.empty() || policy.expected_uid == found->second.seen.remote_uid);
    removed.existed = ours;
    if (ours && policy.keep_logs) {
      Observation& seen = found->second.seen;
      if (!Ended(seen)) {
        seen.phase = RemotePhase::kFailed;
        seen.reason = Reason::kCancelled;
        seen.message = "stopped";
        seen.end_time = impl_->clock.WallNow();
        seen.active_pods = seen.ready_pods = 0;
      }
    } else if (ours) {
      impl_->attempts.erase(found);
    }
  }
  done(removed);
}

void SimulatedBackend::Signal(const DispatchKey& key, const SignalOrder& order,
                              Callback<Done> done) {
  done(impl_->Send(key, "signal " + std::to_string(order.signal)));
}

void SimulatedBackend::Notify(const DispatchKey& key, const std::string& line,
                              Callback<Done> done) {
  done(impl_->Send(key, "line \"" + line + "\""));
}

void SimulatedBackend::List(const std::string& cluster, Callback<std::vector<Observation>> done) {
  std::vector<Observation> all;
  {
    MutexLock lock(impl_->mutex);
    for (const auto& [key, attempt] : impl_->attempts) {
      if (key.cluster == cluster) all.push_back(attempt.seen);
    }
  }
  done(std::move(all));
}

void SimulatedBackend::Start(ObservationSink& sink) {
  {
    MutexLock lock(impl_->mutex);
    impl_->sink = &sink;
    impl_->stopped = false;
    impl_->ArmLocked();
  }
  for (const SimulatedCluster& cluster : impl_->options.clusters) {
    Facts(cluster.name, [&sink](Result<ClusterFacts> facts) {
      if (facts.ok()) sink.OnFacts(std::move(facts).value());
    });
  }
}

void SimulatedBackend::Stop() {
  TimerId timer = 0;
  bool armed = false;
  {
    MutexLock lock(impl_->mutex);
    impl_->sink = nullptr;
    impl_->stopped = true;
    armed = std::exchange(impl_->armed, false);
    timer = impl_->timer;
  }
  if (armed) impl_->timers.Cancel(timer);
  MutexLock delivered(impl_->delivery);
}

void SimulatedBackend::Facts(const std::string& cluster, Callback<ClusterFacts> done) {
  for (const SimulatedCluster& one : impl_->options.clusters) {
    if (one.name != cluster) continue;
    ClusterFacts facts;
    facts.cluster = cluster;
    facts.incarnation = IncarnationOf(cluster);
    facts.allocatable = facts.capacity = one.allocatable;
    facts.node_count = 1;
    facts.message = "simulated: nothing is run";
    return done(std::move(facts));
  }
  done(NotFound("no simulated member " + cluster));
}

Result<std::vector<PodStatus>> SimulatedBackend::Pods(const DispatchKey& key) {
  MutexLock lock(impl_->mutex);
  const auto found = impl_->attempts.find(key);
  if (found == impl_->attempts.end())
    return NotFound("member " + key.cluster + " does not have this attempt");
  const Observation& seen = found->second.seen;
  std::vector<PodStatus> pods;
  for (const auto& [name, count] : found->second.pod_sets) {
    for (std::int32_t index = 0; index < count; ++index) {
      PodStatus pod;
      pod.name = name + "-" + std::to_string(index);
      pod.pod_set = name;
      pod.index = index;
      pod.phase = seen.phase == RemotePhase::kRunning     ? "Running"
                  : seen.phase == RemotePhase::kSucceeded ? "Succeeded"
                  : seen.phase == RemotePhase::kFailed    ? "Failed"
                                                          : "Pending";
      pod.message = found->second.sent;
      pod.exit_code = seen.exit_code;
      pod.start_time = seen.start_time;
      pod.end_time = seen.end_time;
      pods.push_back(std::move(pod));
    }
  }
  return pods;
}

Result<LogChunk> SimulatedBackend::ReadLog(const DispatchKey& key, const LogQuery&) {
  return NotFound("member " + key.cluster + " is simulated and writes no logs");
}

}  // namespace muster::simulated

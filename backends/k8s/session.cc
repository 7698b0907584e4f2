// Session: its life, its timer, its facts, and small services for the calls. session_connect.cc
// holds the way to a ready session, session_follow.cc the reports and lists.
//
// A session is made and closed by the backend's keeper thread; between the two everything runs on
// the strand of its ApiClient, one callback at a time. Close posts End to the strand and waits for
// it, so that no callback is left when the client stops: lists fail, delayed work runs at once and
// sees closed().
//
// Tick, once a second, probes the member when that is due, looks for kinds that were not installed,
// asks for a new session while the member cannot be used, and tells the facts. Facts go to the sink
// when they have changed and at least once per heartbeat period; the heartbeat's age is what
// `muster cluster describe` shows. When a member becomes healthy again, OnGap follows, because
// changes may have been missed.
#include "backends/k8s/session.h"

#include <algorithm>
#include <future>
#include <utility>

#include "schedd/telemetry/log.h"

namespace muster::k8s {
namespace {

constexpr std::int64_t kTickMs = 1000;
// A lost member is found within seconds, however long the heartbeat period is.
constexpr std::int64_t kProbeAtLeastEvery = 10 * kNanosPerSecond;
// Ticks come a little early or late; half a tick keeps a period from being missed by that.
constexpr std::int64_t kTickSlack = kTickMs * kNanosPerMilli / 2;
// How often missing kinds are looked for.
constexpr std::int64_t kDiscoverEvery = 60 * kNanosPerSecond;
// How often the kubeconfig of a member that cannot be used is read again.
constexpr std::int64_t kRenewEvery = 5 * kNanosPerSecond;
// Half of a member's usual connections.
constexpr std::size_t kQuietRequests = 4;
// Trouble that is shorter is not shown: reopening a stream takes a moment.
constexpr std::int64_t kTroubleShown = 3 * kNanosPerSecond;

// Whether two facts are equal in all but their time.
bool Same(const ClusterFacts& a, const ClusterFacts& b) {
  const bool same_kinds =
      a.kinds == nullptr || b.kinds == nullptr ? a.kinds == b.kinds : *a.kinds == *b.kinds;
  return same_kinds && a.incarnation == b.incarnation && a.healthy == b.healthy &&
         a.answers == b.answers && a.message == b.message && a.allocatable == b.allocatable &&
         a.capacity == b.capacity && a.used_by_others == b.used_by_others &&
         a.node_count == b.node_count && a.version == b.version && a.machines == b.machines;
}

}  // namespace

Session::Session(const ClientEnvironment& environment, SessionOptions options,
                 ObservationSink& sink, std::function<void(Renewal)> renew)
    : environment_(environment),
      options_(std::move(options)),
      sink_(sink),
      renew_(std::move(renew)),
      heartbeat_(SecondsToNanos(options_.heartbeat_s)) {
  facts_.cluster = options_.member;
  facts_.labels = options_.labels;
  facts_.healthy = false;
  facts_.message = trouble_;
}

SessionPtr Session::Make(const ClientEnvironment& environment, MemberAccess access,
                         SessionOptions options, ObservationSink& sink,
                         std::function<void(Renewal)> renew) {
  SessionPtr session(new Session(environment, std::move(options), sink, std::move(renew)));
  ApiClientOptions client;
  client.member = session->options_.member;
  if (session->options_.connections > 0) client.connections = session->options_.connections;
  client.lead = environment.lead;
  client.on_health = [weak = session->weak_from_this()](const ApiHealth&) {
    if (const SessionPtr self = weak.lock()) self->TellFacts();
  };
  session->client_ = MakeApiClient(environment, std::move(access), std::move(client));
  {
    const MutexLock lock(session->door_->mutex);
    session->door_->client = session->client_.get();
  }
  session->client_->Post([session] {
    session->Connect();
    session->Tick();
  });
  return session;
}

void Session::Close() {
  std::promise<void> ended;
  client_->Post([this, &ended] {
    End();
    ended.set_value();
  });
  ended.get_future().wait();
  {
    MutexLock lock(door_->mutex);
    door_->client = nullptr;
  }
  client_->Stop();
  slots_.clear();
}

// On the strand: answers everything that waits, so that no callback comes later.
void Session::End() {
  closed_ = true;
  ready_ = false;
  trouble_ = "its session has ended";
  for (Slot& slot : slots_) {
    if (slot.reflector != nullptr) slot.reflector->Stop();
  }
  FailQuestions(Unavailable("member cluster " + options_.member + " is being connected anew"));
  while (!delayed_.empty()) {
    const auto work = std::move(delayed_.begin()->second);
    delayed_.erase(delayed_.begin());
    work();
  }
  wakes_.clear();
  objects_.reset();
  RunQuiet();
}

std::shared_ptr<AttemptCache> Session::cache() const {
  MutexLock lock(mutex_);
  return shown_cache_;
}

ClusterFacts Session::facts() const {
  MutexLock lock(mutex_);
  return facts_;
}

void Session::List(Callback<std::vector<Observation>> done) {
  if (!client_->Post([self = shared_from_this(), done] { self->Ask(done); }))
    done(Unavailable("member cluster " + options_.member + " is being connected anew"));
}

void Session::SetHeartbeat(std::int64_t seconds) {
  client_->Post(
      [self = shared_from_this(), seconds] { self->heartbeat_ = SecondsToNanos(seconds); });
}

void Session::SetRemark(std::string remark) {
  client_->Post([self = shared_from_this(), remark = std::move(remark)] {
    self->remark_ = remark;
    self->TellFacts();
  });
}

void Session::NoteMissing(const Permission& right) {
  rights_.Note(right);
  TellFacts();
}

std::optional<Error> Session::Down() const {
  if (ready_) return std::nullopt;
  return Away(trouble_);
}

Error Session::Away(const std::string& trouble) const {
  if (trouble.starts_with("member " + options_.member)) return Unavailable(trouble);
  return Unavailable("member cluster " + options_.member + ": " + trouble);
}

std::optional<Error> Session::Lacks(const KindInfo& kind) const {
  for (const Slot& slot : slots_) {
    if (slot.kind != &kind) continue;
    if (slot.absent.empty()) return std::nullopt;
    return Error{Code::kFailedPrecondition, slot.absent};
  }
  return Error{Code::kFailedPrecondition, "it does not run the kind " + std::string(kind.kind)};
}

// The timer's thread only posts to the strand, through door_, which Close empties. The work is kept
// in delayed_, so that End can run it early.
void Session::Later(std::int64_t ms, std::function<void()> work) {
  if (closed_) return work();
  const std::uint64_t id = next_delayed_++;
  delayed_[id] = std::move(work);
  environment_.timers.At(environment_.clock.Now() + MillisToNanos(ms),
                         [weak = weak_from_this(), door = door_, id] {
    MutexLock lock(door->mutex);
    if (door->client == nullptr) return;
    door->client->Post([weak, id] {
      const SessionPtr self = weak.lock();
      if (self == nullptr) return;
      const auto found = self->delayed_.find(id);
      if (found == self->delayed_.end()) return;
      const auto due = std::move(found->second);
      self->delayed_.erase(found);
      due();
    });
  });
}

// Remembers a created object until a reflector reports it: List must not answer from the cache
// before.
void Session::NoteMade(const ObjectState& made) {
  if (cache_ != nullptr && cache_->VersionOf(made.uid)) return;
  made_[made.uid] = {made.resource_version, made.generation};
}

std::optional<ObjectVersion> Session::VersionOf(const std::string& uid) const {
  if (cache_ != nullptr) {
    if (auto cached = cache_->VersionOf(uid)) return cached;
  }
  const auto made = made_.find(uid);
  if (made == made_.end()) return std::nullopt;
  return made->second;
}

void Session::WhenQuiet(QuietWork work) {
  quiet_.push_back(std::move(work));
  RunQuiet();
}

// Starts waiting work while fewer than kQuietRequests requests are under way. One piece always
// runs, so that acknowledgements end even if jobs never cease to come.
void Session::RunQuiet() {
  // Work that ends at once calls this again; the loop below goes on for it.
  if (std::exchange(starting_quiet_, true)) return;
  while (!quiet_.empty() && (closed_ || quiet_running_ == 0 || client_->Held() < kQuietRequests)) {
    const QuietWork work = std::move(quiet_.front());
    quiet_.pop_front();
    ++quiet_running_;
    work([self = shared_from_this()] {
      --self->quiet_running_;
      self->RunQuiet();
    });
  }
  starting_quiet_ = false;
}

// The returned token's deleter removes the entry, if the session still lives.
std::shared_ptr<void> Session::OnDeleted(const std::string& uid, std::function<void()> wake) {
  const std::uint64_t id = next_wake_++;
  wakes_[uid][id] = std::move(wake);
  return std::shared_ptr<void>(nullptr, [weak = weak_from_this(), uid, id](void*) {
    const SessionPtr self = weak.lock();
    if (self == nullptr) return;
    const auto found = self->wakes_.find(uid);
    if (found == self->wakes_.end()) return;
    found->second.erase(id);
    if (found->second.empty()) self->wakes_.erase(found);
  });
}

// Runs once a second until the session is closed.
void Session::Tick() {
  if (closed_) return;
  const Monotonic now = environment_.clock.Now();
  const std::int64_t probe_every = std::min(heartbeat_, kProbeAtLeastEvery) - kTickSlack;
  if (ready_ && !probing_ && now - last_probe_ >= probe_every) {
    Probe([this](std::optional<Error>) { TellFacts(); });
  }
  if (ready_ && now - last_discovery_ >= kDiscoverEvery) DiscoverAgain();
  const auto granted = [self = shared_from_this()] { self->TellFacts(); };
  if (ready_) rights_.AskAgain(*client_, now, probe_every, granted);
  // The kubeconfig may lead elsewhere by now, or have other credentials.
  const bool usable = Answers() && rights_.empty();
  if (!usable && now - last_renewal_ >= kRenewEvery) {
    last_renewal_ = now;
    renew_(Renewal::kUnusable);
  }
  TellFacts();
  Later(kTickMs, [self = shared_from_this()] { self->Tick(); });
}

// Whether the session is ready, the last probe succeeded, the client reaches the API server, and no
// collection that counts has been in trouble for longer than kTroubleShown. The member is healthy
// if no permission was found missing besides.
bool Session::Answers() const {
  if (!ready_ || !probe_trouble_.empty() || !client_->Health().reachable) return false;
  const Monotonic now = environment_.clock.Now();
  for (const Slot& slot : slots_) {
    if (slot.optional) continue;
    if (!slot.trouble.empty() && now - slot.trouble_since >= kTroubleShown) return false;
  }
  return true;
}

std::string Session::Message() const {
  return Standing() + (remark_.empty() ? "" : "; " + remark_);
}

// The sentence of the facts: the first trouble found, else version, nodes and what is missing.
std::string Session::Standing() const {
  const ApiHealth health = client_->Health();
  std::string since;
  if (last_answer_.set()) since = " (last answer " + FormatRfc3339(last_answer_) + ")";
  if (!health.reachable) return health.trouble + since;
  if (!ready_) return trouble_;
  if (!probe_trouble_.empty()) return probe_trouble_ + since;
  if (!rights_.empty()) return rights_.Sentence();
  std::string absent, unseen;
  for (const Slot& slot : slots_) {
    if (slot.optional) {
      if (!slot.listed) {
        unseen = "; pods of others cannot be seen: their room counts as free";
      } else if (!slot.trouble.empty() &&
                 environment_.clock.Now() - slot.trouble_since >= kTroubleShown) {
        unseen = "; pods of others are not followed: they count as last seen";
      }
      continue;
    }
    if (!slot.trouble.empty()) return slot.trouble;
    if (slot.absent.empty()) continue;
    absent += (absent.empty() ? "; without " : ", ") + std::string(slot.kind->kind);
  }
  return "Kubernetes " + version_ + ", " + std::to_string(nodes_.usable()) + " of " +
         std::to_string(nodes_.nodes()) + " nodes take pods" + absent + unseen;
}

// The member's facts as of now. `observed_at` is the time of its last answer, not of this call.
ClusterFacts Session::FactsNow() {
  nodes_.Sum(&loads_);
  ClusterFacts now;
  now.cluster = options_.member;
  now.incarnation = incarnation_;
  now.labels = options_.labels;
  now.allocatable = nodes_.allocatable();
  now.capacity = nodes_.capacity();
  now.used_by_others = nodes_.used_by_others();
  now.machines = nodes_.machines();
  if (now.machines != nullptr) now.node_count = static_cast<std::int32_t>(nodes_.nodes());
  now.version = version_;
  now.answers = Answers();
  now.healthy = now.answers && rights_.empty();
  now.observed_at = last_answer_;
  // Before discovery the kinds are not known.
  if (cache_ == nullptr) return now;
  std::vector<std::string> kinds;
  for (const Slot& slot : slots_) {
    if (slot.kind != nullptr && slot.absent.empty()) kinds.emplace_back(slot.kind->kind);
  }
  std::sort(kinds.begin(), kinds.end());
  now.kinds = std::make_shared<const std::vector<std::string>>(std::move(kinds));
  return now;
}

void Session::TellFacts() {
  if (closed_) return;
  ClusterFacts now = FactsNow();
  // During a disturbance that is too short to be shown the message stays as it was.
  const ClusterFacts before = facts();
  now.message = now.healthy && before.healthy && !Synced() ? before.message : Message();
  const Monotonic at = environment_.clock.Now();
  const bool same = Same(now, before);
  {
    MutexLock lock(mutex_);
    facts_ = now;
  }
  // Unchanged facts are sent again once per period, for their time: that is the heartbeat.
  if (same && at - last_facts_ < heartbeat_ - kTickSlack) return;
  last_facts_ = at;
  const bool back = now.healthy && !was_healthy_;
  was_healthy_ = now.healthy;
  if (now.healthy != before.healthy) {
    Log(now.healthy ? LogLevel::kInfo : LogLevel::kWarning, "k8s",
        now.healthy ? "member_healthy" : "member_unhealthy",
        {{"cluster", options_.member}, {"message", now.message}});
  }
  sink_.OnFacts(std::move(now));
  if (back) sink_.OnGap(options_.member);
}

}  // namespace muster::k8s

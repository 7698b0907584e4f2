// KubernetesBackend: the entry point of the room. It finds the member that a call is for, takes
// that member's session, and starts the call on the session's strand.
//
// Threads. A keeper thread makes and ends sessions, because that reads files and waits; AddMember,
// Stop and the like run on it and block their caller (OnKeeper). Calls about attempts never wait
// for the keeper: they take the present session under a shared lock and post to its strand
// (OnStrand). If no session is there, or it has just ended, the answer is kUnavailable, and the
// dispatcher tries again. Only the blocking calls (Pods, Events, ReadLog, Ask) run on the caller's
// thread.
#include "backends/k8s/k8s_backend.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <deque>
#include <functional>
#include <future>
#include <map>
#include <thread>
#include <utility>

#include "backends/k8s/client/io_threads.h"
#include "backends/k8s/copy_calls.h"
#include "backends/k8s/ensure_call.h"
#include "backends/k8s/member.h"
#include "backends/k8s/member_check.h"
#include "backends/k8s/object_apply.h"
#include "backends/k8s/object_book.h"
#include "backends/k8s/object_removal.h"
#include "backends/k8s/pod_events.h"
#include "backends/k8s/pod_logs.h"
#include "backends/k8s/presence.h"
#include "backends/k8s/removal.h"
#include "schedd/base/bounded_queue.h"
#include "schedd/base/mutex.h"

namespace muster::k8s {
namespace {

constexpr std::chrono::seconds kKeeperRound{10};

class KubernetesBackend final : public KubernetesMembers {
 public:
  explicit KubernetesBackend(KubernetesOptions options)
      : environment_{*options.clock, *options.timers, *options.random, io_,
                     std::move(options.lead)},
        instance_id_(std::move(options.instance_id)),
        logs_(*options.clock),
        tasks_(std::make_shared<Tasks>(0)) {
    for (MemberOptions& one : options.members) {
      const std::string name = one.name;
      members_.emplace(name, Make(std::move(one)));
    }
    keeper_ = std::thread([this] { Keep(); });
  }

  ~KubernetesBackend() override {
    Stop();
    stopping_ = true;
    tasks_->Close();
    keeper_.join();
  }

  std::vector<std::string> Clusters() const override {
    std::vector<std::string> names;
    for (const auto& [name, member] : Members()) names.push_back(name);
    return names;
  }

  // For an unknown member the careful answer: create suspended.
  bool CreatesSuspended(const std::string& cluster) const override {
    const MemberPtr member = Find(cluster);
    return member == nullptr || !member->options().fast;
  }

  // Connects all members. Reading their kubeconfigs blocks, so it runs on the keeper.
  void Start(ObservationSink& sink) override {
    OnKeeper([this, &sink] {
      sink_ = &sink;
      for (const auto& [name, member] : Members()) member->Start(sink);
    });
  }

  void Stop() override {
    OnKeeper([this] {
      sink_ = nullptr;
      for (const auto& [name, member] : Members()) member->Stop();
    });
  }

  // The new member takes the name before the old one is stopped, so no call finds the name missing.
  void AddMember(MemberOptions options) override {
    OnKeeper([this, &options] {
      const std::string name = options.name;
      const MemberPtr member = Make(std::move(options));
      MemberPtr before = Find(name);
      {
        WriterLock lock(mutex_);
        members_[name] = member;
      }
      if (before != nullptr) before->Stop();
      // Another cluster may have the name by now, with another version of Kueue.
      versions_->Note(name, std::nullopt);
      if (sink_ != nullptr) member->Start(*sink_);
    });
  }

  void DropMember(const std::string& name) override {
    OnKeeper([this, &name] {
      const MemberPtr member = Find(name);
      if (member == nullptr) return;
      {
        WriterLock lock(mutex_);
        members_.erase(name);
      }
      member->Stop();
    });
  }

  void ReloadMember(const std::string& name) override {
    OnKeeper([this, &name] {
      if (const MemberPtr member = Find(name)) member->Reload();
    });
  }

  void SetHeartbeat(const std::string& name, std::int64_t seconds) override {
    OnKeeper([this, &name, seconds] {
      if (const MemberPtr member = Find(name)) member->SetHeartbeat(seconds);
    });
  }

  // Examines a cluster that is to become a member; one that is a member under another name is a
  // problem.
  Result<MemberReport> Ask(const MemberDeclaration& member) override {
    KubeconfigOptions wanted;
    wanted.context = member.context;
    wanted.inline_only = true;
    auto access = ParseKubeconfig(member.kubeconfig, "/", wanted);
    if (!access.ok()) {
      Error error = access.error();
      error.fields.push_back({"kubeconfig", error.detail});
      return error;
    }
    MemberReport report = CheckMember(environment_, std::move(access).value(), member.name);
    for (const auto& [name, other] : Members()) {
      if (!report.incarnation.empty() && other->facts().incarnation == report.incarnation)
        report.problems.push_back("it is member cluster " + name + " already");
    }
    return report;
  }

  void Ensure(const DispatchOrder& order, Callback<RemoteRef> done) override {
    auto session = SessionOf(order.key.cluster);
    if (!session.ok()) return done(session.error());
    OnStrand<RemoteRef>(*session, std::move(done), [order](const SessionPtr& on, auto answer) {
      EnsureObject(on, order, std::move(answer));
    });
  }

  void Remove(const DispatchKey& key, const RemovePolicy& policy,
              Callback<RemovalResult> done) override {
    auto session = SessionOf(key.cluster);
    if (!session.ok()) return done(session.error());
    RemovalOrder order;
    order.attempt = {key.job_uid, key.attempt};
    order.object = policy.object;
    order.expected_uid = policy.expected_uid;
    order.grace_period_s = policy.grace_period_s;
    OnStrand<RemovalResult>(*session, std::move(done),
                            [order = std::move(order)](const SessionPtr& on, auto answer) {
      RemoveObject(on, order, std::move(answer));
    });
  }

  // True also while it is not known, so that the first call asks the member.
  bool RunsQueue(const std::string& cluster) const override {
    return Find(cluster) != nullptr && versions_->Of(cluster) != std::optional<std::string>("");
  }

  void EnsureCopy(const CopyOrder& order, Callback<Done> done) override {
    auto session = SessionOf(order.key.cluster);
    if (!session.ok()) return done(session.error());
    OnStrand<Done>(*session, std::move(done),
                   [order, versions = versions_](const SessionPtr& on, auto answer) {
      EnsureCopyOn(on, versions, order, std::move(answer));
    });
  }

  void RemoveCopy(const CopyRemoval& removal, Callback<Done> done) override {
    auto session = SessionOf(removal.cluster);
    if (!session.ok()) return done(session.error());
    OnStrand<Done>(*session, std::move(done),
                   [removal, versions = versions_](const SessionPtr& on, auto answer) {
      RemoveCopyOn(on, versions, removal, std::move(answer));
    });
  }

  void ListCopies(const std::string& cluster, Callback<std::vector<MemberCopy>> done) override {
    auto session = SessionOf(cluster);
    if (!session.ok()) return done(session.error());
    OnStrand<std::vector<MemberCopy>>(*session, std::move(done),
                                      [versions = versions_](const SessionPtr& on, auto answer) {
      ListCopiesOn(on, versions, std::move(answer));
    });
  }

  bool TakesObjects(const std::string& cluster) const override { return Find(cluster) != nullptr; }

  void Apply(const ObjectOrder& order, Callback<ObjectOutcome> done) override {
    auto session = SessionOf(order.cluster);
    if (!session.ok()) return done(session.error());
    OnStrand<ObjectOutcome>(*session, std::move(done),
                            [this, order](const SessionPtr& on, auto answer) {
      OpenBook(on);
      ApplyObject(on, order, std::move(answer));
    });
  }

  void Remove(const ObjectRemoval& removal, Callback<bool> done) override {
    auto session = SessionOf(removal.cluster);
    if (!session.ok()) return done(session.error());
    OnStrand<bool>(*session, std::move(done), [this, removal](const SessionPtr& on, auto answer) {
      OpenBook(on);
      RemoveObjectOf(on, removal, std::move(answer));
    });
  }

  void Listen(std::function<void(const std::string& cluster)> changed) override {
    listener_->Set(std::move(changed));
  }

  void Acknowledge(const DispatchKey& key, const RemoteObject& object, const std::string& uid,
                   Callback<Done> done) override {
    auto session = SessionOf(key.cluster);
    if (!session.ok()) return done(session.error());
    OnStrand<Done>(*session, std::move(done), [object, uid](const SessionPtr& on, auto answer) {
      if (const auto down = on->Down()) return answer(*down);
      // No caller waits for an acknowledgement, so requests that start or stop jobs go first.
      on->WhenQuiet([on, object, uid, answer](const std::function<void()>& over) {
        LetGo(on, object, uid, [answer, over](Result<Done> result) {
          answer(std::move(result));
          over();
        });
      });
    });
  }

  void Confirm(const DispatchKey& key, const RemoteObject& object, const std::string& uid,
               Callback<Presence> done) override {
    auto session = SessionOf(key.cluster);
    if (!session.ok()) return done(session.error());
    const AttemptLabels attempt{key.job_uid, key.attempt};
    OnStrand<Presence>(*session, std::move(done),
                       [attempt, object, uid](const SessionPtr& on, auto answer) {
      ConfirmObject(on, attempt, object, uid, std::move(answer));
    });
  }

  void List(const std::string& cluster, Callback<std::vector<Observation>> done) override {
    auto session = SessionOf(cluster);
    if (!session.ok()) return done(session.error());
    (*session)->List(std::move(done));
  }

  void Facts(const std::string& cluster, Callback<ClusterFacts> done) override {
    const MemberPtr member = Find(cluster);
    if (member == nullptr) return done(NotFound("no Kubernetes member " + cluster));
    done(member->facts());
  }

  Result<std::vector<PodStatus>> Pods(const DispatchKey& key) override {
    auto attempt = AttemptOf(key);
    if (!attempt.ok()) return attempt.error();
    std::vector<PodStatus> out;
    for (const PodState& pod : attempt->pods) out.push_back(ToPodStatus(pod));
    return out;
  }

  Result<std::vector<MemberEvent>> Events(const DispatchKey& key) override {
    auto attempt = AttemptOf(key);
    if (!attempt.ok()) return attempt.error();
    return ReadEvents(attempt->session, attempt->object, attempt->pods);
  }

  // Without a pod in the query the first pod is read, without a container the pod's first one.
  Result<LogChunk> ReadLog(const DispatchKey& key, const LogQuery& query) override {
    auto attempt = AttemptOf(key);
    if (!attempt.ok()) return attempt.error();
    if (attempt->pods.empty()) {
      return Error{Code::kFailedPrecondition,
                   "no pod of the attempt is on member cluster " + key.cluster};
    }
    const auto pod = query.pod.empty()
                         ? attempt->pods.begin()
                         : std::find_if(attempt->pods.begin(), attempt->pods.end(),
                                        [&](const PodState& one) { return one.name == query.pod; });
    if (pod == attempt->pods.end()) return NotFound("the attempt has no pod " + query.pod);
    const std::vector<std::string>& containers = pod->containers;
    std::string container = query.container;
    if (container.empty() && !containers.empty()) container = containers.front();
    if (std::find(containers.begin(), containers.end(), container) == containers.end())
      return NotFound("pod " + pod->name + " has no container " + query.container);
    return logs_.Read(attempt->session, *pod, container, query);
  }

 private:
  using Tasks = BoundedQueue<std::function<void()>>;
  // Shared with the calls that have found the member and still use it.
  using MemberPtr = std::shared_ptr<Member>;
  // An attempt's object and pods, as the cache has them.
  struct Attempt {
    SessionPtr session;
    ObjectState object;
    std::vector<PodState> pods;
  };

  MemberPtr Make(MemberOptions options) {
    auto member = std::make_shared<Member>(
        environment_, std::move(options), instance_id_,
        [tasks = tasks_](std::function<void()> work) { tasks->PushAlways(std::move(work)); });
    member->OnSessionEnd([this](const Session* session) { logs_.Forget(session); });
    return member;
  }

  MemberPtr Find(const std::string& cluster) const {
    ReaderLock lock(mutex_);
    const auto found = members_.find(cluster);
    return found == members_.end() ? nullptr : found->second;
  }

  std::map<std::string, MemberPtr> Members() const {
    ReaderLock lock(mutex_);
    return members_;
  }

  // The member's present session. kUnavailable, which the dispatcher tries again, also for an
  // unknown name: that member may be about to be added or removed.
  Result<SessionPtr> SessionOf(const std::string& cluster) const {
    const MemberPtr member = Find(cluster);
    if (member == nullptr) return Unavailable("no Kubernetes member " + cluster);
    std::string trouble;
    SessionPtr session = member->session(&trouble);
    if (session == nullptr) return Unavailable("member cluster " + cluster + ": " + trouble);
    return session;
  }

  // On the strand: makes the session's ObjectBook for the first call about configuration objects.
  void OpenBook(const SessionPtr& on) {
    if (on->objects() == nullptr && !on->closed())
      on->objects() = std::make_shared<ObjectBook>(*on, environment_, listener_);
  }

  // Runs call(session, done) on the session's strand. If the session has just ended, `done` gets
  // kUnavailable here.
  template <class T, class Call>
  static void OnStrand(const SessionPtr& on, Callback<T> done, Call call) {
    if (!on->client().Post([on, call = std::move(call), done] { call(on, done); }))
      done(Unavailable("member cluster " + on->member() + " is being connected anew"));
  }

  // The attempt from the session's cache, for the blocking calls.
  Result<Attempt> AttemptOf(const DispatchKey& key) const {
    auto session = SessionOf(key.cluster);
    if (!session.ok()) return session.error();
    const auto cache = (*session)->cache();
    const AttemptLabels labels{key.job_uid, key.attempt};
    auto object = cache == nullptr ? std::nullopt : cache->FindAttempt(labels);
    if (!object) {
      const ClusterFacts facts = (*session)->facts();
      if (!facts.healthy)
        return Unavailable("member cluster " + key.cluster + ": " + facts.message);
      return NotFound("member " + key.cluster + " does not have this attempt");
    }
    std::vector<PodState> pods = cache->PodsOf(labels, object->ns);
    return Attempt{std::move(*session), std::move(*object), std::move(pods)};
  }

  // The keeper thread: makes and ends sessions, so that no other thread reads files or waits for a
  // session's end, and closes idle log streams.
  void Keep() {
    std::deque<std::function<void()>> work;
    while (!stopping_) {
      tasks_->PopAll(&work, kKeeperRound);
      for (auto& one : work) one();
      work.clear();
      logs_.CloseIdle();
    }
  }

  // Runs `work` on the keeper thread and waits for it. Must not be called on that thread.
  void OnKeeper(std::function<void()> work) {
    std::promise<void> done;
    tasks_->PushAlways([&] {
      work();
      done.set_value();
    });
    done.get_future().wait();
  }

  IoThreads io_;
  const ClientEnvironment environment_;
  const std::string instance_id_;
  const std::shared_ptr<ObjectListener> listener_ = std::make_shared<ObjectListener>();
  const QueueVersionsPtr versions_ = std::make_shared<QueueVersions>();
  PodLogs logs_;
  // Shared with timers that fire later.
  std::shared_ptr<Tasks> tasks_;
  mutable SharedMutex mutex_;
  // Only the keeper thread changes it.
  std::map<std::string, MemberPtr> members_ MUSTER_GUARDED_BY(mutex_);
  // Used by the keeper thread alone; null while stopped.
  ObservationSink* sink_ = nullptr;
  std::atomic<bool> stopping_{false};
  std::thread keeper_;
};

}  // namespace

std::unique_ptr<KubernetesMembers> MakeKubernetesBackend(KubernetesOptions options) {
  return std::make_unique<KubernetesBackend>(std::move(options));
}

}  // namespace muster::k8s

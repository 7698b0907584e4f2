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

#include "backends/k8s/ensure_call.h"
#include "backends/k8s/io_threads.h"
#include "backends/k8s/member.h"
#include "backends/k8s/pod_events.h"
#include "backends/k8s/pod_logs.h"
#include "backends/k8s/removal.h"
#include "schedd/base/bounded_queue.h"

namespace muster::k8s {
namespace {

constexpr std::chrono::seconds kKeeperRound{10};

class KubernetesBackend final : public Backend {
 public:
  explicit KubernetesBackend(KubernetesOptions options)
      : environment_{*options.clock, *options.timers, *options.random, io_},
        logs_(*options.clock),
        tasks_(std::make_shared<Tasks>(0)) {
    const auto ask = [tasks = tasks_](std::function<void()> work) {
      tasks->PushAlways(std::move(work));
    };
    for (MemberOptions& one : options.members) {
      const std::string name = one.name;
      auto member =
          std::make_unique<Member>(environment_, std::move(one), options.instance_id, ask);
      member->OnSessionEnd([this](const Session* session) { logs_.Forget(session); });
      members_.emplace(name, std::move(member));
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
    for (const auto& [name, member] : members_) names.push_back(name);
    return names;
  }

  bool CreatesSuspended(const std::string& cluster) const override {
    const auto found = members_.find(cluster);
    return found == members_.end() || !found->second->options().fast;
  }

  void Start(ObservationSink& sink) override {
    OnKeeper([this, &sink] {
      for (auto& [name, member] : members_) member->Start(sink);
    });
  }

  void Stop() override {
    OnKeeper([this] {
      for (auto& [name, member] : members_) member->Stop();
    });
  }

  void Ensure(const DispatchOrder& order, Callback<RemoteRef> done) override {
    auto session = SessionOf(order.key.cluster);
    if (!session.ok()) return done(session.error());
    OnStrand<RemoteRef>(*session, std::move(done), [order](const SessionPtr& on, auto answer) {
      EnsureObject(on, order, std::move(answer));
    });
  }

  void Remove(const DispatchKey& key, const RemovePolicy& policy, Callback<Removed> done) override {
    auto session = SessionOf(key.cluster);
    if (!session.ok()) return done(session.error());
    RemovalOrder order;
    order.attempt = {key.job_uid, key.attempt};
    order.object = policy.object;
    order.expected_uid = policy.expected_uid;
    order.grace_period_s = policy.grace_period_s;
    OnStrand<Removed>(*session, std::move(done),
                      [order = std::move(order)](const SessionPtr& on, auto answer) {
                        RemoveObject(on, order, std::move(answer));
                      });
  }

  void Acknowledge(const DispatchKey& key, const RemoteObject& object, const std::string& uid,
                   Callback<Done> done) override {
    auto session = SessionOf(key.cluster);
    if (!session.ok()) return done(session.error());
    OnStrand<Done>(*session, std::move(done), [object, uid](const SessionPtr& on, auto answer) {
      if (const auto down = on->Down()) return answer(*down);
      // Nobody waits for it: what starts jobs, or stops them, goes first.
      on->WhenQuiet([on, object, uid, answer](const std::function<void()>& over) {
        LetGo(on, object, uid, [answer, over](Result<Done> result) {
          answer(std::move(result));
          over();
        });
      });
    });
  }

  void List(const std::string& cluster, Callback<std::vector<Observation>> done) override {
    auto session = SessionOf(cluster);
    if (!session.ok()) return done(session.error());
    (*session)->List(std::move(done));
  }

  void Facts(const std::string& cluster, Callback<ClusterFacts> done) override {
    const auto found = members_.find(cluster);
    if (found == members_.end()) return done(NotFound("no Kubernetes member " + cluster));
    done(found->second->facts());
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
  struct Attempt {
    SessionPtr session;
    ObjectState object;
    std::vector<PodState> pods;
  };

  Result<SessionPtr> SessionOf(const std::string& cluster) const {
    const auto found = members_.find(cluster);
    if (found == members_.end()) return NotFound("no Kubernetes member " + cluster);
    std::string trouble;
    SessionPtr session = found->second->session(&trouble);
    if (session == nullptr) return Unavailable("member cluster " + cluster + ": " + trouble);
    return session;
  }

  /// Runs call(session, done) on the session's strand; a session that has just ended answers.
  template <class T, class Call>
  static void OnStrand(const SessionPtr& on, Callback<T> done, Call call) {
    if (!on->client().Post([on, call = std::move(call), done] { call(on, done); }))
      done(Unavailable("member cluster " + on->member() + " is being connected anew"));
  }

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

  // The keeper makes and ends sessions: reading files and waiting for an end is nobody else's.
  void Keep() {
    std::deque<std::function<void()>> work;
    while (!stopping_) {
      tasks_->PopAll(&work, kKeeperRound);
      for (auto& one : work) one();
      work.clear();
      logs_.CloseIdle();
    }
  }

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
  PodLogs logs_;
  std::shared_ptr<Tasks> tasks_;  // shared with timers that are still to come
  std::map<std::string, std::unique_ptr<Member>> members_;  // fixed
  std::atomic<bool> stopping_{false};
  std::thread keeper_;
};

}  // namespace

std::unique_ptr<Backend> MakeKubernetesBackend(KubernetesOptions options) {
  return std::make_unique<KubernetesBackend>(std::move(options));
}

}  // namespace muster::k8s

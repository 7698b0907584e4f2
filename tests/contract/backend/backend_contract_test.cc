// The contract of backends/backend.h, for every backend that can be made here.
#include <signal.h>

#include <algorithm>
#include <set>

#include "backends/k8s/k8s_backend.h"
#include "backends/launcher/launcher_backend.h"
#include "backends/launcher/launcher_server.h"
#include "backends/local/local_backend.h"
#include "backends/simulated/simulated_backend.h"
#include "tests/contract/backend/backend_fixture.h"
#include "tests/support/fake_member/fake_member.h"

namespace muster::testing {
namespace {

/// What the pod of an attempt does, in two forms: as a script for backends whose pods are
/// processes, and as annotations for backends whose pods are simulated (those of tests/kubebed).
struct Work {
  std::string script;
  std::string life;  // annotations, as JSON members; "": the pod runs until it is removed
};
const Work kShort{"sleep 0.2", R"("bed.test/run":"200ms")"};
const Work kAtOnce{"true", R"("bed.test/run":"0s")"};
const Work kLasting{"sleep 600", ""};
const Work kExits3{"exit 3", R"("bed.test/fail":"0s","bed.test/exit-code":"3")"};
Work Prints(const std::string& line, const Work& then) {
  return {"echo " + line + "; " + then.script,
          R"("bed.test/log":")" + line + '"' + (then.life.empty() ? "" : ",") + then.life};
}

/// Makes one backend, and makes it again on the same state.
class BackendFactory {
 public:
  virtual ~BackendFactory() = default;
  virtual std::unique_ptr<Backend> Make() = 0;
  /// A backend whose Jobs run until they are removed, provided that they sleep long enough.
  virtual std::unique_ptr<Backend> MakeLasting() { return Make(); }
  virtual bool keeps_state() const = 0;  // a new backend object finds the running attempts again
  virtual bool keeps_logs() const = 0;
  /// A stopped attempt can be kept on the member cluster as a record.
  virtual bool keeps_records() const { return true; }
  /// Processes of its attempts can be sent signals, and lines for their output.
  virtual bool takes_signals() const { return false; }
  /// Its attempts are processes, which do something at a signal and have an output.
  virtual bool runs_processes() const { return false; }
  /// Work that prints `first`, waits for Go, prints `then` and succeeds.
  virtual Work Waiting(const std::string& first, const std::string& then) = 0;
  virtual void Go(Backend& backend, const DispatchKey& key) = 0;
};

constexpr char kInstance[] = "contract";
constexpr char kSuspended[] = R"("suspend":true,)";  // the suspended form comes rendered

/// A Job of one pod, as schedd/shapes renders it: with the labels that name its attempt.
DispatchOrder JobOf(const DispatchKey& key, const Work& work, const std::string& more_spec = "") {
  const std::string uid = key.job_uid.ToString();
  const std::string labels = R"("muster.io/instance":")" + std::string(kInstance) +
                             R"(","muster.io/job-uid":")" + uid + R"(","muster.io/attempt":")" +
                             std::to_string(key.attempt) + '"';
  return ShellJob(key, work.script, 1, more_spec,
                  R"("labels":{)" + labels + R"(,"muster.io/pod-set":"main"},"annotations":{)" +
                      work.life + "}",
                  "shell-" + uid.substr(0, 8), labels);
}

class LocalFactory : public BackendFactory {
 public:
  std::unique_ptr<Backend> Make() override {
    LocalOptions options;
    options.state_dir = directory_.path() + "/state";
    options.supervisor_path = MUSTER_SUPERVISOR;
    options.clusters = {{"alpha", {{"nvidia.com/gpu", 8}}, {{"zone", "a"}}}, {"beta", {}, {}}};
    options.clock = &clock_;
    options.timers = &timers_;
    options.random = &random_;
    Result<std::unique_ptr<Backend>> backend = MakeLocalBackend(options);
    EXPECT_TRUE(backend.ok()) << backend.error().detail;
    return std::move(backend).value();
  }
  bool keeps_state() const override { return true; }
  bool keeps_logs() const override { return true; }
  bool takes_signals() const override { return true; }
  bool runs_processes() const override { return true; }
  Work Waiting(const std::string& first, const std::string& then) override {
    const std::string go = directory_.path() + "/go";
    return {"echo " + first + "; " + UntilExists(go) + "; echo " + then, ""};
  }
  void Go(Backend&, const DispatchKey&) override { directory_.Touch("go"); }

 protected:
  TemporaryDirectory directory_;
  TestClock clock_;

 private:
  TestTimers timers_;
  TestRandom random_;
};

/// The local backend behind muster-launcher's socket; both ends are in this process.
class LauncherFactory final : public LocalFactory {
 public:
  std::unique_ptr<Backend> Make() override {
    server_.reset();
    local_.reset();
    local_ = LocalFactory::Make();
    LauncherServerOptions options;
    options.socket = directory_.path() + "/launcher.sock";
    options.daemon = ::geteuid();
    // Who runs the test may be root.
    options.root_clusters = {"alpha", "beta"};
    options.clock = &clock_;
    server_ = std::make_unique<LauncherServer>(*local_, options);
    const Status started = server_->Start();
    EXPECT_TRUE(started.ok()) << started.error().detail;
    return MakeLauncherBackend({options.socket, {"alpha", "beta"}});
  }

 private:
  std::unique_ptr<Backend> local_;
  std::unique_ptr<LauncherServer> server_;
};

class SimulatedFactory final : public BackendFactory {
 public:
  std::unique_ptr<Backend> Make() override { return MakeRunning(300); }
  std::unique_ptr<Backend> MakeLasting() override { return MakeRunning(3'600'000); }
  bool keeps_state() const override { return false; }
  bool keeps_logs() const override { return false; }
  bool takes_signals() const override { return true; }
  Work Waiting(const std::string&, const std::string&) override { return kLasting; }
  void Go(Backend&, const DispatchKey&) override {}

 private:
  std::unique_ptr<Backend> MakeRunning(std::int64_t run_time_ms) {
    simulated::SimulatedOptions options;
    options.clusters = {{"alpha", {{"cpu", 4000}, {"memory", 1 << 30}, {"nvidia.com/gpu", 8}}},
                        {"beta", {}}};
    options.run_time_ms = run_time_ms;
    return std::make_unique<simulated::SimulatedBackend>(clock_, timers_, options);
  }

  TestClock clock_;
  TestTimers timers_;
};

class KubernetesFactory final : public BackendFactory {
 public:
  KubernetesFactory() {
    fake::FakeMemberOptions options;
    options.nodes = 1;
    for (const char* name : {"alpha", "beta"}) {
      options.seed += 1;
      members_[name] = std::make_unique<fake::FakeMember>(options);
      std::ofstream(FileOf(name)) << members_[name]->Kubeconfig();
    }
  }
  std::unique_ptr<Backend> Make() override {
    k8s::KubernetesOptions options;
    for (const auto& [name, member] : members_) {
      k8s::MemberOptions one;
      one.name = name;
      one.kubeconfig = FileOf(name);
      options.members.push_back(std::move(one));
    }
    options.instance_id = kInstance;
    options.clock = &clock_;
    options.timers = &timers_;
    options.random = &random_;
    return k8s::MakeKubernetesBackend(std::move(options));
  }
  bool keeps_state() const override { return true; }
  bool keeps_logs() const override { return true; }
  bool keeps_records() const override { return false; }
  Work Waiting(const std::string& first, const std::string& then) override {
    then_ = then;
    return {"", R"("bed.test/log":")" + first + '"'};
  }
  void Go(Backend& backend, const DispatchKey& key) override {
    fake::FakeMember& member = *members_.at(key.cluster);
    const auto pods = backend.Pods(key);
    ASSERT_TRUE(pods.ok());
    for (const PodStatus& pod : *pods) {
      member.AppendLog("default", pod.name, then_ + "\n");
      member.Call("PATCH", "/api/v1/namespaces/default/pods/" + pod.name,
                  R"({"metadata":{"annotations":{"bed.test/run":"0s"}}})",
                  "application/merge-patch+json");
    }
  }

 private:
  std::string FileOf(const std::string& name) const {
    return directory_.path() + "/" + name + ".kubeconfig";
  }
  TemporaryDirectory directory_;
  std::map<std::string, std::unique_ptr<fake::FakeMember>> members_;
  std::string then_;
  TestClock clock_;
  TestTimers timers_;
  TestRandom random_;
};

struct Case {
  std::string name;
  std::function<std::unique_ptr<BackendFactory>()> make;
};

class BackendContract : public ::testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    factory_ = GetParam().make();
    backend_ = factory_->Make();
    Begin(sink_);
  }
  /// Starts the backend and waits until its member clusters are reachable.
  void Begin(RecordingSink& sink) {
    backend_->Start(sink);
    const auto give_up = std::chrono::steady_clock::now() + kPatience;
    for (const std::string& cluster : backend_->Clusters()) {
      const auto reached = [&] {
        const auto facts =
            Wait<ClusterFacts>([&](auto done) { backend_->Facts(cluster, std::move(done)); });
        return facts.ok() && facts->healthy;
      };
      while (!reached()) {
        ASSERT_LT(std::chrono::steady_clock::now(), give_up) << cluster << " is not reached";
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
      }
    }
  }
  void BeginAgain(std::unique_ptr<Backend> (BackendFactory::*make)(), RecordingSink& sink) {
    backend_.reset();
    backend_ = (factory_.get()->*make)();
    Begin(sink);
  }
  void TearDown() override {
    for (const DispatchKey& key : keys_) {
      RemovePolicy at_once;
      at_once.grace_period_s = 0;
      EXPECT_TRUE(Remove(*backend_, key, at_once).ok());
    }
    backend_->Stop();
  }
  DispatchKey Key() {
    keys_.push_back(NewKey("alpha"));
    return keys_.back();
  }

  std::unique_ptr<BackendFactory> factory_;
  RecordingSink sink_;
  std::unique_ptr<Backend> backend_;
  std::vector<DispatchKey> keys_;
};

TEST_P(BackendContract, Ensure_Twice_GivesTheSameObject) {
  const DispatchKey key = Key();
  const Result<RemoteRef> first = Ensure(*backend_, JobOf(key, kShort));
  const Result<RemoteRef> again = Ensure(*backend_, JobOf(key, kShort));
  ASSERT_TRUE(first.ok() && again.ok());
  EXPECT_FALSE(first->remote_uid.empty());
  EXPECT_EQ(first->remote_uid, again->remote_uid);
  EXPECT_EQ(first->incarnation, again->incarnation);
  EXPECT_EQ(List(*backend_, "alpha")->size(), 1u);
  EXPECT_TRUE(List(*backend_, "beta")->empty());
}

TEST_P(BackendContract, Ensure_Suspended_RunsNothingUntilReleased) {
  const DispatchKey key = Key();
  ASSERT_TRUE(Ensure(*backend_, JobOf(key, kAtOnce, kSuspended), true).ok());
  const Result<std::vector<Observation>> listed = List(*backend_, "alpha");
  ASSERT_EQ(listed->size(), 1u);
  EXPECT_EQ(listed->front().phase, RemotePhase::kSuspended);
  EXPECT_EQ(listed->front().active_pods, 0);
  ASSERT_TRUE(Ensure(*backend_, JobOf(key, kAtOnce), false).ok());
  const Observation end = sink_.AwaitEnd(key);
  EXPECT_EQ(end.phase, RemotePhase::kSucceeded);
  EXPECT_EQ(end.exit_code, 0);
}

TEST_P(BackendContract, Ensure_WithoutTheLead_MakesNothing_AndIsMadeUnderTheNextOne) {
  const TestClock clock;
  const auto lead = std::make_shared<LeadTerm>(clock, 3600 * kNanosPerSecond);
  lead->Begin(Epoch{1}, clock.Now(), clock.Now());
  DispatchOrder order = JobOf(Key(), kLasting);
  order.permit = lead->Current();
  lead->End();
  const Result<RemoteRef> refused = Ensure(*backend_, order);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::kUnavailable) << refused.error().detail;
  EXPECT_TRUE(List(*backend_, "alpha")->empty());
  lead->Begin(Epoch{2}, clock.Now(), clock.Now());
  order.permit = lead->Current();
  EXPECT_TRUE(Ensure(*backend_, order).ok());
}

TEST_P(BackendContract, Observations_OfOneAttempt_NeverGoBack) {
  const DispatchKey key = Key();
  const Result<RemoteRef> ref = Ensure(*backend_, JobOf(key, kShort));
  sink_.AwaitEnd(key);
  int last = 0;
  for (const Observation& seen : sink_.Of(key)) {
    EXPECT_EQ(seen.remote_uid, ref->remote_uid);
    EXPECT_GE(static_cast<int>(seen.phase), last);
    last = static_cast<int>(seen.phase);
  }
  const Observation end = sink_.Of(key).back();
  EXPECT_TRUE(end.end_time.set());
  EXPECT_GE(end.end_time, end.start_time);
}

TEST_P(BackendContract, Remove_OfWhatIsNotThere_SaysSo) {
  const Result<RemovalResult> removed = Remove(*backend_, NewKey("alpha"));
  ASSERT_TRUE(removed.ok());
  EXPECT_FALSE(removed->existed);
}

TEST_P(BackendContract, Remove_Twice_IsIdempotent) {
  const DispatchKey key = NewKey("alpha");
  ASSERT_TRUE(Ensure(*backend_, JobOf(key, kLasting)).ok());
  EXPECT_TRUE(Remove(*backend_, key)->existed);
  EXPECT_FALSE(Remove(*backend_, key)->existed);
  EXPECT_TRUE(AwaitNothing(*backend_, "alpha"));
}

TEST_P(BackendContract, Remove_WithAnotherUid_TouchesNothing) {
  const DispatchKey key = Key();
  ASSERT_TRUE(Ensure(*backend_, JobOf(key, kLasting, kSuspended), true).ok());
  RemovePolicy policy;
  policy.expected_uid = "00000000-0000-4000-8000-000000000000";
  EXPECT_FALSE(Remove(*backend_, key, policy)->existed);
  EXPECT_EQ(List(*backend_, "alpha")->size(), 1u);
}

TEST_P(BackendContract, Remove_KeepingLogs_StopsAndKeepsTheRecord) {
  BeginAgain(&BackendFactory::MakeLasting, sink_);
  const DispatchKey key = Key();
  ASSERT_TRUE(Ensure(*backend_, JobOf(key, Prints("before", kLasting))).ok());
  sink_.AwaitPhase(key, RemotePhase::kRunning);
  // Only a line that was written before the stop can be kept.
  if (factory_->keeps_logs()) {
    ASSERT_TRUE(AwaitLog(*backend_, key, "before\n"));
  }
  RemovePolicy policy;
  policy.keep_logs = true;
  EXPECT_TRUE(Remove(*backend_, key, policy)->existed);
  if (!factory_->keeps_records()) {
    EXPECT_TRUE(AwaitNothing(*backend_, "alpha")) << "neither object nor pods hold a log";
    return;
  }
  const Result<std::vector<Observation>> listed = List(*backend_, "alpha");
  ASSERT_EQ(listed->size(), 1u);
  EXPECT_EQ(listed->front().phase, RemotePhase::kFailed);
  EXPECT_EQ(listed->front().reason, Reason::kCancelled);
  EXPECT_EQ(listed->front().active_pods, 0);
  if (factory_->keeps_logs()) {
    EXPECT_EQ(backend_->ReadLog(key, {})->data, "before\n");
  }
}

TEST_P(BackendContract, Facts_TellOfCapacityAndIncarnation) {
  const Result<ClusterFacts> facts =
      Wait<ClusterFacts>([&](auto done) { backend_->Facts("alpha", std::move(done)); });
  ASSERT_TRUE(facts.ok());
  EXPECT_EQ(facts->cluster, "alpha");
  EXPECT_TRUE(facts->healthy);
  EXPECT_FALSE(facts->incarnation.empty());
  EXPECT_EQ(AmountOf(facts->allocatable, "nvidia.com/gpu"), 8);
  EXPECT_GT(AmountOf(facts->allocatable, "cpu"), 0);
  EXPECT_GT(AmountOf(facts->allocatable, "memory"), 0);
  for (const ResourceAmount& one : facts->allocatable)
    EXPECT_GE(AmountOf(facts->capacity, one.resource), one.amount) << one.resource;
  EXPECT_GE(facts->node_count, 1);
  EXPECT_TRUE(facts->used_by_others.empty());
  std::set<std::string> told;
  for (const ClusterFacts& one : sink_.AwaitFacts(2)) told.insert(one.cluster);
  EXPECT_EQ(told, (std::set<std::string>{"alpha", "beta"}));
}

TEST_P(BackendContract, Ensure_WithALargerScale_ChangesTheNumberOfPods_AndRestartsNone) {
  BeginAgain(&BackendFactory::MakeLasting, sink_);
  const DispatchKey key = Key();
  std::string uid;
  const auto sized = [&](std::int32_t pods, std::int64_t scale) {
    DispatchOrder order = JobOf(key, kLasting, R"("parallelism":)" + std::to_string(pods) + ",");
    order.pod_sets[0].count = pods;
    order.scale = scale;
    order.expected_uid = uid;
    return order;
  };
  const Result<RemoteRef> made = Ensure(*backend_, sized(2, 0));
  ASSERT_TRUE(made.ok());
  uid = made->remote_uid;
  const std::vector<std::string> first = AwaitRunning(*backend_, key, 2);
  ASSERT_EQ(first.size(), 2u);
  ASSERT_TRUE(Ensure(*backend_, sized(4, 7)).ok());
  const std::vector<std::string> more = AwaitRunning(*backend_, key, 4);
  EXPECT_TRUE(std::includes(more.begin(), more.end(), first.begin(), first.end()));
  ASSERT_TRUE(Ensure(*backend_, sized(3, 6)).ok()) << "an older order, come late";
  ASSERT_TRUE(Ensure(*backend_, sized(1, 9)).ok());
  const std::vector<std::string> left = AwaitRunning(*backend_, key, 1);
  ASSERT_EQ(left.size(), 1u);
  EXPECT_TRUE(std::binary_search(first.begin(), first.end(), left[0])) << "the newest go first";
  EXPECT_EQ(List(*backend_, "alpha")->size(), 1u);
  if (factory_->keeps_state()) {
    BeginAgain(&BackendFactory::Make, sink_);
    EXPECT_EQ(AwaitRunning(*backend_, key, 1), left) << "a restart keeps the size";
  }
}

TEST_P(BackendContract, ReadLog_OfAnUnknownAttempt_IsNotFound) {
  const Result<LogChunk> log = backend_->ReadLog(NewKey("alpha"), {});
  ASSERT_FALSE(log.ok());
  EXPECT_EQ(log.error().code, Code::kNotFound);
}

TEST_P(BackendContract, Logs_AreReadByOffset) {
  if (!factory_->keeps_logs()) return;
  const DispatchKey key = Key();
  ASSERT_TRUE(Ensure(*backend_, JobOf(key, Prints("abcdefg", kAtOnce))).ok());
  sink_.AwaitEnd(key);
  LogQuery query;
  query.max_bytes = 3;
  EXPECT_EQ(backend_->ReadLog(key, query)->data, "abc");
  query.offset = 3;
  query.max_bytes = 100;
  const Result<LogChunk> rest = backend_->ReadLog(key, query);
  EXPECT_EQ(rest->data, "defg\n");
  EXPECT_EQ(rest->next_offset, 8);
  EXPECT_TRUE(rest->ended);
  query.offset = -2;
  EXPECT_EQ(backend_->ReadLog(key, query)->data, "g\n");
  query.container = "nobody";
  EXPECT_EQ(backend_->ReadLog(key, query).error().code, Code::kNotFound);
}

TEST_P(BackendContract, Restart_OnTheSameState_FindsTheSameAttempts) {
  if (!factory_->keeps_state()) return;
  const DispatchKey runs = Key(), ended = Key(), waits = Key();
  const Result<RemoteRef> ref = Ensure(*backend_, JobOf(runs, factory_->Waiting("once", "twice")));
  ASSERT_TRUE(Ensure(*backend_, JobOf(ended, kExits3)).ok());
  ASSERT_TRUE(Ensure(*backend_, JobOf(waits, kAtOnce, kSuspended), true).ok());
  sink_.AwaitPhase(runs, RemotePhase::kRunning);
  sink_.AwaitEnd(ended);
  RecordingSink later;
  BeginAgain(&BackendFactory::Make, later);
  const Result<std::vector<Observation>> listed = List(*backend_, "alpha");
  ASSERT_EQ(listed->size(), 3u);
  for (const Observation& seen : *listed) {
    if (seen.key == waits) {
      EXPECT_EQ(seen.phase, RemotePhase::kSuspended);
    }
    if (seen.key == ended) {
      EXPECT_EQ(seen.exit_code, 3);
    }
    if (seen.key == runs) {
      EXPECT_EQ(seen.remote_uid, ref->remote_uid);
    }
  }
  factory_->Go(*backend_, runs);
  EXPECT_EQ(later.AwaitEnd(runs).phase, RemotePhase::kSucceeded);
  EXPECT_EQ(backend_->ReadLog(runs, {})->data, "once\ntwice\n");
  EXPECT_EQ(backend_->Pods(runs)->size(), 1u);
  BeginAgain(&BackendFactory::Make, sink_);
}

Result<Done> Signal(Backend& backend, const DispatchKey& key, const SignalOrder& order) {
  return Wait<Done>([&](auto done) { backend.Signal(key, order, std::move(done)); });
}
Result<Done> Notify(Backend& backend, const DispatchKey& key, const std::string& line) {
  return Wait<Done>([&](auto done) { backend.Notify(key, line, std::move(done)); });
}

TEST_P(BackendContract, Signal_AndNotify_ReachWhatRuns_AndNothingElse) {
  const DispatchKey key = Key();
  const SignalOrder to_all{SIGTERM, SignalOrder::Target::kFull, -1};
  const Code absent = factory_->takes_signals() ? Code::kNotFound : Code::kUnimplemented;
  EXPECT_EQ(Signal(*backend_, key, to_all).error().code, absent);
  EXPECT_EQ(Notify(*backend_, key, "hello").error().code, absent);
  if (!factory_->takes_signals()) return;
  if (!factory_->runs_processes()) {
    ASSERT_TRUE(Ensure(*backend_, JobOf(key, kLasting, kSuspended), true).ok());
    EXPECT_EQ(Signal(*backend_, key, to_all).error().code, Code::kNotFound);
    ASSERT_TRUE(Ensure(*backend_, JobOf(key, kLasting)).ok());
    EXPECT_TRUE(Signal(*backend_, key, to_all).ok());
    EXPECT_TRUE(Notify(*backend_, key, "hello").ok());
    sink_.AwaitEnd(key);
    EXPECT_EQ(Signal(*backend_, key, to_all).error().code, Code::kNotFound);
    EXPECT_EQ(Notify(*backend_, key, "hello").error().code, Code::kNotFound);
    return;
  }
  // The annotation makes it a batch script, whose shell can be told apart.
  const Work traps{"trap 'echo got; exit 5' USR1; echo ready; while :; do sleep 0.05; done",
                   R"("muster.io/batch":"true")"};
  ASSERT_TRUE(Ensure(*backend_, JobOf(key, traps)).ok());
  ASSERT_TRUE(AwaitLog(*backend_, key, "ready\n"));
  EXPECT_EQ(Signal(*backend_, key, {0, SignalOrder::Target::kFull, -1}).error().code,
            Code::kInvalidArgument);
  ASSERT_TRUE(Notify(*backend_, key, "hello\n").ok());
  ASSERT_TRUE(AwaitLog(*backend_, key, "ready\nhello\n"));
  // No process of it belongs to a step.
  ASSERT_TRUE(Signal(*backend_, key, {SIGKILL, SignalOrder::Target::kSteps, -1}).ok());
  ASSERT_TRUE(Signal(*backend_, key, {SIGUSR1, SignalOrder::Target::kBatch, -1}).ok());
  EXPECT_EQ(sink_.AwaitEnd(key).exit_code, 5);
  EXPECT_TRUE(AwaitLog(*backend_, key, "ready\nhello\ngot\n"));
  EXPECT_EQ(Signal(*backend_, key, to_all).error().code, Code::kNotFound);
}

INSTANTIATE_TEST_SUITE_P(
    Backends, BackendContract,
    ::testing::Values(Case{"local", [] { return std::make_unique<LocalFactory>(); }},
                      Case{"launcher", [] { return std::make_unique<LauncherFactory>(); }},
                      Case{"simulated", [] { return std::make_unique<SimulatedFactory>(); }},
                      Case{"kubernetes", [] { return std::make_unique<KubernetesFactory>(); }}),
    [](const auto& one) { return one.param.name; });

}  // namespace
}  // namespace muster::testing

// The dispatcher against a fake backend: order of each key, back-off, unknown outcomes, no lost
// orders.
#include "schedd/dispatch/dispatcher.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <condition_variable>
#include <deque>
#include <set>

#include "schedd/model/admission_lifecycle.h"
#include "schedd/model/member_queues.h"
#include "schedd/store/memory/memory_store.h"
#include "tests/support/builders.h"
#include "tests/support/fake_backend.h"
#include "tests/support/fake_clock.h"

namespace muster::test {
namespace {

constexpr std::int64_t kReconcileMs = 86'400'000;  // no list comes between the calls under test

constexpr std::int64_t kTermMs = 3'600'000, kStoppedMs = 2 * kTermMs;

constexpr std::chrono::seconds kPatience{60};  // for results that must come even on a busy machine

// The inbox of the engine; it can be made to refuse.
class Inbox {
 public:
  bool Post(Command command) {
    {
      std::lock_guard lock(mutex_);
      if (refusing_) {
        ++refused_;
        changed_.notify_all();
        return false;
      }
      if (const auto* told = std::get_if<FactsCommand>(&command)) {
        facts_[told->facts.cluster] = told->facts;
        changed_.notify_all();
        return true;
      }
      commands_.push_back(std::move(command));
    }
    changed_.notify_all();
    return true;
  }

  template <class T>
  T Take() {
    std::unique_lock lock(mutex_);
    const bool came = changed_.wait_for(lock, kPatience, [this] { return !commands_.empty(); });
    MUSTER_CHECK(came);
    Command command = std::move(commands_.front());
    commands_.pop_front();
    MUSTER_CHECK(std::holds_alternative<T>(command));
    return std::get<T>(std::move(command));
  }

  ClusterFacts FactsOf(const std::string& cluster) {
    std::unique_lock lock(mutex_);
    MUSTER_CHECK(changed_.wait_for(lock, kPatience, [&] { return facts_.contains(cluster); }));
    return facts_.at(cluster);
  }

  bool Has() {
    std::lock_guard lock(mutex_);
    return !commands_.empty();
  }

  void SetRefusing(bool refusing) {
    std::lock_guard lock(mutex_);
    refusing_ = refusing;
  }

  void WaitForRefusal() {
    std::unique_lock lock(mutex_);
    MUSTER_CHECK(changed_.wait_for(lock, kPatience, [this] { return refused_ > 0; }));
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Command> commands_;
  std::map<std::string, ClusterFacts> facts_;
  bool refusing_ = false;
  int refused_ = 0;
};

class DispatcherTest : public testing::Test {
 protected:
  explicit DispatcherTest(bool led = false) : timers_(clock_), random_(1), backend_("east") {
    view_ = std::make_shared<WorldView>();
    auto config = std::make_shared<ConfigView>();
    config->flavors["default"].name = "default";
    view_->config = std::move(config);
    view_->objects = std::make_shared<const ObjectTable>();
    const auto lease = store_.Lead("test", std::chrono::milliseconds(0));
    epoch_ = lease->epoch;
    dispatch::DispatcherOptions options;
    options.instance_id = "test-instance";
    options.reconcile_every_ms = kReconcileMs;
    if (led) {
      lead_ = std::make_shared<LeadTerm>(clock_, kTermMs * kNanosPerMilli);
      lead_->Begin(epoch_, clock_.Now(), clock_.Now());
      options.lead = lead_;
    }
    dispatcher_ =
        std::make_unique<dispatch::Dispatcher>(store_, clock_, timers_, random_, metrics_, options);
    dispatcher_->AddBackend(backend_);
  }
  ~DispatcherTest() override { dispatcher_->Stop(); }

  void Start() {
    dispatcher_->Start([this](Command command) { return inbox_.Post(std::move(command)); },
                       [this]() -> WorldViewPtr { return view_; });
  }

  // An accepted and admitted job, as the engine would order it.
  JobPtr Accepted(const std::string& name, const std::string& manifest = "") {
    Submission submission = MakeSubmission({.name = name});
    auto job = submission.draft;
    job->id = JobId{++last_id_};
    job->accept_seq = last_id_;
    NewJob accepted{job, manifest.empty() ? submission.manifest : manifest, {}};
    store_.Accept(epoch_, {accepted}, [](Result<std::vector<Result<Accepted_>>>) {});
    auto admitted = std::make_shared<JobRecord>(*job);
    admitted->state = JobState::kAdmitted;
    admitted->attempt = 1;
    admitted->cluster = "east";
    admitted->admission = std::make_shared<const Admission>(
        Admission{"cq", {{"main", 1, {{"cpu", "default"}}, {{"cpu", 1000}}}}});
    return admitted;
  }
  using Accepted_ = muster::AcceptedJob;

  static DispatchKey KeyOf(const JobPtr& job) { return {job->uid, job->attempt, job->cluster}; }

  // Waits until the worker has handled its orders.
  void Settle() {
    for (int i = 0; i < 3; ++i) {
      ClusterFacts facts;
      facts.cluster = "settled-" + std::to_string(++settled_);
      dispatcher_->OnFacts(facts);
      inbox_.FactsOf(facts.cluster);
      clock_.Advance(100);
      timers_.FireDue();
    }
  }

  // Advances time until a delayed call arrives. Only back-offs may pass: the worker may not have
  // set its timer yet, and the next timer after it is the list of everything, a day away.
  BackendCall TakeLater() {
    const auto give_up = std::chrono::steady_clock::now() + kPatience;
    while (backend_.waiting() == 0 && std::chrono::steady_clock::now() < give_up) {
      Monotonic due;
      if (timers_.Next(&due) && due > clock_.Now()) {
        const std::int64_t ahead_ms = (due - clock_.Now()) / kNanosPerMilli + 1;
        if (ahead_ms < kReconcileMs / 2) clock_.Advance(ahead_ms);
      }
      timers_.FireDue();
      std::this_thread::yield();
    }
    return backend_.Take();
  }

  FakeClock clock_;
  ManualTimers timers_;
  SeededRandom random_;
  MemoryStore store_;
  Metrics metrics_;
  FakeBackend backend_;
  Inbox inbox_;
  std::shared_ptr<WorldView> view_;
  Epoch epoch_;
  std::int64_t last_id_ = 0;
  int settled_ = 0;
  std::shared_ptr<LeadTerm> lead_;  // null: no other daemon can lead
  std::unique_ptr<dispatch::Dispatcher> dispatcher_;
};

TEST_F(DispatcherTest, AnOrderIsRenderedSentAndReported) {
  Start();
  const JobPtr job = Accepted("train");
  dispatcher_->Ensure(KeyOf(job), job, "");
  BackendCall call = backend_.Take();
  EXPECT_EQ(call.key, KeyOf(job));
  EXPECT_EQ(call.order.object.kind, "Job");
  EXPECT_EQ(call.order.object.name, "train");
  EXPECT_FALSE(call.order.suspended);
  EXPECT_THAT(call.order.object.json, testing::HasSubstr("test-instance"));
  ASSERT_EQ(call.order.pod_sets.size(), 1U);
  call.ensured(RemoteRef{"uid", "incarnation"});
  const auto report = inbox_.Take<EnsuredCommand>();
  EXPECT_EQ(report.key, KeyOf(job));
  EXPECT_EQ(report.outcome->remote_uid, "uid");
}

TEST_F(DispatcherTest, AMemberThatComesLaterIsListedAndServedUntilItGoes) {
  Start();
  EXPECT_EQ(dispatcher_->BackendOf("later"), nullptr);
  dispatcher_->AddCluster("later", backend_);
  EXPECT_EQ(dispatcher_->BackendOf("later"), &backend_);
  const BackendCall list = backend_.Take();
  EXPECT_EQ(list.kind, BackendCall::Kind::kList);
  EXPECT_EQ(list.key.cluster, "later");
  auto job = std::make_shared<JobRecord>(*Accepted("train"));
  job->cluster = "later";
  dispatcher_->RemoveCluster("later");
  EXPECT_EQ(dispatcher_->BackendOf("later"), nullptr);
  dispatcher_->Ensure(KeyOf(job), job, "");
  EXPECT_EQ(inbox_.Take<EnsuredCommand>().outcome.error().code, Code::kUnavailable);
  EXPECT_EQ(dispatcher_->BackendOf("east"), &backend_);
}

TEST_F(DispatcherTest, CallsForOneKeyAreNeverConcurrent) {
  Start();
  const JobPtr job = Accepted("a");
  const JobPtr other = Accepted("b");
  dispatcher_->Ensure(KeyOf(job), job, "");
  BackendCall ensure = backend_.Take();
  dispatcher_->Remove(KeyOf(job), {});
  dispatcher_->Ensure(KeyOf(other), other, "");
  BackendCall second = backend_.Take();
  EXPECT_EQ(second.key, KeyOf(other)) << "another key does not wait";
  EXPECT_EQ(backend_.waiting(), 0U) << "the removal waits for the answer of Ensure";
  ensure.ensured(RemoteRef{"uid", ""});
  BackendCall removal = backend_.Take();
  EXPECT_EQ(removal.kind, BackendCall::Kind::kRemove);
  removal.removed(RemovalResult{true});
  inbox_.Take<EnsuredCommand>();
  EXPECT_TRUE(inbox_.Take<RemovedCommand>().outcome->existed);
}

TEST_F(DispatcherTest, ARemovalTakesThePlaceOfAnEnsureThatHasNotBegun) {
  Start();
  const JobPtr job = Accepted("a");
  dispatcher_->Ensure(KeyOf(job), job, "");
  BackendCall first = backend_.Take();
  first.ensured(Unavailable("away"));
  inbox_.Take<EnsuredCommand>();
  dispatcher_->Ensure(KeyOf(job), job, "");  // delayed by its failure
  dispatcher_->Remove(KeyOf(job), {});
  BackendCall next = backend_.Take();
  EXPECT_EQ(next.kind, BackendCall::Kind::kRemove) << "at once: the back-off was the Ensure's";
  next.removed(RemovalResult{false});
  inbox_.Take<RemovedCommand>();
  EXPECT_EQ(backend_.waiting(), 0U);
}

TEST_F(DispatcherTest, WhatFailedIsTriedAgainOnlyAfterABackOff) {
  Start();
  const JobPtr job = Accepted("a");
  dispatcher_->Ensure(KeyOf(job), job, "");
  backend_.Take().ensured(Unavailable("away"));
  EXPECT_EQ(inbox_.Take<EnsuredCommand>().outcome.error().code, Code::kUnavailable);
  dispatcher_->Ensure(KeyOf(job), job, "");
  timers_.FireDue();
  EXPECT_EQ(backend_.waiting(), 0U);
  TakeLater().ensured(RemoteRef{"uid", ""});
  EXPECT_TRUE(inbox_.Take<EnsuredCommand>().outcome.ok());
}

// A member may not find what it is to release and have it when it is asked, again and again.
TEST_F(DispatcherTest, ABackOffIsNotEndedByAConfirmInBetween) {
  Start();
  const JobPtr job = Accepted("a");
  dispatcher_->Ensure(KeyOf(job), job, "uid");
  backend_.Take().ensured(NotFound("not there"));
  inbox_.Take<EnsuredCommand>();
  dispatcher_->Confirm(KeyOf(job), {}, "uid");
  TakeLater().confirmed(Presence{true, ""});
  EXPECT_TRUE(inbox_.Take<ConfirmedCommand>().outcome->there);
  dispatcher_->Ensure(KeyOf(job), job, "uid");
  timers_.FireDue();
  EXPECT_EQ(backend_.waiting(), 0U);
  TakeLater().ensured(RemoteRef{"uid", ""});
  EXPECT_TRUE(inbox_.Take<EnsuredCommand>().outcome.ok());
}

TEST_F(DispatcherTest, AnUnknownOutcomeIsListedBeforeItIsReported) {
  Start();
  const JobPtr job = Accepted("a");
  dispatcher_->Ensure(KeyOf(job), job, "");
  backend_.Take().ensured(Error{Code::kUnknown, "timed out"});
  BackendCall list = backend_.Take();
  ASSERT_EQ(list.kind, BackendCall::Kind::kList);
  Observation seen;
  seen.key = KeyOf(job);
  seen.phase = RemotePhase::kRunning;
  list.listed(std::vector<Observation>{seen});
  const auto listed = inbox_.Take<ListedCommand>();
  EXPECT_EQ(listed.observations.size(), 1U);
  EXPECT_TRUE(listed.unsure.empty()) << "the list was taken after the outcome";
  EXPECT_EQ(inbox_.Take<EnsuredCommand>().outcome.error().code, Code::kUnknown);
}

TEST_F(DispatcherTest, AListMarksWhatWasUnderWayAsUnsure) {
  Start();
  const JobPtr before = Accepted("before");
  const JobPtr during = Accepted("during");
  dispatcher_->Ensure(KeyOf(before), before, "");
  BackendCall first = backend_.Take();
  dispatcher_->List("east");
  BackendCall list = backend_.Take();
  dispatcher_->Ensure(KeyOf(during), during, "");
  BackendCall second = backend_.Take();
  first.ensured(RemoteRef{"uid-1", ""});
  inbox_.Take<EnsuredCommand>();
  list.listed(std::vector<Observation>{});
  const auto listed = inbox_.Take<ListedCommand>();
  EXPECT_THAT(listed.unsure, testing::UnorderedElementsAre(KeyOf(before), KeyOf(during)));
  second.ensured(RemoteRef{"uid-2", ""});
}

TEST_F(DispatcherTest, AListThatFailsIsAskedForAgain) {
  Start();
  dispatcher_->List("east");
  backend_.Take().listed(Unavailable("away"));
  TakeLater().listed(std::vector<Observation>{});
  EXPECT_EQ(inbox_.Take<ListedCommand>().cluster, "east");
}

TEST_F(DispatcherTest, AnAbsenceIsAskedForOnce_AndAgainAfterAPause) {
  Start();
  const JobPtr job = Accepted("a");
  const RemoteObject object{"batch/v1", "Job", "default", "a"};
  dispatcher_->Confirm(KeyOf(job), object, "uid");
  BackendCall first = backend_.Take();
  ASSERT_EQ(first.kind, BackendCall::Kind::kConfirm);
  EXPECT_EQ(first.object, object);
  EXPECT_EQ(first.uid, "uid");
  dispatcher_->Confirm(KeyOf(job), object, "uid");
  dispatcher_->Confirm(KeyOf(job), object, "uid");
  first.confirmed(Unavailable("away"));
  const auto failed = inbox_.Take<ConfirmedCommand>();
  EXPECT_EQ(failed.uid, "uid");
  EXPECT_EQ(failed.outcome.error().code, Code::kUnavailable);
  timers_.FireDue();
  EXPECT_EQ(backend_.waiting(), 0U) << "not at once";
  TakeLater().confirmed(Presence{});
  EXPECT_FALSE(inbox_.Take<ConfirmedCommand>().outcome->there);
  dispatcher_->Acknowledge(KeyOf(job), object, "uid");
  EXPECT_EQ(backend_.Take().kind, BackendCall::Kind::kAcknowledge) << "one question was enough";
}

TEST_F(DispatcherTest, ARemovalDoesNotWaitForQuestionsThatFail) {
  Start();
  const JobPtr job = Accepted("a");
  dispatcher_->Confirm(KeyOf(job), {}, "uid");
  backend_.Take().confirmed(Unavailable("away"));
  inbox_.Take<ConfirmedCommand>();
  dispatcher_->Confirm(KeyOf(job), {}, "uid");
  dispatcher_->Remove(KeyOf(job), {});
  BackendCall next = backend_.Take();
  ASSERT_EQ(next.kind, BackendCall::Kind::kRemove);
  next.removed(RemovalResult{});
  inbox_.Take<RemovedCommand>();
  EXPECT_EQ(backend_.waiting(), 0U) << "it answers the question too";
}

TEST_F(DispatcherTest, AGapAndTheReconcileTimerList) {
  Start();
  dispatcher_->OnGap("east");
  backend_.Take().listed(std::vector<Observation>{});
  inbox_.Take<ListedCommand>();
  clock_.Advance(kReconcileMs + 1);
  timers_.FireDue();
  EXPECT_EQ(backend_.Take().kind, BackendCall::Kind::kList);
}

TEST_F(DispatcherTest, AMemberThatNoBackendServesIsToldToBeAway) {
  auto config = std::make_shared<ConfigView>(*view_->config);
  config->member_clusters["west"].name = "west";
  view_->config = config;
  view_->ready = true;
  Start();
  while (backend_.waiting() == 0) {  // the reconcile timer may not be set yet
    clock_.Advance(kReconcileMs + 1);
    timers_.FireDue();
    std::this_thread::yield();
  }
  EXPECT_FALSE(inbox_.FactsOf("west").healthy);
  EXPECT_EQ(inbox_.FactsOf("west").message, "it is not served by this daemon");
  EXPECT_TRUE(inbox_.FactsOf("east").healthy);
}

TEST_F(DispatcherTest, NothingIsLostWhileTheInboxIsFull) {
  Start();
  inbox_.SetRefusing(true);
  for (int i = 0; i < 100; ++i) {
    Observation seen;
    seen.succeeded_pods = i;
    dispatcher_->OnObservation(seen);
  }
  inbox_.WaitForRefusal();
  inbox_.SetRefusing(false);
  while (timers_.FireDue() == 0) {  // the worker may not have set the timer yet
    clock_.Advance(10);
    std::this_thread::yield();
  }
  for (int i = 0; i < 100; ++i)
    EXPECT_EQ(inbox_.Take<ObservedCommand>().observation.succeeded_pods, i);
}

TEST_F(DispatcherTest, AMemberThatMakesInTwoStepsIsAskedForEachOfThem) {
  backend_.creates_suspended = true;
  Start();
  const JobPtr job = Accepted("train");
  dispatcher_->Ensure(KeyOf(job), job, "");
  BackendCall made = backend_.Take();
  EXPECT_TRUE(made.order.suspended);
  EXPECT_EQ(made.order.expected_uid, "");
  EXPECT_EQ(made.order.sequence, job->resource_version);
  EXPECT_THAT(made.order.object.json, testing::HasSubstr("\"suspend\":true"));
  made.ensured(RemoteRef{"uid", "incarnation", true});
  EXPECT_TRUE(inbox_.Take<EnsuredCommand>().outcome->suspended);
  dispatcher_->Ensure(KeyOf(job), job, "uid");
  BackendCall released = backend_.Take();
  EXPECT_FALSE(released.order.suspended);
  EXPECT_EQ(released.order.expected_uid, "uid");
  released.ensured(RemoteRef{"uid", "incarnation"});
}

TEST_F(DispatcherTest,
       WhatAMembersOwnQueueAdmittedIsMadeSuspendedEverywhereAndReleasedToThatQueue) {
  // The member makes other jobs in one step.
  Start();
  auto job = std::make_shared<JobRecord>(*Accepted("train"));
  ChangeState(job.get(), [](AdmissionState* state) {
    AdmissionCheckStatus check;
    check.name = kMemberQueuesCheck;
    check.state = CheckState::kReady;
    state->checks = {check};
  });
  dispatcher_->Ensure(KeyOf(job), job, "");
  BackendCall made = backend_.Take();
  EXPECT_TRUE(made.order.suspended);
  made.ensured(RemoteRef{"uid", "incarnation", true});
  inbox_.Take<EnsuredCommand>();
  dispatcher_->Ensure(KeyOf(job), job, "uid");
  const BackendCall released = backend_.Take();
  EXPECT_EQ(released.order.member_queue.local_queue, "queue");
  EXPECT_EQ(released.order.member_queue.workload, CopyName(job->uid, 1));
}

TEST_F(DispatcherTest, AMemberGetsNoMoreThanItCanBeDoneWithInTime_TheRestWaitsHere) {
  constexpr int kOrders = 100, kAtOnce = 64;
  for (int i = 0; i < kOrders; ++i) {
    const JobPtr job = Accepted("train-" + std::to_string(i));
    dispatcher_->Ensure(KeyOf(job), job, "");
  }
  // All are there when the worker looks; one that arrives later waits for half the room.
  Start();
  std::deque<BackendCall> calls;
  for (int i = 0; i < kAtOnce; ++i) calls.push_back(backend_.Take());
  dispatcher_->List("east");
  calls.push_back(backend_.Take());
  ASSERT_NE(calls.back().listed, nullptr) << "a list does not wait behind them";
  calls.pop_back();
  EXPECT_EQ(backend_.waiting(), 0u);
  for (int i = 0; i < kOrders; ++i) {
    if (calls.empty()) calls.push_back(backend_.Take());
    ASSERT_NE(calls.front().ensured, nullptr);
    calls.front().ensured(RemoteRef{"uid", "incarnation"});
    calls.pop_front();
    EXPECT_TRUE(inbox_.Take<EnsuredCommand>().outcome.ok());
  }
}

TEST_F(DispatcherTest, AReleaseNeedsNoSecondLookAtTheManifest_UnlessTheJobHasChanged) {
  backend_.creates_suspended = true;
  Start();
  const JobPtr job = Accepted("train");
  for (const bool changed : {false, true}) {
    dispatcher_->Ensure(KeyOf(job), job, "");
    backend_.Take().ensured(RemoteRef{"uid", "incarnation", true});
    inbox_.Take<EnsuredCommand>();
    auto later = std::make_shared<JobRecord>(*job);
    later->resource_version = job->resource_version + 1;
    // The name shows whether a manifest was rendered anew.
    later->name = "renamed";
    if (changed) later->admission = std::make_shared<const Admission>(*job->admission);
    dispatcher_->Ensure(KeyOf(job), later, "uid");
    BackendCall released = backend_.Take();
    EXPECT_THAT(released.order.object.json, testing::HasSubstr("\"suspend\":false"));
    EXPECT_EQ(released.order.sequence, later->resource_version);
    EXPECT_EQ(released.order.object.name, changed ? "renamed" : "train");
    released.ensured(RemoteRef{"uid", "incarnation"});
    inbox_.Take<EnsuredCommand>();
  }
}

TEST_F(DispatcherTest, ReleasesGoBeforeCreationsThatCameEarlier) {
  backend_.creates_suspended = true;
  const JobPtr first = Accepted("first"), second = Accepted("second"), third = Accepted("third");
  dispatcher_->Ensure(KeyOf(first), first, "");
  dispatcher_->Ensure(KeyOf(second), second, "");
  dispatcher_->Ensure(KeyOf(third), third, "uid-3");
  Start();  // the three are there when the worker looks
  EXPECT_EQ(backend_.Take().key, KeyOf(third));
  EXPECT_EQ(backend_.Take().key, KeyOf(first));
  EXPECT_EQ(backend_.Take().key, KeyOf(second));
}

TEST_F(DispatcherTest, AnAcknowledgementWaitsForItsKeyAndIsSentOnce) {
  Start();
  const JobPtr job = Accepted("a");
  const RemoteObject object{"batch/v1", "Job", "default", "a"};
  dispatcher_->Ensure(KeyOf(job), job, "");
  BackendCall ensure = backend_.Take();
  dispatcher_->Acknowledge(KeyOf(job), object, "uid");
  dispatcher_->Acknowledge(KeyOf(job), object, "uid");
  ensure.ensured(RemoteRef{"uid", ""});
  BackendCall acknowledge = backend_.Take();
  EXPECT_EQ(acknowledge.kind, BackendCall::Kind::kAcknowledge);
  EXPECT_EQ(acknowledge.object, object);
  EXPECT_EQ(acknowledge.uid, "uid");
  dispatcher_->Acknowledge(KeyOf(job), object, "uid");  // while it is under way
  acknowledge.acknowledged(Done{});
  inbox_.Take<EnsuredCommand>();
  dispatcher_->Remove(KeyOf(job), {});
  EXPECT_EQ(backend_.Take().kind, BackendCall::Kind::kRemove) << "no second acknowledgement";
}

TEST_F(DispatcherTest, AnAcknowledgementThatFailedIsSentAgainAfterABackOff) {
  Start();
  const JobPtr job = Accepted("a");
  dispatcher_->Acknowledge(KeyOf(job), {}, "uid");
  backend_.Take().acknowledged(Unavailable("away"));
  BackendCall again = TakeLater();
  EXPECT_EQ(again.kind, BackendCall::Kind::kAcknowledge);
  again.acknowledged(Error{Code::kPermissionDenied, "no"});
  dispatcher_->Remove(KeyOf(job), {});
  EXPECT_EQ(TakeLater().kind, BackendCall::Kind::kRemove) << "a last word is not repeated";
}

TEST_F(DispatcherTest, ARemovalTakesThePlaceOfAnAcknowledgement) {
  Start();
  const JobPtr job = Accepted("a");
  dispatcher_->Acknowledge(KeyOf(job), {}, "uid");
  BackendCall first = backend_.Take();
  RemovePolicy policy;
  policy.object = {"batch/v1", "Job", "default", "a"};
  policy.expected_uid = "uid";
  dispatcher_->Remove(KeyOf(job), policy);
  dispatcher_->Acknowledge(KeyOf(job), {}, "uid");
  first.acknowledged(Unavailable("away"));
  BackendCall next = TakeLater();
  ASSERT_EQ(next.kind, BackendCall::Kind::kRemove);
  EXPECT_EQ(next.policy.object, policy.object);
  EXPECT_EQ(next.policy.expected_uid, "uid");
  next.removed(RemovalResult{true});
  EXPECT_TRUE(inbox_.Take<RemovedCommand>().outcome->existed);
  EXPECT_EQ(backend_.waiting(), 0U);
}

TEST_F(DispatcherTest, AMissingConfigMapIsWaitedForAndThenRefused) {
  Start();
  const JobPtr job = Accepted(
      "a", R"({"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"a","namespace":"default"},
    "spec":{"template":{"spec":{"restartPolicy":"Never","containers":[{"name":"main","image":"busybox",
    "envFrom":[{"configMapRef":{"name":"settings"}}]}]}}}})");
  Code last = Code::kOk;
  int tries = 0;
  do {
    dispatcher_->Ensure(KeyOf(job), job, "");
    const auto give_up = std::chrono::steady_clock::now() + kPatience;
    while (!inbox_.Has() && std::chrono::steady_clock::now() < give_up) {
      clock_.Advance(60'000);
      timers_.FireDue();
      while (backend_.waiting() > 0) {  // the reconcile timer's lists
        backend_.Take().listed(Unavailable("not asked for"));
      }
      std::this_thread::yield();
    }
    const auto report = inbox_.Take<EnsuredCommand>();
    ASSERT_FALSE(report.outcome.ok());
    last = report.outcome.error().code;
    EXPECT_THAT(report.outcome.error().detail,
                testing::HasSubstr("ConfigMap default/settings does not exist"));
  } while (last == Code::kUnavailable && ++tries < 20);
  EXPECT_EQ(last, Code::kFailedPrecondition);
  EXPECT_GE(tries, 3);
}

TEST_F(DispatcherTest, AConfigMapThatExistsGoesAlong) {
  auto objects = std::make_shared<ObjectTable>();
  auto settings = std::make_shared<StoredObject>();
  settings->manifest = "{\"data\":{\"a\":\"b\"}}";
  objects->insert_or_assign({ObjectKind::kConfigMap, "default", "settings"}, settings);
  view_->objects = objects;
  Start();
  const JobPtr job = Accepted(
      "a", R"({"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"a","namespace":"default"},
    "spec":{"template":{"spec":{"restartPolicy":"Never","containers":[{"name":"main","image":"busybox",
    "envFrom":[{"configMapRef":{"name":"settings"}}]}]}}}})");
  dispatcher_->Ensure(KeyOf(job), job, "");
  BackendCall call = backend_.Take();
  ASSERT_EQ(call.order.dependents.size(), 1U);
  EXPECT_EQ(call.order.dependents[0].name, "settings");
  EXPECT_EQ(call.order.dependents[0].json, settings->manifest);
  call.ensured(RemoteRef{"uid", ""});
}

TEST_F(DispatcherTest, AClusterWithoutABackendIsSaidToBeAway) {
  Start();
  const JobPtr job = Accepted("a");
  DispatchKey key = KeyOf(job);
  key.cluster = "west";
  dispatcher_->Ensure(key, job, "");
  EXPECT_EQ(inbox_.Take<EnsuredCommand>().outcome.error().code, Code::kUnavailable);
  EXPECT_EQ(dispatcher_->BackendOf("west"), nullptr);
  EXPECT_EQ(dispatcher_->BackendOf("east"), &backend_);
}

// A daemon that was stopped while orders waited, and another one that leads since.
class LedDispatcherTest : public DispatcherTest {
 protected:
  LedDispatcherTest() : DispatcherTest(true) {}
};

TEST_F(LedDispatcherTest, WhatWaitedWhileTheDaemonWasStoppedIsNotSentWhenItGoesOn) {
  constexpr int kOrders = 100, kAtOnce = 64;
  for (int i = 0; i < kOrders; ++i) {
    const JobPtr job = Accepted("train-" + std::to_string(i));
    dispatcher_->Ensure(KeyOf(job), job, "");
  }
  Start();
  std::deque<BackendCall> calls;
  for (int i = 0; i < kAtOnce; ++i) calls.push_back(backend_.Take());
  const JobPtr done = Accepted("done");
  clock_.Advance(kStoppedMs);
  for (BackendCall& call : calls) {
    call.ensured(RemoteRef{"uid", ""});
    EXPECT_TRUE(inbox_.Take<EnsuredCommand>().outcome.ok());
  }
  dispatcher_->Remove(KeyOf(done), {});
  dispatcher_->Acknowledge(KeyOf(Accepted("ended")), {}, "uid");
  Settle();
  EXPECT_EQ(backend_.waiting(), 0U) << "neither made nor removed nor let go";
  EXPECT_FALSE(inbox_.Has()) << "and nobody is told that it failed";
  // The next commit fails: another daemon leads.
  lead_->End();
  dispatcher_->Forget();
  Settle();
  EXPECT_EQ(backend_.waiting(), 0U);
}

TEST_F(LedDispatcherTest, WhenTheLeadIsConfirmedAfterAPauseWhatWaitedIsSent) {
  Start();
  const JobPtr job = Accepted("train"), gone = Accepted("gone"), ended = Accepted("ended");
  clock_.Advance(kStoppedMs);
  dispatcher_->Ensure(KeyOf(job), job, "");
  dispatcher_->Remove(KeyOf(gone), {});
  dispatcher_->Acknowledge(KeyOf(ended), {}, "uid");
  Settle();
  EXPECT_EQ(backend_.waiting(), 0U);
  EXPECT_TRUE(lead_->Wanted()) << "somebody has asked for it";
  lead_->Renew(epoch_, clock_.Now());
  std::set<BackendCall::Kind> kinds;
  for (int i = 0; i < 3; ++i) kinds.insert(TakeLater().kind);
  EXPECT_EQ(kinds.size(), 3U);
}

TEST_F(LedDispatcherTest, WhatWasOrderedUnderALostLeadIsForgotten_WhatIsOrderedUnderTheNextIsSent) {
  constexpr int kOrders = 100, kAtOnce = 64;
  std::vector<JobPtr> jobs;
  for (int i = 0; i < kOrders; ++i) {
    jobs.push_back(Accepted("train-" + std::to_string(i)));
    dispatcher_->Ensure(KeyOf(jobs.back()), jobs.back(), "");
  }
  Start();
  std::deque<BackendCall> calls;
  for (int i = 0; i < kAtOnce; ++i) calls.push_back(backend_.Take());
  dispatcher_->Remove(calls[0].key, {});  // waits for its key
  lead_->End();
  dispatcher_->Forget();
  lead_->Begin(Epoch{epoch_.value + 2}, clock_.Now(), clock_.Now());
  // Recovery finds that one of the forgotten orders is still needed, and that one is being carried
  // out.
  dispatcher_->Ensure(KeyOf(jobs[99]), jobs[99], "");
  dispatcher_->Ensure(calls[1].key, jobs[1], "");
  for (BackendCall& call : calls) call.ensured(RemoteRef{"uid", ""});
  for (int i = 0; i < kAtOnce; ++i) EXPECT_TRUE(inbox_.Take<EnsuredCommand>().outcome.ok());
  std::set<DispatchKey> sent;
  for (int i = 0; i < 2; ++i) {
    BackendCall call = backend_.Take();
    EXPECT_EQ(call.kind, BackendCall::Kind::kEnsure);
    EXPECT_TRUE(call.order.permit.Holds());
    sent.insert(call.key);
  }
  EXPECT_EQ(sent, (std::set<DispatchKey>{KeyOf(jobs[99]), calls[1].key}));
  Settle();
  EXPECT_EQ(backend_.waiting(), 0U);
}

TEST_F(LedDispatcherTest, AnOrderThatIsTriedAgainUnderTheNextLeadWasNotOrderedUnderIt) {
  Start();
  const JobPtr job = Accepted("a");
  dispatcher_->Ensure(KeyOf(job), job, "");
  BackendCall call = backend_.Take();
  EXPECT_TRUE(call.order.permit.given());
  lead_->End();
  lead_->Begin(Epoch{epoch_.value + 1}, clock_.Now(), clock_.Now());
  EXPECT_TRUE(call.order.permit.IsVoid()) << "whatever it waits for on its way to the member";
}

}  // namespace
}  // namespace muster::test

// Dependencies in the engine: parents of all ages, restarts in between, arrays, singletons, and how
// many dependents one end releases.
#include <gmock/gmock.h>
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <ctime>
#include <fstream>
#include <iterator>
#include <thread>

#include "schedd/lifecycle/dependency_text.h"
#include "schedd/model/task_ranges.h"
#include "tests/support/sanitizers.h"
#include "tests/unit/engine/batch_world.h"

namespace muster::test {
namespace {

using Type = DependencyType;

class DependencyTest : public ::testing::Test {
 protected:
  DependencyTest() { world.Declare({{"cpu", 4000}}, {{"cpu", 64000}}); }

  JobId Running(const std::string& name) {
    const JobId id = SubmitScript(&world, {.job = {.name = name}});
    world.Run();
    EXPECT_EQ(world.StateOf(id), JobState::kRunning);
    return id;
  }
  JobId Dependent(const std::string& name, std::vector<Dependency> on, bool kill = false) {
    ScriptSpec spec{.job = {.name = name}, .state = DependsOn(std::move(on))};
    spec.state.kill_on_invalid_dependency = kill;
    return SubmitScript(&world, spec);
  }
  void End(JobId id, RemotePhase phase = RemotePhase::kSucceeded) {
    ASSERT_TRUE(world.members.End(world.KeyOf(id), phase, phase == RemotePhase::kFailed ? 1 : 0));
    world.Run();
  }
  // An array with these tasks; its record has its id.
  JobId Array(const std::string& name, TaskRanges tasks, std::vector<Dependency> on = {}) {
    ScriptSpec spec{.job = {.name = name}};
    spec.batch.array_spec = IndexText(tasks);
    if (!on.empty()) spec.state = DependsOn(std::move(on));
    spec.state.waiting_tasks = std::move(tasks);
    const JobId id = SubmitScript(&world, spec);
    world.Run();
    return id;
  }
  // The records that a task of the array is in; one, unless something is wrong.
  JobPtr Task(JobId array, std::int32_t index) {
    std::vector<JobPtr> found;
    world.engine->View()->jobs.ForEach(JobId{}, [&](const JobPtr& job) {
      if (job->batch == nullptr || job->batch->array_job_id != array) return true;
      if (IsArrayRecord(*job) ? HasTask(BatchStateOf(*job).waiting_tasks, index)
                              : job->batch->array_task_id == index)
        found.push_back(job);
      return true;
    });
    MUSTER_CHECK(found.size() == 1);
    return found.front();
  }
  std::string Text(JobId id) { return DependencyText(BatchStateOf(*world.Job(id))); }

  EngineWorld world;
};

TEST_F(DependencyTest, AJobStartsWhenItsParentHasEndedWell_AndNotBefore) {
  const JobId parent = Running("parent");
  const JobId child = Dependent("child", {{Type::kAfterOk, parent}});
  world.Run();
  EXPECT_EQ(world.StateOf(child), JobState::kPending);
  EXPECT_EQ(world.Job(child)->reason, Reason::kDependency);
  EXPECT_EQ(Text(child), "afterok:1(unfulfilled)");
  End(parent);
  EXPECT_EQ(world.StateOf(child), JobState::kRunning);
  EXPECT_EQ(Text(child), "");
}

TEST_F(DependencyTest, AParentThatFails_NeverLetsItStart) {
  const JobId parent = Running("parent");
  const JobId child = Dependent("child", {{Type::kAfterOk, parent}});
  const JobId killed = Dependent("killed", {{Type::kAfterOk, parent}}, true);
  const JobId other = Dependent("other", {{Type::kAfterNotOk, parent}});
  End(parent, RemotePhase::kFailed);
  EXPECT_EQ(world.StateOf(child), JobState::kPending);
  EXPECT_EQ(world.Job(child)->reason, Reason::kDependencyNeverSatisfied);
  EXPECT_EQ(Text(child), "afterok:1(failed)");
  EXPECT_EQ(world.StateOf(killed), JobState::kCancelled);
  EXPECT_EQ(world.Job(killed)->reason, Reason::kDependencyNeverSatisfied);
  EXPECT_EQ(world.StateOf(other), JobState::kRunning);
}

TEST_F(DependencyTest, ACancelledParent_IsAnEnd) {
  const JobId parent = SubmitScript(&world, {.job = {.name = "parent", .held = true}});
  const JobId any = Dependent("any", {{Type::kAfterAny, parent}});
  const JobId ok = Dependent("ok", {{Type::kAfterOk, parent}});
  ASSERT_TRUE(world.Do(JobVerb::kCancel, parent).ok());
  world.Run();
  EXPECT_EQ(world.StateOf(any), JobState::kRunning);
  EXPECT_EQ(world.Job(ok)->reason, Reason::kDependencyNeverSatisfied);
}

TEST_F(DependencyTest, ARequeuedParent_IsWaitedForAgain) {
  const JobId parent = Running("parent");
  const JobId child = Dependent("child", {{Type::kAfterOk, parent}});
  ASSERT_TRUE(world.Do(JobVerb::kRequeue, parent).ok());
  world.Run();
  EXPECT_EQ(world.StateOf(parent), JobState::kRunning);
  EXPECT_EQ(world.Job(child)->reason, Reason::kDependency);
  End(parent);
  EXPECT_EQ(world.StateOf(child), JobState::kRunning);
}

TEST_F(DependencyTest, TheDaemonMayDieBetweenParentAndDependent) {
  const JobId parent = Running("parent");
  const JobId child = Dependent("child", {{Type::kAfterOk, parent}});
  const JobId failing = Running("failing");
  const JobId lost = Dependent("lost", {{Type::kAfterOk, failing}});
  world.Restart();
  world.Run();
  EXPECT_EQ(world.Job(child)->reason, Reason::kDependency);
  End(parent);
  End(failing, RemotePhase::kFailed);
  world.Restart();
  world.Run();
  EXPECT_EQ(world.StateOf(child), JobState::kRunning);
  EXPECT_EQ(Text(lost), "afterok:" + std::to_string(failing.value) + "(failed)");
}

TEST_F(DependencyTest, AParentThatLeftMemoryLongAgo_IsJudgedByTheStoredResult) {
  const JobId good = Running("good"), bad = Running("bad");
  End(good);
  End(bad, RemotePhase::kFailed);
  world.clock.Advance(30LL * 24 * 3'600'000);
  world.Run();
  ASSERT_EQ(world.Job(good), nullptr);
  const JobId child = Dependent("child", {{Type::kAfterOk, good}});
  const JobId lost = Dependent("lost", {{Type::kAfterOk, bad}});
  const JobId none = Dependent("none", {{Type::kAfterAny, JobId{99'999}}});
  world.Run();
  EXPECT_EQ(world.StateOf(child), JobState::kRunning);
  EXPECT_EQ(world.Job(lost)->reason, Reason::kDependencyNeverSatisfied);
  EXPECT_EQ(world.Job(none)->reason, Reason::kDependencyNeverSatisfied);
}

TEST_F(DependencyTest, AfterWithMinutes_StartsByTheClock) {
  const JobId parent = Running("parent");
  const JobId child = Dependent("child", {{Type::kAfter, parent, -1, 2}});
  const JobId once = Dependent("once", {{Type::kAfter, parent}});
  world.Run();
  EXPECT_EQ(world.StateOf(once), JobState::kRunning);
  world.clock.Advance(119'000);
  world.Run();
  EXPECT_EQ(world.StateOf(child), JobState::kPending);
  world.clock.Advance(2'000);
  world.Run();
  EXPECT_EQ(world.StateOf(child), JobState::kRunning);
}

TEST_F(DependencyTest, OfAnArray_AllTasksOrOneAreMeant) {
  const JobId array = Array("array", {{0, 2, 1}});
  const JobId all = Dependent("all", {{Type::kAfterOk, array}});
  const JobId one = Dependent("one", {{Type::kAfterOk, array, 1}});
  const JobId bad = Dependent("bad", {{Type::kAfterNotOk, array}});
  EXPECT_EQ(Text(all), "afterok:1_*(unfulfilled)");
  End(Task(array, 1)->id);
  EXPECT_EQ(world.StateOf(one), JobState::kRunning);
  EXPECT_EQ(world.Job(all)->reason, Reason::kDependency);
  End(one);
  End(Task(array, 0)->id, RemotePhase::kFailed);
  EXPECT_EQ(world.Job(all)->reason, Reason::kDependencyNeverSatisfied);
  EXPECT_EQ(world.Job(bad)->reason, Reason::kDependency) << "judged when all have ended";
  End(Task(array, 2)->id);
  EXPECT_EQ(world.StateOf(bad), JobState::kRunning);
}

TEST_F(DependencyTest, AfterCorrBetweenArrays_IsJudgedIndexByIndex) {
  const JobId first = Array("first", {{0, 3, 1}});
  const JobId second = Array("second", {{0, 5, 1}}, {{Type::kAfterCorr, first}});
  EXPECT_EQ(world.Job(second)->reason, Reason::kDependency);
  for (const std::int32_t index : {4, 5})
    EXPECT_EQ(Task(second, index)->reason, Reason::kDependencyNeverSatisfied) << "no such parent";
  End(Task(first, 2)->id);
  EXPECT_EQ(Task(second, 2)->state, JobState::kRunning);
  EXPECT_EQ(Task(second, 0)->state, JobState::kPending);
  End(Task(first, 1)->id, RemotePhase::kFailed);
  EXPECT_EQ(Task(second, 1)->reason, Reason::kDependencyNeverSatisfied);
  world.Restart();
  world.Run();
  EXPECT_EQ(Task(second, 0)->reason, Reason::kDependency);
  End(Task(first, 0)->id);
  EXPECT_EQ(Task(second, 0)->state, JobState::kRunning);
  End(Task(first, 3)->id);
  EXPECT_EQ(Task(second, 3)->state, JobState::kRunning);
  EXPECT_EQ(Task(second, 3)->id, second) << "the last one keeps the array's record";
}

TEST_F(DependencyTest, AnArrayWaitsAsOne) {
  const JobId parent = Running("parent");
  const JobId array = Array("array", {{0, 1, 1}}, {{Type::kAfterOk, parent}});
  EXPECT_EQ(world.Job(array)->reason, Reason::kDependency);
  EXPECT_EQ(Task(array, 0)->id, array);
  End(parent);
  EXPECT_EQ(Task(array, 0)->state, JobState::kRunning);
  EXPECT_EQ(Task(array, 1)->state, JobState::kRunning);
}

TEST_F(DependencyTest, ASingleton_WaitsForEarlierJobsOfItsUserAndName) {
  const JobId first = Running("first");
  const auto named = [&](const std::string& uid, const std::string& name) {
    Submission submission =
        ScriptSubmission({.job = {.name = uid}, .state = DependsOn({{Type::kSingleton, JobId{}}})});
    submission.draft->display_name = name;
    SubmitCommand command;
    command.jobs.push_back(std::move(submission));
    JobId id;
    command.done = [&id](Result<std::vector<Result<SubmittedJob>>> result) {
      id = (*result)[0]->job->id;
    };
    world.engine->Post(std::move(command));
    world.Run();
    return id;
  };
  const JobId second = named("second", "first"), third = named("third", "first");
  const JobId other = named("other", "else");
  EXPECT_EQ(world.StateOf(other), JobState::kRunning);
  EXPECT_EQ(world.Job(second)->reason, Reason::kDependency);
  End(first);
  EXPECT_EQ(world.StateOf(second), JobState::kRunning);
  EXPECT_EQ(world.Job(third)->reason, Reason::kDependency);
  End(second);
  EXPECT_EQ(world.StateOf(third), JobState::kRunning);
}

TEST_F(DependencyTest, SingletonsThatArriveTogether_RunOneByOne) {
  SubmitCommand command;
  for (const std::string uid : {"one", "two"}) {
    command.jobs.push_back(ScriptSubmission(
        {.job = {.name = uid}, .state = DependsOn({{Type::kSingleton, JobId{}}})}));
    command.jobs.back().draft->display_name = "same";
  }
  std::vector<JobId> ids;
  command.done = [&ids](Result<std::vector<Result<SubmittedJob>>> all) {
    for (const auto& one : *all) ids.push_back(one->job->id);
  };
  world.engine->Post(std::move(command));
  world.Run();
  EXPECT_EQ(world.StateOf(ids[0]), JobState::kRunning);
  EXPECT_EQ(world.Job(ids[1])->reason, Reason::kDependency);
  End(ids[0]);
  EXPECT_EQ(world.StateOf(ids[1]), JobState::kRunning);
}

TEST_F(DependencyTest, ThousandDependents_OfOneParent_AreReleasedTogether) {
  const JobId parent = Running("parent");
  std::vector<ScriptSpec> specs;
  for (int i = 0; i < 1000; ++i)
    specs.push_back(
        {.job = {.name = "d" + std::to_string(i)}, .state = DependsOn({{Type::kAfterOk, parent}})});
  const auto ids = SubmitScripts(&world, specs);
  world.Run();
  End(parent);
  std::size_t waiting = 0;
  for (const JobId id : ids) waiting += world.Job(id)->reason == Reason::kDependency ? 1 : 0;
  EXPECT_EQ(waiting, 0U);
}

std::int64_t CpuTimeUs(std::jthread& thread) {
  clockid_t used{};
  timespec now{};
  MUSTER_CHECK(pthread_getcpuclockid(thread.native_handle(), &used) == 0);
  clock_gettime(used, &now);
  return now.tv_sec * std::int64_t{1'000'000} + now.tv_nsec / 1000;
}

// R: it runs or could run; S: it waits for something.
char StateOfThread(pid_t number) {
  std::ifstream file("/proc/self/task/" + std::to_string(number) + "/stat");
  const std::string text(std::istreambuf_iterator<char>(file), {});
  const std::size_t name_end = text.rfind(") ");
  return name_end == std::string::npos ? '?' : text[name_end + 2];
}

// The loop must sleep while it can judge no more of them.
TEST(DependentsWithoutRoom, WaitForTheStoreWithoutSpinning) {
  EngineOptions options;
  options.commit_depth = 1;
  EngineWorld world(1, options, {.manual = true});
  const auto settle = [&world] {
    do {
      world.Settle();
      world.members.CarryAll();
    } while (world.store.DrainOne() || world.engine->Step() || !world.members.Idle());
  };
  std::vector<ObjectChange> objects = {NamespaceObject("default"), FlavorObject("default"),
                                       ClusterQueueObject({.nominal = {{"cpu", 4000}}}),
                                       LocalQueueObject("queue", "cq"),
                                       MemberObject("east", {{"cpu", 64000}})};
  world.engine->Post(ApplyCommand{
      {"root", "test"}, std::move(objects), false, [](Result<std::vector<AppliedObject>>) {}});
  settle();
  SubmitCommand command;
  command.jobs.push_back(ScriptSubmission({.job = {.name = "parent", .held = true}}));
  for (int i = 0; i < 800; ++i) {
    command.jobs.push_back(ScriptSubmission({.job = {.name = "d" + std::to_string(i)},
                                             .state = DependsOn({{Type::kAfterAny, JobId{1}}})}));
  }
  command.done = [](Result<std::vector<Result<SubmittedJob>>>) {};
  world.engine->Post(std::move(command));
  settle();
  world.clock.Advance(1000);
  world.engine->Post(
      JobCommand{{"alice", "test"}, JobVerb::kCancel, JobId{1}, [](Result<JobPtr>) {}});
  std::atomic<pid_t> number = 0;
  std::atomic<bool> ended = false;
  std::jthread loop([&](std::stop_token stop) {
    number = ::gettid();
    world.engine->Run(stop);
    ended = true;
  });
  // A thread that spins can run whenever it is looked at, also when others have the processors.
  const auto sleeps = [&] {
    const std::int64_t before = CpuTimeUs(loop);
    for (int i = 0; i < 200; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      if (world.store.waiting() != 1 || StateOfThread(number) != 'S') return false;
    }
    // ThreadSanitizer makes the few looks ten times as dear.
    return CpuTimeUs(loop) - before < (kThreadSanitizer ? 100'000 : 10'000);
  };
  const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  bool slept = false;
  while (!slept && std::chrono::steady_clock::now() < give_up) slept = sleeps();
  EXPECT_TRUE(slept);
  loop.request_stop();
  // The loop ends when what it has sent is written.
  while (!ended) {
    world.store.DrainOne();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

TEST_F(DependencyTest, AnUpdate_ReplacesTheListAndRefusesCircles) {
  const JobId parent = Running("parent");
  const JobId child = Dependent("child", {{Type::kAfterOk, parent}});
  const JobId grandchild = Dependent("grandchild", {{Type::kAfterOk, child}});
  JobUpdate circle;
  circle.dependencies = DependsOn({{Type::kAfterOk, grandchild}});
  const auto refused = Update(&world, child, circle);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().fields[0].message, "Circular job dependency");
  JobUpdate none;
  none.dependencies = BatchState{};
  ASSERT_TRUE(Update(&world, child, none).ok());
  world.Run();
  EXPECT_EQ(world.StateOf(child), JobState::kRunning);
}

}  // namespace
}  // namespace muster::test

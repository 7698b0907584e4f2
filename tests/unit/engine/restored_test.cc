// The database was restored from a backup (rule D25): nothing of it runs again by itself. The store
// of these worlds is as the backup has it; their members may have gone on.
#include "tests/unit/engine/dispatch_cases.h"

namespace muster::test {
namespace {

using testing::HasSubstr;

constexpr std::int64_t kLost = 1000;  // numbers that the lost history may have given out

class Restored : public DispatchCase {
 protected:
  // The daemon starts on the store as it is now; it counts as a backup's.
  void Restore() {
    const std::int64_t last = world.Stored().last_seq;
    world.store.MarkRestored({WallTime{1'000'000}, last});
    world.store.MarkLost({last, last + kLost});
    world.Restart();
    world.members.Tell("east");
    world.Run();
  }
  // More than the quota of four cpus: it waits.
  JobId Waiting(const std::string& name) {
    const JobId id = world.Submit({.name = name, .pods = {{1, {{"cpu", 4000}}, "main"}}})->id;
    world.Run();
    EXPECT_EQ(world.StateOf(id), JobState::kPending);
    return id;
  }
};

TEST_F(Restored, AJobThatWaitsIsHeldAndRunsWhenItIsReleased) {
  const JobId runs = Running("runs"), waits = Waiting("waits");
  Restore();
  EXPECT_EQ(world.StateOf(waits), JobState::kHeld);
  EXPECT_THAT(world.Job(waits)->message,
              HasSubstr("the database was restored from a backup of 1970-01-01T00:00:01Z"));
  EXPECT_EQ(world.StateOf(runs), JobState::kRunning) << "its object is there";
  EXPECT_EQ(Starts(world.KeyOf(runs)), 1);
  world.members.End(world.KeyOf(runs), RemotePhase::kSucceeded);
  world.Run();
  EXPECT_EQ(world.StateOf(waits), JobState::kHeld) << "quota is free, and nobody has released it";
  ASSERT_TRUE(world.Do(JobVerb::kRelease, waits).ok());
  world.Run();
  EXPECT_EQ(world.StateOf(waits), JobState::kRunning);
}

TEST_F(Restored, ARestartAfterARestoreTakesNoDecisionBack) {
  Running("runs");
  const JobId waits = Waiting("waits");
  Restore();
  ASSERT_TRUE(world.Do(JobVerb::kRelease, waits).ok());
  world.Restart();
  world.Run();
  EXPECT_EQ(world.StateOf(waits), JobState::kPending);
  EXPECT_EQ(EventsOf("DatabaseRestored"), 1U);
}

TEST_F(Restored, ManyJobsAreHeldBeforeAnythingIsDecided) {
  const JobId runs = Running("runs");
  std::vector<JobId> waiting;
  for (int i = 0; i < 1500; ++i)
    waiting.push_back(
        world.Submit({.name = "w" + std::to_string(i), .pods = {{1, {{"cpu", 4000}}, "main"}}})
            ->id);
  world.Run();
  world.members.objects[world.KeyOf(runs)].phase = RemotePhase::kSucceeded;
  Restore();
  EXPECT_EQ(world.StateOf(runs), JobState::kSucceeded) << "its quota is free";
  for (const JobId id : waiting) EXPECT_EQ(world.StateOf(id), JobState::kHeld) << id.value;
}

TEST_F(Restored, AnAttemptThatWasAboutToBeCreatedIsQuarantinedUntilAnAdministratorCollects) {
  const JobId id = Submit();  // its order is not carried out
  ASSERT_EQ(RowOf(id), DispatchState::kIntent);
  Restore();
  EXPECT_EQ(RowOf(id), DispatchState::kQuarantined);
  EXPECT_TRUE(world.members.objects.empty());
  EXPECT_THAT(world.Job(id)->message, HasSubstr("this attempt may have run since"));
  world.engine->Post(CollectCommand{{"root", "test"}, "east", [](Result<std::size_t>) {}});
  world.Settle();
  world.Restart();
  world.Run();
  EXPECT_EQ(world.StateOf(id), JobState::kRunning) << "a restart does not quarantine it again";
  EXPECT_EQ(Starts(world.KeyOf(id)), 1);
}

TEST_F(Restored, AJobThatIsBeingRequeuedIsHeldWhenItsAttemptIsGone) {
  const JobId id = Running();
  const DispatchKey key = world.KeyOf(id);
  ASSERT_TRUE(world.Do(JobVerb::kRequeue, id).ok());
  ASSERT_EQ(RowOf(id), DispatchState::kRevoking);
  Restore();
  EXPECT_EQ(world.StateOf(id), JobState::kHeld);
  EXPECT_FALSE(world.members.objects.contains(key));
}

TEST_F(Restored, AnAttemptThatEndedAndIsGoneIsLostAndDoesNotRunAgain) {
  const JobId id = Running();
  const DispatchKey key = world.KeyOf(id);
  world.members.Vanish(key);
  Restore();
  EXPECT_EQ(world.StateOf(id), JobState::kFailed);
  EXPECT_EQ(world.Job(id)->reason, Reason::kLost);
  EXPECT_EQ(Starts(key), 1);
}

TEST_F(Restored, AnObjectWithANumberOfTheLostHistoryIsAheadAndItsJobSaysWhere) {
  Running("runs");
  const JobId waits = Waiting("waits");
  const DispatchKey there{world.Job(waits)->uid, 1, "east"};
  world.members.objects[there] = {.uid = "lost",
                                  .object = {"batch/v1", "Job", "default", "waits"},
                                  .held = true,
                                  .sequence = world.Stored().last_seq + 1};
  foreign = {"lost"};
  Restore();
  Collect();
  EXPECT_TRUE(world.members.objects.contains(there));
  EXPECT_EQ(EventsOf("MemberObjectQuarantined"), 1U);
  EXPECT_EQ(world.StateOf(waits), JobState::kHeld);
  EXPECT_THAT(world.Job(waits)->message, HasSubstr("member cluster east has attempt 1 of it"));
}

// A promoted standby may lack the last commits of the primary that it replaces (rule D26).
TEST_F(Restored, NumbersOfALostPrimaryAreNotGivenOutAndObjectsThatHaveThemAreSetAside) {
  const JobId runs = Running("runs");
  const JobId waits = Waiting("waits");
  const std::int64_t last = world.Stored().last_seq;
  const DispatchKey lost{Uid{1, 2}, 1, "east"};
  world.members.objects[lost] = {.uid = "lost",
                                 .object = {"batch/v1", "Job", "default", "lost"},
                                 .held = true,
                                 .sequence = last + 1};
  foreign = {"lost"};
  world.store.MarkLost({last, last + kLost});
  world.Restart();
  world.members.Tell("east");
  world.Run();
  Collect();
  EXPECT_EQ(EventsOf("MemberObjectQuarantined"), 1U);
  EXPECT_EQ(world.StateOf(waits), JobState::kPending) << "nothing else is in doubt";
  world.members.End(world.KeyOf(runs), RemotePhase::kSucceeded);
  world.Run();
  EXPECT_EQ(world.StateOf(waits), JobState::kRunning);
  EXPECT_GT(world.Job(waits)->resource_version, last + kLost);
  EXPECT_TRUE(world.members.objects.contains(lost)) << "no number reaches it";
}

}  // namespace
}  // namespace muster::test

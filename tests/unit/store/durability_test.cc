// What an acknowledged write survives, by the settings of the database; and how the health of the
// store names what is waited for.
#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <string>

#include "schedd/base/limits_observer.h"
#include "schedd/store/durability.h"
#include "schedd/store/health.h"

namespace muster::test {
namespace {

TEST(RequiredStandbys, ReadsTheFormsOfSynchronousStandbyNames) {
  const struct {
    const char* names;
    int required;
  } cases[] = {
      {"", 0},
      {"  ", 0},
      {"a", 1},
      {"*", 1},
      {"a, b", 1},
      {"\"node-1\",\"node-2\"", 1},
      {"FIRST 1 (a)", 1},
      {"first 2 (a, b, c)", 2},
      {"ANY 2 (*)", 2},
      {"2 (a, b)", 2},
      {"3(a,b,c)", 3},
      {"first", 1},       // a standby of that name
      {"any, first", 1},  // two of them
      {"FIRST (a)", 1},   // no number: PostgreSQL refuses it
      {"7", 1},           // a name, not a number of standbys
      {"99999999999 (a)", 1},
  };
  for (const auto& one : cases) EXPECT_EQ(RequiredStandbys(one.names), one.required) << one.names;
}

TEST(Durability, TheWeakestSettingDecides) {
  const struct {
    DatabaseFacts facts;
    Durability durability;
    const char* name;
    const char* text;
  } cases[] = {
      {{"on", true, true, "", {}}, Durability::kCrash, "crash", "lost with the database's disk"},
      {{"on", true, true, "FIRST 1 (a)", 1},
       Durability::kServerLoss,
       "server-loss",
       "survives the loss of one server if"},
      {{"remote_apply", true, true, "ANY 2 (a, b, c)", 3},
       Durability::kServerLoss,
       "server-loss",
       "on 2 synchronous standbys, and survives the loss of 2 servers if"},
      {{"on", true, true, "FIRST 1 (a)", 0},
       Durability::kServerLoss,
       "server-loss",
       "nothing is acknowledged now, because 0 of 1 synchronous standbys stream"},
      {{"on", true, true, "FIRST 1 (a)", {}},
       Durability::kServerLoss,
       "server-loss",
       "if a synchronous standby is promoted"},
      {{"on", false, true, "FIRST 1 (a)", 1}, Durability::kNone, "none", "fsync is off"},
      {{"on", true, false, "FIRST 1 (a)", 1}, Durability::kNone, "none", "full_page_writes is off"},
      {{"off", true, true, "FIRST 1 (a)", 1},
       Durability::kNone,
       "none",
       "synchronous_commit of the daemon's session is off"},
      {{"local", true, true, "", {}}, Durability::kNone, "none", "is local"},
      {{"remote_write", true, true, "a", 1}, Durability::kNone, "none", "is remote_write"},
      {{"", true, true, "a", 1}, Durability::kNone, "none", "is not known"},
  };
  for (const auto& one : cases) {
    EXPECT_EQ(DurabilityOf(one.facts), one.durability) << one.text;
    EXPECT_STREQ(NameOf(one.durability), one.name);
    EXPECT_NE(DurabilityText(one.facts).find(one.text), std::string::npos)
        << DurabilityText(one.facts);
  }
}

TEST(StoreHealth, ARefusalIsTold_UntilJobsAreWrittenOrWouldBe) {
  using std::chrono::seconds;
  StoreHealth health;
  const auto problem = [&health] { return health.Problem({}, seconds(5)); };
  EXPECT_EQ(problem(), "");
  EXPECT_EQ(health.refusal().job, nullptr);
  health.Refuses("the disk is full", NewJob{nullptr, "first", {}});
  health.Leads();
  EXPECT_EQ(problem(), "the disk is full") << "a heartbeat needs less than a job";
  const StoreHealth::Refusal first = health.refusal();
  EXPECT_EQ(first.job->manifest, "first");
  health.Refuses("a table is missing", NewJob{nullptr, "second", {}});
  EXPECT_EQ(health.refusal().job, first.job);
  health.Tried(first, "");
  EXPECT_EQ(problem(), "a table is missing") << "the trial began before this refusal";
  health.Tried(health.refusal(), "the disk is full");
  EXPECT_EQ(problem(), "the disk is full");
  health.Tried(health.refusal(), "");
  EXPECT_EQ(problem(), "");
  EXPECT_EQ(health.refusal().job, nullptr);
  health.Refuses("the disk is full", NewJob{nullptr, "third", {}});
  const StoreHealth::Refusal third = health.refusal();
  health.Accepts();
  health.Tried(third, "the disk is full");
  EXPECT_EQ(problem(), "") << "jobs were written meanwhile";
}

TEST(StoreHealth, NamesAStandbyThatIsWaitedFor_AndTellsNewsOfTheDatabaseOnce) {
  using std::chrono::seconds;
  StoreHealth health;
  const StoreHealth::Clock::time_point start{};
  EXPECT_FALSE(health.IsPressed(start, seconds(1)));
  health.Waits(start);
  EXPECT_FALSE(health.IsPressed(start, seconds(1)));
  EXPECT_TRUE(health.IsPressed(start + seconds(1), seconds(1)));
  health.ObserveStandbyWait(true);
  EXPECT_EQ(health.Problem(start + seconds(7), seconds(5)),
            "waiting for a synchronous standby of the database: the database has not made the "
            "oldest change durable for 7 s");
  health.Rests();
  EXPECT_FALSE(health.IsPressed(start + seconds(7), seconds(5)));
  EXPECT_EQ(health.Problem(start + seconds(7), seconds(5)), "");
  health.Lost("it is gone");
  EXPECT_TRUE(health.IsPressed(start, seconds(1)));
  EXPECT_EQ(health.Problem(start, seconds(5)),
            "waiting for a synchronous standby of the database: it is gone");
  health.ObserveStandbyWait(false);
  EXPECT_EQ(health.Problem(start, seconds(5)), "it is gone");

  EXPECT_EQ(health.sessions(), 0);
  EXPECT_FALSE(health.facts());
  health.Opened("on");
  EXPECT_EQ(health.sessions(), 1);
  EXPECT_TRUE(health.Observe({"", true, true, "", 0}));
  EXPECT_FALSE(health.Observe({"", true, true, "", 0}));
  EXPECT_EQ(DurabilityOf(*health.facts()), Durability::kCrash);
  health.Opened("off");
  EXPECT_TRUE(health.Observe({"", true, true, "", 0}));
  EXPECT_EQ(DurabilityOf(*health.facts()), Durability::kNone);
}

}  // namespace
}  // namespace muster::test

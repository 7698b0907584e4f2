// Caps on the waiting jobs of one user and of one namespace (rule U75): exact, also across jobs
// that are on their way, recoveries, and edits of the namespace.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "schedd/text/json.h"
#include "tests/support/engine_world.h"

namespace muster::test {
namespace {

using CapAnswer = std::optional<Result<std::vector<Result<SubmittedJob>>>>;

// Nothing is ever admitted, so every job waits.
struct TenantWorld {
  explicit TenantWorld(std::size_t of_user, std::size_t of_namespace, bool manual = false)
      : world(1, Options(of_user, of_namespace), {.manual = manual}) {
    if (!manual) {
      world.Declare({{"cpu", 0}}, {{"cpu", 8000}});
      EXPECT_TRUE(world.Apply({NamespaceObject("other")}).ok());
    }
  }
  static EngineOptions Options(std::size_t of_user, std::size_t of_namespace) {
    EngineOptions options;
    options.max_waiting_per_user = of_user;
    options.max_waiting_per_namespace = of_namespace;
    return options;
  }
  static Submission JobOf(const std::string& user, const std::string& name,
                          const std::string& ns = "default") {
    Submission submission = MakeSubmission({.name = name, .ns = ns});
    submission.draft->user = user;
    return submission;
  }
  void Post(std::vector<Submission> jobs, CapAnswer* answer) {
    SubmitCommand command;
    command.jobs = std::move(jobs);
    command.done = [answer](Result<std::vector<Result<SubmittedJob>>> result) {
      *answer = std::move(result);
    };
    world.engine->Post(std::move(command));
  }
  // "" for an accepted job, else the sentence of its refusal.
  std::vector<std::string> Submit(std::vector<Submission> jobs) {
    CapAnswer answer;
    Post(std::move(jobs), &answer);
    world.Settle();
    return SentencesOf(answer);
  }
  std::string Submit(const std::string& user, const std::string& name,
                     const std::string& ns = "default") {
    std::vector<Submission> one;
    one.push_back(JobOf(user, name, ns));
    return Submit(std::move(one)).front();
  }
  static std::vector<std::string> SentencesOf(const CapAnswer& answer) {
    MUSTER_CHECK(answer.has_value() && answer->ok());
    std::vector<std::string> sentences;
    for (const auto& one : **answer) {
      sentences.push_back(one.ok() ? "" : one.error().detail);
      if (one.ok()) continue;
      EXPECT_EQ(one.error().code, Code::kResourceExhausted);
      EXPECT_GT(one.error().retry_after_ms, 0);
    }
    return sentences;
  }
  EngineWorld world;
};

constexpr const char* kUserFull =
    "user \"alice\" may have at most 2 waiting jobs (limits.pending-jobs-per-user) and has as "
    "many; submit again when some have started";

TEST(TenantCaps, AUserAtTheCapIsRefused_AndNobodyElse) {
  TenantWorld w(2, 0);
  EXPECT_EQ(w.Submit("alice", "a"), "");
  EXPECT_EQ(w.Submit("alice", "b"), "");
  EXPECT_EQ(w.Submit("alice", "c"), kUserFull);
  EXPECT_EQ(w.Submit("alice", "c", "other"), kUserFull) << "a user is one in all namespaces";
  EXPECT_EQ(w.Submit("bob", "c"), "");
  EXPECT_EQ(w.world.store.accepted_jobs(), 3U) << "nothing of a refused job is written";
}

TEST(TenantCaps, ANamespaceAtTheCapIsRefused_ForEveryUser) {
  TenantWorld w(0, 2);
  EXPECT_EQ(w.Submit("alice", "a"), "");
  EXPECT_EQ(w.Submit("bob", "b"), "");
  EXPECT_THAT(w.Submit("carol", "c"),
              testing::HasSubstr("namespace \"default\" may have at most 2 waiting jobs "
                                 "(limits.pending-jobs-per-namespace)"));
  EXPECT_EQ(w.Submit("carol", "c", "other"), "");
}

TEST(TenantCaps, TheNamespaceMaySayItsOwnCap_AndAnEditCountsAtOnce) {
  TenantWorld w(0, 100);
  ObjectChange edited = NamespaceObject("default");
  json::value manifest = *ParseJson(edited.manifest);
  manifest.at("metadata").as_object()["annotations"] =
      json::object{{"muster.io/max-pending-jobs", "1"}};
  edited.manifest = WriteJson(manifest);
  ASSERT_TRUE(w.world.Apply({edited}).ok());
  EXPECT_EQ(w.Submit("alice", "a"), "");
  EXPECT_THAT(w.Submit("alice", "b"), testing::HasSubstr("at most 1 waiting jobs (its annotation "
                                                         "muster.io/max-pending-jobs)"));
  ASSERT_TRUE(w.world.Apply({NamespaceObject("default")}).ok());
  EXPECT_EQ(w.Submit("alice", "b"), "");
}

TEST(TenantCaps, OfABatchTheFirstJobsAreTaken) {
  TenantWorld w(2, 0);
  std::vector<Submission> batch;
  for (const char* name : {"a", "b", "c", "d"}) batch.push_back(TenantWorld::JobOf("alice", name));
  EXPECT_EQ(w.Submit(std::move(batch)), (std::vector<std::string>{"", "", kUserFull, kUserFull}));
}

TEST(TenantCaps, AJobThatNoLongerWaitsMakesRoom_AndARestartChangesNothing) {
  TenantWorld w(2, 0);
  EXPECT_EQ(w.Submit("alice", "a"), "");
  EXPECT_EQ(w.Submit("alice", "b"), "");
  w.world.Restart();
  EXPECT_EQ(w.Submit("alice", "c"), kUserFull);
  ASSERT_TRUE(w.world.Do(JobVerb::kHold, JobId{1}).ok());
  EXPECT_EQ(w.Submit("alice", "c"), kUserFull) << "a held job waits too";
  ASSERT_TRUE(w.world.Do(JobVerb::kCancel, JobId{1}).ok());
  EXPECT_EQ(w.Submit("alice", "c"), "");
  EXPECT_EQ(w.Submit("alice", "d"), kUserFull);
}

TEST(TenantCaps, JobsOnTheirWayToTheStoreCountToo_AndThoseThatFailAreGivenBack) {
  TenantWorld w(2, 0, true);
  CapAnswer first, second;
  const auto two = [](const char* a, const char* b) {
    std::vector<Submission> jobs;
    jobs.push_back(TenantWorld::JobOf("alice", a));
    jobs.push_back(TenantWorld::JobOf("alice", b));
    return jobs;
  };
  std::vector<Submission> taken = two("a", "a");
  taken[1].draft->uid = UidOf("another job of this name");
  w.Post(std::move(taken), &first);
  w.Post(two("b", "c"), &second);
  do {
    w.world.Settle();
  } while (w.world.store.DrainOne());
  EXPECT_EQ(TenantWorld::SentencesOf(second), (std::vector<std::string>{kUserFull, kUserFull}));
  CapAnswer third;
  w.Post(two("b", "c"), &third);
  do {
    w.world.Settle();
  } while (w.world.store.DrainOne());
  EXPECT_EQ(TenantWorld::SentencesOf(third), (std::vector<std::string>{"", kUserFull}))
      << "the second job named a was refused by the store";
}

}  // namespace
}  // namespace muster::test

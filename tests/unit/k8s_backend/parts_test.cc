// The backend's plain parts: the cache of attempts.
#include <gtest/gtest.h>

#include "backends/k8s/attempt_cache.h"
#include "schedd/base/random.h"

namespace muster::k8s {
namespace {

const AttemptLabels kAttempt{{1, 2}, 1};
const KindInfo& JobKind() { return *KindByApi("batch/v1", "Job"); }

ObjectState ObjectOf(const std::string& uid, RemotePhase phase, const std::string& version = "1") {
  ObjectState state;
  state.kind = &JobKind();
  state.attempt = kAttempt;
  state.ns = "default";
  state.name = "work";
  state.uid = uid;
  state.resource_version = version;
  state.phase = phase;
  return state;
}

PodState PodOf(const std::string& uid, std::optional<std::int32_t> exit_code = {}) {
  PodState pod;
  pod.attempt = kAttempt;
  pod.ns = "default";
  pod.name = "work-" + uid;
  pod.uid = uid;
  if (exit_code) {
    pod.phase = PodPhase::kFailed;
    pod.failure = ContainerFailure{"main", "Error", *exit_code, 0, {}};
  }
  return pod;
}

std::vector<RemotePhase> PhasesOf(AttemptCache* cache) {
  std::vector<RemotePhase> phases;
  for (const Observation& seen : cache->TakeChanges(100, {})) phases.push_back(seen.phase);
  return phases;
}

TEST(AttemptCacheTest, TellsTheLatestOfAnObjectOnce) {
  AttemptCache cache("m", "i");
  cache.Put(ObjectOf("a", RemotePhase::kSuspended, "1"));
  cache.Put(ObjectOf("a", RemotePhase::kRunning, "2"));
  const auto told = cache.TakeChanges(100, {5});
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].phase, RemotePhase::kRunning);
  EXPECT_EQ(told[0].key, (DispatchKey{{1, 2}, 1, "m"}));
  EXPECT_EQ(told[0].incarnation, "i");
  EXPECT_EQ(told[0].observed_at.us, 5);
  EXPECT_TRUE(cache.TakeChanges(100, {}).empty());
}

TEST(AttemptCacheTest, TellsAnEndBeforeTheAbsence) {
  AttemptCache cache("m", "i");
  cache.Put(ObjectOf("a", RemotePhase::kRunning));
  PhasesOf(&cache);
  cache.Put(ObjectOf("a", RemotePhase::kSucceeded, "2"));
  cache.Remove(ObjectOf("a", RemotePhase::kSucceeded, "3"));
  EXPECT_EQ(PhasesOf(&cache),
            (std::vector<RemotePhase>{RemotePhase::kSucceeded, RemotePhase::kMissing}));
}

TEST(AttemptCacheTest, AListThatLacksAnObject_MakesItMissing_AndTellsNothingOfTheOthers) {
  AttemptCache cache("m", "i");
  cache.Put(ObjectOf("a", RemotePhase::kRunning));
  cache.Put(ObjectOf("b", RemotePhase::kRunning));
  PhasesOf(&cache);
  cache.BeginList(JobKind());
  cache.PutListed(ObjectOf("a", RemotePhase::kRunning));
  cache.BeginList(JobKind());  // the list had to begin again
  cache.PutListed(ObjectOf("b", RemotePhase::kRunning));
  cache.EndList(JobKind());
  const auto told = cache.TakeChanges(100, {});
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].remote_uid, "a");
  EXPECT_EQ(told[0].phase, RemotePhase::kMissing);
}

TEST(AttemptCacheTest, AFailureWaitsForItsExitCode_UntilItsPodsWereAskedFor) {
  AttemptCache cache("m", "i");
  cache.Put(ObjectOf("a", RemotePhase::kFailed));
  EXPECT_TRUE(PhasesOf(&cache).empty());
  ASSERT_EQ(cache.AwaitsPods().size(), 1u);
  EXPECT_TRUE(cache.AwaitsPods().empty()) << "asked once";
  cache.PutPod(PodOf("p", 7));
  cache.PodsAsked("a");
  const auto told = cache.TakeChanges(100, {});
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].exit_code, 7);
}

TEST(AttemptCacheTest, AFailedPodThatIsDeleted_StillTellsWhy) {
  AttemptCache cache("m", "i");
  cache.Put(ObjectOf("a", RemotePhase::kRunning));
  cache.PutPod(PodOf("p", 9));
  cache.RemovePod(PodOf("p", 9));
  cache.Put(ObjectOf("a", RemotePhase::kFailed, "2"));
  const auto told = cache.TakeChanges(100, {});
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].exit_code, 9);
  EXPECT_TRUE(cache.PodsOf(kAttempt, "default").empty());
}

TEST(AttemptCacheTest, PodsOfAnotherNamespaceAreSomebodyElses) {
  AttemptCache cache("m", "i");
  cache.Put(ObjectOf("a", RemotePhase::kFailed));
  PodState spoofed = PodOf("p", 3);
  spoofed.ns = "other";
  cache.PutPod(spoofed);
  cache.AwaitsPods();
  cache.PodsAsked("a");
  const auto told = cache.TakeChanges(100, {});
  ASSERT_EQ(told.size(), 1u);
  EXPECT_NE(told[0].exit_code, 3);
  EXPECT_TRUE(cache.PodsOf(kAttempt, "default").empty());
}

TEST(AttemptCacheTest, AnObjectThatLosesOurLabels_IsGoneForUs) {
  AttemptCache cache("m", "i");
  cache.Put(ObjectOf("a", RemotePhase::kRunning));
  PhasesOf(&cache);
  ObjectState stripped = ObjectOf("a", RemotePhase::kRunning, "2");
  stripped.attempt.reset();
  cache.Put(stripped);
  EXPECT_EQ(PhasesOf(&cache), std::vector<RemotePhase>{RemotePhase::kMissing});
  EXPECT_FALSE(cache.Holds(JobKind()));
}

}  // namespace
}  // namespace muster::k8s

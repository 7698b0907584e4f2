// Watches and logs of the fake member.
#include <gtest/gtest.h>

#include "tests/unit/fake_member/manifests.h"
#include "tests/unit/fake_member/plain_client.h"

namespace muster::fake {
namespace {

class FakeWatch : public ::testing::Test {
 protected:
  static FakeMemberOptions StillTime() {
    FakeMemberOptions options;
    options.manual_clock = true;
    options.history = 50;
    return options;
  }
  std::string Version() {
    return Text(client_.Get(kMaps).object(), {"metadata", "resourceVersion"});
  }
  void Make(const std::string& name, const std::string& metadata = "") {
    ASSERT_EQ(client_.Post(kMaps, Map(name, metadata)).status, 201);
  }
  FakeMember member_{StillTime()};
  PlainClient client_{member_};
};

TEST_F(FakeWatch, FromAVersion_TellsWhatCameAfterIt_InOrder) {
  Make("old");
  const std::string version = Version();
  Make("a");
  LongRead watch(client_, kMaps + "?watch=1&resourceVersion=" + version);
  EXPECT_EQ(watch.status(), 200);
  EXPECT_EQ(watch.Told(), "ADDED a");
  client_.Ask("PATCH", kMaps + "/a", R"({"data":{"x":"y"}})", "application/merge-patch+json");
  client_.Ask("DELETE", kMaps + "/a");
  EXPECT_EQ(watch.Told(), "MODIFIED a");
  EXPECT_EQ(watch.Told(), "DELETED a");
}

TEST_F(FakeWatch, WithoutAVersion_BeginsWithWhatIsThere) {
  Make("old");
  LongRead watch(client_, kMaps + "?watch=true");
  EXPECT_EQ(watch.Told(), "ADDED old");
  Make("new");
  EXPECT_EQ(watch.Told(), "ADDED new");
}

TEST_F(FakeWatch, ASelector_MakesArrivalsAndDeparturesOfChanges) {
  LongRead watch(client_, kMaps + "?watch=1&labelSelector=x&resourceVersion=" + Version());
  Make("a");
  const auto label = [&](const std::string& value) {
    client_.Ask("PATCH", kMaps + "/a", R"({"metadata":{"labels":{"x":)" + value + "}}}",
                "application/merge-patch+json");
  };
  label(R"("1")");
  label(R"("2")");
  label("null");
  EXPECT_EQ(watch.Told(), "ADDED a");
  EXPECT_EQ(watch.Told(), "MODIFIED a");
  EXPECT_EQ(watch.Told(), "DELETED a");
}

TEST_F(FakeWatch, ATooOldVersion_GetsOneErrorEvent) {
  const std::string version = Version();
  Make("a");
  member_.Compact();
  LongRead watch(client_, kMaps + "?watch=1&resourceVersion=" + version);
  EXPECT_EQ(watch.status(), 200);
  const json::object event = watch.Event();
  EXPECT_EQ(Text(event, {"type"}), "ERROR");
  EXPECT_EQ(Number(event, {"object", "code"}), 410);
  EXPECT_EQ(Text(event, {"object", "reason"}), "Expired");
  EXPECT_EQ(watch.Line(), std::nullopt);
  EXPECT_FALSE(watch.broken());
  LongRead fresh(client_, kMaps + "?watch=1&resourceVersion=" + Version());
  Make("b");
  EXPECT_EQ(fresh.Told(), "ADDED b");
}

TEST_F(FakeWatch, MoreChangesThanAreKept_AreTooOldAsWell) {
  const std::string version = Version();
  for (int i = 0; i < 60; ++i) Make("m" + std::to_string(i));
  LongRead watch(client_, kMaps + "?watch=1&resourceVersion=" + version);
  EXPECT_EQ(Text(watch.Event(), {"type"}), "ERROR");
}

TEST_F(FakeWatch, AVersionFromTheFuture_IsSilenceUntilItIsReached) {
  const std::int64_t version = std::stoll(Version());
  LongRead watch(client_, kMaps + "?watch=1&resourceVersion=" + std::to_string(version + 1));
  Make("a");
  Make("b");
  EXPECT_EQ(watch.Told(), "ADDED b");
  EXPECT_EQ(client_.Get(kMaps + "?watch=1&resourceVersion=abc").status, 500);
}

TEST_F(FakeWatch, Bookmarks_TellTheVersion_AndTheEndOfTheFirstObjects) {
  Make("a");
  LongRead watch(client_, kMaps +
                              "?watch=1&allowWatchBookmarks=true&sendInitialEvents=true"
                              "&resourceVersionMatch=NotOlderThan");
  EXPECT_EQ(watch.Told(), "ADDED a");
  const json::object all = watch.Event();
  EXPECT_EQ(Text(all, {"type"}), "BOOKMARK");
  EXPECT_EQ(Text(all, {"object", "metadata", "annotations", "k8s.io/initial-events-end"}), "true");
  member_.SendBookmarks();
  const json::object later = watch.Event();
  EXPECT_EQ(Text(later, {"type"}), "BOOKMARK");
  EXPECT_EQ(Text(later, {"object", "metadata", "resourceVersion"}), Version());
}

TEST_F(FakeWatch, EndsInOrder_WhenItsTimeIsOver_OrTheMemberClosesIt) {
  LongRead timed(client_, kMaps + "?watch=1&timeoutSeconds=1&resourceVersion=" + Version());
  EXPECT_EQ(timed.Line(), std::nullopt);
  EXPECT_FALSE(timed.broken());
  LongRead closed(client_, kMaps + "?watch=1&resourceVersion=" + Version());
  member_.CloseWatches();
  EXPECT_EQ(closed.Line(), std::nullopt);
  EXPECT_FALSE(closed.broken());
  LongRead broken(client_, kMaps + "?watch=1&resourceVersion=" + Version());
  member_.BreakConnections();
  EXPECT_EQ(broken.Line(), std::nullopt);
  EXPECT_TRUE(broken.broken());
}

TEST_F(FakeWatch, OfPods_SelectsByField) {
  LongRead watch(client_, kPods + "?watch=1&fieldSelector=status.phase%3DSucceeded");
  client_.Post(kJobs, Job("a", kRun));
  member_.Advance(5'000);
  const json::object event = watch.Event();
  EXPECT_EQ(Text(event, {"type"}), "ADDED");
  EXPECT_EQ(Text(event, {"object", "status", "phase"}), "Succeeded");
}

class FakeLogs : public FakeWatch {
 protected:
  // Makes a Job and gives the path of its pod's log.
  std::string LogOf(const std::string& lives) {
    client_.Post(kJobs, Job("a", lives));
    const json::object pods = OwnObject(member_.Call("GET", kPods).body);
    pod_ = Text(Items(pods, {"items"}).at(0).as_object(), {"metadata", "name"});
    return kPods + "/" + pod_ + "/log";
  }
  std::string pod_;
};

TEST_F(FakeLogs, AreTheAnnotation_CutAsAsked) {
  const std::string path = LogOf(R"("bed.test/log":"one\ntwo\nthree","bed.test/run":"5s")");
  EXPECT_EQ(client_.Get(path).body, "one\ntwo\nthree\n");
  EXPECT_EQ(client_.Get(path + "?tailLines=2").body, "two\nthree\n");
  EXPECT_EQ(client_.Get(path + "?limitBytes=5").body, "one\nt");
  EXPECT_EQ(client_.Get(path + "?container=main&tailLines=0").body, "");
  EXPECT_EQ(client_.Get(path + "?container=other").status, 400);
  EXPECT_EQ(client_.Get(kPods + "/none/log").status, 404);
}

TEST_F(FakeLogs, Followed_GrowAndEndWithTheirPod) {
  const std::string path = LogOf(R"("bed.test/log":"first","bed.test/run":"5s")");
  LongRead log(client_, path + "?follow=true");
  EXPECT_EQ(log.Line(), "first");
  member_.AppendLog("default", pod_, "second\n");
  EXPECT_EQ(log.Line(), "second");
  member_.Advance(5'000);
  EXPECT_EQ(log.Line(), std::nullopt);
  EXPECT_FALSE(log.broken());
}

TEST_F(FakeLogs, OfAPodThatHasNotStarted_AreRefused) {
  const PlainAnswer said = client_.Get(LogOf(R"("bed.test/start":"5s")"));
  EXPECT_EQ(said.status, 400);
  EXPECT_NE(said.body.find("is waiting to start"), std::string::npos);
}

}  // namespace
}  // namespace muster::fake

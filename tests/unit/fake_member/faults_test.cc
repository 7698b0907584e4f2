// Every fault of the fake member, its counts, and its control path.
#include <gtest/gtest.h>

#include <future>

#include "tests/unit/fake_member/manifests.h"
#include "tests/unit/fake_member/plain_client.h"

namespace muster::fake {
namespace {

class FakeFaults : public ::testing::Test {
 protected:
  static FakeMemberOptions StillTime() {
    FakeMemberOptions options;
    options.manual_clock = true;
    return options;
  }
  static Fault Of(FaultKind kind, const std::string& verb) {
    Fault fault;
    fault.kind = kind;
    fault.verb = verb;
    return fault;
  }
  bool There(const std::string& name) {
    return member_.Call("GET", kMaps + "/" + name).status == 200;
  }
  FakeMember member_{StillTime()};
  PlainClient client_{member_};
};

TEST_F(FakeFaults, Drop_DoesNothing_DropAnswer_Does) {
  member_.Inject(Of(FaultKind::kDrop, "create"));
  EXPECT_EQ(client_.Post(kMaps, Map("a")).status, 0);
  EXPECT_FALSE(There("a"));
  EXPECT_EQ(client_.Post(kMaps, Map("a")).status, 201) << "once was asked for";
  member_.Inject(Of(FaultKind::kDropAnswer, "create"));
  EXPECT_EQ(client_.Post(kMaps, Map("b")).status, 0);
  EXPECT_TRUE(There("b"));
}

TEST_F(FakeFaults, AGateway_DoesAndAnswers504) {
  member_.Inject(Of(FaultKind::kGatewayTimeout, "create"));
  EXPECT_EQ(client_.Post(kMaps, Map("a")).status, 504);
  EXPECT_TRUE(There("a"));
}

TEST_F(FakeFaults, Duplicate_AnswersTheFirstTime) {
  const int fault = member_.Inject(Of(FaultKind::kDuplicate, "create"));
  EXPECT_EQ(client_.Post(kMaps, Map("a")).status, 201);
  EXPECT_EQ(member_.Struck(fault), 1);
  member_.Inject(Of(FaultKind::kDuplicate, "delete"));
  EXPECT_EQ(client_.Ask("DELETE", kMaps + "/a").status, 200);
  EXPECT_FALSE(There("a"));
}

TEST_F(FakeFaults, APortStaysTheMembersWhileItIsStopped) {
  namespace asio = boost::asio;
  member_.Stop();
  EXPECT_EQ(client_.Get(kMaps).status, 0) << "nothing listens";
  asio::io_context io;
  asio::ip::tcp::acceptor other(io, asio::ip::tcp::v4());
  boost::system::error_code failed;
  other.bind({asio::ip::address_v4::loopback(), static_cast<std::uint16_t>(member_.port())},
             failed);
  EXPECT_EQ(failed, asio::error::address_in_use);
  member_.Start();
  EXPECT_EQ(client_.Get(kMaps).status, 200);
}

TEST_F(FakeFaults, WhatTheUserMayNotDo_IsRefusedAsAnAuthorizerDoes_AndToldToItsQuestion) {
  const auto may = [&](const std::string& ns) {
    const std::string body =
        R"({"spec":{"resourceAttributes":{"verb":"create","resource":"configmaps","namespace":")" +
        ns + R"("}}})";
    const PlainAnswer answer =
        client_.Post("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", body);
    EXPECT_EQ(answer.status, 201);
    return answer.object().at("status").at("allowed").as_bool();
  };
  EXPECT_TRUE(may("default"));
  member_.SetRight("create", "configmaps", "default", false);
  EXPECT_FALSE(may("default"));
  EXPECT_TRUE(may("other"));
  const PlainAnswer refused = client_.Post(kMaps, Map("a"));
  EXPECT_EQ(refused.status, 403);
  EXPECT_EQ(refused.object().at("reason"), "Forbidden");
  EXPECT_EQ(client_.Get(kMaps).status, 200) << "other verbs are not meant";
  member_.SetRight("create", "configmaps", "default", true);
  EXPECT_EQ(client_.Post(kMaps, Map("a")).status, 201);
  member_.SetRight("create", "configmaps", "", false);
  EXPECT_FALSE(may("default")) << "nowhere";
}

TEST_F(FakeFaults, Delay_AnswersLater_Late_ArrivesWhenTheClientHasGivenUp) {
  Fault delay = Of(FaultKind::kDelay, "create");
  delay.delay_ms = 30;
  member_.Inject(delay);
  EXPECT_EQ(client_.Post(kMaps, Map("a")).status, 201);
  Fault late = Of(FaultKind::kLate, "create");
  late.delay_ms = 30;
  late.status = 504;
  member_.Inject(late);
  LongRead watch(client_, kMaps + "?watch=1&fieldSelector=metadata.name%3Db");
  EXPECT_EQ(client_.Post(kMaps, Map("b")).status, 504);
  EXPECT_EQ(watch.Told(), "ADDED b");
}

TEST_F(FakeFaults, Answers_AreGivenWithoutDoing) {
  for (const int status : {401, 403, 409, 410, 422, 429, 500, 503}) {
    Fault fault = Of(FaultKind::kAnswer, "create");
    fault.status = status;
    fault.reason = "Reason";
    fault.message = "admission webhook \"x\" denied the request";
    fault.retry_after_s = 7;
    member_.Inject(fault);
    const PlainAnswer said = client_.Post(kMaps, Map("a"));
    EXPECT_EQ(said.status, status);
    EXPECT_EQ(said.retry_after, "7");
    EXPECT_EQ(Text(said.object(), {"message"}), fault.message);
    EXPECT_FALSE(There("a"));
  }
}

TEST_F(FakeFaults, Rules_CountMatches_AndKnowPathsAndChance) {
  Fault fault = Of(FaultKind::kAnswer, "get");
  fault.status = 500;
  fault.path = "/configmaps/b";
  fault.skip = 1;
  fault.times = 2;
  const int rule = member_.Inject(fault);
  client_.Post(kMaps, Map("a"));
  client_.Post(kMaps, Map("b"));
  EXPECT_EQ(client_.Get(kMaps + "/a").status, 200);
  std::vector<int> said;
  for (int i = 0; i < 4; ++i) said.push_back(client_.Get(kMaps + "/b").status);
  EXPECT_EQ(said, (std::vector<int>{200, 500, 500, 200}));
  EXPECT_EQ(member_.Struck(rule), 2);
  member_.Withdraw(rule);
  Fault half = Of(FaultKind::kAnswer, "get");
  half.status = 500;
  half.times = -1;
  half.probability = 0.5;
  const int chance = member_.Inject(half);
  for (int i = 0; i < 40; ++i) client_.Get(kMaps + "/a");
  EXPECT_GT(member_.Struck(chance), 5);
  EXPECT_LT(member_.Struck(chance), 35);
  member_.ClearFaults();
  EXPECT_EQ(client_.Get(kMaps + "/a").status, 200);
}

TEST_F(FakeFaults, AWebhook_TakesOurFinalizerAndLabels) {
  Fault fault = Of(FaultKind::kMutate, "create");
  fault.patch = json::parse(R"([{"op":"remove","path":"/metadata/finalizers"},)"
                            R"({"op":"remove","path":"/metadata/labels/none"},)"
                            R"({"op":"add","path":"/metadata/annotations","value":{"x":"y"}}])")
                    .as_array();
  member_.Inject(fault);
  const json::object made = client_.Post(kMaps, Map("a", kHeld)).object();
  EXPECT_FALSE(HasFinalizer(made, "muster.io/record"));
  EXPECT_EQ(Text(made, {"metadata", "annotations", "x"}), "y");
}

TEST_F(FakeFaults, Watches_StallCloseGoneAndReorder) {
  const std::string watch = kMaps + "?watch=1&resourceVersion=0";
  member_.Inject(Of(FaultKind::kStall, "watch"));
  LongRead stalled(client_, watch);
  Fault close = Of(FaultKind::kClose, "watch");
  close.events = 1;
  member_.Inject(close);
  LongRead closed(client_, watch);
  member_.Inject(Of(FaultKind::kGone, "watch"));
  LongRead gone(client_, watch);
  EXPECT_EQ(Number(gone.Event(), {"object", "code"}), 410);
  EXPECT_EQ(gone.Line(), std::nullopt);
  client_.Post(kMaps, Map("a"));
  client_.Post(kMaps, Map("b"));
  EXPECT_EQ(closed.Told(), "ADDED a");
  EXPECT_EQ(closed.Line(), std::nullopt);
  member_.CloseWatches();
  EXPECT_EQ(stalled.Line(), std::nullopt) << "it has said nothing";

  member_.Inject(Of(FaultKind::kReorder, "watch"));
  const std::string now = Text(client_.Get(kMaps).object(), {"metadata", "resourceVersion"});
  client_.Post(kMaps, Map("c"));
  client_.Post(kMaps, Map("d"));
  client_.Ask("DELETE", kMaps + "/c");
  LongRead reordered(client_, kMaps + "?watch=1&resourceVersion=" + now);
  EXPECT_EQ(reordered.Told(), "ADDED d");
  EXPECT_EQ(reordered.Told(), "ADDED c");
  EXPECT_EQ(reordered.Told(), "DELETED c");
}

TEST_F(FakeFaults, Paused_NothingIsAnswered_UntilItGoesOn) {
  LongRead watch(client_, kMaps + "?watch=1");
  member_.Pause();
  auto answer =
      std::async(std::launch::async, [&] { return client_.Post(kMaps, Map("a")).status; });
  EXPECT_EQ(answer.wait_for(std::chrono::milliseconds(50)), std::future_status::timeout);
  EXPECT_FALSE(There("a"));
  member_.Resume();
  EXPECT_EQ(answer.get(), 201);
  EXPECT_EQ(watch.Told(), "ADDED a");
}

TEST_F(FakeFaults, Stopped_NobodyIsThere_StartedItIsTheSameMember) {
  client_.Post(kMaps, Map("a"));
  const int port = member_.port();
  member_.Stop();
  EXPECT_EQ(client_.Get(kMaps).status, 0);
  member_.Start();
  EXPECT_EQ(member_.port(), port);
  EXPECT_EQ(client_.Get(kMaps + "/a").status, 200);
}

TEST_F(FakeFaults, Counts_KnowRequests_ForeignWrites_AndOverlaps) {
  member_.Call("POST", kJobs, Job("users", kRun));
  client_.Post(kJobs, Job("ours", kRun));
  client_.JsonPatch(kJobs + "/ours", R"([{"op":"add","path":"/metadata/annotations","value":{}}])");
  EXPECT_TRUE(member_.counts().foreign_writes.empty());
  client_.Ask("DELETE", kJobs + "/users", R"({"preconditions":{"uid":"zz"}})");
  EXPECT_TRUE(member_.counts().foreign_writes.empty()) << "refused";
  client_.Ask("DELETE", kJobs + "/users");
  EXPECT_EQ(member_.counts().foreign_writes, std::vector<std::string>{"delete jobs default/users"});
  EXPECT_EQ(member_.counts().requests["create jobs"], 1);
  EXPECT_EQ(member_.counts().requests["delete jobs"], 2);
  EXPECT_TRUE(member_.counts().overlaps.empty());
  std::string second = Job("second", kRun);
  const std::string attempt = R"(attempt":"1)";
  second.replace(second.find(attempt), attempt.size(), R"(attempt":"2)");
  client_.Post(kJobs, second);
  EXPECT_EQ(member_.counts().overlaps, std::vector<std::string>{"u/1+2"});
}

TEST_F(FakeFaults, TheControlPath_DoesWhatMethodsDo) {
  EXPECT_EQ(client_.Post("/fake/fault", R"({"kind":"answer","verb":"create","status":503})").body,
            R"({"fault":1})");
  EXPECT_EQ(client_.Post(kMaps, Map("a")).status, 503);
  EXPECT_EQ(client_.Post("/fake/struck", R"({"fault":1})").body, R"({"struck":1})");
  EXPECT_EQ(client_.Post("/fake/fault", R"({"kind":"nothing"})").status, 400);
  EXPECT_EQ(client_.Post("/fake/user" + kJobs, Job("a", kRun)).status, 201);
  EXPECT_EQ(client_.Post("/fake/advance", R"({"ms":5000})").status, 200);
  EXPECT_NE(client_.Get(kJobs + "/a").body.find("CompletionsReached"), std::string::npos);
  client_.Ask("DELETE", kJobs + "/a");
  EXPECT_NE(client_.Get("/fake/counts").body.find(R"("foreign_writes":["delete jobs default/a"])"),
            std::string::npos);
  const std::string before = member_.incarnation();
  EXPECT_EQ(client_.Post("/fake/wipe", "").status, 200);
  EXPECT_NE(member_.incarnation(), before);
  EXPECT_EQ(client_.Post("/fake/restore", R"({"name":"never saved"})").status, 400);
}

TEST(FakeLoop, CanBeSharedByMembers) {
  auto loop = std::make_shared<Loop>();
  FakeMemberOptions options;
  options.loop = loop;
  FakeMember one(options);
  options.seed = 2;
  FakeMember two(options);
  EXPECT_NE(one.incarnation(), two.incarnation());
  EXPECT_EQ(PlainClient(one).Post(kMaps, Map("a")).status, 201);
  EXPECT_EQ(PlainClient(two).Get(kMaps + "/a").status, 404);
}

TEST(FakeClock, OfTheMachine_LetsPodsEndByThemselves) {
  FakeMember member;
  PlainClient client(member);
  LongRead watch(client, kJobs + "?watch=1");
  client.Post(kJobs, Job("a", R"("bed.test/run":"10ms")"));
  json::object status;
  for (json::object event = watch.Event(); !event.empty(); event = watch.Event()) {
    const json::object* told = FindObject(event, {"object", "status"});
    if (told != nullptr && ConditionHolds(*told, "Complete")) return;
  }
  FAIL() << "the watch ended before the Job did";
}

}  // namespace
}  // namespace muster::fake

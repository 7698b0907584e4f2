// S06, S07 and S08 at the level of the service: which questions a use case asks and that it loads
// nothing before, that a foreign job is answered as a missing one, and what quota may be given.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <functional>
#include <set>

#include "api/auth/auditing_authorizer.h"
#include "api/service/quota_rights.h"
#include "tests/unit/service/service_world.h"

namespace muster::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// "VERB GROUP/RESOURCE[/SUBRESOURCE] NAMESPACE NAME"; an absent part is "-".
std::string QuestionText(auth::Verb verb, const auth::ResourceRef& what) {
  const auto part = [](std::string_view text) { return text.empty() ? "-" : std::string(text); };
  std::string text = std::string(auth::VerbName(verb)) + " ";
  if (!what.group.empty()) text += std::string(what.group) + "/";
  text += std::string(what.resource);
  if (!what.subresource.empty()) text += "/" + std::string(what.subresource);
  return text + " " + part(what.ns) + " " + part(what.name);
}

// Allows what is listed as "VERB GROUP/RESOURCE[/SUB] NAMESPACE" for a user, everything to others,
// and writes the questions down. A namespace "*" stands for all and for the whole cluster.
class GrantedAuthorizer final : public auth::Authorizer {
 public:
  bool Allows(const auth::Principal& who, auth::Verb verb,
              const auth::ResourceRef& what) const override {
    const std::string asked = QuestionText(verb, what);
    questions.push_back(asked);
    if (who.user != limited_user) return true;
    const std::string head = asked.substr(0, asked.find(' ', asked.find(' ') + 1));
    return granted.contains(head + " *") ||
           (!what.ns.empty() && granted.contains(head + " " + std::string(what.ns))) ||
           granted.contains(asked);
  }
  bool AllowsPath(const auth::Principal& who, auth::Verb, std::string_view) const override {
    return who.user != limited_user;
  }
  std::string limited_user = "bob";
  std::set<std::string> granted;
  mutable std::vector<std::string> questions;
};

// Bob is a data scientist of namespace "default"; namespace "team-b" is another's.
class RightsWorld : public ::testing::Test {
 protected:
  RightsWorld()
      : service(*w.world.engine, w.world.store, w.world.random, authorizer,
                [](const std::string&) { return nullptr; }) {
    MUSTER_CHECK(w.Apply({Json(R"({"apiVersion":"v1","kind":"Namespace",
        "metadata":{"name":"team-b"}})"),
                          Json(R"({"apiVersion":"kueue.x-k8s.io/v1beta1","kind":"LocalQueue",
        "metadata":{"name":"queue","namespace":"team-b"},"spec":{"clusterQueue":"cq"}})")})
                     .ok());
    authorizer.granted = {"get batch/jobs default",        "list batch/jobs default",
                          "create batch/jobs default",     "get batch/jobs/own default",
                          "update batch/jobs/own default", "delete batch/jobs/own default",
                          "list muster.io/events default"};
    bob.groups = {"system:authenticated"};
    foreign = w.Submit(JobManifest("secret"), "team-b")->job;
    others = w.Submit(JobManifest("others"))->job;
    own = SubmitAs(bob, "own")->job;
    authorizer.questions.clear();
  }

  Result<SubmittedJob> SubmitAs(const auth::Principal& who, const std::string& name,
                                const std::string& ns = "") {
    std::optional<Result<SubmittedJob>> answer;
    service.SubmitJob(who, {ns, JobManifest(name), ""},
                      [&answer](Result<SubmittedJob> result) { answer = std::move(result); });
    w.world.Settle();
    MUSTER_CHECK(answer.has_value());
    return *answer;
  }
  Error Change(const std::string& id, JobVerb verb) {
    std::optional<Result<JobPtr>> answer;
    service.ChangeJob(bob, id, verb,
                      [&answer](Result<JobPtr> result) { answer = std::move(result); });
    w.world.Settle();
    MUSTER_CHECK(answer.has_value());
    return answer->ok() ? Error{Code::kOk, ""} : answer->error();
  }
  // The questions since the last call.
  std::vector<std::string> Asked() { return std::exchange(authorizer.questions, {}); }

  ServiceWorld w;
  GrantedAuthorizer authorizer;
  SchedulerService service;
  auth::Principal bob = Tester("bob");
  JobPtr foreign, others, own;
};

template <class T>
Error ErrorOf(const Result<T>& result) {
  return result.ok() ? Error{Code::kOk, ""} : result.error();
}

TEST_F(RightsWorld, S07_AForeignJobIsAnsweredAsAMissingOne) {
  using Ask = std::function<Error(const std::string& id)>;
  const std::vector<std::pair<std::string, Ask>> asks = {
      {"get", [&](const std::string& id) { return ErrorOf(service.GetJob(bob, id)); }},
      {"explain", [&](const std::string& id) { return ErrorOf(service.Explain(bob, id)); }},
      {"events", [&](const std::string& id) { return ErrorOf(service.JobEvents(bob, id)); }},
      {"pods", [&](const std::string& id) { return ErrorOf(service.Pods(bob, id)); }},
      {"log", [&](const std::string& id) { return ErrorOf(service.ReadLog(bob, id, {})); }},
      {"cancel", [&](const std::string& id) { return Change(id, JobVerb::kCancel); }},
      {"hold", [&](const std::string& id) { return Change(id, JobVerb::kHold); }},
      {"release", [&](const std::string& id) { return Change(id, JobVerb::kRelease); }},
      {"requeue", [&](const std::string& id) { return Change(id, JobVerb::kRequeue); }}};
  const std::vector<std::pair<std::string, std::string>> ids = {
      {std::to_string(foreign->id.value), "999999"},
      {foreign->uid.ToString(), Uid::Make(w.world.random).ToString()},
      {"team-b/secret", "team-b/absent"}};
  int told_apart = 0, compared = 0;
  for (const auto& [name, ask] : asks) {
    for (const auto& [id, missing] : ids) {
      const Error of_foreign = ask(id), of_missing = ask(missing);
      std::string detail = of_missing.detail;
      const std::size_t at = detail.find(missing);
      ASSERT_NE(at, std::string::npos) << name << " " << detail;
      detail.replace(at, missing.size(), id);
      const bool same = of_foreign.code == of_missing.code && of_foreign.detail == detail;
      EXPECT_TRUE(same) << name << " " << id << ": " << of_foreign.detail << " / " << detail;
      EXPECT_EQ(of_foreign.code, Code::kNotFound) << name << " " << id;
      ++compared;
      if (!same) ++told_apart;
    }
  }
  std::printf("S07: %d answers about foreign jobs compared, %d told apart\n", compared, told_apart);
}

TEST_F(RightsWorld, AJobThatIsSeenAndNotOwnIsRefusedWithTheSentence) {
  const Error refused = Change(std::to_string(others->id.value), JobVerb::kHold);
  EXPECT_EQ(refused.code, Code::kPermissionDenied);
  EXPECT_THAT(refused.detail, HasSubstr("cannot update resource \"jobs\""));
  EXPECT_EQ(Change("default/others", JobVerb::kCancel).code, Code::kPermissionDenied);
  EXPECT_EQ(Change("default/own", JobVerb::kHold).code, Code::kFailedPrecondition)
      << "he may, but the job is admitted";
  EXPECT_EQ(ErrorOf(service.ReadLog(bob, "default/others", {})).code, Code::kPermissionDenied);
  EXPECT_NE(ErrorOf(service.ReadLog(bob, "default/own", {})).code, Code::kPermissionDenied);
}

// Counts what an authorizer has noted.
class CountingSink final : public auth::AuditSink {
 public:
  void Refused(const auth::Principal&, std::string_view, const auth::ResourceRef&,
               const Error&) override {
    ++refused;
  }
  void Failed(const auth::Principal&, std::string_view, std::string_view, const Error&) override {}
  Status Read(const auth::Principal&, auth::Verb, const auth::ResourceRef&) override {
    ++reads;
    return Done{};
  }
  int refused = 0, reads = 0;
};

TEST_F(RightsWorld, MoreOfALogIsNotNotedAndIsRefusedAsSoonAsTheRightIsGone) {
  CountingSink sink;
  const auth::AuditingAuthorizer auditing(authorizer, sink);
  const SchedulerService audited(*w.world.engine, w.world.store, w.world.random, auditing,
                                 [](const std::string&) { return nullptr; });
  const std::string id = std::to_string(others->id.value);
  authorizer.granted.insert("get batch/jobs/log default");
  EXPECT_TRUE(audited.JobToLog(bob, id).ok());
  EXPECT_EQ(sink.reads, 1);
  for (int piece = 0; piece < 3; ++piece) {
    EXPECT_NE(ErrorOf(audited.ReadLog(bob, id, {}, api::LogAsk::kMore)).code,
              Code::kPermissionDenied);
  }
  EXPECT_EQ(sink.reads, 1);
  authorizer.granted.erase("get batch/jobs/log default");
  EXPECT_EQ(ErrorOf(audited.ReadLog(bob, id, {}, api::LogAsk::kMore)).code,
            Code::kPermissionDenied);
  EXPECT_EQ(sink.reads, 1);
  EXPECT_EQ(sink.refused, 1);
}

TEST_F(RightsWorld, S06_EachUseCaseAsksForTheVerbAndTheResource) {
  const std::string id = std::to_string(own->id.value);
  ASSERT_TRUE(service.GetJob(bob, id).ok());
  EXPECT_THAT(Asked(), ElementsAre("get batch/jobs/own default own"));
  EXPECT_EQ(Change(id, JobVerb::kHold).code, Code::kFailedPrecondition);
  EXPECT_THAT(Asked(), ElementsAre("update batch/jobs/own default own"));
  EXPECT_EQ(Change(id, JobVerb::kCancel).code, Code::kOk);
  EXPECT_THAT(Asked(), ElementsAre("delete batch/jobs/own default own"));
  (void)service.ReadLog(bob, id, {});
  EXPECT_THAT(Asked(), ElementsAre("get batch/jobs/own default own"));
  EXPECT_FALSE(SubmitAs(bob, "a", "team-b").ok());
  EXPECT_THAT(Asked(), ElementsAre("create batch/jobs team-b -"));
  EXPECT_FALSE(service.Audit(bob, {}).ok());
  EXPECT_THAT(Asked(), ElementsAre("list muster.io/audit - -"));
  EXPECT_FALSE(service.Clusters(bob).ok());
  EXPECT_THAT(Asked(), ElementsAre("list cluster.kubernetes-fleet.io/memberclusters - -"));
  EXPECT_FALSE(service.GetObject(bob, ObjectKind::kSecret, "default", "s").ok());
  EXPECT_THAT(Asked(), ElementsAre("get secrets default s"));
  EXPECT_FALSE(service.ViewToSimulate(bob, "default", false).ok());
  EXPECT_THAT(Asked(), ElementsAre("create muster.io/simulations default -"));
  authorizer.granted.insert("create muster.io/simulations default");
  EXPECT_TRUE(service.ViewToSimulate(bob, "", false).ok());
  EXPECT_THAT(Asked(), ElementsAre("create muster.io/simulations default -"));
  EXPECT_EQ(ErrorOf(service.ViewToSimulate(bob, "", true)).code, Code::kPermissionDenied);
  EXPECT_THAT(Asked(), ElementsAre("create muster.io/simulations default -",
                                   "list kueue.x-k8s.io/clusterqueues - -"));
}

TEST_F(RightsWorld, ANameInANamespaceThatIsNotSeenIsAskedForOnceMoreForTheTrail) {
  EXPECT_EQ(ErrorOf(service.GetJob(bob, "team-b/secret")).code, Code::kNotFound);
  const std::vector<std::string> asked = Asked();
  ASSERT_FALSE(asked.empty());
  EXPECT_EQ(asked.back(), "get batch/jobs team-b secret");
}

TEST_F(RightsWorld, TokensOfOnesOwnAreSeenAndRemovedByOwn) {
  const std::string expires = FormatRfc3339(w.world.engine->WallNow().PlusSeconds(3600));
  for (const char* user : {"alice", "bob"}) {
    ObjectChange token;
    token.kind = ObjectKind::kAccessToken;
    token.name = std::string("of-") + user;
    token.manifest = WriteJson(json::object{
        {"apiVersion", "muster.io/v1"},
        {"kind", "AccessToken"},
        {"metadata", json::object{{"name", token.name}}},
        {"spec",
         json::object{{"user", user}, {"expires", expires}, {"sha256", std::string(64, 'a')}}}});
    ASSERT_TRUE(w.Change(std::move(token)).ok());
  }
  constexpr ObjectKind kToken = ObjectKind::kAccessToken;
  const auto remove = [this](const std::string& name) {
    ObjectChange change;
    change.kind = kToken;
    change.name = name;
    change.remove = true;
    std::optional<Code> code;
    service.ChangeObjects(bob, {std::move(change)}, false,
                          [&code](const Result<std::vector<AppliedObject>>& done) {
      code = done.ok() ? Code::kOk : done.error().code;
    });
    w.world.Settle();
    return code;
  };
  EXPECT_EQ(ErrorOf(service.GetObject(bob, kToken, "", "of-bob")).code, Code::kPermissionDenied);
  EXPECT_EQ(ErrorOf(service.ListObjects(bob, kToken, "")).code, Code::kPermissionDenied);
  EXPECT_EQ(remove("of-bob"), Code::kPermissionDenied);
  for (const char* verb : {"get", "list", "delete"})
    authorizer.granted.insert(std::string(verb) + " muster.io/accesstokens/own *");
  EXPECT_TRUE(service.GetObject(bob, kToken, "", "of-bob").ok());
  for (const char* name : {"of-alice", "absent"}) {
    EXPECT_EQ(ErrorOf(service.GetObject(bob, kToken, "", name)).code, Code::kPermissionDenied);
    EXPECT_EQ(remove(name), Code::kPermissionDenied);
  }
  const auto listed = service.ListObjects(bob, kToken, "", "", true);
  ASSERT_TRUE(listed.ok());
  ASSERT_EQ(listed->size(), 1u);
  EXPECT_EQ(listed->front().at("metadata").at("name").as_string(), "of-bob");
  EXPECT_EQ(remove("of-bob"), Code::kOk);
}

TEST_F(RightsWorld, S06_NothingIsReadBeforeTheQuestion) {
  w.world.store.SetAway(true);  // a read would be kUnavailable
  for (const char* ns : {"team-b", "no-such-namespace"}) {
    EXPECT_EQ(ErrorOf(service.GetJobByName(bob, ns, ShapeKind::kJob, "x")).code,
              Code::kPermissionDenied);
    EXPECT_EQ(ErrorOf(service.GetJobByWorkload(bob, ns, "job-x-12345")).code,
              Code::kPermissionDenied);
    EXPECT_EQ(ErrorOf(service.GetJob(bob, std::string(ns) + "/x")).code, Code::kNotFound);
    api::JobFilter filter;
    filter.ns = ns;
    EXPECT_EQ(ErrorOf(service.ListJobs(bob, filter, "", 10)).code, Code::kPermissionDenied);
    filter.rule = api::ListRule::kAccounting;
    EXPECT_EQ(ErrorOf(service.ListJobs(bob, filter, "", 10)).code, Code::kPermissionDenied);
  }
}

TEST_F(RightsWorld, ListsAndEventsShowWhatTheCallerMayList) {
  const auto page = service.ListJobs(bob, {}, "", 1);
  ASSERT_TRUE(page.ok()) << page.error().detail;
  ASSERT_EQ(page->items.size(), 1u);
  EXPECT_EQ(page->items[0]->id, others->id) << "the page is full of what may be seen";
  EXPECT_FALSE(page->next_page_token.empty());
  api::JobFilter whole;
  whole.shape = ShapeKind::kJob;
  whole.rule = api::ListRule::kWhole;
  EXPECT_EQ(ErrorOf(service.ListJobs(bob, whole, "", 10)).code, Code::kPermissionDenied);
  const auto events = service.EventsSince(bob, 0, 1000);
  ASSERT_TRUE(events.ok());
  EXPECT_FALSE(events->events.empty());
  for (const Event& event : events->events)
    EXPECT_TRUE(event.object.starts_with("job/default/") ||
                event.object.starts_with("localqueue/default/"))
        << event.object;
  EXPECT_EQ(events->through, w.world.engine->View()->last_seq);
  authorizer.granted.erase("list muster.io/events default");
  EXPECT_EQ(service.MayFollowEvents(bob).error().code, Code::kPermissionDenied);
}

TEST_F(RightsWorld, WhatIsPermittedInOneNamespaceLeavesNoRefusal_AndSecretsLeaveARead) {
  for (const char* ns : {"default", "team-b"}) {
    ObjectChange secret;
    secret.kind = ObjectKind::kSecret;
    secret.ns = ns;
    secret.name = "s";
    secret.manifest = WriteJson(json::object{{"apiVersion", "v1"},
                                             {"kind", "Secret"},
                                             {"metadata", json::object{{"name", "s"}}},
                                             {"data", json::object{{"k", "dg=="}}}});
    ASSERT_TRUE(w.Change(std::move(secret)).ok());
  }
  CountingSink sink;
  const auth::AuditingAuthorizer auditing(authorizer, sink);
  const SchedulerService audited(*w.world.engine, w.world.store, w.world.random, auditing,
                                 [](const std::string&) { return nullptr; });
  EXPECT_TRUE(audited.MayFollowEvents(bob).ok());
  EXPECT_EQ(sink.refused, 0);
  EXPECT_EQ(ErrorOf(audited.ListObjects(bob, ObjectKind::kSecret, "")).code,
            Code::kPermissionDenied);
  EXPECT_EQ(sink.refused, 1);
  authorizer.granted.insert("list secrets default");
  const auto listed = audited.ListObjects(bob, ObjectKind::kSecret, "");
  ASSERT_TRUE(listed.ok()) << listed.error().detail;
  ASSERT_EQ(listed->size(), 1U);
  EXPECT_EQ(listed->front().at("metadata").at("namespace"), "default");
  EXPECT_EQ(sink.refused, 1);
  EXPECT_EQ(sink.reads, 1);
  EXPECT_EQ(ErrorOf(audited.ListObjects(bob, ObjectKind::kSecret, "", "", true)).code,
            Code::kPermissionDenied)
      << "as a whole";
}

TEST_F(RightsWorld, WhoMayOnlyUpdateHisOwnLearnsNothingOfTakenNames) {
  authorizer.granted = {"update batch/jobs/own default"};
  std::vector<Error> refused;
  for (const char* name : {"others", "absent"}) {
    std::optional<Error> error;
    service.Apply(bob, "default", {JobManifest(name)}, true,
                  [&error](const Result<std::vector<DocumentOutcome>>& done) {
      if (!done.ok()) error = done.error();
    });
    w.world.Settle();
    ASSERT_TRUE(error.has_value()) << name;
    refused.push_back(*error);
  }
  EXPECT_EQ(refused[0].code, Code::kPermissionDenied);
  EXPECT_EQ(refused[0].code, refused[1].code);
  EXPECT_EQ(refused[0].detail, refused[1].detail);
}

// --- quotas

ClusterQueue QueueOf(const std::string& name, const std::string& cohort, std::int64_t nominal) {
  ClusterQueue queue;
  queue.name = name;
  queue.cohort = cohort;
  Quota quota;
  quota.nominal = nominal;
  quota.borrowing_limit = 1000;
  queue.resource_groups = {{{"cpu"}, {{"default", {{"cpu", quota}}}}}};
  return queue;
}

class QuotaRights : public ::testing::Test {
 protected:
  QuotaRights() {
    before.cluster_queues["a"] = QueueOf("a", "team", 4000);
    before.cluster_queues["b"] = QueueOf("b", "team", 4000);
    before.cluster_queues["c"] = QueueOf("c", "other", 4000);
    before.cohorts["team"] = Cohort{"team", "all", {}, 1};
    after = before;
    bob.groups = {};
  }
  bool Allowed() const { return api::CheckQuotaRights(authorizer, bob, before, after).ok(); }
  Quota& QuotaOf(const std::string& queue) {
    return after.cluster_queues[queue].resource_groups[0].flavors[0].resources[0].second;
  }
  GrantedAuthorizer authorizer;
  auth::Principal bob = Tester("bob");
  ConfigView before, after;
};

TEST_F(QuotaRights, S08_QuotaIsSharedOutAndNotAdded) {
  EXPECT_TRUE(Allowed()) << "nothing changes";
  QuotaOf("a").nominal = 6000;
  EXPECT_FALSE(Allowed());
  QuotaOf("b").nominal = 2000;
  EXPECT_TRUE(Allowed()) << "what one gives the other takes";
  QuotaOf("b").nominal = 2001;
  EXPECT_FALSE(Allowed());
  QuotaOf("a").nominal = 0;
  EXPECT_TRUE(Allowed()) << "less is always allowed";
}

TEST_F(QuotaRights, S08_TheOwnerOfEveryCohortAboveMayAdd) {
  QuotaOf("a").nominal = 6000;
  authorizer.granted = {"update kueue.x-k8s.io/cohorts - team"};
  EXPECT_FALSE(Allowed()) << "cohort all is above it";
  authorizer.granted.insert("update kueue.x-k8s.io/cohorts - all");
  EXPECT_TRUE(Allowed());
}

TEST_F(QuotaRights, S08_QueuesDoNotMove_AndTheirWeightsAndLimitsAreTheirAdministrators) {
  const auto refused = [this](const std::function<void()>& change) {
    after = before;
    change();
    return !Allowed();
  };
  EXPECT_TRUE(refused([&] { after.cluster_queues["a"].cohort = "other"; }));
  EXPECT_TRUE(refused([&] { after.cluster_queues["a"].cohort = ""; }));
  EXPECT_FALSE(refused([&] { after.cluster_queues["a"].fair_weight = 2; }));
  EXPECT_FALSE(refused([&] { QuotaOf("a").borrowing_limit = 1001; }));
  EXPECT_TRUE(refused([&] { after.cluster_queues["d"] = QueueOf("d", "team", 0); }));
  EXPECT_TRUE(refused([&] { after.cohorts["team"].parent = ""; }));
  EXPECT_TRUE(refused([&] { after.cohorts.erase("team"); }));
  EXPECT_FALSE(refused([&] { after.cluster_queues.erase("a"); }));
  EXPECT_FALSE(refused([&] { after.cluster_queues["d"] = QueueOf("d", "", 9000); }))
      << "a queue of no cohort takes nothing from one";
}

}  // namespace
}  // namespace muster::test

// Changes that users and controllers make to a job through its Workload: states of admission
// checks, activity, priority.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "schedd/model/admission_lifecycle.h"
#include "tests/unit/service/service_world.h"

namespace muster::test {
namespace {

using testing::HasSubstr;

// A world whose queue waits for check "budget", and one job that holds quota there.
struct CheckedWorld : ServiceWorld {
  CheckedWorld() {
    MUSTER_CHECK(
        world.Apply({CheckObject("budget"), ClusterQueueObject({.checks = {"budget"}})}).ok());
    MUSTER_CHECK(world.ActivateCheck("budget").ok());
    const Result<SubmittedJob> submitted = Submit(JobManifest("train"));
    MUSTER_CHECK(submitted.ok());
    id = submitted->job->id;
  }
  JobPtr Now() const { return world.Job(id); }
  json::value Object(const std::string& version = "v1beta2") const {
    return service.WorkloadObject(*Now(), version);
  }
  Result<JobPtr> Answer(const json::value& wanted) {
    return Await([&](Callback<JobPtr> done) {
      service.ReplaceWorkloadStatus(alice, auth::Verb::kUpdate, Now(), Object(), wanted,
                                    std::move(done));
    });
  }
  Result<JobPtr> Edit(const json::value& wanted) {
    return Await([&](Callback<JobPtr> done) {
      service.ReplaceJob(alice, auth::Verb::kUpdate, Now(), Object(), wanted, std::move(done));
    });
  }
  // The present object with this list of checks.
  json::value WithChecks(const char* checks) const {
    json::value wanted = Object();
    wanted.at("status").as_object()["admissionChecks"] = Json(checks);
    return wanted;
  }
  JobId id;

 private:
  template <class Post>
  Result<JobPtr> Await(const Post& post) {
    std::optional<Result<JobPtr>> answer;
    post([&answer](Result<JobPtr> result) { answer = std::move(result); });
    world.Settle();
    MUSTER_CHECK(answer.has_value());
    return *answer;
  }
};

TEST(Checks, AReservedJobShowsTheCheckItWaitsFor_AndIsAdmittedWhenItIsReady) {
  CheckedWorld w;
  const json::value reserved = w.Object();
  EXPECT_EQ(reserved.at_pointer("/status/admissionChecks/0/name"), "budget");
  EXPECT_EQ(reserved.at_pointer("/status/admissionChecks/0/state"), "Pending");
  EXPECT_EQ(reserved.at_pointer("/status/admission/clusterQueue"), "cq");
  EXPECT_TRUE(IsTrue(*w.Now(), "QuotaReserved"));
  EXPECT_FALSE(IsTrue(*w.Now(), "Admitted"));
  const auto done = w.Answer(w.WithChecks(
      R"([{"name":"budget","state":"Ready","message":"granted",
           "podSetUpdates":[{"name":"main","labels":{"zone":"a"},"nodeSelector":{"disk":"ssd"}}]}])"));
  ASSERT_TRUE(done.ok()) << done.error().detail;
  EXPECT_EQ((*done)->state, JobState::kAdmitted);
  const json::value admitted = w.Object();
  EXPECT_EQ(admitted.at_pointer("/status/admissionChecks/0/message"), "granted");
  EXPECT_EQ(admitted.at_pointer("/status/admissionChecks/0/podSetUpdates/0/nodeSelector/disk"),
            "ssd");
}

TEST(Checks, RetryAndRejectionEndTheReservationInKueuesWords) {
  {
    CheckedWorld w;
    ASSERT_TRUE(w.Answer(w.WithChecks(R"([{"name":"budget","state":"Retry","message":"later",
                                           "requeueAfterSeconds":60}])"))
                    .ok());
    const Condition* evicted = FindCondition(*w.Now(), "Evicted");
    ASSERT_NE(evicted, nullptr);
    EXPECT_EQ(evicted->reason, "AdmissionCheck");
    EXPECT_EQ(evicted->message, "Evicted due to AdmissionCheck in Retry state: \"budget\" (later)");
    const json::value object = w.Object();
    EXPECT_EQ(object.at_pointer("/status/admissionChecks/0/retryCount"), 1);
    EXPECT_TRUE(object.at_pointer("/status/requeueState/requeueAt").is_string());
    EXPECT_EQ(object.at_pointer("/status/schedulingStats/evictions/0/reason"), "AdmissionCheck");
    EXPECT_TRUE(object.at("status").as_object().contains("resourceRequests"));
  }
  CheckedWorld w;
  ASSERT_TRUE(
      w.Answer(w.WithChecks(R"([{"name":"budget","state":"Rejected","message":"no money"}])"))
          .ok());
  const Condition* evicted = FindCondition(*w.Now(), "Evicted");
  ASSERT_NE(evicted, nullptr);
  EXPECT_EQ(evicted->reason, "DeactivatedDueToAdmissionCheck");
  EXPECT_EQ(evicted->message,
            "Deactivated due to AdmissionCheck in Rejected state: \"budget\" (no money)");
  EXPECT_EQ(w.Object().at_pointer("/spec/active"), false);
}

TEST(Checks, WrongAnswersAreRefusedByTheirField_AndChangeNothing) {
  const struct {
    const char* what;
    const char* checks;
    Code code;
    const char* field;
  } cases[] = {
      {"an unknown state", R"([{"name":"budget","state":"Done"}])", Code::kInvalidArgument,
       "status.admissionChecks[0].state"},
      {"no name", R"([{"state":"Ready"}])", Code::kInvalidArgument,
       "status.admissionChecks[0].name"},
      {"one check twice",
       R"([{"name":"budget","state":"Ready"},{"name":"budget","state":"Retry"}])",
       Code::kInvalidArgument, "status.admissionChecks[1].name"},
      {"a negative delay", R"([{"name":"budget","state":"Retry","requeueAfterSeconds":-1}])",
       Code::kInvalidArgument, "status.admissionChecks[0].requeueAfterSeconds"},
      {"an unknown member", R"([{"name":"budget","state":"Ready","verdict":"yes"}])",
       Code::kInvalidArgument, "status.admissionChecks[0].verdict"},
      {"updates of a pod set that is not there",
       R"([{"name":"budget","state":"Ready","podSetUpdates":[{"name":"other"}]}])",
       Code::kInvalidArgument, "status.admissionChecks[0].podSetUpdates[0].name"},
      {"more updates than pod sets",
       R"([{"name":"budget","state":"Ready","podSetUpdates":[{"name":"main"},{"name":"main"}]}])",
       Code::kInvalidArgument, "status.admissionChecks[0].podSetUpdates"},
      {"a check that it does not wait for", R"([{"name":"other","state":"Ready"}])",
       Code::kFailedPrecondition, ""},
      {"a good answer beside one that it does not wait for",
       R"([{"name":"budget","state":"Ready"},{"name":"other","state":"Ready"}])",
       Code::kFailedPrecondition, ""},
  };
  for (const auto& one : cases) {
    CheckedWorld w;
    const json::value before = w.Object();
    const auto refused = w.Answer(w.WithChecks(one.checks));
    ASSERT_FALSE(refused.ok()) << one.what;
    EXPECT_EQ(refused.error().code, one.code) << one.what << ": " << refused.error().detail;
    EXPECT_THAT(FieldsOf(refused.error()), HasSubstr(one.field)) << one.what;
    EXPECT_EQ(w.Object(), before) << one.what;
  }
}

TEST(Checks, WhatMusterWritesAndStaleVersionsAreRefused) {
  CheckedWorld w;
  json::value wanted = w.Object();
  wanted.at("status").as_object()["clusterName"] = "elsewhere";
  const auto foreign = w.Answer(wanted);
  ASSERT_FALSE(foreign.ok());
  EXPECT_EQ(foreign.error().code, Code::kFailedPrecondition);
  EXPECT_EQ(FieldsOf(foreign.error()), "status.clusterName");
  json::value stale = w.WithChecks(R"([{"name":"budget","state":"Ready"}])");
  stale.at("metadata").as_object()["resourceVersion"] = "1";
  EXPECT_EQ(w.Answer(stale).error().code, Code::kAborted);
  EXPECT_EQ(w.world.StateOf(w.id), JobState::kReserved);
  const json::value fresh = w.WithChecks(R"([{"name":"budget","state":"Ready"}])");
  ASSERT_TRUE(w.Answer(fresh).ok());
  json::value late = w.WithChecks(
      R"([{"name":"budget","state":"Ready","podSetUpdates":[{"name":"main","labels":{"a":"b"}}]}])");
  EXPECT_THAT(FieldsOf(w.Answer(late).error()), HasSubstr("podSetUpdates"))
      << "its pods may exist already";
}

TEST(Checks, TheirControllerSaysWhetherTheyAreActive) {
  ServiceWorld w;
  ASSERT_TRUE(w.Apply({Json(CheckObject("budget").manifest)}).ok());
  const auto say = [&w](const char* conditions) {
    std::optional<Result<ObjectPtr>> answer;
    json::value wanted = Json(R"({"metadata":{"name":"budget"},"status":{}})");
    wanted.at("status").as_object()["conditions"] = Json(conditions);
    w.service.ReplaceCheckStatus(w.alice, auth::Verb::kUpdate, "budget", wanted,
                                 [&](Result<ObjectPtr> done) { answer = std::move(done); });
    w.world.Settle();
    MUSTER_CHECK(answer.has_value());
    return *answer;
  };
  const auto object = [&w] {
    return *w.service.GetObject(w.alice, ObjectKind::kAdmissionCheck, "", "budget");
  };
  const auto said =
      say(R"([{"type":"Active","status":"True","reason":"Up","message":"listening"}])");
  ASSERT_TRUE(said.ok()) << said.error().detail;
  EXPECT_TRUE(w.world.engine->View()->config->admission_checks.at("budget").active);
  const json::value first = object();
  EXPECT_EQ(first.at_pointer("/status/conditions/0/message"), "listening");
  w.world.clock.Advance(5'000);
  ASSERT_TRUE(
      say(R"([{"type":"Active","status":"True","reason":"Up","message":"listening"}])").ok());
  EXPECT_EQ(object(), first) << "said again, nothing has changed";
  ASSERT_TRUE(say(R"([{"type":"Active","status":"False","reason":"Down","message":""}])").ok());
  EXPECT_NE(object().at_pointer("/status/conditions/0/lastTransitionTime"),
            first.at_pointer("/status/conditions/0/lastTransitionTime"));
  EXPECT_EQ(FieldsOf(say("[]").error()), "status.conditions");
  EXPECT_EQ(FieldsOf(say(R"([{"type":"Ready","status":"True"}])").error()),
            "status.conditions[0].type status.conditions");
}

TEST(Workloads, AJobThatWaitsSaysWhyInItsConditions) {
  ServiceWorld w;
  ASSERT_TRUE(w.Submit(JobManifest("first", "queue", "3")).ok());
  const JobId id = w.Submit(JobManifest("second", "queue", "3"))->job->id;
  const json::value waits = w.service.WorkloadObject(*w.world.Job(id), "v1beta2");
  EXPECT_EQ(waits.at_pointer("/status/conditions/0/type"), "QuotaReserved");
  EXPECT_EQ(waits.at_pointer("/status/conditions/0/status"), "False");
  EXPECT_EQ(waits.at_pointer("/status/conditions/0/message"),
            json::value(w.world.Job(id)->message));
  EXPECT_EQ(waits.at_pointer("/status/resourceRequests/0/resources/cpu"), "3");
  EXPECT_EQ(waits.at_pointer("/metadata/labels/kueue.x-k8s.io~1queue-name"), "queue");
}

TEST(Workloads, ActivityAndPriorityChangeThroughTheObject) {
  CheckedWorld w;
  ASSERT_TRUE(w.world.Apply({PriorityClassObject("low", 1), PriorityClassObject("high", 9)}).ok());
  json::value wanted = w.Object();
  wanted.at("spec").as_object()["active"] = false;
  ASSERT_TRUE(w.Edit(wanted).ok());
  EXPECT_EQ(w.Now()->reason, Reason::kDeactivated);
  EXPECT_EQ(FindCondition(*w.Now(), "Evicted")->reason, "Deactivated");
  wanted = w.Object();
  EXPECT_EQ(wanted.at_pointer("/spec/active"), false);
  wanted.at("metadata").as_object()["labels"].as_object()["kueue.x-k8s.io/priority-class"] = "low";
  ASSERT_TRUE(w.Edit(wanted).ok());
  EXPECT_EQ(w.Now()->priority, 1);
  wanted = w.Object();
  EXPECT_EQ(wanted.at_pointer("/spec/priorityClassRef/name"), "low");
  EXPECT_EQ(w.Object("v1beta1").at_pointer("/spec/priorityClassName"), "low");
  wanted.at_pointer("/spec/priorityClassRef").as_object()["name"] = "high";
  wanted.at("spec").as_object()["active"] = true;
  ASSERT_TRUE(w.Edit(wanted).ok());
  EXPECT_EQ(w.Now()->priority, 9);
  EXPECT_EQ(w.world.StateOf(w.id), JobState::kReserved) << "it is tried again";
  wanted = w.Object();
  wanted.at("metadata").as_object()["annotations"] =
      Json(R"({"kueue.x-k8s.io/priority-boost":"7"})");
  ASSERT_TRUE(w.Edit(wanted).ok());
  EXPECT_EQ(w.Now()->priority_boost, 7);
}

TEST(Workloads, AHeldJobIsReleasedByItsActivity) {
  CheckedWorld w;
  ASSERT_TRUE(
      w.world.Apply({ClusterQueueObject({.stop_policy = "Hold", .checks = {"budget"}})}).ok());
  ASSERT_TRUE(w.world.Do(JobVerb::kHold, w.id).ok());
  json::value wanted = w.Object();
  EXPECT_EQ(wanted.at_pointer("/spec/active"), false);
  wanted.at("spec").as_object()["active"] = true;
  ASSERT_TRUE(w.Edit(wanted).ok());
  EXPECT_EQ(w.world.StateOf(w.id), JobState::kPending);
}

TEST(Workloads, EverythingElseOfAJobStaysAsItWasAccepted) {
  const struct {
    const char* what;
    const char* pointer;
    const char* key;
    const char* value;
    const char* field;
  } cases[] = {
      {"the queue", "/spec", "queueName", "\"other\"", "spec.queueName"},
      {"the number", "/spec", "priority", "5", "spec.priority"},
      {"the pod sets", "/spec", "podSets", "[]", "spec.podSets"},
      {"a new member", "/spec", "colour", "\"red\"", "spec.colour"},
      {"another label", "/metadata/labels", "team", "\"a\"", "metadata.labels[team]"},
      {"activity of another type", "/spec", "active", "\"no\"", "spec.active"},
      {"a boost that is no number", "/metadata", "annotations",
       R"({"kueue.x-k8s.io/priority-boost":"much"})",
       "metadata.annotations[kueue.x-k8s.io/priority-boost]"},
      {"a class that does not exist", "/metadata/labels", "kueue.x-k8s.io/priority-class",
       "\"none\"", "priorityClass"},
      {"the version", "/metadata", "resourceVersion", "\"x\"", "metadata.resourceVersion"},
  };
  for (const auto& one : cases) {
    CheckedWorld w;
    json::value wanted = w.Object();
    wanted.at_pointer(one.pointer).as_object()[one.key] = Json(one.value);
    const auto refused = w.Edit(wanted);
    ASSERT_FALSE(refused.ok()) << one.what;
    EXPECT_EQ(refused.error().code, Code::kInvalidArgument) << one.what;
    EXPECT_EQ(FieldsOf(refused.error()), one.field) << one.what;
  }
}

TEST(Workloads, UsageCountsWhatIsAdmitted_ReservationWhatHoldsQuota) {
  CheckedWorld w;
  const auto queue = [&w](ObjectKind kind, const char* ns, const char* name) {
    return *w.service.GetObject(w.alice, kind, ns, name);
  };
  const auto expect = [&](const char* reserved, const char* used, int admitted) {
    for (const json::value& object : {queue(ObjectKind::kClusterQueue, "", "cq"),
                                      queue(ObjectKind::kLocalQueue, "default", "queue")}) {
      EXPECT_EQ(object.at_pointer("/status/flavorsReservation/0/resources/0/total"), reserved);
      EXPECT_EQ(object.at_pointer("/status/flavorsUsage/0/resources/0/total"), used);
      EXPECT_EQ(object.at_pointer("/status/reservingWorkloads"), 1);
      EXPECT_EQ(object.at_pointer("/status/admittedWorkloads"), admitted);
    }
    const auto quotas = *w.service.ListQuotas(w.alice, "cq");
    ASSERT_EQ(quotas.size(), 1u);
    EXPECT_EQ(quotas[0].reserved, 1000);
    EXPECT_EQ(quotas[0].used, admitted * 1000);
  };
  expect("1", "0", 0);
  ASSERT_TRUE(w.Answer(w.WithChecks(R"([{"name":"budget","state":"Ready"}])")).ok());
  expect("1", "1", 1);
}

}  // namespace
}  // namespace muster::test

#include "api/service/views.h"

#include <gtest/gtest.h>

#include "api/service/fingerprint.h"
#include "api/service/job_view.h"
#include "api/service/json_append.h"
#include "api/service/pod_set_cache.h"
#include "schedd/model/admission_lifecycle.h"
#include "tests/unit/service/service_world.h"

namespace muster::api {
namespace {

JobRecord FullJob() {
  JobRecord job;
  job.id = JobId{17};
  job.uid = Uid{0x0123456789abcdefULL, 0xfedcba9876543210ULL};
  job.name = "train";
  job.display_name = "My \"train\"\njob\x01 \\ \xc3\xa9";
  job.ns = "team";
  job.user = "alice";
  job.shape = ShapeKind::kBatchScript;
  job.local_queue = "lq";
  job.cluster_queue = "cq";
  job.priority_class = "high";
  job.priority = -3;
  auto sets = std::make_shared<PodSets>();
  sets->push_back({"a", 2, {{"cpu", 1500}, {"memory", 1 << 30}}, nullptr});
  sets->push_back({"b", 1, {}, nullptr});
  job.pod_sets = sets;
  job.state = JobState::kRunning;
  job.reason = Reason::kRunning;
  job.message = "runs";
  job.cluster = "east";
  job.attempt = 2;
  auto admission = std::make_shared<Admission>();
  admission->pod_sets.push_back({"a", 2, {{"cpu", "spot"}, {"memory", "spot"}}, {{"cpu", 3000}}});
  job.admission = admission;
  job.submit_time = {1'767'225'600'000'001};
  job.admit_time = {951'782'400'999'999};  // 2000-02-29
  job.exit_code = 3;
  job.exit_signal = 9;
  job.time_limit_s = 60;
  job.conditions = std::make_shared<std::vector<Condition>>(
      std::vector<Condition>{{"Admitted", "Admitted", "yes", true, {1'767'225'600'000'000}},
                             {"Evicted", "", "", false, {}}});
  auto batch = std::make_shared<BatchDetails>();
  batch->array_spec = "0-3";
  batch->comment = "a \"b\"";
  batch->requeue = false;
  batch->nodes = batch->max_nodes = 2;
  batch->mail_events = 5;
  batch->warning = {10, 90, true, false};
  batch->components = {{"main-1", 2, 4, 1}};
  batch->how = {{"hint", "nomultithread"}};
  job.batch = batch;
  BatchState state;
  state.dependencies = {{DependencyType::kAfterOk, JobId{7}},
                        {DependencyType::kAfter, JobId{8}, 3, 5, true},
                        {DependencyType::kSingleton, JobId{}}};
  state.begin_at = WallTime{1'767'225'600'000'000};
  state.own_priority = 5;
  state.waiting_tasks = {{0, 3, 1}, {7, 7, 1}, {10, 20, 5}};
  job.batch_state = std::make_shared<const BatchState>(state);
  return job;
}

json::value Appended(const JobRecord& job) {
  std::string text;
  AppendJobView(job, &text);
  const Result<json::value> parsed = ParseJson(text);
  EXPECT_TRUE(parsed.ok()) << text;
  return parsed.ok() ? *parsed : json::value();
}

TEST(JobView, AppendedText_OfAFullJob_IsTheJsonView) {
  EXPECT_EQ(Appended(FullJob()), json::value(JobViewJson(FullJob())));
}

TEST(JobView, ShowsUntilWhenARequeuedJobWaits) {
  JobRecord job;
  job.state = JobState::kPending;
  SetCondition(&job, "Requeued", false, "Requeued", "", WallTime{1'767'225'600'000'000});
  ChangeState(&job,
              [](AdmissionState* state) { state->requeue_at = WallTime{1'767'225'720'000'000}; });
  EXPECT_EQ(JobViewJson(job).at("requeueAt"), "2026-01-01T00:02:00.000000Z");
  EXPECT_EQ(Appended(job), json::value(JobViewJson(job)));
  SetCondition(&job, "Requeued", true, "BackoffFinished", "", WallTime{1'767'225'720'000'000});
  EXPECT_TRUE(JobViewJson(job).at("requeueAt").is_null()) << "it is over";
  EXPECT_TRUE(JobViewJson(FullJob()).at("requeueAt").is_null()) << "it runs";
}

TEST(JobView, ShowsWhatABatchScriptHasBecome) {
  const json::value view = JobViewJson(FullJob());
  EXPECT_EQ(view.at("nodeList"), "train-main-0-[0-1]") << "it has components";
  EXPECT_EQ(view.at("stopping"), false);
  const json::value& batch = view.at("batch");
  EXPECT_EQ(batch.at("arrayJobId"), 17) << "its own: it is the record of the waiting tasks";
  EXPECT_EQ(batch.at("arrayTaskId"), -1);
  EXPECT_EQ(batch.at("waitingTasks"), "0-3,7,10-20:5");
  EXPECT_EQ(batch.at("dependency"),
            "afterok:7(unfulfilled),after:8_3+5(failed),singleton(unfulfilled)");
  EXPECT_EQ(batch.at("begin"), "2026-01-01T00:00:00.000000Z");
  EXPECT_EQ(batch.at("deadline"), "");
  EXPECT_EQ(batch.at("ownPriority"), 5);
  EXPECT_EQ(batch.at_pointer("/how/hint"), "nomultithread");
  EXPECT_EQ(batch.at_pointer("/components/0/tasks"), 4);
  EXPECT_EQ(batch.at("signalBefore"), 90);
}

TEST(JobView, AppendedText_OfAnEmptyJob_IsTheJsonView) {
  EXPECT_EQ(Appended(JobRecord{}), json::value(JobViewJson(JobRecord{})));
}

TEST(JobView, AppendedMembers_AreThoseOfTheViewInItsOrder_WhicheverAreAskedFor) {
  const json::object whole = JobViewJson(FullJob());
  for (const auto& [key, value] : whole) {
    const Result<JobMembers> members = JobMembersOf({"state", std::string(key), "id"});
    ASSERT_TRUE(members.ok()) << key;
    json::object expected;
    for (const auto& [name, other] : whole) {
      if (name == "id" || name == key || name == "state") expected[name] = other;
    }
    std::string text;
    AppendJobView(FullJob(), *members, &text);
    EXPECT_EQ(text, WriteJson(expected));
  }
}

TEST(JobView, MembersOfABatchAlone_AreThoseThatAreNotEmpty) {
  const Result<JobMembers> members = JobMembersOf(
      {"id", "batch.waitingTasks", "batch.arrayTaskId", "batch.deadline", "batch.exclusive"});
  ASSERT_TRUE(members.ok());
  std::string text;
  AppendJobView(FullJob(), *members, &text);
  const json::object whole = JobViewJson(FullJob());
  EXPECT_EQ(text, "{\"id\":" + json::serialize(whole.at("id")) +
                      ",\"batch\":{\"waitingTasks\":\"0-3,7,10-20:5\"}}");
  // A job of another kind has no batch, and `batch` wins over its members.
  text.clear();
  AppendJobView(JobRecord{}, *members, &text);
  EXPECT_TRUE(text.ends_with(",\"batch\":null}")) << text;
  text.clear();
  AppendJobView(FullJob(), *JobMembersOf({"batch.deadline", "batch"}), &text);
  EXPECT_EQ(json::parse(text).at("batch"), whole.at("batch"));
  EXPECT_NE(JobMembersOf({"batch.waiting"}).error().detail.find("batch.waiting"),
            std::string::npos);
}

TEST(JobView, MembersThatAJobViewHasNot_AreRefusedByName) {
  const Error unknown = JobMembersOf({"id", "nmae"}).error();
  EXPECT_EQ(unknown.code, Code::kInvalidArgument);
  EXPECT_EQ(unknown.fields.front().field, "fields");
  EXPECT_NE(unknown.detail.find("nmae"), std::string::npos);
  EXPECT_FALSE(JobMembersOf({}).ok());
}

TEST(JobView, HasEveryKeyOfTheContract_EvenWhenNothingIsKnown) {
  const json::object view = JobViewJson(JobRecord{});
  for (const char* key :
       {"id",       "uid",          "name",       "namespace", "kind",      "user",
        "queue",    "clusterQueue", "priority",   "state",     "reason",    "message",
        "cluster",  "attempt",      "submitTime", "admitTime", "startTime", "endTime",
        "exitCode", "podSets",      "conditions"}) {
    EXPECT_TRUE(view.contains(key)) << key;
  }
  EXPECT_TRUE(view.at("startTime").is_null());
  EXPECT_TRUE(view.at("exitCode").is_null());
}

TEST(JobView, ShowsQuantitiesFlavorsAndTimesAsUsersWriteThem) {
  const json::value view = JobViewJson(FullJob());
  EXPECT_EQ(view.at_pointer("/podSets/0/requests/cpu"), "1500m");
  EXPECT_EQ(view.at_pointer("/podSets/0/requests/memory"), "1Gi");
  EXPECT_EQ(view.at_pointer("/podSets/0/flavors/cpu"), "spot");
  EXPECT_EQ(view.at("submitTime"), "2026-01-01T00:00:00.000001Z");
  EXPECT_EQ(view.at("admitTime"), "2000-02-29T00:00:00.999999Z");
  EXPECT_EQ(view.at("uid"), "01234567-89ab-cdef-fedc-ba9876543210");
  EXPECT_EQ(view.at_pointer("/conditions/0/status"), "True");
  EXPECT_EQ(view.at_pointer("/conditions/1/status"), "False");
}

TEST(JsonTime, AgreesWithTheSharedFormatter_OnEveryDayOfFourCenturies) {
  for (std::int64_t day = -80'000; day < 80'000; ++day) {
    const WallTime time{(day * 86'400 + (day * 7919) % 86'400) * kMicrosPerSecond + 123'456};
    std::string text;
    AppendJsonTime(time, &text);
    ASSERT_EQ(text, "\"" + FormatRfc3339Micros(time) + "\"") << day;
  }
}

TEST(Problem, CarriesStatusFieldsAndRetryHint) {
  Error error = InvalidField("spec.x", "is wrong");
  json::value problem = ProblemJson(error);
  EXPECT_EQ(problem.at("status"), 400);
  EXPECT_EQ(problem.at("title"), "Invalid argument");
  EXPECT_EQ(problem.at("type"), "urn:muster:problem:invalid-argument");
  EXPECT_EQ(problem.at("detail"), "spec.x: is wrong");
  EXPECT_EQ(problem.at_pointer("/errors/0/field"), "spec.x");
  EXPECT_EQ(json::value(ProblemJson(Overloaded("busy", 700))).at("retryAfterMs"), 700);
}

TEST(KubernetesStatus, NamesReasonAndCauses) {
  const json::value status = StatusJson(InvalidField("spec.x", "is wrong"));
  EXPECT_EQ(status.at("kind"), "Status");
  EXPECT_EQ(status.at("status"), "Failure");
  EXPECT_EQ(status.at("code"), 400);
  EXPECT_EQ(status.at_pointer("/details/causes/0/field"), "spec.x");
  EXPECT_EQ(json::value(StatusJson(NotFound("x"))).at("reason"), "NotFound");
  EXPECT_EQ(json::value(StatusJson(AlreadyExists("x"))).at("reason"), "AlreadyExists");
  EXPECT_EQ(json::value(StatusJson(Aborted("x"))).at("reason"), "Conflict");
  EXPECT_EQ(json::value(StatusJson(Overloaded("x", 1500))).at_pointer("/details/retryAfterSeconds"),
            2);
}

TEST(Fingerprint, IgnoresTheOrderOfMembers_AndNothingElse) {
  const std::uint64_t base = FingerprintOf(test::Json(R"({"a":1,"b":[1,2]})"));
  EXPECT_EQ(base, FingerprintOf(test::Json(R"({"b":[1,2],"a":1})")));
  for (const char* other :
       {R"({"a":1,"b":[2,1]})", R"({"a":"1","b":[1,2]})", R"({"a":2,"b":[1,2]})",
        R"({"a":1,"b":[1,2],"c":null})", R"({"b":1,"a":[1,2]})"}) {
    EXPECT_NE(base, FingerprintOf(test::Json(other))) << other;
  }
}

TEST(PodSetCache, SharesEqualPodSets_AndOnlyThose) {
  PodSetCache cache;
  const auto sets = [](std::int64_t cpu, const char* zone) {
    auto constraints = std::make_shared<SchedulingConstraints>();
    constraints->node_selector["zone"] = zone;
    return PodSets{{"main", 1, {{"cpu", cpu}}, constraints}};
  };
  const PodSetsPtr first = cache.Share(sets(1, "a"));
  EXPECT_EQ(first, cache.Share(sets(1, "a")));
  EXPECT_NE(first, cache.Share(sets(2, "a")));
  EXPECT_NE(first, cache.Share(sets(1, "b")));
  EXPECT_NE(first, cache.Share({{"main", 1, {{"cpu", 1}}, nullptr}}));
}

}  // namespace
}  // namespace muster::api

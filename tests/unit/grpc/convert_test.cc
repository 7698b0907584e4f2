#include "api/grpc/convert.h"

#include <google/protobuf/util/json_util.h>
#include <gtest/gtest.h>

#include "api/grpc/convert_explain.h"
#include "api/service/explain_json.h"
#include "api/service/job_view.h"
#include "api/service/views.h"

namespace muster::api {
namespace {

v1::SetQuotaRequest Request() {
  v1::SetQuotaRequest request;
  request.mutable_quota()->set_cluster_queue("cq");
  request.mutable_quota()->set_flavor("default");
  request.mutable_quota()->set_resource("cpu");
  return request;
}

TEST(QuotaEditOf, WithoutAMask_SetsWhatIsThere_AndRemovesNothing) {
  v1::SetQuotaRequest request = Request();
  request.mutable_quota()->set_nominal_quota("1500m");
  request.mutable_quota()->set_lending_limit("1");
  const Result<QuotaEdit> edit = QuotaEditOf(request);
  ASSERT_TRUE(edit.ok()) << edit.error().detail;
  EXPECT_EQ(edit->nominal, 1500);
  EXPECT_EQ(edit->lending_limit, 1000);
  EXPECT_FALSE(edit->borrowing_limit.has_value());
  EXPECT_FALSE(edit->clear_borrowing_limit);
  EXPECT_FALSE(edit->clear_lending_limit);
}

TEST(QuotaEditOf, AMaskedLimitThatIsAbsent_IsRemoved_AndUnmaskedFieldsStay) {
  v1::SetQuotaRequest request = Request();
  request.mutable_quota()->set_nominal_quota("9");
  request.mutable_update_mask()->add_paths("borrowing_limit");
  const Result<QuotaEdit> edit = QuotaEditOf(request);
  ASSERT_TRUE(edit.ok());
  EXPECT_TRUE(edit->clear_borrowing_limit);
  EXPECT_FALSE(edit->clear_lending_limit);
  EXPECT_FALSE(edit->nominal.has_value());
}

TEST(QuotaEditOf, EtagOfEitherPlace_IsTaken_AndTwoThatDifferAreRefused) {
  v1::SetQuotaRequest request = Request();
  request.mutable_quota()->set_nominal_quota("1");
  request.mutable_quota()->set_etag("5");
  EXPECT_EQ(QuotaEditOf(request)->etag, "5");
  request.set_etag("5");
  EXPECT_EQ(QuotaEditOf(request)->etag, "5");
  request.set_etag("6");
  EXPECT_EQ(QuotaEditOf(request).error().fields.front().field, "etag");
}

TEST(QuotaEditOf, WrongFields_AreNamed) {
  struct Case {
    const char* field;
    std::function<void(v1::SetQuotaRequest*)> spoil;
  };
  const Case cases[] = {
      {"quota.cluster_queue", [](auto* r) { r->mutable_quota()->clear_cluster_queue(); }},
      {"quota.flavor", [](auto* r) { r->mutable_quota()->clear_flavor(); }},
      {"quota.resource", [](auto* r) { r->mutable_quota()->clear_resource(); }},
      {"quota.nominal_quota", [](auto* r) { r->mutable_quota()->set_nominal_quota("many"); }},
      {"quota.borrowing_limit", [](auto* r) { r->mutable_quota()->set_borrowing_limit("-1"); }},
      {"quota.nominal_quota",
       [](auto* r) { r->mutable_update_mask()->add_paths("nominal_quota"); }},
      {"update_mask", [](auto* r) { r->mutable_update_mask()->add_paths("used"); }},
  };
  for (const Case& one : cases) {
    v1::SetQuotaRequest request = Request();
    one.spoil(&request);
    const Result<QuotaEdit> edit = QuotaEditOf(request);
    ASSERT_FALSE(edit.ok()) << one.field;
    EXPECT_EQ(edit.error().fields.front().field, one.field);
  }
}

TEST(OneDocument, TakesJsonOrYaml_AndExactlyOne) {
  ParseBudget budget;
  EXPECT_EQ(OneDocument(R"({"a":1})", &budget)->at("a"), 1);
  EXPECT_EQ(OneDocument("a: 1\n", &budget)->at("a"), 1);
  EXPECT_FALSE(OneDocument("", &budget).ok());
  EXPECT_FALSE(OneDocument("a: 1\n---\nb: 2\n", &budget).ok());
  EXPECT_FALSE(OneDocument("{", &budget).ok());
}

// The names of JSON and proto are shared: each key of a proto job's JSON form is one of the REST
// job view.
TEST(Job, JsonFormOfTheMessage_HasTheKeysOfTheRestView) {
  JobRecord job;
  job.id = JobId{3};
  job.name = job.display_name = "a";
  job.ns = "default";
  job.user = "alice";
  job.local_queue = job.cluster_queue = "q";
  job.priority = 1;
  job.priority_class = "p";
  job.reason = Reason::kRunning;
  job.message = "m";
  job.cluster = "east";
  job.attempt = 1;
  job.submit_time = job.admit_time = job.start_time = job.end_time = {1'767'225'600'123'456};
  job.exit_code = 0;
  job.time_limit_s = 60;
  auto sets = std::make_shared<PodSets>();
  sets->push_back({"main", 2, {{"cpu", 500}}, nullptr});
  job.pod_sets = sets;
  job.conditions = std::make_shared<std::vector<Condition>>(
      std::vector<Condition>{{"Admitted", "r", "m", true, {1'767'225'600'000'000}}});
  v1::Job message;
  ToProto(job, &message);
  std::string text;
  ASSERT_TRUE(google::protobuf::util::MessageToJsonString(message, &text).ok());
  const Result<json::value> parsed = ParseJson(text);
  ASSERT_TRUE(parsed.ok());
  const json::object view = JobViewJson(job);
  EXPECT_GE(parsed->as_object().size(), 24u) << text;
  for (const auto& member : parsed->as_object())
    EXPECT_TRUE(view.contains(member.key())) << member.key();
  EXPECT_EQ(parsed->at("submitTime"), view.at("submitTime"));
  EXPECT_EQ(parsed->at("state"), view.at("state"));
  EXPECT_EQ(parsed->at_pointer("/podSets/0/requests"),
            json::value(view).at_pointer("/podSets/0/requests"));
  EXPECT_EQ(parsed->at("exitCode"), 0);
}

json::value JsonOf(const google::protobuf::Message& message) {
  google::protobuf::util::JsonPrintOptions options;
  options.always_print_primitive_fields = true;
  std::string text;
  EXPECT_TRUE(google::protobuf::util::MessageToJsonString(message, &text, options).ok());
  const Result<json::value> parsed = ParseJson(text);
  EXPECT_TRUE(parsed.ok()) << text;
  return parsed.ok() ? *parsed : json::value();
}

TEST(Explanation, TellsOfEachClusterWhatRestTells) {
  JobExplanation explained;
  explained.why.job = std::make_shared<const JobRecord>();
  core::ClusterVerdict verdict{"east", true, false, "13 of 16 free", "Capacity", {}, 66, -1};
  verdict.terms = {{"available-cpu Descending", 40, 40}, {"zone", 0, -1}};
  explained.why.clusters = {verdict};
  v1::Explanation message;
  ToProto(explained, &message);
  EXPECT_EQ(JsonOf(message).at("clusters"), ExplanationJson(explained).at("clusters"));
  EXPECT_EQ(message.clusters(0).terms(1).score(), -1);
}

TEST(Cluster, HasItsPropertiesAndTaints) {
  core::ClusterView cluster;
  cluster.member.allocatable = {{"cpu", 8000}};
  cluster.member.used_by_others = {{"cpu", 500}};
  cluster.member.version = "v1.34.1";
  cluster.member.taints = {{"spot", "yes", "NoSchedule"}};
  cluster.member.datasets = {"imagenet"};
  cluster.member.draining = true;
  cluster.member.heartbeat_s = 5;
  v1::Cluster message;
  ToProto(cluster, &message);
  EXPECT_EQ(message.capacity().at("cpu"), "8") << "as allocatable, where nothing is told";
  EXPECT_EQ(message.used_by_others().at("cpu"), "500m");
  EXPECT_EQ(message.properties().at("k8s.io/k8s-version"), "v1.34.1");
  EXPECT_EQ(message.taints(0).effect(), "NoSchedule");
  EXPECT_EQ(message.datasets(0), "imagenet");
  EXPECT_TRUE(message.draining());
  EXPECT_EQ(message.heartbeat_period_seconds(), 5);
}

}  // namespace
}  // namespace muster::api

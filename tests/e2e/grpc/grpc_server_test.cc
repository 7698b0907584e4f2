// A real gRPC server on a free loopback port over a running engine, with real clients: the
// generated stubs, and plain bytes for reflection and health, as a client without our .proto files
// sends them.
#include <gtest/gtest.h>

#include <future>
#include <string>
#include <thread>
#include <vector>

#include "schedd/base/limits_member_reads.h"
#include "tests/e2e/grpc/grpc_world.h"
#include "tests/support/fake_backend.h"

namespace muster::test {
namespace {

class GrpcFullQueueTest : public GrpcServerTest {
 protected:
  GrpcFullQueueTest() : GrpcServerTest(OneMayWait()) {}
  static EngineOptions OneMayWait() {
    EngineOptions options;
    options.max_waiting_jobs = 1;
    return options;
  }
};

TEST_F(GrpcFullQueueTest, AFullQueue_IsResourceExhausted_WithARetryTime) {
  MustSubmit(JobText("a", "queue", "40"));
  grpc::ClientContext context;
  v1::SubmitJobResponse response;
  const grpc::Status status = Submit(JobText("b"), &response, &context);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  const auto trailers = context.GetServerTrailingMetadata();
  const auto retry = trailers.find("retry-after-ms");
  ASSERT_NE(retry, trailers.end());
  EXPECT_EQ(std::string(retry->second.data(), retry->second.size()), "10000");
}

TEST_F(GrpcServerTest, Submit_AnswersTheJob_OfTheUserInTheMetadata) {
  grpc::ClientContext context;
  context.AddMetadata("x-muster-user", "carol");
  v1::SubmitJobResponse response;
  const grpc::Status status = Submit(JobText("a"), &response, &context);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_GT(response.job().id(), 0);
  EXPECT_EQ(response.job().user(), "carol");
  EXPECT_EQ(response.job().cluster_queue(), "cq");
  EXPECT_EQ(response.job().pod_sets(0).requests().at("cpu"), "1");

  grpc::ClientContext get_context;
  v1::GetJobRequest get;
  get.set_id("default/a");
  v1::Job job;
  ASSERT_TRUE(jobs_->GetJob(&get_context, get, &job).ok());
  EXPECT_EQ(job.uid(), response.job().uid());
}

TEST_F(GrpcServerTest, Refusals_HaveTheirCodeSentenceAndFields) {
  grpc::ClientContext context;
  v1::SubmitJobResponse response;
  const grpc::Status status = Submit(JobText("a", "nope"), &response, &context);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_NE(status.error_message().find("LocalQueue \"nope\" does not exist"), std::string::npos);
  const auto trailers = context.GetServerTrailingMetadata();
  const auto found = trailers.find("muster-problem-bin");
  ASSERT_NE(found, trailers.end());
  v1::Problem problem;
  ASSERT_TRUE(problem.ParseFromArray(found->second.data(), static_cast<int>(found->second.size())));
  EXPECT_EQ(problem.errors(0).field(), "metadata.labels[kueue.x-k8s.io/queue-name]");

  grpc::ClientContext get_context;
  v1::GetJobRequest get;
  get.set_id("4711");
  v1::Job job;
  EXPECT_EQ(jobs_->GetJob(&get_context, get, &job).error_code(), grpc::StatusCode::NOT_FOUND);

  grpc::ClientContext two_users;
  two_users.AddMetadata("x-muster-user", "a");
  two_users.AddMetadata("impersonate-user", "b");
  EXPECT_EQ(jobs_->GetJob(&two_users, get, &job).error_code(), grpc::StatusCode::INVALID_ARGUMENT);
}

TEST_F(GrpcServerTest, BatchAndStream_AnswerEveryItemInOrder) {
  grpc::ClientContext batch_context;
  v1::BatchSubmitJobsRequest batch;
  batch.add_manifests(JobText("a"));
  batch.add_manifests("{");
  batch.add_manifests(JobText("b", "nope"));
  batch.add_manifests(JobText("c"));
  v1::BatchSubmitJobsResponse answer;
  ASSERT_TRUE(jobs_->BatchSubmitJobs(&batch_context, batch, &answer).ok());
  ASSERT_EQ(answer.items_size(), 4);
  EXPECT_EQ(answer.items(0).job().name(), "a");
  EXPECT_TRUE(answer.items(1).has_problem());
  EXPECT_TRUE(answer.items(2).has_problem());
  EXPECT_EQ(answer.items(3).job().name(), "c");

  grpc::ClientContext stream_context;
  v1::BatchSubmitJobsResponse streamed;
  auto writer = jobs_->StreamSubmitJobs(&stream_context, &streamed);
  constexpr int kJobs = 1500;  // more than may be in flight
  for (int i = 0; i < kJobs; ++i) {
    v1::SubmitJobRequest request;
    request.set_manifest(i == 7 ? "{" : JobText("s" + std::to_string(i)));
    ASSERT_TRUE(writer->Write(request));
  }
  writer->WritesDone();
  ASSERT_TRUE(writer->Finish().ok());
  ASSERT_EQ(streamed.items_size(), kJobs);
  for (int i = 0; i < kJobs; ++i) {
    if (i == 7) {
      EXPECT_TRUE(streamed.items(i).has_problem());
    } else {
      ASSERT_EQ(streamed.items(i).job().name(), "s" + std::to_string(i));
    }
  }
}

TEST_F(GrpcServerTest, List_PagesThroughEverything) {
  for (int i = 0; i < 5; ++i) MustSubmit(JobText("j" + std::to_string(i)));
  v1::ListJobsRequest request;
  request.set_page_size(2);
  int seen = 0;
  do {
    grpc::ClientContext context;
    v1::ListJobsResponse response;
    ASSERT_TRUE(jobs_->ListJobs(&context, request, &response).ok());
    EXPECT_LE(response.items_size(), 2);
    seen += response.items_size();
    request.set_page_token(response.next_page_token());
  } while (!request.page_token().empty() && seen < 100);
  EXPECT_EQ(seen, 5);
  grpc::ClientContext context;
  v1::ListJobsResponse response;
  request.add_states("Sleeping");
  EXPECT_EQ(jobs_->ListJobs(&context, request, &response).error_code(),
            grpc::StatusCode::INVALID_ARGUMENT);
}

TEST_F(GrpcServerTest, HoldReleaseExplainAndCancel_ReachTheEngine) {
  MustSubmit(JobText("a", "queue", "40"));
  v1::JobActionRequest action;
  action.set_id("default/a");
  v1::Job job;
  grpc::ClientContext hold, release, cancel, explain_context;
  ASSERT_TRUE(jobs_->HoldJob(&hold, action, &job).ok());
  EXPECT_EQ(job.state(), "Held");
  ASSERT_TRUE(jobs_->ReleaseJob(&release, action, &job).ok());
  EXPECT_EQ(job.state(), "Pending");
  v1::ExplainJobRequest explain;
  explain.set_id("default/a");
  v1::Explanation explanation;
  ASSERT_TRUE(jobs_->ExplainJob(&explain_context, explain, &explanation).ok());
  EXPECT_EQ(explanation.position(), 1);
  EXPECT_FALSE(explanation.summary().empty());
  ASSERT_TRUE(jobs_->CancelJob(&cancel, action, &job).ok());
  EXPECT_EQ(job.state(), "Cancelled");
}

TEST_F(GrpcServerTest, Nominations_AreRefused_WithTheReasonAndTheField) {
  MustSubmit(JobText("a"));
  v1::NominateClustersRequest request;
  request.set_id("default/a");
  request.add_clusters("east");
  v1::Job job;
  grpc::ClientContext no_queue, no_job, not_asked;
  const grpc::Status refused = jobs_->NominateClusters(&no_queue, request, &job);
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_NE(refused.error_message().find("member cluster east runs no queue of its own"),
            std::string::npos)
      << refused.error_message();
  request.set_id("default/b");
  EXPECT_EQ(jobs_->NominateClusters(&no_job, request, &job).error_code(),
            grpc::StatusCode::NOT_FOUND);
  request.set_id("default/a");
  request.clear_clusters();
  EXPECT_EQ(jobs_->NominateClusters(&not_asked, request, &job).error_code(),
            grpc::StatusCode::FAILED_PRECONDITION)
      << "its queue has no dispatch mode";
}

TEST_F(GrpcServerTest, WatchEvents_GivesThePastThenTheFuture_WithoutGapsOrRepeats) {
  server_started_ = true;
  MustSubmit(JobText("before"));
  grpc::ClientContext context;
  auto reader = jobs_->WatchEvents(&context, v1::WatchEventsRequest());
  std::int64_t last = 0;
  const auto until = [&](const std::string& object) {
    v1::Event event;
    while (reader->Read(&event)) {
      EXPECT_GT(event.seq(), last);
      last = event.seq();
      if (event.type() == "JobAccepted" && event.object().find(object) != std::string::npos)
        return true;
    }
    return false;
  };
  ASSERT_TRUE(until("before"));
  MustSubmit(JobText("after"));
  ASSERT_TRUE(until("after"));
  server_->Stop();
  v1::Event event;
  while (reader->Read(&event)) {
  }
  EXPECT_EQ(reader->Finish().error_code(), grpc::StatusCode::UNAVAILABLE);
}

TEST_F(GrpcServerTest, WatchEvents_OfASlowReader_MissNothing) {
  server_started_ = true;
  grpc::ClientContext context;
  auto reader = jobs_->WatchEvents(&context, v1::WatchEventsRequest());
  constexpr int kJobs = 3000;  // far beyond the buffer of one watch
  for (int base = 0; base < kJobs; base += 1000) {
    grpc::ClientContext batch_context;
    v1::BatchSubmitJobsRequest batch;
    for (int i = 0; i < 1000; ++i) batch.add_manifests(JobText("w" + std::to_string(base + i)));
    v1::BatchSubmitJobsResponse answer;
    ASSERT_TRUE(jobs_->BatchSubmitJobs(&batch_context, batch, &answer).ok());
  }
  int accepted = 0;
  std::int64_t last = 0;
  v1::Event event;
  while (accepted < kJobs && reader->Read(&event)) {
    ASSERT_GT(event.seq(), last);
    last = event.seq();
    if (event.type() == "JobAccepted") ++accepted;
  }
  EXPECT_EQ(accepted, kJobs);
  context.TryCancel();
  EXPECT_EQ(reader->Finish().error_code(), grpc::StatusCode::CANCELLED);
}

TEST_F(GrpcServerTest, Quota_ReadEditDryRunAndEtag) {
  MustSubmit(JobText("big", "queue", "6"));
  v1::GetQuotaRequest get;
  get.set_cluster_queue("cq");
  get.set_flavor("default");
  get.set_resource("cpu");
  v1::Quota quota;
  grpc::ClientContext get_context;
  ASSERT_TRUE(quotas_->GetQuota(&get_context, get, &quota).ok());
  EXPECT_EQ(quota.nominal_quota(), "4");

  v1::SetQuotaRequest set;
  *set.mutable_quota() = quota;
  set.mutable_quota()->set_nominal_quota("8");
  set.mutable_update_mask()->add_paths("nominal_quota");
  set.set_dry_run(true);
  v1::SetQuotaResponse response;
  grpc::ClientContext dry_context;
  ASSERT_TRUE(quotas_->SetQuota(&dry_context, set, &response).ok());
  ASSERT_EQ(response.admissions_size(), 1);
  EXPECT_EQ(response.admissions(0).name(), "big");
  EXPECT_EQ(response.preemptions_size(), 0);

  set.set_dry_run(false);
  response.Clear();
  grpc::ClientContext set_context;
  ASSERT_TRUE(quotas_->SetQuota(&set_context, set, &response).ok());
  EXPECT_EQ(response.quota().nominal_quota(), "8");
  grpc::ClientContext stale_context;
  EXPECT_EQ(quotas_->SetQuota(&stale_context, set, &response).error_code(),
            grpc::StatusCode::ABORTED);
  grpc::ClientContext list_context;
  v1::ListQuotasResponse list;
  ASSERT_TRUE(quotas_->ListQuotas(&list_context, v1::ListQuotasRequest(), &list).ok());
  ASSERT_EQ(list.items_size(), 1);
  EXPECT_EQ(list.items(0).nominal_quota(), "8");
}

TEST_F(GrpcServerTest, QueueAndClusterServices_ApplyListAndCordon) {
  v1::ApplyRequest apply;
  apply.set_documents(
      "apiVersion: kueue.x-k8s.io/v1beta1\nkind: ResourceFlavor\nmetadata: {name: spot}\n---\n" +
      JobText("a") + "\n");
  v1::ApplyResponse applied;
  grpc::ClientContext apply_context;
  const grpc::Status status = queues_->Apply(&apply_context, apply, &applied);
  ASSERT_TRUE(status.ok()) << status.error_message();
  ASSERT_EQ(applied.items_size(), 2);
  EXPECT_EQ(applied.items(0).outcome(), "created");
  EXPECT_GT(applied.items(1).job().id(), 0);

  v1::GetObjectRequest get;
  get.set_kind("clusterqueues");
  get.set_name("cq");
  v1::QueueObject object;
  grpc::ClientContext get_context;
  ASSERT_TRUE(queues_->GetObject(&get_context, get, &object).ok());
  EXPECT_EQ(object.kind(), "ClusterQueue");
  EXPECT_GT(object.resource_version(), 0);
  EXPECT_NE(object.object().find("admittedWorkloads"), std::string::npos);

  v1::DeleteObjectRequest remove;
  remove.set_kind("ResourceFlavor");
  remove.set_name("spot");
  grpc::ClientContext remove_context;
  EXPECT_TRUE(queues_->DeleteObject(&remove_context, remove, &object).ok());

  v1::CordonClusterRequest cordon;
  cordon.set_name("east");
  cordon.set_cordon(true);
  v1::Cluster cluster;
  grpc::ClientContext cordon_context;
  ASSERT_TRUE(clusters_->CordonCluster(&cordon_context, cordon, &cluster).ok());
  EXPECT_TRUE(cluster.cordoned());
  EXPECT_EQ(cluster.allocatable().at("cpu"), "64");
}

TEST_F(GrpcServerTest, ADrainedClusterIsCordonedToo_AndSaysWhatIsLeft) {
  grpc::ClientContext context, get_context, unknown_context;
  v1::DrainClusterRequest drain;
  drain.set_name("east");
  v1::DrainClusterResponse left;
  const grpc::Status status = clusters_->DrainCluster(&context, drain, &left);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(left.evicting() + left.blocked() + left.waiting(), 0) << "nothing runs there";
  v1::GetClusterRequest get;
  get.set_name("east");
  v1::Cluster cluster;
  ASSERT_TRUE(clusters_->GetCluster(&get_context, get, &cluster).ok());
  EXPECT_TRUE(cluster.draining());
  EXPECT_TRUE(cluster.cordoned());
  drain.set_name("nowhere");
  EXPECT_EQ(clusters_->DrainCluster(&unknown_context, drain, &left).error_code(),
            grpc::StatusCode::NOT_FOUND);
}

TEST_F(GrpcServerTest, AClusterIsAskedBeforeItIsAdded_AndGoesAgain) {
  FakeProbe probe;
  service_.SetProbe(&probe);
  const auto add = [this](const std::string& name, bool force, v1::AddClusterResponse* added,
                          grpc::ClientContext* context) {
    v1::AddClusterRequest request;
    request.set_name(name);
    request.set_kubeconfig("text");
    request.set_context("c");
    (*request.mutable_labels())["zone"] = "a";
    request.set_force(force);
    return clusters_->AddCluster(context, request, added);
  };
  v1::AddClusterResponse added;
  grpc::ClientContext refused, unnamed, forced, again, removal, flagged;
  EXPECT_EQ(add("west", false, &added, &refused).error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  const auto& trailers = refused.GetServerTrailingMetadata();
  const auto found = trailers.find("muster-problem-bin");
  ASSERT_NE(found, trailers.end());
  v1::Problem problem;
  ASSERT_TRUE(problem.ParseFromArray(found->second.data(), static_cast<int>(found->second.size())));
  EXPECT_EQ(problem.errors(0).message(), "it cannot be reached");
  EXPECT_EQ(problem.errors(1).field(), "clusterRole");
  EXPECT_EQ(add("", true, &added, &unnamed).error_code(), grpc::StatusCode::INVALID_ARGUMENT);

  const grpc::Status status = add("west", true, &added, &forced);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(probe.asked().context, "c");
  EXPECT_EQ(added.version(), "v1.34.1");
  EXPECT_EQ(added.problems(0), "it cannot be reached");
  EXPECT_EQ(added.cluster_role(), "role");
  EXPECT_FALSE(added.has_nodes()) << "it has not told";
  EXPECT_EQ(engine_.View()->config->member_clusters.at("west").labels.at("zone"), "a");
  EXPECT_EQ(add("west", true, &added, &again).error_code(), grpc::StatusCode::ALREADY_EXISTS);

  RecordWorksCommand works;
  auto work = std::make_shared<Work>();
  work->placement = "queues";
  work->cluster = "west";
  work->manifests.resize(2);
  for (ManifestStatus& one : work->manifests) one.remote_uid = "uid";
  works.works = {work};
  std::promise<bool> recorded;
  works.done = [&recorded](const Status& outcome) { recorded.set_value(outcome.ok()); };
  ASSERT_TRUE(engine_.Post(std::move(works)));
  ASSERT_TRUE(recorded.get_future().get());
  v1::RemoveClusterRequest remove;
  v1::RemoveClusterResponse gone;
  remove.set_name("west");
  EXPECT_TRUE(clusters_->RemoveCluster(&removal, remove, &gone).ok());
  EXPECT_EQ(gone.configuration_objects(), 2);
  EXPECT_EQ(gone.placements(), 1);
  EXPECT_FALSE(engine_.View()->config->member_clusters.contains("west"));
  remove.set_name("east");
  EXPECT_EQ(clusters_->RemoveCluster(&flagged, remove, &gone).error_code(),
            grpc::StatusCode::FAILED_PRECONDITION);
  service_.SetProbe(nullptr);
}

TEST_F(GrpcServerTest, AMemberThatDoesNotAnswer_SaysWhyAndSinceWhen) {
  ClusterFacts facts;
  facts.cluster = "east";
  facts.healthy = false;
  facts.message = "cannot connect to 10.0.0.1:6443: Connection refused";
  facts.observed_at = {1'767'225'600'000'000};
  engine_.Post(FactsCommand{facts});
  v1::GetClusterRequest get;
  get.set_name("east");
  v1::Cluster cluster;
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  do {
    grpc::ClientContext context;
    ASSERT_TRUE(clusters_->GetCluster(&context, get, &cluster).ok());
  } while (cluster.healthy() && std::chrono::steady_clock::now() < deadline);
  EXPECT_FALSE(cluster.healthy());
  EXPECT_FALSE(cluster.answers());
  EXPECT_EQ(cluster.message(), facts.message);
  EXPECT_EQ(cluster.observed_at().seconds(), 1'767'225'600);
  grpc::ClientContext context;
  v1::ListClustersResponse all;
  ASSERT_TRUE(clusters_->ListClusters(&context, v1::ListClustersRequest(), &all).ok());
  ASSERT_EQ(all.items_size(), 1);
  EXPECT_EQ(all.items(0).message(), facts.message);

  // One whose user lacks a permission answers, and takes no jobs all the same.
  facts.answers = true;
  engine_.Post(FactsCommand{facts});
  do {
    grpc::ClientContext again;
    ASSERT_TRUE(clusters_->GetCluster(&again, get, &cluster).ok());
  } while (!cluster.answers() && std::chrono::steady_clock::now() < deadline);
  EXPECT_TRUE(cluster.answers());
  EXPECT_FALSE(cluster.healthy());
}

TEST_F(GrpcServerTest, Reflection_ListsOurServices_ToAClientWithoutOurFiles) {
  // ServerReflectionRequest{list_services: ""}: field 7, length 0.
  const std::string answer = BareCall(
      "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo", std::string("\x3a\x00", 2));
  for (const char* name :
       {"muster.v1.JobService", "muster.v1.QueueService", "muster.v1.ClusterService",
        "muster.v1.QuotaAdminService", "grpc.health.v1.Health"}) {
    EXPECT_NE(answer.find(name), std::string::npos) << name;
  }
}

TEST_F(GrpcServerTest, Reflection_DescribesEveryServiceThatItLists) {
  for (const std::string name :
       {"muster.v1.JobService", "muster.v1.QueueService", "muster.v1.ClusterService",
        "muster.v1.QuotaAdminService", "grpc.health.v1.Health", "grpc.health.v1.Health.Watch",
        "grpc.reflection.v1alpha.ServerReflection"}) {
    // ServerReflectionRequest{file_containing_symbol}: field 4.
    const std::string answer =
        BareCall("/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
                 "\x22" + std::string(1, static_cast<char>(name.size())) + name);
    // The answer repeats the request; after it comes field 4, the files, or field 7, an error.
    const std::size_t echo = answer.find(name);
    ASSERT_NE(echo, std::string::npos) << name;
    EXPECT_EQ(answer[echo + name.size()], '\x22') << name << ": " << answer;
  }
}

TEST_F(GrpcServerTest, CredentialsThatNobodyCanCheck_AreRefused) {
  grpc::ClientContext context;
  context.AddMetadata("authorization", "Bearer nonsense");
  v1::SubmitJobResponse response;
  const grpc::Status status = Submit(JobText("a"), &response, &context);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAUTHENTICATED);
  grpc::ClientContext reading;
  reading.AddMetadata("authorization", "");
  v1::Job job;
  v1::GetJobRequest get;
  get.set_id("1");
  EXPECT_EQ(jobs_->GetJob(&reading, get, &job).error_code(), grpc::StatusCode::UNAUTHENTICATED);
}

TEST_F(GrpcServerTest, Health_SaysServing_ForTheServerAndEachService) {
  const std::string serving("\x08\x01", 2);  // HealthCheckResponse{status: SERVING}
  EXPECT_EQ(BareCall("/grpc.health.v1.Health/Check", ""), serving);
  const std::string service = "muster.v1.JobService";
  EXPECT_EQ(BareCall("/grpc.health.v1.Health/Check",
                     "\x0a" + std::string(1, static_cast<char>(service.size())) + service),
            serving);
}

TEST_F(GrpcServerTest, AMessageOverTheLimit_IsRefused_AndTheServerGoesOn) {
  grpc::ClientContext context;
  v1::SubmitJobResponse response;
  const grpc::Status status = Submit(std::string(9 << 20, 'x'), &response, &context);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  MustSubmit(JobText("after"));
}

TEST_F(GrpcServerTest, AHostBeyondLoopback_AndAPortInUse_AreRefusedAtStart) {
  api::GrpcServer open(service_, authenticator_, {"0.0.0.0", 0});
  const Status refused = open.Start();
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().detail.find("loopback"), std::string::npos);
  api::GrpcServer taken(service_, authenticator_, {"127.0.0.1", server_->port()});
  EXPECT_EQ(taken.Start().error().code, Code::kUnavailable);
}

TEST_F(GrpcServerTest, ReadersThatWaitForAMemberKeepNobodyElseWaiting) {
  FakeBackend east("east");
  backend_ = &east;
  const std::string id = std::to_string(MustSubmit(JobText("train")));
  const auto read_log = [&] {
    grpc::ClientContext context;
    v1::ReadLogRequest request;
    request.set_id(id);
    v1::ReadLogResponse response;
    return jobs_->ReadLog(&context, request, &response);
  };
  while (!read_log().ok()) std::this_thread::yield();
  east.log_reads.Hold();
  std::vector<std::thread> readers;
  for (int i = 0; i < limits::kGrpcMemberThreads; ++i)
    readers.emplace_back([&] { EXPECT_TRUE(read_log().ok()); });
  east.log_reads.Await(limits::kGrpcMemberThreads);
  grpc::ClientContext context;
  v1::GetJobRequest request;
  request.set_id(id);
  v1::Job job;
  EXPECT_TRUE(jobs_->GetJob(&context, request, &job).ok());
  east.log_reads.LetGo();
  for (std::thread& one : readers) one.join();
}

}  // namespace
}  // namespace muster::test

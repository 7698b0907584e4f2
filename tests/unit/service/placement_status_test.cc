// The status of placements: KubeFleet's conditions from the records of jobs.
#include "api/service/placement_status.h"

#include <gtest/gtest.h>

#include "api/service/placement_governed.h"
#include "schedd/model/admission_lifecycle.h"
#include "tests/unit/service/service_world.h"

namespace muster::test {
namespace {

using api::FindGoverned;
using api::PlacementStatus;

constexpr const char* kPicked =
    "Successfully scheduled resources for placement in \"east\" (affinity score: 70, topology "
    "spread score: 0): picked by scheduling policy";

WallTime At(std::int64_t second) { return {(1'763'000'000 + second) * kMicrosPerSecond}; }

// A Job of namespace ml, submitted a second after the placement was made.
JobRecord JobOf(std::int64_t id, const std::string& name) {
  JobRecord job;
  job.id = JobId{id};
  job.ns = "ml";
  job.name = name;
  job.local_queue = "queue";
  job.submit_time = At(1);
  return job;
}

JobRecord Waiting(std::int64_t id, Reason reason, const std::string& message) {
  JobRecord job = JobOf(id, "job-" + std::to_string(id));
  job.reason = reason;
  job.message = message;
  return job;
}

JobRecord Sent(std::int64_t id, const std::string& cluster = "east") {
  JobRecord job = JobOf(id, "job-" + std::to_string(id));
  job.state = JobState::kAdmitted;
  job.cluster = cluster;
  job.reason = Reason::kAdmitted;
  job.message = "The workload is admitted to member cluster " + cluster;
  job.admit_time = At(2);
  SetCondition(&job, "Placed", true, "Scheduled", kPicked, At(2));
  return job;
}

JobRecord Started(std::int64_t id, JobState state = JobState::kRunning,
                  const std::string& cluster = "east") {
  JobRecord job = Sent(id, cluster);
  job.state = state;
  job.start_time = At(5);
  job.message.clear();
  if (IsTerminal(state)) job.end_time = At(9);
  return job;
}

JobRecord Refused(std::int64_t id) {
  JobRecord job = Sent(id);
  job.state = JobState::kFailed;
  job.reason = Reason::kFailedToStart;
  job.message = "member cluster east will not run it: denied by a webhook";
  job.end_time = At(3);
  return job;
}

// ResourcePlacement ml/train over every Job of ml, and its status for these jobs.
struct Stage {
  explicit Stage(const std::vector<JobRecord>& jobs) {
    auto config = std::make_shared<ConfigView>();
    config->namespaces["ml"] = {"ml", {}};
    auto table = std::make_shared<PlacementTable>();
    auto placement = std::make_shared<Placement>();
    placement->ns = "ml";
    placement->name = "train";
    placement->selectors.push_back({"batch", "v1", "Job", "", std::nullopt});
    table->Put(placement);
    config->placements = table;
    view.config = config;
    for (const JobRecord& job : jobs) view.jobs.Put(std::make_shared<const JobRecord>(job));
    object.kind = ObjectKind::kResourcePlacement;
    object.ns = "ml";
    object.name = "train";
    object.generation = 3;
    object.creation_time = At(0);
  }
  json::value Status() {
    auto governed = FindGoverned(view, object.kind, "ml", "train");
    return PlacementStatus(view, object, governed[{"ml", "train"}]);
  }
  WorldView view;
  StoredObject object;
};

// "Scheduled=True RolloutStarted=True Applied=Unknown/ApplyPending": conditions, with the reasons
// of those that are not True.
std::string ConditionsIn(const json::value& holder, const std::string& prefix = "") {
  std::string out;
  for (const json::value& condition : holder.at("conditions").as_array()) {
    const std::string type(condition.at("type").as_string());
    EXPECT_TRUE(type.starts_with(prefix)) << type;
    const std::string status(condition.at("status").as_string());
    out += (out.empty() ? "" : " ") + type.substr(prefix.size()) + "=" + status;
    if (status != "True") out += "/" + std::string(condition.at("reason").as_string());
  }
  return out;
}

std::string LastMessage(const json::value& holder) {
  return std::string(holder.at("conditions").as_array().back().at("message").as_string());
}

constexpr const char* kSynced =
    "Scheduled=True RolloutStarted=True Overridden=True WorkSynchronized=True";

TEST(PlacementStatus, FollowsTheJobsThatItGoverns_UpToTheFirstConditionThatIsNotTrue) {
  const std::string synced = kSynced;
  JobRecord reserved = Sent(1);
  reserved.state = JobState::kReserved;
  reserved.message = "waits for its checks";
  JobRecord pulling = Sent(1);
  pulling.reason = Reason::kStarting;
  pulling.message = "pod a-0: ImagePullBackOff";
  const struct {
    const char* sentence;
    std::vector<JobRecord> jobs;
    std::string conditions;
    const char* message;
  } cases[] = {
      {"it selects nothing",
       {},
       "Scheduled=Unknown/SchedulePending",
       "Scheduling has not completed: no job is selected"},
      {"its job waits for quota",
       {Waiting(1, Reason::kWaitingForQuota, "4 cpu short")},
       "Scheduled=Unknown/SchedulePending",
       "Scheduling has not completed: 4 cpu short"},
      {"no member could ever take its job",
       {Waiting(1, Reason::kNoMemberCluster, "no member has label gpu=a100")},
       "Scheduled=False/SchedulingPolicyUnfulfilled",
       "could not find all clusters needed as specified by the scheduling policy, found 0 "
       "cluster(s) instead: no member has label gpu=a100"},
      {"none has the room now",
       {Waiting(1, Reason::kWaitingForCapacity, "east is full")},
       "Scheduled=False/SchedulingPolicyUnfulfilled",
       "could not find all clusters needed as specified by the scheduling policy, found 0 "
       "cluster(s) instead: east is full"},
      {"its quota is reserved and its checks are not ready",
       {reserved},
       "Scheduled=True RolloutStarted=False/RolloutNotStartedYet",
       "The rollout is being blocked by admission checks in 1 cluster(s): waits for its checks"},
      {"the member has told nothing yet",
       {Sent(1)},
       synced + " Applied=Unknown/ApplyPending",
       "The selected resources are being applied to 1 cluster(s): The workload is admitted to "
       "member cluster east"},
      {"its pods do not start",
       {pulling},
       synced + " Applied=True Available=False/ResourceNotAvailableYet",
       "The selected resources in 1 cluster(s) are still not available yet: pod a-0: "
       "ImagePullBackOff"},
      {"it runs",
       {Started(1)},
       synced + " Applied=True Available=True",
       "The selected resources in 1 cluster(s) are available now"},
      {"it ran and succeeded",
       {Started(1, JobState::kSucceeded)},
       synced + " Applied=True Available=True",
       "The selected resources in 1 cluster(s) are available now"},
      {"it ran and failed, which the job tells",
       {Started(1, JobState::kFailed)},
       synced + " Applied=True Available=True",
       "The selected resources in 1 cluster(s) are available now"},
      {"the member refused it",
       {Refused(1)},
       synced + " Applied=False/ApplyFailed",
       "Failed to apply resources to 1 cluster(s), please check the `failedPlacements` status"},
      {"one of three waits for room: the worst counts",
       {Started(1), Waiting(2, Reason::kWaitingForQuota, "4 cpu short"),
        Waiting(3, Reason::kWaitingForCapacity, "east is full")},
       "Scheduled=False/SchedulingPolicyUnfulfilled",
       "could not find all clusters needed as specified by the scheduling policy, found 1 "
       "cluster(s) instead: job ml/job-3: east is full"},
      {"two run on two members",
       {Started(1), Started(2, JobState::kRunning, "west")},
       synced + " Applied=True Available=True",
       "The selected resources in 2 cluster(s) are available now"},
  };
  for (const auto& one : cases) {
    const json::value status = Stage(one.jobs).Status();
    EXPECT_EQ(ConditionsIn(status, "ResourcePlacement"), one.conditions) << one.sentence;
    EXPECT_EQ(LastMessage(status), one.message) << one.sentence;
    EXPECT_EQ(status.at("observedResourceIndex"), "0") << one.sentence;
    EXPECT_EQ(status.at_pointer("/conditions/0/observedGeneration"), 3) << one.sentence;
  }
}

TEST(PlacementStatus, SaysItOfEachClusterInBareWords_WithTheSentenceOfThePick) {
  const json::value status = Stage({Started(1), Sent(2, "west")}).Status();
  const json::array& clusters = status.at("placementStatuses").as_array();
  ASSERT_EQ(clusters.size(), 2U);
  EXPECT_EQ(clusters[0].at("clusterName"), "east");
  EXPECT_EQ(ConditionsIn(clusters[0]), std::string(kSynced) + " Applied=True Available=True");
  EXPECT_EQ(clusters[0].at_pointer("/conditions/0/message"), kPicked);
  EXPECT_EQ(clusters[0].at_pointer("/conditions/0/lastTransitionTime"),
            json::value(FormatRfc3339(At(2))));
  EXPECT_EQ(clusters[0].at_pointer("/conditions/5/lastTransitionTime"),
            json::value(FormatRfc3339(At(5))));
  EXPECT_EQ(clusters[0].at_pointer("/conditions/5/reason"), "AllWorkAreAvailable");
  EXPECT_EQ(clusters[1].at("clusterName"), "west");
  EXPECT_EQ(ConditionsIn(clusters[1]), std::string(kSynced) + " Applied=Unknown/ApplyInProgress");
}

TEST(PlacementStatus, IsTrueSinceTheLastOfItsJobs_AndUntrueSinceTheFirst) {
  JobRecord later = Started(2);
  later.start_time = At(7);
  const json::value good = Stage({Started(1), later, Started(3)}).Status();
  EXPECT_EQ(good.at_pointer("/conditions/5/lastTransitionTime"), json::value(FormatRfc3339(At(7))));
  JobRecord waits = Waiting(2, Reason::kWaitingForQuota, "4 cpu short");
  waits.submit_time = At(3);
  JobRecord waits_longer = Waiting(3, Reason::kWaitingForQuota, "2 cpu short");
  const json::value bad = Stage({Started(1), waits, waits_longer}).Status();
  EXPECT_EQ(bad.at_pointer("/conditions/0/lastTransitionTime"), json::value(FormatRfc3339(At(1))));
  EXPECT_EQ(LastMessage(bad),
            "Scheduling has not completed: job ml/job-2: 4 cpu short (and 1 more)");
}

TEST(PlacementStatus, ASlotThatNobodyCouldFillHasNoClusterName) {
  const json::value status =
      Stage({Waiting(1, Reason::kNoMemberCluster, "no member has label gpu=a100"),
             Waiting(2, Reason::kWaitingForQuota, "4 cpu short")})
          .Status();
  const json::array& slots = status.at("placementStatuses").as_array();
  ASSERT_EQ(slots.size(), 1U) << "what waits for quota is no slot yet";
  EXPECT_FALSE(slots[0].as_object().contains("clusterName"));
  EXPECT_EQ(ConditionsIn(slots[0]), "Scheduled=False/ScheduleFailed");
  EXPECT_EQ(LastMessage(slots[0]), "job ml/job-1: no member has label gpu=a100");
}

TEST(PlacementStatus, AJobThatTheMemberRefusedIsAFailedPlacement) {
  const json::value status = Stage({Refused(1), Started(2)}).Status();
  const json::value& east = status.at_pointer("/placementStatuses/0");
  EXPECT_EQ(ConditionsIn(east), std::string(kSynced) + " Applied=False/NotAllWorkHaveBeenApplied");
  const json::array& failed = east.at("failedPlacements").as_array();
  ASSERT_EQ(failed.size(), 1U);
  EXPECT_EQ(failed[0].at("name"), "job-1");
  EXPECT_EQ(failed[0].at_pointer("/condition/reason"), "ManifestApplyFailed");
  EXPECT_EQ(failed[0].at_pointer("/condition/message"),
            "Failed to apply the manifest (error: member cluster east will not run it: denied by "
            "a webhook)");
}

TEST(PlacementStatus, ListsTheJobsThatAreThere) {
  JobRecord elsewhere = Started(2);
  elsewhere.ns = "other";
  JobRecord deleted = Started(3, JobState::kSucceeded);
  deleted.deletion_requested = true;
  JobRecord never_placed = JobOf(4, "job-4");
  never_placed.state = JobState::kCancelled;
  JobRecord of_other_kind = Started(5);
  of_other_kind.shape = ShapeKind::kJobSet;
  Stage stage({Started(1), elsewhere, deleted, never_placed, of_other_kind});
  EXPECT_EQ(WriteJson(stage.Status().at("selectedResources")),
            R"([{"group":"batch","kind":"Job","name":"job-1","namespace":"ml","version":"v1"}])");
  // The same in the one pass that a list makes.
  const auto all = FindGoverned(stage.view, ObjectKind::kResourcePlacement, "", "");
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all.at({"ml", "train"}).size(), 1U);
  EXPECT_TRUE(FindGoverned(stage.view, ObjectKind::kClusterResourcePlacement, "", "").empty());
  EXPECT_TRUE(FindGoverned(stage.view, ObjectKind::kResourcePlacement, "other", "").empty());
}

TEST(PlacementStatus, AJobThatItsQueueSendsThereIsFoundToo) {
  Stage stage({Started(1)});
  auto config = std::make_shared<ConfigView>(*stage.view.config);
  auto table = std::make_shared<PlacementTable>();
  auto placement = std::make_shared<Placement>();
  placement->name = "gpus";
  placement->selectors.push_back({"", "v1", "Namespace", "nobody", std::nullopt});
  table->Put(placement);
  config->placements = table;
  stage.view.config = config;
  stage.object.kind = ObjectKind::kClusterResourcePlacement;
  stage.object.ns.clear();
  stage.object.name = "gpus";
  EXPECT_TRUE(FindGoverned(stage.view, stage.object.kind, "", "gpus").empty());
  config->local_queues[{"ml", "queue"}].placement = "gpus";
  auto governed = FindGoverned(stage.view, stage.object.kind, "", "gpus");
  EXPECT_EQ(governed.size(), 1U);
  const json::value status =
      PlacementStatus(stage.view, stage.object, governed[{std::string(), "gpus"}]);
  EXPECT_EQ(ConditionsIn(status, "ClusterResourcePlacement"),
            std::string(kSynced) + " Applied=True Available=True");
}

TEST(PlacementStatus, IsAnsweredWithTheObject_AndFollowsItsJob) {
  ServiceWorld w;
  const ObjectChange placement = PlacementObject(
      ObjectKind::kResourcePlacement, "default", "train",
      R"({"resourceSelectors":[{"group":"batch","version":"v1","kind":"Job","name":"a"}],
          "policy":{"placementType":"PickN","numberOfClusters":1}})");
  ASSERT_TRUE(w.Change(placement).ok());
  const auto status = [&] {
    const auto object =
        w.service.GetObject(w.alice, ObjectKind::kResourcePlacement, "default", "train");
    return object.ok() ? object->at("status") : json::value();
  };
  EXPECT_EQ(LastMessage(status()), "Scheduling has not completed: no job is selected");
  ASSERT_TRUE(w.Submit(JobManifest("a")).ok());
  w.world.Run();
  EXPECT_EQ(ConditionsIn(status(), "ResourcePlacement"),
            std::string(kSynced) + " Applied=True Available=True");
  EXPECT_EQ(status().at_pointer("/placementStatuses/0/clusterName"), "east");
  EXPECT_EQ(status().at_pointer("/placementStatuses/0/conditions/0/message"),
            "Successfully scheduled resources for placement in \"east\" (affinity score: 0, "
            "topology spread score: 0): picked by scheduling policy");
}

}  // namespace
}  // namespace muster::test

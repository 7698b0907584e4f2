// The status of placements with configuration objects, in KubeFleet's words, from the rows of their
// members; and the page that `muster describe` prints.
#include <gtest/gtest.h>

#include "api/service/placement_status.h"
#include "clients/cli/describe_page.h"
#include "tests/unit/service/service_world.h"

namespace muster::test {
namespace {

WallTime At(std::int64_t second) { return {(1'763'000'000 + second) * kMicrosPerSecond}; }

ResourceRef Ref(const std::string& group, const std::string& kind, const std::string& name,
                const std::string& ns = "") {
  return {group, group.empty() ? "v1" : "v1beta1", kind, ns, name};
}
const ResourceRef kNamespaceRef = Ref("", "Namespace", "compute-jobs");
const ResourceRef kFlavorRef = Ref("kueue.x-k8s.io", "ResourceFlavor", "default-flavor");
const ResourceRef kQueueRef = Ref("kueue.x-k8s.io", "ClusterQueue", "cluster-queue");

ManifestStatus Manifest(const ResourceRef& ref, ManifestResult result,
                        ManifestAvailability availability = ManifestAvailability::kAvailable) {
  ManifestStatus out;
  out.ref = ref;
  out.result = result;
  out.availability = availability;
  out.since = At(5);
  out.generation = 2;
  if (result == ManifestResult::kApplied || result == ManifestResult::kFoundDrifts)
    out.applied = "hash";
  return out;
}

// The three objects of the guide, applied.
std::vector<ManifestStatus> AllApplied() {
  return {Manifest(kNamespaceRef, ManifestResult::kApplied),
          Manifest(kFlavorRef, ManifestResult::kApplied, ManifestAvailability::kNotTrackable),
          Manifest(kQueueRef, ManifestResult::kApplied, ManifestAvailability::kNotTrackable)};
}

Work Bound(const std::string& cluster, std::vector<ManifestStatus> manifests = AllApplied()) {
  Work work;
  work.placement = "sample-kueue";
  work.cluster = cluster;
  work.state = WorkState::kBound;
  work.snapshot = 0;
  work.rendered = "r";
  work.manifests = std::move(manifests);
  work.scheduled_at = At(1);
  work.bound_at = At(2);
  return work;
}

Work Picked(const std::string& cluster, const std::string& waits = "") {
  Work work = Bound(cluster, {});
  work.state = WorkState::kScheduled;
  work.snapshot = -1;
  work.bound_at = {};
  work.waits = waits;
  return work;
}

Work With(Work work, const std::function<void(Work*)>& change) {
  change(&work);
  return work;
}

core::ClusterView Member(const std::string& name, const std::string& backend = "kubernetes") {
  core::ClusterView view;
  view.member.name = name;
  view.member.backend = backend;
  return view;
}

// The guide's ClusterResourcePlacement sample-kueue, on these members, with what it selects.
struct Fleet {
  explicit Fleet(std::vector<Work> works, PlacementPolicy policy = {}) {
    placement.name = "sample-kueue";
    placement.selectors = {
        {"kueue.x-k8s.io", "v1beta1", "ResourceFlavor", "default-flavor", std::nullopt},
        {"kueue.x-k8s.io", "v1beta1", "ClusterQueue", "cluster-queue", std::nullopt},
        {"", "v1", "Namespace", "compute-jobs", std::nullopt, SelectionScope::kNamespaceOnly}};
    placement.policy = std::move(policy);
    for (const char* name : {"east", "north", "west"}) view.clusters.push_back(Member(name));
    Store(ObjectKind::kNamespace, "v1", "Namespace", "compute-jobs");
    Store(ObjectKind::kResourceFlavor, "kueue.x-k8s.io/v1beta1", "ResourceFlavor",
          "default-flavor");
    Store(ObjectKind::kClusterQueue, "kueue.x-k8s.io/v1beta1", "ClusterQueue", "cluster-queue");
    AddSnapshot(0, {kNamespaceRef, kFlavorRef, kQueueRef});
    for (const Work& work : works)
      table.works.insert_or_assign(KeyOf(work), std::make_shared<const Work>(work));
    object.kind = ObjectKind::kClusterResourcePlacement;
    object.name = "sample-kueue";
    object.generation = 1;
    object.creation_time = At(0);
  }

  void Store(ObjectKind kind, const std::string& version, const std::string& name_of_kind,
             const std::string& name) {
    auto stored = std::make_shared<StoredObject>();
    stored->kind = kind;
    stored->name = name;
    stored->manifest = R"({"apiVersion":")" + version + R"(","kind":")" + name_of_kind +
                       R"(","metadata":{"name":")" + name + R"("}})";
    objects.insert_or_assign({kind, "", name}, stored);
  }
  void AddSnapshot(std::int32_t index, const std::vector<ResourceRef>& refs) {
    ResourceSnapshot snapshot;
    snapshot.placement = "sample-kueue";
    snapshot.index = index;
    snapshot.hash = "hash-" + std::to_string(index);
    snapshot.created_at = At(1 + 10 * index);
    for (const ResourceRef& ref : refs) snapshot.resources.push_back({ref, "", "{}"});
    table.snapshots.insert_or_assign(KeyOf(snapshot),
                                     std::make_shared<const ResourceSnapshot>(snapshot));
  }

  json::value Status(const std::vector<JobPtr>& jobs = {}) {
    auto config = std::make_shared<ConfigView>();
    auto placements = std::make_shared<PlacementTable>();
    placements->Put(std::make_shared<const Placement>(placement));
    config->placements = placements;
    view.config = config;
    view.objects = std::make_shared<const ObjectTable>(objects);
    view.works = std::make_shared<const WorkTable>(table);
    return api::PlacementStatus(view, object, jobs);
  }

  Placement placement;
  WorldView view;
  WorkTable table;
  ObjectTable objects;
  StoredObject object;
};

// "Scheduled=True RolloutStarted=False/RolloutNotStartedYet": conditions, with the reasons of those
// that are not True.
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

constexpr const char* kPrefix = "ClusterResourcePlacement";
const std::string kSynced =
    "Scheduled=True RolloutStarted=True Overridden=True WorkSynchronized=True";

struct Case {
  const char* sentence;
  std::vector<Work> works;
  std::string conditions, message;              // of the placement
  std::string first_conditions, first_message;  // of its first member
};

void Check(const Case& one, ApplyType apply = ApplyType::kClientSide) {
  Fleet fleet(one.works);
  fleet.placement.apply.type = apply;
  const json::value status = fleet.Status();
  EXPECT_EQ(ConditionsIn(status, kPrefix), one.conditions) << one.sentence;
  EXPECT_EQ(LastMessage(status), one.message) << one.sentence;
  const json::array& members = status.at("placementStatuses").as_array();
  ASSERT_EQ(members.size(), one.works.size()) << one.sentence;
  EXPECT_EQ(ConditionsIn(members[0]), one.first_conditions) << one.sentence;
  EXPECT_EQ(LastMessage(members[0]), one.first_message) << one.sentence;
}

TEST(PlacementWorks, TellHowFarMembersAre_TheWorstCounts) {
  const Case cases[] = {
      {"all is applied and nothing tells whether it is available",
       {Bound("east"), Bound("west")},
       kSynced + " Applied=True Available=True",
       "The selected resources in 2 cluster(s) are available now",
       kSynced + " Applied=True Available=True",
       "The availability of work object sample-kueue-work is not trackable"},
      {"what is there can be told to be available",
       {Bound("east", {Manifest(kNamespaceRef, ManifestResult::kApplied)})},
       kSynced + " Applied=True Available=True",
       "The selected resources in 1 cluster(s) are available now",
       kSynced + " Applied=True Available=True",
       "All corresponding work objects are available"},
      {"an override takes all of it away from the member",
       {Bound("east", {})},
       kSynced + " Applied=True Available=True",
       "The selected resources in 1 cluster(s) are available now",
       kSynced + " Applied=True Available=True",
       "All corresponding work objects are available"},
      {"the rollout has not come to one of two",
       {Picked("east", "waits for its turn: at most 1"), Bound("west")},
       "Scheduled=True RolloutStarted=False/RolloutNotStartedYet",
       "The rollout is being blocked by the rollout strategy in 1 cluster(s): cluster east: waits "
       "for its turn: at most 1",
       "Scheduled=True RolloutStarted=False/RolloutNotStartedYet",
       "The rollout is being blocked by the rollout strategy: waits for its turn: at most 1"},
      {"an override has changed and the update waits",
       {With(Bound("east"), [](Work* work) { work->waits = "waits for its turn to be updated"; })},
       "Scheduled=True RolloutStarted=False/RolloutNotStartedYet",
       "The rollout is being blocked by the rollout strategy in 1 cluster(s): waits for its turn "
       "to be updated",
       "Scheduled=True RolloutStarted=False/RolloutNotStartedYet",
       "The rollout is being blocked by the rollout strategy: waits for its turn to be updated"},
      {"overrides are applied on one of two",
       {With(Bound("east"), [](Work* work) { work->overrides = {"ClusterResourceOverride/a"}; }),
        Bound("west")},
       kSynced + " Applied=True Available=True",
       "The selected resources in 2 cluster(s) are available now",
       kSynced + " Applied=True Available=True",
       "The availability of work object sample-kueue-work is not trackable"},
      {"an override cannot be applied",
       {With(Picked("east"), [](Work* work) { work->override_error = "no path /spec/x"; }),
        Bound("west")},
       "Scheduled=True RolloutStarted=True Overridden=False/OverriddenFailed",
       "Failed to override resources in 1 cluster(s): cluster east: no path /spec/x",
       "Scheduled=True RolloutStarted=True Overridden=False/OverriddenFailed",
       "Failed to apply the override rules on the resources: no path /spec/x"},
      {"one object is not applied yet, and the member does not answer",
       {With(Bound("east", {Manifest(kNamespaceRef, ManifestResult::kApplied),
                            Manifest(kQueueRef, ManifestResult::kPending)}),
             [](Work* work) { work->waits = "member cluster east does not answer"; })},
       kSynced + " Applied=Unknown/ApplyPending",
       "The selected resources are being applied to 1 cluster(s): member cluster east does not "
       "answer",
       kSynced + " Applied=Unknown/ApplyInProgress",
       "Work object sample-kueue-work is being applied: member cluster east does not answer"},
      {"one is refused: worse than one that is on its way",
       {Bound("east", {Manifest(kNamespaceRef, ManifestResult::kPending),
                       Manifest(kQueueRef, ManifestResult::kApplyFailed)}),
        Bound("west", {Manifest(kNamespaceRef, ManifestResult::kPending)})},
       kSynced + " Applied=False/ApplyFailed",
       "Failed to apply resources to 1 cluster(s), please check the `failedPlacements` status",
       kSynced + " Applied=False/NotAllWorkHaveBeenApplied",
       "Work object sample-kueue-work has failed to apply"},
      {"somebody has changed one, and it is not to be overwritten",
       {Bound("east", {Manifest(kQueueRef, ManifestResult::kFoundDrifts)})},
       kSynced + " Applied=False/ApplyFailed",
       "Failed to apply resources to 1 cluster(s), please check the `failedPlacements` status",
       kSynced + " Applied=False/NotAllWorkHaveBeenApplied",
       "Work object sample-kueue-work has failed to apply"},
      {"one is not available yet",
       {Bound("east", {Manifest(Ref("apps", "Deployment", "web", "a"), ManifestResult::kApplied,
                                ManifestAvailability::kNotYet)})},
       kSynced + " Applied=True Available=False/ResourceNotAvailableYet",
       "The selected resources in 1 cluster(s) are still not available yet: Deployment a/web",
       kSynced + " Applied=True Available=False/NotAllWorkAreAvailable",
       "Work object sample-kueue-work is not yet available: Deployment a/web"},
      {"nobody has looked at one yet",
       {Bound("east",
              {Manifest(kNamespaceRef, ManifestResult::kApplied, ManifestAvailability::kUnknown)})},
       kSynced + " Applied=True Available=Unknown/ResourceAvailableUnknown",
       "There are still 1 cluster(s) in the process of checking the availability of the selected "
       "resources: Namespace compute-jobs",
       kSynced + " Applied=True Available=Unknown/ResourceAvailableUnknown",
       "Work object sample-kueue-work has not yet completed availability check: Namespace "
       "compute-jobs"},
      {"all is well where it was, and the member is away",
       {With(Bound("east"), [](Work* work) { work->waits = "member cluster east is away"; })},
       kSynced + " Applied=True Available=True",
       "The selected resources in 1 cluster(s) are available now",
       kSynced + " Applied=True Available=True",
       "The availability of work object sample-kueue-work is not trackable (member cluster east "
       "is away)"},
      {"what was compared once has still to be applied",
       {Bound("east", {Manifest(kQueueRef, ManifestResult::kFoundDiff)})},
       kSynced + " Applied=Unknown/ApplyPending",
       "The selected resources are being applied to 1 cluster(s)",
       kSynced + " Applied=Unknown/ApplyInProgress",
       "Work object sample-kueue-work is being applied"},
  };
  for (const Case& one : cases) Check(one);
}

TEST(PlacementWorks, UnderReportDiffTheLastConditionIsWhetherItWasCompared) {
  const Case cases[] = {
      {"a difference is found, none is found: both are answers",
       {Bound("east", {Manifest(kQueueRef, ManifestResult::kFoundDiff),
                       Manifest(kFlavorRef, ManifestResult::kNoDiffFound)})},
       kSynced + " DiffReported=True",
       "Diff reporting in 1 cluster(s) has been completed",
       kSynced + " DiffReported=True",
       "All corresponding work objects have reported diff"},
      {"what was applied before is not compared yet",
       {Bound("east", {Manifest(kQueueRef, ManifestResult::kApplied)})},
       kSynced + " DiffReported=Unknown/DiffReportingPending",
       "There are still 1 cluster(s) in the process of checking for configuration differences",
       kSynced + " DiffReported=Unknown/DiffReportInProgress",
       "Work object sample-kueue-work is being compared"},
      {"it cannot be compared",
       {Bound("east", {Manifest(kQueueRef, ManifestResult::kFailedToReportDiff)})},
       kSynced + " DiffReported=False/DiffReportingIncompleteOrFailed",
       "Diff reporting in 1 clusters is still in progress or has failed",
       kSynced + " DiffReported=False/NotAllWorkHaveDiffReported",
       "Work object sample-kueue-work has failed to report diff"},
  };
  for (const Case& one : cases) Check(one, ApplyType::kReportDiff);
}

TEST(PlacementWorks, AMemberThatIsBehindTheLatestRevisionWaitsForItsTurn) {
  Fleet fleet({With(Bound("east"), [](Work* work) { work->snapshot = 1; }), Bound("west")});
  fleet.AddSnapshot(1, {kNamespaceRef});
  fleet.AddSnapshot(2, {kNamespaceRef, kQueueRef});
  fleet.table.works.insert_or_assign(
      {"", "sample-kueue", "north"},
      std::make_shared<const Work>(With(Bound("north"), [](Work* work) { work->snapshot = 2; })));
  const json::value status = fleet.Status();
  EXPECT_EQ(ConditionsIn(status, kPrefix),
            "Scheduled=True RolloutStarted=False/RolloutNotStartedYet");
  EXPECT_EQ(LastMessage(status),
            "The rollout is being blocked by the rollout strategy in 2 cluster(s)");
  EXPECT_EQ(status.at_pointer("/conditions/1/lastTransitionTime"),
            json::value(FormatRfc3339(At(21))));
  EXPECT_EQ(status.at("observedResourceIndex"), "2");
  EXPECT_EQ(status.at_pointer("/placementStatuses/0/observedResourceIndex"), "1");
  EXPECT_EQ(status.at_pointer("/placementStatuses/1/observedResourceIndex"), "2");
  EXPECT_EQ(ConditionsIn(status.at_pointer("/placementStatuses/1")),
            kSynced + " Applied=True Available=True");
  EXPECT_EQ(WriteJson(status.at("selectedResources")),
            R"([{"kind":"Namespace","name":"compute-jobs","version":"v1"},)"
            R"({"group":"kueue.x-k8s.io","kind":"ClusterQueue","name":"cluster-queue",)"
            R"("version":"v1beta1"}])");
  EXPECT_EQ(WriteJson(status.at("resourceRevisions")),
            R"([{"index":"0","hash":"hash-0","creationTimestamp":")" + FormatRfc3339(At(1)) +
                R"(","clusters":["west"]},{"index":"1","hash":"hash-1","creationTimestamp":")" +
                FormatRfc3339(At(11)) +
                R"(","clusters":["east"]},{"index":"2","hash":"hash-2","creationTimestamp":")" +
                FormatRfc3339(At(21)) + R"(","clusters":["north"]}])");
}

PlacementPolicy PickN(std::int32_t number) {
  PlacementPolicy policy;
  policy.type = PlacementType::kPickN;
  policy.number_of_clusters = number;
  return policy;
}

PlacementPolicy PickFixed(std::vector<std::string> names) {
  PlacementPolicy policy;
  policy.type = PlacementType::kPickFixed;
  policy.cluster_names = std::move(names);
  return policy;
}

TEST(PlacementWorks, SayWhyNotAllMembersAreFoundThatThePolicyNeeds) {
  const std::string too_few =
      "could not find all clusters needed as specified by the scheduling policy, found 1 "
      "cluster(s) instead: ";
  const std::string not_yet = " is not eligible for resource placement yet: ";
  const auto drained = [](Fleet* fleet) {
    fleet->view.clusters[1].member.healthy = false;
    fleet->view.clusters[1].member.message = "connection refused";
    fleet->view.clusters[2].member.cordoned = true;
  };
  const struct {
    const char* sentence;
    PlacementPolicy policy;
    std::vector<Work> works;
    std::function<void(Fleet*)> change;
    std::string conditions, message;
    std::vector<std::string> slots;  // without a member
  } cases[] =
      {
          {"PickN has what it wants",
           PickN(1),
           {Bound("east")},
           nullptr,
           kSynced + " Applied=True Available=True",
           "The selected resources in 1 cluster(s) are available now",
           {}},
          {"PickN of three, and two are not eligible",
           PickN(3),
           {Bound("east")},
           drained,
           "Scheduled=False/SchedulingPolicyUnfulfilled",
           too_few + "Cluster \"north\"" + not_yet +
               "it does not answer: connection refused (and 1 more)",
           {"Cluster \"north\"" + not_yet + "it does not answer: connection refused",
            "Cluster \"west\"" + not_yet + "it is cordoned"}},
          {"PickN of two: no more slots than are wanted",
           PickN(2),
           {Bound("east")},
           drained,
           "Scheduled=False/SchedulingPolicyUnfulfilled",
           too_few + "Cluster \"north\"" + not_yet + "it does not answer: connection refused",
           {"Cluster \"north\"" + not_yet + "it does not answer: connection refused"}},
          {"a member that answers and does not permit what jobs need",
           PickN(2),
           {Bound("east")},
           [](Fleet* fleet) {
    fleet->view.clusters[1].member.healthy = false;
    fleet->view.clusters[1].member.answers = true;
    fleet->view.clusters[1].member.message = "no permission";
    fleet->view.clusters[2].member.cordoned = true;
           },
           "Scheduled=False/SchedulingPolicyUnfulfilled",
           too_few + "Cluster \"north\"" + not_yet + "it takes no jobs: no permission",
           {"Cluster \"north\"" + not_yet + "it takes no jobs: no permission"}},
          {"a member without an API of objects and one with a taint",
           PickN(3),
           {Bound("east")},
           [](Fleet* fleet) {
    fleet->view.clusters[1].member.backend = "local";
    fleet->view.clusters[2].member.taints = {{"gpu", "", "NoSchedule"}};
           },
           "Scheduled=False/SchedulingPolicyUnfulfilled",
           too_few + "Cluster \"north\"" + not_yet +
               "it takes no configuration objects (and 1 more)",
           {"Cluster \"north\"" + not_yet + "it takes no configuration objects",
            "Cluster \"west\"" + not_yet +
                "it has taint gpu:NoSchedule, which ClusterResourcePlacement sample-kueue does not "
                "tolerate"}},
    {"PickN of none is fulfilled by none",
     PickN(0),
     {},
     nullptr,
     "Scheduled=True",
     "found all cluster needed as specified by the scheduling policy, found 0 cluster(s)",
     {}},
    {"PickFixed names one that is not there and one that takes no objects",
     PickFixed({"east", "south", "west"}),
     {Bound("east")},
     [](Fleet* fleet) { fleet->view.clusters[2].member.backend = "simulated"; },
     "Scheduled=False/SchedulingPolicyUnfulfilled",
     too_few + "Specified cluster \"south\" is not found (and 1 more)",
     {"Specified cluster \"south\" is not found",
      "Cluster \"west\"" + not_yet + "it takes no configuration objects"}},
    {"PickAll is fulfilled with what there is, and says why that is nothing",
     {},
     {},
     [](Fleet* fleet) { fleet->view.clusters = {Member("here", "local")}; },
     "Scheduled=True",
     "found all cluster needed as specified by the scheduling policy, found 0 cluster(s); "
     "Cluster \"here\"" +
         not_yet + "it takes no configuration objects",
     {}},
    {"a selector names what is not there",
     {},
     {Bound("east")},
     [](Fleet* fleet) {
    fleet->objects.erase({ObjectKind::kClusterQueue, "", "cluster-queue"});
     },
     kSynced + " Applied=True Available=True",
     "The selected resources in 1 cluster(s) are available now",
     {}},
      {"nothing that it names is there",
       {},
       {},
       [](Fleet* fleet) {
    fleet->objects = {};
    fleet->table = {};
       },
       "Scheduled=Unknown/SchedulePending",
       "Scheduling has not completed: nothing is selected: there is no ResourceFlavor "
       "default-flavor, no ClusterQueue cluster-queue, no Namespace compute-jobs",
       {}},
      {"nobody has looked at it yet",
       {},
       {},
       [](Fleet* fleet) { fleet->table = {}; },
       "Scheduled=Unknown/SchedulePending",
       "Scheduling has not completed",
       {}},
      {"what it selects cannot be sent: the rows stay as they are",
       {},
       {Bound("east")},
       [](Fleet* fleet) {
    auto broken = std::make_shared<StoredObject>();
    broken->kind = ObjectKind::kClusterQueue;
    broken->name = "cluster-queue";
    broken->manifest = "no JSON";
    fleet->objects.insert_or_assign({ObjectKind::kClusterQueue, "", "cluster-queue"}, broken);
       },
       "Scheduled=False/InvalidResourceSelectors",
       "the object cluster-queue as it is stored is no JSON object",
       {}},
      };
  for (const auto& one : cases) {
    Fleet fleet(one.works, one.policy);
    if (one.change) one.change(&fleet);
    const json::value status = fleet.Status();
    EXPECT_EQ(ConditionsIn(status, kPrefix), one.conditions) << one.sentence;
    EXPECT_EQ(LastMessage(status), one.message) << one.sentence;
    std::vector<std::string> slots;
    for (const json::value& slot : status.at("placementStatuses").as_array()) {
      if (slot.as_object().contains("clusterName")) continue;
      EXPECT_EQ(ConditionsIn(slot), "Scheduled=False/ScheduleFailed") << one.sentence;
      slots.push_back(LastMessage(slot));
    }
    EXPECT_EQ(slots, one.slots) << one.sentence;
  }
}

TEST(PlacementWorks, ASelectorThatSelectsNothingIsToldWithTheMembersThatAreFound) {
  Fleet fleet({Bound("east")});
  fleet.objects.erase({ObjectKind::kClusterQueue, "", "cluster-queue"});
  EXPECT_EQ(fleet.Status().at_pointer("/conditions/0/message"),
            "found all cluster needed as specified by the scheduling policy, found 1 cluster(s); "
            "there is no ClusterQueue cluster-queue");
}

TEST(PlacementWorks, WithNothingSelectedAnyMoreNothingIsToBeAvailable) {
  Fleet fleet({With(Bound("east", {}), [](Work* work) { work->snapshot = 1; })});
  fleet.objects = {};
  fleet.AddSnapshot(1, {});
  const json::value status = fleet.Status();
  EXPECT_EQ(ConditionsIn(status, kPrefix), kSynced + " Applied=True Available=True");
  EXPECT_EQ(status.at_pointer("/placementStatuses/0/conditions/5/reason"), "NoResourcesSelected");
  EXPECT_EQ(LastMessage(status.at_pointer("/placementStatuses/0")), "No resources selected.");
  EXPECT_TRUE(status.at("selectedResources").as_array().empty());
}

TEST(PlacementWorks, WhatLeavesAMemberIsNoPartOfIt) {
  Fleet fleet({Bound("east"), With(Bound("west"), [](Work* work) {
                 work->state = WorkState::kLeaving;
                 work->waits = "member cluster west does not answer";
               })});
  const json::value status = fleet.Status();
  EXPECT_EQ(status.at("placementStatuses").as_array().size(), 1U);
  EXPECT_EQ(ConditionsIn(status, kPrefix), kSynced + " Applied=True Available=True");
}

JobPtr RunningJob(const std::string& name, const std::string& cluster) {
  JobRecord job;
  job.id = JobId{7};
  job.ns = "compute-jobs";
  job.name = name;
  job.cluster = cluster;
  job.state = JobState::kRunning;
  job.submit_time = At(1);
  job.admit_time = At(2);
  job.start_time = At(6);
  return std::make_shared<const JobRecord>(job);
}

TEST(PlacementWorks, JobsAndObjectsTogetherAreAsFarAsTheOneThatIsLessFar) {
  Fleet fleet({Bound("east"), Bound("west")});
  JobRecord waiting = *RunningJob("late", "");
  waiting.state = JobState::kPending;
  waiting.reason = Reason::kWaitingForCapacity;
  waiting.message = "east is full";
  const json::value status = fleet.Status({RunningJob("train", "east")});
  EXPECT_EQ(ConditionsIn(status, kPrefix), kSynced + " Applied=True Available=True");
  EXPECT_EQ(status.at_pointer("/conditions/5/lastTransitionTime"),
            json::value(FormatRfc3339(At(6))));
  EXPECT_EQ(status.at_pointer("/placementStatuses").as_array().size(), 2U);
  EXPECT_EQ(status.at_pointer("/placementStatuses/0/conditions/0/message"),
            "Successfully scheduled resources for placement in \"east\" (affinity score: 0, "
            "topology spread score: 0): picked by scheduling policy (and 1 more)");
  EXPECT_EQ(status.at_pointer("/selectedResources/3/name"), "train");
  const json::value bad =
      fleet.Status({RunningJob("train", "east"), std::make_shared<const JobRecord>(waiting)});
  EXPECT_EQ(ConditionsIn(bad, kPrefix), "Scheduled=False/SchedulingPolicyUnfulfilled");
  EXPECT_EQ(LastMessage(bad),
            "could not find all clusters needed as specified by the scheduling policy, found 2 "
            "cluster(s) instead: job compute-jobs/late: east is full");
  // Members that take no objects have no effect on the status of jobs that run on them.
  Fleet local({}, PickN(1));
  local.view.clusters = {Member("here", "local")};
  EXPECT_EQ(ConditionsIn(local.Status({RunningJob("train", "here")}), kPrefix),
            kSynced + " Applied=True Available=True");
  EXPECT_EQ(ConditionsIn(local.Status(), kPrefix), "Scheduled=False/SchedulingPolicyUnfulfilled");
}

TEST(PlacementWorks, EachObjectThatIsNotWellIsListedWithItsMember) {
  ManifestStatus refused = Manifest(kFlavorRef, ManifestResult::kApplyFailed);
  refused.message = "denied by a webhook";
  ManifestStatus drifted = Manifest(kQueueRef, ManifestResult::kFoundDrifts);
  drifted.message = "drifts are found";
  drifted.differences = {{"/spec/cohort", "b", "a"}, {"/spec/stopPolicy", "Hold", std::nullopt}};
  drifted.observed_at = At(9);
  drifted.first_differed_at = At(8);
  ManifestStatus there = Manifest(kNamespaceRef, ManifestResult::kFailedToTakeOver);
  there.message = "it differs";
  there.differences = {{"/metadata/labels/app", std::nullopt, "compute"}};
  there.observed_at = At(9);
  there.first_differed_at = At(7);
  ManifestStatus packed = Manifest(Ref("apps", "Deployment", "web", "team"),
                                   ManifestResult::kApplied, ManifestAvailability::kNotYet);
  packed.envelope = "ResourceEnvelope/bundle";
  ManifestStatus pending = Manifest(Ref("", "ConfigMap", "c", "team"), ManifestResult::kPending);
  pending.applied = "older";
  pending.differences = {{"/data/a", "1", "2"}};
  const json::value status =
      Fleet({Bound("east", {there, pending, refused, drifted, packed})}).Status();
  const json::value& east = status.at_pointer("/placementStatuses/0");
  EXPECT_EQ(ConditionsIn(east), kSynced + " Applied=False/NotAllWorkHaveBeenApplied");
  const std::string since = FormatRfc3339(At(5));
  const auto failed = [&](const std::string& reason, const std::string& error) {
    return R"("condition":{"type":"Applied","status":"False","observedGeneration":2,)"
           R"("lastTransitionTime":")" +
           since + R"(","reason":")" + reason +
           R"(","message":"Failed to apply the manifest (error: )" + error + ")\"}}";
  };
  const std::string ns = R"({"kind":"Namespace","name":"compute-jobs","version":"v1",)";
  const std::string queue =
      R"({"group":"kueue.x-k8s.io","kind":"ClusterQueue","name":"cluster-queue",)"
      R"("version":"v1beta1",)";
  EXPECT_EQ(
      WriteJson(east.at("failedPlacements")),
      "[" + ns + failed("FailedToTakeOver", "it differs") + "," +
          R"({"group":"kueue.x-k8s.io","kind":"ResourceFlavor","name":"default-flavor",)"
          R"("version":"v1beta1",)" +
          failed("ManifestApplyFailed", "denied by a webhook") + "," + queue +
          failed("FoundDrifts", "drifts are found") + "," +
          R"({"group":"apps","kind":"Deployment","name":"web","namespace":"team",)"
          R"("version":"v1beta1","envelope":{"name":"bundle","namespace":"team",)"
          R"("type":"ResourceEnvelope"},"condition":{"type":"Available","status":"False",)"
          R"("observedGeneration":2,"lastTransitionTime":")" +
          since +
          R"(","reason":"ManifestNotAvailableYet","message":"The object is not yet available"}}])");
  EXPECT_EQ(WriteJson(east.at("driftedPlacements")),
            "[" + queue + R"("observationTime":")" + FormatRfc3339(At(9)) +
                R"(","targetClusterObservedGeneration":2,"firstDriftedObservedTime":")" +
                FormatRfc3339(At(8)) +
                R"(","observedDrifts":[{"path":"/spec/cohort","valueInMember":"b",)"
                R"("valueInHub":"a"},{"path":"/spec/stopPolicy","valueInMember":"Hold"}]}])");
  EXPECT_EQ(WriteJson(east.at("diffedPlacements")),
            "[" + ns + R"("observationTime":")" + FormatRfc3339(At(9)) +
                R"(","targetClusterObservedGeneration":2,"firstDiffedObservedTime":")" +
                FormatRfc3339(At(7)) +
                R"(","observedDiffs":[{"path":"/metadata/labels/app","valueInHub":"compute"}]}])");
}

TEST(PlacementWorks, AtMostAHundredOfEachAreListed) {
  std::vector<ManifestStatus> many;
  for (int i = 0; i < 120; ++i) {
    ManifestStatus one =
        Manifest(Ref("", "ConfigMap", std::to_string(i), "team"), ManifestResult::kFoundDrifts);
    one.differences = {{"/data/a", "1", "2"}};
    many.push_back(std::move(one));
  }
  const json::value status = Fleet({Bound("east", std::move(many))}).Status();
  const json::value& east = status.at_pointer("/placementStatuses/0");
  EXPECT_EQ(east.at("failedPlacements").as_array().size(), 100U);
  EXPECT_EQ(east.at("driftedPlacements").as_array().size(), 100U);
}

TEST(PlacementWorks, OverridesThatSaidSomethingAreNamed) {
  const json::value status = Fleet({With(
                                        Bound("east"),
                                        [](Work* work) {
    work->overrides = {"ClusterResourceOverride/quota", "ResourceOverride/team/queue"};
                                        }),
                                    Bound("west")})
      .Status();
  EXPECT_EQ(status.at_pointer("/conditions/2/reason"), "OverriddenSucceeded");
  EXPECT_EQ(status.at_pointer("/conditions/2/message"),
            "The selected resources are successfully overridden in 2 cluster(s)");
  const json::value& east = status.at_pointer("/placementStatuses/0");
  EXPECT_EQ(east.at_pointer("/conditions/2/reason"), "OverriddenSucceeded");
  EXPECT_EQ(WriteJson(east.at("applicableClusterResourceOverrides")), R"(["quota"])");
  EXPECT_EQ(WriteJson(east.at("applicableResourceOverrides")),
            R"([{"name":"queue","namespace":"team"}])");
  const json::value& west = status.at_pointer("/placementStatuses/1");
  EXPECT_EQ(west.at_pointer("/conditions/2/reason"), "NoOverrideSpecified");
  EXPECT_FALSE(west.as_object().contains("applicableResourceOverrides"));
}

TEST(PlacementWorks, AreAnsweredWithThePlacement_OneAndInLists) {
  ServiceWorld w;
  ASSERT_TRUE(w.Change(PlacementObject(
                           ObjectKind::kClusterResourcePlacement, "", "sample-kueue",
                           R"({"resourceSelectors":[{"group":"kueue.x-k8s.io","version":"v1beta1",
                               "kind":"ClusterQueue","name":"cq"}]})"))
                  .ok());
  const auto get = [&] {
    const auto object =
        w.service.GetObject(w.alice, ObjectKind::kClusterResourcePlacement, "", "sample-kueue");
    return object.ok() ? object->at("status") : json::value();
  };
  EXPECT_EQ(LastMessage(get()), "Scheduling has not completed");
  RecordWorksCommand command;
  ResourceSnapshot snapshot;
  snapshot.placement = "sample-kueue";
  snapshot.resources.push_back({Ref("kueue.x-k8s.io", "ClusterQueue", "cq"), "", "{}"});
  command.snapshots.push_back(std::make_shared<const ResourceSnapshot>(snapshot));
  command.works.push_back(std::make_shared<const Work>(Bound("east")));
  command.done = [](const Status& recorded) { EXPECT_TRUE(recorded.ok()); };
  ASSERT_TRUE(w.world.engine->Post(std::move(command)));
  w.world.Settle();
  EXPECT_EQ(ConditionsIn(get(), kPrefix), kSynced + " Applied=True Available=True");
  EXPECT_EQ(get().at_pointer("/selectedResources/0/name"), "cq");
  const auto listed = w.service.ListObjects(w.alice, ObjectKind::kClusterResourcePlacement, "", "");
  ASSERT_TRUE(listed.ok());
  ASSERT_EQ(listed->size(), 1U);
  EXPECT_EQ(listed->front().at("status"), get());
}

// The text with every time replaced by TIME, and the ages of events by AGE.
std::string Masked(std::string text) {
  for (std::size_t at = text.find("2025-"); at != std::string::npos; at = text.find("2025-"))
    text.replace(at, std::string("2025-01-01T00:00:00Z").size(), "TIME");
  return text;
}

std::string Condition(const std::string& indent, const std::string& gap, const std::string& message,
                      const std::string& reason, const std::string& type) {
  std::string out;
  for (const auto& [key, value] :
       std::initializer_list<std::pair<std::string, std::string>>{{"Last Transition Time:", "TIME"},
                                                                  {"Message:", message},
                                                                  {"Observed Generation:", "1"},
                                                                  {"Reason:", reason},
                                                                  {"Status:", "True"},
                                                                  {"Type:", type}})
    out += indent + key + std::string(21 - key.size(), ' ') + gap + value + "\n";
  return out;
}

// The guide's listing of sample-kueue, with times masked.
TEST(PlacementWorks, DescribeReadsAsTheGuidesListing) {
  Fleet fleet({});
  fleet.view.clusters.clear();
  for (const char* name : {"cluster-1", "cluster-2", "cluster-3"}) {
    fleet.view.clusters.push_back(Member(name));
    const Work work = Bound(name);
    fleet.table.works.insert_or_assign(KeyOf(work), std::make_shared<const Work>(work));
  }
  const std::string page = Masked(cli::PlacementPage(
      json::object{{"apiVersion", "placement.kubernetes-fleet.io/v1beta1"},
                   {"kind", "ClusterResourcePlacement"},
                   {"metadata", json::object{{"name", "sample-kueue"}, {"generation", 1}}},
                   {"status", fleet.Status()}}));
  const auto top = [](const char* message, const char* reason, const char* type) {
    return Condition("    ", "   ", message, reason, std::string(kPrefix) + type);
  };
  const auto own = [](const std::string& message, const char* reason, const char* type) {
    return Condition("      ", "   ", message, reason, type);
  };
  const auto member = [&](const std::string& name) {
    // Aligned with the line before it, as kubectl does.
    const std::string gap = name == "cluster-1" ? "  " : std::string(13, ' ');
    return "    Cluster Name:" + gap + name + "\n    Conditions:\n" +
           own("Successfully scheduled resources for placement in \"" + name +
                   "\" (affinity score: 0, topology spread score: 0): picked by scheduling policy",
               "Scheduled", "Scheduled") +
           own("Detected the new changes on the resources and started the rollout process",
               "RolloutStarted", "RolloutStarted") +
           own("No override rules are configured for the selected resources", "NoOverrideSpecified",
               "Overridden") +
           own("All of the works are synchronized to the latest", "AllWorkSynced",
               "WorkSynchronized") +
           own("All corresponding work objects are applied", "AllWorkHaveBeenApplied", "Applied") +
           own("The availability of work object sample-kueue-work is not trackable",
               "NotAllWorkAreAvailabilityTrackable", "Available");
  };
  const std::string expected =
      "Name:         sample-kueue\n"
      "Namespace:    \n"
      "Labels:       <none>\n"
      "Annotations:  <none>\n"
      "API Version:  placement.kubernetes-fleet.io/v1beta1\n"
      "Kind:         ClusterResourcePlacement\n"
      "Metadata:\n"
      "  Generation:  1\n"
      "Status:\n"
      "  Conditions:\n" +
      top("found all cluster needed as specified by the scheduling policy, found 3 cluster(s)",
          "SchedulingPolicyFulfilled", "Scheduled") +
      top("All 3 cluster(s) start rolling out the latest resource", "RolloutStarted",
          "RolloutStarted") +
      top("No override rules are configured for the selected resources", "NoOverrideSpecified",
          "Overridden") +
      top("Works(s) are succcesfully created or updated in 3 target cluster(s)' namespaces",
          "WorkSynchronized", "WorkSynchronized") +
      top("The selected resources are successfully applied to 3 cluster(s)", "ApplySucceeded",
          "Applied") +
      top("The selected resources in 3 cluster(s) are available now", "ResourceAvailable",
          "Available") +
      "  Observed Resource Index:  0\n"
      "  Placement Statuses:\n" +
      member("cluster-1") + "    Observed Resource Index:  0\n" + member("cluster-2") +
      "    Observed Resource Index:  0\n" + member("cluster-3") +
      "    Observed Resource Index:  0\n"
      "  Resource Revisions:\n"
      "    Clusters:\n"
      "      cluster-1\n"
      "      cluster-2\n"
      "      cluster-3\n"
      "    Creation Timestamp:  TIME\n"
      "    Hash:                hash-0\n"
      "    Index:               0\n"
      "  Selected Resources:\n"
      "    Kind:     Namespace\n"
      "    Name:     compute-jobs\n"
      "    Version:  v1\n"
      "    Group:    kueue.x-k8s.io\n"
      "    Kind:     ClusterQueue\n"
      "    Name:     cluster-queue\n"
      "    Version:  v1beta1\n"
      "    Group:    kueue.x-k8s.io\n"
      "    Kind:     ResourceFlavor\n"
      "    Name:     default-flavor\n"
      "    Version:  v1beta1\n"
      "Events:\n";
  EXPECT_EQ(page.substr(0, expected.size()), expected);
  std::size_t after = expected.size();
  for (const char* event :
       {"PlacementRolloutStarted ", "PlacementOverriddenSucceeded ", "PlacementWorkSynchronized ",
        "PlacementApplied ", "PlacementAvailable ", "PlacementRolloutCompleted "}) {
    const std::size_t at = page.find(event, after);
    ASSERT_NE(at, std::string::npos) << event << page;
    after = at;
  }
}

}  // namespace
}  // namespace muster::test

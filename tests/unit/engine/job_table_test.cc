#include <gtest/gtest.h>

#include <vector>

#include "schedd/engine/commit/ledger.h"
#include "schedd/world/world_view.h"

namespace muster {
namespace {

JobPtr Record(std::int64_t id, const std::string& name = "") {
  auto job = std::make_shared<JobRecord>();
  job->id = JobId{id};
  job->name = name;
  return job;
}

std::vector<std::int64_t> Ids(const JobTable& table, std::int64_t after = 0) {
  std::vector<std::int64_t> ids;
  table.ForEach(JobId{after}, [&](const JobPtr& job) {
    ids.push_back(job->id.value);
    return true;
  });
  return ids;
}

TEST(JobTable, FindsWhatWasPutAcrossChunksInIdOrder) {
  JobTable table;
  for (const std::int64_t id : {700, 1, 255, 256, 257, 3}) table.Put(Record(id));
  EXPECT_EQ(table.size(), 6U);
  EXPECT_EQ(Ids(table), (std::vector<std::int64_t>{1, 3, 255, 256, 257, 700}));
  EXPECT_EQ(Ids(table, 255), (std::vector<std::int64_t>{256, 257, 700}));
  EXPECT_EQ(table.Find(JobId{2}), nullptr);
  EXPECT_EQ(table.Find(JobId{300}), nullptr);
  EXPECT_EQ(table.Find(JobId{9000}), nullptr);
}

TEST(JobTable, VisitingStopsWhenTold) {
  JobTable table;
  for (std::int64_t id = 1; id <= 10; ++id) table.Put(Record(id));
  int visited = 0;
  table.ForEach(JobId{}, [&](const JobPtr&) { return ++visited < 4; });
  EXPECT_EQ(visited, 4);
}

TEST(JobTable, APublishedCopyNeverChanges) {
  JobTable table;
  for (std::int64_t id = 1; id <= 600; ++id) table.Put(Record(id, "old"));
  table.Seal();
  const JobTable copy = table;
  table.Put(Record(5, "new"));
  table.Put(Record(601, "new"));
  table.Erase(JobId{300});
  EXPECT_EQ(copy.Find(JobId{5})->name, "old");
  EXPECT_EQ(copy.Find(JobId{601}), nullptr);
  EXPECT_NE(copy.Find(JobId{300}), nullptr);
  EXPECT_EQ(copy.size(), 600U);
  EXPECT_EQ(table.Find(JobId{5})->name, "new");
  EXPECT_EQ(table.size(), 600U);
}

TEST(JobTable, ErasingTwiceOrWhatIsNotThereChangesNothing) {
  JobTable table;
  table.Put(Record(5));
  table.Erase(JobId{6});
  table.Erase(JobId{5000});
  table.Erase(JobId{5});
  table.Erase(JobId{5});
  EXPECT_EQ(table.size(), 0U);
  EXPECT_TRUE(Ids(table).empty());
}

TEST(JobTable, ReplacingARecordKeepsTheCount) {
  JobTable table;
  table.Put(Record(5, "a"));
  table.Put(Record(5, "b"));
  EXPECT_EQ(table.size(), 1U);
  EXPECT_EQ(table.Find(JobId{5})->name, "b");
}

TEST(Ledger, WhatARecordChargedItsSuccessorGivesBack) {
  ConfigView config;
  ClusterQueue queue;
  queue.name = "cq";
  queue.resource_groups = {{{"cpu"}, {{"default", {{"cpu", Quota{4000, {}, {}}}}}}}};
  config.cluster_queues["cq"] = queue;
  config.member_clusters["east"].name = "east";
  config.member_clusters["east"].allocatable = {{"cpu", 8000}};
  Ledger ledger(core::QuotaTree::Build(config), std::make_shared<const AdmissionSettings>());
  auto pending = std::make_shared<JobRecord>();
  pending->cluster_queue = "cq";
  pending->pod_sets =
      std::make_shared<const PodSets>(PodSets{{"main", 2, {{"cpu", 500}}, nullptr}});
  auto running = std::make_shared<JobRecord>(*pending);
  running->state = JobState::kRunning;
  running->cluster = "east";
  running->admission = std::make_shared<const Admission>(
      Admission{"cq", {{"main", 2, {{"cpu", "default"}}, {{"cpu", 1000}}}}});
  auto ended = std::make_shared<JobRecord>(*running);
  ended->state = JobState::kSucceeded;
  ended->admission = nullptr;
  const auto used = [&] {
    const auto& tree = ledger.usage().tree();
    return ledger.usage().At(tree.ClusterQueueIndex("cq"), tree.PairIndex("default", "cpu"));
  };
  ledger.Move(nullptr, pending.get());
  EXPECT_EQ(used(), 0);
  ledger.Move(pending.get(), running.get());
  EXPECT_EQ(used(), 1000);
  EXPECT_EQ(AmountOf(ledger.Clusters(config, {})[0].free, "cpu"), 7000);
  EXPECT_EQ(ledger.queues().at("cq").reserving, 1U);
  ledger.Move(running.get(), ended.get());
  EXPECT_EQ(used(), 0);
  EXPECT_EQ(AmountOf(ledger.Clusters(config, {})[0].free, "cpu"), 8000);
  EXPECT_EQ(ledger.queues().at("cq").reserving, 0U);
  EXPECT_EQ(ledger.queues().at("cq").finished, 1U);
}

TEST(Ledger, WhatOthersUseOnAMember_IsNotFree) {
  ConfigView config;
  config.cluster_queues["cq"].name = "cq";
  config.member_clusters["east"].name = "east";
  config.member_clusters["east"].allocatable = {{"cpu", 8000}, {"licence", 3}};
  Ledger ledger(core::QuotaTree::Build(config), std::make_shared<const AdmissionSettings>());
  JobRecord running;
  running.cluster_queue = "cq";
  running.pod_sets = std::make_shared<const PodSets>(PodSets{{"main", 2, {{"cpu", 500}}, nullptr}});
  running.state = JobState::kRunning;
  running.cluster = "east";
  running.admission = std::make_shared<const Admission>(
      Admission{"cq", {{"main", 2, {{"cpu", "default"}}, {{"cpu", 1000}}}}});
  ledger.Move(nullptr, &running);
  ClusterFacts told;
  told.allocatable = {{"cpu", 16000}, {"memory", 100}};
  told.used_by_others = {{"cpu", 4000}, {"memory", 30}, {"pods", 7}};
  EXPECT_EQ(ledger.Clusters(config, {{"east", told}})[0].free,
            (ResourceList{{"cpu", 11000}, {"licence", 3}, {"memory", 70}}));
  EXPECT_EQ(ledger.Clusters(config, {})[0].free, (ResourceList{{"cpu", 7000}, {"licence", 3}}));
}

TEST(WithFacts, LaysWhatAMemberTellsOverWhatIsDeclared) {
  MemberCluster declared;
  declared.name = "east";
  declared.allocatable = {{"cpu", 8000}, {"licence", 3}};
  declared.nodes.resize(5);
  declared.properties.amounts["muster.io/cost.cpu"] = 7;
  declared.datasets = {"genomes"};
  EXPECT_EQ(WithFacts(declared, {}).node_count, -1) << "it has told nothing yet";
  std::map<std::string, ClusterFacts> facts;
  ClusterFacts& told = facts["east"];
  told.allocatable = {{"cpu", 6000}};
  told.capacity = {{"cpu", 9000}};
  told.used_by_others = {{"cpu", 1000}};
  told.version = "v1.34.1";
  told.kinds = std::make_shared<const std::vector<std::string>>(1, "Job");
  told.node_count = 1;
  MemberCluster member = WithFacts(declared, facts);
  EXPECT_EQ(member.allocatable, (ResourceList{{"cpu", 6000}, {"licence", 3}}));
  EXPECT_EQ(member.capacity, (ResourceList{{"cpu", 9000}, {"licence", 3}}));
  EXPECT_EQ(member.used_by_others, told.used_by_others);
  EXPECT_EQ(member.version, "v1.34.1");
  EXPECT_EQ(member.kinds, told.kinds);
  EXPECT_EQ(member.machines, nullptr);
  EXPECT_EQ(member.node_count, 5) << "it tells of no machines: the declared ones are counted";
  EXPECT_EQ(member.nodes.size(), 5U);
  EXPECT_EQ(member.properties, declared.properties);
  EXPECT_EQ(member.datasets, declared.datasets);
  told.machines = std::make_shared<const MachineGroups>(1, MachineGroup{{}, {}, {}, 9});
  told.node_count = 9;
  member = WithFacts(declared, facts);
  EXPECT_EQ(member.machines, told.machines);
  EXPECT_EQ(member.node_count, 9);
}

}  // namespace
}  // namespace muster

// Annotations muster.io/partition-* of a LocalQueue, and which queue a script goes to.
#include "schedd/shapes/kinds/queue_choice.h"
#include "tests/unit/shapes/support.h"

namespace muster::shapes {
namespace {

using testing::HasSubstr;

std::string QueueText(const std::string& annotations, const std::string& name = "a") {
  return "{apiVersion: kueue.x-k8s.io/v1beta1, kind: LocalQueue, metadata: {name: " + name +
         ", namespace: default, annotations: {" + annotations + "}}, spec: {clusterQueue: cq}}";
}

void Add(ConfigView* config, const std::string& text) {
  const auto object = ParseObject(Yaml(text));
  ASSERT_TRUE(object.ok()) << object.error().detail;
  ASSERT_TRUE(ApplyTo(config, object->kind, object->manifest).ok());
}

TEST(PartitionAnnotations, AreReadInSlurmsNotations) {
  ConfigView config;
  Add(&config, "{apiVersion: v1, kind: Namespace, metadata: {name: default}}");
  Add(&config,
      QueueText("muster.io/partition-default: 'true', muster.io/partition-state: drain, "
                "muster.io/partition-default-time: '30', muster.io/partition-max-time: "
                "'1-0', muster.io/partition-min-nodes: '1', muster.io/partition-max-nodes: "
                "'4', muster.io/partition-default-memory-per-cpu: 2G, "
                "muster.io/partition-max-memory-per-cpu: '4000', "
                "muster.io/partition-tier: '10'"));
  const PartitionProperties& read = config.local_queues.at({"default", "a"}).partition;
  EXPECT_TRUE(read.is_default);
  EXPECT_EQ(read.state, PartitionProperties::State::kDrain);
  EXPECT_EQ(read.default_time_s, 1800);
  EXPECT_EQ(read.max_time_s, 86'400);
  EXPECT_EQ(read.min_nodes, 1);
  EXPECT_EQ(read.max_nodes, 4);
  EXPECT_EQ(read.default_mem_per_cpu_mb, 2048);
  EXPECT_EQ(read.max_mem_per_cpu_mb, 4000);
  EXPECT_EQ(read.tier, 10);
}

TEST(PartitionAnnotations, WrongOnes_AreRefusedByTheirNames) {
  const std::pair<const char*, const char*> cases[] = {
      {"muster.io/partition-default: 'yes'", "partition-default"},
      {"muster.io/partition-state: open", "partition-state"},
      {"muster.io/partition-max-time: soon", "partition-max-time"},
      {"muster.io/partition-max-nodes: '0'", "partition-max-nodes"},
      {"muster.io/partition-max-nodes: many", "partition-max-nodes"},
      {"muster.io/partition-default-memory-per-cpu: lots", "partition-default-memory-per-cpu"},
      {"muster.io/partition-default-time: '60', muster.io/partition-max-time: '30'",
       "partition-default-time"},
      {"muster.io/partition-min-nodes: '3', muster.io/partition-max-nodes: '2'",
       "partition-min-nodes"},
      {"muster.io/partition-tier: '-1'", "partition-tier"},
  };
  for (const auto& [annotations, wanted] : cases) {
    EXPECT_THAT(ProblemsOf(ParseObject(Yaml(QueueText(annotations)))), HasSubstr(wanted))
        << annotations;
  }
}

ParsedJob Script(const std::string& queue, std::int64_t limit_s = 0) {
  ParsedJob job;
  job.shape = ShapeKind::kBatchScript;
  job.queue = queue;
  job.time_limit_s = limit_s;
  job.batch = std::make_shared<BatchDetails>();
  return job;
}

std::string Chosen(const ConfigView& config, const ParsedJob& job) {
  const auto choice = ResolveQueue(config, "default", job);
  return choice.ok() ? choice->local_queue : "!" + choice.error().fields[0].field;
}

TEST(QueueOfAScript, IsTheDefaultPartition_OrTheOnlyOne) {
  ConfigView config;
  config.local_queues[{"default", "a"}] = {.ns = "default", .name = "a", .cluster_queue = "cq"};
  EXPECT_EQ(Chosen(config, Script("")), "a");
  config.local_queues[{"default", "b"}] = {.ns = "default", .name = "b", .cluster_queue = "cq"};
  EXPECT_EQ(Chosen(config, Script("")), "!queue");
  config.local_queues[{"default", "default"}] = {
      .ns = "default", .name = "default", .cluster_queue = "cq"};
  EXPECT_EQ(Chosen(config, Script("")), "default");
  config.local_queues[{"default", "b"}].partition.is_default = true;
  EXPECT_EQ(Chosen(config, Script("")), "b");
}

TEST(QueueOfAScript, OfSeveral_IsTheFirstInWhichItCouldRun) {
  ConfigView config;
  config.local_queues[{"default", "a"}] = {.ns = "default", .name = "a", .cluster_queue = "cq"};
  config.local_queues[{"default", "b"}] = {.ns = "default", .name = "b", .cluster_queue = "cq"};
  config.local_queues[{"default", "a"}].partition.max_time_s = 60;
  EXPECT_EQ(Chosen(config, Script("a,b", 60)), "a");
  EXPECT_EQ(Chosen(config, Script("a,b", 61)), "b");
  EXPECT_EQ(Chosen(config, Script("a,c", 60)), "!queue");
  config.local_queues[{"default", "a"}].partition.state = PartitionProperties::State::kDrain;
  EXPECT_EQ(Chosen(config, Script("a")), "!queue") << "it takes no jobs";
}

}  // namespace
}  // namespace muster::shapes

// Every field of a value comes through the connection as it was. The lists of fields do not compile
// when a value gets one more.
#include <gtest/gtest.h>

#include <tuple>

#include "backends/launcher/codec.h"

namespace muster::launcher {
namespace {

class StillClock final : public Clock {
 public:
  Monotonic Now() const override { return {1000}; }
  WallTime WallNow() const override { return {}; }
};
const StillClock kClock;

const DispatchKey kKey{{0x0123456789abcdefULL, 0xfedcba9876543210ULL}, 7, "east"};
const std::string kBytes("not UTF-8: \xff\x00 end", 16);

auto Fields(const ManifestText& of) {
  const auto& [a, b, c, d, e] = of;
  return std::tie(a, b, c, d, e);
}
auto Fields(const DispatchOrder& of) {
  const auto& [key, job, object, account, dependents, pod_sets, suspended, uid, sequence, scale,
               queue, permit] = of;
  return std::tuple(key, job, Fields(object), account, dependents.size(), pod_sets, suspended, uid,
                    sequence, scale, queue.local_queue, queue.workload, permit.Ends());
}
auto Fields(const Observation& of) {
  const auto& [key, uid, object, incarnation, held, deleting, sequence, at, phase, ready, active,
               succeeded, failed, start, end, code, signal, reason, message, reclaimable, use,
               steps] = of;
  return std::tie(key, uid, object, incarnation, held, deleting, sequence, at, phase, ready, active,
                  succeeded, failed, start, end, code, signal, reason, message, reclaimable, use,
                  steps);
}
auto Fields(const ClusterFacts& of) {
  const auto& [cluster, incarnation, labels, allocatable, capacity, others, nodes, version,
               machines, kinds, healthy, answers, message, at] = of;
  return std::tuple(cluster, incarnation, labels, allocatable, capacity, others, nodes, version,
                    machines ? *machines : MachineGroups{},
                    kinds ? *kinds : std::vector<std::string>{}, machines == nullptr,
                    kinds == nullptr, healthy, answers, message, at);
}
auto Fields(const PodStatus& of) {
  const auto& [name, pod_set, phase, message, node, index, code, signal, start, end] = of;
  return std::tie(name, pod_set, phase, message, node, index, code, signal, start, end);
}
auto Fields(const RemovePolicy& of) {
  const auto& [uid, object, grace, keep, cause] = of;
  return std::tie(uid, object, grace, keep, cause);
}
auto Fields(const SignalOrder& of) {
  const auto& [signal, target, step] = of;
  return std::tie(signal, target, step);
}
auto Fields(const LogQuery& of) {
  const auto& [pod, container, offset, most, timestamps] = of;
  return std::tie(pod, container, offset, most, timestamps);
}
auto Fields(const LogChunk& of) {
  const auto& [data, next, ended] = of;
  return std::tie(data, next, ended);
}
auto Fields(const RemoteRef& of) {
  const auto& [uid, incarnation, suspended] = of;
  return std::tie(uid, incarnation, suspended);
}
// Whether an error is in the audit trail is the daemon's own matter and does not travel.
auto Fields(const Error& of) {
  const auto& [code, detail, fields, retry, audited] = of;
  return std::tie(code, detail, fields, retry);
}

DispatchOrder FullOrder() {
  DispatchOrder order;
  order.key = kKey;
  order.job = {42};
  order.object = {"batch/v1", "Job", "team", "train", kBytes};
  order.account = 1007;
  order.dependents = {{"v1", "Secret", "team", "key", "{}"}, {"v1", "ConfigMap", "team", "c", "x"}};
  TopologyAssignment topology{{"rack", "host"}, {{{"r1", "h1"}, 3}, {{"r1", "h2"}, 2}}};
  order.pod_sets = {{"main",
                     5,
                     {{"cpu", "spot"}},
                     {{"cpu", 4000}, {"memory", 1 << 30}},
                     std::make_shared<const TopologyAssignment>(topology),
                     true},
                    {"other", 1, {}, {}}};
  order.suspended = true;
  order.expected_uid = "uid";
  order.sequence = 1LL << 60;
  order.scale = 9;
  order.member_queue = {"lq", "wl"};
  order.permit = Permit::Until(kClock, {2000});
  return order;
}

TEST(LauncherCodec, AnOrderComesThrough) {
  const DispatchOrder order = FullOrder();
  const auto back = OrderFrom(ToWire(order), kClock);
  ASSERT_TRUE(back.has_value());
  EXPECT_EQ(Fields(*back), Fields(order));
  EXPECT_TRUE(back->permit.Holds());
  for (std::size_t i = 0; i < order.dependents.size(); ++i)
    EXPECT_EQ(Fields(back->dependents[i]), Fields(order.dependents[i]));
  EXPECT_EQ(*back->pod_sets[0].topology, *order.pod_sets[0].topology);
  EXPECT_EQ(back->pod_sets[1].topology, nullptr);
}

TEST(LauncherCodec, WhatAnOrderLeavesOutStaysOut) {
  DispatchOrder order;
  order.key = kKey;
  const auto back = OrderFrom(ToWire(order), kClock);
  ASSERT_TRUE(back.has_value());
  EXPECT_EQ(Fields(*back), Fields(order));
  EXPECT_FALSE(back->permit.given());
  order.account = 0;
  EXPECT_EQ(OrderFrom(ToWire(order), kClock)->account, 0U) << "root is not nobody";
  order.permit = Permit::Until(kClock, {1000});
  EXPECT_FALSE(OrderFrom(ToWire(order), kClock)->permit.Holds()) << "its end is now";
}

TEST(LauncherCodec, ReportsAndAnswersComeThrough) {
  Observation seen;
  seen.key = kKey;
  seen.remote_uid = "u";
  seen.object = {"batch/v1", "Job", "ns", "name"};
  seen.incarnation = "i";
  seen.held = seen.deleting = true;
  seen.sequence = 5;
  seen.observed_at = {6};
  seen.phase = RemotePhase::kMissing;
  seen.ready_pods = 1, seen.active_pods = 2, seen.succeeded_pods = 3, seen.failed_pods = 4;
  seen.start_time = {7}, seen.end_time = {8};
  seen.exit_code = 0;
  seen.exit_signal = 9;
  seen.reason = static_cast<Reason>(3);
  seen.message = kBytes;
  seen.reclaimable = {{"main", 2}, {"other", 1}};
  seen.use = {1, 2, 3, 4, 5};
  seen.steps = {{{42},
                 7,
                 3,
                 "hostname",
                 "job-7-[0-1]",
                 2,
                 4,
                 8,
                 StepState::kOutOfMemory,
                 {9},
                 {10},
                 0,
                 125,
                 {6, 7, 8, 9, 10}},
                {}};
  seen.steps[1].name = kBytes;
  EXPECT_EQ(Fields(*ObservationFrom(ToWire(seen))), Fields(seen));

  ClusterFacts facts{"east", "i",  {{"zone", "a"}}, {{"cpu", 1}}, {{"cpu", 2}}, {{"cpu", 3}},
                     4,      "v1", nullptr,         nullptr,      false,        true,
                     kBytes, {5}};
  EXPECT_EQ(Fields(FactsFrom(ToWire(facts))), Fields(facts));
  facts.machines = std::make_shared<const MachineGroups>(
      MachineGroups{{{{"a", "b"}}, {{"k", "v", "NoSchedule"}}, {{"cpu", 6}}, 7}, {}});
  facts.kinds = std::make_shared<const std::vector<std::string>>(1, "Job");
  EXPECT_EQ(Fields(FactsFrom(ToWire(facts))), Fields(facts));
  facts.machines = std::make_shared<const MachineGroups>();
  EXPECT_EQ(Fields(FactsFrom(ToWire(facts))), Fields(facts)) << "no machines are not unknown ones";

  const PodStatus pod{"p", "main", "Failed", kBytes, "n", 3, 0, 9, {1}, {2}};
  EXPECT_EQ(Fields(PodFrom(ToWire(pod))), Fields(pod));
  const RemoteRef ref{"u", "i", true};
  EXPECT_EQ(Fields(RefFrom(ToWire(ref))), Fields(ref));
  const LogChunk chunk{kBytes, 77, true};
  EXPECT_EQ(Fields(ChunkFrom(ToWire(chunk))), Fields(chunk));
  const Error error{Code::kResourceExhausted, "full", {{"f", "m"}}, 500};
  EXPECT_EQ(Fields(ErrorFrom(ToWire(error))), Fields(error));
}

TEST(LauncherCodec, QuestionsComeThrough) {
  const RemovePolicy policy{"u", {"v1", "Pod", "ns", "n"}, -1, true, StopCause::kPreempted};
  EXPECT_EQ(Fields(*PolicyFrom(ToWire(policy))), Fields(policy));
  const SignalOrder signal{10, SignalOrder::Target::kStep, 3};
  EXPECT_EQ(Fields(*SignalFrom(ToWire(kKey, signal))), Fields(signal));
  const LogQuery query{"p", "c", -5, 1 << 20, true};
  EXPECT_EQ(Fields(QueryFrom(ToWire(kKey, query))), Fields(query));
  EXPECT_EQ(*KeyFrom(ToWire(kKey)), kKey);
}

TEST(LauncherCodec, WhatIsNoValueIsRefused) {
  pb::Key key = ToWire(kKey);
  key.set_job_uid("../../etc");
  EXPECT_FALSE(KeyFrom(key).has_value());
  key = ToWire(kKey);
  key.set_attempt(-1);
  EXPECT_FALSE(KeyFrom(key).has_value());
  Observation observation;
  observation.key = kKey;
  pb::Seen seen = ToWire(observation);
  EXPECT_TRUE(ObservationFrom(seen).has_value());
  seen.set_phase(6);
  EXPECT_FALSE(ObservationFrom(seen).has_value());
  EXPECT_FALSE(OrderFrom(pb::Order(), kClock).has_value());
  pb::Policy policy;
  policy.set_cause(5);
  EXPECT_FALSE(PolicyFrom(policy).has_value());
  pb::SignalCall signal;
  signal.set_target(4);
  EXPECT_FALSE(SignalFrom(signal).has_value());
  observation.steps = {{}};
  seen = ToWire(observation);
  EXPECT_TRUE(ObservationFrom(seen).has_value());
  seen.mutable_steps(0)->set_state(0);
  EXPECT_FALSE(ObservationFrom(seen).has_value());
  pb::Failure failure;
  failure.set_code(99);
  EXPECT_EQ(ErrorFrom(failure).code, Code::kInternal);
  failure.set_code(0);
  EXPECT_EQ(ErrorFrom(failure).code, Code::kInternal) << "a failure is never success";
}

}  // namespace
}  // namespace muster::launcher

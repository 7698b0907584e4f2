// Field by field, in the order of the messages.
#include "backends/launcher/codec.h"

#include <memory>
#include <utility>

namespace muster::launcher {
namespace {

template <class Pairs>
void AddPairs(const LabelMap& from, Pairs* out) {
  for (const auto& [key, value] : from) {
    auto* pair = out->Add();
    pair->set_key(key);
    pair->set_value(value);
  }
}

template <class Pairs>
LabelMap LabelsFrom(const Pairs& from) {
  LabelMap out;
  for (const auto& pair : from) out[pair.key()] = pair.value();
  return out;
}

template <class Amounts>
void AddAmountsTo(const ResourceList& from, Amounts* out) {
  for (const auto& [resource, amount] : from) {
    auto* one = out->Add();
    one->set_resource(resource);
    one->set_amount(amount);
  }
}

// Sorted, and each resource once, whatever was sent.
template <class Amounts>
ResourceList AmountsFrom(const Amounts& from) {
  ResourceList out;
  for (const auto& one : from) SetAmount(&out, one.resource(), one.amount());
  return out;
}

void Write(const ManifestText& from, pb::Manifest* out) {
  out->set_api_version(from.api_version);
  out->set_kind(from.kind);
  out->set_ns(from.ns);
  out->set_name(from.name);
  out->set_json(from.json);
}

ManifestText ManifestFrom(const pb::Manifest& from) {
  return {from.api_version(), from.kind(), from.ns(), from.name(), from.json()};
}

void Write(const RemoteObject& from, pb::Object* out) {
  out->set_api_version(from.api_version);
  out->set_kind(from.kind);
  out->set_ns(from.ns);
  out->set_name(from.name);
}

RemoteObject ObjectFrom(const pb::Object& from) {
  return {from.api_version(), from.kind(), from.ns(), from.name()};
}

void Write(const PodSetAssignment& from, pb::PodSet* out) {
  out->set_name(from.name);
  out->set_count(from.count);
  AddPairs(from.flavors, out->mutable_flavors());
  AddAmountsTo(from.usage, out->mutable_usage());
  out->set_topology_delayed(from.topology_delayed);
  if (from.topology == nullptr) return;
  for (const std::string& level : from.topology->levels) out->mutable_topology()->add_levels(level);
  for (const TopologyDomain& domain : from.topology->domains) {
    pb::Domain* added = out->mutable_topology()->add_domains();
    for (const std::string& value : domain.values) added->add_values(value);
    added->set_count(domain.count);
  }
}

PodSetAssignment PodSetFrom(const pb::PodSet& from) {
  PodSetAssignment out;
  out.name = from.name();
  out.count = from.count();
  out.flavors = LabelsFrom(from.flavors());
  out.usage = AmountsFrom(from.usage());
  out.topology_delayed = from.topology_delayed();
  if (!from.has_topology()) return out;
  TopologyAssignment topology;
  topology.levels.assign(from.topology().levels().begin(), from.topology().levels().end());
  for (const pb::Domain& domain : from.topology().domains())
    topology.domains.push_back({{domain.values().begin(), domain.values().end()}, domain.count()});
  out.topology = std::make_shared<const TopologyAssignment>(std::move(topology));
  return out;
}

void Write(const MeasuredUse& from, pb::Use* out) {
  out->set_user_cpu_us(from.user_cpu_us);
  out->set_system_cpu_us(from.system_cpu_us);
  out->set_max_rss_bytes(from.max_rss_bytes);
  out->set_read_bytes(from.read_bytes);
  out->set_written_bytes(from.written_bytes);
}

MeasuredUse UseFrom(const pb::Use& from) {
  return {from.user_cpu_us(), from.system_cpu_us(), from.max_rss_bytes(), from.read_bytes(),
          from.written_bytes()};
}

void Write(const StepRecord& from, pb::Step* out) {
  out->set_job(from.job.value);
  out->set_attempt(from.attempt);
  out->set_step(from.step);
  out->set_name(from.name);
  out->set_nodes(from.nodes);
  out->set_node_count(from.node_count);
  out->set_tasks(from.tasks);
  out->set_cpus(from.cpus);
  out->set_state(static_cast<std::uint32_t>(from.state));
  out->set_start_time_us(from.start_time.us);
  out->set_end_time_us(from.end_time.us);
  out->set_exit_code(from.exit_code);
  out->set_exit_signal(from.exit_signal);
  Write(from.use, out->mutable_use());
}

std::optional<StepRecord> StepFrom(const pb::Step& from) {
  if (from.state() < static_cast<std::uint32_t>(StepState::kRunning) ||
      from.state() > static_cast<std::uint32_t>(StepState::kOutOfMemory)) {
    return std::nullopt;
  }
  StepRecord out;
  out.job = {from.job()};
  out.attempt = from.attempt();
  out.step = from.step();
  out.name = from.name();
  out.nodes = from.nodes();
  out.node_count = from.node_count();
  out.tasks = from.tasks();
  out.cpus = from.cpus();
  out.state = static_cast<StepState>(from.state());
  out.start_time = {from.start_time_us()};
  out.end_time = {from.end_time_us()};
  out.exit_code = from.exit_code();
  out.exit_signal = from.exit_signal();
  out.use = UseFrom(from.use());
  return out;
}

}  // namespace

pb::Key ToWire(const DispatchKey& key) {
  pb::Key out;
  out.set_job_uid(key.job_uid.ToString());
  out.set_attempt(key.attempt);
  out.set_cluster(key.cluster);
  return out;
}

std::optional<DispatchKey> KeyFrom(const pb::Key& from) {
  DispatchKey out;
  if (!Uid::Parse(from.job_uid(), &out.job_uid) || from.attempt() < 0) return std::nullopt;
  out.attempt = from.attempt();
  out.cluster = from.cluster();
  return out;
}

pb::Order ToWire(const DispatchOrder& order) {
  pb::Order out;
  *out.mutable_key() = ToWire(order.key);
  out.set_job(order.job.value);
  Write(order.object, out.mutable_object());
  if (order.account) out.set_account(*order.account);
  for (const ManifestText& one : order.dependents) Write(one, out.add_dependents());
  for (const PodSetAssignment& one : order.pod_sets) Write(one, out.add_pod_sets());
  out.set_suspended(order.suspended);
  out.set_expected_uid(order.expected_uid);
  out.set_sequence(order.sequence);
  out.set_scale(order.scale);
  out.set_local_queue(order.member_queue.local_queue);
  out.set_workload(order.member_queue.workload);
  if (const std::optional<Monotonic> ends = order.permit.Ends()) out.set_permit_until_ns(ends->ns);
  return out;
}

std::optional<DispatchOrder> OrderFrom(const pb::Order& from, const Clock& clock) {
  std::optional<DispatchKey> key = KeyFrom(from.key());
  if (!key) return std::nullopt;
  DispatchOrder out;
  out.key = std::move(*key);
  out.job = {from.job()};
  out.object = ManifestFrom(from.object());
  if (from.has_account()) out.account = from.account();
  for (const pb::Manifest& one : from.dependents()) out.dependents.push_back(ManifestFrom(one));
  for (const pb::PodSet& one : from.pod_sets()) out.pod_sets.push_back(PodSetFrom(one));
  out.suspended = from.suspended();
  out.expected_uid = from.expected_uid();
  out.sequence = from.sequence();
  out.scale = from.scale();
  out.member_queue = {from.local_queue(), from.workload()};
  if (from.has_permit_until_ns()) out.permit = Permit::Until(clock, {from.permit_until_ns()});
  return out;
}

pb::Policy ToWire(const RemovePolicy& policy) {
  pb::Policy out;
  out.set_expected_uid(policy.expected_uid);
  Write(policy.object, out.mutable_object());
  out.set_grace_period_s(policy.grace_period_s);
  out.set_keep_logs(policy.keep_logs);
  out.set_cause(static_cast<std::uint32_t>(policy.cause));
  return out;
}

std::optional<RemovePolicy> PolicyFrom(const pb::Policy& from) {
  if (from.cause() > static_cast<std::uint32_t>(StopCause::kNodeFailure)) return std::nullopt;
  return RemovePolicy{from.expected_uid(), ObjectFrom(from.object()), from.grace_period_s(),
                      from.keep_logs(), static_cast<StopCause>(from.cause())};
}

pb::SignalCall ToWire(const DispatchKey& key, const SignalOrder& order) {
  pb::SignalCall out;
  *out.mutable_key() = ToWire(key);
  out.set_signal(order.signal);
  out.set_target(static_cast<std::uint32_t>(order.target));
  out.set_step(order.step);
  return out;
}

std::optional<SignalOrder> SignalFrom(const pb::SignalCall& from) {
  if (from.target() > static_cast<std::uint32_t>(SignalOrder::Target::kStep)) return std::nullopt;
  return SignalOrder{from.signal(), static_cast<SignalOrder::Target>(from.target()), from.step()};
}

pb::ReadLogCall ToWire(const DispatchKey& key, const LogQuery& query) {
  pb::ReadLogCall out;
  *out.mutable_key() = ToWire(key);
  out.set_pod(query.pod);
  out.set_container(query.container);
  out.set_offset(query.offset);
  out.set_max_bytes(query.max_bytes);
  out.set_timestamps(query.timestamps);
  return out;
}

LogQuery QueryFrom(const pb::ReadLogCall& from) {
  return {from.pod(), from.container(), from.offset(), static_cast<std::size_t>(from.max_bytes()),
          from.timestamps()};
}

pb::Ref ToWire(const RemoteRef& ref) {
  pb::Ref out;
  out.set_remote_uid(ref.remote_uid);
  out.set_incarnation(ref.incarnation);
  out.set_suspended(ref.suspended);
  return out;
}

RemoteRef RefFrom(const pb::Ref& from) {
  return {from.remote_uid(), from.incarnation(), from.suspended()};
}

pb::Seen ToWire(const Observation& seen) {
  pb::Seen out;
  *out.mutable_key() = ToWire(seen.key);
  out.set_remote_uid(seen.remote_uid);
  Write(seen.object, out.mutable_object());
  out.set_incarnation(seen.incarnation);
  out.set_held(seen.held);
  out.set_deleting(seen.deleting);
  out.set_sequence(seen.sequence);
  out.set_observed_at_us(seen.observed_at.us);
  out.set_phase(static_cast<std::uint32_t>(seen.phase));
  out.set_ready_pods(seen.ready_pods);
  out.set_active_pods(seen.active_pods);
  out.set_succeeded_pods(seen.succeeded_pods);
  out.set_failed_pods(seen.failed_pods);
  out.set_start_time_us(seen.start_time.us);
  out.set_end_time_us(seen.end_time.us);
  if (seen.exit_code) out.set_exit_code(*seen.exit_code);
  out.set_exit_signal(seen.exit_signal);
  out.set_reason(static_cast<std::uint32_t>(seen.reason));
  out.set_message(seen.message);
  for (const ReclaimablePods& one : seen.reclaimable) {
    pb::Reclaimable* added = out.add_reclaimable();
    added->set_pod_set(one.pod_set);
    added->set_count(one.count);
  }
  Write(seen.use, out.mutable_use());
  for (const StepRecord& step : seen.steps) Write(step, out.add_steps());
  return out;
}

std::optional<Observation> ObservationFrom(const pb::Seen& from) {
  std::optional<DispatchKey> key = KeyFrom(from.key());
  if (!key || from.phase() > static_cast<std::uint32_t>(RemotePhase::kMissing) ||
      from.reason() > UINT16_MAX) {
    return std::nullopt;
  }
  Observation out;
  out.key = std::move(*key);
  out.remote_uid = from.remote_uid();
  out.object = ObjectFrom(from.object());
  out.incarnation = from.incarnation();
  out.held = from.held();
  out.deleting = from.deleting();
  out.sequence = from.sequence();
  out.observed_at = {from.observed_at_us()};
  out.phase = static_cast<RemotePhase>(from.phase());
  out.ready_pods = from.ready_pods();
  out.active_pods = from.active_pods();
  out.succeeded_pods = from.succeeded_pods();
  out.failed_pods = from.failed_pods();
  out.start_time = {from.start_time_us()};
  out.end_time = {from.end_time_us()};
  if (from.has_exit_code()) out.exit_code = from.exit_code();
  out.exit_signal = from.exit_signal();
  out.reason = static_cast<Reason>(from.reason());
  out.message = from.message();
  for (const pb::Reclaimable& one : from.reclaimable())
    out.reclaimable.push_back({one.pod_set(), one.count()});
  out.use = UseFrom(from.use());
  for (const pb::Step& one : from.steps()) {
    std::optional<StepRecord> step = StepFrom(one);
    if (!step) return std::nullopt;
    out.steps.push_back(std::move(*step));
  }
  return out;
}

pb::Facts ToWire(const ClusterFacts& facts) {
  pb::Facts out;
  out.set_cluster(facts.cluster);
  out.set_incarnation(facts.incarnation);
  AddPairs(facts.labels, out.mutable_labels());
  AddAmountsTo(facts.allocatable, out.mutable_allocatable());
  AddAmountsTo(facts.capacity, out.mutable_capacity());
  AddAmountsTo(facts.used_by_others, out.mutable_used_by_others());
  out.set_node_count(facts.node_count);
  out.set_version(facts.version);
  if (facts.machines != nullptr) {
    out.mutable_machines();
    for (const MachineGroup& group : *facts.machines) {
      pb::Machines* added = out.mutable_machines()->add_groups();
      AddPairs(group.labels, added->mutable_labels());
      for (const Taint& taint : group.taints) {
        pb::Taint* one = added->add_taints();
        one->set_key(taint.key);
        one->set_value(taint.value);
        one->set_effect(taint.effect);
      }
      AddAmountsTo(group.free, added->mutable_free());
      added->set_count(group.count);
    }
  }
  if (facts.kinds != nullptr) {
    out.mutable_kinds();
    for (const std::string& kind : *facts.kinds) out.mutable_kinds()->add_kinds(kind);
  }
  out.set_healthy(facts.healthy);
  out.set_answers(facts.answers);
  out.set_message(facts.message);
  out.set_observed_at_us(facts.observed_at.us);
  return out;
}

ClusterFacts FactsFrom(const pb::Facts& from) {
  ClusterFacts out;
  out.cluster = from.cluster();
  out.incarnation = from.incarnation();
  out.labels = LabelsFrom(from.labels());
  out.allocatable = AmountsFrom(from.allocatable());
  out.capacity = AmountsFrom(from.capacity());
  out.used_by_others = AmountsFrom(from.used_by_others());
  out.node_count = from.node_count();
  out.version = from.version();
  if (from.has_machines()) {
    MachineGroups groups;
    for (const pb::Machines& one : from.machines().groups()) {
      MachineGroup group{LabelsFrom(one.labels()), {}, AmountsFrom(one.free()), one.count()};
      for (const pb::Taint& taint : one.taints())
        group.taints.push_back({taint.key(), taint.value(), taint.effect()});
      groups.push_back(std::move(group));
    }
    out.machines = std::make_shared<const MachineGroups>(std::move(groups));
  }
  if (from.has_kinds()) {
    out.kinds = std::make_shared<const std::vector<std::string>>(from.kinds().kinds().begin(),
                                                                 from.kinds().kinds().end());
  }
  out.healthy = from.healthy();
  out.answers = from.answers();
  out.message = from.message();
  out.observed_at = {from.observed_at_us()};
  return out;
}

pb::Pod ToWire(const PodStatus& pod) {
  pb::Pod out;
  out.set_name(pod.name);
  out.set_pod_set(pod.pod_set);
  out.set_phase(pod.phase);
  out.set_message(pod.message);
  out.set_node(pod.node);
  out.set_index(pod.index);
  if (pod.exit_code) out.set_exit_code(*pod.exit_code);
  out.set_exit_signal(pod.exit_signal);
  out.set_start_time_us(pod.start_time.us);
  out.set_end_time_us(pod.end_time.us);
  return out;
}

PodStatus PodFrom(const pb::Pod& from) {
  PodStatus out;
  out.name = from.name();
  out.pod_set = from.pod_set();
  out.phase = from.phase();
  out.message = from.message();
  out.node = from.node();
  out.index = from.index();
  if (from.has_exit_code()) out.exit_code = from.exit_code();
  out.exit_signal = from.exit_signal();
  out.start_time = {from.start_time_us()};
  out.end_time = {from.end_time_us()};
  return out;
}

pb::Log ToWire(const LogChunk& chunk) {
  pb::Log out;
  out.set_data(chunk.data);
  out.set_next_offset(chunk.next_offset);
  out.set_ended(chunk.ended);
  return out;
}

LogChunk ChunkFrom(const pb::Log& from) { return {from.data(), from.next_offset(), from.ended()}; }

pb::Failure ToWire(const Error& error) {
  pb::Failure out;
  out.set_code(static_cast<std::uint32_t>(error.code));
  out.set_detail(error.detail);
  for (const FieldError& one : error.fields) {
    pb::Pair* added = out.add_fields();
    added->set_key(one.field);
    added->set_value(one.message);
  }
  out.set_retry_after_ms(error.retry_after_ms);
  return out;
}

Error ErrorFrom(const pb::Failure& from) {
  const bool known =
      from.code() > 0 && from.code() <= static_cast<std::uint32_t>(Code::kUnauthenticated);
  Error out{known ? static_cast<Code>(from.code()) : Code::kInternal, from.detail()};
  for (const pb::Pair& one : from.fields()) out.fields.push_back({one.key(), one.value()});
  out.retry_after_ms = from.retry_after_ms();
  return out;
}

}  // namespace muster::launcher

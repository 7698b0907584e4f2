// For each value a pair of functions: one builds the JSON object, the other reads it. A field that
// has its default value is left out of the text and read back as the default, so that rows stay
// small and a text of an older release can be read by a newer one. Reading uses the accessors of
// Boost.JSON that throw; ParseColumn turns an exception into kDataLoss.
#include "schedd/store/pg/row_json.h"

#include <utility>

#include "schedd/store/pg/json_fields.h"

namespace muster::pg {
namespace {

// Amounts by resource name, as integers in the base unit.
json::object Amounts(const ResourceList& list) {
  json::object object;
  for (const ResourceAmount& entry : list) object[entry.resource] = entry.amount;
  return object;
}

ResourceList AmountsOf(const json::object& owner, std::string_view key) {
  ResourceList list;
  const json::value* value = owner.if_contains(key);
  if (value == nullptr) return list;
  for (const auto& [resource, amount] : value->as_object()) {
    list.push_back({std::string(resource), amount.to_number<std::int64_t>()});
  }
  return list;
}

json::object RequirementJson(const Requirement& requirement) {
  json::object object{{"key", requirement.key}, {"op", requirement.op}};
  json::array values;
  for (const std::string& value : requirement.values) values.emplace_back(value);
  object["values"] = std::move(values);
  return object;
}

Requirement RequirementOf(const json::object& object) {
  Requirement requirement{TextOf(object, "key"), TextOf(object, "op"), {}};
  for (const json::value& value : ArrayOf(object, "values")) {
    requirement.values.emplace_back(value.as_string());
  }
  return requirement;
}

// A term is stored as the list of its expressions.
json::array TermJson(const NodeSelectorTerm& term) {
  json::array expressions;
  for (const Requirement& requirement : term.match_expressions) {
    expressions.emplace_back(RequirementJson(requirement));
  }
  return expressions;
}

NodeSelectorTerm TermOf(const json::array& expressions) {
  NodeSelectorTerm term;
  for (const json::value& expression : expressions) {
    term.match_expressions.push_back(RequirementOf(expression.as_object()));
  }
  return term;
}

json::object ConstraintsJson(const SchedulingConstraints& constraints) {
  json::object object;
  if (!constraints.node_selector.empty())
    object["nodeSelector"] = Strings(constraints.node_selector);
  if (constraints.has_required_affinity) {
    json::array terms;
    for (const NodeSelectorTerm& term : constraints.required_terms)
      terms.emplace_back(TermJson(term));
    object["requiredTerms"] = std::move(terms);
  }
  json::array preferred;
  for (const PreferredTerm& term : constraints.preferred_terms)
    preferred.emplace_back(json::object{{"weight", term.weight}, {"term", TermJson(term.term)}});
  if (!preferred.empty()) object["preferredTerms"] = std::move(preferred);
  if (!constraints.tolerations.empty())
    object["tolerations"] = TolerationsJson(constraints.tolerations);
  return object;
}

// A required affinity without terms differs from no required affinity: the key's presence says
// which.
SchedulingConstraints ConstraintsOf(const json::object& object) {
  SchedulingConstraints constraints;
  constraints.node_selector = StringsOf(object, "nodeSelector");
  constraints.has_required_affinity = object.contains("requiredTerms");
  for (const json::value& term : ArrayOf(object, "requiredTerms"))
    constraints.required_terms.push_back(TermOf(term.as_array()));
  for (const json::value& value : ArrayOf(object, "preferredTerms")) {
    const json::object& entry = value.as_object();
    constraints.preferred_terms.push_back(
        {IntOf<std::int32_t>(entry, "weight"), TermOf(ArrayOf(entry, "term"))});
  }
  constraints.tolerations = TolerationsOf(object);
  return constraints;
}

json::object TopologyRequestJson(const TopologyRequest& request) {
  json::object object;
  if (request.required) object["required"] = *request.required;
  if (request.preferred) object["preferred"] = *request.preferred;
  if (request.unconstrained) object["unconstrained"] = true;
  PutText(&object, "group", request.pod_set_group);
  if (request.slice_required) object["sliceLevel"] = *request.slice_required;
  if (request.slice_size) object["sliceSize"] = *request.slice_size;
  json::array layers;
  for (const TopologyLayer& layer : request.slice_layers)
    layers.emplace_back(json::object{{"level", layer.level}, {"size", layer.size}});
  if (!layers.empty()) object["layers"] = std::move(layers);
  return object;
}

TopologyRequest TopologyRequestOf(const json::object& object) {
  TopologyRequest request;
  if (object.contains("required")) request.required = TextOf(object, "required");
  if (object.contains("preferred")) request.preferred = TextOf(object, "preferred");
  request.unconstrained = object.contains("unconstrained");
  request.pod_set_group = TextOf(object, "group");
  if (object.contains("sliceLevel")) request.slice_required = TextOf(object, "sliceLevel");
  if (object.contains("sliceSize")) request.slice_size = IntOf<std::int32_t>(object, "sliceSize");
  for (const json::value& value : ArrayOf(object, "layers")) {
    const json::object& layer = value.as_object();
    request.slice_layers.push_back({TextOf(layer, "level"), IntOf<std::int32_t>(layer, "size")});
  }
  return request;
}

json::object TopologyJson(const TopologyAssignment& topology) {
  json::array domains;
  for (const TopologyDomain& domain : topology.domains) {
    domains.emplace_back(
        json::object{{"values", TextsJson(domain.values)}, {"count", domain.count}});
  }
  return {{"levels", TextsJson(topology.levels)}, {"domains", std::move(domains)}};
}

TopologyAssignment TopologyOf(const json::object& object) {
  TopologyAssignment topology;
  topology.levels = TextsOf(object, "levels");
  for (const json::value& value : ArrayOf(object, "domains")) {
    const json::object& domain = value.as_object();
    topology.domains.push_back({TextsOf(domain, "values"), IntOf<std::int32_t>(domain, "count")});
  }
  return topology;
}

// Returns the value made from the same text before, or makes it. An error is not kept.
template <class T, class Make>
Result<T> Interned(std::unordered_map<std::string, T>* known, std::string_view text, Make make) {
  std::string key(text);
  const auto found = known->find(key);
  if (found != known->end()) return found->second;
  Result<T> made = make(text);
  if (made.ok()) known->emplace(std::move(key), *made);
  return made;
}

}  // namespace

std::string AmountsText(const ResourceList& amounts) { return json::serialize(Amounts(amounts)); }

// The text is the object itself, so it is wrapped for AmountsOf.
Result<ResourceList> ParseAmounts(std::string_view text) {
  return ParseColumn<ResourceList>(text, "amounts", [](const json::value& root) {
    return AmountsOf(json::object{{"of", root}}, "of");
  });
}

// Constraints and topology are written only for pod sets that have them.
std::string PodSetsText(const PodSets& pod_sets) {
  json::array array;
  for (const PodSet& pod_set : pod_sets) {
    json::object object{{"name", pod_set.name}, {"count", pod_set.count}};
    object["requests"] = Amounts(pod_set.requests);
    if (pod_set.constraints != nullptr)
      object["constraints"] = ConstraintsJson(*pod_set.constraints);
    if (pod_set.min_count) object["minCount"] = *pod_set.min_count;
    if (pod_set.topology != nullptr) object["topology"] = TopologyRequestJson(*pod_set.topology);
    if (pod_set.node_requests != nullptr) object["nodeRequests"] = Amounts(*pod_set.node_requests);
    array.emplace_back(std::move(object));
  }
  return json::serialize(array);
}

Result<PodSetsPtr> ParsePodSets(std::string_view text) {
  return ParseColumn<PodSetsPtr>(text, "pod sets", [](const json::value& root) {
    auto pod_sets = std::make_shared<PodSets>();
    for (const json::value& value : root.as_array()) {
      const json::object& object = value.as_object();
      PodSet pod_set;
      pod_set.name = TextOf(object, "name");
      pod_set.count = IntOf<std::int32_t>(object, "count");
      pod_set.requests = AmountsOf(object, "requests");
      if (const json::value* constraints = object.if_contains("constraints")) {
        pod_set.constraints =
            std::make_shared<const SchedulingConstraints>(ConstraintsOf(constraints->as_object()));
      }
      if (object.contains("minCount")) pod_set.min_count = IntOf<std::int32_t>(object, "minCount");
      if (const json::value* topology = object.if_contains("topology")) {
        pod_set.topology =
            std::make_shared<const TopologyRequest>(TopologyRequestOf(topology->as_object()));
      }
      if (object.contains("nodeRequests")) {
        pod_set.node_requests =
            std::make_shared<const ResourceList>(AmountsOf(object, "nodeRequests"));
      }
      pod_sets->push_back(std::move(pod_set));
    }
    return PodSetsPtr(std::move(pod_sets));
  });
}

// Three fields are always written; the others only if they differ from their defaults.
std::string BatchText(const BatchDetails& batch) {
  json::object object{
      {"nodes", batch.nodes}, {"tasks", batch.tasks}, {"cpusPerTask", batch.cpus_per_task}};
  const auto put = [&object](std::string_view name, std::int64_t value, std::int64_t usual = 0) {
    if (value != usual) object[name] = value;
  };
  put("arrayJobId", batch.array_job_id.value);
  put("arrayTaskId", batch.array_task_id, -1);
  put("maxNodes", batch.max_nodes, batch.nodes);
  put("tasksPerNode", batch.tasks_per_node);
  put("memPerNodeMb", batch.mem_per_node_mb);
  put("memPerCpuMb", batch.mem_per_cpu_mb);
  put("mailEvents", batch.mail_events);
  put("timeMin", batch.time_min_s);
  put("signal", batch.warning.signal);
  put("signalBefore", batch.warning.seconds_before, WarningSignal{}.seconds_before);
  PutText(&object, "arraySpec", batch.array_spec);
  PutText(&object, "workDir", batch.work_dir);
  PutText(&object, "command", batch.command);
  PutText(&object, "stdIn", batch.std_in);
  PutText(&object, "stdOut", batch.std_out);
  PutText(&object, "stdErr", batch.std_err);
  PutText(&object, "comment", batch.comment);
  PutText(&object, "gres", batch.gres);
  PutText(&object, "features", batch.features);
  PutText(&object, "requiredNodes", batch.required_nodes);
  PutText(&object, "excludedNodes", batch.excluded_nodes);
  PutText(&object, "licenses", batch.licenses);
  PutText(&object, "reservation", batch.reservation);
  PutText(&object, "wckey", batch.wckey);
  PutText(&object, "mailUser", batch.mail_user);
  PutText(&object, "submitLine", batch.submit_line);
  PutText(&object, "partitions", batch.partitions);
  if (!batch.requeue) object["requeue"] = false;
  if (batch.warning.batch_only) object["signalBatch"] = true;
  if (batch.warning.reservation) object["signalReservation"] = true;
  if (batch.exclusive) object["exclusive"] = true;
  if (batch.allocation_only) object["allocationOnly"] = true;
  if (!batch.components.empty()) {
    json::array components;
    for (const HetComponent& one : batch.components)
      components.push_back(json::object{{"name", one.name},
                                        {"nodes", one.nodes},
                                        {"tasks", one.tasks},
                                        {"cpusPerTask", one.cpus_per_task}});
    object["components"] = std::move(components);
  }
  if (!batch.how.empty()) {
    json::array how;
    for (const auto& [name, value] : batch.how) how.push_back(json::array{name, value});
    object["how"] = std::move(how);
  }
  return json::serialize(object);
}

Result<std::shared_ptr<const BatchDetails>> ParseBatch(std::string_view text) {
  using Ptr = std::shared_ptr<const BatchDetails>;
  return ParseColumn<Ptr>(text, "batch details", [](const json::value& root) {
    const json::object& object = root.as_object();
    auto batch = std::make_shared<BatchDetails>();
    batch->array_job_id.value = IntOf<std::int64_t>(object, "arrayJobId");
    batch->array_task_id = IntOf<std::int32_t>(object, "arrayTaskId", -1);
    batch->array_spec = TextOf(object, "arraySpec");
    batch->work_dir = TextOf(object, "workDir");
    batch->command = TextOf(object, "command");
    batch->std_in = TextOf(object, "stdIn");
    batch->std_out = TextOf(object, "stdOut");
    batch->std_err = TextOf(object, "stdErr");
    batch->comment = TextOf(object, "comment");
    batch->nodes = IntOf<std::int32_t>(object, "nodes");
    batch->max_nodes = IntOf<std::int32_t>(object, "maxNodes", batch->nodes);
    batch->tasks = IntOf<std::int32_t>(object, "tasks");
    batch->cpus_per_task = IntOf<std::int32_t>(object, "cpusPerTask");
    batch->tasks_per_node = IntOf<std::int32_t>(object, "tasksPerNode");
    batch->mem_per_node_mb = IntOf<std::int64_t>(object, "memPerNodeMb");
    batch->mem_per_cpu_mb = IntOf<std::int64_t>(object, "memPerCpuMb");
    batch->mail_events = IntOf<std::uint32_t>(object, "mailEvents");
    batch->time_min_s = IntOf<std::int64_t>(object, "timeMin");
    batch->warning.signal = IntOf<std::int32_t>(object, "signal");
    batch->warning.seconds_before =
        IntOf<std::int32_t>(object, "signalBefore", WarningSignal{}.seconds_before);
    batch->warning.batch_only = object.contains("signalBatch");
    batch->warning.reservation = object.contains("signalReservation");
    batch->gres = TextOf(object, "gres");
    batch->features = TextOf(object, "features");
    batch->required_nodes = TextOf(object, "requiredNodes");
    batch->excluded_nodes = TextOf(object, "excludedNodes");
    batch->licenses = TextOf(object, "licenses");
    batch->reservation = TextOf(object, "reservation");
    batch->wckey = TextOf(object, "wckey");
    batch->mail_user = TextOf(object, "mailUser");
    batch->submit_line = TextOf(object, "submitLine");
    batch->partitions = TextOf(object, "partitions");
    const json::value* requeue = object.if_contains("requeue");
    batch->requeue = requeue == nullptr || requeue->as_bool();
    batch->exclusive = object.contains("exclusive");
    batch->allocation_only = object.contains("allocationOnly");
    if (const json::value* components = object.if_contains("components")) {
      for (const json::value& value : components->as_array()) {
        const json::object& one = value.as_object();
        batch->components.push_back({TextOf(one, "name"), IntOf<std::int32_t>(one, "nodes"),
                                     IntOf<std::int32_t>(one, "tasks"),
                                     IntOf<std::int32_t>(one, "cpusPerTask")});
      }
    }
    if (const json::value* how = object.if_contains("how")) {
      for (const json::value& value : how->as_array()) {
        const json::array& pair = value.as_array();
        batch->how.emplace_back(std::string(pair.at(0).as_string()),
                                std::string(pair.at(1).as_string()));
      }
    }
    return Ptr(std::move(batch));
  });
}

// A pod set's flavors and usage are maps by resource name.
std::string AdmissionText(const Admission& admission) {
  json::array pod_sets;
  for (const PodSetAssignment& assignment : admission.pod_sets) {
    json::object entry = {{"name", assignment.name},
                          {"count", assignment.count},
                          {"flavors", Strings(assignment.flavors)},
                          {"usage", Amounts(assignment.usage)}};
    if (assignment.topology != nullptr) entry["topology"] = TopologyJson(*assignment.topology);
    if (assignment.topology_delayed) entry["topologyDelayed"] = true;
    pod_sets.emplace_back(std::move(entry));
  }
  return json::serialize(
      json::object{{"clusterQueue", admission.cluster_queue}, {"podSets", std::move(pod_sets)}});
}

Result<AdmissionPtr> ParseAdmission(std::string_view text) {
  return ParseColumn<AdmissionPtr>(text, "admission", [](const json::value& root) {
    const json::object& object = root.as_object();
    auto admission = std::make_shared<Admission>();
    admission->cluster_queue = TextOf(object, "clusterQueue");
    for (const json::value& value : ArrayOf(object, "podSets")) {
      const json::object& entry = value.as_object();
      PodSetAssignment assignment;
      assignment.name = TextOf(entry, "name");
      assignment.count = IntOf<std::int32_t>(entry, "count");
      assignment.flavors = StringsOf(entry, "flavors");
      assignment.usage = AmountsOf(entry, "usage");
      if (const json::value* topology = entry.if_contains("topology")) {
        assignment.topology =
            std::make_shared<const TopologyAssignment>(TopologyOf(topology->as_object()));
      }
      assignment.topology_delayed = entry.contains("topologyDelayed");
      admission->pod_sets.push_back(std::move(assignment));
    }
    return AdmissionPtr(std::move(admission));
  });
}

std::string ConditionsText(const std::vector<Condition>& conditions) {
  json::array array;
  for (const Condition& condition : conditions) {
    array.emplace_back(json::object{{"type", condition.type},
                                    {"status", condition.status},
                                    {"reason", condition.reason},
                                    {"message", condition.message},
                                    {"at", condition.last_transition.us}});
  }
  return json::serialize(array);
}

Result<std::shared_ptr<const std::vector<Condition>>> ParseConditions(std::string_view text) {
  using Ptr = std::shared_ptr<const std::vector<Condition>>;
  return ParseColumn<Ptr>(text, "conditions", [](const json::value& root) {
    auto conditions = std::make_shared<std::vector<Condition>>();
    for (const json::value& value : root.as_array()) {
      const json::object& object = value.as_object();
      Condition condition;
      condition.type = TextOf(object, "type");
      condition.status = object.at("status").as_bool();
      condition.reason = TextOf(object, "reason");
      condition.message = TextOf(object, "message");
      condition.last_transition.us = IntOf<std::int64_t>(object, "at");
      conditions->push_back(std::move(condition));
    }
    return Ptr(std::move(conditions));
  });
}

std::string JobPlacementText(const JobPlacement& placement) {
  json::object object;
  if (!placement.labels.empty()) object["labels"] = Strings(placement.labels);
  PutText(&object, "placement", placement.placement);
  PutText(&object, "cluster", placement.cluster);
  if (!placement.datasets.empty()) object["datasets"] = TextsJson(placement.datasets);
  if (placement.datasets_required) object["datasetsRequired"] = true;
  if (placement.checkpointable) object["checkpointable"] = true;
  return json::serialize(object);
}

Result<JobPlacementPtr> ParseJobPlacement(std::string_view text) {
  return ParseColumn<JobPlacementPtr>(text, "placement", [](const json::value& root) {
    const json::object& object = root.as_object();
    auto placement = std::make_shared<JobPlacement>();
    placement->labels = StringsOf(object, "labels");
    placement->placement = TextOf(object, "placement");
    placement->cluster = TextOf(object, "cluster");
    placement->datasets = TextsOf(object, "datasets");
    placement->datasets_required = object.contains("datasetsRequired");
    placement->checkpointable = object.contains("checkpointable");
    return JobPlacementPtr(std::move(placement));
  });
}

// Equal texts give one shared value.
Result<PodSetsPtr> Interner::PodSetsOf(std::string_view text) {
  return Interned(&pod_sets_, text, [](std::string_view t) { return ParsePodSets(t); });
}

Result<AdmissionPtr> Interner::AdmissionOf(std::string_view text) {
  return Interned(&admissions_, text, [](std::string_view t) { return ParseAdmission(t); });
}

Result<JobPlacementPtr> Interner::PlacementOf(std::string_view text) {
  return Interned(&placements_, text, [](std::string_view t) { return ParseJobPlacement(t); });
}

}  // namespace muster::pg

#include "tests/support/fake_member/cluster.h"

#include <algorithm>
#include <cstdio>

#include "schedd/base/check.h"
#include "tests/support/fake_member/patches.h"

namespace muster::fake {
namespace {

constexpr char kForeground[] = "foregroundDeletion";
constexpr char kOrphan[] = "orphan";

bool IsName(std::string_view name) {
  if (name.empty() || name.size() > 253) return false;
  const auto word = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  if (!word(name.front()) || !word(name.back())) return false;
  return std::all_of(name.begin(), name.end(),
                     [&](char c) { return word(c) || c == '-' || c == '.'; });
}

bool IsSpec(std::string_view member) {
  return member != "kind" && member != "apiVersion" && member != "metadata" && member != "status";
}

bool SameSpec(const json::object& one, const json::object& other) {
  std::size_t left = 0;
  for (const auto& member : other) left += IsSpec(member.key()) ? 1 : 0;
  for (const auto& member : one) {
    if (!IsSpec(member.key())) continue;
    const json::value* value = other.if_contains(member.key());
    if (value == nullptr || !Same(member.value(), *value)) return false;
    --left;
  }
  return left == 0;
}

bool Numbered(const Resource& resource) { return resource.status && resource.kind != "Namespace"; }

void BumpGeneration(json::object& object) {
  Child(object, "metadata")["generation"] = Number(object, {"metadata", "generation"}) + 1;
}

Answer ObjectAnswer(int status, const Record& record) { return {status, *record.text}; }

}  // namespace

Cluster::Cluster(ClusterOptions options)
    : options_(std::move(options)),
      store_(options_.resources, options_.history),
      random_(options_.seed) {
  MUSTER_CHECK(options_.now_ms != nullptr);
  store_.SetListener([this](const Change& change) { OnChange(change); });
  Begin();
}

void Cluster::Begin() {
  const int namespaces = store_.Plural("namespaces");
  for (const char* name : {"kube-system", "default"}) {
    Create(namespaces, "", {{"metadata", json::object{{"name", name}}}}, Writer::kSystem);
  }
  incarnation_ = Text(store_.Object({namespaces, "", "kube-system"}), {"metadata", "uid"});
  AddNodes();
  Settle();
}

void Cluster::AddNodes() {
  const int nodes = store_.Plural("nodes");
  for (int i = 1; i <= options_.nodes; ++i) {
    const std::string name = "node-" + std::to_string(i);
    const json::object amounts{
        {"cpu", "64"}, {"memory", "256Gi"}, {"nvidia.com/gpu", "8"}, {"pods", "110"}};
    const json::object labels{{"kubernetes.io/arch", "amd64"},
                              {"kubernetes.io/hostname", name},
                              {"kubernetes.io/os", "linux"},
                              {"topology.kubernetes.io/zone", "zone-" + std::to_string(i)}};
    const json::array conditions{json::object{{"type", "Ready"},
                                              {"status", "True"},
                                              {"reason", "KubeletReady"},
                                              {"message", "kubelet is posting ready status"},
                                              {"lastHeartbeatTime", Now()},
                                              {"lastTransitionTime", Now()}}};
    Create(nodes, "", {{"metadata", json::object{{"name", name}, {"labels", labels}}}},
           Writer::kSystem);
    json::object node = store_.Object({nodes, "", name});
    node["status"] = json::object{{"capacity", amounts},
                                  {"allocatable", amounts},
                                  {"conditions", conditions},
                                  {"phase", "Running"}};
    Write({nodes, "", name}, std::move(node));
  }
}

std::string Cluster::NewUid() {
  const std::uint64_t high = random_(), low = random_();
  char text[40];
  std::snprintf(text, sizeof(text), "%08x-%04x-4%03x-%04x-%012llx",
                static_cast<unsigned>(high >> 32), static_cast<unsigned>(high >> 16 & 0xffff),
                static_cast<unsigned>(high & 0xfff),
                static_cast<unsigned>(0x8000 | (low >> 48 & 0x3fff)),
                static_cast<unsigned long long>(low & 0xffffffffffffULL));
  return text;
}

std::string Cluster::NewSuffix() {
  static constexpr std::string_view kLetters = "bcdfghjklmnpqrstvwxz2456789";
  std::string text;
  for (int i = 0; i < 5; ++i) text += kLetters[random_() % kLetters.size()];
  return text;
}

Answer Cluster::CheckNamespace(const Resource& resource, const std::string& ns,
                               const std::string& name) {
  if (!resource.namespaced) return {};
  const Key key{store_.Plural("namespaces"), "", ns};
  const Record* record = store_.Find(key);
  if (record == nullptr)
    return NotFound(store_.resources()[static_cast<std::size_t>(key.resource)], ns);
  if (!record->deleting) return {};
  json::object details{{"name", name}, {"kind", resource.plural}};
  details["causes"] =
      json::array{json::object{{"reason", "NamespaceTerminating"},
                               {"message", "namespace " + ns + " is being terminated"},
                               {"field", "metadata.namespace"}}};
  return Failure(403, "Forbidden",
                 resource.qualified() + " \"" + name +
                     "\" is forbidden: unable to create new content in namespace " + ns +
                     " because it is being terminated",
                 std::move(details));
}

Answer Cluster::Create(int resource_index, const std::string& ns, json::object object, Writer who,
                       bool dry_run) {
  const Resource& resource = store_.resources()[static_cast<std::size_t>(resource_index)];
  const std::string kind = Text(object, {"kind"});
  if (!kind.empty() && kind != resource.kind) {
    return BadRequest(kind + " in version \"" + resource.version + "\" cannot be handled as a " +
                      resource.kind);
  }
  if (resource.status && who != Writer::kSystem) object.erase("status");
  json::object& metadata = Child(object, "metadata");
  std::string name = Text(object, {"metadata", "name"});
  if (name.empty() && who == Writer::kSystem) {
    name = Text(object, {"metadata", "generateName"}) + NewSuffix();
    metadata["name"] = name;
  }
  if (const std::string named = Text(object, {"metadata", "namespace"});
      !named.empty() && named != ns) {
    return BadRequest(
        "the namespace of the provided object does not match the namespace sent on the request");
  }
  std::vector<Cause> causes;
  if (name.empty()) {
    causes.push_back({"FieldValueRequired", "Required value: name or generateName is required",
                      "metadata.name"});
  } else if (!IsName(name)) {
    causes.push_back({"FieldValueInvalid",
                      "Invalid value: \"" + name +
                          "\": a lowercase RFC 1123 subdomain must consist of lower case "
                          "alphanumeric characters, '-' or '.'",
                      "metadata.name"});
  }
  if (Answer refused = CheckNamespace(resource, ns, name); !refused.ok()) return refused;
  if (resource.namespaced) metadata["namespace"] = ns;
  const std::string uid = NewUid();
  metadata["uid"] = uid;
  metadata["creationTimestamp"] = Now();
  for (const char* own : {"deletionTimestamp", "deletionGracePeriodSeconds", "generation"})
    metadata.erase(own);
  if (Numbered(resource)) metadata["generation"] = 1;
  Mutate(object, who);
  if (causes.empty()) causes = DefaultAndValidate(resource, object);
  if (!causes.empty()) return Invalid(resource, name, causes);
  const Key key{resource_index, ns, name};
  if (store_.Find(key) != nullptr) return AlreadyExists(resource, name);
  if (dry_run) {
    object["kind"] = resource.kind;
    object["apiVersion"] = resource.api_version();
    return {201, json::serialize(object)};
  }
  return ObjectAnswer(201, store_.Put(key, std::move(object), now_ms(), who == Writer::kTest));
}

void Cluster::Mutate(json::object& object, Writer who) const {
  if (mutation_ == nullptr || who != Writer::kClient) return;
  for (const json::value& operation : *mutation_) {
    json::value changed = object;
    if (ApplyJsonPatch(json::array{operation}, changed) && changed.is_object())
      object = std::move(changed.get_object());
  }
}

Answer Cluster::Replace(const Key& key, json::object object, const std::string& subresource,
                        Writer who, bool dry_run) {
  const Resource& of = resource(key);
  const Record* record = store_.Find(key);
  if (record == nullptr) return NotFound(of, key.name);
  const ObjectPtr seen = store_.View(key);
  const json::object& before = *seen;
  const std::string version = Text(object, {"metadata", "resourceVersion"});
  if (!version.empty() && version != std::to_string(record->version)) {
    return Conflict(of, key.name,
                    "the object has been modified; please apply your changes to the latest version "
                    "and try again");
  }
  if (const std::string uid = Text(object, {"metadata", "uid"});
      !uid.empty() && uid != record->uid) {
    return Invalid(of, key.name,
                   {{"FieldValueInvalid", "Invalid value: \"" + uid + "\": field is immutable",
                     "metadata.uid"}});
  }
  if (subresource == "status") {
    json::object kept = before;
    if (const json::value* status = object.if_contains("status")) kept["status"] = *status;
    object = std::move(kept);
  } else if (of.status) {
    object.erase("status");
    if (const json::value* status = before.if_contains("status")) object["status"] = *status;
  }
  json::object& metadata = Child(object, "metadata");
  const json::object& old = *FindObject(before, {"metadata"});
  for (const char* name : {"uid", "name", "namespace", "creationTimestamp", "deletionTimestamp",
                           "deletionGracePeriodSeconds", "generation", "resourceVersion"}) {
    metadata.erase(name);
    if (const json::value* value = old.if_contains(name)) metadata[name] = *value;
  }
  if (const json::value* list = metadata.if_contains("finalizers");
      list != nullptr && list->is_array() && list->get_array().empty())
    metadata.erase("finalizers");
  if (record->deleting) {
    for (const json::value& one : Items(object, {"metadata", "finalizers"})) {
      if (one.is_string() && !HasFinalizer(before, one.get_string())) {
        return Invalid(
            of, key.name,
            {{"FieldValueForbidden",
              "Forbidden: no new finalizers can be added if the object is being deleted, "
              "found new finalizers []string{\"" +
                  std::string(one.get_string()) + "\"}",
              "metadata.finalizers"}});
      }
    }
  }
  Mutate(object, who);
  if (subresource.empty()) {
    std::vector<Cause> causes = ValidateChange(of, before, object);
    if (of.owned && of.kind != "Namespace" && causes.empty())
      causes = DefaultAndValidate(of, object);
    if (!causes.empty()) return Invalid(of, key.name, causes);
    if (Numbered(of) && !SameSpec(before, object)) BumpGeneration(object);
  }
  object["kind"] = of.kind;
  object["apiVersion"] = of.api_version();
  if (dry_run) return {200, json::serialize(object)};
  if (Same(object, before)) return ObjectAnswer(200, *record);
  if (who == Writer::kClient && record->foreign)
    counts_.foreign_writes.push_back("update " + of.plural + " " + key.ns + "/" + key.name);
  Answer answer;
  const bool last = record->deleting && !Child(object, "metadata").contains("finalizers") &&
                    (of.kind != "Pod" || record->finalizers) && of.kind != "Namespace";
  if (last) {
    Child(object, "metadata")["resourceVersion"] = std::to_string(record->version);
    answer = {200, json::serialize(object)};
    store_.Erase(key);
  } else {
    answer = ObjectAnswer(200, store_.Put(key, std::move(object), now_ms()));
  }
  return answer;
}

Answer Cluster::Delete(const Key& key, const DeleteOptions& options, Writer who) {
  const Resource& of = resource(key);
  const Record* record = store_.Find(key);
  if (record == nullptr) return NotFound(of, key.name);
  Resource by_kind = of;  // the registry names the kind here, not the resource
  by_kind.plural = of.kind;
  if (!options.uid.empty() && options.uid != record->uid) {
    return Conflict(by_kind, key.name,
                    "the UID in the precondition (" + options.uid +
                        ") does not match the UID in record (" + record->uid +
                        "). The object might have been deleted and then recreated");
  }
  if (!options.version.empty() && options.version != std::to_string(record->version)) {
    return Conflict(by_kind, key.name,
                    "the ResourceVersion in the precondition (" + options.version +
                        ") does not match the ResourceVersion in record (" +
                        std::to_string(record->version) + "). The object might have been modified");
  }
  if (who == Writer::kClient && record->foreign)
    counts_.foreign_writes.push_back("delete " + of.plural + " " + key.ns + "/" + key.name);
  json::object object = store_.Object(key);
  json::object& metadata = Child(object, "metadata");
  const auto finalize = [&](const char* finalizer) {
    if (HasFinalizer(object, finalizer)) return;
    json::value& list = metadata["finalizers"];
    if (!list.is_array()) list.emplace_array();
    list.get_array().emplace_back(finalizer);
  };
  if (options.propagation == "Foreground") finalize(kForeground);
  if (options.propagation == "Orphan") finalize(kOrphan);
  std::int64_t grace = 0;
  if (of.kind == "Pod") {
    grace = options.grace_period_s >= 0
                ? options.grace_period_s
                : Number(object, {"spec", "terminationGracePeriodSeconds"}, 30);
  }
  const bool lasts = metadata.contains("finalizers") || of.kind == "Namespace" || grace > 0;
  if (!lasts) {
    const std::string uid = record->uid;
    store_.Erase(key);
    return Succeeded(of, key.name, uid);
  }
  if (!metadata.contains("deletionTimestamp")) {
    metadata["deletionTimestamp"] = TimeText(now_ms() + grace * 1000);
    if (of.kind != "Namespace") metadata["deletionGracePeriodSeconds"] = grace;
    if (Numbered(of)) BumpGeneration(object);
    if (of.kind == "Namespace") Child(object, "status")["phase"] = "Terminating";
  }
  return ObjectAnswer(200, store_.Put(key, std::move(object), now_ms()));
}

void Cluster::Write(const Key& key, json::object object) {
  const Record* record = store_.Find(key);
  if (record == nullptr) return;
  object["kind"] = resource(key).kind;
  object["apiVersion"] = resource(key).api_version();
  const ObjectPtr seen = store_.View(key);
  const json::object& before = *seen;
  if (Same(object, before)) return;
  if (Numbered(resource(key)) && !SameSpec(before, object)) BumpGeneration(object);
  const bool last = record->deleting && record->finalizers &&
                    !Child(object, "metadata").contains("finalizers") &&
                    resource(key).kind != "Namespace";
  if (last) {
    store_.Erase(key);
  } else {
    store_.Put(key, std::move(object), now_ms());
  }
}

void Cluster::Remove(const Key& key, const std::string& propagation) {
  DeleteOptions options;
  options.propagation = propagation;
  Delete(key, options, Writer::kSystem);
}

void Cluster::Tell(const Key& about, const std::string& type, const std::string& reason,
                   const std::string& message) {
  if (!options_.events) return;
  const Record* record = store_.Find(about);
  if (record == nullptr) return;
  const Resource& of = resource(about);
  const std::string component = of.kind == "Pod"   ? "kubelet"
                                : of.kind == "Job" ? "job-controller"
                                                   : "fake-controller";
  json::object involved{{"kind", of.kind},
                        {"namespace", about.ns},
                        {"name", about.name},
                        {"uid", record->uid},
                        {"apiVersion", of.api_version()},
                        {"resourceVersion", std::to_string(record->version)}};
  json::object event{
      {"metadata", json::object{{"name", about.name + "." + NewSuffix() + NewSuffix()}}},
      {"involvedObject", std::move(involved)},
      {"reason", reason},
      {"message", message},
      {"source", json::object{{"component", component}}},
      {"firstTimestamp", Now()},
      {"lastTimestamp", Now()},
      {"count", 1},
      {"type", type},
      {"eventTime", nullptr},
      {"reportingComponent", component},
      {"reportingInstance", ""}};
  Create(store_.Plural("events"), about.ns, std::move(event), Writer::kSystem);
}

void Cluster::SetPodQuota(const std::string& ns, std::int64_t pods) {
  if (pods < 0) {
    pod_quota_.erase(ns);
  } else {
    pod_quota_[ns] = pods;
  }
  const int jobs = store_.Plural("jobs");
  for (const auto& [name, record] : store_.All(jobs)) Enqueue({jobs, name.first, name.second});
}

bool Cluster::PodQuotaLeft(const std::string& ns) const {
  const auto it = pod_quota_.find(ns);
  if (it == pod_quota_.end()) return true;
  const int pods = store_.Plural("pods");
  std::int64_t used = 0;
  for (const auto& [name, record] : store_.All(pods)) used += name.first == ns ? 1 : 0;
  return used < it->second;
}

void Cluster::SetInstalled(int resource, bool installed) {
  if (installed) {
    missing_.erase(resource);
  } else {
    missing_.insert(resource);
  }
}

const std::vector<Cluster::Node>& Cluster::Nodes() {
  if (nodes_) return *nodes_;
  nodes_.emplace();
  for (const auto& [name, record] : store_.All(store_.Plural("nodes"))) {
    const json::object object = OwnObject(*record.text);
    const json::object* status = FindObject(object, {"status"});
    const json::object* labels = FindObject(object, {"metadata", "labels"});
    Node node{name.second, "", {}, false};
    if (labels != nullptr) node.labels = *labels;
    node.zone = Text(node.labels, {"topology.kubernetes.io/zone"});
    node.open = status != nullptr && ConditionHolds(*status, "Ready") &&
                !Flag(object, {"spec", "unschedulable"});
    nodes_->push_back(std::move(node));
  }
  return *nodes_;
}

void Cluster::Wipe() {
  nodes_.reset();
  store_.Clear();
  queue_.clear();
  queued_.clear();
  timers_ = {};
  active_.clear();
  Begin();
}

void Cluster::Restore(const ObjectStore::Snapshot& snapshot) {
  nodes_.reset();
  store_.Load(snapshot);
  queue_.clear();
  queued_.clear();
  timers_ = {};
  active_.clear();
  for (std::size_t i = 0; i < snapshot.tables.size(); ++i) {
    for (const auto& [name, record] : snapshot.tables[i]) {
      const Key key{static_cast<int>(i), name.first, name.second};
      Change change;
      change.key = key;
      change.text = record.text;
      change.labels = record.labels;
      change.ended = record.ended;
      CountPod(change);
      Enqueue(key);
    }
  }
}

}  // namespace muster::fake

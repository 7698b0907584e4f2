#include "tests/support/fake_member/object_store.h"

#include "schedd/base/check.h"

namespace muster::fake {
namespace {

constexpr std::size_t kSeen = 512;  // objects kept as such beside their text

LabelsPtr LabelsOf(const json::object& object) {
  Labels labels;
  if (const json::object* all = FindObject(object, {"metadata", "labels"})) {
    for (const auto& [name, value] : *all) {
      if (value.is_string()) labels.emplace_back(name, value.get_string());
    }
  }
  return std::make_shared<const Labels>(std::move(labels));
}

}  // namespace

ObjectStore::ObjectStore(std::vector<Resource> resources, std::size_t history)
    : resources_(std::move(resources)),
      history_(history),
      tables_(resources_.size()),
      changes_(resources_.size()),
      forgotten_(resources_.size(), 0),
      watchers_(resources_.size()) {
  for (const Resource& resource : resources_) prefixes_.push_back(resource.prefix());
}

int ObjectStore::ResourceOf(const std::string& group, const std::string& plural) const {
  for (std::size_t i = 0; i < resources_.size(); ++i) {
    if (resources_[i].plural == plural && resources_[i].group == group) return static_cast<int>(i);
  }
  return -1;
}

int ObjectStore::Plural(const std::string& plural) const {
  for (std::size_t i = 0; i < resources_.size(); ++i) {
    if (resources_[i].plural == plural) return static_cast<int>(i);
  }
  return -1;
}

const Record* ObjectStore::Find(const Key& key) const {
  const Table& table = All(key.resource);
  const auto it = table.find({key.ns, key.name});
  return it == table.end() ? nullptr : &it->second;
}

Record* ObjectStore::FindMutable(const Key& key) { return const_cast<Record*>(Find(key)); }

ObjectPtr ObjectStore::View(const Key& key) const {
  const Record* record = Find(key);
  MUSTER_CHECK(record != nullptr);
  if (record->seen == nullptr) Keep(key, *record, OwnObject(*record->text));
  return record->seen;
}

void ObjectStore::Keep(const Key& key, const Record& record, json::object object) const {
  record.seen = std::make_shared<const json::object>(std::move(object));
  kept_.push_back(key);
  if (kept_.size() <= kSeen) return;
  const Key oldest = std::move(kept_.front());
  kept_.pop_front();
  if (const Record* other = Find(oldest); other != nullptr && other != &record) other->seen.reset();
}

const Key* ObjectStore::ByUid(const std::string& uid) const {
  const auto it = by_uid_.find(uid);
  return it == by_uid_.end() ? nullptr : &it->second;
}

std::vector<Key> ObjectStore::ChildrenOf(const std::string& uid) const {
  const auto it = children_.find(uid);
  if (it == children_.end()) return {};
  return {it->second.begin(), it->second.end()};
}

void ObjectStore::Index(const Key& key, const Record& record) {
  by_uid_[record.uid] = key;
  for (const std::string& owner : record.owners) children_[owner].insert(key);
}

void ObjectStore::Unindex(const Key& key, const Record& record) {
  by_uid_.erase(record.uid);
  for (const std::string& owner : record.owners) {
    const auto it = children_.find(owner);
    if (it == children_.end()) continue;
    it->second.erase(key);
    if (it->second.empty()) children_.erase(it);
  }
}

const Record& ObjectStore::Put(const Key& key, json::object object, std::int64_t now_ms,
                               bool foreign) {
  Record& record = tables_[static_cast<std::size_t>(key.resource)][{key.ns, key.name}];
  Change change;
  change.type = record.text == nullptr ? ChangeType::kAdded : ChangeType::kModified;
  change.key = key;
  change.before = record.text;
  change.labels_before = record.labels;
  change.ended_before = record.ended;
  if (record.text == nullptr) {
    record.foreign = foreign;
    record.created_ms = now_ms;
  } else {
    Unindex(key, record);
  }
  record.version = ++version_;
  if (record.born == 0) record.born = record.version;
  json::object& metadata = Child(object, "metadata");
  metadata["resourceVersion"] = std::to_string(record.version);
  record.uid = Text(object, {"metadata", "uid"});
  const bool deleting = metadata.contains("deletionTimestamp");
  if (deleting && !record.deleting) record.deleted_ms = now_ms;
  record.deleting = deleting;
  record.finalizers = metadata.contains("finalizers");
  record.owners.clear();
  for (const json::value& owner : Items(object, {"metadata", "ownerReferences"})) {
    if (owner.is_object()) record.owners.push_back(Text(owner.get_object(), {"uid"}));
  }
  const std::string phase = Text(object, {"status", "phase"});
  record.ended = phase == "Succeeded" || phase == "Failed";
  record.labels = LabelsOf(object);
  if (change.labels_before != nullptr && *record.labels == *change.labels_before)
    record.labels = change.labels_before;
  object.erase("kind");
  object.erase("apiVersion");
  record.text = std::make_shared<const std::string>(
      prefixes_[static_cast<std::size_t>(key.resource)] + json::serialize(object).substr(1));
  Index(key, record);
  change.version = record.version;
  change.text = record.text;
  change.labels = record.labels;
  change.uid = record.uid;
  change.owners = record.owners;
  change.ended = record.ended;
  object["kind"] = resources_[static_cast<std::size_t>(key.resource)].kind;
  object["apiVersion"] = resources_[static_cast<std::size_t>(key.resource)].api_version();
  Keep(key, record, std::move(object));
  Announce(std::move(change));
  return record;
}

void ObjectStore::Erase(const Key& key) {
  Table& table = tables_[static_cast<std::size_t>(key.resource)];
  const auto it = table.find({key.ns, key.name});
  MUSTER_CHECK(it != table.end());
  const Record record = std::move(it->second);
  table.erase(it);
  Unindex(key, record);
  json::object object = OwnObject(*record.text);
  Child(object, "metadata")["resourceVersion"] = std::to_string(++version_);
  object.erase("kind");
  object.erase("apiVersion");
  Change change;
  change.type = ChangeType::kDeleted;
  change.key = key;
  change.version = version_;
  change.text = std::make_shared<const std::string>(
      prefixes_[static_cast<std::size_t>(key.resource)] + json::serialize(object).substr(1));
  change.before = record.text;
  change.labels = change.labels_before = record.labels;
  change.uid = record.uid;
  change.owners = record.owners;
  change.ended = change.ended_before = record.ended;
  Announce(std::move(change));
}

void ObjectStore::Announce(Change change) {
  const auto resource = static_cast<std::size_t>(change.key.resource);
  const auto shared = std::make_shared<const Change>(std::move(change));
  std::deque<ChangePtr>& kept = changes_[resource];
  kept.push_back(shared);
  while (kept.size() > history_) {
    forgotten_[resource] = kept.front()->version;
    kept.pop_front();
  }
  if (listener_) listener_(*shared);
  for (Watcher* watcher : watchers_[resource]) watcher->OnChange(shared);
}

void ObjectStore::AddWatcher(int resource, Watcher* watcher) {
  watchers_[static_cast<std::size_t>(resource)].insert(watcher);
}

void ObjectStore::RemoveWatcher(int resource, Watcher* watcher) {
  watchers_[static_cast<std::size_t>(resource)].erase(watcher);
}

bool ObjectStore::ChangesSince(int resource, std::int64_t version,
                               std::vector<ChangePtr>* out) const {
  const auto index = static_cast<std::size_t>(resource);
  if (version < forgotten_[index]) return false;
  for (const ChangePtr& change : changes_[index]) {
    if (change->version > version) out->push_back(change);
  }
  return true;
}

void ObjectStore::Compact() {
  for (auto& kept : changes_) kept.clear();
  for (std::int64_t& version : forgotten_) version = version_;
}

void ObjectStore::Clear() {
  tables_.assign(resources_.size(), Table());
  by_uid_.clear();
  children_.clear();
  kept_.clear();
  version_ = 1;
  Compact();
}

void ObjectStore::Load(const Snapshot& snapshot) {
  tables_ = snapshot.tables;
  version_ = snapshot.version;
  kept_.clear();
  by_uid_.clear();
  children_.clear();
  for (std::size_t i = 0; i < tables_.size(); ++i) {
    for (const auto& [name, record] : tables_[i])
      Index({static_cast<int>(i), name.first, name.second}, record);
  }
  Compact();
}

}  // namespace muster::fake

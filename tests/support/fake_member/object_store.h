// ObjectStore: the objects of a fake member, their versions, and the changes since. Objects are
// kept as text, because 100,000 of them must fit into memory.
#pragma once

#include <compare>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "tests/support/fake_member/json_tools.h"
#include "tests/support/fake_member/resources.h"
#include "tests/support/fake_member/selectors.h"

namespace muster::fake {

/// The address of an object; `resource` is an index into the store's resources.
struct Key {
  int resource = 0;
  std::string ns, name;
  auto operator<=>(const Key&) const = default;
};

using TextPtr = std::shared_ptr<const std::string>;
using LabelsPtr = std::shared_ptr<const Labels>;
using ObjectPtr = std::shared_ptr<const json::object>;

/// A stored object. The fields after `ended` are not part of its text and survive rewrites.
struct Record {
  TextPtr text;
  mutable ObjectPtr seen;  // `text` parsed, if it was used recently
  std::string uid;
  std::int64_t version = 0;
  LabelsPtr labels;
  bool deleting = false;
  bool finalizers = false;
  std::vector<std::string> owners;  // uids
  bool ended = false;               // status.phase is Succeeded or Failed
  bool foreign = false;             // made by the test, not through the API
  bool counted = false;             // a pod whose end is counted in its Job's status
  std::int64_t created_ms = 0, started_ms = 0, deleted_ms = 0;
  std::int64_t born = 0;  // the version it was created under
};

enum class ChangeType { kAdded, kModified, kDeleted };

struct Change {
  ChangeType type = ChangeType::kAdded;
  Key key;
  std::int64_t version = 0;
  TextPtr text, before;  // before: nullptr when added
  LabelsPtr labels, labels_before;
  std::string uid;
  std::vector<std::string> owners;  // uids
  bool ended = false, ended_before = false;
};
using ChangePtr = std::shared_ptr<const Change>;

class Watcher {
 public:
  virtual ~Watcher() = default;
  virtual void OnChange(const ChangePtr& change) = 0;
};

/// Not thread-safe.
class ObjectStore {
 public:
  using Table = std::map<std::pair<std::string, std::string>, Record>;  // by namespace and name

  /// Keeps the last `history` changes of each resource for watches.
  ObjectStore(std::vector<Resource> resources, std::size_t history);

  const std::vector<Resource>& resources() const { return resources_; }
  /// The index of a resource by its plural name; -1 if there is none.
  int ResourceOf(const std::string& group, const std::string& plural) const;
  int Plural(const std::string& plural) const;

  const Record* Find(const Key& key) const;
  Record* FindMutable(const Key& key);
  const Table& All(int resource) const { return tables_[static_cast<std::size_t>(resource)]; }
  /// The current object. Later writes do not change the returned value.
  ObjectPtr View(const Key& key) const;
  json::object Object(const Key& key) const { return *View(key); }
  /// The address of the object with a uid; nullptr if there is none.
  const Key* ByUid(const std::string& uid) const;
  /// The objects that name the uid as an owner.
  std::vector<Key> ChildrenOf(const std::string& uid) const;

  /// Writes an object, new or changed, under the next version.
  const Record& Put(const Key& key, json::object object, std::int64_t now_ms, bool foreign = false);
  void Erase(const Key& key);

  std::int64_t version() const { return version_; }
  /// Called after each change, before watchers.
  void SetListener(std::function<void(const Change&)> listener) { listener_ = std::move(listener); }
  void AddWatcher(int resource, Watcher* watcher);
  void RemoveWatcher(int resource, Watcher* watcher);
  /// Changes of a resource after a version; false if some of them are no longer kept.
  bool ChangesSince(int resource, std::int64_t version, std::vector<ChangePtr>* out) const;

  /// Drops all kept changes: older versions answer 410.
  void Compact();
  /// Removes everything; versions start again.
  void Clear();

  struct Snapshot {
    std::vector<Table> tables;
    std::int64_t version = 0;
  };
  Snapshot Save() const { return {tables_, version_}; }
  /// Returns to a snapshot, versions included. Watchers are not notified.
  void Load(const Snapshot& snapshot);

 private:
  void Index(const Key& key, const Record& record);
  void Unindex(const Key& key, const Record& record);
  void Announce(Change change);
  void Keep(const Key& key, const Record& record, json::object object) const;

  std::vector<Resource> resources_;
  std::vector<std::string> prefixes_;
  std::size_t history_;
  std::vector<Table> tables_;
  std::int64_t version_ = 1;
  mutable std::deque<Key> kept_;  // keys of records that may have `seen`, the oldest first
  std::unordered_map<std::string, Key> by_uid_;
  std::unordered_map<std::string, std::set<Key>> children_;
  std::vector<std::deque<ChangePtr>> changes_;
  std::vector<std::int64_t> forgotten_;  // the highest version that is no longer in changes_
  std::vector<std::set<Watcher*>> watchers_;
  std::function<void(const Change&)> listener_;
};

}  // namespace muster::fake

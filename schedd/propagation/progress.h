// WorkProgress: how far one Work has come on its member, beyond what its row says: which calls are
// due now and in which order, and how the answers change the row. No thread, no clock of its own.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "backends/member_objects.h"
#include "schedd/propagation/step/render.h"

namespace muster::propagation {

/// An object of a member, whatever the version of its kind: group, kind, namespace, name.
using ObjectId = std::tuple<std::string, std::string, std::string, std::string>;
ObjectId IdOf(const ResourceRef& ref);

/// The member as the propagator sees it.
struct MemberState {
  /// It is configured.
  bool known = false;
  /// Its health is known; false right after a start.
  bool heard = false;
  /// It is healthy.
  bool answers = false;
  /// It takes configuration objects.
  bool takes = false;
  bool operator==(const MemberState&) const = default;
  bool reachable() const { return known && heard && answers && takes; }
};

/// One call to a member.
struct ObjectCall {
  bool remove = false;
  ObjectId id;
  ObjectOrder order;      // unless `remove`
  ObjectRemoval removal;  // if `remove`
};

/// Rendered snapshots by their hash, which covers all of their content: works that have the same
/// one share it.
using RenderedShelf = std::map<std::string, std::weak_ptr<const RenderedSnapshot>>;

/// The progress of one work. Not thread-safe.
class WorkProgress {
 public:
  /// Takes the row as it is now. The manifests are rendered again only if the row's hash has
  /// changed and `shelf` has none of that hash.
  void Follow(const WorkPtr& row, const WorldView& world, const MemberState& member, Monotonic now,
              RenderedShelf* shelf);
  /// The member may have changed its objects: all of them are looked at again.
  void Stir(Monotonic now);

  /// At most `most` calls that are due, in order; none for an object that is `busy`. Removals come
  /// first, then one wave after the other.
  std::vector<ObjectCall> Due(Monotonic now, std::size_t most,
                              const std::function<bool(const ObjectId&)>& busy);
  /// When Due may give calls again; only an answer or Follow can make it earlier.
  Monotonic next() const { return next_; }

  /// Take the answers to calls of Due.
  void Applied(const ObjectCall& call, const Result<ObjectOutcome>& answer, Monotonic now,
               WallTime wall);
  void Removed(const ObjectCall& call, const Result<bool>& answer, Monotonic now);

  /// True if there may be something to record.
  bool touched() const { return touched_; }
  /// The row with all answers; equal to the row if there is nothing to record.
  Work Fold(WallTime wall) const;
  /// The result of Fold is on its way to the store; then one of the two others must follow.
  void Recording();
  void Recorded();
  void NotRecorded();

  const WorkPtr& row() const { return row_; }
  std::size_t size() const { return items_.size(); }

 private:
  struct Item {
    // Hash of the manifest that the object should have; "": the object should go.
    std::string wanted;
    ApplyStrategy strategy;
    // The member has answered for `wanted` and `strategy`.
    bool tried = false;
    bool gone = false;
    // The member does not let it be removed.
    bool refused = false;
    // In a row.
    int failures = 0;
    // When the object is called again.
    Monotonic next;
    // What the member says is wrong, or that it does not answer; "": nothing.
    std::string trouble;
  };

  void Render(const WorldView& world, RenderedShelf* shelf);
  std::shared_ptr<const RenderedSnapshot> Made(const WorldView& world) const;
  void Want(const WorldView& world, Monotonic now);
  const RenderedObject* RenderedOf(const ObjectId& id) const;
  const ManifestStatus& StatusOf(const ObjectId& id, const ManifestStatus& recorded) const;
  bool Offer(const ObjectId& id, Monotonic now,
             const std::function<bool(const ObjectId&)>& busy) const;
  void AddApplies(Monotonic now, std::size_t most, const std::function<bool(const ObjectId&)>& busy,
                  std::vector<ObjectCall>* calls);
  void AddRemovals(Monotonic now, std::size_t most,
                   const std::function<bool(const ObjectId&)>& busy,
                   std::vector<ObjectCall>* calls);
  ObjectCall RemovalOf(const ManifestStatus& manifest) const;
  void SetNext(Monotonic now);
  std::string Waits() const;
  bool IsSynced(const Work& work) const;

  WorkPtr row_;
  MemberState member_;
  // The configuration that Follow saw last.
  ConfigPtr config_;
  // What row_->rendered is the hash of; null: not known.
  std::shared_ptr<const RenderedSnapshot> rendered_;
  std::map<ObjectId, const RenderedObject*> rendered_by_id_;
  // One for each of row_->manifests.
  std::map<ObjectId, Item> items_;
  // Answers that are not recorded yet, and those that a command under way records.
  std::map<ObjectId, ManifestStatus> latest_, recording_;
  bool has_strategy_ = false;
  ApplyStrategy strategy_;
  Monotonic next_;
  bool touched_ = false;
};

}  // namespace muster::propagation

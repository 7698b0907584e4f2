// WorkProgress: how far one work is on its member, beside what its row says: what is to be called
// now, in which order, and what the answers make of the row. No thread, no clock of its own.
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

/// An object of a member in whatever version of its kind: group, kind, namespace, name.
using ObjectId = std::tuple<std::string, std::string, std::string, std::string>;
ObjectId IdOf(const ResourceRef& ref);

/// The member as the propagator sees it.
struct MemberState {
  bool known = false;    // it is configured
  bool heard = false;    // it is known how it is: not right after a start
  bool answers = false;  // it is healthy
  bool takes = false;    // it has an API of objects
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

/// By Rendered::hash, which says all of it: members that get the same share one.
using RenderedShelf = std::map<std::string, std::weak_ptr<const Rendered>>;

/// Of one work. Not thread-safe.
class WorkProgress {
 public:
  /// Takes the row as it is now. What is rendered is made again only if the row says that it is
  /// something else, and no other work has it on `shelf`.
  void Follow(const WorkPtr& row, const WorldView& world, const MemberState& member, Monotonic now,
              RenderedShelf* shelf);
  /// The member may be other than it was: everything is looked at again.
  void Stir(Monotonic now);

  /// At most `most` calls that are due, in order; never one whose object is `busy`. Removals come
  /// first, then one wave after the other.
  std::vector<ObjectCall> Due(Monotonic now, std::size_t most,
                              const std::function<bool(const ObjectId&)>& busy);
  /// When Due may have something again; before that only an answer or Follow changes that.
  Monotonic next() const { return next_; }

  /// Answers to calls of Due.
  void Applied(const ObjectCall& call, const Result<ObjectOutcome>& answer, Monotonic now,
               WallTime wall);
  void Removed(const ObjectCall& call, const Result<bool>& answer, Monotonic now);

  /// There may be something to record.
  bool touched() const { return touched_; }
  /// The row with all answers; equal to the row if there is nothing to record.
  Work Fold(WallTime wall) const;
  /// What Fold gave is on its way to the store; then either of the two.
  void Recording();
  void Recorded();
  void NotRecorded();

  const WorkPtr& row() const { return row_; }
  std::size_t size() const { return items_.size(); }

 private:
  struct Item {
    std::string wanted;  // hash of the manifest that it is to have; "": it is to go
    ApplyStrategy strategy;
    bool tried = false;  // the member has answered for `wanted` and `strategy`
    bool gone = false;
    bool refused = false;  // the member does not let it be removed
    int failures = 0;      // in a row
    Monotonic next;        // it is called again then
    std::string trouble;   // what the member says, or that it says nothing; "": it is well
  };

  void Render(const WorldView& world, RenderedShelf* shelf);
  std::shared_ptr<const Rendered> Made(const WorldView& world) const;
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
  ConfigPtr config_;                          // that was followed last
  std::shared_ptr<const Rendered> rendered_;  // of row_->rendered; null: not known
  std::map<ObjectId, const RenderedObject*> rendered_by_id_;
  std::map<ObjectId, Item> items_;  // of everything in row_->manifests
  std::map<ObjectId, ManifestStatus> latest_, recording_;
  bool has_strategy_ = false;
  ApplyStrategy strategy_;
  Monotonic next_;
  bool touched_ = false;
};

}  // namespace muster::propagation

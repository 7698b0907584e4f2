// LeftoverCall: lists the possible children, decides which are ours, deletes them, and repeats that
// until nothing is left.
//
// Which are ours. Labels can be copied, so they are not enough. The candidates are the child kinds
// of the object's kind and pods, by the label that names the owner, with the attempt's labels in
// their pod template. A candidate without a controller is ours if a label names the owner's uid, or
// at least its name begins with the owner's. A candidate with a controller is ours if that
// controller is the gone object or is itself ours. The second rule makes more objects ours, so
// Judge runs until nothing changes.
//
// What is deleted. Only candidates without a controller and not yet being deleted: the garbage
// collector deletes the rest once their owner is gone. Pods are deleted by a deletecollection with
// a field selector, because the member's user needs that permission anyway. Services that a
// controller made beside the children stay.
#include "backends/k8s/leftovers.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "backends/k8s/api_calls.h"
#include "backends/k8s/member_json.h"
#include "backends/k8s/patches.h"
#include "backends/k8s/status/reader.h"
#include "schedd/model/member_labels.h"
#include "schedd/telemetry/log.h"
#include "schedd/text/percent.h"

namespace muster::k8s {
namespace {

constexpr std::int64_t kLeftoverLookMs = 50, kLeftoverLookMaxMs = 1000;

// A kind that the controller of `parent` creates between the object and the pods; `label` names the
// parent object.
struct ChildKind {
  std::string_view parent, api_version, kind, resource, label;
};
constexpr std::array<ChildKind, 4> kChildKinds = {{
    {"JobSet", "batch/v1", "Job", "jobs", "jobset.sigs.k8s.io/jobset-name"},
    {"RayJob", "ray.io/v1", "RayCluster", "rayclusters", "ray.io/originated-from-cr-name"},
    {"RayJob", "batch/v1", "Job", "jobs", "ray.io/originated-from-cr-name"},
    {"LeaderWorkerSet", "apps/v1", "StatefulSet", "statefulsets",
     "leaderworkerset.sigs.k8s.io/name"},
}};
constexpr ChildKind kPods{"", "v1", "Pod", "pods", ""};

// Labels that hold the owner's uid; they stay when the owner is gone.
constexpr std::array<std::string_view, 2> kOwnerUidLabels = {"batch.kubernetes.io/controller-uid",
                                                             "jobset.sigs.k8s.io/jobset-uid"};

// An object that the gone object may have left.
struct Leftover {
  const ChildKind* kind = nullptr;
  // `controller`: the uid of the object that controls it; "" if it has none.
  std::string name, uid, controller;
  bool deleting = false;
  // Its labels or name show that it belonged to the gone object.
  bool proven = false;
};

// The pod template that carries our labels; a pod is its own template.
Reader TemplateOf(const ChildKind& kind, const Reader& object) {
  if (kind.kind == "Pod") return object;
  return kind.kind == "RayCluster" ? object["spec"]["headGroupSpec"]["template"]
                                   : object["spec"]["template"];
}

class LeftoverCall : public std::enable_shared_from_this<LeftoverCall> {
 public:
  LeftoverCall(SessionPtr session, LeftoverOrder order, Callback<std::string> done)
      : session_(std::move(session)), order_(std::move(order)), done_(std::move(done)) {
    begun_ = session_->Monotone();
    ours_.insert(order_.uid);
    for (const ChildKind& kind : kChildKinds) {
      if (kind.parent == order_.object.kind) kinds_.push_back(&kind);
    }
    kinds_.push_back(&kPods);
  }

  void Look() {
    things_.clear();
    ListNext(0);
  }

 private:
  // Lists one kind after another, then judges.
  void ListNext(std::size_t at) {
    if (at >= kinds_.size()) return Judge();
    const ChildKind& kind = *kinds_[at];
    Collection collection;
    collection.path = CollectionPath(kind.api_version, kind.resource, order_.object.ns);
    collection.label_selector = kind.label.empty()
                                    ? SelectorOf(order_.attempt)
                                    : std::string(kind.label) + "=" + order_.object.name;
    ListCallbacks callbacks;
    const auto self = shared_from_this();
    callbacks.on_start = [self, &kind] {
      std::erase_if(self->things_, [&](const Leftover& one) { return one.kind == &kind; });
    };
    callbacks.on_page = [self, &kind](const json::array& items) {
      for (const json::value& item : items) {
        if (item.is_object()) self->Take(kind, item.get_object());
      }
    };
    callbacks.done = [self, &kind, at](const Result<std::string>& listed) {
      // A kind that is not installed, or that we may not list, is skipped: its pods are listed too.
      const bool passable =
          listed.ok() || (&kind != &kPods && (listed.error().code == Code::kNotFound ||
                                              listed.error().code == Code::kPermissionDenied));
      if (!passable) return self->Fail(listed.error());
      self->ListNext(at + 1);
    };
    ListCollection(session_->client(), collection, std::move(callbacks));
  }

  // Reads one listed object, unless it does not have the attempt's labels.
  void Take(const ChildKind& kind, const json::object& object) {
    const Reader root(object);
    const json::object* marked = TemplateOf(kind, root).Object();
    if (marked == nullptr || ReadAttemptLabels(*marked) != order_.attempt) return;
    const Reader metadata = root["metadata"];
    Leftover thing;
    thing.kind = &kind;
    thing.name = metadata["name"].Text(kNameBytes);
    thing.uid = metadata["uid"].Text(kNameBytes);
    thing.deleting = metadata["deletionTimestamp"].present();
    metadata["ownerReferences"].Each([&](const Reader& owner) {
      if (owner["controller"].IsTrue()) thing.controller = owner["uid"].Text(kNameBytes);
    });
    thing.proven = IsProven(metadata, thing.name);
    const std::string_view phase = root["status"]["phase"].View();
    const bool over = kind.kind == "Pod" && (phase == "Succeeded" || phase == "Failed");
    // A pod that has ended takes no room. It is deleted with the rest, but not waited for.
    if (over && thing.deleting) return;
    things_.push_back(std::move(thing));
  }

  // Whether labels or name show that the object belonged to the gone one.
  bool IsProven(const Reader& metadata, const std::string& name) const {
    const Reader labels = metadata["labels"];
    if (labels[kInstanceLabel].present() && labels[kInstanceLabel].View() != session_->instance()) {
      return false;
    }
    for (const std::string_view key : kOwnerUidLabels) {
      if (const std::string_view owner = labels[key].View(); !owner.empty())
        return owner == order_.uid || ours_.contains(std::string(owner));
    }
    return name.starts_with(order_.object.name + "-");
  }

  // Finds the objects that are ours (see the top of this file) and deletes those that need it. If
  // none is ours, the call ends.
  void Judge() {
    std::vector<Leftover> ours;
    for (bool more = true; more;) {
      more = false;
      for (Leftover& thing : things_) {
        const bool taken =
            thing.controller.empty() ? thing.proven : ours_.contains(thing.controller);
        if (!taken || thing.uid.empty()) continue;
        ours_.insert(thing.uid);
        ours.push_back(std::move(thing));
        thing.uid.clear();
        more = true;
      }
    }
    if (ours.empty()) return Answer(found_);
    const bool orphans = std::any_of(ours.begin(), ours.end(),
                                     [](const Leftover& one) { return one.controller.empty(); });
    if (orphans && found_.empty()) {
      found_ = Described(ours);
      Log(LogLevel::kWarning, "k8s", "orphans_removed",
          {{"cluster", session_->member()},
           {"err", order_.object.ns + "/" + order_.object.name + " left behind " + found_}});
    }
    left_ = Described(ours);
    std::erase_if(ours,
                  [](const Leftover& one) { return !one.controller.empty() || one.deleting; });
    Delete(std::make_shared<std::vector<Leftover>>(std::move(ours)));
  }

  // Deletes one object after another; objects with an owner are left to the garbage collector.
  void Delete(const std::shared_ptr<std::vector<Leftover>>& orphans) {
    if (orphans->empty()) return Wait();
    const Leftover thing = std::move(orphans->back());
    orphans->pop_back();
    ApiRequest request;
    request.method = "DELETE";
    if (thing.kind->kind == "Pod") {
      // By deletecollection, which needs no permission beyond those of a removal.
      request.target = CollectionPath("v1", "pods", order_.object.ns) +
                       "?labelSelector=" + PercentEncode(SelectorOf(order_.attempt)) +
                       "&fieldSelector=" + PercentEncode("metadata.name=" + thing.name);
    } else {
      request.target =
          ObjectPath(thing.kind->api_version, thing.kind->resource, order_.object.ns, thing.name);
      request.content_type = kJson;
      request.body = DeleteBody(thing.uid, -1);
    }
    request.urgency = Urgency::kRelease;
    request.timeout_ms = kCallMs;
    session_->client().Send(std::move(request), [self = shared_from_this(),
                                                 orphans](const Result<ApiResponse>& answer) {
      if (!answer.ok()) return self->Fail(answer.error());
      if (answer->status == 403) self->refused_ = ErrorOf(*answer).detail;
      self->Delete(orphans);
    });
  }

  // Looks again after a pause that doubles, until wait_ms is over.
  void Wait() {
    const std::int64_t waited = (session_->Monotone() - begun_) / kNanosPerMilli;
    if (session_->closed() || waited >= order_.wait_ms) {
      const std::string what = order_.object.kind + " " + order_.object.ns + "/" +
                               order_.object.name + " is gone and has left " + left_ + " behind";
      return Fail(Unavailable(refused_.empty() ? what + ", which are still being removed"
                                               : what + ", which cannot be removed: " + refused_));
    }
    const std::int64_t delay =
        std::exchange(delay_ms_, std::min(kLeftoverLookMaxMs, delay_ms_ * 2));
    session_->Later(delay, [self = shared_from_this()] { self->Look(); });
  }

  // "2 Jobs and 4 pods".
  static std::string Described(const std::vector<Leftover>& things) {
    std::map<std::string_view, std::size_t> counts;
    for (const Leftover& one : things) ++counts[one.kind->kind];
    std::string text;
    for (const auto& [kind, count] : counts) {
      if (!text.empty()) text += " and ";
      text += std::to_string(count) + " " + (kind == "Pod" ? "pod" : std::string(kind)) +
              (count == 1 ? "" : "s");
    }
    return text;
  }

  // Every request here may be repeated: kUnknown becomes kUnavailable.
  void Fail(Error error) {
    if (error.code == Code::kUnknown) error.code = Code::kUnavailable;
    done_(std::move(error));
  }
  void Answer(std::string found) { done_(std::move(found)); }

  const SessionPtr session_;
  const LeftoverOrder order_;
  const Callback<std::string> done_;
  Monotonic begun_;
  std::vector<const ChildKind*> kinds_;
  // What the present round of lists has found.
  std::vector<Leftover> things_;
  // Uids of all objects that were found to be ours, in any round.
  std::set<std::string> ours_;
  // What was found without an owner; what is left now; why a deletion was refused.
  std::string found_, left_, refused_;
  std::int64_t delay_ms_ = kLeftoverLookMs;
};

}  // namespace

std::string SelectorOf(const AttemptLabels& attempt) {
  return std::string(kJobUidLabel) + "=" + attempt.job_uid.ToString() + "," +
         std::string(kAttemptLabel) + "=" + std::to_string(attempt.attempt);
}

void RemoveLeftovers(const SessionPtr& session, LeftoverOrder order, Callback<std::string> done) {
  std::make_shared<LeftoverCall>(session, std::move(order), std::move(done))->Look();
}

}  // namespace muster::k8s

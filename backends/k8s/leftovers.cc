#include "backends/k8s/leftovers.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "backends/k8s/member_json.h"
#include "backends/k8s/patches.h"
#include "backends/k8s/status/reader.h"
#include "schedd/model/member_labels.h"
#include "schedd/telemetry/log.h"
#include "schedd/text/percent.h"

namespace muster::k8s {
namespace {

constexpr char kJson[] = "application/json";
constexpr std::int64_t kCallMs = 15'000;
constexpr std::int64_t kLookMs = 50, kLookMaxMs = 1000;

// What a controller makes between its object and the pods, and the label that names the object.
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

// Labels that name the owner's uid, and outlive the owner.
constexpr std::array<std::string_view, 2> kOwnerUidLabels = {"batch.kubernetes.io/controller-uid",
                                                             "jobset.sigs.k8s.io/jobset-uid"};

std::string SelectorOf(const AttemptLabels& attempt) {
  return std::string(kJobUidLabel) + "=" + attempt.job_uid.ToString() + "," +
         std::string(kAttemptLabel) + "=" + std::to_string(attempt.attempt);
}

struct Thing {
  const ChildKind* kind = nullptr;
  std::string name, uid, controller;  // controller: its uid; "" if nothing controls it
  bool deleting = false;
  bool proven = false;  // of those without a controller: it was ours
};

// The pod template in which our labels stand.
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
      std::erase_if(self->things_, [&](const Thing& one) { return one.kind == &kind; });
    };
    callbacks.on_page = [self, &kind](const json::array& items) {
      for (const json::value& item : items) {
        if (item.is_object()) self->Take(kind, item.get_object());
      }
    };
    callbacks.done = [self, &kind, at](const Result<std::string>& listed) {
      // A kind that is not there, or that we may not see: its pods tell.
      const bool passable =
          listed.ok() || (&kind != &kPods && (listed.error().code == Code::kNotFound ||
                                              listed.error().code == Code::kPermissionDenied));
      if (!passable) return self->Fail(listed.error());
      self->ListNext(at + 1);
    };
    ListCollection(session_->client(), collection, std::move(callbacks));
  }

  void Take(const ChildKind& kind, const json::object& object) {
    const Reader root(object);
    const json::object* marked = TemplateOf(kind, root).Object();
    if (marked == nullptr || ReadAttemptLabels(*marked) != order_.attempt) return;
    const Reader metadata = root["metadata"];
    Thing thing;
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
    // A pod that has ended takes no room, but is removed with the rest.
    if (over && thing.deleting) return;
    things_.push_back(std::move(thing));
  }

  // Anybody may copy labels: the owner's uid, or at least its name, must be told too.
  bool IsProven(const Reader& metadata, const std::string& name) const {
    const Reader labels = metadata["labels"];
    if (labels[kInstanceLabel].present() &&
        labels[kInstanceLabel].View() != session_->instance()) {
      return false;
    }
    for (const std::string_view key : kOwnerUidLabels) {
      if (const std::string_view owner = labels[key].View(); !owner.empty())
        return owner == order_.uid || ours_.contains(std::string(owner));
    }
    return name.starts_with(order_.object.name + "-");
  }

  // Ours is what nothing controls any more, and what belongs to the object or to something ours.
  void Judge() {
    std::vector<Thing> ours;
    for (bool more = true; more;) {
      more = false;
      for (Thing& thing : things_) {
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
    const bool orphans = std::any_of(ours.begin(), ours.end(), [](const Thing& one) {
      return one.controller.empty();
    });
    if (orphans && found_.empty()) {
      found_ = Described(ours);
      Log(LogLevel::kWarning, "k8s", "orphans_removed",
          {{"cluster", session_->member()}, {"err", order_.object.ns + "/" + order_.object.name +
                                                        " left behind " + found_}});
    }
    left_ = Described(ours);
    std::erase_if(ours,
                  [](const Thing& one) { return !one.controller.empty() || one.deleting; });
    Delete(std::make_shared<std::vector<Thing>>(std::move(ours)));
  }

  // The garbage collector sees to what has an owner.
  void Delete(const std::shared_ptr<std::vector<Thing>>& orphans) {
    if (orphans->empty()) return Wait();
    const Thing thing = std::move(orphans->back());
    orphans->pop_back();
    ApiRequest request;
    request.method = "DELETE";
    if (thing.kind->kind == "Pod") {
      // By deletecollection: a member's user need not have more for it.
      request.target = CollectionPath("v1", "pods", order_.object.ns) + "?labelSelector=" +
                       PercentEncode(SelectorOf(order_.attempt)) +
                       "&fieldSelector=" + PercentEncode("metadata.name=" + thing.name);
    } else {
      request.target = ObjectPath(thing.kind->api_version, thing.kind->resource, order_.object.ns,
                                  thing.name);
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

  void Wait() {
    const std::int64_t waited = (session_->Monotone() - begun_) / kNanosPerMilli;
    if (session_->closed() || waited >= order_.wait_ms) {
      const std::string what = order_.object.kind + " " + order_.object.ns + "/" +
                               order_.object.name + " is gone and has left " + left_ + " behind";
      return Fail(Unavailable(refused_.empty() ? what + ", which are still being removed"
                                               : what + ", which cannot be removed: " + refused_));
    }
    const std::int64_t delay = std::exchange(delay_ms_, std::min(kLookMaxMs, delay_ms_ * 2));
    session_->Later(delay, [self = shared_from_this()] { self->Look(); });
  }

  static std::string Described(const std::vector<Thing>& things) {
    std::map<std::string_view, std::size_t> counts;
    for (const Thing& one : things) ++counts[one.kind->kind];
    std::string text;
    for (const auto& [kind, count] : counts) {
      if (!text.empty()) text += " and ";
      text += std::to_string(count) + " " + (kind == "Pod" ? "pod" : std::string(kind)) +
              (count == 1 ? "" : "s");
    }
    return text;
  }

  // What was not answered may be asked again.
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
  std::vector<Thing> things_;   // of the look under way
  std::set<std::string> ours_;  // uids, of all looks
  std::string found_, left_, refused_;
  std::int64_t delay_ms_ = kLookMs;
};

}  // namespace

void RemoveLeftovers(const SessionPtr& session, LeftoverOrder order, Callback<std::string> done) {
  std::make_shared<LeftoverCall>(session, std::move(order), std::move(done))->Look();
}

}  // namespace muster::k8s

// The calls of MemberQueues on one member: create a Workload, remove it, list all of this
// installation.
//
// The version of Kueue's API is looked for first (v1beta2, then v1beta1) and remembered per member.
// A 404 for a Workload path makes the member forget it, because Kueue may have been upgraded or
// removed.
//
// EnsureCopy. Kueue ends a Workload whose pod templates differ from its job's in any field, also in
// defaults that the API server fills in. So the job is created with dryRun=All first, and the pod
// sets are read from the answer. The dry run uses a short name of its own: the job's name may still
// be taken by an earlier attempt, and names of pods are made of it and must not get too long. The
// Workload is then created; if the name exists, it must be our copy (ReadCopy).
#include "backends/k8s/copy_calls.h"

#include <utility>

#include "backends/k8s/api_calls.h"
#include "backends/k8s/batch_pods.h"
#include "backends/k8s/copy_json.h"
#include "backends/k8s/dependents.h"
#include "backends/k8s/member_json.h"
#include "backends/k8s/patches.h"
#include "backends/k8s/status/reader.h"
#include "schedd/model/member_queues.h"
#include "schedd/text/json.h"
#include "schedd/text/percent.h"

namespace muster::k8s {
namespace {

// The versions of Workload that are tried, in this order.
constexpr const char* kVersions[] = {"v1beta2", "v1beta1"};
constexpr std::string_view kWorkloads = "workloads";
constexpr int kCopyTries = 3;
constexpr std::size_t kUidInName = 8;

Error NoQueue(const Session& session) {
  return Error{Code::kFailedPrecondition,
               "member cluster " + session.member() + " runs no queue of its own"};
}

std::string WorkloadPath(const std::string& version, const std::string& ns,
                         const std::string& name) {
  return ObjectPath(std::string(kKueueGroup) + version, kWorkloads, ns, name);
}

void Send(const SessionPtr& session, const char* method, std::string target, std::string body,
          Callback<ApiResponse> done) {
  ApiRequest request;
  request.method = method;
  request.target = std::move(target);
  if (!body.empty()) request.content_type = kJson;
  request.body = std::move(body);
  request.urgency = Urgency::kRead;
  request.timeout_ms = kCallMs;
  session->client().Send(std::move(request), std::move(done));
}

// Calls `then` with the version of Workload that the member serves. The answer is remembered; a
// member that served none is asked again each time. `at` is the version to try next.
void FindVersion(const SessionPtr& session, const QueueVersionsPtr& versions, std::size_t at,
                 Callback<std::string> then) {
  if (at == 0) {
    if (const auto down = session->Down()) return then(*down);
    const auto known = versions->Of(session->member());
    if (known && !known->empty()) return then(*known);
  }
  if (at == std::size(kVersions)) {
    versions->Note(session->member(), "");
    return then(NoQueue(*session));
  }
  Send(session, "GET", GroupPath(std::string(kKueueGroup) + kVersions[at]), "",
       [session, versions, at, then = std::move(then)](Result<ApiResponse> answer) {
    if (!answer.ok()) return then(answer.error());
    if (!answer->ok() && answer->status != 404) return then(ErrorOf(*answer));
    bool served = false;
    if (const auto body = ParseMemberJson(answer->body); answer->ok() && body.ok()) {
      Reader(&*body)["resources"].Each([&](const Reader& resource) {
        served = served || resource["name"].View() == kWorkloads;
      });
    }
    if (!served) return FindVersion(session, versions, at + 1, then);
    versions->Note(session->member(), kVersions[at]);
    then(std::string(kVersions[at]));
  });
}

class EnsureCopyCall : public std::enable_shared_from_this<EnsureCopyCall> {
 public:
  EnsureCopyCall(SessionPtr session, QueueVersionsPtr versions, CopyOrder order,
                 Callback<Done> done)
      : session_(std::move(session)),
        versions_(std::move(versions)),
        order_(std::move(order)),
        done_(std::move(done)),
        name_(CopyName(order_.key.job_uid, order_.key.attempt)) {}

  // The kind of the job must be installed too, since the winner's job is created there.
  void Start() {
    if (const auto down = session_->Down()) return done_(*down);
    kind_ = KindByApi(order_.object.api_version, order_.object.kind);
    if (kind_ == nullptr) {
      return done_(Error{Code::kInvalidArgument,
                         "the kind " + order_.object.kind + " does not run on Kubernetes members"});
    }
    if (const auto lacks = session_->Lacks(*kind_)) return done_(*lacks);
    FindVersion(session_, versions_, 0, [self = shared_from_this()](Result<std::string> version) {
      if (!version.ok()) return self->done_(version.error());
      self->version_ = *version;
      self->Complete();
    });
  }

 private:
  // Asks the API server by a dry run how it would complete the job's object.
  void Complete() {
    auto object = ParseJson(order_.object.json);
    if (!object.ok() || !object->is_object())
      return done_(InvalidArgument("its rendered object cannot be read"));
    if (const Status images = CheckImages(*object); !images.ok()) return done_(images.error());
    AddBatchParts(&*object);
    json::object& root = object->get_object();
    if (const auto* known = session_->priority_classes()) DropPriorityClasses(*known, &root);
    root["metadata"].as_object()["name"] =
        "m-" + order_.key.job_uid.ToString().substr(0, kUidInName);
    Ask("POST", CollectionPath(*kind_, order_.ns) + "?dryRun=All", WriteJson(root),
        &EnsureCopyCall::Completed);
  }

  // Creates the Workload with the pod sets of the completed object.
  void Completed(const ApiResponse& answer) {
    if (LacksNamespace(answer)) return MakeNamespace();
    if (!answer.ok()) return done_(ErrorOf(answer));
    auto pod_sets = order_.pod_sets_of(answer.body);
    if (!pod_sets.ok()) return done_(pod_sets.error());
    auto manifest = CopyManifest(order_, *pod_sets, version_, session_->instance());
    if (!manifest.ok()) return done_(manifest.error());
    Ask("POST", CollectionPath(std::string(kKueueGroup) + version_, kWorkloads, order_.ns),
        WriteJson(*manifest), &EnsureCopyCall::Created);
  }

  void MakeNamespace() {
    if (++tries_ > kCopyTries) return done_(Unavailable("namespace " + order_.ns + " goes away"));
    EnsureNamespace(session_, order_.ns, [self = shared_from_this()](Result<Done> made) {
      if (!made.ok()) return self->done_(made.error());
      self->Complete();
    });
  }

  // A 404 means that this version of Workload is no longer served: it is looked for again next
  // time.
  void Created(const ApiResponse& answer) {
    if (answer.ok()) return done_(Done{});
    const Error error = ErrorOf(answer);
    if (error.code != Code::kAlreadyExists) {
      if (answer.status == 404) versions_->Note(session_->member(), std::nullopt);
      return done_(answer.status == 404 ? Unavailable(error.detail) : error);
    }
    Ask("GET", WorkloadPath(version_, order_.ns, name_), "", &EnsureCopyCall::Found);
  }

  // The name is taken: by our copy, or by a foreign Workload.
  void Found(const ApiResponse& answer) {
    if (answer.status == 404) return done_(Unavailable("it was removed at the same time"));
    if (!answer.ok()) return done_(ErrorOf(answer));
    const auto body = ParseMemberJson(answer.body);
    const auto copy = body.ok() && body->is_object()
                          ? ReadCopy(body->get_object(), session_->member(), session_->instance())
                          : std::nullopt;
    if (!copy) {
      return done_(AlreadyExists("a Workload " + order_.ns + "/" + name_ +
                                 " that is not Muster's exists on member cluster " +
                                 session_->member()));
    }
    if (copy->deleting) return done_(Unavailable("an earlier one is still being removed"));
    done_(Done{});
  }

  void Ask(const char* method, std::string target, std::string body,
           void (EnsureCopyCall::*then)(const ApiResponse&)) {
    Send(session_, method, std::move(target), std::move(body),
         [self = shared_from_this(), then](Result<ApiResponse> answer) {
      if (!answer.ok()) return self->done_(answer.error());
      (self.get()->*then)(*answer);
    });
  }

  const SessionPtr session_;
  const QueueVersionsPtr versions_;
  const CopyOrder order_;
  const Callback<Done> done_;
  const std::string name_;
  const KindInfo* kind_ = nullptr;
  std::string version_;
  int tries_ = 0;
};

}  // namespace

std::optional<std::string> QueueVersions::Of(const std::string& member) const {
  MutexLock lock(mutex_);
  const auto found = versions_.find(member);
  if (found == versions_.end()) return std::nullopt;
  return found->second;
}

void QueueVersions::Note(const std::string& member, std::optional<std::string> version) {
  MutexLock lock(mutex_);
  if (version) {
    versions_[member] = std::move(*version);
  } else {
    versions_.erase(member);
  }
}

void EnsureCopyOn(const SessionPtr& session, const QueueVersionsPtr& versions, CopyOrder order,
                  Callback<Done> done) {
  std::make_shared<EnsureCopyCall>(session, versions, std::move(order), std::move(done))->Start();
}

void RemoveCopyOn(const SessionPtr& session, const QueueVersionsPtr& versions, CopyRemoval removal,
                  Callback<Done> done) {
  FindVersion(
      session, versions, 0,
      [session, removal = std::move(removal), done = std::move(done)](Result<std::string> version) {
    // A member that serves no Workloads has no copy.
    if (!version.ok() && version.error().code == Code::kFailedPrecondition) return done(Done{});
    if (!version.ok()) return done(version.error());
    Send(session, "DELETE", WorkloadPath(*version, removal.ns, removal.name),
         DeleteBody(removal.uid, -1), [done](Result<ApiResponse> answer) {
           if (!answer.ok()) return done(answer.error());
           // 409: another Workload has the name by now.
           const bool gone = answer->status == 404 || answer->status == 409;
           if (!answer->ok() && !gone) return done(ErrorOf(*answer));
           done(Done{});
         });
      });
}

void ListCopiesOn(const SessionPtr& session, const QueueVersionsPtr& versions,
                  Callback<std::vector<MemberCopy>> done) {
  FindVersion(session, versions, 0,
              [session, versions, done = std::move(done)](Result<std::string> version) {
    if (!version.ok()) return done(version.error());
    auto copies = std::make_shared<std::vector<MemberCopy>>();
    Collection collection;
    collection.path = CollectionPath(std::string(kKueueGroup) + *version, kWorkloads, "");
    collection.label_selector = std::string(kOriginLabel) + "=" + session->instance();
    ListCallbacks callbacks;
    callbacks.on_start = [copies] { copies->clear(); };
    callbacks.on_page = [copies, session](const json::array& items) {
      for (const json::value& item : items) {
        if (!item.is_object()) continue;
        auto copy = ReadCopy(item.get_object(), session->member(), session->instance());
        if (copy) copies->push_back(std::move(*copy));
      }
    };
    callbacks.done = [copies, session, versions, version, done](Result<std::string> listed) {
      if (listed.ok()) return done(std::move(*copies));
      if (listed.error().code != Code::kNotFound) return done(listed.error());
      // The member may serve another version by now; the next list finds out.
      versions->Note(session->member(), std::nullopt);
      done(Unavailable("Workloads " + *version + " are not served any more"));
    };
    ListCollection(session->client(), std::move(collection), std::move(callbacks));
  });
}

}  // namespace muster::k8s

// EnsureCall: a chain of requests that makes an attempt's object exist and, if the order says so,
// run. Any prefix of the chain may already have been carried out by an earlier call, so every step
// accepts what it finds.
//
// Without `expected_uid`:
// 1. Create the object (POST), suspended unless the order wants it to run at once. Then its
//    dependents must exist before it.
// 2. If the answer is 409, a time-out or a 5xx, look the name up. Ours means: instance and job uid
//    in the labels, and our finalizer or sequence annotation, because labels are easily copied. The
//    same attempt is adopted; a lower one is removed and awaited, then step 1 again; a higher one
//    means that this daemon is stale. Any other object of the name is foreign and stays (rule D13).
// 3. If an admission webhook has stripped our labels, no list would ever find the object: it is
//    removed again and the job refused.
// 4. Unless the order wants it suspended: create the dependents, owned by the object, then release
//    it.
//
// With `expected_uid`: release or resize that object and create nothing.
//
// The release is one JSON Patch that tests uid and generation (rule D11). A failed test (422) is
// looked at again: if the object's controller has written in between, the patch is repeated with
// the new version, kEnsureTries times at most.
//
// A 403 is judged (refusals.h): if the credentials lack the permission, it says nothing about the
// job, which is tried again. A read that fails proves nothing: what was unknown before stays so.
#include "backends/k8s/ensure_call.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "backends/k8s/api_calls.h"
#include "backends/k8s/batch_pods.h"
#include "backends/k8s/dependents.h"
#include "backends/k8s/member_json.h"
#include "backends/k8s/patches.h"
#include "backends/k8s/refusals.h"
#include "backends/k8s/removal.h"
#include "backends/k8s/status/reader.h"
#include "schedd/text/json.h"

namespace muster::k8s {
namespace {

// How long the removal of an earlier attempt is awaited.
constexpr std::int64_t kReplaceMs = 20'000;
constexpr int kEnsureTries = 6;

// Whether `now` differs from `before` in the version that a release tests.
bool Touched(const ObjectState& before, const ObjectState& now) {
  if (now.generation > 0) return now.generation != before.generation;
  return now.resource_version != before.resource_version;
}

// Of the sentence of a 403 on a create: a quota that is exceeded, or not counted yet; a namespace
// that is going away; admission plugins of a server that has just started. Kubernetes has no field
// that tells them from a refusal for good.
bool MayBePermittedLater(const std::string& sentence) {
  constexpr const char* kSigns[] = {"exceeded quota", "status unknown for quota",
                                    "being terminated", "not yet ready to handle request"};
  return std::any_of(std::begin(kSigns), std::end(kSigns),
                     [&](const char* sign) { return sentence.find(sign) != std::string::npos; });
}

class EnsureCall : public std::enable_shared_from_this<EnsureCall> {
 public:
  EnsureCall(SessionPtr session, DispatchOrder order, Callback<RemoteRef> done)
      : session_(std::move(session)),
        order_(std::move(order)),
        done_(std::move(done)),
        attempt_{order_.key.job_uid, order_.key.attempt},
        object_{order_.object.api_version, order_.object.kind, order_.object.ns,
                order_.object.name} {}

  // Checks that the session is ready and the kind is served; a kind that is lacking is looked for
  // once.
  void Start() {
    if (const auto down = session_->Down()) return Answer(*down);
    kind_ = KindByApi(object_.api_version, object_.kind);
    if (kind_ == nullptr) {
      return Answer(Error{Code::kInvalidArgument, "the kind " + object_.kind + " of " +
                                                      object_.api_version +
                                                      " does not run on Kubernetes members"});
    }
    if (!session_->Lacks(*kind_)) return Begin();
    session_->Seek(*kind_, [self = shared_from_this()] {
      if (const auto lacks = self->session_->Lacks(*self->kind_)) return self->Answer(*lacks);
      self->Begin();
    });
  }

 private:
  // Prepares the manifest and chooses between creating and releasing.
  void Begin() {
    auto parsed = ParseJson(order_.object.json);
    if (!parsed.ok() || !parsed->is_object())
      return Answer(Error{Code::kInvalidArgument, "its rendered object cannot be read"});
    rendered_ = std::move(*parsed);
    if (!order_.expected_uid.empty()) return StartRelease();
    if (const Status images = CheckImages(rendered_); !images.ok()) return Answer(images.error());
    if (const auto* known = session_->priority_classes())
      DropPriorityClasses(*known, &rendered_.get_object());
    AddBatchParts(&rendered_);
    Decorate(order_.sequence, !order_.suspended, &rendered_.get_object());
    if (order_.suspended) return Create();
    // The pods start with the create, so their dependents come first. They have no owner yet; the
    // object becomes their owner afterwards (Adopted).
    Dependents("", &EnsureCall::Create);
  }

  // --- creating the object

  void Create() {
    Send("POST", CollectionPath(*kind_, object_.ns), WriteJson(rendered_), kJson, Urgency::kCreate,
         &EnsureCall::Created);
  }

  // What may change is kUnavailable though the member forbids it (MayBePermittedLater); other
  // refusals are final.
  void Created(Result<ApiResponse> answer) {
    if (!answer.ok()) {
      if (answer.error().code != Code::kUnknown) return Answer(answer.error());
      return LookUp(answer.error());
    }
    if (answer->ok()) return Made(*answer);
    if (LacksNamespace(*answer)) return MakeNamespace();
    const Error error = ErrorOf(*answer);
    if (error.code == Code::kAlreadyExists) return LookUp(error);
    if (answer->status >= 500) return LookUp(error);
    if (answer->status != 403) return Answer(error);
    Judge("create", error, [self = shared_from_this()](const Error& judged) {
      const bool later =
          judged.code == Code::kPermissionDenied && MayBePermittedLater(judged.detail);
      self->Answer(later ? Unavailable(judged.detail) : judged);
    });
  }

  void MakeNamespace() {
    if (++tries_ > kEnsureTries)
      return Answer(Unavailable("namespace " + object_.ns + " goes away"));
    EnsureNamespace(session_, object_.ns, [self = shared_from_this()](Result<Done> made) {
      if (!made.ok()) return self->Answer(made.error());
      self->Create();
    });
  }

  // The object was created: checks that our labels survived the admission webhooks.
  void Made(const ApiResponse& answer) {
    MemberDocument body(answer.body);
    if (!body.ok() || !body->is_object())
      return LookUp(Error{Code::kUnknown, "the member's answer cannot be read"});
    state_ = ReadObject(*kind_, body->get_object());
    if (state_.attempt != attempt_ || !IsOfInstance(*session_, body->get_object())) {
      return Stripped();
    }
    session_->NoteMade(state_);
    Adopted();
  }

  // An admission webhook has removed our labels. No list would find the object again, so it is
  // removed.
  void Stripped() {
    RemovalOrder removal;
    removal.attempt = attempt_;
    removal.object = object_;
    removal.expected_uid = state_.uid;
    removal.wait_ms = kReplaceMs;
    RemoveObject(session_, std::move(removal),
                 [self = shared_from_this()](Result<RemovalResult> gone) {
      if (!gone.ok()) return self->Answer(gone.error());
      self->Answer(Error{Code::kFailedPrecondition,
                         "the member removes Muster's labels from what is created there"});
    });
  }

  // --- an object has the name already

  // Reads the object by name. `why` is the error of the write; it is the answer if no object is
  // found.
  void LookUp(Error why) {
    why_ = std::move(why);
    Send("GET", Path(), "", "", Urgency::kCreate, &EnsureCall::Found);
  }

  // Decides by the marks of the object that has the name (step 2 above).
  void Found(Result<ApiResponse> answer) {
    if (!answer.ok()) return StaysOpen(why_.detail);
    if (answer->status == 404) {
      // The create was not carried out, or a late one will meet our next try under the same name:
      // trying again is safe.
      if (why_.code == Code::kAlreadyExists && ++tries_ <= kEnsureTries) return Create();
      return Answer(Unavailable(why_.detail));
    }
    if (answer->status == 403) {
      return Judge("get", ErrorOf(*answer), [self = shared_from_this()](const Error& judged) {
        self->StaysOpen(judged.detail);
      });
    }
    if (!answer->ok()) return StaysOpen(ErrorOf(*answer).detail);
    const auto body = ParseMemberJson(answer->body);
    if (!body.ok() || !body->is_object()) return StaysOpen("the member's answer cannot be read");
    state_ = ReadObject(*kind_, body->get_object());
    const bool ours = IsMadeHere(*session_, body->get_object(), state_) && state_.attempt &&
                      state_.attempt->job_uid == attempt_.job_uid;
    if (!ours) {
      return Answer(AlreadyExists("a " + object_.kind + " " + object_.ns + "/" + object_.name +
                                  " that is not Muster's exists on member cluster " +
                                  session_->member()));
    }
    if (state_.attempt->attempt > attempt_.attempt) {
      return done_(Aborted("attempt " + std::to_string(state_.attempt->attempt) +
                           " of the job is on the member: this one is stale"));
    }
    if (state_.attempt->attempt < attempt_.attempt) return Replace();
    session_->NoteMade(state_);
    // An object that runs already may have been created with another size.
    const bool runs = !state_.suspended || state_.released;
    if (runs && !order_.suspended && order_.scale > 0) return Resize(*body);
    Adopted();
  }

  // Whether the object was created remains unknown.
  void StaysOpen(const std::string& detail) {
    session_->NoteDoubt();
    Answer(Error{Code::kUnknown, detail});
  }

  // Removes an earlier attempt of the job, waits until it is gone, and creates ours.
  void Replace() {
    if (++tries_ > kEnsureTries)
      return Answer(Unavailable("earlier attempts come again and again"));
    RemovalOrder removal;
    removal.attempt = *state_.attempt;
    removal.object = object_;
    removal.expected_uid = state_.uid;
    removal.wait_ms = kReplaceMs;
    RemoveObject(session_, std::move(removal),
                 [self = shared_from_this()](Result<RemovalResult> gone) {
      if (!gone.ok()) return self->Answer(gone.error());
      self->Create();
    });
  }

  // The object of this attempt exists: goes on with its dependents and its release.
  void Adopted() {
    if (order_.scale > 0) session_->ScaleOf(state_.uid) = order_.scale;
    if (order_.suspended) return Succeed();
    if (state_.suspended && !state_.released) return Dependents(state_.uid, &EnsureCall::Release);
    Dependents(state_.uid, &EnsureCall::Succeed);
  }

  // --- releasing it

  // The object exists as `expected_uid`. If its version is known it is patched without a read
  // before.
  void StartRelease() {
    state_.uid = order_.expected_uid;
    state_.suspended = true;
    const auto known = session_->VersionOf(order_.expected_uid);
    if (order_.scale > 0 || !known) return Look();
    state_.resource_version = known->resource_version;
    state_.generation = known->generation;
    Dependents(state_.uid, &EnsureCall::Release);
  }

  // Ends the suspension, or hands the object over to the member's own queue.
  void Release() {
    if (session_->closed()) return Answer(Unavailable("the member is being connected anew"));
    const Preconditions when{order_.expected_uid.empty() ? state_.uid : order_.expected_uid,
                             state_.resource_version, state_.generation};
    const MemberQueueEntry& queue = order_.member_queue;
    Send("PATCH", Path(),
         queue.workload.empty() ? ReleasePatch(*kind_, rendered_, when)
                                : HandOverPatch(queue.local_queue, queue.workload, when),
         kJsonPatch, Urgency::kRelease, &EnsureCall::Patched);
  }

  // The answer to a release or a resize.
  void Patched(Result<ApiResponse> answer) {
    if (!answer.ok()) {
      if (answer.error().code != Code::kUnknown) return Answer(answer.error());
      why_ = answer.error();
      return Look();
    }
    if (answer->ok()) {
      if (order_.scale > 0) session_->ScaleOf(state_.uid) = order_.scale;
      return Succeed();
    }
    if (answer->status == 422 && TakeNewer()) return Release();
    why_ = ErrorOf(*answer);
    // 422 is a failed test or a refusal of the content; a read of the object tells which.
    if (answer->status == 404 || answer->status == 409 || answer->status == 422 ||
        answer->status >= 500) {
      return Look();
    }
    if (answer->status != 403) return Answer(why_);
    Judge("patch", why_,
          [self = shared_from_this()](const Error& judged) { self->Answer(judged); });
  }

  // True if the cache has a newer version of the object, still suspended: its controller has
  // written since the create, and the watch has reported that. Then the release can be repeated
  // without a read.
  bool TakeNewer() {
    const auto cache = session_->cache();
    const auto known = cache == nullptr ? std::nullopt : cache->Find(state_.uid);
    if (!known || !known->suspended || known->released || order_.scale > 0) return false;
    if (!Touched(state_, *known) || ++tries_ > kEnsureTries) return false;
    state_.resource_version = known->resource_version;
    state_.generation = known->generation;
    return true;
  }

  void Look() { Send("GET", Path(), "", "", Urgency::kRelease, &EnsureCall::Looked); }

  // Decides by the object as it is: gone, replaced, already running, or to be released once more.
  void Looked(Result<ApiResponse> answer) {
    if (!answer.ok()) return NotSeen(answer.error());
    if (answer->status == 404) return Answer(NotFound("its object is gone from the member"));
    if (answer->status == 403) {
      return Judge("get", ErrorOf(*answer),
                   [self = shared_from_this()](const Error& judged) { self->NotSeen(judged); });
    }
    if (!answer->ok()) return NotSeen(ErrorOf(*answer));
    auto body = ParseMemberJson(answer->body);
    if (!body.ok() || !body->is_object())
      return NotSeen(Unavailable("the member's answer cannot be read"));
    const ObjectState tested = std::move(state_);
    state_ = ReadObject(*kind_, body->get_object());
    if (state_.uid != tested.uid)
      return Answer(NotFound("another object has its name on the member"));
    // The version has not changed, so the patch was refused for its content.
    const bool refused = why_.code != Code::kOk && !Touched(tested, state_);
    if (!state_.suspended || state_.released) {
      if (refused && order_.scale > 0 && why_.code != Code::kUnknown) return Answer(why_);
      return Resize(*body);
    }
    if (refused) return Answer(why_);
    if (++tries_ > kEnsureTries) return Answer(Unavailable("its object changes all the time"));
    Dependents(state_.uid, &EnsureCall::Release);
  }

  // The object could not be read: whether it was patched is as unknown as before. No failed read is
  // a refusal of the job.
  void NotSeen(Error error) {
    if (error.code == Code::kPermissionDenied) error.code = Code::kUnavailable;
    if (why_.code == Code::kUnknown) error.code = Code::kUnknown;
    Answer(std::move(error));
  }

  // --- an elastic job's size

  // Gives an object that runs the pod counts of the order, if the order's scale is newer.
  void Resize(const json::value& live) {
    if (order_.scale == 0) return Succeed();
    std::int64_t& known = session_->ScaleOf(state_.uid);
    // A newer order has been carried out already.
    if (order_.scale <= known) return Succeed();
    const auto patch = ResizePatch(*kind_, live, rendered_,
                                   {state_.uid, state_.resource_version, state_.generation});
    if (!patch) {
      known = order_.scale;
      return Succeed();
    }
    if (++tries_ > kEnsureTries) return Answer(Unavailable("its object changes all the time"));
    Send("PATCH", Path(), *patch, kJsonPatch, Urgency::kRelease, &EnsureCall::Patched);
  }

  // --- shared by the steps

  // Makes the dependents exist, then goes on with `then`. With the object's uid they get the object
  // as owner, so that the member's garbage collector deletes them with it.
  void Dependents(const std::string& uid, void (EnsureCall::*then)()) {
    if (order_.dependents.empty() || (ensured_ && *ensured_ == uid)) return (this->*then)();
    ensured_ = uid;
    EnsureDependents(session_, order_.dependents, object_, uid,
                     [self = shared_from_this(), then](Result<Done> made) {
      if (!made.ok()) return self->Answer(made.error());
      (self.get()->*then)();
    });
  }

  // `refusal` is that of a 403 to a request with this verb.
  void Judge(const char* verb, Error refusal, std::function<void(Error)> then) {
    JudgeRefusal(session_, RightTo(verb, kind_->api_version, kind_->resource, object_.ns),
                 std::move(refusal), std::move(then));
  }

  std::string Path() const { return ObjectPath(*kind_, object_.ns, object_.name); }

  void Send(const char* method, std::string path, std::string body, const char* type,
            Urgency urgency, void (EnsureCall::*then)(Result<ApiResponse>)) {
    ApiRequest request;
    request.method = method;
    request.target = std::move(path);
    request.timeout_ms = body.empty() ? kCallMs : kWriteMs;
    if (!body.empty()) request.content_type = type;
    request.body = std::move(body);
    request.urgency = urgency;
    request.permit = order_.permit;
    session_->client().Send(std::move(request),
                            [self = shared_from_this(), then](Result<ApiResponse> answer) {
      (self.get()->*then)(std::move(answer));
    });
  }

  void Succeed() {
    RemoteRef ref;
    ref.remote_uid = state_.uid;
    ref.incarnation = session_->incarnation();
    ref.suspended = order_.suspended && state_.suspended;
    Answer(std::move(ref));
  }

  // kAborted is left to Found: it says that a later attempt is there (rule D8). A conflict with
  // somebody's write, as of a ResourceQuota that counts many creates at once, is tried again.
  void Answer(Result<RemoteRef> result) {
    if (!result.ok() && result.error().code == Code::kAborted)
      return done_(Unavailable(result.error().detail));
    done_(std::move(result));
  }

  const SessionPtr session_;
  const DispatchOrder order_;
  const Callback<RemoteRef> done_;
  const AttemptLabels attempt_;
  const RemoteObject object_;
  const KindInfo* kind_ = nullptr;
  json::value rendered_;
  // The object as last seen.
  ObjectState state_;
  // The error that is answered if nothing better is found out.
  Error why_{Code::kOk, ""};
  // Set once the dependents exist: the uid of their owner, or "".
  std::optional<std::string> ensured_;
  int tries_ = 0;
};

}  // namespace

void EnsureObject(const SessionPtr& session, DispatchOrder order, Callback<RemoteRef> done) {
  std::make_shared<EnsureCall>(session, std::move(order), std::move(done))->Start();
}

}  // namespace muster::k8s

#include "backends/k8s/ensure_call.h"

#include <utility>

#include "backends/k8s/dependents.h"
#include "backends/k8s/member_json.h"
#include "backends/k8s/patches.h"
#include "backends/k8s/removal.h"
#include "backends/k8s/status/reader.h"
#include "schedd/text/json.h"

namespace muster::k8s {
namespace {

constexpr char kJson[] = "application/json";
constexpr char kJsonPatch[] = "application/json-patch+json";
constexpr std::int64_t kWriteMs = 20'000, kLookMs = 15'000;
constexpr std::int64_t kReplaceMs = 20'000;  // an earlier attempt's removal is waited for so long
constexpr int kTries = 6;

// Whether `now` differs from `before` in what a release tests.
bool Touched(const ObjectState& before, const ObjectState& now) {
  if (now.generation > 0) return now.generation != before.generation;
  return now.resource_version != before.resource_version;
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
  void Begin() {
    auto parsed = ParseJson(order_.object.json);
    if (!parsed.ok() || !parsed->is_object())
      return Answer(Error{Code::kInvalidArgument, "its rendered object cannot be read"});
    rendered_ = std::move(*parsed);
    if (!order_.expected_uid.empty()) return StartRelease();
    if (const Status images = CheckImages(rendered_); !images.ok()) return Answer(images.error());
    if (const auto* known = session_->priority_classes())
      DropPriorityClasses(*known, &rendered_.get_object());
    Decorate(order_.sequence, !order_.suspended, &rendered_.get_object());
    if (order_.suspended) return Create();
    // One call makes it run: what its pods need comes first, and is given to it afterwards.
    Dependents("", &EnsureCall::Create);
  }

  // --- making it

  void Create() {
    Send("POST", CollectionPath(*kind_, object_.ns), WriteJson(rendered_), kJson, Urgency::kCreate,
         &EnsureCall::Created);
  }

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
    const bool may_be_mended = ReadApiStatus(*answer).reason == "Forbidden" &&
                               (error.detail.find("exceeded quota") != std::string::npos ||
                                error.detail.find("being terminated") != std::string::npos);
    if (may_be_mended) return Answer(Unavailable(error.detail));
    Answer(error);
  }

  void MakeNamespace() {
    if (++tries_ > kTries) return Answer(Unavailable("namespace " + object_.ns + " goes away"));
    EnsureNamespace(session_, object_.ns, [self = shared_from_this()](Result<Done> made) {
      if (!made.ok()) return self->Answer(made.error());
      self->Create();
    });
  }

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

  // An admission webhook took our labels away: nobody would ever find it again.
  void Stripped() {
    RemovalOrder removal;
    removal.attempt = attempt_;
    removal.object = object_;
    removal.expected_uid = state_.uid;
    removal.wait_ms = kReplaceMs;
    RemoveObject(session_, std::move(removal), [self = shared_from_this()](Result<Removed> gone) {
      if (!gone.ok()) return self->Answer(gone.error());
      self->Answer(Error{Code::kFailedPrecondition,
                         "the member removes Muster's labels from what is created there"});
    });
  }

  // --- what has the name

  // `why`: what the write was answered; told on if nothing is found.
  void LookUp(Error why) {
    why_ = std::move(why);
    Send("GET", Path(), "", "", Urgency::kCreate, &EnsureCall::Found);
  }

  void Found(Result<ApiResponse> answer) {
    if (!answer.ok()) return StaysOpen(why_.detail);
    if (answer->status == 404) {
      // It was not made, or will be later, under this name: another try is safe.
      if (why_.code == Code::kAlreadyExists && ++tries_ <= kTries) return Create();
      return Answer(Unavailable(why_.detail));
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
      return Answer(Aborted("attempt " + std::to_string(state_.attempt->attempt) +
                            " of the job is on the member: this one is stale"));
    }
    if (state_.attempt->attempt < attempt_.attempt) return Replace();
    session_->NoteMade(state_);
    // What runs already may have been made with another size.
    const bool runs = !state_.suspended || state_.released;
    if (runs && !order_.suspended && order_.scale > 0) return Resize(*body);
    Adopted();
  }

  // Whether it was made is as open as before.
  void StaysOpen(const std::string& detail) {
    session_->NoteDoubt();
    Answer(Error{Code::kUnknown, detail});
  }

  void Replace() {
    if (++tries_ > kTries) return Answer(Unavailable("earlier attempts come again and again"));
    RemovalOrder removal;
    removal.attempt = *state_.attempt;
    removal.object = object_;
    removal.expected_uid = state_.uid;
    removal.wait_ms = kReplaceMs;
    RemoveObject(session_, std::move(removal), [self = shared_from_this()](Result<Removed> gone) {
      if (!gone.ok()) return self->Answer(gone.error());
      self->Create();
    });
  }

  void Adopted() {
    if (order_.scale > 0) session_->ScaleOf(state_.uid) = order_.scale;
    if (order_.suspended) return Succeed();
    if (state_.suspended && !state_.released) return Dependents(state_.uid, &EnsureCall::Release);
    Dependents(state_.uid, &EnsureCall::Succeed);
  }

  // --- letting it run

  void StartRelease() {
    state_.uid = order_.expected_uid;
    state_.suspended = true;
    const auto known = session_->VersionOf(order_.expected_uid);
    if (order_.scale > 0 || !known) return Look();
    state_.resource_version = known->resource_version;
    state_.generation = known->generation;
    Dependents(state_.uid, &EnsureCall::Release);
  }

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
    // 422 is a failed test or a refusal; which one shows when it is looked at again.
    if (answer->status == 404 || answer->status == 409 || answer->status == 422 ||
        answer->status >= 500) {
      return Look();
    }
    Answer(why_);
  }

  // Its controller has written since, as it does when it is made, and we have been told already.
  bool TakeNewer() {
    const auto cache = session_->cache();
    const auto known = cache == nullptr ? std::nullopt : cache->Find(state_.uid);
    if (!known || !known->suspended || known->released || order_.scale > 0) return false;
    if (!Touched(state_, *known) || ++tries_ > kTries) return false;
    state_.resource_version = known->resource_version;
    state_.generation = known->generation;
    return true;
  }

  void Look() { Send("GET", Path(), "", "", Urgency::kRelease, &EnsureCall::Looked); }

  void Looked(Result<ApiResponse> answer) {
    if (!answer.ok()) {
      Error error = answer.error();
      if (why_.code == Code::kUnknown) error.code = Code::kUnknown;
      return Answer(std::move(error));
    }
    if (answer->status == 404) return Answer(NotFound("its object is gone from the member"));
    if (!answer->ok()) return Answer(ErrorOf(*answer));
    auto body = ParseMemberJson(answer->body);
    if (!body.ok() || !body->is_object())
      return Answer(Unavailable("the member's answer cannot be read"));
    const ObjectState tested = std::move(state_);
    state_ = ReadObject(*kind_, body->get_object());
    if (state_.uid != tested.uid)
      return Answer(NotFound("another object has its name on the member"));
    if (!state_.suspended || state_.released) return Resize(*body);
    // Nothing has changed since: the patch was refused, or has failed, for what it is.
    if (why_.code != Code::kOk && !Touched(tested, state_)) return Answer(why_);
    if (++tries_ > kTries) return Answer(Aborted("its object changes all the time"));
    Dependents(state_.uid, &EnsureCall::Release);
  }

  // --- an elastic job's size

  void Resize(const json::value& live) {
    if (order_.scale == 0) return Succeed();
    std::int64_t& known = session_->ScaleOf(state_.uid);
    if (order_.scale <= known) return Succeed();  // an older order, come late
    const auto patch = ResizePatch(*kind_, live, rendered_,
                                   {state_.uid, state_.resource_version, state_.generation});
    if (!patch) {
      known = order_.scale;
      return Succeed();
    }
    if (++tries_ > kTries) return Answer(Aborted("its object changes all the time"));
    Send("PATCH", Path(), *patch, kJsonPatch, Urgency::kRelease, &EnsureCall::Patched);
  }

  // --- around

  // Together with the object's uid they belong to it, and go when it goes.
  void Dependents(const std::string& uid, void (EnsureCall::*then)()) {
    if (order_.dependents.empty() || (ensured_ && *ensured_ == uid)) return (this->*then)();
    ensured_ = uid;
    EnsureDependents(session_, order_.dependents, object_, uid,
                     [self = shared_from_this(), then](Result<Done> made) {
                       if (!made.ok()) return self->Answer(made.error());
                       (self.get()->*then)();
                     });
  }

  std::string Path() const { return ObjectPath(*kind_, object_.ns, object_.name); }

  void Send(const char* method, std::string path, std::string body, const char* type,
            Urgency urgency, void (EnsureCall::*then)(Result<ApiResponse>)) {
    ApiRequest request;
    request.method = method;
    request.target = std::move(path);
    request.timeout_ms = body.empty() ? kLookMs : kWriteMs;
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

  void Answer(Result<RemoteRef> result) { done_(std::move(result)); }

  const SessionPtr session_;
  const DispatchOrder order_;
  const Callback<RemoteRef> done_;
  const AttemptLabels attempt_;
  const RemoteObject object_;
  const KindInfo* kind_ = nullptr;
  json::value rendered_;
  ObjectState state_;  // the object as last seen
  Error why_{Code::kOk, ""};
  std::optional<std::string> ensured_;  // dependents exist; with this owner
  int tries_ = 0;
};

}  // namespace

void EnsureObject(const SessionPtr& session, DispatchOrder order, Callback<RemoteRef> done) {
  std::make_shared<EnsureCall>(session, std::move(order), std::move(done))->Start();
}

}  // namespace muster::k8s

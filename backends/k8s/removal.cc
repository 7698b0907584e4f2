// RemovalCall and FinalizerRemovalCall: chains of requests that end an attempt's object.
//
// Removal: find the object (by name, or by the attempt's labels if no row names it), delete it in
// the foreground with its uid as precondition, remove our finalizer, and read it until it is gone.
// In a foreground deletion the object goes last, so its pods are gone then too. If the object was
// deleted in another way before, its pods may be left: RemoveLeftovers removes those. The wait
// reads again when the watch reports the deletion, or after a pause that doubles; after wait_ms it
// gives up with kUnavailable, and the dispatcher calls again.
//
// A 409 or 422 means that the object has changed: it is read again, at most kRemovalTries times.
// All writes here may be repeated without harm, so a request without an answer counts as not
// carried out.
//
// FinalizerRemovalCall removes our finalizer by a JSON Patch that tests the uid and the finalizer's
// position in the list.
#include "backends/k8s/removal.h"

#include <algorithm>
#include <utility>

#include "backends/k8s/api_calls.h"
#include "backends/k8s/leftovers.h"
#include "backends/k8s/member_json.h"
#include "backends/k8s/patches.h"
#include "backends/k8s/status/reader.h"
#include "schedd/model/member_labels.h"
#include "schedd/text/percent.h"

namespace muster::k8s {
namespace {

constexpr std::int64_t kRemovalLookMs = 50, kRemovalLookMaxMs = 2000;
constexpr int kRemovalTries = 8;

ApiRequest Request(const char* method, std::string target, std::string body = "",
                   const char* type = kJson) {
  ApiRequest request;
  request.method = method;
  request.target = std::move(target);
  if (!body.empty()) request.content_type = type;
  request.body = std::move(body);
  request.urgency = Urgency::kRelease;
  request.timeout_ms = kCallMs;
  return request;
}

class RemovalCall : public std::enable_shared_from_this<RemovalCall> {
 public:
  RemovalCall(SessionPtr session, RemovalOrder order, Callback<RemovalResult> done)
      : session_(std::move(session)), order_(std::move(order)), done_(std::move(done)) {}

  void Start() {
    if (const auto down = session_->Down()) return Answer(*down);
    if (order_.object.name.empty()) {
      Locate();
    } else if (!SetKind(order_.object.api_version, order_.object.kind)) {
      Answer(Error{Code::kInvalidArgument, "the kind " + order_.object.kind + " of " +
                                               order_.object.api_version + " is not known here"});
    } else if (order_.expected_uid.empty()) {
      Look();
    } else {
      uid_ = order_.expected_uid;
      Delete();
    }
  }

 private:
  bool SetKind(std::string_view api_version, std::string_view kind) {
    kind_ = KindByApi(api_version, kind);
    return kind_ != nullptr;
  }

  // Lists the attempt's labels, one kind after another, until an object is found. Only a caller
  // without a row for the attempt needs this.
  void Locate() {
    while (at_ < Kinds().size() && session_->Lacks(Kinds()[at_])) ++at_;
    if (at_ >= Kinds().size()) return Gone(false);
    const KindInfo& kind = Kinds()[at_++];
    const std::string target =
        CollectionPath(kind, "") + "?labelSelector=" + PercentEncode(SelectorOf(order_.attempt));
    session_->client().Send(Request("GET", target),
                            [self = shared_from_this(), &kind](Result<ApiResponse> answer) {
      if (!answer.ok()) return self->Answer(Unanswered(answer.error()));
      if (!answer->ok()) return self->Answer(ErrorOf(*answer));
      const auto body = ParseMemberJson(answer->body);
      if (!body.ok()) return self->Answer(body.error());
      bool found = false;
      Reader(&*body)["items"].Each([&](const Reader& item) {
        if (found || item.Object() == nullptr) return;
        found = self->TakeTarget(kind, *item.Object());
      });
      found ? self->Delete() : self->Locate();
    });
  }

  // Remembers the object if it is the one to remove; false if it is not.
  bool TakeTarget(const KindInfo& kind, const json::object& object) {
    const ObjectState state = ReadObject(kind, object);
    if (!order_.expected_uid.empty()
            ? state.uid != order_.expected_uid
            : (state.attempt != order_.attempt || !IsOfInstance(*session_, object))) {
      return false;
    }
    kind_ = &kind;
    order_.object = {std::string(kind.api_version), std::string(kind.kind), state.ns, state.name};
    uid_ = state.uid;
    return true;
  }

  void Look() {
    session_->client().Send(Request("GET", Path()),
                            [self = shared_from_this()](Result<ApiResponse> answer) {
      if (!answer.ok()) return self->Answer(Unanswered(answer.error()));
      if (answer->status == 404) return self->Cleared(false);
      if (!answer->ok()) return self->Answer(ErrorOf(*answer));
      const auto body = ParseMemberJson(answer->body);
      if (!body.ok() || !body->is_object())
        return self->Answer(Unavailable("the member's answer cannot be read"));
      if (!self->TakeTarget(*self->kind_, body->get_object())) return self->Cleared(false);
      self->Delete();
    });
  }

  void LookAgain() {
    if (++tries_ > kRemovalTries)
      return Answer(Unavailable(order_.object.name + " changes all the time"));
    Look();
  }

  void Delete() {
    session_->client().Send(Request("DELETE", Path(), DeleteBody(uid_, order_.grace_period_s)),
                            [self = shared_from_this()](Result<ApiResponse> answer) {
      if (!answer.ok()) return self->Answer(Unanswered(answer.error()));
      if (answer->status == 404) return self->Cleared(false);
      // Another object has the name, or a write came in between; a read
      // tells which.
      if (answer->status == 409) return self->LookAgain();
      if (!answer->ok()) return self->Answer(ErrorOf(*answer));
      self->deleted_at_ = self->session_->Monotone();
      self->DeletePods();
    });
  }

  // A foreground deletion leaves each pod its own grace period. Another one is given by deleting
  // the attempt's pods directly; if that fails, they end by their own grace period.
  void DeletePods() {
    if (order_.grace_period_s < 0) return Unhold();
    const std::string target = CollectionPath("v1", "pods", order_.object.ns) +
                               "?labelSelector=" + PercentEncode(SelectorOf(order_.attempt));
    const std::string body = R"({"apiVersion":"v1","kind":"DeleteOptions","gracePeriodSeconds":)" +
                             std::to_string(order_.grace_period_s) + "}";
    session_->client().Send(
        Request("DELETE", target, body),
        [self = shared_from_this()](const Result<ApiResponse>&) { self->Unhold(); });
  }

  // Removes our finalizer, which would keep the object for ever.
  void Unhold() {
    LetGo(session_, order_.object, uid_, [self = shared_from_this()](Result<Done> result) {
      if (!result.ok()) return self->Answer(result.error());
      self->Await();
    });
  }

  // Reads whether the object is gone; another uid under the name means yes.
  void Await() {
    session_->client().Send(Request("GET", Path()),
                            [self = shared_from_this()](Result<ApiResponse> answer) {
      if (!answer.ok()) return self->Answer(Unanswered(answer.error()));
      if (answer->status == 404) return self->Cleared(true);
      if (!answer->ok()) return self->Answer(ErrorOf(*answer));
      const auto body = ParseMemberJson(answer->body);
      if (!body.ok() || !body->is_object())
        return self->Answer(Unavailable("the member's answer cannot be read"));
      const ObjectState state = ReadObject(*self->kind_, body->get_object());
      if (state.uid != self->uid_) return self->Cleared(true);
      self->Wait(state);
    });
  }

  // Waits for the watch to report the deletion, but at most delay_ms_; whichever comes first reads
  // again.
  void Wait(const ObjectState& state) {
    const std::int64_t waited = (session_->Monotone() - deleted_at_) / kNanosPerMilli;
    if (session_->closed() || waited >= order_.wait_ms) {
      const auto cache = session_->cache();
      const std::size_t pods =
          cache == nullptr ? 0 : cache->PodsOf(order_.attempt, state.ns).size();
      return Answer(Unavailable(state.name + " is still being removed: " + std::to_string(pods) +
                                " of its pods are there"));
    }
    // A Confirm call that ran at the same time may have put the finalizer back.
    if (state.finalizer >= 0) return Unhold();
    const std::uint64_t turn = ++turn_;
    const auto look = [self = shared_from_this(), turn] {
      // The other wake came first.
      if (self->turn_ != turn) return;
      ++self->turn_;
      self->wake_.reset();
      self->Await();
    };
    wake_ = session_->OnDeleted(uid_, look);
    session_->Later(delay_ms_, look);
    delay_ms_ = std::min(kRemovalLookMaxMs, delay_ms_ * 2);
  }

  // The object is gone. After our own foreground deletion its pods are gone too, unless the cache
  // still shows some; after another deletion they may be left.
  void Cleared(bool existed) {
    const auto cache = session_->cache();
    const bool seen = cache != nullptr && !cache->PodsOf(order_.attempt, order_.object.ns).empty();
    if (uid_.empty() || (existed && !seen)) return Gone(existed);
    RemoveLeftovers(session_, {order_.attempt, order_.object, uid_},
                    [self = shared_from_this(), existed](Result<std::string> left) {
      if (!left.ok()) return self->Answer(left.error());
      self->Gone(existed);
    });
  }

  std::string Path() const { return ObjectPath(*kind_, order_.object.ns, order_.object.name); }
  void Gone(bool existed) { Answer(RemovalResult{existed}); }
  void Answer(Result<RemovalResult> result) {
    wake_.reset();
    done_(std::move(result));
  }

  const SessionPtr session_;
  RemovalOrder order_;
  const Callback<RemovalResult> done_;
  const KindInfo* kind_ = nullptr;
  std::size_t at_ = 0;
  std::string uid_;
  Monotonic deleted_at_;
  std::int64_t delay_ms_ = kRemovalLookMs;
  std::uint64_t turn_ = 0;
  int tries_ = 0;
  std::shared_ptr<void> wake_;
};

// Removes our finalizer from an object, once its end is on record.
class FinalizerRemovalCall : public std::enable_shared_from_this<FinalizerRemovalCall> {
 public:
  FinalizerRemovalCall(SessionPtr session, RemoteObject object, std::string uid,
                       Callback<Done> done)
      : session_(std::move(session)),
        object_(std::move(object)),
        uid_(std::move(uid)),
        done_(std::move(done)) {}

  void Start() {
    kind_ = KindByApi(object_.api_version, object_.kind);
    if (kind_ == nullptr) {
      return done_(
          Error{Code::kInvalidArgument, "the kind " + object_.kind + " is not known here"});
    }
    const auto cache = session_->cache();
    const auto known = cache == nullptr ? std::nullopt : cache->Find(uid_);
    if (known && known->finalizer >= 0) return Patch(known->finalizer);
    Look();
  }

 private:
  void Look() {
    session_->client().Send(Request("GET", Path()),
                            [self = shared_from_this()](Result<ApiResponse> answer) {
      if (!answer.ok()) return self->done_(Unanswered(answer.error()));
      if (answer->status == 404) return self->done_(Done{});
      if (!answer->ok()) return self->done_(ErrorOf(*answer));
      const auto body = ParseMemberJson(answer->body);
      if (!body.ok() || !body->is_object())
        return self->done_(Unavailable("the member's answer cannot be read"));
      const ObjectState state = ReadObject(*self->kind_, body->get_object());
      if (state.uid != self->uid_ || state.finalizer < 0) return self->done_(Done{});
      self->Patch(state.finalizer);
    });
  }

  // Removes the finalizer at this position of the list.
  void Patch(std::int32_t position) {
    if (++tries_ > kRemovalTries) return done_(Aborted(object_.name + " changes all the time"));
    session_->client().Send(Request("PATCH", Path(), AcknowledgePatch(uid_, position), kJsonPatch),
                            [self = shared_from_this()](Result<ApiResponse> answer) {
      if (!answer.ok()) return self->done_(Unanswered(answer.error()));
      if (answer->ok() || answer->status == 404) return self->done_(Done{});
      // 422: the uid or the finalizer's position has changed; 409: a
      // concurrent write.
      if (answer->status == 422 || answer->status == 409) return self->Look();
      self->done_(ErrorOf(*answer));
    });
  }

  std::string Path() const { return ObjectPath(*kind_, object_.ns, object_.name); }

  const SessionPtr session_;
  const RemoteObject object_;
  const std::string uid_;
  const Callback<Done> done_;
  const KindInfo* kind_ = nullptr;
  int tries_ = 0;
};

}  // namespace

void RemoveObject(const SessionPtr& session, RemovalOrder order, Callback<RemovalResult> done) {
  std::make_shared<RemovalCall>(session, std::move(order), std::move(done))->Start();
}

void LetGo(const SessionPtr& session, const RemoteObject& object, const std::string& uid,
           Callback<Done> done) {
  std::make_shared<FinalizerRemovalCall>(session, object, uid, std::move(done))->Start();
}

bool IsOfInstance(const Session& session, const json::object& object) {
  return Reader(object)["metadata"]["labels"][kInstanceLabel].View() == session.instance();
}

bool IsMadeHere(const Session& session, const json::object& object, const ObjectState& state) {
  return IsOfInstance(session, object) && (state.finalizer >= 0 || state.sequence != 0);
}

}  // namespace muster::k8s

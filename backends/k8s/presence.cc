// ConfirmCall: reads the object by name and decides by its uid.
//
// - 404, or another uid: it is gone. A user may have deleted it with `--cascade=orphan`, or the
//   garbage collector may not be done, so its leftovers are removed before the answer.
// - The object is there with all marks: the report was older than the object.
// - The object is there without some marks: our labels, `muster.io/released` and, unless it is
//   being deleted, our finalizer are put back by a patch. The watch then reports the object again.
// - Any other answer proves nothing and is an error; the dispatcher asks again.
//
// Marks that are removed again and again are put back after a pause that doubles from 2 s to a
// minute, so that two programs do not fight at full speed.
#include "backends/k8s/presence.h"

#include <algorithm>
#include <utility>

#include "backends/k8s/api_calls.h"
#include "backends/k8s/leftovers.h"
#include "backends/k8s/member_json.h"
#include "backends/k8s/patches.h"
#include "backends/k8s/removal.h"
#include "schedd/telemetry/log.h"

namespace muster::k8s {
namespace {

constexpr int kPresenceTries = 8;
// The pause between two repairs of one object, and its maximum.
constexpr std::int64_t kMendAgainMs = 2000, kMendAgainMaxMs = 60'000;

class ConfirmCall : public std::enable_shared_from_this<ConfirmCall> {
 public:
  ConfirmCall(SessionPtr session, const AttemptLabels& attempt, RemoteObject object,
              std::string uid, Callback<Presence> done)
      : session_(std::move(session)),
        attempt_(attempt),
        object_(std::move(object)),
        uid_(std::move(uid)),
        done_(std::move(done)) {}

  void Start() {
    if (const auto down = session_->Down()) return done_(*down);
    kind_ = KindByApi(object_.api_version, object_.kind);
    if (kind_ == nullptr) {
      return done_(Error{Code::kInvalidArgument, "the kind " + object_.kind + " of " +
                                                     object_.api_version + " is not known here"});
    }
    Look();
  }

 private:
  void Look() {
    if (++tries_ > kPresenceTries)
      return done_(Unavailable(object_.name + " changes all the time"));
    Send("GET", "", [self = shared_from_this()](Result<ApiResponse> answer) {
      if (!answer.ok()) return self->done_(Unanswered(answer.error()));
      if (answer->status == 404) return self->Gone();
      if (!answer->ok()) return self->done_(ErrorOf(*answer));
      const auto body = ParseMemberJson(answer->body);
      if (!body.ok() || !body->is_object())
        return self->done_(Unavailable("the member's answer cannot be read"));
      self->Found(body->get_object());
    });
  }

  // The object exists: puts our marks back if some are missing.
  void Found(const json::object& object) {
    const ObjectState state = ReadObject(*kind_, object);
    const bool ours = uid_.empty() ? state.attempt == attempt_ : state.uid == uid_;
    if (!ours) return Gone();
    const auto patch = MarksPatch(object, state, attempt_, session_->instance());
    if (!patch) {
      // All marks are there, so the report was older. If the cache does not have the object yet,
      // the next List must ask the member.
      const auto cache = session_->cache();
      if (cache == nullptr || !cache->VersionOf(state.uid)) session_->NoteDoubt();
      return done_(Presence{true, ""});
    }
    MarkRepairs& mending = session_->MendingOf(state.uid);
    const std::int64_t pause =
        std::min(kMendAgainMaxMs, kMendAgainMs << std::min(mending.times, 6)) * kNanosPerMilli;
    if (mending.times > 0 && session_->Monotone() - mending.last < pause)
      return done_(Unavailable(What() + " loses the marks of Muster there again and again"));
    Send("PATCH", *patch, [self = shared_from_this(), uid = state.uid](Result<ApiResponse> answer) {
      if (!answer.ok()) return self->done_(Unanswered(answer.error()));
      // The object has changed in between, or is gone.
      if (answer->status == 404 || answer->status == 409 || answer->status == 422)
        return self->Look();
      if (!answer->ok()) return self->done_(ErrorOf(*answer));
      MarkRepairs& mended = self->session_->MendingOf(uid);
      ++mended.times;
      mended.last = self->session_->Monotone();
      const std::string note = "somebody took the marks of Muster off " + self->What() +
                               " on the member; they were put back";
      Log(LogLevel::kWarning, "k8s", "marks_put_back",
          {{"cluster", self->session_->member()}, {"err", note}});
      self->done_(Presence{true, note});
    });
  }

  // The object does not exist: removes what it has left running.
  void Gone() {
    session_->ForgetMending(uid_);
    if (uid_.empty()) return done_(Presence{});
    RemoveLeftovers(session_, {attempt_, object_, uid_},
                    [self = shared_from_this()](Result<std::string> left) {
      if (!left.ok()) return self->done_(left.error());
      Presence presence;
      if (!left->empty()) presence.note = "it had left " + *left + " behind, which were removed";
      self->done_(std::move(presence));
    });
  }

  std::string What() const { return object_.kind + " " + object_.ns + "/" + object_.name; }

  void Send(const char* method, std::string body, Callback<ApiResponse> then) {
    ApiRequest request;
    request.method = method;
    request.target = ObjectPath(*kind_, object_.ns, object_.name);
    if (!body.empty()) request.content_type = kJsonPatch;
    request.urgency = body.empty() ? Urgency::kRead : Urgency::kRelease;
    request.body = std::move(body);
    request.timeout_ms = kCallMs;
    session_->client().Send(std::move(request), std::move(then));
  }

  const SessionPtr session_;
  const AttemptLabels attempt_;
  const RemoteObject object_;
  const std::string uid_;
  const Callback<Presence> done_;
  const KindInfo* kind_ = nullptr;
  int tries_ = 0;
};

}  // namespace

void ConfirmObject(const SessionPtr& session, const AttemptLabels& attempt,
                   const RemoteObject& object, const std::string& uid, Callback<Presence> done) {
  std::make_shared<ConfirmCall>(session, attempt, object, uid, std::move(done))->Start();
}

}  // namespace muster::k8s

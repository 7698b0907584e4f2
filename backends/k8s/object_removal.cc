#include "backends/k8s/object_removal.h"

#include <utility>

#include "backends/k8s/member_json.h"
#include "backends/k8s/object_call.h"
#include "backends/k8s/object_marks.h"
#include "backends/k8s/patches.h"
#include "backends/k8s/status/reader.h"

namespace muster::k8s {
namespace {

constexpr int kTries = 2;

class RemoveCall final : public ObjectCall {
 public:
  RemoveCall(const SessionPtr& session, ObjectRemoval removal, Callback<bool> done)
      : ObjectCall(session, removal.ref), removal_(std::move(removal)), done_(std::move(done)) {}

  void Start() {
    if (auto down = session_->Down()) return Lost(std::move(*down));
    Resolve([this] { Look(); });
  }

 private:
  // With its kind all objects of it have gone.
  void Unserved(const std::string&) override { Gone(); }
  void Lost(Error error) override { done_(std::move(error)); }

  void Look() {
    Get([this](const ApiResponse& answer) { Looked(answer); });
  }

  void Looked(const ApiResponse& answer) {
    if (answer.status == 404) return Gone();
    if (!answer.ok()) return Refused(answer);
    const auto live = ObjectOf(answer);
    if (!live) return Lost(Unavailable("the member's answer cannot be read"));
    const Reader metadata = Reader(*live)["metadata"];
    const ObjectMarks marks = ReadMarks(*live);
    const bool ours = marks.owner == OwnerMark(session_->instance(), removal_.owner.placement);
    if (!ours || BelongsToJobs(*live)) return Gone();
    uid_ = metadata["uid"].Text(kNameBytes);
    if (asked_ || metadata["deletionTimestamp"].present()) return done_(false);
    // A namespace would take with it whatever is there; one that was there before is not ours to
    // end.
    const bool is_namespace = ref_.group.empty() && ref_.kind == "Namespace";
    if (removal_.abandon || (is_namespace && !marks.created))
      return Unmark(metadata["resourceVersion"].View());
    const auto cache = session_->cache();
    if (is_namespace && cache != nullptr && cache->NeedsNamespace(ref_.name)) return done_(false);
    Delete();
  }

  void Unmark(std::string_view version) {
    NoteRemoved();
    Send({"PATCH", "application/merge-patch+json", UnmarkPatch(version), "fieldManager=muster"},
         Path(), [this](const ApiResponse& answer) { Written(answer, true); });
  }

  void Delete() {
    NoteRemoved();
    Send({"DELETE", "application/json", DeleteBody(uid_, -1), ""}, Path(),
         [this](const ApiResponse& answer) { Written(answer, false); });
  }

  void Written(const ApiResponse& answer, bool unmarked) {
    if (answer.status == 404 || (answer.ok() && unmarked)) return Gone();
    if (answer.status == 409) {
      if (++tries_ > kTries) return Lost(Unavailable("it changes all the time"));
      return Look();
    }
    if (!answer.ok()) return Refused(answer);
    asked_ = true;
    Look();  // many are gone at once
  }

  void Refused(const ApiResponse& answer) {
    Error error = ErrorOf(answer);
    if (error.code == Code::kPermissionDenied) return done_(std::move(error));
    done_(TroubleOf(answer, true));
  }

  void NoteRemoved() {
    if (ObjectBook* const known = book()) known->NoteRemoved(kind_, uid_);
  }

  void Gone() {
    if (ObjectBook* const known = book()) known->Forget(ref_);
    done_(true);
  }

  const ObjectRemoval removal_;
  const Callback<bool> done_;
  std::string uid_;
  bool asked_ = false;  // to go
  int tries_ = 0;
};

}  // namespace

void RemoveObjectOf(const SessionPtr& session, ObjectRemoval removal, Callback<bool> done) {
  std::make_shared<RemoveCall>(session, std::move(removal), std::move(done))->Start();
}

}  // namespace muster::k8s

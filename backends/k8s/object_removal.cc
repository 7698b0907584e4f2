// RemoveCall: reads the object, checks that it is ours, and deletes it or removes our marks.
//
// The deletion is in the foreground with the uid as precondition. As in KubeFleet, an object that
// existed before and was taken over is deleted too. Namespaces are different, because a deletion
// takes everything in them along: one that Muster did not create only loses its marks, and one in
// which jobs of this Muster run, or whose ends are not on record, is kept until they are.
//
// The call answers true once the object is gone or not ours; false while the deletion goes on. The
// caller then calls again.
#include "backends/k8s/object_removal.h"

#include <utility>

#include "backends/k8s/api_calls.h"
#include "backends/k8s/member_json.h"
#include "backends/k8s/object_call.h"
#include "backends/k8s/object_marks.h"
#include "backends/k8s/patches.h"
#include "backends/k8s/status/reader.h"

namespace muster::k8s {
namespace {

constexpr int kObjectRemovalTries = 2;

class RemoveCall final : public ObjectCall {
 public:
  RemoveCall(const SessionPtr& session, ObjectRemoval removal, Callback<bool> done)
      : ObjectCall(session, removal.ref), removal_(std::move(removal)), done_(std::move(done)) {}

  void Start() {
    if (auto down = session_->Down()) return Lost(std::move(*down));
    Resolve([this] { Look(); });
  }

 private:
  // If the kind is not served any more, its objects are gone with it.
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
    // A namespace that existed before is not deleted; see the top of this file.
    const bool is_namespace = ref_.group.empty() && ref_.kind == "Namespace";
    if (removal_.abandon || (is_namespace && !marks.created))
      return Unmark(metadata["resourceVersion"].View());
    const auto cache = session_->cache();
    if (is_namespace && cache != nullptr && cache->NeedsNamespace(ref_.name)) return done_(false);
    Delete();
  }

  // Leaves the object on the member as nobody's.
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
      if (++tries_ > kObjectRemovalTries) return Lost(Unavailable("it changes all the time"));
      return Look();
    }
    if (!answer.ok()) return Refused(answer);
    asked_ = true;
    // Many objects are gone at once, which a second read shows.
    Look();
  }

  void Refused(const ApiResponse& answer) {
    Error error = ErrorOf(answer);
    if (error.code == Code::kPermissionDenied) return done_(std::move(error));
    done_(TroubleOf(answer, true));
  }

  // Tells the ObjectBook, so that the watch does not report our own deletion.
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
  // The deletion has been accepted.
  bool asked_ = false;
  int tries_ = 0;
};

}  // namespace

void RemoveObjectOf(const SessionPtr& session, ObjectRemoval removal, Callback<bool> done) {
  std::make_shared<RemoveCall>(session, std::move(removal), std::move(done))->Start();
}

}  // namespace muster::k8s

#include "backends/k8s/object_apply.h"

#include <algorithm>
#include <utility>

#include "backends/k8s/dependents.h"
#include "backends/k8s/member_json.h"
#include "backends/k8s/object_availability.h"
#include "backends/k8s/object_call.h"
#include "backends/k8s/object_diff.h"
#include "backends/k8s/object_marks.h"
#include "backends/k8s/status/reader.h"
#include "schedd/base/limits.h"

namespace muster::k8s {
namespace {

constexpr char kApplyPatch[] = "application/apply-patch+yaml";
constexpr char kMergePatch[] = "application/merge-patch+json";
constexpr char kJson[] = "application/json";
constexpr char kManager[] = "fieldManager=muster";
constexpr char kOwnConflict[] = "conflict with \"muster\"";
// An API server takes 256 KiB of annotations of an object in all.
constexpr std::size_t kAnnotationBytes = (256 << 10) - 4096;
constexpr int kTries = 4;

bool IsOwned(const json::object& object) {
  const json::array* owners = Reader(object)["metadata"]["ownerReferences"].Array();
  return owners != nullptr && !owners->empty();
}

bool IsOfKubeFleet(const json::object& object) {
  bool is = false;
  Reader(object)["metadata"]["ownerReferences"].Each([&](const Reader& owner) {
    is = is || (owner["kind"].View() == "AppliedWork" &&
                owner["apiVersion"].View().starts_with("placement.kubernetes-fleet.io/"));
  });
  return is;
}

// Of those that are not Muster's.
std::size_t AnnotationBytes(const json::object& object) {
  const json::object* all = Reader(object)["metadata"]["annotations"].Object();
  if (all == nullptr) return 0;
  std::size_t bytes = 0;
  for (const auto& [key, value] : *all) {
    if (!std::string_view(key).starts_with(kMarkPrefix))
      bytes += key.size() + Reader(&value).View().size();
  }
  return bytes;
}

// "in 3 places": more than are kept are told as a number.
std::string InPlaces(const Differences& found) {
  std::string text =
      found.total == 1 ? "in 1 place" : "in " + std::to_string(found.total) + " places";
  if (found.total > found.kept.size())
    text += " (the first " + std::to_string(found.kept.size()) + " are listed)";
  return text;
}

enum class Conflict : std::uint8_t { kNone, kOwn, kOthers };

// Server-side apply says who owns the fields that it would take. What Muster itself wrote in
// another way (client-side) is nobody else's.
Conflict ConflictIn(const ApiResponse& answer) {
  const auto body = ParseMemberJson(answer.body);
  Conflict found = Conflict::kNone;
  if (!body.ok()) return found;
  Reader(&*body)["details"]["causes"].Each([&](const Reader& cause) {
    if (cause["reason"].View() != "FieldManagerConflict") return;
    const bool own = cause["message"].View().starts_with(kOwnConflict);
    if (!own) found = Conflict::kOthers;
    if (own && found == Conflict::kNone) found = Conflict::kOwn;
  });
  return found;
}

class ApplyCall final : public ObjectCall {
 public:
  ApplyCall(const SessionPtr& session, ObjectOrder order, Callback<ObjectOutcome> done)
      : ObjectCall(session, order.ref),
        order_(std::move(order)),
        done_(std::move(done)),
        mine_(OwnerMark(session->instance(), order_.owner.placement)) {
    status_ = order_.before;
    status_.ref = order_.ref;
    status_.message.clear();
    status_.differences.clear();
    status_.availability = ManifestAvailability::kUnknown;
  }

  void Start() {
    if (auto down = session_->Down()) return Lost(std::move(*down));
    auto parsed = ParseJson(order_.manifest);
    if (!parsed.ok() || !parsed->is_object()) return Refuse("its manifest cannot be read");
    manifest_ = CleanManifest(ref_, std::move(parsed->get_object()));
    Resolve([this] { Look(); });
  }

 private:
  using Step = void (ApplyCall::*)();

  bool Reports() const { return order_.strategy.type == ApplyType::kReportDiff; }
  bool IsSecret() const { return ref_.group.empty() && ref_.kind == "Secret"; }

  // --- what is there

  void Unserved(const std::string& sentence) override { Refuse(sentence); }
  void Lost(Error error) override { done_(std::move(error)); }

  void Look() {
    if (++tries_ > kTries) return Lost(Unavailable("it changes all the time"));
    Get([this](const ApiResponse& answer) { Looked(answer); });
  }

  void Looked(const ApiResponse& answer) {
    if (answer.status == 404) return IsNoSuchPath(answer) ? SeekKind() : Absent();
    if (!answer.ok()) return Refused(answer, false);
    auto live = ObjectOf(answer);
    if (!live) return Lost(Unavailable("the member's answer cannot be read"));
    live_ = std::move(*live);
    Judge();
  }

  // The kind was taken from the member, or comes in another version by now.
  void SeekKind() {
    if (book() != nullptr) book()->Doubt(ref_);
    if (std::exchange(sought_, true))
      return Refuse("the member does not serve " + ref_.kind + " of " + ApiVersionOf(ref_));
    Resolve([this] { Look(); });
  }

  void Absent() {
    live_.clear();
    status_.remote_uid.clear();
    status_.generation = 0;
    if (!Reports()) return Create();
    found_ = AbsentObject();
    Finish(ManifestResult::kFoundDiff, "it is not there");
  }

  void Judge() {
    marks_ = ReadMarks(live_);
    const Reader metadata = Reader(live_)["metadata"];
    const std::string uid = metadata["uid"].Text(kNameBytes);
    // Marks that somebody took off are put on again; nobody else's are replaced.
    ours_ = marks_.owner == mine_ ||
            (marks_.owner.empty() && !uid.empty() && order_.before.remote_uid == uid);
    status_.generation = metadata["generation"].Integer().value_or(0);
    status_.remote_uid = ours_ ? uid : "";
    const std::string& applied = marks_.hash.empty() ? order_.before.applied : marks_.hash;
    same_ = ours_ && applied == order_.hash;
    if (Reports()) {
      if (SeenBefore()) return;
      return Compare(manifest_, order_.strategy.full_comparison, true, &ApplyCall::Report);
    }
    if (BelongsToJobs(live_)) return Refuse("it belongs to jobs of Muster there");
    if (metadata["deletionTimestamp"].present())
      return Refuse("it is being deleted there; it is made again when it is gone");
    if (!ours_ && !marks_.owner.empty()) {
      return Finish(ManifestResult::kNotTakenOver,
                    "it belongs to " + MentionOwner(session_->instance(), marks_.owner));
    }
    if (IsOfKubeFleet(live_)) {
      return Finish(ManifestResult::kNotTakenOver,
                    "it belongs to a placement of KubeFleet: it has an AppliedWork as its owner");
    }
    if (IsOwned(live_) && !order_.strategy.allow_co_ownership) {
      const char* why = "it has other owners there (allowCoOwnership is false)";
      return Finish(ours_ ? ManifestResult::kApplyFailed : ManifestResult::kFailedToTakeOver, why);
    }
    if (SeenBefore()) return;
    ours_ ? KeepUp() : TakeOver();
  }

  void Report() {
    if (found_.none()) return Finish(ManifestResult::kNoDiffFound, "");
    Finish(degraded_ ? ManifestResult::kFoundDiffInDegradedMode : ManifestResult::kFoundDiff,
           "it differs " + InPlaces(found_));
  }

  // --- it was there before

  void TakeOver() {
    switch (order_.strategy.take_over) {
      case TakeOver::kAlways:
        return Write();
      case TakeOver::kNever:
        return Finish(ManifestResult::kNotTakenOver,
                      "it was there before and is left as it is (whenToTakeOver is Never)");
      case TakeOver::kIfNoDiff:
        return Compare(manifest_, order_.strategy.full_comparison, true, &ApplyCall::TakeIfSame);
    }
  }

  void TakeIfSame() {
    if (found_.none()) return Write();
    Finish(ManifestResult::kFailedToTakeOver,
           "it was there before and differs " + InPlaces(found_) + " (whenToTakeOver is IfNoDiff)");
  }

  // --- it is ours

  bool IsMarked() const {
    return marks_.owner == mine_ && marks_.labelled && marks_.hash == order_.hash;
  }

  void KeepUp() {
    const bool full = order_.strategy.full_comparison;
    if (!order_.strategy.if_not_drifted) {
      if (!same_ || !IsMarked()) return Write();
      // In degraded mode what the API server filled in must not count, or it would be written for
      // ever.
      return Compare(manifest_, false, false, &ApplyCall::Correct);
    }
    if (same_) return Compare(manifest_, full, true, &ApplyCall::WriteUnlessDrifted);
    // Another manifest: what counts is whether somebody has changed what was applied last. Without
    // its text (a Secret, or a very large object), or in another version, that cannot be told.
    auto last = ParseJson(marks_.last_applied);
    if (marks_.last_applied.empty() || !last.ok() || !last->is_object()) return Write();
    if (Reader(&*last)["apiVersion"].View() != ApiVersionOf(ref_)) return Write();
    // Anybody may have written the annotation.
    Compare(CleanManifest(ref_, std::move(last->get_object())), full, true,
            &ApplyCall::WriteUnlessDrifted);
  }

  void Correct() { found_.none() ? Applied() : Write(); }

  void WriteUnlessDrifted() {
    if (found_.none()) return same_ && IsMarked() ? Applied() : Write();
    NoteSeen();
    const std::string rule = InPlaces(found_) + " (whenToApply is IfNotDrifted)";
    if (!degraded_) return Finish(ManifestResult::kFoundDrifts, "somebody has changed it " + rule);
    Finish(ManifestResult::kFoundDriftsInDegradedMode,
           "the API server cannot say what others have changed; the texts differ " + rule);
  }

  // It is as it should be; with a full comparison what others have added is told too.
  void Applied() {
    status_.applied = order_.hash;
    const bool tell = order_.strategy.full_comparison && !order_.strategy.if_not_drifted;
    // Where texts are compared it cannot be told from what the API server filled in.
    if (tell) return Compare(manifest_, true, false, &ApplyCall::Tell);
    found_ = {};
    Tell();
  }

  void Tell() {
    NoteSeen();
    Finish(ManifestResult::kApplied, found_.none() ? "" : "it still differs " + InPlaces(found_));
  }

  // --- comparison

  // Finds `found_` and `degraded_`: what the API server would make of `hub` against what it has;
  // where it refuses to say, the texts are compared, with all fields or `degraded_whole` false only
  // those of `hub`.
  void Compare(json::object hub, bool whole, bool degraded_whole, Step then) {
    hub_ = std::move(hub);
    json::object body = hub_;
    AddCondition(&body);
    const std::string query = std::string("dryRun=All&") + kManager;
    const auto compared = [this, degraded_whole, then](const ApiResponse& answer) {
      Compared(answer, degraded_whole, then);
    };
    if (!whole)
      return Send({"PATCH", kApplyPatch, WriteJson(body), query + "&force=true", true}, Path(),
                  compared);
    // Who else holds it is not for a manifest to say.
    const json::object* seen = Reader(live_)["metadata"].Object();
    for (const char* kept : {"finalizers", "ownerReferences"}) {
      const json::value* value = seen == nullptr ? nullptr : seen->if_contains(kept);
      if (value != nullptr) body["metadata"].get_object()[kept] = *value;
    }
    Send({"PUT", kJson, WriteJson(body), query, true}, Path(), compared);
  }

  void Compared(const ApiResponse& answer, bool degraded_whole, Step then) {
    if (answer.status == 409 || answer.status == 404) return Look();
    degraded_ = answer.status == 422 || answer.status == 400 || IsOfNoSchema(answer);
    if (degraded_) {
      found_ = CompareObjects(live_, hub_, degraded_whole);
      return (this->*then)();
    }
    if (!answer.ok()) return Refused(answer, false);
    const auto result = ObjectOf(answer);
    if (!result) return Lost(Unavailable("the member's answer cannot be read"));
    found_ = CompareObjects(live_, *result, true);
    (this->*then)();
  }

  // Only the object as it was seen.
  void AddCondition(json::object* body) const {
    const Reader seen = Reader(live_)["metadata"];
    json::object& metadata = (*body)["metadata"].get_object();
    metadata["uid"] = seen["uid"].View();
    metadata["resourceVersion"] = seen["resourceVersion"].View();
  }

  // --- writing

  bool OnServer() const {
    // Of what was applied without its text only the API server knows what is ours.
    const bool was = marks_.owner == mine_ && marks_.last_applied.empty();
    return order_.strategy.type == ApplyType::kServerSide || IsSecret() || was || !TextFits();
  }
  bool TextFits() const {
    return WriteJson(manifest_).size() + AnnotationBytes(manifest_) + AnnotationBytes(live_) <=
           kAnnotationBytes;
  }
  // Where Muster itself was to write client-side, nobody's ownership is in its way.
  bool Forces() const {
    return force_ || order_.strategy.force_conflicts ||
           order_.strategy.type == ApplyType::kClientSide;
  }

  json::object Marked(bool created) const {
    ObjectMarks marks;
    marks.owner = mine_;
    marks.hash = order_.hash;
    marks.created = created;
    marks.labelled = true;
    const bool wanted =
        order_.strategy.type != ApplyType::kServerSide || order_.strategy.if_not_drifted;
    if (wanted && !IsSecret() && TextFits()) marks.last_applied = WriteJson(manifest_);
    json::object out = manifest_;
    PutMarks(marks, &out);
    return out;
  }

  void Create() {
    wanted_ = Marked(true);
    // An object made by POST would have two managers that are both Muster. One that somebody makes
    // in this moment is in its way only where its fields are others.
    if (OnServer()) return SendApply(wanted_, order_.strategy.force_conflicts);
    Send({"POST", kJson, WriteJson(wanted_), kManager}, CollectionOfIt(),
         [this](const ApiResponse& answer) { Written(answer); });
  }

  void Write() {
    wanted_ = Marked(marks_.created);
    if (OnServer()) {
      AddCondition(&wanted_);
      return SendApply(wanted_, Forces());
    }
    json::object last;
    if (auto text = ParseJson(marks_.last_applied); text.ok() && text->is_object())
      last = std::move(text->get_object());
    json::object patch = ThreeWayPatch(last, wanted_, live_);
    if (patch.empty()) return Applied();
    json::value& metadata = patch["metadata"];
    if (!metadata.is_object()) metadata.emplace_object();
    metadata.get_object()["resourceVersion"] = Reader(live_)["metadata"]["resourceVersion"].View();
    Send({"PATCH", kMergePatch, WriteJson(patch), kManager}, Path(),
         [this](const ApiResponse& answer) { Written(answer); });
  }

  void SendApply(const json::object& body, bool force) {
    Send({"PATCH", kApplyPatch, WriteJson(body),
          std::string(kManager) + (force ? "&force=true" : "&force=false")},
         Path(), [this](const ApiResponse& answer) { Written(answer); });
  }

  void Written(const ApiResponse& answer) {
    if (answer.status == 409) return Clash(answer);
    if (LacksNamespace(answer)) return Refuse("namespace " + ref_.ns + " does not exist there");
    if (answer.status == 404) return IsNoSuchPath(answer) ? SeekKind() : Look();
    if (!answer.ok()) return Refused(answer, true);
    auto live = ObjectOf(answer);
    if (!live) return Lost(Error{Code::kUnknown, "the member's answer cannot be read"});
    const auto version = [](const json::object& of) {
      return Reader(of)["metadata"]["resourceVersion"].View();
    };
    wrote_ = wrote_ || live_.empty() || version(live_) != version(*live);
    live_ = std::move(*live);
    marks_ = ReadMarks(live_);
    status_.remote_uid = Reader(live_)["metadata"]["uid"].Text(kNameBytes);
    status_.generation = Reader(live_)["metadata"]["generation"].Integer().value_or(0);
    ours_ = true;
    same_ = true;
    status_.applied = order_.hash;
    if (marks_.owner != mine_)
      return Refuse("the member removes Muster's marks from what is written there");
    Applied();
  }

  // It was made or changed since it was looked at, or others own fields of it.
  void Clash(const ApiResponse& answer) {
    const Conflict conflict = ConflictIn(answer);
    if (conflict == Conflict::kOthers) {
      // Where it was absent a moment ago, it is looked at first.
      if (live_.empty()) return Look();
      return Refuse(ErrorOf(answer).detail);
    }
    if (conflict == Conflict::kOwn) force_ = true;
    Look();
  }

  // --- the end

  void NoteSeen() {
    ObjectBook* const known = book();
    if (known == nullptr || !ours_) return;
    known->Follow(kind_, ref_);
    known->NoteSeen(kind_, ref_, live_);
  }

  // Answers as last time if nothing has changed since.
  bool SeenBefore() {
    const ObjectLook* const look = book() == nullptr ? nullptr : book()->LookAt(ref_);
    const Reader metadata = Reader(live_)["metadata"];
    if (look == nullptr || look->uid != metadata["uid"].View() ||
        look->resource_version != metadata["resourceVersion"].View() || look->hash != order_.hash ||
        look->strategy != order_.strategy || look->ours != ours_ || look->owner != mine_ ||
        (ours_ && !IsMarked()))
      return false;
    const ManifestStatus& seen = look->status;
    status_.result = seen.result;
    status_.message = seen.message;
    status_.applied = seen.applied;
    status_.availability = seen.availability;
    status_.differences = seen.differences;
    done_(ObjectOutcome{status_, false});
    return true;
  }

  void Finish(ManifestResult result, std::string message) {
    status_.result = result;
    status_.message = std::move(message);
    status_.differences = found_.kept;
    if (ours_ && !Reports()) status_.availability = AvailabilityOf(ref_, live_);
    if (ObjectBook* const known = book()) {
      const Reader metadata = Reader(live_)["metadata"];
      if (live_.empty() || result == ManifestResult::kApplyFailed) {
        known->Forget(ref_);
      } else {
        known->Keep(ref_,
                    {metadata["uid"].Text(kNameBytes), metadata["resourceVersion"].Text(kNameBytes),
                     order_.hash, mine_, order_.strategy, ours_, session_->Monotone(), status_});
      }
    }
    done_(ObjectOutcome{status_, wrote_});
  }

  void Refused(const ApiResponse& answer, bool writes) {
    if (!IsRefusal(answer)) return Lost(TroubleOf(answer, writes));
    Refuse(ErrorOf(answer).detail);
  }

  void Refuse(std::string sentence) {
    found_ = {};
    Finish(Reports() ? ManifestResult::kFailedToReportDiff : ManifestResult::kApplyFailed,
           CleanText(sentence, kMessageBytes));
  }

  const ObjectOrder order_;
  const Callback<ObjectOutcome> done_;
  const std::string mine_;
  json::object manifest_;
  ManifestStatus status_;  // the outcome as it grows
  json::object live_;      // the object as last seen; empty: absent
  ObjectMarks marks_;      // of it
  bool ours_ = false;
  bool same_ = false;    // what was applied last is this manifest
  json::object hub_;     // what live_ is compared with
  json::object wanted_;  // what is being written
  Differences found_;
  bool degraded_ = false;
  bool force_ = false, sought_ = false, wrote_ = false;
  int tries_ = 0;
};

}  // namespace

void ApplyObject(const SessionPtr& session, ObjectOrder order, Callback<ObjectOutcome> done) {
  std::make_shared<ApplyCall>(session, std::move(order), std::move(done))->Start();
}

}  // namespace muster::k8s

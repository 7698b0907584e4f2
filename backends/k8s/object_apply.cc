// ApplyCall: a chain of requests that compares one configuration object with its manifest and
// writes it if the apply strategy says so (rules P25, P26).
//
// 1. Resolve the kind, read the object (Look).
// 2. Judge: whose object is it? Objects of jobs, of other placements, of KubeFleet and, without
//    allowCoOwnership, of other owners are refused. An object without marks that existed before is
//    taken over as whenToTakeOver says. ReportDiff only compares.
// 3. Compare, if the strategy asks for it: a dry run tells what the API server would make of the
//    manifest, and CompareObjects tells where that differs from the object. Partial comparison
//    dry-runs a server-side apply, so fields that the manifest lacks do not count; full comparison
//    dry-runs a replacement. If the dry run is refused (400, 422, a field without a schema), the
//    texts are compared instead ("degraded mode"), which counts defaults as differences.
// 4. Write: client-side by a three-way merge patch, server-side by an apply patch. Secrets, and
//    objects whose text does not fit into an annotation, are always applied server-side. Every
//    write to an existing object has its resourceVersion as precondition; a 409 leads back to 1,
//    kApplyTries times at most.
// 5. Finish: the outcome, which the ObjectBook keeps while the object's resourceVersion stays, so
//    that a repeated order needs one read.
//
// Every answer of the member, a refusal too, becomes an outcome; only a missing answer is an error.
#include "backends/k8s/object_apply.h"

#include <algorithm>
#include <utility>

#include "backends/k8s/api_calls.h"
#include "backends/k8s/dependents.h"
#include "backends/k8s/member_json.h"
#include "backends/k8s/object_availability.h"
#include "backends/k8s/object_call.h"
#include "backends/k8s/object_diff.h"
#include "backends/k8s/object_marks.h"
#include "backends/k8s/status/reader.h"
#include "schedd/text/lenient.h"

namespace muster::k8s {
namespace {

constexpr char kApplyPatch[] = "application/apply-patch+yaml";
constexpr char kManager[] = "fieldManager=muster";
// An API server accepts 256 KiB of annotations per object; the rest is left for Muster's marks.
constexpr std::size_t kAnnotationBytes = (256 << 10) - 4096;
constexpr int kApplyTries = 4;

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

  // The outcome starts from the recorded status, so that fields that this call does not find out
  // stay.
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

  // --- reading the object

  void Unserved(const std::string& sentence) override { Refuse(sentence); }
  void Lost(Error error) override { done_(std::move(error)); }

  void Look() {
    if (++tries_ > kApplyTries) return Lost(Unavailable("it changes all the time"));
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

  // The path was not found: the kind was removed from the member, or is served in another version.
  // It is resolved again, once.
  void SeekKind() {
    if (book() != nullptr) book()->Doubt(ref_);
    if (std::exchange(sought_, true))
      return Refuse("the member does not serve " + ref_.kind + " of " + ApiVersionOf(ref_));
    Resolve([this] { Look(); });
  }

  // The object does not exist: creates it, or reports it as a difference.
  void Absent() {
    live_.clear();
    status_.remote_uid.clear();
    status_.generation = 0;
    if (!Reports()) return Create();
    found_ = AbsentObject();
    Finish(ManifestResult::kFoundDiff, "it is not there");
  }

  // Decides by the object's marks and owners (step 2 above).
  void Judge() {
    marks_ = ReadMarks(live_);
    const Reader metadata = Reader(live_)["metadata"];
    const std::string uid = metadata["uid"].Text(kNameBytes);
    // An object with the recorded uid and without marks is ours: the marks were removed and are
    // written again. Another owner's mark is never replaced.
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

  // The outcome of ReportDiff.
  void Report() {
    if (found_.none()) return Finish(ManifestResult::kNoDiffFound, "");
    Finish(degraded_ ? ManifestResult::kFoundDiffInDegradedMode : ManifestResult::kFoundDiff,
           "it differs " + InPlaces(found_));
  }

  // --- an object that existed before

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

  // --- an object of ours

  // All marks are there and name this placement and this manifest.
  bool IsMarked() const {
    return marks_.owner == mine_ && marks_.labelled && marks_.hash == order_.hash;
  }

  // Brings our object up to date. With whenToApply Always, a changed manifest or a missing mark is
  // written; otherwise a comparison decides. With IfNotDrifted, the object is compared with the
  // manifest that was applied last, and any difference is a drift.
  void KeepUp() {
    const bool full = order_.strategy.full_comparison;
    if (!order_.strategy.if_not_drifted) {
      if (!same_ || !IsMarked()) return Write();
      // In degraded mode only fields of the manifest count: values that the API server filled in
      // would differ for ever, and be written for ever.
      return Compare(manifest_, false, false, &ApplyCall::Correct);
    }
    if (same_) return Compare(manifest_, full, true, &ApplyCall::WriteUnlessDrifted);
    // Another manifest: the question is whether the text applied last has been changed on the
    // member. Without that text (a Secret, or a very large object), or if it is of another version,
    // that cannot be told, and the new manifest is written.
    auto last = ParseJson(marks_.last_applied);
    if (marks_.last_applied.empty() || !last.ok() || !last->is_object()) return Write();
    if (Reader(&*last)["apiVersion"].View() != ApiVersionOf(ref_)) return Write();
    // The annotation may have been edited, so its text is cleaned like a manifest.
    Compare(CleanManifest(ref_, std::move(last->get_object())), full, true,
            &ApplyCall::WriteUnlessDrifted);
  }

  // With whenToApply Always: writes over any difference.
  void Correct() { found_.none() ? Applied() : Write(); }

  // With whenToApply IfNotDrifted: writes, unless the member's object has been changed.
  void WriteUnlessDrifted() {
    if (found_.none()) return same_ && IsMarked() ? Applied() : Write();
    NoteSeen();
    const std::string rule = InPlaces(found_) + " (whenToApply is IfNotDrifted)";
    if (!degraded_) return Finish(ManifestResult::kFoundDrifts, "somebody has changed it " + rule);
    Finish(ManifestResult::kFoundDriftsInDegradedMode,
           "the API server cannot say what others have changed; the texts differ " + rule);
  }

  // The object is as the manifest says. With a full comparison, fields that others have added are
  // reported all the same.
  void Applied() {
    status_.applied = order_.hash;
    const bool tell = order_.strategy.full_comparison && !order_.strategy.if_not_drifted;
    // In degraded mode additions of others cannot be told from defaults, so they are not counted.
    if (tell) return Compare(manifest_, true, false, &ApplyCall::Tell);
    found_ = {};
    Tell();
  }

  void Tell() {
    NoteSeen();
    Finish(ManifestResult::kApplied, found_.none() ? "" : "it still differs " + InPlaces(found_));
  }

  // --- comparison

  // Sets `found_` and `degraded_`, then calls `then`: the differences between the object and what
  // the API server would make of `hub`. `whole`: fields that only the object has count too.
  // `degraded_whole`: the same for degraded mode.
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
    // A replacement must not remove finalizers and owners, which manifests do not have.
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

  // Makes a write fail unless the object is the one that was read, unchanged.
  void AddCondition(json::object* body) const {
    const Reader seen = Reader(live_)["metadata"];
    json::object& metadata = (*body)["metadata"].get_object();
    metadata["uid"] = seen["uid"].View();
    metadata["resourceVersion"] = seen["resourceVersion"].View();
  }

  // --- writing

  // Whether the object is applied server-side.
  bool OnServer() const {
    // Of an object that was applied without its text, only the API server knows our fields.
    const bool was = marks_.owner == mine_ && marks_.last_applied.empty();
    return order_.strategy.type == ApplyType::kServerSide || IsSecret() || was || !TextFits();
  }
  // Whether the manifest's text fits into an annotation, beside the annotations that are there.
  bool TextFits() const {
    return WriteJson(manifest_).size() + AnnotationBytes(manifest_) + AnnotationBytes(live_) <=
           kAnnotationBytes;
  }
  // Whether conflicts with other field managers are overridden. A client-side apply has no
  // conflicts, so its server-side substitute forces too.
  bool Forces() const {
    return force_ || order_.strategy.force_conflicts ||
           order_.strategy.type == ApplyType::kClientSide;
  }

  // The manifest with our marks, as it is written.
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
    // Applied, not POSTed, because a POST would record a second field manager for Muster. If
    // another client creates the object at this moment, only differing fields conflict.
    if (OnServer()) return SendApply(wanted_, order_.strategy.force_conflicts);
    Send({"POST", kJson, WriteJson(wanted_), kManager}, CollectionOfIt(),
         [this](const ApiResponse& answer) { Written(answer); });
  }

  // Writes the manifest to the existing object. An empty patch means that nothing differs.
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
    MakeObjectAt(patch, "metadata")["resourceVersion"] =
        Reader(live_)["metadata"]["resourceVersion"].View();
    Send({"PATCH", kMergePatch, WriteJson(patch), kManager}, Path(),
         [this](const ApiResponse& answer) { Written(answer); });
  }

  void SendApply(const json::object& body, bool force) {
    Send({"PATCH", kApplyPatch, WriteJson(body),
          std::string(kManager) + (force ? "&force=true" : "&force=false")},
         Path(), [this](const ApiResponse& answer) { Written(answer); });
  }

  // The answer to a create or a write. `wrote_` stays false if the write has changed nothing.
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

  // A conflict (409): the object was created or changed since it was read, or others own its
  // fields.
  void Clash(const ApiResponse& answer) {
    const ApplyConflict conflict = ConflictIn(answer);
    if (conflict == ApplyConflict::kOthers) {
      // The object was absent a moment ago: it is judged first.
      if (live_.empty()) return Look();
      return Refuse(ErrorOf(answer).detail);
    }
    if (conflict == ApplyConflict::kOwn) force_ = true;
    Look();
  }

  // --- the end

  // Tells the ObjectBook our state of the object, so that the watch reports only other changes.
  void NoteSeen() {
    ObjectBook* const known = book();
    if (known == nullptr || !ours_) return;
    known->Follow(kind_, ref_);
    known->NoteSeen(kind_, ref_, live_);
  }

  // Answers with the last outcome if neither the object nor the order has changed since.
  bool SeenBefore() {
    const CachedOutcome* const look = book() == nullptr ? nullptr : book()->LookAt(ref_);
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

  // Ends the call with an outcome and remembers it, unless it may be better next time.
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

  // An answer that is no success: an outcome if the member refuses for good, else an error.
  void Refused(const ApiResponse& answer, bool writes) {
    if (!IsRefusal(answer)) return Lost(TroubleOf(answer, writes));
    Refuse(ErrorOf(answer).detail);
  }

  // Ends the call: the object cannot be applied, for this reason.
  void Refuse(std::string sentence) {
    found_ = {};
    Finish(Reports() ? ManifestResult::kFailedToReportDiff : ManifestResult::kApplyFailed,
           CleanText(sentence, kMessageBytes));
  }

  const ObjectOrder order_;
  const Callback<ObjectOutcome> done_;
  const std::string mine_;
  json::object manifest_;
  // The outcome, as far as it is known.
  ManifestStatus status_;
  // The object as last read; empty: absent.
  json::object live_;
  // The marks of live_.
  ObjectMarks marks_;
  bool ours_ = false;
  // The manifest that was applied last is this one.
  bool same_ = false;
  // The manifest that live_ is compared with.
  json::object hub_;
  // The manifest that is being written.
  json::object wanted_;
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

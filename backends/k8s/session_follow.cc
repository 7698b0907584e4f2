// Session: follows the member's collections, reports changes to the sink, and answers lists.
//
// Following. Each slot has a reflector, which calls ListBegins, TakeObject and Listed through Sink.
// The session becomes ready when every slot that counts has been listed once. Pods of others are
// optional: if listing them is forbidden (403) or takes too long, they count as no load, and the
// facts say so.
//
// Reporting. Changes are collected for kFlushMs, and of one object the latest state is reported. A
// later list may come from another cluster that answers at the address; then every object would
// seem missing. So after such a list nothing is reported (holding_) until a probe sent after it has
// shown the same incarnation (Verify).
//
// Lists. A List call is a Question. The cache may answer it if it is a complete list plus every
// event since. An object that the cache lacks was then deleted, or was created after the last
// event; the second can only be an object that this daemon created, whose uid NoteMade recorded,
// and the question waits until the reflectors have reported it. An object that the cache has may
// have been removed since the last event; to remove it again changes nothing. The member is listed
// (AskMember) if that takes more than kSeenWithinMs, if a write was not answered (doubt_), if a
// stream is in trouble, if a list is being verified, or if the last real list is older than ten
// minutes.
#include <algorithm>
#include <charconv>
#include <utility>

#include "backends/k8s/member_json.h"
#include "backends/k8s/session.h"
#include "backends/k8s/status/reader.h"
#include "schedd/model/member_labels.h"
#include "schedd/telemetry/log.h"

namespace muster::k8s {
namespace {

constexpr char kPodsPath[] = "/api/v1/pods";
constexpr char kNodesPath[] = "/api/v1/nodes";
// Only pods that are bound and have not ended take room.
constexpr char kBoundPods[] = "spec.nodeName!=,status.phase!=Succeeded,status.phase!=Failed";
// Changes of one object within this time are reported as one.
constexpr std::int64_t kFlushMs = 20;
// At most so many reports in one turn; then other work on the strand gets its turn.
constexpr std::size_t kFlushObjects = 500;
// A watch normally reports a created object within milliseconds.
constexpr std::int64_t kSeenWithinMs = 2000;
constexpr std::int64_t kFullListEvery = 600 * kNanosPerSecond;

std::uint64_t SequenceOf(std::string_view version) {
  std::uint64_t number = 0;
  std::from_chars(version.data(), version.data() + version.size(), number);
  return number;
}

bool AnyRuns(const std::vector<Observation>& told) {
  return std::any_of(told.begin(), told.end(),
                     [](const Observation& seen) { return seen.phase == RemotePhase::kRunning; });
}

}  // namespace

// Passes the calls of one reflector to its session, which outlives it.
class Session::Sink final : public ReflectorSink {
 public:
  Sink(Session& session, std::size_t slot) : session_(session), slot_(slot) {}
  void OnListStart() override { session_.ListBegins(slot_); }
  void OnPage(const json::array& items) override {
    for (const json::value& item : items) {
      if (item.is_object()) session_.TakeObject(slot_, item.get_object(), Delivery::kListed);
    }
  }
  void OnListed(const std::string& version) override { session_.Listed(slot_, version); }
  void OnEvent(EventType type, const json::value& object) override {
    if (!object.is_object()) return;
    session_.TakeObject(slot_, object.get_object(),
                        type == EventType::kDeleted ? Delivery::kDeleted : Delivery::kChanged);
    session_.Alive(slot_);
  }
  void OnTrouble(const Error& error) override { session_.Troubled(slot_, error); }
  void OnAlive() override { session_.Alive(slot_); }

 private:
  Session& session_;
  const std::size_t slot_;
};

// Makes an empty cache and starts all reflectors. If the pods of others are not listed in time, the
// session goes on without them.
void Session::Follow() {
  cache_ = std::make_shared<AttemptCache>(options_.member, incarnation_);
  {
    const MutexLock lock(mutex_);
    shown_cache_ = cache_;
  }
  trouble_ = "its objects are being listed";
  for (std::size_t slot = 0; slot < slots_.size(); ++slot) {
    if (slots_[slot].absent.empty()) StartSlot(slot);
  }
  Later(options_.others_within_ms, [self = shared_from_this()] {
    if (self->closed_ || self->slots_[self->OthersSlot()].listed) return;
    self->LoseOthers(&self->slots_[self->OthersSlot()], Unavailable("they are being listed"));
  });
}

// Starts the reflector of a slot. Our objects and pods are selected by the instance label; RBAC
// cannot tell selectors apart, but a webhook authorizer can.
void Session::StartSlot(std::size_t slot) {
  ReflectorOptions options;
  Slot& one = slots_[slot];
  if (one.kind != nullptr) {
    options.collection.path = CollectionPath(*one.kind, "");
  } else {
    options.collection.path = slot == NodeSlot() ? kNodesPath : kPodsPath;
  }
  const std::string label(kInstanceLabel);
  if (IsOurs(slot)) {
    options.collection.label_selector = label + "=" + options_.instance_id;
  } else if (slot == OthersSlot()) {
    options.collection.label_selector = label + "!=" + options_.instance_id;
    options.collection.field_selector = kBoundPods;
  }
  one.reflector = std::make_unique<Reflector>(*client_, environment_, std::move(options),
                                              std::make_shared<Sink>(*this, slot));
  one.reflector->Start();
}

void Session::ListBegins(std::size_t slot) {
  Slot& one = slots_[slot];
  ++one.begun;
  if (one.kind != nullptr) {
    cache_->BeginList(*one.kind);
  } else if (slot == NodeSlot()) {
    nodes_.BeginList();
  } else if (slot == OthersSlot()) {
    loads_.BeginList(PodSide::kOthers);
  } else {
    loads_.BeginList(PodSide::kOurs);
    cache_->BeginPods();
  }
}

// Takes one object of a page or an event into the totals or the cache. A deletion also wakes the
// calls that wait for it (OnDeleted).
void Session::TakeObject(std::size_t slot, const json::object& object, Delivery told) {
  newest_ = std::max(newest_, SequenceOf(Reader(object)["metadata"]["resourceVersion"].View()));
  if (slot == NodeSlot()) {
    return told == Delivery::kDeleted ? nodes_.Remove(object) : nodes_.Put(object);
  }
  if (slots_[slot].kind == nullptr) {
    const PodSide side = IsOurs(slot) ? PodSide::kOurs : PodSide::kOthers;
    told == Delivery::kDeleted ? loads_.Remove(side, object) : loads_.Put(side, object);
    if (side == PodSide::kOthers) return;
    PodState pod = ReadPod(object);
    if (told == Delivery::kListed) return cache_->PutListedPod(std::move(pod));
    told == Delivery::kDeleted ? cache_->RemovePod(pod) : cache_->PutPod(std::move(pod));
    return FlushSoon();
  }
  ObjectState state = ReadObject(*slots_[slot].kind, object);
  Seen(state.uid);
  if (told == Delivery::kListed) return cache_->PutListed(std::move(state));
  if (told == Delivery::kChanged) {
    cache_->Put(std::move(state));
    return FlushSoon();
  }
  cache_->Remove(state);
  scales_.erase(state.uid);
  if (const auto waiting = wakes_.find(state.uid); waiting != wakes_.end()) {
    const auto wakes = std::move(waiting->second);
    wakes_.erase(waiting);
    for (const auto& [id, wake] : wakes) wake();
  }
  FlushSoon();
}

// A list is complete. After the first list of the session the cache is filled; after a later one of
// our own collections the incarnation must be verified before anything is reported.
void Session::Listed(std::size_t slot, const std::string& version) {
  newest_ = std::max(newest_, SequenceOf(version));
  Slot& one = slots_[slot];
  if (one.kind != nullptr) {
    cache_->EndList(*one.kind);
  } else if (slot == NodeSlot()) {
    nodes_.EndList();
  } else if (slot == OthersSlot()) {
    loads_.EndList(PodSide::kOthers);
  } else {
    loads_.EndList(PodSide::kOurs);
    cache_->EndPods();
  }
  const bool first = !std::exchange(one.listed, true);
  one.done = one.begun;
  Alive(slot);
  if (!ready_) return BecomeReady();
  if (first || !IsOurs(slot)) {
    FlushSoon();
    return AnswerQuestions();
  }
  // Objects that a later list lacks are gone, provided that the same cluster has answered.
  holding_ = true;
  Verify();
}

// Makes the session ready once all collections are listed; then reports and answers what waited.
void Session::BecomeReady() {
  if (!ready_) {
    if (!Synced()) return;
    ready_ = true;
    failures_ = 0;
    last_full_list_ = environment_.clock.Now();
    TellFacts();
  }
  FlushSoon();
  AnswerQuestions();
}

// Probes the member and, if it is the same incarnation, lets reports go on. A list that ended while
// the probe was under way needs another probe.
void Session::Verify() {
  if (verifying_) {
    verify_again_ = true;
    return;
  }
  verifying_ = true;
  Probe([this](std::optional<Error> failed) {
    verifying_ = false;
    if (closed_ || renewing_) return;
    if (failed || std::exchange(verify_again_, false)) {
      if (failed) FailQuestions(Away(failed->detail));
      return Later(failed ? 1000 : 0, [self = shared_from_this()] {
        if (!self->closed_) self->Verify();
      });
    }
    holding_ = false;
    FlushSoon();
    AnswerQuestions();
  });
}

// A reflector reports trouble: lists that wait fail, and Healthy counts the time.
void Session::Troubled(std::size_t slot, const Error& error) {
  Slot& one = slots_[slot];
  if (one.optional) return LoseOthers(&one, error);
  // The CRD was removed from the member, and with it all objects of the kind.
  if (one.kind != nullptr && error.code == Code::kNotFound && !cache_->Holds(*one.kind)) {
    one.absent = AbsentText(*one.kind);
    one.trouble.clear();
    one.listed = false;
    // Dropped at once, because StartFound starts a new reflector only where there is none.
    one.reflector.reset();
    return BecomeReady();
  }
  if (one.trouble.empty()) one.trouble_since = environment_.clock.Now();
  one.trouble = error.detail;
  if (!ready_) trouble_ = error.detail;
  FailQuestions(Away(error.detail));
}

// The pods of others cannot be followed now. Their load counts as last seen, but as none after a
// 403.
void Session::LoseOthers(Slot* slot, const Error& error) {
  if (slot->trouble.empty()) slot->trouble_since = environment_.clock.Now();
  const bool news = slot->trouble != error.detail;
  slot->trouble = error.detail;
  if (error.code == Code::kPermissionDenied) {
    slot->listed = false;
    loads_.Forget(PodSide::kOthers);
    if (news) {
      Log(LogLevel::kWarning, "k8s", "others_unseen",
          {{"cluster", options_.member}, {"err", error.detail}});
    }
  }
  BecomeReady();
}

// The member has answered on this stream.
void Session::Alive(std::size_t slot) {
  slots_[slot].trouble.clear();
  last_answer_ = Now();
}

// Whether every collection is listed and followed; an optional one may be in trouble.
bool Session::Synced() const {
  return !slots_.empty() && std::all_of(slots_.begin(), slots_.end(), [](const Slot& slot) {
    if (slot.optional) return slot.listed || !slot.trouble.empty();
    return !slot.absent.empty() || (slot.listed && slot.trouble.empty());
  });
}

void Session::FlushSoon() {
  if (flushing_ || closed_) return;
  flushing_ = true;
  Later(kFlushMs, [self = shared_from_this()] {
    self->flushing_ = false;
    if (!self->closed_) self->Flush();
  });
}

// Reports the changes to the sink, at most kFlushObjects at a time.
void Session::Flush() {
  // Verify and BecomeReady flush again.
  if (holding_ || renewing_ || !ready_) return;
  for (const AttemptCache::FailedAttempt& asking : cache_->AwaitsPods()) AskPods(asking);
  std::vector<Observation> changes = cache_->TakeChanges(kFlushObjects, last_answer_);
  const bool more = changes.size() >= kFlushObjects;
  NoteRunning(changes);
  for (Observation& change : changes) sink_.OnObservation(std::move(change));
  if (more) FlushSoon();
}

// Makes the next facts go out even if unchanged. After a job has started, the engine waits for
// facts that are newer than the observation, because only those count its pods.
void Session::NoteRunning(const std::vector<Observation>& told) {
  if (AnyRuns(told)) last_facts_ = environment_.clock.Now() + -heartbeat_;
}

// Reads the pods of a failed attempt, so that its end has an exit code: the object's watch may
// report the end before the pods' watch does.
void Session::AskPods(const AttemptCache::FailedAttempt& asking) {
  Collection pods;
  pods.path = CollectionPath("v1", "pods", asking.ns);
  pods.label_selector = std::string(kJobUidLabel) + "=" + asking.attempt.job_uid.ToString() + "," +
                        std::string(kAttemptLabel) + "=" + std::to_string(asking.attempt.attempt);
  ListCallbacks callbacks;
  callbacks.on_start = [] {};
  callbacks.on_page = [this](const json::array& items) {
    for (const json::value& item : items) {
      if (item.is_object()) cache_->PutPod(ReadPod(item.get_object()));
    }
  };
  callbacks.done = [this, uid = asking.uid](const Result<std::string>&) {
    cache_->PodsAsked(uid);
    FlushSoon();
  };
  ListCollection(*client_, pods, std::move(callbacks));
}

// Answers a List from the cache if that is whole, else from the member.
void Session::Ask(Callback<std::vector<Observation>> done) {
  if (closed_)
    return done(Unavailable("member cluster " + options_.member + " is being connected anew"));
  Question question;
  question.number = ++asked_;
  question.done = std::move(done);
  for (const auto& [uid, version] : made_) question.made.insert(uid);
  if (!ready_) {
    // The first lists answer it, because this session has created nothing yet.
    questions_.push_back(std::move(question));
    return;
  }
  const bool cached = CacheIsWhole();
  questions_.push_back(std::move(question));
  if (!cached) return AskMember(asked_);
  AnswerQuestions();
  // If the reflectors do not report a created object in time, the member is asked.
  Later(kSeenWithinMs, [self = shared_from_this(), number = asked_] {
    if (!self->closed_) self->AskMember(number);
  });
}

// Whether the cache may answer a List (see the top of this file).
bool Session::CacheIsWhole() const {
  return ready_ && !holding_ && !renewing_ && !doubt_ && Synced() &&
         environment_.clock.Now() - last_full_list_ < kFullListEvery;
}

// Makes the question wait for fresh lists of all our collections.
void Session::AskMember(std::uint64_t number) {
  const auto question = std::find_if(questions_.begin(), questions_.end(),
                                     [&](const Question& one) { return one.number == number; });
  if (question == questions_.end()) return;
  // Lists under way began before the question: only the next ones answer it.
  question->needs.clear();
  for (const Slot& slot : slots_) question->needs.push_back(slot.begun + 1);
  for (std::size_t slot = 0; slot < slots_.size(); ++slot) {
    if (IsOurs(slot) && slots_[slot].absent.empty() && slots_[slot].reflector != nullptr)
      slots_[slot].reflector->Relist();
  }
}

// A reflector has reported an object that we created: questions that waited for it may be answered.
void Session::Seen(const std::string& uid) {
  if (made_.erase(uid) == 0) return;
  bool answered = false;
  for (Question& question : questions_) {
    question.made.erase(uid);
    answered = answered || (question.needs.empty() && question.made.empty());
  }
  if (answered) client_->Post([self = shared_from_this()] { self->AnswerQuestions(); });
}

// Whether everything that the question waits for has come.
bool Session::IsAnswered(const Question& question) const {
  if (question.needs.empty()) return question.made.empty();
  for (std::size_t slot = 0; slot < question.needs.size(); ++slot) {
    const Slot& one = slots_[slot];
    if (IsOurs(slot) && one.absent.empty() && one.done < question.needs[slot]) return false;
  }
  return true;
}

// Answers all questions that are due with one reading of the cache.
void Session::AnswerQuestions() {
  if (!ready_ || holding_ || renewing_ || closed_) return;
  std::vector<Question> left;
  std::vector<Question> due;
  for (Question& question : questions_) {
    (IsAnswered(question) ? due : left).push_back(std::move(question));
  }
  questions_ = std::move(left);
  if (due.empty()) return;
  for (const Question& question : due) {
    if (question.needs.empty()) continue;
    last_full_list_ = environment_.clock.Now();
    doubt_ = false;
    // An object that was created before the list and is not in it has been deleted since.
    for (const std::string& uid : question.made) made_.erase(uid);
  }
  const std::vector<Observation> all = cache_->All(last_answer_);
  NoteRunning(all);
  for (Question& question : due) question.done(all);
}

void Session::FailQuestions(const Error& error) {
  const std::vector<Question> failed = std::exchange(questions_, {});
  for (const Question& question : failed) question.done(error);
}

}  // namespace muster::k8s

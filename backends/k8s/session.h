// Session: one connection to one member, from the first probe until something requires a new one
// (another incarnation, a restored backup, a changed kubeconfig, the backend's end). It finds out
// what the member is, follows Muster's objects there, reports to the sink, and carries the calls.
//
// Everything runs on the strand of its ApiClient, except the methods under "Any thread".
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "backends/backend.h"
#include "backends/k8s/attempt_cache.h"
#include "backends/k8s/client/api_client.h"
#include "backends/k8s/missing_rights.h"
#include "backends/k8s/node_totals.h"
#include "backends/k8s/pod_loads.h"
#include "backends/k8s/reflector.h"
#include "backends/k8s/session_options.h"
#include "schedd/base/mutex.h"

namespace muster::k8s {

class ObjectBook;

/// How often our marks were put back on an object, and when last.
struct MarkRepairs {
  int times = 0;
  Monotonic last;
};

class Session : public std::enable_shared_from_this<Session> {
 public:
  /// `renew` is called on the strand and must only post.
  static std::shared_ptr<Session> Make(const ClientEnvironment& environment, MemberAccess access,
                                       SessionOptions options, ObservationSink& sink,
                                       std::function<void(Renewal)> renew);
  /// Any thread but the strand. Ends everything; every callback has been called when it returns.
  /// The owner must call it before it drops the session.
  void Close();

  // Any thread.
  ApiClient& client() { return *client_; }
  const std::string& member() const { return options_.member; }
  const std::string& instance() const { return options_.instance_id; }
  /// Null before the member was reached.
  std::shared_ptr<AttemptCache> cache() const;
  ClusterFacts facts() const;
  /// Asks for all attempts; answered on the strand.
  void List(Callback<std::vector<Observation>> done);
  /// No effect once the session is closed.
  void SetHeartbeat(std::int64_t seconds);
  /// A sentence that follows the facts' own from now on; "": none.
  void SetRemark(std::string remark);

  /// The reason why no call is possible now; nothing if the session is ready.
  std::optional<Error> Down() const;
  /// Why the member does not serve a kind (kFailedPrecondition); nothing if it does.
  std::optional<Error> Lacks(const KindInfo& kind) const;
  /// Looks again whether a kind that was lacking is installed by now; then calls `then`.
  void Seek(const KindInfo& kind, std::function<void()> then);
  const std::string& incarnation() const { return incarnation_; }
  /// Runs `work` after that time, or at once when the session ends: then closed() is true.
  void Later(std::int64_t ms, std::function<void()> work);
  bool closed() const { return closed_; }
  /// Records an object that we created and that the reflectors have not reported yet.
  void NoteMade(const ObjectState& made);
  /// The version last seen; nothing if the object is not known.
  std::optional<ObjectVersion> VersionOf(const std::string& uid) const;
  /// For work that no caller waits for: runs it while the member has few other requests, else one
  /// piece after another. `work` calls `over` when it has ended.
  using QuietWork = std::function<void(std::function<void()> over)>;
  void WhenQuiet(QuietWork work);
  /// A write was not answered, so it may have been done: the next List asks the member itself.
  void NoteDoubt() { doubt_ = true; }
  /// `wake` runs when the object's deletion is reported, unless the returned token is dropped
  /// before.
  std::shared_ptr<void> OnDeleted(const std::string& uid, std::function<void()> wake);
  /// The scale of the last order that resized an elastic attempt's object.
  std::int64_t& ScaleOf(const std::string& uid) { return scales_[uid]; }
  /// For an object whose marks were put back.
  MarkRepairs& MendingOf(const std::string& uid) { return mendings_[uid]; }
  void ForgetMending(const std::string& uid) { mendings_.erase(uid); }
  Monotonic Monotone() const { return environment_.clock.Now(); }
  /// Names of the member's PriorityClasses; null if we may not read them.
  const std::set<std::string, std::less<>>* priority_classes() const {
    return priority_classes_ ? &*priority_classes_ : nullptr;
  }
  WallTime Now() const { return environment_.clock.WallNow(); }
  /// What the member's user turned out not to be permitted; not empty: no new jobs come.
  const MissingRights& rights() const { return rights_; }
  void NoteMissing(const Permission& right);
  /// The session's knowledge of configuration objects, created by the first call that needs it;
  /// null again once the session has ended.
  std::shared_ptr<ObjectBook>& objects() { return objects_; }

 private:
  /// One collection with the reflector that follows it.
  struct Slot {
    const KindInfo* kind = nullptr;  // null: pods or nodes
    std::string absent;              // not "": why no reflector follows it
    std::unique_ptr<Reflector> reflector;
    bool optional = false;              // the member is healthy without it
    bool listed = false;                // by the present reflector
    std::uint64_t begun = 0, done = 0;  // numbers of lists; they never decrease (Question::needs)
    std::string trouble;                // "" while the reflector follows
    Monotonic trouble_since;
  };
  class Sink;
  /// How a reflector has delivered an object.
  enum class Delivery : std::uint8_t { kListed, kChanged, kDeleted };
  /// A List call that waits for its answer.
  struct Question {
    std::uint64_t number = 0;
    std::set<std::string> made;        // uids created before the call, not reported yet
    std::vector<std::uint64_t> needs;  // by slot: the list to wait for; empty: the cache answers
    Callback<std::vector<Observation>> done;
  };

  Session(const ClientEnvironment& environment, SessionOptions options, ObservationSink& sink,
          std::function<void(Renewal)> renew);

  // session.cc
  void End();
  void Tick();
  void TellFacts();
  bool Answers() const;
  ClusterFacts FactsNow();
  std::string Message() const;
  std::string Standing() const;
  void RunQuiet();

  // session_connect.cc
  void Connect();
  void AskReady();
  void AskVersion();
  void TakeVersion(const ApiResponse& answer);
  void AskPriorityClasses();
  void Retry(const std::string& trouble);
  void Probe(std::function<void(std::optional<Error>)> then);
  void Probed(const std::string& uid, std::uint64_t version, std::uint64_t before);
  void StartFound();
  void Discover(std::size_t slot, std::function<void(std::optional<Error>)> then);
  void Discovered(Slot* slot, const ApiResponse& response);
  void DiscoverAgain();
  std::string AbsentText(const KindInfo& kind) const;

  // session_follow.cc
  void Follow();
  void StartSlot(std::size_t slot);
  void ListBegins(std::size_t slot);
  void TakeObject(std::size_t slot, const json::object& object, Delivery told);
  void Listed(std::size_t slot, const std::string& version);
  void Troubled(std::size_t slot, const Error& error);
  void Alive(std::size_t slot);
  void LoseOthers(Slot* slot, const Error& error);
  // The last three slots: our pods, pods of others, nodes.
  std::size_t NodeSlot() const { return slots_.size() - 1; }
  std::size_t OthersSlot() const { return slots_.size() - 2; }
  bool IsOurs(std::size_t slot) const { return slot < OthersSlot(); }
  bool Synced() const;
  void BecomeReady();
  void Verify();
  void FlushSoon();
  void Flush();
  void NoteRunning(const std::vector<Observation>& told);
  void AskPods(const AttemptCache::FailedAttempt& asking);
  void Ask(Callback<std::vector<Observation>> done);
  bool CacheIsWhole() const;
  void AskMember(std::uint64_t number);
  void Seen(const std::string& uid);
  bool IsAnswered(const Question& question) const;
  void AnswerQuestions();
  void FailQuestions(const Error& error);
  /// kUnavailable with the sentence, which begins with the member's name.
  Error Away(const std::string& trouble) const;

  const ClientEnvironment environment_;
  const SessionOptions options_;
  ObservationSink& sink_;
  const std::function<void(Renewal)> renew_;
  std::unique_ptr<ApiClient> client_;

  // Used on the strand alone.
  std::int64_t heartbeat_;  // nanoseconds
  bool closed_ = false;
  bool ready_ = false;                             // every collection has been listed once
  std::string trouble_ = "it is being connected";  // why not ready
  int failures_ = 0;
  std::string incarnation_, version_;
  std::vector<Slot> slots_;
  NodeTotals nodes_;
  PodLoads loads_;
  std::optional<std::set<std::string, std::less<>>> priority_classes_;
  std::uint64_t newest_ = 0;  // the largest resource version seen
  bool probing_ = false, verifying_ = false, verify_again_ = false, flushing_ = false;
  bool holding_ = false;       // a list may be another cluster's: reports wait for Verify
  bool renewing_ = false;      // another cluster answers: no report any more
  bool doubt_ = false;         // a write was not answered
  std::string probe_trouble_;  // of the last probe; "" if it succeeded
  Monotonic last_probe_, last_facts_, last_discovery_, last_full_list_, last_renewal_;
  WallTime last_answer_;
  std::unordered_map<std::string, ObjectVersion> made_;  // by uid
  std::map<std::string, std::int64_t> scales_;
  std::map<std::string, MarkRepairs> mendings_;  // by uid
  std::vector<Question> questions_;
  std::uint64_t asked_ = 0;
  std::uint64_t next_delayed_ = 0;
  std::map<std::uint64_t, std::function<void()>> delayed_;
  // For timers: they must not use the client, nor keep the session alive, after its end.
  struct ClientHandle {
    Mutex mutex;
    ApiClient* client MUSTER_GUARDED_BY(mutex) = nullptr;  // null when closed
  };
  const std::shared_ptr<ClientHandle> door_ = std::make_shared<ClientHandle>();
  std::map<std::string, std::map<std::uint64_t, std::function<void()>>> wakes_;
  std::uint64_t next_wake_ = 0;
  std::shared_ptr<ObjectBook> objects_;
  MissingRights rights_;
  std::string remark_;
  std::deque<QuietWork> quiet_;
  int quiet_running_ = 0;
  bool starting_quiet_ = false;
  bool was_healthy_ = false;

  std::shared_ptr<AttemptCache> cache_;  // null before the first list

  mutable Mutex mutex_;
  // cache_ and the facts, for other threads.
  std::shared_ptr<AttemptCache> shown_cache_ MUSTER_GUARDED_BY(mutex_);
  ClusterFacts facts_ MUSTER_GUARDED_BY(mutex_);
};
using SessionPtr = std::shared_ptr<Session>;

}  // namespace muster::k8s

// Session: one connection to one member, from the first probe until something makes a new one
// necessary (another incarnation, a restored backup, a changed kubeconfig, the end). It finds out
// what the member is, follows what is ours there, tells the sink, and carries the calls.
//
// Everything runs on the strand of its ApiClient; what other threads may call says so. README.md,
// "A session".
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "backends/backend.h"
#include "backends/k8s/attempt_cache.h"
#include "backends/k8s/client/api_client.h"
#include "backends/k8s/node_totals.h"
#include "backends/k8s/pod_loads.h"
#include "backends/k8s/reflector.h"

namespace muster::k8s {

class ObjectBook;

struct SessionOptions {
  std::string member;       // its name
  std::string instance_id;  // of this Muster: the value of the label muster.io/instance
  LabelMap labels;          // declared for the member
  int connections = 0;      // 0: the client's own number
  /// Then it is ready without the pods of others: a member may have a hundred thousand of them.
  std::int64_t others_within_ms = 5000;
  std::int64_t heartbeat_s = 60;  // MemberCluster::heartbeat_s
};

/// How often our marks were put back on an object, and when last.
struct Mending {
  int times = 0;
  Monotonic last;
};

/// Why a session must be replaced by another.
enum class Renewal : std::uint8_t {
  kOtherMember,  // another incarnation answers, or the same one taken back in time
  kCredentials,  // what the kubeconfig says is refused: it may have changed
};

class Session : public std::enable_shared_from_this<Session> {
 public:
  /// `renew` is called on the strand and must only post.
  static std::shared_ptr<Session> Make(const ClientEnvironment& environment, MemberAccess access,
                                       SessionOptions options, ObservationSink& sink,
                                       std::function<void(Renewal)> renew);
  /// Any thread but the strand: ends everything; every callback has been called when it returns.
  /// Whoever made it calls this before letting it go.
  void Close();

  // Any thread.
  ApiClient& client() { return *client_; }
  const std::string& member() const { return options_.member; }
  const std::string& instance() const { return options_.instance_id; }
  /// Null before the member was reached.
  std::shared_ptr<AttemptCache> cache() const;
  ClusterFacts facts() const;
  /// Asks for everything; answered on the strand.
  void List(Callback<std::vector<Observation>> done);
  /// Nothing happens once it is closed.
  void SetHeartbeat(std::int64_t seconds);

  // On the strand, for calls.
  /// Why nothing can be asked of it now; nothing if it is connected.
  std::optional<Error> Down() const;
  /// Why a kind cannot be had here (kFailedPrecondition); nothing if it can.
  std::optional<Error> Lacks(const KindInfo& kind) const;
  /// Looks again whether a kind that was lacking is installed by now; then calls `then`.
  void Seek(const KindInfo& kind, std::function<void()> then);
  const std::string& incarnation() const { return incarnation_; }
  /// Runs `work` that much later, or at once when the session ends: then closed() is true.
  void Later(std::int64_t ms, std::function<void()> work);
  bool closed() const { return closed_; }
  /// An object that we made and that the reflectors have not told of yet.
  void NoteMade(const ObjectState& made);
  /// As last known; nothing if it is not.
  std::optional<ObjectVersion> VersionOf(const std::string& uid) const;
  /// For what nobody waits for: runs `work` while the member has little else to do, and otherwise
  /// one after another. `work` calls what it is given when it is over.
  using QuietWork = std::function<void(std::function<void()> over)>;
  void WhenQuiet(QuietWork work);
  /// What was sent may have been done or not: the next List asks the member itself.
  void NoteDoubt() { doubt_ = true; }
  /// `wake` runs when the object is told to be deleted; dropped with the returned token.
  std::shared_ptr<void> OnDeleted(const std::string& uid, std::function<void()> wake);
  /// The scale that an elastic attempt's object was last given.
  std::int64_t& ScaleOf(const std::string& uid) { return scales_[uid]; }
  /// Of an object that had lost our marks.
  Mending& MendingOf(const std::string& uid) { return mendings_[uid]; }
  void ForgetMending(const std::string& uid) { mendings_.erase(uid); }
  Monotonic Monotone() const { return environment_.clock.Now(); }
  /// Names of its PriorityClasses; null if we may not read them.
  const std::set<std::string, std::less<>>* priority_classes() const {
    return priority_classes_ ? &*priority_classes_ : nullptr;
  }
  WallTime Now() const { return environment_.clock.WallNow(); }
  /// What is known for configuration objects, made by who first needs it; null again once the
  /// session has ended.
  std::shared_ptr<ObjectBook>& objects() { return objects_; }

 private:
  /// One collection that is followed.
  struct Slot {
    const KindInfo* kind = nullptr;  // null: pods or nodes
    std::string absent;              // not "": why it is not followed
    std::unique_ptr<Reflector> reflector;
    bool optional = false;              // without it the member is healthy all the same
    bool listed = false;                // by the reflector it has now
    std::uint64_t begun = 0, done = 0;  // lists ever; never go back, for questions count on them
    std::string trouble;                // "" while it follows
    Monotonic trouble_since;
  };
  class Sink;
  enum class Told : std::uint8_t { kListed, kChanged, kDeleted };
  struct Question {
    std::uint64_t number = 0;
    std::set<std::string> made;        // before it was asked, and not told of yet
    std::vector<std::uint64_t> needs;  // by slot: the list that answers it; empty: the cache does
    Callback<std::vector<Observation>> done;
  };

  Session(const ClientEnvironment& environment, SessionOptions options, ObservationSink& sink,
          std::function<void(Renewal)> renew);

  // session.cc
  void End();
  void Tick();
  void TellFacts();
  bool Healthy() const;
  ClusterFacts FactsNow();
  std::string Message() const;
  void PublishFacts();
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
  void TakeObject(std::size_t slot, const json::object& object, Told told);
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
  void AskPods(const AttemptCache::Asking& asking);
  void Ask(Callback<std::vector<Observation>> done);
  bool CacheIsWhole() const;
  void AskMember(std::uint64_t number);
  void Seen(const std::string& uid);
  bool IsAnswered(const Question& question) const;
  void AnswerQuestions();
  void FailQuestions(const Error& error);
  /// kUnavailable, with the member's name in front of a sentence that does not begin with it.
  Error Away(const std::string& trouble) const;

  const ClientEnvironment environment_;
  const SessionOptions options_;
  ObservationSink& sink_;
  const std::function<void(Renewal)> renew_;
  std::unique_ptr<ApiClient> client_;

  // The strand's own.
  std::int64_t heartbeat_;  // nanoseconds
  bool closed_ = false;
  bool ready_ = false;                             // connected, and every list has come once
  std::string trouble_ = "it is being connected";  // why not ready
  int failures_ = 0;
  std::string incarnation_, version_;
  std::vector<Slot> slots_;
  NodeTotals nodes_;
  PodLoads loads_;
  std::optional<std::set<std::string, std::less<>>> priority_classes_;
  std::uint64_t newest_ = 0;  // resource version seen
  bool probing_ = false, verifying_ = false, verify_again_ = false, flushing_ = false;
  bool holding_ = false;       // a list may be another cluster's: nothing is told
  bool renewing_ = false;      // it was: nothing is told any more
  bool doubt_ = false;         // a write was not answered
  std::string probe_trouble_;  // of the last probe; "" if it was answered
  bool refused_ = false;       // it was, but with 401
  Monotonic last_probe_, last_facts_, last_discovery_, last_full_list_, last_renewal_;
  WallTime last_answer_;
  std::unordered_map<std::string, ObjectVersion> made_;  // by uid
  std::map<std::string, std::int64_t> scales_;
  std::map<std::string, Mending> mendings_;  // by uid
  std::vector<Question> questions_;
  std::uint64_t asked_ = 0;
  std::uint64_t next_delayed_ = 0;
  std::map<std::uint64_t, std::function<void()>> delayed_;
  // For timers, which must neither use the client nor keep this alive once it is closed.
  struct Door {
    std::mutex mutex;
    ApiClient* client = nullptr;  // null when closed; guarded by mutex
  };
  const std::shared_ptr<Door> door_ = std::make_shared<Door>();
  std::map<std::string, std::map<std::uint64_t, std::function<void()>>> wakes_;
  std::uint64_t next_wake_ = 0;
  std::shared_ptr<ObjectBook> objects_;
  std::deque<QuietWork> quiet_;
  int quiet_running_ = 0;
  bool starting_quiet_ = false;
  bool was_healthy_ = false;

  mutable std::mutex mutex_;  // guards what follows
  std::shared_ptr<AttemptCache> cache_;
  ClusterFacts facts_;
};
using SessionPtr = std::shared_ptr<Session>;

}  // namespace muster::k8s

// ObjectBook: discovery answers, cached outcomes, and the watch for changes that others make.
//
// A group's resources are asked for once per apiVersion; calls that come meanwhile wait for the
// same answer. Cached outcomes expire after kLookHolds, because a schema or a webhook may change
// without the object changing.
//
// Changes of others. A reflector follows each kind that was applied in this session, by our label,
// up to kFollowedKinds. Each object has a fingerprint of the parts that matter: generation, labels,
// annotations, deletion, availability. `known` holds the fingerprint that we have seen or reported,
// `latest` the one from the watch. The watch often reports our own write before its answer has come
// and NoteSeen has set `known`, so differences are settled after kSettleMs. Missed changes do no
// harm: the propagator compares each object regularly anyway.
#include "backends/k8s/object_book.h"

#include <functional>
#include <set>
#include <utility>

#include "backends/k8s/member_json.h"
#include "backends/k8s/object_availability.h"
#include "backends/k8s/object_marks.h"
#include "backends/k8s/status/reader.h"

namespace muster::k8s {
namespace {

constexpr std::int64_t kAskAgain = 10 * kNanosPerSecond;
constexpr std::int64_t kLookHolds = 600 * kNanosPerSecond;
constexpr std::int64_t kAskMs = 15'000;
constexpr std::int64_t kSettleMs = 300;
// Each followed kind takes one of the streams that a client may have open.
constexpr std::size_t kFollowedKinds = 64;

// A hash of the parts of an object whose change is news. Status writes of a controller are not,
// unless they change the availability.
std::size_t FingerprintOf(const ResourceRef& ref, const json::object& object) {
  const Reader metadata = Reader(object)["metadata"];
  const auto generation = metadata["generation"].Integer();
  std::string text =
      generation ? std::to_string(*generation) : std::string(metadata["resourceVersion"].View());
  for (const char* which : {"labels", "annotations"}) {
    const json::object* keys = metadata[which].Object();
    text += keys == nullptr ? "-" : WriteJson(*keys);
  }
  text += metadata["deletionTimestamp"].View();
  text += static_cast<char>('0' + static_cast<int>(AvailabilityOf(ref, object)));
  return std::hash<std::string>()(text);
}

std::string UidOf(const json::object& object) {
  return std::string(Reader(object)["metadata"]["uid"].View());
}

}  // namespace

// A kind that is followed, and the fingerprints of its objects.
struct ObjectBook::FollowedKind {
  // Group and kind alone.
  ResourceRef kind;
  // Fingerprints by uid: seen or reported; from the watch since; from a list under way.
  std::map<std::string, std::size_t> known, latest, listing;
  // Uids of the objects that we are removing.
  std::set<std::string> removed;
  // A settlement of `latest` is scheduled.
  bool settling = false;
  // The last member, so that it stops before the others are destroyed.
  std::unique_ptr<Reflector> reflector;
};

// Receives one kind's lists and events.
class ObjectBook::Sink final : public ReflectorSink {
 public:
  Sink(ObjectBook& book, FollowedKind& followed) : book_(book), followed_(followed) {}

  void OnListStart() override { followed_.listing.clear(); }
  void OnPage(const json::array& items) override {
    for (const json::value& item : items) {
      if (!item.is_object()) continue;
      const json::object& object = item.get_object();
      followed_.listing[UidOf(object)] = FingerprintOf(followed_.kind, object);
    }
  }
  // Compares a complete list with what is known; a difference that we did not announce is news.
  void OnListed(const std::string&) override {
    bool news = false;
    for (const auto& [uid, seen] : followed_.known) {
      if (followed_.removed.count(uid) > 0) continue;
      const auto now = followed_.listing.find(uid);
      news = news || now == followed_.listing.end() || now->second != seen;
    }
    for (const std::string& uid : followed_.removed) followed_.listing.erase(uid);
    followed_.removed.clear();
    followed_.known = std::move(followed_.listing);
    followed_.listing.clear();
    followed_.latest.clear();
    if (news) book_.Tell();
  }
  void OnEvent(EventType type, const json::value& value) override {
    if (!value.is_object()) return;
    const std::string uid = UidOf(value.get_object());
    if (type == EventType::kDeleted) {
      followed_.latest.erase(uid);
      const bool news = followed_.known.erase(uid) > 0 && followed_.removed.count(uid) == 0;
      followed_.removed.erase(uid);
      if (news) book_.Tell();
      return;
    }
    if (followed_.removed.count(uid) > 0) return;
    const std::size_t now = FingerprintOf(followed_.kind, value.get_object());
    // An object that is not known yet is normally one that we have just created.
    const bool first = followed_.known.emplace(uid, now).second;
    followed_.latest[uid] = now;
    if (!first && followed_.known[uid] != now) book_.SettleSoon(&followed_);
  }
  // Changes that are missed meanwhile are found when the propagator compares each object again.
  void OnTrouble(const Error&) override {}
  void OnAlive() override {}

 private:
  ObjectBook& book_;
  FollowedKind& followed_;
};

ObjectBook::ObjectBook(Session& session, const ClientEnvironment& environment,
                       std::shared_ptr<ObjectListener> listener)
    : session_(session), environment_(environment), listener_(std::move(listener)) {}

ObjectBook::~ObjectBook() {
  const auto left = std::move(waiting_);
  for (const auto& [api_version, waiting] : left) {
    for (const PendingQuery& one : waiting)
      one.done(Unavailable("member cluster " + session_.member() + " is being connected anew"));
  }
}

std::string ObjectBook::ApiVersionOf(const ResourceRef& ref) { return k8s::ApiVersionOf(ref); }

Result<ServedKind> ObjectBook::Find(const Group& group, const ResourceRef& ref) const {
  const auto found = group.kinds.find(ref.kind);
  if (found != group.kinds.end()) return found->second;
  return NotFound("the member does not serve " + ref.kind + " of " + ApiVersionOf(ref));
}

void ObjectBook::Resolve(const ResourceRef& ref, Callback<ServedKind> done) {
  const std::string api_version = ApiVersionOf(ref);
  if (const auto known = groups_.find(api_version); known != groups_.end()) {
    auto found = Find(known->second, ref);
    if (found.ok() || session_.Monotone() - known->second.asked < kAskAgain)
      return done(std::move(found));
  }
  auto& waiting = waiting_[api_version];
  waiting.push_back({ref, std::move(done)});
  if (waiting.size() == 1) Ask(api_version);
}

void ObjectBook::Ask(const std::string& api_version) {
  ApiRequest request;
  request.target = GroupPath(api_version);
  request.timeout_ms = kAskMs;
  session_.client().Send(std::move(request),
                         [weak = weak_from_this(), api_version](const Result<ApiResponse>& answer) {
    if (const auto self = weak.lock()) self->Asked(api_version, answer);
  });
}

// Stores a group's resources and answers the calls that waited. A 404 means that no kind of the
// group is served.
void ObjectBook::Asked(const std::string& api_version, const Result<ApiResponse>& answer) {
  std::optional<Error> failed;
  if (!answer.ok()) {
    failed = answer.error();
  } else if (!answer->ok() && answer->status != 404) {
    failed = ErrorOf(*answer);
  } else {
    Group& group = groups_[api_version];
    group = Group();
    group.asked = session_.Monotone();
    const auto body = ParseMemberJson(answer->ok() ? answer->body : "{}");
    if (body.ok()) {
      Reader(&*body)["resources"].Each([&](const Reader& one) {
        const std::string name = one["name"].Text(kNameBytes);
        // A name with a slash is a subresource.
        if (name.find('/') != std::string::npos) return;
        const std::string kind = one["kind"].Text(kNameBytes);
        group.kinds[kind] = {api_version, kind, name, one["namespaced"].IsTrue()};
      });
    }
  }
  const std::vector<PendingQuery> waiting = std::move(waiting_[api_version]);
  waiting_.erase(api_version);
  for (const PendingQuery& one : waiting) {
    if (failed) {
      one.done(Unavailable(failed->detail));
    } else {
      one.done(Find(groups_[api_version], one.ref));
    }
  }
}

const CachedOutcome* ObjectBook::LookAt(const ResourceRef& ref) const {
  const auto found = looks_.find(ref);
  if (found == looks_.end() || session_.Monotone() - found->second.at >= kLookHolds) return nullptr;
  return &found->second;
}

// Starts a reflector for the kind, unless one runs or the limit is reached.
void ObjectBook::Follow(const ServedKind& kind, const ResourceRef& ref) {
  if (followed_.size() >= kFollowedKinds) return;
  auto& one = followed_[FollowedKey(kind)];
  if (one != nullptr) return;
  one = std::make_unique<FollowedKind>();
  one->kind.group = ref.group;
  one->kind.kind = ref.kind;
  ReflectorOptions options;
  options.collection.path = CollectionPath(kind.api_version, kind.resource, "");
  options.collection.label_selector = std::string(kPropagatedLabel) + "=true";
  one->reflector = std::make_unique<Reflector>(session_.client(), environment_, std::move(options),
                                               std::make_shared<Sink>(*this, *one));
  one->reflector->Start();
}

// Compares `latest` with `known` after kSettleMs, when our own writes have been answered.
void ObjectBook::SettleSoon(FollowedKind* followed) {
  if (std::exchange(followed->settling, true)) return;
  session_.Later(kSettleMs, [weak = weak_from_this(), followed] {
    const auto self = weak.lock();
    if (self == nullptr) return;
    followed->settling = false;
    bool news = false;
    for (const auto& [uid, now] : std::exchange(followed->latest, {})) {
      const auto known = followed->known.find(uid);
      news = news || (known != followed->known.end() && std::exchange(known->second, now) != now);
    }
    if (news) self->Tell();
  });
}

void ObjectBook::Tell() { listener_->Call(session_.member()); }

void ObjectBook::NoteSeen(const ServedKind& kind, const ResourceRef& ref,
                          const json::object& object) {
  const auto found = followed_.find(FollowedKey(kind));
  if (found == followed_.end()) return;
  const std::string uid = UidOf(object);
  found->second->known[uid] = FingerprintOf(ref, object);
  // A removal that was announced has failed.
  found->second->removed.erase(uid);
}

void ObjectBook::NoteRemoved(const ServedKind& kind, const std::string& uid) {
  const auto found = followed_.find(FollowedKey(kind));
  if (found != followed_.end()) found->second->removed.insert(uid);
}

}  // namespace muster::k8s

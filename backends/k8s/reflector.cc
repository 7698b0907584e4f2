// Reflector: list, watch, and begin again.
//
// Everything but Stop and the timer's wake-up runs on the client's strand. Each list, watch and
// pause is a round with a number; an answer that belongs to an earlier round is dropped (Current),
// so a reflector that was told to list again need not cancel anything.
//
// How a watch's end is treated:
// - its time was up: watch again from the last version; after a pause if it reported nothing, so
//   that a member that closes every watch at once is not asked in a circle;
// - the connection broke after it had reported something: watch again after a pause;
// - 410 (the version is too old): list again after a pause; this is normal;
// - stalled, refused, never opened, or broken without a report: report trouble, then list again,
//   because the member may have gone back in time.
#include "backends/k8s/reflector.h"

#include <future>
#include <utility>

#include "backends/k8s/client/backoff.h"
#include "backends/k8s/member_json.h"
#include "schedd/base/mutex.h"
#include "schedd/text/lenient.h"
#include "schedd/text/percent.h"

namespace muster::k8s {

// The state behind a Reflector; callbacks hold it, so it may outlive that.
class Reflector::Core : public std::enable_shared_from_this<Core> {
 public:
  Core(ApiClient& client, const ClientEnvironment& environment, ReflectorOptions options,
       std::shared_ptr<ReflectorSink> sink)
      : client_(client),
        environment_(environment),
        options_(std::move(options)),
        sink_(std::move(sink)),
        retry_(options_.retry_min_ms, options_.retry_max_ms) {}

  void List();
  void Stop();
  ApiClient& client() { return client_; }

 private:
  class Watch;
  void Listed(std::uint64_t round, const Result<std::string>& version);
  void OpenWatch();
  void Opened(std::uint64_t round, const ApiResponse& response);
  void Line(std::uint64_t round, std::string_view line);
  void Ended(std::uint64_t round, const Status& how);
  void Event(std::string_view type, json::object& event);
  void Trouble(const Error& error, bool relist);
  void Later(std::int64_t ms, bool relist);
  void Wake(std::uint64_t round, bool relist);
  bool Current(std::uint64_t round) const { return round == round_ && !stopped_; }

  ApiClient& client_;
  const ClientEnvironment environment_;
  const ReflectorOptions options_;
  const std::shared_ptr<ReflectorSink> sink_;
  Backoff retry_;
  std::uint64_t round_ = 0;
  std::string version_;
  std::shared_ptr<ApiStream> stream_;
  // Why the watch was refused: its answer was not 200, or it sent an ERROR event.
  std::optional<Error> refused_;
  // The watch has delivered an event or a bookmark.
  bool fruitful_ = false;
  bool stopped_ = false;
  Mutex mutex_;
  // The timer must not use client_ any more.
  bool halted_ MUSTER_GUARDED_BY(mutex_) = false;
  bool timer_set_ MUSTER_GUARDED_BY(mutex_) = false;
  TimerId timer_ MUSTER_GUARDED_BY(mutex_) = 0;
};

// Passes one stream's calls on with the number of its round.
class Reflector::Core::Watch final : public StreamSink {
 public:
  Watch(std::weak_ptr<Core> core, std::uint64_t round) : core_(std::move(core)), round_(round) {}
  void OnResponse(const ApiResponse& response) override {
    if (const auto core = core_.lock()) core->Opened(round_, response);
  }
  bool OnData(std::string_view line) override {
    if (const auto core = core_.lock()) core->Line(round_, line);
    return true;
  }
  void OnEnd(const Status& how) override {
    if (const auto core = core_.lock()) core->Ended(round_, how);
  }

 private:
  const std::weak_ptr<Core> core_;
  const std::uint64_t round_;
};

// Ends whatever is under way and lists.
void Reflector::Core::List() {
  if (stopped_) return;
  const std::uint64_t round = ++round_;
  if (stream_ != nullptr) std::exchange(stream_, nullptr)->Close();
  const auto self = shared_from_this();
  ListCollection(client_, options_.collection,
                 {[self, round] {
    if (self->Current(round)) self->sink_->OnListStart();
                  },
                  [self, round](const json::array& items) {
    if (self->Current(round)) self->sink_->OnPage(items);
                 },
                 [self, round](const Result<std::string>& version) {
    if (self->Current(round)) self->Listed(round, version);
  }});
}

void Reflector::Core::Listed(std::uint64_t round, const Result<std::string>& version) {
  if (!version) return Trouble(version.error(), true);
  version_ = *version;
  retry_.Reset();
  sink_->OnListed(version_);
  if (!Current(round)) return;
  sink_->OnAlive();
  if (Current(round)) OpenWatch();
}

void Reflector::Core::OpenWatch() {
  const std::uint64_t round = ++round_;
  refused_.reset();
  fruitful_ = false;
  // A random part spreads the ends of all watches, so that they are not reopened all at once.
  const auto spread = static_cast<std::int64_t>(environment_.random.Next() %
                                                static_cast<std::uint64_t>(options_.watch_s + 1));
  StreamRequest request;
  request.target =
      options_.collection.path +
      "?watch=true&allowWatchBookmarks=true&resourceVersion=" + PercentEncode(version_) +
      "&timeoutSeconds=" + std::to_string(options_.watch_s + spread);
  if (!options_.collection.label_selector.empty())
    request.target += "&labelSelector=" + PercentEncode(options_.collection.label_selector);
  if (!options_.collection.field_selector.empty())
    request.target += "&fieldSelector=" + PercentEncode(options_.collection.field_selector);
  request.idle_timeout_ms = options_.idle_timeout_ms;
  stream_ =
      client_.OpenStream(std::move(request), std::make_shared<Watch>(weak_from_this(), round));
}

void Reflector::Core::Opened(std::uint64_t round, const ApiResponse& response) {
  if (!Current(round)) return;
  if (response.status != 200) {
    refused_ = ErrorOf(response);
    return;
  }
  sink_->OnAlive();
}

// One line of the watch. A line that is no event makes the list necessary, since its content is
// lost.
void Reflector::Core::Line(std::uint64_t round, std::string_view line) {
  if (!Current(round) || refused_) return;
  MemberDocument parsed(line);
  auto* event = parsed.ok() ? parsed->if_object() : nullptr;
  const json::string* type = FindText(event, "type");
  if (type == nullptr || FindObject(event, "object") == nullptr) {
    refused_ = Error{Code::kDataLoss, "the member's watch sent a line that is no event"};
    // The next list has what this line was about.
    std::exchange(stream_, nullptr)->Close();
    return Trouble(*refused_, true);
  }
  Event(std::string_view(*type), *event);
}

// Delivers one event. An ERROR event is followed by the end of the stream.
void Reflector::Core::Event(std::string_view type, json::object& event) {
  json::value& object = event.at("object");
  if (type == "ERROR") {
    const ApiStatus status = ReadApiStatus(object);
    refused_ = Error{status.code == 410 ? Code::kOutOfRange : Code::kUnavailable, status.message};
    return;
  }
  if (const json::string* version = FindText(object, {"metadata", "resourceVersion"}))
    version_ = *version;
  fruitful_ = true;
  retry_.Reset();
  if (type == "BOOKMARK") return sink_->OnAlive();
  if (type == "ADDED") return sink_->OnEvent(EventType::kAdded, object);
  if (type == "MODIFIED") return sink_->OnEvent(EventType::kModified, object);
  if (type == "DELETED") return sink_->OnEvent(EventType::kDeleted, object);
}

// The stream has ended; see the top of this file.
void Reflector::Core::Ended(std::uint64_t round, const Status& how) {
  if (!Current(round)) return;
  stream_ = nullptr;
  if (refused_) {
    // 410 is normal: the version is too old, and a list gives a new one.
    if (refused_->code == Code::kOutOfRange) return Later(retry_.Next(environment_.random), true);
    return Trouble(*refused_, true);
  }
  if (!how) {
    const bool broken = how.error().code == Code::kUnavailable && fruitful_;
    // A watch that broke in use continues where it ended.
    if (broken) return Later(retry_.Next(environment_.random), false);
    return Trouble(how.error(), true);
  }
  // The watch's time was up, or the member closed it.
  if (fruitful_) return OpenWatch();
  Later(retry_.Next(environment_.random), false);
}

// Reports the error and goes on after a pause, which is longer for an absent or forbidden resource.
void Reflector::Core::Trouble(const Error& error, bool relist) {
  const std::uint64_t round = round_;
  sink_->OnTrouble(error);
  if (!Current(round)) return;
  const bool absent = error.code == Code::kNotFound || error.code == Code::kPermissionDenied;
  const std::int64_t pause = absent
                                 ? Backoff::Jittered(options_.absent_retry_ms, environment_.random)
                                 : std::max(retry_.Next(environment_.random), error.retry_after_ms);
  Later(pause, relist);
}

// Starts a pause as a round of its own, replacing an earlier one.
void Reflector::Core::Later(std::int64_t ms, bool relist) {
  const std::uint64_t round = ++round_;
  MutexLock lock(mutex_);
  if (halted_) return;
  if (timer_set_) environment_.timers.Cancel(timer_);
  timer_set_ = true;
  timer_ = environment_.timers.At(environment_.clock.Now() + MillisToNanos(ms),
                                  [weak = weak_from_this(), round, relist] {
    const auto self = weak.lock();
    if (self == nullptr) return;
    MutexLock inner(self->mutex_);
    if (self->halted_) return;
    self->client_.Post([self, round, relist] { self->Wake(round, relist); });
  });
}

void Reflector::Core::Wake(std::uint64_t round, bool relist) {
  if (!Current(round)) return;
  if (relist) {
    List();
  } else {
    OpenWatch();
  }
}

// After halted_ is set the timer does nothing; then the strand is asked to end the stream and,
// unless we are on it, waited for.
void Reflector::Core::Stop() {
  {
    MutexLock lock(mutex_);
    if (std::exchange(halted_, true)) return;
    if (timer_set_) environment_.timers.Cancel(timer_);
  }
  const auto end = [self = shared_from_this()] {
    self->stopped_ = true;
    if (self->stream_ != nullptr) std::exchange(self->stream_, nullptr)->Close();
  };
  if (client_.OnStrand()) return end();
  std::promise<void> ended;
  // A client that has stopped accepts no post, and makes no calls either.
  if (client_.Post([&] {
        end();
        ended.set_value();
      }))
    ended.get_future().wait();
}

Reflector::Reflector(ApiClient& client, const ClientEnvironment& environment,
                     ReflectorOptions options, std::shared_ptr<ReflectorSink> sink)
    : core_(std::make_shared<Core>(client, environment, std::move(options), std::move(sink))) {}
Reflector::~Reflector() { Stop(); }
void Reflector::Start() {
  core_->client().Post([core = core_] { core->List(); });
}
void Reflector::Relist() {
  core_->client().Post([core = core_] { core->List(); });
}
void Reflector::Stop() { core_->Stop(); }

}  // namespace muster::k8s

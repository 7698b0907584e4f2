#include "backends/k8s/reflector.h"

#include <future>
#include <mutex>
#include <utility>

#include "backends/k8s/client/backoff.h"
#include "backends/k8s/member_json.h"
#include "schedd/text/lenient.h"
#include "schedd/text/percent.h"

namespace muster::k8s {

// All but Stop and the timer's wake-up run on the client's strand. What belongs to an earlier round
// (a list or watch that was given up) is not listened to.
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
  std::optional<Error> refused_;  // what the watch answered instead of 200, or its ERROR event
  bool fruitful_ = false;         // the watch has told something
  bool stopped_ = false;
  std::mutex mutex_;
  bool halted_ = false;     // guarded by mutex_: the timer must not touch client_ any more
  bool timer_set_ = false;  // guarded by mutex_
  TimerId timer_ = 0;       // guarded by mutex_
};

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
  // Members end their watches at different times, so that they do not come back all at once.
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

void Reflector::Core::Line(std::uint64_t round, std::string_view line) {
  if (!Current(round) || refused_) return;
  MemberDocument parsed(line);
  auto* event = parsed.ok() ? parsed->if_object() : nullptr;
  const json::string* type = FindText(event, "type");
  if (type == nullptr || FindObject(event, "object") == nullptr) {
    refused_ = Error{Code::kDataLoss, "the member's watch sent a line that is no event"};
    // Whatever it was about is in the next list.
    std::exchange(stream_, nullptr)->Close();
    return Trouble(*refused_, true);
  }
  Event(std::string_view(*type), *event);
}

void Reflector::Core::Event(std::string_view type, json::object& event) {
  json::value& object = event.at("object");
  if (type == "ERROR") {
    const ApiStatus status = ReadApiStatus(object);
    refused_ = Error{status.code == 410 ? Code::kOutOfRange : Code::kUnavailable, status.message};
    return;  // the end of the stream follows
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

void Reflector::Core::Ended(std::uint64_t round, const Status& how) {
  if (!Current(round)) return;
  stream_ = nullptr;
  if (refused_) {
    // 410 is every day's business: the version is too old, a list gives a new one.
    if (refused_->code == Code::kOutOfRange) return Later(retry_.Next(environment_.random), true);
    return Trouble(*refused_, true);
  }
  if (!how) {
    const bool broken = how.error().code == Code::kUnavailable && fruitful_;
    // A watch that broke in use is taken up where it ended. One that stalled, could not be opened
    // or told nothing may belong to a member that has gone back in time meanwhile.
    if (broken) return Later(retry_.Next(environment_.random), false);
    return Trouble(how.error(), true);
  }
  // Its time was up, or the member let it go. One that told nothing must not be asked in a circle.
  if (fruitful_) return OpenWatch();
  Later(retry_.Next(environment_.random), false);
}

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

void Reflector::Core::Later(std::int64_t ms, bool relist) {
  const std::uint64_t round = ++round_;
  std::lock_guard lock(mutex_);
  if (halted_) return;
  if (timer_set_) environment_.timers.Cancel(timer_);
  timer_set_ = true;
  timer_ = environment_.timers.At(
      environment_.clock.Now() + MillisToNanos(ms), [weak = weak_from_this(), round, relist] {
        const auto self = weak.lock();
        if (self == nullptr) return;
        std::lock_guard inner(self->mutex_);
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

void Reflector::Core::Stop() {
  {
    std::lock_guard lock(mutex_);
    if (std::exchange(halted_, true)) return;
    if (timer_set_) environment_.timers.Cancel(timer_);
  }
  const auto end = [self = shared_from_this()] {
    self->stopped_ = true;
    if (self->stream_ != nullptr) std::exchange(self->stream_, nullptr)->Close();
  };
  if (client_.OnStrand()) return end();
  std::promise<void> ended;
  // A client that has stopped calls nobody.
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

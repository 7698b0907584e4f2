// LauncherBackend. Each call is put on a table of open calls under a number, then sent; the reader
// thread takes it off with its answer, or with an error when the connection ends. So each call is
// answered once: who takes it off the table answers it.
//
// A launcher may hang without ending the connection. The reader looks at the open calls kLooks
// times within the time that an answer may take, and ends the connection when it has seen a call
// that often. Looks are counted instead of time, so that a daemon that was stopped itself for a
// while does not blame the launcher: the answers lie in the socket. Long before that, when two
// looks have met the same call and nothing at all was heard between them, its members are reported
// as not healthy, so that jobs are not sent where nobody takes them.
#include "backends/launcher/launcher_backend.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <future>
#include <map>
#include <thread>
#include <utility>

#include "backends/launcher/codec.h"
#include "backends/launcher/wire.h"
#include "schedd/base/limits_launcher.h"
#include "schedd/base/mutex.h"
#include "schedd/telemetry/log.h"

namespace muster {
namespace launcher {
namespace {

// Looks at the open calls within the time that an answer may take.
constexpr int kLooks = 6;

// Connects to a Unix socket; errors say what the user can look at.
Result<int> Connect(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path)
    return InvalidArgument("the path " + path + " is too long for a socket");
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return Unavailable(std::string("no socket: ") + std::strerror(errno));
  // A launcher that does not accept must not hold this thread for ever.
  timeval patience{};
  patience.tv_sec = limits::kLauncherGreetWithinMs / 1000;
  ::setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  if (::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    const int why = errno;
    ::close(fd);
    return Unavailable("cannot connect to " + path + ": " + std::strerror(why));
  }
  const timeval no_end{};
  ::setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &no_end, sizeof no_end);
  return fd;
}

class LauncherBackend final : public Backend {
 public:
  explicit LauncherBackend(LauncherOptions options) : options_(std::move(options)) {}
  ~LauncherBackend() override { LauncherBackend::Stop(); }

  std::vector<std::string> Clusters() const override { return options_.clusters; }
  void Ensure(const DispatchOrder& order, Callback<RemoteRef> done) override;
  void Remove(const DispatchKey& key, const RemovePolicy& policy,
              Callback<RemovalResult> done) override;
  void List(const std::string& cluster, Callback<std::vector<Observation>> done) override;
  void Start(ObservationSink& sink) override;
  void Stop() override;
  void Facts(const std::string& cluster, Callback<ClusterFacts> done) override;
  void Signal(const DispatchKey& key, const SignalOrder& order, Callback<Done> done) override;
  void Notify(const DispatchKey& key, const std::string& line, Callback<Done> done) override;
  Result<std::vector<PodStatus>> Pods(const DispatchKey& key) override;
  Result<LogChunk> ReadLog(const DispatchKey& key, const LogQuery& query) override;

 private:
  // Called once, without mutex_; the answer holds no failure.
  using Taker = std::function<void(Result<pb::Answer>)>;
  struct OpenCall {
    Taker take;
    bool changes = false;  // it changes something: without an answer it may have happened
    bool bounded = false;  // the launcher must answer in time
    pb::Answer gathered;   // the parts that have come
    int looks = 0;         // how often it was seen open
  };

  void Call(pb::Request request, bool changes, Taker take);
  template <class T>
  Result<T> Ask(pb::Request request, std::function<Result<T>(const pb::Answer&)> read);
  void Run(const std::stop_token& stop);
  Status Serve(const std::stop_token& stop);
  Status Greet(FrameStream& stream) const;
  void Attach(std::shared_ptr<FrameStream> stream);
  void Detach(const Status& why);
  Status Listen(FrameStream& stream);
  Status LookAtCalls(bool heard);
  Status Take(const std::string& frame);
  Status TakeAnswer(pb::Answer answer);
  void TellAway(const std::string& why);
  void TellSilent(bool silent);
  void TellUnhealthy(const std::string& message);

  const LauncherOptions options_;
  ObservationSink* sink_ = nullptr;
  // The reader thread's: what was reported last, and the reason that was told last.
  std::map<std::string, ClusterFacts> facts_;
  std::string told_away_;
  bool told_silent_ = false;

  std::atomic<std::uint64_t> next_id_ = 1;
  Mutex mutex_;
  // Null: there is no connection.
  std::shared_ptr<FrameStream> stream_ MUSTER_GUARDED_BY(mutex_);
  std::shared_ptr<FrameStream> greeting_ MUSTER_GUARDED_BY(mutex_);
  std::map<std::uint64_t, OpenCall> open_ MUSTER_GUARDED_BY(mutex_);
  std::string away_ MUSTER_GUARDED_BY(mutex_) = "it was not connected to yet";
  std::jthread thread_;
};

// Send never blocks. If it fails, the stream has ended, and the reader answers all open calls.
void LauncherBackend::Call(pb::Request request, bool changes, Taker take) {
  std::shared_ptr<FrameStream> stream;
  Error refusal;
  request.set_id(next_id_++);
  std::string frame = request.SerializeAsString();
  {
    MutexLock lock(mutex_);
    if (stream_ == nullptr) {
      refusal = Unavailable("muster-launcher is away: " + away_);
    } else if (frame.size() > limits::kLauncherMessageBytes) {
      refusal = InvalidArgument("the job with its ConfigMaps and Secrets is larger than " +
                                std::to_string(limits::kLauncherMessageBytes >> 20) +
                                " MiB, the most for a local member");
    } else if (open_.size() >= limits::kLauncherOpenCalls) {
      refusal = Overloaded("the local member has too much to do", 1000);
    } else {
      stream = stream_;
      const bool bounded = request.has_ensure() || request.has_list() || request.has_facts() ||
                           request.has_signal() || request.has_notify();
      open_[request.id()] = {std::move(take), changes, bounded, {}};
    }
  }
  if (stream == nullptr) return take(std::move(refusal));
  stream->Send(std::move(frame));
}

void LauncherBackend::Ensure(const DispatchOrder& order, Callback<RemoteRef> done) {
  if (!order.permit.Holds()) return done(NotLeading());
  pb::Request request;
  *request.mutable_ensure()->mutable_order() = ToWire(order);
  Call(std::move(request), true, [done = std::move(done)](Result<pb::Answer> answer) {
    if (!answer.ok()) return done(answer.error());
    done(RefFrom(answer->ref()));
  });
}

void LauncherBackend::Remove(const DispatchKey& key, const RemovePolicy& policy,
                             Callback<RemovalResult> done) {
  pb::Request request;
  *request.mutable_remove()->mutable_key() = ToWire(key);
  *request.mutable_remove()->mutable_policy() = ToWire(policy);
  Call(std::move(request), true, [done = std::move(done)](Result<pb::Answer> answer) {
    if (!answer.ok()) return done(answer.error());
    done(RemovalResult{answer->existed()});
  });
}

void LauncherBackend::Signal(const DispatchKey& key, const SignalOrder& order,
                             Callback<Done> done) {
  pb::Request request;
  *request.mutable_signal() = ToWire(key, order);
  Call(std::move(request), true, [done = std::move(done)](Result<pb::Answer> answer) {
    if (!answer.ok()) return done(answer.error());
    done(Done{});
  });
}

void LauncherBackend::Notify(const DispatchKey& key, const std::string& line, Callback<Done> done) {
  pb::Request request;
  *request.mutable_notify()->mutable_key() = ToWire(key);
  request.mutable_notify()->set_line(line);
  Call(std::move(request), true, [done = std::move(done)](Result<pb::Answer> answer) {
    if (!answer.ok()) return done(answer.error());
    done(Done{});
  });
}

void LauncherBackend::List(const std::string& cluster, Callback<std::vector<Observation>> done) {
  pb::Request request;
  request.mutable_list()->set_cluster(cluster);
  Call(std::move(request), false, [done = std::move(done)](Result<pb::Answer> answer) {
    if (!answer.ok()) return done(answer.error());
    std::vector<Observation> all;
    for (const pb::Seen& one : answer->seen()) {
      std::optional<Observation> seen = ObservationFrom(one);
      if (!seen) return done(Unavailable("muster-launcher answered with a broken list"));
      all.push_back(std::move(*seen));
    }
    done(std::move(all));
  });
}

void LauncherBackend::Facts(const std::string& cluster, Callback<ClusterFacts> done) {
  pb::Request request;
  request.mutable_facts()->set_cluster(cluster);
  Call(std::move(request), false, [done = std::move(done)](Result<pb::Answer> answer) {
    if (!answer.ok()) return done(answer.error());
    done(FactsFrom(answer->facts()));
  });
}

// An answer that comes too late meets a promise that nobody waits for.
template <class T>
Result<T> LauncherBackend::Ask(pb::Request request,
                               std::function<Result<T>(const pb::Answer&)> read) {
  const auto answered = std::make_shared<std::promise<Result<T>>>();
  std::future<Result<T>> waiting = answered->get_future();
  Call(std::move(request), false, [answered, read = std::move(read)](Result<pb::Answer> answer) {
    answered->set_value(answer.ok() ? read(*answer) : Result<T>(answer.error()));
  });
  if (waiting.wait_for(std::chrono::milliseconds(limits::kLauncherReadWithinMs)) !=
      std::future_status::ready) {
    return Unavailable("muster-launcher does not answer");
  }
  return waiting.get();
}

Result<std::vector<PodStatus>> LauncherBackend::Pods(const DispatchKey& key) {
  pb::Request request;
  *request.mutable_pods()->mutable_key() = ToWire(key);
  return Ask<std::vector<PodStatus>>(std::move(request), [](const pb::Answer& answer) {
    std::vector<PodStatus> pods;
    for (const pb::Pod& one : answer.pods()) pods.push_back(PodFrom(one));
    return Result<std::vector<PodStatus>>(std::move(pods));
  });
}

Result<LogChunk> LauncherBackend::ReadLog(const DispatchKey& key, const LogQuery& query) {
  pb::Request request;
  *request.mutable_read_log() = ToWire(key, query);
  return Ask<LogChunk>(std::move(request), [](const pb::Answer& answer) {
    return Result<LogChunk>(ChunkFrom(answer.log()));
  });
}

void LauncherBackend::Start(ObservationSink& sink) {
  sink_ = &sink;
  thread_ = std::jthread([this](const std::stop_token& stop) { Run(stop); });
}

void LauncherBackend::Stop() {
  thread_.request_stop();
  {
    MutexLock lock(mutex_);
    if (stream_ != nullptr) stream_->End();
    if (greeting_ != nullptr) greeting_->End();
  }
  if (thread_.joinable()) thread_.join();
}

// Connects, serves until the connection ends, pauses, and so on. A connection that was in order
// makes the next pause short again.
void LauncherBackend::Run(const std::stop_token& stop) {
  std::int64_t pause_ms = limits::kLauncherRetryMs;
  while (!stop.stop_requested()) {
    const Status ended = Serve(stop);
    const bool served = told_away_.empty();
    if (stop.stop_requested()) break;
    TellAway(ended.ok() ? "the connection has ended" : ended.error().detail);
    pause_ms =
        served ? limits::kLauncherRetryMs : std::min(2 * pause_ms, limits::kLauncherRetryMostMs);
    SleepFor(stop, std::chrono::milliseconds(pause_ms));
  }
}

// One connection, from its beginning to its end. The error is why it has ended.
Status LauncherBackend::Serve(const std::stop_token& stop) {
  const Result<int> fd = Connect(options_.socket);
  if (!fd.ok()) {
    Detach(fd.error());
    return fd.error();
  }
  const auto stream = std::make_shared<FrameStream>(*fd, limits::kLauncherMessageBytes,
                                                    limits::kLauncherWaitingBytes);
  {
    // Stop either sees the stream and ends it, or has asked for the stop already.
    MutexLock lock(mutex_);
    greeting_ = stream;
    if (stop.stop_requested()) stream->End();
  }
  Status ended = Greet(*stream);
  if (ended.ok()) {
    Attach(stream);
    ended = Listen(*stream);
  }
  stream->End();
  Detach(ended);
  return ended;
}

// Reads until the connection ends or is given up. A frame that has begun must end in time too.
Status LauncherBackend::Listen(FrameStream& stream) {
  using SteadyTime = std::chrono::steady_clock;
  const std::chrono::milliseconds every(
      std::max<std::int64_t>(1, options_.answer_within_ms / kLooks));
  stream.SetReadTimeout(options_.answer_within_ms);
  SteadyTime::time_point look_at = SteadyTime::now() + every;
  bool heard = true;  // something since the last look
  while (true) {
    if (SteadyTime::now() >= look_at) {
      // After a stop of this daemon what was said lies in the socket.
      if (Status answered = LookAtCalls(heard || stream.Await(0)); !answered.ok()) return answered;
      heard = false;
      look_at = SteadyTime::now() + every;
    }
    if (!stream.Await(every.count())) continue;
    const Result<std::string> frame = stream.Read();
    if (!frame.ok()) return frame.error();
    heard = true;
    if (told_silent_) TellSilent(false);
    if (Status taken = Take(*frame); !taken.ok()) return taken;
  }
}

Status LauncherBackend::LookAtCalls(bool heard) {
  bool waits = false;
  {
    MutexLock lock(mutex_);
    for (auto& [id, call] : open_) {
      if (!call.bounded) continue;
      if (++call.looks > kLooks) return Unavailable("it does not answer");
      waits = waits || call.looks > 1;
    }
  }
  if (waits && !heard && !told_silent_) TellSilent(true);
  return Done{};
}

// The first exchange: who is at the other end, and which members it serves.
Status LauncherBackend::Greet(FrameStream& stream) const {
  const std::optional<uid_t> peer = stream.peer();
  if (!peer || (*peer != 0 && *peer != ::geteuid()))
    return Error{Code::kPermissionDenied, options_.socket + " is served by another user than root"};
  pb::Request hello;
  hello.mutable_hello()->set_version(kProtocolVersion);
  stream.SetReadTimeout(limits::kLauncherGreetWithinMs);
  stream.Send(hello.SerializeAsString());
  const Result<std::string> frame = stream.Read();
  if (!frame.ok()) return Unavailable("it does not answer");
  stream.SetReadTimeout(0);
  pb::ToDaemon said;
  if (!said.ParseFromString(*frame)) return Unavailable("it answers in another language");
  if (said.has_refusal()) return Unavailable(said.refusal());
  if (!said.has_answer() || said.answer().has_failure())
    return Unavailable("it answers in another language");
  const auto& served = said.answer().clusters();
  for (const std::string& cluster : options_.clusters) {
    if (std::find(served.begin(), served.end(), cluster) == served.end())
      return Unavailable("it does not serve the member " + cluster +
                         "; local-cluster must be the same for musterd and muster-launcher");
  }
  return Done{};
}

void LauncherBackend::Attach(std::shared_ptr<FrameStream> stream) {
  {
    MutexLock lock(mutex_);
    stream_ = std::move(stream);
    greeting_ = nullptr;
  }
  told_away_.clear();
  told_silent_ = false;
  Log(LogLevel::kInfo, "launcher", "connected", {{"socket", options_.socket}});
  for (const std::string& cluster : options_.clusters) sink_->OnGap(cluster);
}

// Answers all open calls: no answer will come.
void LauncherBackend::Detach(const Status& why) {
  std::map<std::uint64_t, OpenCall> open;
  {
    MutexLock lock(mutex_);
    stream_ = greeting_ = nullptr;
    open.swap(open_);
    if (!why.ok()) away_ = why.error().detail;
  }
  for (auto& [id, call] : open) {
    call.take(call.changes ? Error{Code::kUnknown, "the connection to muster-launcher broke"}
                           : Unavailable("the connection to muster-launcher broke"));
  }
}

// The members are away. The same reason is told once.
void LauncherBackend::TellAway(const std::string& why) {
  if (why == told_away_) return;
  told_away_ = why;
  Log(LogLevel::kWarning, "launcher", "away", {{"socket", options_.socket}, {"why", why}});
  TellUnhealthy("muster-launcher is away: " + why);
}

// The connection is there, and nothing comes; or something has come again.
void LauncherBackend::TellSilent(bool silent) {
  told_silent_ = silent;
  Log(silent ? LogLevel::kWarning : LogLevel::kInfo, "launcher", silent ? "silent" : "heard_again",
      {{"socket", options_.socket}});
  if (silent) return TellUnhealthy("muster-launcher does not answer");
  for (const auto& [cluster, facts] : facts_) sink_->OnFacts(facts);
}

void LauncherBackend::TellUnhealthy(const std::string& message) {
  for (const std::string& cluster : options_.clusters) {
    ClusterFacts facts = facts_[cluster];
    facts.cluster = cluster;
    facts.healthy = false;
    facts.message = message;
    sink_->OnFacts(std::move(facts));
  }
}

// An error ends the connection.
Status LauncherBackend::Take(const std::string& frame) {
  const Error broken = Unavailable("it said something that this daemon does not understand");
  pb::ToDaemon said;
  if (!said.ParseFromString(frame)) return broken;
  switch (said.what_case()) {
    case pb::ToDaemon::kAnswer:
      return TakeAnswer(std::move(*said.mutable_answer()));
    case pb::ToDaemon::kSeen: {
      std::optional<Observation> seen = ObservationFrom(said.seen());
      if (!seen) return broken;
      sink_->OnObservation(std::move(*seen));
      return Done{};
    }
    case pb::ToDaemon::kFacts: {
      ClusterFacts facts = FactsFrom(said.facts());
      facts_[facts.cluster] = facts;
      sink_->OnFacts(std::move(facts));
      return Done{};
    }
    case pb::ToDaemon::kGap:
      sink_->OnGap(said.gap());
      return Done{};
    case pb::ToDaemon::kRefusal:
      return Unavailable(said.refusal());
    case pb::ToDaemon::WHAT_NOT_SET:
      break;
  }
  return broken;
}

Status LauncherBackend::TakeAnswer(pb::Answer answer) {
  OpenCall call;
  {
    MutexLock lock(mutex_);
    const auto found = open_.find(answer.id());
    if (found == open_.end()) return Unavailable("it answered what nobody asked");
    if (answer.more()) {
      found->second.gathered.MergeFrom(answer);
      return Done{};
    }
    call = std::move(found->second);
    open_.erase(found);
  }
  if (answer.has_failure()) {
    call.take(ErrorFrom(answer.failure()));
  } else {
    call.gathered.MergeFrom(answer);
    call.take(std::move(call.gathered));
  }
  return Done{};
}

}  // namespace
}  // namespace launcher

std::unique_ptr<Backend> MakeLauncherBackend(LauncherOptions options) {
  return std::make_unique<launcher::LauncherBackend>(std::move(options));
}

}  // namespace muster

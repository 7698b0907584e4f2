// LauncherServer: one thread accepts, one reads the connection that is open, and a few read pods
// and logs, which blocks. Other calls are the backend's own; their callbacks come on its threads
// and only queue the answer. Callbacks hold the session, so one that comes after the end of its
// connection meets a stream that has ended.
#include "backends/launcher/launcher_server.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <functional>
#include <thread>
#include <utility>
#include <vector>

#include "backends/launcher/codec.h"
#include "backends/launcher/wire.h"
#include "schedd/base/limits.h"
#include "schedd/base/limits_launcher.h"
#include "schedd/base/mutex.h"
#include "schedd/base/readers.h"
#include "schedd/telemetry/log.h"

namespace muster {
namespace launcher {
namespace {

// Connections that wait to be accepted: the daemon's, and a few that are refused.
constexpr int kBacklog = 16;
// The pause after an accept that failed, such as for lack of descriptors.
constexpr std::chrono::milliseconds kAcceptAgainAfter{100};
// How long a peer that is refused has to take the sentence that says why.
constexpr std::int64_t kRefusalMs = 500;

}  // namespace

// One connection.
struct Session {
  explicit Session(int fd)
      : stream(fd, limits::kLauncherMessageBytes, limits::kLauncherWaitingBytes) {}
  FrameStream stream;
  std::atomic<std::size_t> open = 0;
  bool greeted = false;  // the reader's
};
using SessionPtr = std::shared_ptr<Session>;

namespace {

void Say(Session& session, const pb::ToDaemon& what) {
  session.stream.Send(what.SerializeAsString());
}

void Refuse(Session& session, const std::string& why) {
  Log(LogLevel::kWarning, "launcher", "connection_refused", {{"why", why}});
  pb::ToDaemon said;
  said.set_refusal(why);
  Say(session, said);
  session.stream.EndAfterSending(kRefusalMs);
}

// Whether this launcher knows every field of the request, also of the messages in it: what a later
// daemon asks for in one that it does not know would be left out silently. Unknown fields are gone
// afterwards.
bool KnowsAllOf(pb::Request* request) {
  const std::size_t said = request->ByteSizeLong();
  request->DiscardUnknownFields();
  return request->ByteSizeLong() == said;
}

// Answers call `id` with a failure, or with what `fill` puts into the answer.
template <class T>
void Answer(Session& session, std::uint64_t id, const Result<T>& result,
            const std::function<void(const T&, pb::Answer*)>& fill) {
  pb::ToDaemon said;
  said.mutable_answer()->set_id(id);
  if (result.ok()) {
    fill(*result, said.mutable_answer());
  } else {
    *said.mutable_answer()->mutable_failure() = ToWire(result.error());
  }
  session.open -= 1;
  Say(session, said);
}

// In parts, because a member may have any number of attempts.
void AnswerList(Session& session, std::uint64_t id, const std::vector<Observation>& all) {
  pb::ToDaemon said;
  for (const Observation& seen : all) {
    if (said.answer().seen_size() >= limits::kLauncherListPart) {
      said.mutable_answer()->set_id(id);
      said.mutable_answer()->set_more(true);
      Say(session, said);
      said.Clear();
    }
    *said.mutable_answer()->add_seen() = ToWire(seen);
  }
  said.mutable_answer()->set_id(id);
  session.open -= 1;
  Say(session, said);
}

}  // namespace

}  // namespace launcher

class LauncherServer::Impl final : public ObservationSink {
 public:
  Impl(Backend& backend, LauncherServerOptions options)
      : backend_(backend), options_(std::move(options)) {}
  ~Impl() override { Stop(); }

  Status Start();
  void Stop();
  void OnObservation(Observation observation) override;
  void OnFacts(ClusterFacts facts) override;
  void OnGap(const std::string& cluster) override;

 private:
  Status Listen();
  void Accept(const std::stop_token& stop);
  void Take(int fd);
  void Serve(const launcher::SessionPtr& session);
  bool Handle(const launcher::SessionPtr& session, const std::string& frame);
  bool Greet(const launcher::SessionPtr& session, const launcher::pb::Request& request);
  bool Ensure(const launcher::SessionPtr& session, const launcher::pb::Request& request);
  bool Remove(const launcher::SessionPtr& session, const launcher::pb::Request& request);
  bool List(const launcher::SessionPtr& session, const launcher::pb::Request& request);
  bool Facts(const launcher::SessionPtr& session, const launcher::pb::Request& request);
  bool Pods(const launcher::SessionPtr& session, const launcher::pb::Request& request);
  bool ReadLog(const launcher::SessionPtr& session, const launcher::pb::Request& request);
  bool Signal(const launcher::SessionPtr& session, const launcher::pb::Request& request);
  bool Notify(const launcher::SessionPtr& session, const launcher::pb::Request& request);
  void Report(const launcher::pb::ToDaemon& what);

  Backend& backend_;
  const LauncherServerOptions options_;
  int listener_ = -1;
  Readers readers_{limits::kLauncherReaders, limits::kLauncherReadsWaiting};
  Mutex mutex_;
  // The open connection, and whether it is told reports.
  launcher::SessionPtr session_ MUSTER_GUARDED_BY(mutex_);
  bool reports_ MUSTER_GUARDED_BY(mutex_) = false;
  bool stopped_ MUSTER_GUARDED_BY(mutex_) = false;
  std::jthread reader_;    // the acceptor's until it has ended
  std::jthread acceptor_;  // ends first
};

namespace {

using launcher::Answer;
using launcher::KeyFrom;
using launcher::KnowsAllOf;
using launcher::Refuse;
using launcher::Say;
using launcher::SessionPtr;
using launcher::ToWire;
namespace pb = launcher::pb;

}  // namespace

Status LauncherServer::Impl::Start() {
  if (Status listening = Listen(); !listening.ok()) return listening;
  backend_.Start(*this);
  acceptor_ = std::jthread([this](const std::stop_token& stop) { Accept(stop); });
  return Done{};
}

// Nobody can connect before the socket has its owner and mode, because only then it listens.
Status LauncherServer::Impl::Listen() {
  const std::string& path = options_.socket;
  const auto failed = [&path](const std::string& what) {
    return Error{Code::kFailedPrecondition,
                 what + " the socket " + path + ": " + std::strerror(errno)};
  };
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof address.sun_path)
    return Error{Code::kFailedPrecondition, "\"" + path + "\" cannot be the path of a socket"};
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  struct stat left {};
  if (::lstat(path.c_str(), &left) == 0 && S_ISSOCK(left.st_mode)) ::unlink(path.c_str());
  listener_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (listener_ < 0) return failed("cannot make");
  if (::bind(listener_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    return failed("cannot make");
  if (::chmod(path.c_str(), 0600) != 0 ||
      (options_.daemon != ::geteuid() &&
       ::lchown(path.c_str(), options_.daemon, static_cast<gid_t>(-1)) != 0)) {
    return failed("cannot hand over");
  }
  if (::listen(listener_, launcher::kBacklog) != 0) return failed("cannot listen at");
  return Done{};
}

// The backend reports until it is stopped, so it is stopped before its sink goes.
void LauncherServer::Impl::Stop() {
  {
    MutexLock lock(mutex_);
    if (std::exchange(stopped_, true)) return;
    if (session_ != nullptr) session_->stream.End();
  }
  acceptor_.request_stop();
  if (listener_ >= 0) ::shutdown(listener_, SHUT_RDWR);
  if (acceptor_.joinable()) acceptor_.join();
  if (reader_.joinable()) reader_.join();
  backend_.Stop();
  if (listener_ < 0) return;
  ::close(listener_);
  ::unlink(options_.socket.c_str());
}

void LauncherServer::Impl::Accept(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    const int fd = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (fd >= 0) {
      Take(fd);
    } else if (errno != EINTR && errno != ECONNABORTED) {
      SleepFor(stop, launcher::kAcceptAgainAfter);
    }
  }
}

// A connection of the right user, if none is open.
void LauncherServer::Impl::Take(int fd) {
  const auto session = std::make_shared<launcher::Session>(fd);
  const std::optional<uid_t> peer = session->stream.peer();
  if (!peer || (*peer != options_.daemon && *peer != 0)) {
    return Refuse(*session, "user " + (peer ? std::to_string(*peer) : std::string("unknown")) +
                                " may not speak to this launcher");
  }
  {
    MutexLock lock(mutex_);
    if (stopped_) return;
    if (session_ != nullptr) {
      lock.Unlock();
      return Refuse(*session, "another daemon is connected to this launcher");
    }
    session_ = session;
  }
  // The reader of the last connection has let go of session_ with its last step.
  if (reader_.joinable()) reader_.join();
  reader_ = std::jthread([this, session] { Serve(session); });
}

// Reads until the end. Orders that were sent before it are in the socket still, and are read.
void LauncherServer::Impl::Serve(const SessionPtr& session) {
  bool goes_on = true;
  while (goes_on) {
    const Result<std::string> frame = session->stream.Read();
    goes_on = frame.ok() && Handle(session, *frame);
  }
  session->stream.End();
  Log(LogLevel::kInfo, "launcher", "connection_ended");
  MutexLock lock(mutex_);
  session_ = nullptr;
  reports_ = false;
}

// False: the connection ends.
bool LauncherServer::Impl::Handle(const SessionPtr& session, const std::string& frame) {
  pb::Request request;
  const bool understood = request.ParseFromString(frame) && KnowsAllOf(&request);
  const bool hello = understood && request.has_hello();
  if (!understood || request.call_case() == pb::Request::CALL_NOT_SET ||
      hello == session->greeted) {
    Refuse(*session, "this launcher does not know such a message");
    return false;
  }
  if (session->open >= limits::kLauncherOpenCalls) {
    Refuse(*session, "too many calls wait for an answer");
    return false;
  }
  session->open += 1;
  bool sound = false;
  switch (request.call_case()) {
    case pb::Request::kHello:
      sound = Greet(session, request);
      break;
    case pb::Request::kEnsure:
      sound = Ensure(session, request);
      break;
    case pb::Request::kRemove:
      sound = Remove(session, request);
      break;
    case pb::Request::kList:
      sound = List(session, request);
      break;
    case pb::Request::kFacts:
      sound = Facts(session, request);
      break;
    case pb::Request::kPods:
      sound = Pods(session, request);
      break;
    case pb::Request::kReadLog:
      sound = ReadLog(session, request);
      break;
    case pb::Request::kSignal:
      sound = Signal(session, request);
      break;
    case pb::Request::kNotify:
      sound = Notify(session, request);
      break;
    case pb::Request::CALL_NOT_SET:
      break;
  }
  if (!sound) Refuse(*session, "this launcher cannot read such a message");
  return sound;
}

// The daemon asks for the attempts itself (OnGap), but facts come by reports alone.
bool LauncherServer::Impl::Greet(const SessionPtr& session, const pb::Request& request) {
  if (request.hello().version() != launcher::kProtocolVersion) return false;
  session->greeted = true;
  const std::vector<std::string> clusters = backend_.Clusters();
  Answer<std::vector<std::string>>(*session, request.id(), clusters,
                                   [](const auto& names, pb::Answer* out) {
    for (const std::string& name : names) out->add_clusters(name);
  });
  {
    MutexLock lock(mutex_);
    reports_ = true;
  }
  Log(LogLevel::kInfo, "launcher", "daemon_connected");
  for (const std::string& cluster : clusters) {
    backend_.Facts(cluster, [session](Result<ClusterFacts> facts) {
      if (!facts.ok()) return;
      pb::ToDaemon said;
      *said.mutable_facts() = ToWire(*facts);
      Say(*session, said);
    });
  }
  return true;
}

bool LauncherServer::Impl::Ensure(const SessionPtr& session, const pb::Request& request) {
  const std::optional<DispatchOrder> order =
      launcher::OrderFrom(request.ensure().order(), *options_.clock);
  if (!order) return false;
  const auto answer = [session, id = request.id()](Result<RemoteRef> result) {
    Answer<RemoteRef>(*session, id, result, [](const RemoteRef& ref, pb::Answer* out) {
      *out->mutable_ref() = ToWire(ref);
    });
  };
  if (order->account == 0U && !options_.root_clusters.contains(order->key.cluster)) {
    answer(InvalidArgument("member " + order->key.cluster +
                           " runs no jobs of root: root-jobs=submitter of --local-cluster is not "
                           "set for muster-launcher"));
    return true;
  }
  backend_.Ensure(*order, answer);
  return true;
}

bool LauncherServer::Impl::Remove(const SessionPtr& session, const pb::Request& request) {
  const std::optional<DispatchKey> key = KeyFrom(request.remove().key());
  const std::optional<RemovePolicy> policy = launcher::PolicyFrom(request.remove().policy());
  if (!key || !policy) return false;
  backend_.Remove(*key, *policy, [session, id = request.id()](Result<RemovalResult> result) {
    Answer<RemovalResult>(*session, id, result, [](const RemovalResult& done, pb::Answer* out) {
      out->set_existed(done.existed);
    });
  });
  return true;
}

bool LauncherServer::Impl::List(const SessionPtr& session, const pb::Request& request) {
  using Listed = std::vector<Observation>;
  backend_.List(request.list().cluster(), [session, id = request.id()](Result<Listed> result) {
    if (result.ok()) return launcher::AnswerList(*session, id, *result);
    Answer<Listed>(*session, id, result, [](const Listed&, pb::Answer*) {});
  });
  return true;
}

bool LauncherServer::Impl::Facts(const SessionPtr& session, const pb::Request& request) {
  backend_.Facts(request.facts().cluster(),
                 [session, id = request.id()](Result<ClusterFacts> result) {
    Answer<ClusterFacts>(*session, id, result, [](const ClusterFacts& facts, pb::Answer* out) {
      *out->mutable_facts() = ToWire(facts);
    });
  });
  return true;
}

bool LauncherServer::Impl::Pods(const SessionPtr& session, const pb::Request& request) {
  using Listed = std::vector<PodStatus>;
  const std::optional<DispatchKey> key = KeyFrom(request.pods().key());
  if (!key) return false;
  const auto answer = [session, id = request.id()](const Result<Listed>& result) {
    Answer<Listed>(*session, id, result, [](const Listed& pods, pb::Answer* out) {
      for (const PodStatus& pod : pods) *out->add_pods() = ToWire(pod);
    });
  };
  if (!readers_.Post([this, key, answer] { answer(backend_.Pods(*key)); }))
    answer(Overloaded("the local member has too much to do", 1000));
  return true;
}

bool LauncherServer::Impl::ReadLog(const SessionPtr& session, const pb::Request& request) {
  const std::optional<DispatchKey> key = KeyFrom(request.read_log().key());
  if (!key) return false;
  LogQuery query = launcher::QueryFrom(request.read_log());
  query.max_bytes = std::min(query.max_bytes, limits::kLogReadBytes);
  const auto answer = [session, id = request.id()](const Result<LogChunk>& result) {
    Answer<LogChunk>(*session, id, result, [](const LogChunk& chunk, pb::Answer* out) {
      *out->mutable_log() = ToWire(chunk);
    });
  };
  if (!readers_.Post([this, key, query, answer] { answer(backend_.ReadLog(*key, query)); }))
    answer(Overloaded("the local member has too much to do", 1000));
  return true;
}

bool LauncherServer::Impl::Signal(const SessionPtr& session, const pb::Request& request) {
  const std::optional<DispatchKey> key = KeyFrom(request.signal().key());
  const std::optional<SignalOrder> order = launcher::SignalFrom(request.signal());
  if (!key || !order) return false;
  backend_.Signal(*key, *order, [session, id = request.id()](Result<Done> result) {
    Answer<Done>(*session, id, result, [](const Done&, pb::Answer*) {});
  });
  return true;
}

bool LauncherServer::Impl::Notify(const SessionPtr& session, const pb::Request& request) {
  const std::optional<DispatchKey> key = KeyFrom(request.notify().key());
  if (!key) return false;
  backend_.Notify(*key, request.notify().line(), [session, id = request.id()](Result<Done> result) {
    Answer<Done>(*session, id, result, [](const Done&, pb::Answer*) {});
  });
  return true;
}

void LauncherServer::Impl::OnObservation(Observation observation) {
  pb::ToDaemon said;
  *said.mutable_seen() = ToWire(observation);
  Report(said);
}

void LauncherServer::Impl::OnFacts(ClusterFacts facts) {
  pb::ToDaemon said;
  *said.mutable_facts() = ToWire(facts);
  Report(said);
}

void LauncherServer::Impl::OnGap(const std::string& cluster) {
  pb::ToDaemon said;
  said.set_gap(cluster);
  Report(said);
}

// What happens while no daemon is connected, it learns by listing.
void LauncherServer::Impl::Report(const pb::ToDaemon& what) {
  SessionPtr session;
  {
    MutexLock lock(mutex_);
    if (reports_) session = session_;
  }
  if (session != nullptr) Say(*session, what);
}

LauncherServer::LauncherServer(Backend& backend, LauncherServerOptions options)
    : impl_(std::make_unique<Impl>(backend, std::move(options))) {}
LauncherServer::~LauncherServer() = default;

Status LauncherServer::Start() { return impl_->Start(); }
void LauncherServer::Stop() { impl_->Stop(); }

}  // namespace muster

// ClientCore: the way of a request from Send to its callback. client_lead.cc holds the methods
// about the lead, client_health.cc those about the circuit.
//
// A request becomes an Exchange with one deadline. Admit (any thread) posts it to the strand; Enter
// queues it by urgency; Pump gives it a connection, an idle one if there is one, as long as fewer
// than `window_` requests are active. Then it is written and its answer read. Each stage checks
// Exchange::stage, because the deadline or Stop may have ended the exchange while a callback was on
// its way.
//
// Flow control. A 429, or a 503 with Retry-After, pauses all requests to the member for as long as
// it asks and halves the window; every answer raises the window a little, up to `connections`.
//
// Repeats. A request that was written is repeated only if it is a GET and its reused connection
// turned out to be closed: the member may carry out anything else although it did not answer
// (kUnknown). A request that was not wholly written was surely not carried out (kUnavailable),
// because a server reads a request to its end before it acts.
#include "backends/k8s/client/client_core.h"

#include <algorithm>
#include <utility>

#include "backends/k8s/client/http_stream.h"

namespace muster::k8s {
namespace {

bool IsClean(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < 0x7f; });
}

// False for a request whose text could be read as another request (spaces, line breaks).
bool IsWellFormed(const ApiRequest& request) {
  static const std::unordered_set<std::string> kMethods = {"GET", "POST", "PUT", "PATCH", "DELETE"};
  return kMethods.contains(request.method) && request.target.starts_with('/') &&
         IsClean(request.target) && IsClean(request.content_type);
}

std::string Seconds(std::int64_t ms) {
  return ms % 1000 == 0 ? std::to_string(ms / 1000) + " s" : std::to_string(ms) + " ms";
}

// The server as host:port, an IPv6 address in brackets.
std::string HostHeader(const MemberAccess& access) {
  const bool v6 = access.host.find(':') != std::string::npos;
  return (v6 ? "[" + access.host + "]" : access.host) + ":" + access.port;
}

}  // namespace

ClientCore::ClientCore(const ClientEnvironment& environment, MemberAccess access,
                       ApiClientOptions options)
    : environment_(environment),
      access_(std::move(access)),
      options_(std::move(options)),
      gate_(std::make_shared<StrandGate>(environment.io.context())),
      deadlines_(std::make_shared<Deadlines>(environment.clock, environment.timers, gate_)),
      resolver_(std::make_shared<Resolver>(environment.clock, gate_, access_.host, access_.port)),
      host_header_(HostHeader(access_)),
      window_(options_.connections),
      circuit_(options_.failures_to_open, options_.probe_min_ms, options_.probe_max_ms) {}

void ClientCore::Begin() {
  credentials_ = std::make_shared<Credentials>(environment_.clock, gate_, access_, options_.member,
                                               [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->Pump();
  });
}

Error ClientCore::Named(Error error) const {
  error.detail = "member " + options_.member + ": " + error.detail;
  return error;
}

// Any thread. Beyond `waiting` requests the answer is kResourceExhausted.
void ClientCore::Admit(ApiRequest request, Callback<ApiResponse> done) {
  auto exchange = std::make_shared<Exchange>();
  exchange->request = std::move(request);
  exchange->done = std::move(done);
  TakePermit(&exchange->request);
  const bool room = held_.fetch_add(1) < options_.waiting;
  const bool posted = gate_->Post([self = shared_from_this(), exchange, room] {
    if (!room) {
      return self->Finish(exchange,
                          self->Named(Overloaded("too many requests to it are waiting", 1000)));
    }
    self->Enter(exchange);
  });
  if (!posted) {
    --held_;
    exchange->done(Named(Unavailable("its client has stopped")));
  }
}

// Queues a request, unless it is malformed or the circuit is open.
void ClientCore::Enter(ExchangePtr exchange) {
  if (!IsWellFormed(exchange->request))
    return Finish(exchange, Named(InvalidArgument("the request's method or target is malformed")));
  if (circuit_.open()) return Finish(exchange, trouble_);
  exchange->arrival = ++arrivals_;
  exchange->deadline = environment_.clock.Now() + MillisToNanos(exchange->request.timeout_ms);
  exchange->timer = deadlines_->At(exchange->deadline, [weak = weak_from_this(), exchange] {
    if (const auto self = weak.lock()) self->TimedOut(exchange);
  });
  queue_.Push(std::move(exchange));
  Pump();
}

bool ClientCore::IsList(const Exchange& exchange) const {
  return exchange.request.urgency == Urgency::kList;
}

// Starts queued requests. Without credentials all of them fail; while an exec plugin runs they
// wait.
void ClientCore::Pump() {
  if (stopped_) return;
  // Lists may be long; two connections stay free for more urgent requests.
  const int most_lists = std::max(1, options_.connections - 2);
  while (active_.size() < static_cast<std::size_t>(window_)) {
    if (environment_.clock.Now() < paused_until_) break;
    const ExchangePtr next = queue_.Pop(lists_active_ < most_lists);
    if (next == nullptr) break;
    if (!MayWrite(*next)) {
      AwaitLead(next);
      continue;
    }
    const auto auth = credentials_->Current();
    if (!auth) {
      Finish(next, Named(auth.error()));
      FailWaiting(Named(auth.error()));
      break;
    }
    if (*auth == nullptr) {
      queue_.PushFront(next);
      break;
    }
    Start(next, **auth);
  }
  PumpStreams();
}

// Starts the streams that wait for credentials.
void ClientCore::PumpStreams() {
  if (streams_waiting_.empty()) return;
  const auto auth = credentials_->Current();
  if (auth && *auth == nullptr) return;
  for (const auto& stream : std::exchange(streams_waiting_, {})) {
    if (auth) {
      stream->Start(**auth);
    } else {
      stream->End(Named(auth.error()));
    }
  }
}

// Gives the request a connection. A `fresh` one must not reuse a connection; an idle one is closed
// to keep their number.
void ClientCore::Start(const ExchangePtr& exchange, const Auth& auth) {
  active_.insert(exchange);
  if (IsList(*exchange)) ++lists_active_;
  exchange->auth_generation = auth.generation;
  exchange->answered = false;
  exchange->reader.emplace(options_.max_response_bytes);
  std::string head = Head(exchange->request.method, exchange->request.target, auth);
  if (exchange->fresh && !idle_.empty()) {
    idle_.front().connection->Close();
    idle_.erase(idle_.begin());
  }
  exchange->connection = exchange->fresh ? nullptr : TakeIdle(auth.tls_generation);
  exchange->reused = exchange->connection != nullptr;
  if (exchange->reused) return Write(exchange, std::move(head));
  exchange->stage = Exchange::Stage::kConnecting;
  exchange->connection = Dial(
      auth, [weak = weak_from_this(), exchange, head = std::move(head)](const Status& connected) {
        const auto self = weak.lock();
        if (self == nullptr || exchange->stage != Exchange::Stage::kConnecting) return;
        if (!connected) return self->Broken(exchange, connected.error());
        self->Write(exchange, head);
      });
}

// An idle connection of these credentials that the member has not closed; null if there is none.
std::shared_ptr<Connection> ClientCore::TakeIdle(std::uint64_t generation) {
  while (!idle_.empty()) {
    auto connection = std::move(idle_.back().connection);
    idle_.pop_back();
    if (connection->generation() == generation && connection->Quiet()) return connection;
    connection->Close();
  }
  return nullptr;
}

// Resolves the name and connects, within one time-out for both.
std::shared_ptr<Connection> ClientCore::Dial(const Auth& auth,
                                             std::function<void(const Status&)> done) {
  auto connection = std::make_shared<Connection>(gate_->strand(), auth.tls, auth.tls_generation);
  const auto timer = std::make_shared<Deadlines::Key>();
  auto finish =
      [weak = weak_from_this(), connection, timer, done = std::move(done)](const Status& status) {
    if (const auto self = weak.lock()) self->deadlines_->Drop(timer.get());
    if (!connection->closed()) done(status);
  };
  *timer = deadlines_->After(options_.connect_timeout_ms,
                             [finish, address = host_header_, ms = options_.connect_timeout_ms] {
    finish(Unavailable(address + " did not accept a connection within " + Seconds(ms)));
  });
  resolver_->Find(
      [connection, finish,
       peer = PeerIdentity{host_header_,
                           access_.tls_server_name.empty() ? access_.host : access_.tls_server_name,
                           access_.skip_verify}](const Result<std::vector<Endpoint>>& endpoints) {
    if (connection->closed()) return;
    if (!endpoints) return finish(endpoints.error());
    connection->Open(*endpoints, peer, finish);
  });
  return connection;
}

// The request line and the headers that all requests have.
std::string ClientCore::Head(const std::string& method, const std::string& target,
                             const Auth& auth) const {
  std::string out = method + " " + access_.base_path + target +
                    " HTTP/1.1\r\nHost: " + host_header_ +
                    "\r\nUser-Agent: muster\r\nAccept: application/json, */*\r\n";
  if (!auth.header.empty()) out += "Authorization: " + auth.header + "\r\n";
  return out;
}

void ClientCore::Write(const ExchangePtr& exchange, std::string head) {
  // Connecting may have taken long enough for the lead to end.
  if (!MayWrite(*exchange)) {
    Leave(exchange, true);
    AwaitLead(exchange);
    return Pump();
  }
  exchange->stage = Exchange::Stage::kWriting;
  const ApiRequest& request = exchange->request;
  if (!request.content_type.empty()) head += "Content-Type: " + request.content_type + "\r\n";
  if (!request.body.empty() || request.method != "GET")
    head += "Content-Length: " + std::to_string(request.body.size()) + "\r\n";
  head += "\r\n" + request.body;
  exchange->connection->Write(
      std::move(head), [exchange] { return MayWrite(*exchange); },
      [self = shared_from_this(), exchange](Connection::ErrorCode error) {
    if (exchange->stage != Exchange::Stage::kWriting) return;
    if (error == boost::asio::error::operation_aborted) return self->Withheld(exchange);
    // Not wholly written, so the member cannot have carried it out.
    if (error)
      return self->Broken(exchange, Unavailable("cannot be written to: " + error.message()));
    exchange->stage = Exchange::Stage::kWritten;
    self->Read(exchange);
      });
}

void ClientCore::Read(const ExchangePtr& exchange) {
  exchange->connection->Read(
      [self = shared_from_this(), exchange](Connection::ErrorCode error, std::string_view bytes) {
    if (exchange->stage == Exchange::Stage::kWritten) self->Came(exchange, error, bytes);
  });
}

// Feeds the reader with what came, until the answer is complete.
void ClientCore::Came(const ExchangePtr& exchange, Connection::ErrorCode error,
                      std::string_view bytes) {
  exchange->answered = exchange->answered || !bytes.empty();
  if (error && RefusesOurCertificate(error))
    return Broken(exchange, {Code::kUnauthenticated, "it refuses our client certificate"});
  const Status fed = error ? exchange->reader->FeedEnd() : exchange->reader->Feed(bytes);
  if (!fed) return Broken(exchange, fed.error());
  if (exchange->reader->done()) return Answered(exchange);
  Read(exchange);
}

void ClientCore::Answered(const ExchangePtr& exchange) {
  ApiResponse response{exchange->reader->status(), exchange->reader->TakeBody(),
                       exchange->reader->retry_after_ms()};
  const bool reusable = exchange->reader->keep_alive();
  Leave(exchange, reusable);
  // A probe that gets a 5xx does not close the circuit: the server runs but cannot serve.
  if (!exchange->probe || response.status < 500) Succeeded();
  if (Repeat(exchange, response)) return;
  Finish(exchange, std::move(response));
  Pump();
}

bool ClientCore::Repeat(const ExchangePtr& exchange, const ApiResponse& response) {
  if (exchange->probe) return false;
  if (response.status == 401) {
    if (exchange->renewed || !credentials_->Renew(exchange->auth_generation)) return false;
    exchange->renewed = true;
    Requeue(exchange);
    return true;
  }
  credentials_->Accepted(exchange->auth_generation);
  const bool busy =
      response.status == 429 || (response.status == 503 && response.retry_after_ms > 0);
  if (!busy) {
    window_ = std::min<double>(options_.connections, window_ + 1 / window_);
    return false;
  }
  window_ = std::max(1.0, window_ / 2);
  const std::int64_t asked = response.retry_after_ms > 0 ? response.retry_after_ms : 1000;
  // Up to a quarter is added, so that clients with the same Retry-After do not come back together.
  const std::int64_t pause = asked + asked / 4 - Backoff::Jittered(asked / 4, environment_.random);
  Pause(pause);
  if (exchange->deadline <= environment_.clock.Now() + MillisToNanos(pause)) return false;
  Requeue(exchange);
  return true;
}

// No request starts before the pause is over.
void ClientCore::Pause(std::int64_t ms) {
  const Monotonic until = environment_.clock.Now() + MillisToNanos(ms);
  if (until <= paused_until_) return;
  paused_until_ = until;
  deadlines_->Drop(&pause_timer_);
  pause_timer_ = deadlines_->At(until, [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->Pump();
  });
}

// The exchange failed without an answer.
void ClientCore::Broken(const ExchangePtr& exchange, Error error) {
  const bool sent = exchange->stage == Exchange::Stage::kWritten;
  const bool raced = exchange->reused && !exchange->answered && !exchange->fresh;
  Leave(exchange, false);
  // The member closed an idle connection just when it was reused. That is no sign of trouble, and a
  // request that cannot have been carried out, or only reads, is repeated.
  if (raced && (!sent || exchange->safe()) && error.code == Code::kUnavailable) {
    exchange->fresh = true;
    return Requeue(exchange);
  }
  if (sent && error.code == Code::kUnavailable) error = {Code::kUnknown, error.detail};
  error = Named(std::move(error));
  Finish(exchange, error);
  Failed(error);
  Pump();
}

// The exchange's deadline has come, in whatever stage it is.
void ClientCore::TimedOut(const ExchangePtr& exchange) {
  const auto stage = exchange->stage;
  if (stage == Exchange::Stage::kOver) return;
  const std::string limit = Seconds(exchange->request.timeout_ms);
  if (stage == Exchange::Stage::kWaiting) {
    // It stays in the queue until its turn, when Pop drops it.
    const std::string why = MayWrite(*exchange) ? "no connection was free within "
                                                : "the lead was not confirmed within ";
    return Finish(exchange, Named(Unavailable(why + limit)));
  }
  Leave(exchange, false);
  const bool sent = stage == Exchange::Stage::kWritten;
  Error error = Named(Unavailable("it did not answer within " + limit));
  if (sent) error = {Code::kUnknown, error.detail};
  Finish(exchange, error);
  Failed(error);
  Pump();
}

// Takes the connection from the exchange: it becomes idle if it can be reused, else it is closed.
void ClientCore::Leave(const ExchangePtr& exchange, bool reusable) {
  active_.erase(exchange);
  if (IsList(*exchange)) --lists_active_;
  auto connection = std::exchange(exchange->connection, nullptr);
  exchange->reader.reset();
  exchange->stage = Exchange::Stage::kWaiting;
  if (reusable && !exchange->probe) {
    KeepIdle(std::move(connection));
  } else if (connection != nullptr) {
    connection->Close();
  }
}

// Repeats the exchange, before all others of its urgency.
void ClientCore::Requeue(const ExchangePtr& exchange) {
  queue_.PushFront(exchange);
  Pump();
}

// Answers the exchange.
void ClientCore::Finish(const ExchangePtr& exchange, Result<ApiResponse> result) {
  exchange->stage = Exchange::Stage::kOver;
  deadlines_->Drop(&exchange->timer);
  if (!exchange->probe) --held_;
  const auto done = std::exchange(exchange->done, nullptr);
  done(std::move(result));
}

// Answers everything that waits with the error.
void ClientCore::FailWaiting(const Error& error) {
  ReturnLeadless();
  for (const auto& exchange : queue_.TakeAll()) Finish(exchange, error);
}

void ClientCore::KeepIdle(std::shared_ptr<Connection> connection) {
  idle_.push_back({std::move(connection),
                   environment_.clock.Now() + MillisToNanos(options_.idle_connection_ms)});
  CloseIdleLater();
}

// Sets one timer for the connection that is unused for longest.
void ClientCore::CloseIdleLater() {
  if (idle_.empty() || idle_timer_.second != 0) return;
  idle_timer_ = deadlines_->At(idle_.front().until, [weak = weak_from_this()] {
    const auto self = weak.lock();
    if (self == nullptr) return;
    self->idle_timer_ = {};
    // The connections that were unused for longest are in front.
    const Monotonic now = self->environment_.clock.Now();
    std::erase_if(self->idle_, [now](const IdleConnection& idle) {
      if (idle.until <= now) idle.connection->Close();
      return idle.until <= now;
    });
    self->CloseIdleLater();
  });
}

void ClientCore::Add(std::shared_ptr<HttpStream> stream) {
  // Its user closed it before it began.
  if (stream->over()) return;
  if (circuit_.open()) return stream->End(trouble_);
  if (streams_.size() >= static_cast<std::size_t>(options_.streams))
    return stream->End(Named(Overloaded("too many streams from it are open", 1000)));
  streams_.insert(stream);
  stream->Await();
  Wait(std::move(stream));
}

void ClientCore::Wait(std::shared_ptr<HttpStream> stream) {
  streams_waiting_.push_back(std::move(stream));
  PumpStreams();
}

void ClientCore::Remove(HttpStream* stream) {
  const auto found = std::find_if(streams_.begin(), streams_.end(),
                                  [&](const auto& each) { return each.get() == stream; });
  if (found == streams_.end()) return;
  std::erase(streams_waiting_, *found);
  streams_.erase(found);
}

// Answers every exchange: kUnknown if it was written, else kUnavailable.
void ClientCore::Stop() {
  stopped_ = true;
  const Error stopped = Named(Unavailable("its client has stopped"));
  FailWaiting(stopped);
  for (const auto& exchange : std::vector<ExchangePtr>(active_.begin(), active_.end())) {
    const bool sent = exchange->stage == Exchange::Stage::kWritten;
    Leave(exchange, false);
    Finish(exchange, sent ? Error{Code::kUnknown, stopped.detail} : stopped);
  }
  for (const auto& stream :
       std::vector<std::shared_ptr<HttpStream>>(streams_.begin(), streams_.end()))
    stream->End(stopped);
  for (const auto& idle : idle_) idle.connection->Close();
  idle_.clear();
  credentials_->Stop();
  deadlines_->Stop();
}

}  // namespace muster::k8s

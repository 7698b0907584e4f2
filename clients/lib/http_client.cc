// The methods of HttpClient: connecting, sending one request, reading one answer, all on blocking
// calls of a non-blocking socket with deadlines (socket_stream.h).
//
// The connection is kept after an answer that allows it. A kept connection may have been closed by
// the server in the meantime, so a repeatable request that fails without an answer is sent once
// more on a fresh connection. A request that is not repeatable is never sent twice: the server may
// have carried it out. Beast reports everything else by error codes; its exceptions and bad_alloc
// end in Send.
#include "clients/lib/http_client.h"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <sys/un.h>
#include <time.h>

#include <algorithm>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <charconv>
#include <cstring>
#include <optional>
#include <vector>

#include "clients/lib/wire_stream.h"
#include "schedd/base/chunked_body.h"

namespace muster::client {
namespace {

namespace http = boost::beast::http;
using ErrorCode = boost::system::error_code;

// How long connecting may take: a server on this host or network answers sooner or never.
constexpr std::int64_t kConnectMs = 5000;
// Bytes of one read when a long list streams into a sink.
constexpr std::size_t kChunk = 256 << 10;
constexpr std::uint32_t kHeaderLimit = 64 << 10;

Failure Unreachable(const Endpoint& endpoint, const std::string& why) {
  return {Failure::Kind::kUnreachable,
          0,
          "cannot reach the server at " + endpoint.ToString() + ": " + why,
          {},
          0};
}

// As Unreachable, before there was a connection.
Failure NotConnected(const Endpoint& endpoint, const std::string& why) {
  Failure out = Unreachable(endpoint, why);
  out.not_sent = true;
  return out;
}

Failure TimedOut(const Endpoint& endpoint) {
  return {Failure::Kind::kTimedOut, 0, "no answer in time from " + endpoint.ToString(), {}, 0};
}

// Connects a fresh non-blocking socket within kConnectMs and the deadline; -1 with errno set.
int ConnectSocket(int family, const sockaddr* address, socklen_t size, std::int64_t deadline_ms) {
  const int fd = ::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return -1;
  int error = 0;
  if (::connect(fd, address, size) != 0) {
    error = errno;
    if (error == EINPROGRESS) {
      const std::int64_t limit = NowMs() + kConnectMs;
      const std::int64_t left =
          (deadline_ms != 0 && deadline_ms < limit ? deadline_ms : limit) - NowMs();
      pollfd waited{fd, POLLOUT, 0};
      const int n = ::poll(&waited, 1, left > 0 ? static_cast<int>(left) : 0);
      socklen_t length = sizeof(error);
      if (n <= 0)
        error = ETIMEDOUT;
      else
        ::getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length);
    }
  }
  if (error != 0) {
    ::close(fd);
    errno = error;
    return -1;
  }
  if (family != AF_UNIX) {
    const int on = 1;
    ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  }
  return fd;
}

// The Host header of a unix socket is "localhost", because HTTP/1.1 demands one. A POST or PUT
// without a body still says Content-Length: 0.
http::request<http::string_body> BuildRequest(const HttpRequest& from, const Endpoint& endpoint,
                                              const std::string& authorization) {
  http::request<http::string_body> out;
  out.method_string(from.method);
  out.target(from.target);
  out.version(11);
  out.set(http::field::host, endpoint.unix_path.empty() ? endpoint.Authority() : "localhost");
  out.set(http::field::user_agent, "muster-client/0.1");
  for (const auto& [name, value] : from.headers) out.insert(name, value);
  if (!authorization.empty()) out.set(http::field::authorization, authorization);
  if (!from.body.empty() || from.method == "POST" || from.method == "PUT") {
    if (!from.content_type.empty()) out.set(http::field::content_type, from.content_type);
    out.body() = from.body;
    out.prepare_payload();
  }
  return out;
}

// What the signer of a request gives, "" without one. It is not sent in plain text beyond this
// host.
Outcome<std::string> AuthorizationOf(const HttpRequest& request, const Endpoint& endpoint) {
  if (!request.signer) return std::string();
  Result<std::string> given = request.signer(request);
  if (!given.ok()) return LocalFailure(given.error().detail);
  if (!given->empty() && !endpoint.tls && !endpoint.IsLocal()) {
    return LocalFailure("credentials are not sent to " + endpoint.ToString() +
                        " in plain text; use https://");
  }
  return std::move(given).value();
}

// Retry-After or Muster-Copy-Age in whole seconds; 0 for a date, which our server never sends.
int SecondsOf(std::string_view text) {
  int value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value < 0 ? 0 : value;
}

std::string Text(boost::beast::string_view text) { return std::string(text.data(), text.size()); }

}  // namespace

std::int64_t NowMs() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1'000'000;
}

struct HttpClient::Connection {
  // Beast reads as much at once as its buffer has room for, and 512 bytes without a reserve.
  explicit Connection(int fd) : stream(fd) { buffer.reserve(4096); }
  // Waits for bytes behind those of the buffer, which are no reason for Beast to read.
  void ReadOn(ErrorCode& ec) { buffer.commit(stream.read_some(buffer.prepare(4096), ec)); }
  WireStream stream;
  boost::beast::flat_buffer buffer;
};

HttpClient::HttpClient(Endpoint endpoint, TlsSettings tls)
    : endpoint_(std::move(endpoint)), tls_(std::move(tls)) {}
HttpClient::~HttpClient() = default;

void HttpClient::ShowCertificate(const std::string& certificate_pem, const std::string& key_pem) {
  if (tls_.certificate_pem == certificate_pem && tls_.key_pem == key_pem) return;
  tls_.certificate_pem = certificate_pem;
  tls_.key_pem = key_pem;
  connection_.reset();
}

// The deadline of the handshake is the call's, and at most that of connecting. A server whose
// certificate is not trusted is not asked anything.
Failure HttpClient::Secure(std::int64_t deadline_ms, bool* connected) {
  *connected = true;
  if (!endpoint_.tls) return {};
  const std::int64_t limit = NowMs() + kConnectMs;
  SocketStream& socket = connection_->stream.socket;
  socket.set_deadline(deadline_ms != 0 && deadline_ms < limit ? deadline_ms : limit);
  bool timed_out = false;
  auto opened = OpenTls(socket, tls_, endpoint_.host, &timed_out);
  if (opened.ok()) {
    connection_->stream.tls = std::move(opened).value();
    return {};
  }
  *connected = false;
  connection_.reset();
  if (opened.error().code == Code::kInvalidArgument) return LocalFailure(opened.error().detail);
  Failure failure = timed_out ? TimedOut(endpoint_) : Unreachable(endpoint_, opened.error().detail);
  failure.not_sent = true;
  return failure;
}

// Numeric addresses are tried first without a resolver, which costs milliseconds. Every address of
// a name is tried in turn.
Failure HttpClient::Connect(std::int64_t deadline_ms, bool* connected) {
  *connected = false;
  int fd = -1;
  if (!endpoint_.unix_path.empty()) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (endpoint_.unix_path.size() >= sizeof(address.sun_path))
      return NotConnected(endpoint_, "socket path too long");
    std::memcpy(address.sun_path, endpoint_.unix_path.c_str(), endpoint_.unix_path.size());
    fd = ConnectSocket(AF_UNIX, reinterpret_cast<const sockaddr*>(&address), sizeof(address),
                       deadline_ms);
  } else {
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
    addrinfo* found = nullptr;
    const std::string port = std::to_string(endpoint_.port);
    int error = ::getaddrinfo(endpoint_.host.c_str(), port.c_str(), &hints, &found);
    if (error == EAI_NONAME) {
      hints.ai_flags = AI_NUMERICSERV;
      error = ::getaddrinfo(endpoint_.host.c_str(), port.c_str(), &hints, &found);
    }
    if (error != 0) return NotConnected(endpoint_, ::gai_strerror(error));
    for (const addrinfo* it = found; it != nullptr && fd < 0; it = it->ai_next) {
      fd = ConnectSocket(it->ai_family, it->ai_addr, it->ai_addrlen, deadline_ms);
    }
    const int kept = errno;
    ::freeaddrinfo(found);
    errno = kept;
  }
  if (fd < 0) return NotConnected(endpoint_, std::strerror(errno));
  connection_ = std::make_unique<Connection>(fd);
  return Secure(deadline_ms, connected);
}

Outcome<HttpResponse> HttpClient::Send(const HttpRequest& request, std::int64_t deadline_ms,
                                       const BodySink* sink) {
  try {
    bool may_repeat = false;
    Outcome<HttpResponse> first = SendOnce(request, deadline_ms, sink, &may_repeat);
    if (first.ok() || !may_repeat) return first;
    return SendOnce(request, deadline_ms, sink, &may_repeat);
  } catch (const std::exception&) {
    // Exceptions of Beast and bad_alloc end here: callers only know Outcome.
    connection_.reset();
    return BadAnswer("the answer of " + endpoint_.ToString() + " could not be read");
  }
}

// One request and its answer. `*may_repeat` becomes true if the connection broke before any part of
// the answer was handed on and the request is repeatable.
Outcome<HttpResponse> HttpClient::SendOnce(const HttpRequest& request, std::int64_t deadline_ms,
                                           const BodySink* sink, bool* may_repeat) {
  *may_repeat = false;
  const Outcome<std::string> authorization = AuthorizationOf(request, endpoint_);
  if (!authorization.ok()) return authorization.failure();
  if (connection_ == nullptr) {
    bool connected = false;
    Failure failure = Connect(deadline_ms, &connected);
    if (!connected) return failure;
  }
  // Moved out of the member, so that every early return closes the connection.
  std::unique_ptr<Connection> connection = std::move(connection_);
  connection->stream.socket.set_deadline(deadline_ms);
  const auto broken = [&](const ErrorCode& ec) -> Failure {
    if (ec == boost::asio::error::timed_out) return TimedOut(endpoint_);
    *may_repeat = request.repeatable;
    // TLS 1.3 tells that it refuses a client's certificate in place of the answer.
    const TlsStream* tls = connection->stream.tls.get();
    if (tls != nullptr && !tls->problem().empty()) return Unreachable(endpoint_, tls->problem());
    return Unreachable(endpoint_, "the connection broke (" + ec.message() + ")");
  };
  ErrorCode ec;
  const http::request<http::string_body> message = BuildRequest(request, endpoint_, *authorization);
  http::write(connection->stream, message, ec);
  if (ec && ec != boost::asio::error::broken_pipe && ec != boost::asio::error::connection_reset)
    return broken(ec);

  // A server that refuses a long body answers and closes before it has read the body. Writing then
  // fails, but the answer is there to be read.
  if (request.begin_within_ms > 0) {
    const std::int64_t begin = NowMs() + request.begin_within_ms;
    connection->stream.socket.set_deadline(deadline_ms == 0 ? begin : std::min(begin, deadline_ms));
  }
  // Bounds the next wait by the time after which the server is asked whether it is there; false if
  // the call's deadline comes first.
  const auto asks_after_silence = [&](bool wanted) {
    const std::int64_t silent = NowMs() + limits::kSilentMs;
    const bool asks = wanted && request.still_there && (deadline_ms == 0 || silent < deadline_ms);
    connection->stream.socket.set_deadline(asks ? silent : deadline_ms);
    return asks;
  };
  http::response_parser<http::buffer_body> parser;
  parser.header_limit(kHeaderLimit);
  parser.body_limit(boost::none);
  for (;;) {
    const bool asks = request.begin_within_ms == 0 && asks_after_silence(true);
    http::read_header(connection->stream, connection->buffer, parser, ec);
    if (ec != boost::asio::error::timed_out || !asks || !request.still_there()) break;
  }
  const bool socket_error = ec && ec.category() == boost::system::system_category();
  if (socket_error || ec == http::error::end_of_stream || ec == boost::asio::error::eof ||
      ec == boost::asio::error::timed_out || ec == http::error::partial_message) {
    return broken(ec);
  }
  if (ec) return BadAnswer(endpoint_.ToString() + " does not speak HTTP (" + ec.message() + ")");

  HttpResponse response;
  response.status = static_cast<int>(parser.get().result_int());
  response.content_type = Text(parser.get()[http::field::content_type]);
  response.retry_after_s = SecondsOf(Text(parser.get()[http::field::retry_after]));
  response.location = Text(parser.get()[http::field::location]);
  response.leader = Text(parser.get()["Muster-Leader"]);
  response.log_offset = Text(parser.get()["Muster-Log-Offset"]);
  response.copy_age_s = SecondsOf(Text(parser.get()["Muster-Copy-Age"]));
  const bool to_sink = sink != nullptr && response.status >= 200 && response.status < 300;
  if (to_sink && request.began) request.began(response);
  if (to_sink && !(*sink)({})) return response;
  std::vector<char> chunk(to_sink ? kChunk : 16 << 10);
  if (to_sink) connection->buffer.reserve(chunk.size());
  bool body_begun = !parser.chunked();
  while (!parser.is_done()) {
    parser.get().body().data = chunk.data();
    parser.get().body().size = chunk.size();
    const bool asks = asks_after_silence(request.still_there_later);
    body_begun = body_begun || MayParseChunk(connection->buffer.size());
    if (body_begun)
      http::read_some(connection->stream, connection->buffer, parser, ec);
    else
      connection->ReadOn(ec);
    if (ec == http::error::need_buffer) ec = {};
    if (ec == boost::asio::error::timed_out && asks && request.still_there()) continue;
    const std::string_view part(chunk.data(), chunk.size() - parser.get().body().size);
    if (to_sink) {
      if (!part.empty() && !(*sink)(part)) return response;
    } else if (part.size() > request.answer_bytes - response.body.size()) {
      return BadAnswer("the answer of " + endpoint_.ToString() + " is longer than " +
                       std::to_string(request.answer_bytes) + " bytes");
    } else {
      response.body.append(part);
    }
    if (ec) {
      Failure failure = broken(ec);
      // The sink has had a part of the answer: a second answer would repeat that part.
      if (to_sink) *may_repeat = false;
      return failure;
    }
  }
  if (parser.keep_alive()) connection_ = std::move(connection);
  return response;
}

}  // namespace muster::client

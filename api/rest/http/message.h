// Request and Response as the handlers see them. They name no transport, so that another server
// could serve the same routes.
//
// Plain values. The guard has limited and checked the bytes of a Request before a handler gets it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/auth/authorization.h"
#include "api/net/peer.h"
#include "schedd/base/result.h"

namespace muster::rest {

/// The methods that routes may have. HEAD is GET with `head` set.
enum class Method : std::uint8_t { kGet, kPost, kPut, kPatch, kDelete };

/// "GET", "POST", ....
std::string_view MethodName(Method method);

struct Request {
  Method method = Method::kGet;
  bool head = false;
  std::vector<std::string> segments;                       // of the path, percent-decoded
  std::vector<std::pair<std::string, std::string>> query;  // percent-decoded, in order
  std::vector<std::string> params;  // values of the pattern's {names}, in order
  // The only headers that handlers may read; values are trimmed.
  std::string content_type, idempotency_key, last_event_id, accept_encoding, if_none_match;
  // What the request says of its sender (api/auth/authenticator.h): the Authorization header, whom
  // it wants to act as (X-Muster-User or Impersonate-User, Impersonate-Group), and its id.
  auth::Authorization authorization;
  std::string as_user, request_id;
  std::vector<std::string> as_groups;
  // The request line as it came; a munge credential is bound to it.
  std::string raw_method, raw_target;
  /// The other end of the connection; null only in tests.
  net::PeerPtr peer;
  std::string body;
  /// Whether the handler may wait for another program: it runs on the pool.
  bool may_wait = true;
  /// A reservation that a handler made for this request; released after the request is handled.
  mutable std::shared_ptr<const void> held;

  /// The first value of a query parameter, or null.
  const std::string* Query(std::string_view name) const;
  /// True below /api and /apis: errors are metav1.Status there and problem+json elsewhere.
  bool IsKubernetesPath() const;
};

/// Appends the next piece of a long body; false after the last one. Runs on a worker of a pool,
/// never on the threads that read or write, so it may block.
using BodyProducer = std::function<bool(std::string* out)>;

/// An answer that stays open (server-sent events, followed logs). Thread-safe.
class StreamSink {
 public:
  virtual ~StreamSink() = default;
  /// Sends `data`. For a slow reader up to limits::kStreamBacklogBytes are kept; beyond that the
  /// reader is dropped. False: the stream is over.
  virtual bool Write(std::string_view data) = 0;
  /// Runs `next` on the writer thread once everything written has left, or once the stream is over.
  virtual void WhenDrained(std::function<void()> next) = 0;
  /// Ends the answer in good order.
  virtual void End() = 0;
  /// Ends it so that the client sees that it is not whole (one of HTTP/1.0 cannot see that).
  virtual void Break() = 0;
  virtual bool over() const = 0;
};
using StreamStart = std::function<void(std::shared_ptr<StreamSink>)>;

/// At most one of body, producer and stream is used. A status from 400 on has its error.
struct Response {
  int status = 200;
  std::string content_type = "application/json";
  std::string body = {};
  std::vector<std::pair<std::string, std::string>> headers = {};
  BodyProducer producer = {};
  /// The producer waits for a member cluster: it runs on the members' pool.
  bool asks_member = false;
  StreamStart stream = {};
  /// The end of the stream tells that everything was sent: a server that stops breaks it off.
  bool end_tells = false;
  /// What the answer says went wrong, for those who note it.
  std::optional<Error> error = {};
};

/// Answers one request, once, from any thread. Copyable. If all copies are destroyed without an
/// answer (the engine stopped), the client is told that the outcome is not known.
class Responder {
 public:
  using ResponseMaker = std::function<Response()>;
  /// What a transport does with the answer.
  class Exchange {
   public:
    virtual ~Exchange() = default;
    virtual void Answer(ResponseMaker make) = 0;
  };
  explicit Responder(std::shared_ptr<Exchange> exchange) : exchange_(std::move(exchange)) {}
  /// `make` runs on the writer thread, so that the caller, often the engine's thread, pays only for
  /// one push to a queue.
  void operator()(ResponseMaker make) const { exchange_->Answer(std::move(make)); }

 private:
  std::shared_ptr<Exchange> exchange_;
};

using SyncHandler = std::function<Response(Request& request)>;
using AsyncHandler = std::function<void(Request& request, Responder respond)>;

}  // namespace muster::rest

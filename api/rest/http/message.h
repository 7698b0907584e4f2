// Request and Response as the handlers see them: no transport in sight, so that another server can
// carry a route.
//
// Plain values. A handler gets a Request whose bytes the guard has already limited and checked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace muster::rest {

/// The methods that have routes; HEAD is GET with `head` set.
enum class Method : std::uint8_t { kGet, kPost, kPut, kPatch, kDelete };

/// "GET", "POST", ....
std::string_view MethodName(Method method);

struct Request {
  Method method = Method::kGet;
  bool head = false;
  std::vector<std::string> segments;                       // of the path, percent-decoded
  std::vector<std::pair<std::string, std::string>> query;  // percent-decoded, in order
  std::vector<std::string> params;  // values of the pattern's {names}, in order
  // The allow-list of headers that handlers may read; values are trimmed.
  std::string content_type, idempotency_key, user, last_event_id;
  bool credentials = false;  // it has an Authorization header, whatever that says
  std::string body;
  /// What a handler reserved for this request: let go with it, when it has been handled.
  mutable std::shared_ptr<const void> held;

  /// The first value of a query parameter, or null.
  const std::string* Query(std::string_view name) const;
  /// True for /api and /apis: errors are metav1.Status there, problem+json elsewhere.
  bool IsKubernetesPath() const;
};

/// Appends the next piece of a long body; false after the last. Runs on a worker of the pool, never
/// on the threads that read or write; may block on the store.
using BodyProducer = std::function<bool(std::string* out)>;

/// An answer that stays open (server-sent events, followed logs). Thread-safe.
class StreamSink {
 public:
  virtual ~StreamSink() = default;
  /// Sends, or keeps up to limits::kStreamBacklogBytes for a slow reader and drops it beyond that.
  /// False: the stream is over.
  virtual bool Write(std::string_view data) = 0;
  /// Runs `next` on the writer thread once everything written has left, or once the stream is over.
  virtual void WhenDrained(std::function<void()> next) = 0;
  /// Ends the answer in good order.
  virtual void End() = 0;
  virtual bool over() const = 0;
};
using StreamStart = std::function<void(std::shared_ptr<StreamSink>)>;

/// Exactly one of body, producer and stream is used.
struct Response {
  int status = 200;
  std::string content_type = "application/json";
  std::string body = {};
  std::vector<std::pair<std::string, std::string>> headers = {};
  BodyProducer producer = {};
  StreamStart stream = {};
};

/// Answers one request, once, from any thread. Copyable. If every copy goes away unanswered (the
/// engine stopped), the client is told that the outcome is not known.
class Responder {
 public:
  using Make = std::function<Response()>;
  /// What a transport does with the answer.
  class Exchange {
   public:
    virtual ~Exchange() = default;
    virtual void Answer(Make make) = 0;
  };
  explicit Responder(std::shared_ptr<Exchange> exchange) : exchange_(std::move(exchange)) {}
  /// `make` runs on the writer thread, so that the caller (the engine's thread) pays a queue push
  /// and no more.
  void operator()(Make make) const { exchange_->Answer(std::move(make)); }

 private:
  std::shared_ptr<Exchange> exchange_;
};

using SyncHandler = std::function<Response(Request& request)>;
using AsyncHandler = std::function<void(Request& request, Responder respond)>;

}  // namespace muster::rest

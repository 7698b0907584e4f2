// ApiClient: one member's API server over HTTP/1.1. MakeApiClient makes the real one; its users
// know only this interface.
//
// Thread-safe; no call blocks, except Stop. Every callback and every call of a StreamSink runs on
// the client's strand: one at a time, on a thread of its IoThreads. They must be quick, because
// this member (and perhaps another) waits while one runs.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "backends/k8s/client/io_threads.h"
#include "backends/k8s/client/kubeconfig.h"
#include "schedd/base/clock.h"
#include "schedd/base/lead_term.h"
#include "schedd/base/random.h"
#include "schedd/base/result.h"

namespace muster::k8s {

/// The order of requests when connections are short. Equal ones go in the order in which they were
/// sent.
enum class Urgency : std::uint8_t { kRelease, kCreate, kRead, kList };

struct ApiRequest {
  std::string method = "GET";
  std::string target = {};        // path and query, percent-encoded
  std::string content_type = {};  // of `body`; "" without one
  std::string body = {};
  Urgency urgency = Urgency::kRead;
  /// From Send to the callback, with queueing, connecting and repeats.
  std::int64_t timeout_ms = 30'000;
  /// Asked right before the bytes of a request other than GET are written, each time. While the
  /// lead is not confirmed the request waits, within its time; if the permit is void the answer is
  /// kUnavailable. Not given: the client's own lead at the moment of Send.
  Permit permit = {};

  bool writes() const { return method != "GET"; }
};

struct ApiResponse {
  int status = 0;
  std::string body = {};
  std::int64_t retry_after_ms = 0;  // by the Retry-After header; 0 without one

  bool ok() const { return status >= 200 && status < 300; }
};

/// A long answer that is read as it comes: a watch or a container's log.
struct StreamRequest {
  std::string target;
  /// True: data comes line by line, without newlines and empty lines; false: in pieces of any size.
  bool lines = true;
  /// If no byte comes for so long, the stream ends with kDeadlineExceeded. 0: it may be silent for
  /// ever (the log of a quiet container).
  std::int64_t idle_timeout_ms = 75'000;
  /// Until the response's head has come, with connecting.
  std::int64_t open_timeout_ms = 30'000;
};

class StreamSink {
 public:
  virtual ~StreamSink() = default;
  /// The first call, unless the stream could not be opened. Status 200: data follows. Any other
  /// status: `response` is the whole answer, and OnEnd follows.
  virtual void OnResponse(const ApiResponse& response) = 0;
  /// The next line or bytes. False: no more is read before ApiStream::Resume. The member then
  /// notices back-pressure, and a silent stream does not count as stalled.
  virtual bool OnData(std::string_view data) = 0;
  /// The last call. Done: the member ended the stream in order. kDeadlineExceeded: it stalled.
  /// Other errors: kUnavailable, kUnauthenticated, kResourceExhausted (too many streams; an endless
  /// line).
  virtual void OnEnd(const Status& how) = 0;
};

/// A stream's handle. Thread-safe. Dropping it closes the stream.
class ApiStream {
 public:
  virtual ~ApiStream() = default;
  /// No further call of the sink begins; if called on the client's strand, none at all comes, not
  /// even OnEnd.
  virtual void Close() = 0;
  /// Continues after OnData has returned false.
  virtual void Resume() = 0;
};

/// Whether the member answers, by its last exchanges.
struct ApiHealth {
  bool reachable = true;  // false: the circuit is open, only probes are sent
  std::string trouble;    // one sentence: the reason; "" while reachable
  Code code = Code::kOk;  // kUnavailable or kUnauthenticated while not reachable
};

class ApiClient {
 public:
  virtual ~ApiClient() = default;
  /// Any HTTP status is a response. A 429, or a 503 with Retry-After, is waited for and repeated as
  /// long as timeout_ms permits; a 401 is repeated once with renewed credentials. Errors:
  /// kUnavailable: surely not carried out (not connected, not wholly sent, circuit open); kUnknown:
  /// sent and not answered, so it may have been carried out, or be carried out later;
  /// kUnauthenticated: no credentials, or the member's certificate is not trusted;
  /// kResourceExhausted: too many requests wait; kInvalidArgument: malformed.
  virtual void Send(ApiRequest request, Callback<ApiResponse> done) = 0;
  /// Streams have connections of their own, beside those for requests.
  virtual std::shared_ptr<ApiStream> OpenStream(StreamRequest request,
                                                std::shared_ptr<StreamSink> sink) = 0;
  /// Runs `work` on the strand of the callbacks, after everything posted before. False, and nothing
  /// runs, once Stop was called.
  virtual bool Post(std::function<void()> work) = 0;
  /// True on that strand.
  virtual bool OnStrand() const = 0;
  virtual ApiHealth Health() const = 0;
  /// Requests that were sent and are not answered, with those that wait for a connection.
  virtual std::size_t Held() const = 0;
  /// Ends everything: waiting requests get kUnavailable, sent ones kUnknown, streams kUnavailable.
  /// Blocks until the last callback has returned; none comes later. Must not be called on the
  /// strand. A Send after it is answered at once with kUnavailable, on the calling thread.
  virtual void Stop() = 0;
};

/// What a client uses; all of it must outlive the client.
struct ClientEnvironment {
  const Clock& clock;
  TimerService& timers;
  Random& random;
  IoThreads& io;
  /// The lead under which members are written to; null: no other daemon can lead.
  std::shared_ptr<LeadTerm> lead = nullptr;
};

struct ApiClientOptions {
  std::string member = {};        // its name, for sentences, logs and metrics
  int connections = 8;            // for requests, kept alive
  int streams = 256;              // open at once
  std::size_t waiting = 100'000;  // requests that wait for a connection
  /// For name look-up, TCP and TLS together.
  std::int64_t connect_timeout_ms = 10'000;
  /// Idle connections are closed after this time, before the peer does: Go servers close after
  /// 90 s, most proxies after 60 s.
  std::int64_t idle_connection_ms = 30'000;
  std::size_t max_response_bytes = 256u << 20;
  /// Of a watch; etcd refuses objects over 1.5 MiB.
  std::size_t max_line_bytes = 16u << 20;
  /// So many unanswered exchanges in a row open the circuit.
  int failures_to_open = 5;
  /// The pause between probes, doubling, with jitter.
  std::int64_t probe_min_ms = 500;
  std::int64_t probe_max_ms = 5'000;
  /// The lead for requests without a permit; null: they need none.
  std::shared_ptr<LeadTerm> lead = {};
  /// Called on the strand when Health changes; may be empty.
  std::function<void(const ApiHealth&)> on_health = {};
};

/// A client that connects at its first request and reads credential files when it needs them. Never
/// fails: trouble shows in the answers.
std::unique_ptr<ApiClient> MakeApiClient(const ClientEnvironment& environment, MemberAccess access,
                                         ApiClientOptions options);

}  // namespace muster::k8s

// ApiClient: one member's API server over HTTP/1.1, whatever it is reached by. The real one is made
// by MakeApiClient; what uses it knows only this interface.
//
// Thread-safe; no call blocks (but Stop). Every callback and every call of a StreamSink runs on the
// client's strand: one at a time, on a thread of its IoThreads. They must be quick: while one runs,
// this member (and perhaps another) waits.
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

/// What goes first when connections are short; equal ones go in the order they were sent.
enum class Urgency : std::uint8_t { kRelease, kCreate, kRead, kList };

struct ApiRequest {
  std::string method = "GET";
  std::string target = {};        // path and query, percent-encoded
  std::string content_type = {};  // of `body`; "" when there is none
  std::string body = {};
  Urgency urgency = Urgency::kRead;
  /// From Send to the callback: queueing, connecting and repeats included.
  std::int64_t timeout_ms = 30'000;
  /// Asked right before the bytes of what is no GET are written, each time. Without the lead it
  /// waits, inside its time; one that is void is kUnavailable. Not given: the client's own lead as
  /// it is when the request is sent.
  Permit permit = {};

  bool writes() const { return method != "GET"; }
};

struct ApiResponse {
  int status = 0;
  std::string body = {};
  std::int64_t retry_after_ms = 0;  // of the Retry-After header; 0 without one

  bool ok() const { return status >= 200 && status < 300; }
};

/// A long answer, read as it comes: a watch or a container's log.
struct StreamRequest {
  std::string target;
  /// True: data comes line by line (without the newline; empty ones left out); false: as it comes.
  bool lines = true;
  /// Nothing came for so long: the stream ends with kDeadlineExceeded. 0: it may be silent for
  /// ever (a log of a quiet container).
  std::int64_t idle_timeout_ms = 75'000;
  /// Until the response's head; includes connecting.
  std::int64_t open_timeout_ms = 30'000;
};

class StreamSink {
 public:
  virtual ~StreamSink() = default;
  /// The first call unless the stream could not be opened. 200: data follows. Any other status:
  /// `response` holds the whole answer, OnEnd follows.
  virtual void OnResponse(const ApiResponse& response) = 0;
  /// The next line or bytes. False: no more is read before ApiStream::Resume (back-pressure up to
  /// the member; what is silent then is not called stalled).
  virtual bool OnData(std::string_view data) = 0;
  /// The last call. Done: the member ended it in order. kDeadlineExceeded: it stalled.
  /// kUnavailable, kUnauthenticated, kResourceExhausted (too many streams; an endless line): why
  /// not.
  virtual void OnEnd(const Status& how) = 0;
};

/// Thread-safe. Dropping it closes the stream.
class ApiStream {
 public:
  virtual ~ApiStream() = default;
  /// No further call of the sink begins; none, not even OnEnd, when called on the client's strand.
  virtual void Close() = 0;
  /// Goes on after OnData returned false.
  virtual void Resume() = 0;
};

/// Whether the member answers, as its last exchanges showed.
struct ApiHealth {
  bool reachable = true;  // false: the circuit is open, only probes are sent
  std::string trouble;    // one sentence: why not; "" when reachable
  Code code = Code::kOk;  // kUnavailable or kUnauthenticated when not
};

class ApiClient {
 public:
  virtual ~ApiClient() = default;
  /// Any HTTP status is a response: 429, and 503 with Retry-After, only after they were waited for
  /// and repeated as long as timeout_ms allows; 401 only after credentials were read anew.
  /// Errors: kUnavailable: surely not carried out (not connected, not wholly sent, circuit open);
  /// kUnknown: sent and not answered: it may have been carried out, or be carried out later;
  /// kUnauthenticated: no credentials can be had, or the member's certificate is not trusted;
  /// kResourceExhausted: too many requests wait; kInvalidArgument: not a request.
  virtual void Send(ApiRequest request, Callback<ApiResponse> done) = 0;
  /// Streams have connections of their own, beside the bounded ones.
  virtual std::shared_ptr<ApiStream> OpenStream(StreamRequest request,
                                                std::shared_ptr<StreamSink> sink) = 0;
  /// Runs `work` on the strand that callbacks run on, after what is there already. False, and
  /// nothing runs, once Stop was called.
  virtual bool Post(std::function<void()> work) = 0;
  /// True on that strand.
  virtual bool OnStrand() const = 0;
  virtual ApiHealth Health() const = 0;
  /// Requests that were sent and are not answered, those that wait for a connection included.
  virtual std::size_t Held() const = 0;
  /// Ends everything: waiting requests get kUnavailable, sent ones kUnknown, streams kUnavailable.
  /// Blocks until the last callback has been made; none comes after it. Not on the strand. A Send
  /// after that is answered at once, kUnavailable, on the calling thread.
  virtual void Stop() = 0;
};

/// What a client draws on; all must outlive it.
struct ClientEnvironment {
  const Clock& clock;
  TimerService& timers;
  Random& random;
  IoThreads& io;
  /// Under which members are written to; null: nobody else can lead.
  std::shared_ptr<LeadTerm> lead = nullptr;
};

struct ApiClientOptions {
  std::string member = {};                   // its name, for sentences, logs and metrics
  int connections = 8;                       // for requests, kept alive
  int streams = 256;                         // at once
  std::size_t waiting = 100'000;             // requests that wait for a connection
  std::int64_t connect_timeout_ms = 10'000;  // name, TCP and TLS
  std::int64_t idle_connection_ms = 30'000;  // then closed: below Go's 90 s and most proxies' 60 s
  std::size_t max_response_bytes = 256u << 20;
  std::size_t max_line_bytes = 16u << 20;  // of a watch; etcd refuses objects over 1.5 MiB
  int failures_to_open = 5;                // unanswered exchanges in a row that open the circuit
  std::int64_t probe_min_ms = 500;         // between probes, doubling, with jitter
  std::int64_t probe_max_ms = 5'000;
  /// Of requests that bring no permit; null: they need none.
  std::shared_ptr<LeadTerm> lead = {};
  /// Called on the strand when Health changes; may be empty.
  std::function<void(const ApiHealth&)> on_health = {};
};

/// A client that connects when it is first asked for something. Reads credential files when it
/// needs them; nothing here fails.
std::unique_ptr<ApiClient> MakeApiClient(const ClientEnvironment& environment, MemberAccess access,
                                         ApiClientOptions options);

}  // namespace muster::k8s

// ClientCore: the working part of a member's ApiClient, on its strand: which request gets a
// connection next, which requests are repeated, and when the member is left alone. Streams share
// its credentials, name look-ups and circuit.
//
// Strand only, except Admit, Health, held and gate().
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "backends/k8s/client/api_client.h"
#include "backends/k8s/client/circuit.h"
#include "backends/k8s/client/credentials.h"
#include "backends/k8s/client/deadlines.h"
#include "backends/k8s/client/exchange.h"
#include "backends/k8s/client/resolver.h"
#include "backends/k8s/client/strand_gate.h"
#include "schedd/base/mutex.h"

namespace muster::k8s {

class HttpStream;

class ClientCore : public std::enable_shared_from_this<ClientCore> {
 public:
  ClientCore(const ClientEnvironment& environment, MemberAccess access, ApiClientOptions options);
  /// Called once, before any other method.
  void Begin();

  /// Any thread.
  void Admit(ApiRequest request, Callback<ApiResponse> done);
  /// Any thread.
  ApiHealth Health() const;
  std::size_t held() const { return held_; }
  StrandGate& gate() { return *gate_; }
  /// Ends everything.
  void Stop();

  // For streams.
  void Add(std::shared_ptr<HttpStream> stream);
  /// Starts the stream as soon as there are credentials.
  void Wait(std::shared_ptr<HttpStream> stream);
  void Remove(HttpStream* stream);
  /// Connects with `auth`. `done` is not called if the connection is closed before.
  std::shared_ptr<Connection> Dial(const Auth& auth, std::function<void(const Status&)> done);
  std::string Head(const std::string& method, const std::string& target, const Auth& auth) const;
  Credentials& credentials() { return *credentials_; }
  Deadlines& deadlines() { return *deadlines_; }
  const Clock& clock() const { return environment_.clock; }
  const ApiClientOptions& options() const { return options_; }
  /// An exchange was answered, or was not (client_health.cc).
  void Succeeded();
  void Failed(const Error& error);
  /// The error with the member's name in front.
  Error Named(Error error) const;
  /// Gives free connections to the requests and streams that wait.
  void Pump();

 private:
  void Enter(ExchangePtr exchange);
  void Start(const ExchangePtr& exchange, const Auth& auth);
  std::shared_ptr<Connection> TakeIdle(std::uint64_t generation);
  void Write(const ExchangePtr& exchange, std::string head);
  void Read(const ExchangePtr& exchange);
  void Came(const ExchangePtr& exchange, Connection::ErrorCode error, std::string_view bytes);
  void Answered(const ExchangePtr& exchange);
  /// True if the request will be sent again.
  bool Repeat(const ExchangePtr& exchange, const ApiResponse& response);
  void Broken(const ExchangePtr& exchange, Error error);
  void TimedOut(const ExchangePtr& exchange);
  void Leave(const ExchangePtr& exchange, bool reusable);
  void Requeue(const ExchangePtr& exchange);
  void Finish(const ExchangePtr& exchange, Result<ApiResponse> result);
  void KeepIdle(std::shared_ptr<Connection> connection);
  void CloseIdleLater();
  void FailWaiting(const Error& error);
  void PumpStreams();
  void Pause(std::int64_t ms);
  void ProbeLater();
  void Probe();
  void Tell();
  bool IsList(const Exchange& exchange) const;

  // client_lead.cc: requests that change a member are sent only under the lead.
  void TakePermit(ApiRequest* request) const;
  static bool MayWrite(const Exchange& exchange);
  /// The request may not be sent now: it waits for the lead, or is answered if its permit is void.
  void AwaitLead(const ExchangePtr& exchange);
  /// The request was not wholly written, because the lead ended in between.
  void Withheld(const ExchangePtr& exchange);
  /// Requests that wait for the lead go back into the queue.
  void ReturnLeadless();

  const ClientEnvironment environment_;
  const MemberAccess access_;
  const ApiClientOptions options_;
  const std::shared_ptr<StrandGate> gate_;
  const std::shared_ptr<Deadlines> deadlines_;
  const std::shared_ptr<Resolver> resolver_;
  std::shared_ptr<Credentials> credentials_;
  std::string host_header_;

  std::atomic<std::size_t> held_{0};  // admitted and not answered
  RequestQueue queue_;
  std::uint64_t arrivals_ = 0;
  std::vector<ExchangePtr> leadless_;  // wait for the lead to be confirmed
  Deadlines::Key lead_timer_;
  std::unordered_set<ExchangePtr> active_;  // have a connection, or are connecting
  int lists_active_ = 0;
  struct IdleConnection {
    std::shared_ptr<Connection> connection;
    Monotonic until;
  };
  std::vector<IdleConnection> idle_;  // the latest used last
  Deadlines::Key idle_timer_;
  // The limit of active_: halved by a 429, raised by one per round of answers.
  double window_;
  Monotonic paused_until_;
  Deadlines::Key pause_timer_;
  std::unordered_set<std::shared_ptr<HttpStream>> streams_;
  std::vector<std::shared_ptr<HttpStream>> streams_waiting_;  // for credentials

  Circuit circuit_;
  Error trouble_;  // the last failure
  Deadlines::Key probe_timer_;
  mutable Mutex health_mutex_;
  ApiHealth health_ MUSTER_GUARDED_BY(health_mutex_);
  bool stopped_ = false;
};

}  // namespace muster::k8s

// Puts every concrete class together. Start begins things in the order in which they need each
// other: the lock of the data directory, PostgreSQL and the store, backends, dispatcher, REST and
// gRPC (which answer /readyz with 503 until recovery is done), engine, the objects of declared
// members, fleet, propagator, nominator. Stop ends them in the opposite order. Nothing else in the
// tree names two adapters.
//
// A stop must end within ten seconds. It first ends all waits for a database that hangs; the
// private PostgreSQL gets what is left of eight seconds, and at least two.
#include "schedd/daemon/wiring.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <future>
#include <thread>

#include "api/auth/auditing_authorizer.h"
#include "api/grpc/grpc_server.h"
#include "api/rest/rest_server.h"
#include "api/service/audit_log.h"
#include "api/service/scheduler_service.h"
#include "backends/k8s/k8s_backend.h"
#include "backends/simulated/simulated_backend.h"
#include "schedd/base/lead_term.h"
#include "schedd/base/lease.h"
#include "schedd/base/limits.h"
#include "schedd/base/mutex.h"
#include "schedd/base/steady_clock.h"
#include "schedd/daemon/access.h"
#include "schedd/daemon/data_directory.h"
#include "schedd/daemon/database_report.h"
#include "schedd/daemon/declared_objects.h"
#include "schedd/daemon/fleet.h"
#include "schedd/daemon/local_members.h"
#include "schedd/daemon/mail_hook.h"
#include "schedd/daemon/memory_directory.h"
#include "schedd/daemon/real_clock.h"
#include "schedd/daemon/start_warnings.h"
#include "schedd/daemon/tls_setup.h"
#include "schedd/dispatch/dispatcher.h"
#include "schedd/engine/engine.h"
#include "schedd/nomination/nominator.h"
#include "schedd/propagation/propagator.h"
#include "schedd/store/health.h"
#include "schedd/store/pg/audit_policy.h"
#include "schedd/store/pg/embedded_postgres.h"
#include "schedd/store/pg/pg_store.h"
#include "schedd/store/seal/key_file.h"
#include "schedd/store/seal/sealing_store.h"
#include "schedd/telemetry/log.h"
#include "schedd/telemetry/metrics.h"

namespace muster {
namespace {

// A private PostgreSQL that does not answer is tried again this often, once a second.
constexpr int kOpenTries = 20;
constexpr std::chrono::seconds kOpenAgainAfter{1};
// Of the ten seconds after SIGTERM.
constexpr std::int64_t kStopWithinNs = 8 * kNanosPerSecond;
// The private PostgreSQL has at least this long to stop.
constexpr std::int64_t kDatabaseStopMs = 2'000;
// The recovery of a million jobs takes a minute.
constexpr std::chrono::seconds kReadyWithin{120};
constexpr std::chrono::milliseconds kLookForLead{20};

}  // namespace

struct Daemon::Impl {
  explicit Impl(DaemonConfig daemon_config) : config(std::move(daemon_config)), timers(clock) {}

  Status OpenStore();
  Status MakeBackends(const std::string& instance_id);
  Status Serve();
  Status SetLease();
  Result<bool> AwaitLead();
  Status BeginToLead(const std::stop_token& ends);
  void LeadLater();
  void StartPropagator();
  void StartNominator(const std::string& instance_id);
  std::string CredentialsDirectory() const {
    return (std::filesystem::absolute(config.data_dir) / "members.d").string();
  }
  void EndRecoveryWait() {
    if (!was_ready.exchange(true)) recovered.set_value();
  }

  DaemonConfig config;
  int lock_fd = -1;
  // The host's clock may step: it judges absolute times alone (docs/rules/time.md).
  RealClock host_clock;
  SteadyClock clock{host_clock};
  // Only this daemon, which holds the lock of the directory, can use a private PostgreSQL.
  bool IsSole() const { return config.postgres_url.empty(); }
  const std::shared_ptr<LeadTerm> lead = std::make_shared<LeadTerm>(
      clock, (IsSole() ? limits::kLeadTermMs : TermMs(config.lease.ttl_ms)) * kNanosPerMilli);
  LeaseBoard lease{clock, lead};
  RealRandom random;
  auth::RateLimiter rate_limiter{
      clock,
      {.per_second = config.limits.requests_per_second_per_user, .burst = config.limits.burst}};
  Metrics metrics;
  std::unique_ptr<Access> access;
  std::unique_ptr<EmbeddedPostgres> postgres;
  StoreHealth health;
  std::unique_ptr<Store> store;
  std::vector<std::unique_ptr<Backend>> backends;
  // The one of `backends` that serves Kubernetes members.
  k8s::KubernetesMembers* kubernetes = nullptr;
  std::unique_ptr<dispatch::Dispatcher> dispatcher;
  std::unique_ptr<Engine> engine;
  // Reads the engine's view; the engine's thread tells it of events.
  std::unique_ptr<MailHook> mail;
  std::unique_ptr<Fleet> fleet;
  std::unique_ptr<nomination::Nominator> nominator;
  std::unique_ptr<propagation::Propagator> propagator;
  // Its timer may fire until `timers` ends, so it stays until then; Close ends its use of `engine`.
  std::unique_ptr<api::AuditLog> audit;
  std::unique_ptr<auth::AuditingAuthorizer> auditing;
  std::unique_ptr<api::SchedulerService> service;
  std::unique_ptr<api::RestServer> rest;
  std::unique_ptr<api::GrpcServer> grpc;
  // A stop is requested to give up the start.
  std::stop_source start;
  // Of the store: its waits end soon.
  std::stop_source stop;
  std::atomic<bool> was_ready = false;
  // Kept when the engine is ready, or when the start is given up.
  std::promise<void> recovered;
  std::future<void> ready = recovered.get_future();
  std::string instance;
  std::jthread engine_thread;
  // Of a daemon that stands by: begins to lead when the engine does.
  std::jthread leading_thread;
  std::atomic<bool> failed{false};
  // Its timers call into the members above, so it ends first.
  RealTimers timers;
};

// Starts a private PostgreSQL if no URL is given, and opens the store, which migrates the schema.
Status Daemon::Impl::OpenStore() {
  std::string url = config.postgres_url, owner_url = config.postgres_owner_url;
  if (url.empty()) {
    auto started = EmbeddedPostgres::Start(config.data_dir, start.get_token());
    if (!started.ok()) return started.error();
    postgres = std::move(started).value();
    url = postgres->daemon_url();
    owner_url = postgres->owner_url();
  }
  PgStoreOptions options;
  options.url = url;
  options.owner_url = owner_url;
  options.stop = stop.get_token();
  options.health = &health;
  options.lease = &lease;
  options.clock = &clock;
  options.metrics = &metrics;
  const auto open = [&]() -> decltype(OpenPgStore(options)) {
    auto store_of_url = OpenPgStore(options);
    if (!store_of_url.ok()) return store_of_url;
    // As the owner, since the daemon's own role must not be able to shorten the audit trail.
    const Status kept =
        pg::KeepAuditFor(owner_url.empty() ? url : owner_url, config.audit.retention_ms);
    if (!kept.ok()) return kept.error();
    return store_of_url;
  };
  auto opened = open();
  // A private server is started again when it dies, so it is tried again. A URL that leads nowhere
  // is an error at once.
  for (int tries = 1; postgres && tries < kOpenTries && !opened.ok() &&
                      opened.error().code == Code::kUnavailable && !start.stop_requested();
       ++tries) {
    SleepFor(options.stop, kOpenAgainAfter);
    opened = open();
  }
  if (!opened.ok()) return opened.error();
  const std::string key_file =
      config.secrets_key.empty() ? config.data_dir + "/keys/secrets" : config.secrets_key;
  auto keys = seal::ReadOrMakeKeys(key_file);
  if (!keys.ok()) return keys.error();
  store = seal::MakeSealingStore(std::move(opened).value(), seal::Sealer(std::move(keys).value()));
  // Asked now, and not only by the engine once it leads: a daemon that cannot lead must not wait
  // to.
  const Status readable = seal::CheckKeys(*store);
  if (readable.ok() || readable.error().code != Code::kFailedPrecondition) return readable;
  return Error{Code::kFailedPrecondition,
               "the key file " + key_file +
                   " is not the one that sealed this database's secrets; "
                   "daemons of one database need the same file (--secrets-key): " +
                   readable.error().detail};
}

Status Daemon::Impl::MakeBackends(const std::string& instance_id) {
  if (config.local_clusters.empty() && config.simulated_clusters.empty() &&
      config.members.empty()) {
    config.local_clusters.push_back({.name = "local", .allocatable = {}, .labels = {}});
  }
  if (!config.local_clusters.empty()) {
    auto made = MakeLocalMembers(config, clock, timers, random);
    if (!made.ok()) return made.error();
    backends.push_back(std::move(made).value());
  }
  for (const auto& cluster : config.simulated_clusters) {
    simulated::SimulatedOptions options;
    options.clusters = {{cluster.name, cluster.allocatable}};
    options.run_time_ms = cluster.run_time_ms;
    backends.push_back(
        std::make_unique<simulated::SimulatedBackend>(clock, timers, std::move(options)));
  }
  // The Kubernetes backend is made even without a member, because one may be added later.
  k8s::KubernetesOptions options;
  options.instance_id = instance_id;
  options.clock = &clock;
  options.timers = &timers;
  options.random = &random;
  options.lead = lead;
  for (const auto& one : config.members) {
    options.members.push_back({one.name, one.kubeconfig, one.context, one.credentials_dir, one.fast,
                               one.allow_exec, one.connections, one.labels});
  }
  auto made = k8s::MakeKubernetesBackend(std::move(options));
  kubernetes = made.get();
  backends.push_back(std::move(made));
  return Done{};
}

Status Daemon::Impl::Serve() {
  auto tls = MakeTls(config.tls, metrics);
  if (!tls.ok()) return tls.error();
  access = std::make_unique<Access>(
      config, host_clock, [this] { return engine->View()->config; }, *tls);
  audit = std::make_unique<api::AuditLog>(
      [this](AuditCommand command) { return engine->Post(std::move(command)); }, host_clock,
      timers);
  auditing = std::make_unique<auth::AuditingAuthorizer>(access->authorizer(), *audit);
  service = std::make_unique<api::SchedulerService>(
      *engine, *store, random, *auditing,
      [this](const std::string& cluster) { return dispatcher->BackendOf(cluster); });
  service->SetAudit(audit.get());
  service->SetRateLimiter(&rate_limiter);
  service->SetClock(&clock);
  service->SetProbe(kubernetes);
  service->SetMemberQueues(kubernetes);
  service->SetLease(&lease);
  api::RestOptions rest_options;
  rest_options.host = config.rest.host;
  rest_options.port = config.rest.port;
  ReportDatabase(health, metrics, &rest_options);
  rest_options.warnings = WarningsOf(config);
  const api::StreamCounts streams(config.limits.streams_per_user);
  rest_options.streams = streams;
  rest_options.connections_per_peer = config.limits.connections_per_peer;
  rest_options.tls = *tls;
  rest_options.socket = RestSocketOf(config);
  rest_options.accepted = access->accepted();
  rest_options.access_problems = [this] { return access->Problems(); };
  rest_options.clock = &host_clock;
  rest_options.lease = &lease;
  rest_options.default_image = config.default_image;
  for (const auth::IssuerConfig& one : config.oidc) {
    if (!one.web_client.empty())
      rest_options.sign_in.push_back({one.name, one.issuer, one.web_client});
  }
  rest =
      std::make_unique<api::RestServer>(*service, metrics, access->authenticator(), rest_options);
  auto started = rest->Start();
  if (!started.ok()) return started;
  api::GrpcOptions grpc_options;
  grpc_options.host = config.grpc.host;
  grpc_options.port = config.grpc.port;
  grpc_options.streams = streams;
  grpc_options.front.connections_per_peer = config.limits.connections_per_peer;
  grpc_options.front.tls = *tls;
  grpc_options.socket = GrpcSocketOf(config);
  grpc = std::make_unique<api::GrpcServer>(*service, access->authenticator(), grpc_options);
  return grpc->Start();
}

void Daemon::Impl::StartPropagator() {
  propagator = std::make_unique<propagation::Propagator>(
      [this] { return engine->View(); },
      [this](Command command) { return engine->Post(std::move(command)); }, *kubernetes, clock,
      metrics);
  propagator->Start();
}

void Daemon::Impl::StartNominator(const std::string& instance_id) {
  nomination::NominatorOptions options;
  options.instance_id = instance_id;
  options.default_image = config.default_image;
  nominator = std::make_unique<nomination::Nominator>(
      [this] { return engine->View(); },
      [this](Command command) { return engine->Post(std::move(command)); },
      [this](const std::vector<JobId>& ids) { return store->ReadManifests(ids); }, *kubernetes,
      clock, std::move(options));
  nominator->Start();
}

// Who this daemon is in the lease: its address is known once it listens.
Status Daemon::Impl::SetLease() {
  auto id = LeaseId(config.data_dir, random);
  if (!id.ok()) return id.error();
  LeaseBoard::Self self;
  self.id = std::move(id).value();
  self.holder = HostName();
  self.address =
      AdvertisedAddress(config.lease, config.rest, rest->port(), !config.tls.certificate.empty());
  self.ttl_ms = config.lease.ttl_ms;
  self.sole = IsSole();
  if (config.lease.standby)
    self.patient_until = clock.Now() + 2 * config.lease.ttl_ms * kNanosPerMilli;
  lease.SetSelf(std::move(self));
  return Done{};
}

// True if this daemon leads; false if another one does.
Result<bool> Daemon::Impl::AwaitLead() {
  const Monotonic until = clock.Now() + kReadyWithin.count() * kNanosPerSecond;
  while (ready.wait_for(kLookForLead) != std::future_status::ready) {
    if (lease.OtherLeads()) return false;
    if (clock.Now() < until) continue;
    const WorldViewPtr world = engine->View();
    return Unavailable("recovery did not finish in two minutes" +
                       (world->not_ready_reasons.empty()
                            ? std::string()
                            : ": " + world->not_ready_reasons.front()));
  }
  if (start.stop_requested()) return Error{Code::kCancelled, "the start was given up"};
  return true;
}

// What is done once, when this daemon leads for the first time.
Status Daemon::Impl::BeginToLead(const std::stop_token& ends) {
  TellUnserved(*engine, *dispatcher);
  Status status = DeclareObjects(*engine, clock, config, ends);
  if (!status.ok()) return status;
  const std::string credentials = CredentialsDirectory();
  status = MakeMemoryDirectory(credentials);
  if (!status.ok()) return status;
  fleet = std::make_unique<Fleet>(credentials, *kubernetes, *dispatcher,
                                  [this] { return engine->View(); });
  fleet->Start();
  StartPropagator();
  StartNominator(instance);
  Log(LogLevel::kInfo, "daemon", "ready",
      {{"rest_port", std::int64_t{rest->port()}}, {"grpc_port", std::int64_t{grpc->port()}}});
  return Done{};
}

// A daemon that cannot begin to lead stops, so that another one may try. One that loses the lead
// while it begins stands by again.
void Daemon::Impl::LeadLater() {
  Log(LogLevel::kInfo, "daemon", "standby",
      {{"rest_port", std::int64_t{rest->port()}}, {"grpc_port", std::int64_t{grpc->port()}}});
  leading_thread = std::jthread([this](const std::stop_token& ends) {
    ready.wait();
    Status status = Unavailable("");
    while (!ends.stop_requested() && !status.ok() && status.error().code == Code::kUnavailable)
      status = BeginToLead(ends);
    if (status.ok() || ends.stop_requested()) return;
    failed = true;
    Log(LogLevel::kError, "daemon", "lead_failed",
        {{"err", std::string_view(status.error().detail)}});
    kill(getpid(), SIGTERM);
  });
}

Daemon::Daemon(DaemonConfig config) : impl_(std::make_unique<Impl>(std::move(config))) {}
Daemon::~Daemon() { Stop(); }
bool Daemon::failed() const { return impl_->failed; }

Status Daemon::Start() {
  auto& d = *impl_;
  const auto locked = LockDataDirectory(d.config.data_dir);
  if (!locked.ok()) return locked.error();
  d.lock_fd = *locked;
  Status status = d.OpenStore();
  if (!status.ok()) return status;
  auto instance = d.store->InstanceId();
  if (!instance.ok()) return instance.error();
  d.instance = *instance;
  status = d.MakeBackends(*instance);
  if (!status.ok()) return status;
  dispatch::DispatcherOptions options;
  options.instance_id = *instance;
  options.default_image = d.config.default_image;
  options.lead = d.lead;
  d.dispatcher = std::make_unique<dispatch::Dispatcher>(*d.store, d.clock, d.timers, d.random,
                                                        d.metrics, options);
  for (auto& backend : d.backends) d.dispatcher->AddBackend(*backend);
  EngineOptions engine_options;
  engine_options.settings = d.config.admission;
  engine_options.max_waiting_per_user = d.config.limits.pending_jobs_per_user;
  engine_options.max_waiting_per_namespace = d.config.limits.pending_jobs_per_namespace;
  engine_options.heartbeat_ms =
      d.IsSole() ? limits::kHeartbeatMs : RenewEveryMs(d.config.lease.ttl_ms);
  engine_options.audit_retention_ms = d.config.audit.retention_ms;
  engine_options.lead = d.lead;
  engine_options.lease = &d.lease;
  engine_options.copy_launch = std::launch::async;
  engine_options.holder = HostName();
  engine_options.on_last_stamp = [&d](WallTime last) { d.clock.NotBefore(last); };
  engine_options.on_ready = [&d] { d.EndRecoveryWait(); };
  d.engine = std::make_unique<Engine>(*d.store, d.clock, d.random, *d.dispatcher, d.metrics,
                                      engine_options, [&d](const std::vector<Event>& events) {
                                        d.rest->PublishEvents(events);
                                        d.grpc->PublishEvents(events);
                                        if (d.mail) d.mail->Publish(events);
                                      });
  status = d.Serve();
  if (!status.ok()) return status;
  status = d.SetLease();
  if (!status.ok()) return status;
  if (!d.config.mail_program.empty()) {
    d.mail = std::make_unique<MailHook>(d.config.mail_program, d.clock,
                                        [&d] { return d.engine->View(); });
  }
  d.dispatcher->Start([&d](Command command) { return d.engine->Post(std::move(command)); },
                      [&d] { return d.engine->View(); });
  d.engine_thread = std::jthread([&d](std::stop_token stop) { d.engine->Run(stop); });
  const Result<bool> leads = d.AwaitLead();
  if (!leads.ok()) return leads.error();
  if (*leads) return d.BeginToLead(d.start.get_token());
  d.LeadLater();
  return Done{};
}

// Ends every wait of Start; Start itself then returns an error.
void Daemon::CancelStart() {
  impl_->start.request_stop();
  impl_->stop.request_stop();
  impl_->EndRecoveryWait();
}

void Daemon::Stop() {
  auto& d = *impl_;
  const Monotonic all_ended = d.clock.Now() + kStopWithinNs;
  d.leading_thread.request_stop();
  // Ends waits for a database that hangs. `start` ends a private PostgreSQL, which is needed until
  // the store is closed.
  d.stop.request_stop();
  d.EndRecoveryWait();
  if (d.leading_thread.joinable()) d.leading_thread.join();
  if (d.rest) d.rest->Stop();
  if (d.grpc) d.grpc->Stop();
  if (d.audit) d.audit->Close();
  if (d.nominator) d.nominator->Stop();
  if (d.propagator) d.propagator->Stop();
  if (d.fleet) d.fleet->Stop();
  if (d.engine_thread.joinable()) {
    d.engine_thread.request_stop();
    d.engine_thread.join();
  }
  d.mail.reset();
  if (d.dispatcher) d.dispatcher->Stop();
  for (auto& backend : d.backends) backend->Stop();
  d.grpc.reset();
  d.rest.reset();
  d.service.reset();
  d.access.reset();
  d.nominator.reset();
  d.propagator.reset();
  if (d.fleet) RemoveMemoryDirectory(d.CredentialsDirectory());
  d.fleet.reset();
  d.engine.reset();
  d.dispatcher.reset();
  d.backends.clear();
  d.store.reset();
  if (d.postgres) {
    const std::int64_t left_ms = (all_ended - d.clock.Now()) / kNanosPerMilli;
    d.postgres->Stop(std::chrono::milliseconds(std::max(left_ms, kDatabaseStopMs)));
  }
  d.postgres.reset();
  if (d.lock_fd >= 0) close(d.lock_fd);
  d.lock_fd = -1;
}

}  // namespace muster

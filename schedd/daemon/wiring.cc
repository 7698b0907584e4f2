// Puts every concrete class together. Start begins things in the order in which they need each
// other: the lock of the data directory, PostgreSQL and the store, backends, dispatcher, REST and
// gRPC (which answer /readyz with 503 until recovery is done), engine, the objects of declared
// members, fleet, propagator, nominator. Stop ends them in the opposite order. Nothing else in the
// tree names two adapters.
//
// A stop must end within ten seconds. It first ends all waits for a database that hangs; the
// private PostgreSQL gets what is left of eight seconds, and at least two.
#include "schedd/daemon/wiring.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <filesystem>
#include <future>
#include <mutex>
#include <thread>

#include "api/auth/auditing_authorizer.h"
#include "api/grpc/grpc_server.h"
#include "api/rest/rest_server.h"
#include "api/service/audit_log.h"
#include "api/service/registered_member.h"
#include "api/service/scheduler_service.h"
#include "backends/k8s/k8s_backend.h"
#include "backends/simulated/simulated_backend.h"
#include "schedd/base/lead_term.h"
#include "schedd/base/limits.h"
#include "schedd/daemon/access.h"
#include "schedd/daemon/data_directory.h"
#include "schedd/daemon/declared_objects.h"
#include "schedd/daemon/fleet.h"
#include "schedd/daemon/local_members.h"
#include "schedd/daemon/mail_hook.h"
#include "schedd/daemon/memory_directory.h"
#include "schedd/daemon/real_clock.h"
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

}  // namespace

struct Daemon::Impl {
  explicit Impl(DaemonConfig daemon_config) : config(std::move(daemon_config)), timers(clock) {}

  Status LockDataDir();
  Status OpenStore();
  Status MakeBackends(const std::string& instance_id);
  void TellUnserved();
  Status Serve();
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
  RealClock clock;
  const std::shared_ptr<LeadTerm> lead =
      std::make_shared<LeadTerm>(clock, limits::kLeadTermMs* kNanosPerMilli);
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
  std::jthread engine_thread;
  // Its timers call into the members above, so it ends first.
  RealTimers timers;
};

namespace {

// Properties of the configuration that an administrator should know of. They are logged and shown
// by /v1/status.
std::vector<api::ServerWarning> WarningsOf(const DaemonConfig& config) {
  std::vector<api::ServerWarning> warnings;
  if (auto root_jobs = WarningOfRootJobs(config)) warnings.push_back(std::move(*root_jobs));
  if (config.password_on_command_line) {
    warnings.push_back(
        {"PasswordOnCommandLine",
         "the password of the database was on the command line, where other users could read it "
         "at the start and scripts keep it: give the URL by postgres: in the file of --config or "
         "by MUSTER_POSTGRES, or the password in the file that passfile= or PGPASSFILE names"});
  }
  if (auto root_daemon = WarningOfRootDaemon(config)) warnings.push_back(std::move(*root_daemon));
  for (const api::ServerWarning& one : warnings)
    Log(LogLevel::kWarning, "daemon", "start_warning", {{"type", one.type}, {"msg", one.message}});
  return warnings;
}

}  // namespace

// The lock belongs to the open file, so it ends with the process, however it ends.
Status Daemon::Impl::LockDataDir() {
  std::error_code failed;
  const bool made = std::filesystem::create_directories(config.data_dir, failed);
  if (failed) return InvalidArgument("cannot create " + config.data_dir + ": " + failed.message());
  // One made here may be passed through by others (to the pods' directories), but not listed.
  if (made && chmod(config.data_dir.c_str(), 0711) != 0)
    return InvalidArgument("cannot set the mode of " + config.data_dir);
  const std::string path = config.data_dir + "/musterd.lock";
  lock_fd = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (lock_fd < 0) return InvalidArgument("cannot write to " + config.data_dir);
  if (flock(lock_fd, LOCK_EX | LOCK_NB) != 0) {
    return Error{Code::kFailedPrecondition, "another musterd uses " + config.data_dir};
  }
  return CloseDataDirectory(config.data_dir);
}

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
    std::mutex mutex;
    std::unique_lock lock(mutex);
    std::condition_variable_any stopped;
    stopped.wait_for(lock, options.stop, kOpenAgainAfter, [] { return false; });
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

// Reports members as away that were declared to an earlier daemon and are not declared to this one:
// no new job goes there, and the jobs that run there are waited for.
void Daemon::Impl::TellUnserved() {
  const WorldViewPtr world = engine->View();
  for (const auto& [name, member] : world->config->member_clusters) {
    if (dispatcher->BackendOf(name) != nullptr) continue;
    const auto stored = world->objects->find({ObjectKind::kMemberCluster, "", name});
    const bool registered =
        stored != world->objects->end() && !api::KubeconfigSecretOf(*stored->second).empty();
    // The fleet is about to serve it.
    if (registered) continue;
    FactsCommand command;
    command.facts.cluster = name;
    command.facts.healthy = false;
    command.facts.message = "no flag declares it to this daemon";
    if (!engine->Post(std::move(command)))
      Log(LogLevel::kWarning, "daemon", "member_not_declared", {{"cluster", name}});
  }
}

Status Daemon::Impl::Serve() {
  auto tls = MakeTls(config.tls, metrics);
  if (!tls.ok()) return tls.error();
  access = std::make_unique<Access>(
      config, clock, [this] { return engine->View()->config; }, *tls);
  audit = std::make_unique<api::AuditLog>(
      [this](AuditCommand command) { return engine->Post(std::move(command)); }, clock, timers);
  auditing = std::make_unique<auth::AuditingAuthorizer>(access->authorizer(), *audit);
  service = std::make_unique<api::SchedulerService>(
      *engine, *store, random, *auditing,
      [this](const std::string& cluster) { return dispatcher->BackendOf(cluster); });
  service->SetAudit(audit.get());
  service->SetRateLimiter(&rate_limiter);
  service->SetProbe(kubernetes);
  service->SetMemberQueues(kubernetes);
  api::RestOptions rest_options;
  rest_options.host = config.rest.host;
  rest_options.port = config.rest.port;
  rest_options.write_problem = [this] {
    return health.Problem(StoreHealth::Clock::now(),
                          std::chrono::milliseconds(limits::kAcknowledgeWithinMs));
  };
  rest_options.warnings = WarningsOf(config);
  const api::StreamCounts streams(config.limits.streams_per_user);
  rest_options.streams = streams;
  rest_options.connections_per_peer = config.limits.connections_per_peer;
  rest_options.tls = *tls;
  rest_options.socket = RestSocketOf(config);
  rest_options.accepted = access->accepted();
  rest_options.access_problems = [this] { return access->Problems(); };
  rest_options.clock = &clock;
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

Daemon::Daemon(DaemonConfig config) : impl_(std::make_unique<Impl>(std::move(config))) {}
Daemon::~Daemon() { Stop(); }

Status Daemon::Start() {
  auto& d = *impl_;
  Status status = d.LockDataDir();
  if (!status.ok()) return status;
  status = d.OpenStore();
  if (!status.ok()) return status;
  auto instance = d.store->InstanceId();
  if (!instance.ok()) return instance.error();
  status = d.MakeBackends(*instance);
  if (!status.ok()) return status;
  dispatch::DispatcherOptions options;
  options.instance_id = *instance;
  options.default_image = d.config.default_image;
  options.lead = d.lead;
  d.dispatcher = std::make_unique<dispatch::Dispatcher>(*d.store, d.clock, d.timers, d.random,
                                                        d.metrics, options);
  for (auto& backend : d.backends) d.dispatcher->AddBackend(*backend);
  auto ready = d.recovered.get_future();
  EngineOptions engine_options;
  engine_options.settings = d.config.admission;
  engine_options.max_waiting_per_user = d.config.limits.pending_jobs_per_user;
  engine_options.max_waiting_per_namespace = d.config.limits.pending_jobs_per_namespace;
  engine_options.heartbeat_ms = limits::kHeartbeatMs;
  engine_options.audit_retention_ms = d.config.audit.retention_ms;
  engine_options.lead = d.lead;
  // Only this daemon, which holds the lock of the directory, can use the private PostgreSQL.
  engine_options.sole_leader = d.postgres != nullptr;
  engine_options.on_ready = [&d] { d.EndRecoveryWait(); };
  d.engine = std::make_unique<Engine>(*d.store, d.clock, d.random, *d.dispatcher, d.metrics,
                                      engine_options, [&d](const std::vector<Event>& events) {
                                        d.rest->PublishEvents(events);
                                        d.grpc->PublishEvents(events);
                                        if (d.mail) d.mail->Publish(events);
                                      });
  status = d.Serve();
  if (!status.ok()) return status;
  if (!d.config.mail_program.empty()) {
    d.mail = std::make_unique<MailHook>(d.config.mail_program, d.clock,
                                        [&d] { return d.engine->View(); });
  }
  d.dispatcher->Start([&d](Command command) { return d.engine->Post(std::move(command)); },
                      [&d] { return d.engine->View(); });
  d.engine_thread = std::jthread([&d](std::stop_token stop) { d.engine->Run(stop); });
  if (ready.wait_for(kReadyWithin) != std::future_status::ready) {
    const WorldViewPtr world = d.engine->View();
    return Unavailable("recovery did not finish in two minutes" +
                       (world->not_ready_reasons.empty()
                            ? std::string()
                            : ": " + world->not_ready_reasons.front()));
  }
  if (d.start.stop_requested()) return Error{Code::kCancelled, "the start was given up"};
  d.TellUnserved();
  status = DeclareObjects(*d.engine, d.clock, d.config, d.start.get_token());
  if (!status.ok()) return status;
  const std::string credentials = d.CredentialsDirectory();
  status = MakeMemoryDirectory(credentials);
  if (!status.ok()) return status;
  d.fleet = std::make_unique<Fleet>(credentials, *d.kubernetes, *d.dispatcher,
                                    [&d] { return d.engine->View(); });
  d.fleet->Start();
  d.StartPropagator();
  d.StartNominator(*instance);
  Log(LogLevel::kInfo, "daemon", "ready",
      {{"rest_port", std::int64_t{d.rest->port()}}, {"grpc_port", std::int64_t{d.grpc->port()}}});
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
  // Ends waits for a database that hangs.
  d.stop.request_stop();
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

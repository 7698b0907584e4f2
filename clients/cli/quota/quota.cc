// muster quota get and quota set, over gRPC. It is a library of its own, because gRPC's headers
// compile slowly and nothing else in the clients uses them.
//
// A server that is not ready, or busy, sets `retry-after-ms` in the trailing metadata; the call is
// then repeated a few times, as the HTTP calls are. Of several servers (rule L11) one that does not
// answer is passed over before anything is sent to it, and one that does not lead, which says so by
// `muster-leader`, has carried out nothing. The exit status is 3 if no server can be reached, else
// 1 for a refusal.
#include <grpcpp/grpcpp.h>
#include <poll.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "clients/cli/commands.h"
#include "clients/cli/text_table.h"
#include "clients/lib/pem_file.h"
#include "muster/v1/quota.grpc.pb.h"
#include "schedd/base/limits_server_list.h"

namespace muster::cli {
namespace {

using Service = v1::QuotaAdminService;
constexpr int kCallSeconds = 30;
// As many as for calls over HTTP (clients/lib/api_client.cc).
constexpr int kBusyRetries = 3;
constexpr int kLeaderlessRetries = 15;
constexpr int kBusyWaitMs = 1000;

// Where Debian keeps the certificates of the public authorities; gRPC knows others.
constexpr char kSystemAuthorities[] = "/etc/ssl/certs/ca-certificates.crt";

// How a call reaches the server and what it shows there.
struct QuotaAccess {
  std::shared_ptr<grpc::ChannelCredentials> channel;
  std::string authorization;
};

// The text of a file, "" for no file; what is wrong goes to `*problem`.
std::string PemOf(const std::string& path, std::string* problem) {
  if (path.empty()) return "";
  Result<std::string> text = client::ReadPemFile(path);
  if (!text.ok()) *problem = text.error().detail;
  return text.ok() ? std::move(text).value() : "";
}

// gRPC ends the program over a header with other characters.
bool FitsMetadata(const std::string& text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c < 0x7f; });
}

// The authorities, certificate and token that the calls over HTTP have too (rule U44). "" if they
// can be used, else why not.
std::string OpenAccess(const client::Settings& settings,
                       const client::Outcome<client::Credential>& shown,
                       const client::Settings::GrpcAddress& server, QuotaAccess* out) {
  if (!shown.ok()) return shown.failure().detail;
  if (!shown->token.empty()) {
    out->authorization = "Bearer " + shown->token;
  } else if (settings.source == nullptr && settings.signer) {
    Result<std::string> given = settings.signer({"POST"});
    if (!given.ok()) return given.error().detail;
    out->authorization = std::move(given).value();
  }
  bool fits = FitsMetadata(out->authorization) && FitsMetadata(settings.as_user);
  for (const std::string& group : settings.as_groups) fits = fits && FitsMetadata(group);
  if (!fits) return "gRPC takes only printable ASCII in a token, and in names to act as";
  if (!server.tls) {
    Result<client::Endpoint> place = client::ParseServerUrl(server.address);
    if (!out->authorization.empty() && !(place.ok() && place->IsLocal())) {
      return "credentials are not sent to " + server.address +
             " in plain text; use grpcs:// (MUSTER_GRPC)";
    }
    out->channel = grpc::InsecureChannelCredentials();
    return "";
  }
  if (settings.tls.skip_verify)
    return "insecure-skip-tls-verify does not hold for gRPC, which always checks the certificate";
  const client::TlsSettings& tls = settings.tls;
  std::string problem;
  grpc::SslCredentialsOptions options;
  options.pem_root_certs = PemOf(tls.ca_file.empty() ? kSystemAuthorities : tls.ca_file, &problem);
  const bool plugin = !shown->certificate_pem.empty();
  options.pem_cert_chain = plugin ? shown->certificate_pem : PemOf(tls.certificate_file, &problem);
  options.pem_private_key = plugin ? shown->key_pem : PemOf(tls.key_file, &problem);
  out->channel = grpc::SslCredentials(options);
  return problem;
}

// gRPC takes a proxy from http_proxy and its kin by itself, and for loopback too. The calls over
// HTTP know no proxies either, and a token for this host must not reach another one in plain text.
std::shared_ptr<grpc::Channel> OpenChannel(const std::string& address, const QuotaAccess& access) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  return grpc::CreateCustomChannel(address, access.channel, arguments);
}

// One of the servers that the settings name.
struct QuotaServer {
  QuotaAccess access;
  std::shared_ptr<grpc::Channel> channel;
};

// All of them; what keeps one from being asked goes to `*problem`.
std::vector<QuotaServer> OpenServers(Session& session, std::string* problem) {
  const client::Settings& settings = session.api.settings();
  const client::Outcome<client::Credential> shown = session.api.CurrentCredential();
  std::vector<client::Settings::GrpcAddress> addresses = settings.more_grpc;
  addresses.insert(addresses.begin(), {settings.grpc, settings.grpc_tls});
  std::vector<QuotaServer> out;
  for (const client::Settings::GrpcAddress& one : addresses) {
    QuotaServer& server = out.emplace_back();
    *problem = OpenAccess(settings, shown, one, &server.access);
    if (!problem->empty()) return {};
    server.channel = OpenChannel(one.address, server.access);
  }
  return out;
}

// A stub and the context of one call, with the caller's token and whom to act as. A gRPC context
// serves one call only, so a retry needs a new one.
class QuotaCall {
 public:
  QuotaCall(const Session& session, const QuotaServer& server)
      : stub_(Service::NewStub(server.channel)) {
    const QuotaAccess& access = server.access;
    context_.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(kCallSeconds));
    const client::Settings& settings = session.api.settings();
    if (!settings.as_user.empty()) context_.AddMetadata("impersonate-user", settings.as_user);
    for (const std::string& group : settings.as_groups)
      context_.AddMetadata("impersonate-group", group);
    if (!access.authorization.empty()) context_.AddMetadata("authorization", access.authorization);
  }
  // True if the server answered that it is busy or not ready and when to ask again.
  bool ToldToWait() const {
    return context_.GetServerTrailingMetadata().count("retry-after-ms") > 0;
  }
  // True if the server did not carry the call out because it does not lead.
  bool ToldToAskTheLeader() const {
    return context_.GetServerTrailingMetadata().count("muster-leader") > 0;
  }
  Service::Stub& stub() { return *stub_; }
  grpc::ClientContext* context() { return &context_; }

 private:
  std::unique_ptr<Service::Stub> stub_;
  grpc::ClientContext context_;
};

// How a call ended, after its retries.
struct CallOutcome {
  grpc::Status status;
  bool told_to_wait = false;
};

// True if a connection stands within so many milliseconds: a process that is stopped accepts one
// and never answers HTTP/2's greeting.
bool IsThere(const QuotaServer& server, std::int64_t within_ms) {
  return server.channel->WaitForConnected(std::chrono::system_clock::now() +
                                          std::chrono::milliseconds(within_ms));
}

// Calls `ask` at the first server that is there and leads, and again for a few seconds while the
// servers say that they are not ready.
template <class Ask>
CallOutcome AskServers(Session& session, Ask ask) {
  std::string problem;
  const std::vector<QuotaServer> servers = OpenServers(session, &problem);
  if (!problem.empty())
    return {grpc::Status(grpc::StatusCode::FAILED_PRECONDITION, problem), false};
  const bool several = servers.size() > 1;
  bool patient = false;
  for (int attempt = 0;; ++attempt) {
    CallOutcome last{{grpc::StatusCode::UNAVAILABLE, "no listed server answers"}, false};
    bool leaderless = false, asked = false;
    for (const QuotaServer& server : servers) {
      if (several && !IsThere(server, patient ? limits::kServerThereMs : limits::kServerAnswersMs))
        continue;
      asked = true;
      QuotaCall call(session, server);
      const grpc::Status status = ask(call);
      last = {status, !status.ok() && call.ToldToWait()};
      leaderless = several && !status.ok() && call.ToldToAskTheLeader();
      if (!leaderless) break;
    }
    // If no server answers in a short time, all have a longer one, once.
    if (!asked && !patient) {
      patient = true;
      continue;
    }
    if (!last.told_to_wait || attempt >= (leaderless ? kLeaderlessRetries : kBusyRetries))
      return last;
    patient = false;
    ::poll(nullptr, 0, kBusyWaitMs);
  }
}

// Prints the error of a failed call; gives the exit status.
int PrintOutcome(const Session& session, const CallOutcome& outcome) {
  const grpc::Status& status = outcome.status;
  if (outcome.told_to_wait) return PrintError(status.error_message()), kRefused;
  const bool away = status.error_code() == grpc::StatusCode::UNAVAILABLE ||
                    status.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED;
  if (!away) return PrintError(status.error_message()), kRefused;
  std::string servers = session.api.settings().grpc;
  for (const client::Settings::GrpcAddress& more : session.api.settings().more_grpc)
    servers += "," + more.address;
  PrintError("cannot reach the gRPC server at " + servers +
             " (MUSTER_GRPC sets it): " + status.error_message());
  return 3;
}

void AddQuota(const v1::Quota& quota, TextTable* table) {
  table->Add({quota.cluster_queue(), quota.flavor(), quota.resource(), quota.nominal_quota(),
              quota.has_borrowing_limit() ? quota.borrowing_limit() : "none",
              quota.has_lending_limit() ? quota.lending_limit() : "none", quota.used(),
              quota.borrowed(), quota.available()});
}

TextTable QuotaTable() {
  return TextTable({"CLUSTERQUEUE", "FLAVOR", "RESOURCE", "NOMINAL", "BORROWING LIMIT",
                    "LENDING LIMIT", "USED", "BORROWED", "AVAILABLE"});
}

void PrintJobs(const char* what, const google::protobuf::RepeatedPtrField<v1::Job>& jobs) {
  std::printf("\n%s: %d\n", what, jobs.size());
  if (jobs.empty()) return;
  TextTable table({"  JOB", "NAME", "KIND", "CLUSTERQUEUE", "PRIORITY", "STATE"});
  for (const v1::Job& job : jobs) {
    table.Add({"  " + std::to_string(job.id()), job.namespace_() + "/" + job.name(), job.kind(),
               job.cluster_queue(), std::to_string(job.priority()), job.state()});
  }
  std::fputs(table.Render().c_str(), stdout);
}

// Fills the request and its update mask. A limit is removed by naming it in the mask and leaving it
// out of the quota.
void FillRequest(const QuotaEdit& edit, v1::SetQuotaRequest* request) {
  v1::Quota* quota = request->mutable_quota();
  quota->set_cluster_queue(edit.key.cluster_queue);
  quota->set_flavor(edit.key.flavor);
  quota->set_resource(edit.key.resource);
  if (!edit.nominal.empty()) {
    quota->set_nominal_quota(edit.nominal);
    request->mutable_update_mask()->add_paths("nominal_quota");
  }
  if (!edit.borrowing_limit.empty()) {
    if (edit.borrowing_limit != "none") quota->set_borrowing_limit(edit.borrowing_limit);
    request->mutable_update_mask()->add_paths("borrowing_limit");
  }
  if (!edit.lending_limit.empty()) {
    if (edit.lending_limit != "none") quota->set_lending_limit(edit.lending_limit);
    request->mutable_update_mask()->add_paths("lending_limit");
  }
  request->set_dry_run(edit.dry_run);
}

}  // namespace

// The request filters by ClusterQueue only; flavor and resource are filtered here.
int QuotaGet(Session& session, const QuotaKey& key) {
  v1::ListQuotasRequest request;
  request.set_cluster_queue(key.cluster_queue);
  v1::ListQuotasResponse response;
  const CallOutcome outcome = AskServers(session, [&](QuotaCall& call) {
    return call.stub().ListQuotas(call.context(), request, &response);
  });
  if (!outcome.status.ok()) return PrintOutcome(session, outcome);
  TextTable table = QuotaTable();
  bool any = false;
  for (const v1::Quota& quota : response.items()) {
    if (!key.flavor.empty() && quota.flavor() != key.flavor) continue;
    if (!key.resource.empty() && quota.resource() != key.resource) continue;
    AddQuota(quota, &table);
    any = true;
  }
  if (!any) return PrintError("no quota matches"), kRefused;
  std::fputs(table.Render().c_str(), stdout);
  return 0;
}

// A dry run also prints the jobs that the new quota would admit and preempt.
int QuotaSet(Session& session, const QuotaEdit& edit) {
  if (edit.nominal.empty() && edit.borrowing_limit.empty() && edit.lending_limit.empty()) {
    return PrintError("give at least one of --nominal, --borrowing-limit and --lending-limit"),
           kBadUsage;
  }
  if (edit.nominal == "none") return PrintError("--nominal takes a quantity"), kBadUsage;
  v1::SetQuotaRequest request;
  FillRequest(edit, &request);
  v1::SetQuotaResponse response;
  const CallOutcome outcome = AskServers(session, [&](QuotaCall& call) {
    return call.stub().SetQuota(call.context(), request, &response);
  });
  if (!outcome.status.ok()) return PrintOutcome(session, outcome);
  TextTable table = QuotaTable();
  AddQuota(response.quota(), &table);
  std::fputs(table.Render().c_str(), stdout);
  if (edit.dry_run) {
    std::printf("dry run: nothing was changed\n");
    PrintJobs("would be admitted", response.admissions());
    PrintJobs("would be preempted", response.preemptions());
  }
  return 0;
}

}  // namespace muster::cli

// muster quota get and quota set, over gRPC. It is a library of its own, because gRPC's headers
// compile slowly and nothing else in the clients uses them.
//
// A server that is not ready, or busy, sets `retry-after-ms` in the trailing metadata; the call is
// then repeated a few times, as the HTTP calls are. The exit status is 3 if the server cannot be
// reached, else 1 for a refusal.
#include <grpcpp/grpcpp.h>
#include <poll.h>

#include <algorithm>
#include <chrono>
#include <cstdio>

#include "clients/cli/commands.h"
#include "clients/cli/text_table.h"
#include "clients/lib/pem_file.h"
#include "muster/v1/quota.grpc.pb.h"

namespace muster::cli {
namespace {

using Service = v1::QuotaAdminService;
constexpr int kCallSeconds = 30;
// As many as for calls over HTTP (clients/lib/api_client.cc).
constexpr int kBusyRetries = 3;
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
std::string OpenAccess(Session& session, QuotaAccess* out) {
  const client::Settings& settings = session.api.settings();
  client::Outcome<client::Credential> shown = session.api.CurrentCredential();
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
  if (!settings.grpc_tls) {
    Result<client::Endpoint> place = client::ParseServerUrl(settings.grpc);
    if (!out->authorization.empty() && !(place.ok() && place->IsLocal())) {
      return "credentials are not sent to " + settings.grpc +
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

// A stub and the context of one call, with the caller's token and whom to act as. A gRPC context
// serves one call only, so a retry needs a new one.
class QuotaCall {
 public:
  QuotaCall(const Session& session, const QuotaAccess& access)
      : stub_(Service::NewStub(OpenChannel(session.api.settings().grpc, access))) {
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

// Calls `ask`, and again for a few seconds while the server says that it is not ready.
template <class Ask>
CallOutcome AskServer(Session& session, Ask ask) {
  QuotaAccess access;
  const std::string problem = OpenAccess(session, &access);
  if (!problem.empty())
    return {grpc::Status(grpc::StatusCode::FAILED_PRECONDITION, problem), false};
  for (int attempt = 0;; ++attempt) {
    QuotaCall call(session, access);
    const grpc::Status status = ask(call);
    const bool wait = !status.ok() && call.ToldToWait();
    if (!wait || attempt == kBusyRetries) return {status, wait};
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
  PrintError("cannot reach the gRPC server at " + session.api.settings().grpc +
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
  const CallOutcome outcome = AskServer(session, [&](QuotaCall& call) {
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
  const CallOutcome outcome = AskServer(session, [&](QuotaCall& call) {
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

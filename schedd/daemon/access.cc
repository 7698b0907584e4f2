// The methods are asked in the order of the list in ChainOf. Those that ask other programs are made
// in issued_credentials.cc, if the configuration names them.
#include "schedd/daemon/access.h"

#include <unistd.h>

#include <filesystem>
#include <optional>
#include <utility>
#include <vector>

#include "api/auth/accounts.h"
#include "api/auth/chain_authenticator.h"
#include "api/auth/rbac_authorizer.h"
#include "api/auth/token_method.h"
#include "api/net/acceptor.h"
#include "schedd/daemon/access_config.h"
#include "schedd/daemon/issued_credentials.h"

namespace muster {
namespace {

// Before anything is published nobody but an administrator may do anything.
ConfigPtr NothingPublished() {
  static const ConfigPtr nothing = std::make_shared<const ConfigView>();
  return nothing;
}

// The account of a munge credential. Nobody is an administrator by munge: root of any node of the
// site could make such a credential.
Result<auth::Principal> MungePrincipal(const auth::Account& account, std::uint32_t uid) {
  if (account.name.empty()) return NotFound("uid " + std::to_string(uid) + " has no account");
  return auth::PrincipalOfAccount(account, uid);
}

auth::MungeMethod::AccountLookup LookupIn(auth::Accounts& accounts) {
  return [&accounts](std::uint32_t uid) -> Result<auth::Principal> {
    const Result<auth::AccountPtr> account = accounts.Find(uid);
    return account.ok() ? MungePrincipal(**account, uid) : account.error();
  };
}

// Asks the lists that new connections are checked against, so that a certificate that is revoked
// counts no more over connections that were made before.
std::function<Status(const auth::Principal&)> NotRevokedBy(
    std::shared_ptr<const net::TlsSource> tls) {
  if (tls == nullptr) return {};
  return [tls = std::move(tls)](const auth::Principal& who) -> Status {
    const std::size_t colon = who.credential.find(':');
    if (who.method != "certificate" || colon == std::string::npos) return Done{};
    net::PeerCertificate certificate;
    certificate.issuer = who.credential.substr(0, colon);
    certificate.serial = who.credential.substr(colon + 1);
    if (!tls->Current()->IsRevoked(certificate)) return Done{};
    return Error{Code::kUnauthenticated, "the client certificate was revoked"};
  };
}

auth::ChainOptions ChainOf(const DaemonConfig& config, const Clock& clock,
                           const std::function<ConfigPtr()>& published,
                           const IssuedCredentials& issued,
                           std::shared_ptr<const net::TlsSource> tls) {
  auth::ChainOptions options;
  options.loopback_peers = KnowsLoopbackPeers(config);
  options.own_uid = geteuid();
  options.certificate_still_good = NotRevokedBy(std::move(tls));
  options.methods.push_back(std::make_shared<auth::TokenMethod>(published, clock));
  options.accepted.push_back("an access token (muster token create)");
  if (issued.jwt != nullptr) {
    options.methods.push_back(issued.jwt);
    options.accepted.push_back("a token of a configured issuer (muster login)");
  }
  if (issued.munge != nullptr) {
    options.methods.push_back(issued.munge);
    options.accepted.push_back("a munge credential (auth: munge)");
  }
  if (!config.tls.client_ca.empty())
    options.accepted.push_back("a client certificate (--cert, --key)");
  return options;
}

std::string SocketNamed(const DaemonConfig& config, const char* name) {
  const std::string& given = config.access.socket;
  if (given == "none") return "";
  std::error_code failed;
  const auto path = given.empty() ? std::filesystem::path(config.data_dir) / "run" / name
                                  : std::filesystem::path(given);
  return std::filesystem::absolute(path, failed).lexically_normal().string();
}

}  // namespace

struct Access::Impl {
  Impl(const DaemonConfig& config, const Clock& clock, std::function<ConfigPtr()> published,
       std::shared_ptr<const net::TlsSource> tls)
      : local_users([remote = HasRemoteMethod(config), published]() -> std::string {
          const ConfigPtr now = published();
          return now == nullptr ? "" : LocalUsersProblem(remote, *now->access);
        }),
        accounts(auth::SystemAccounts(), clock),
        authorizer([published] {
          ConfigPtr now = published();
          return now == nullptr ? NothingPublished() : now;
        }),
        issued(OpenIssuedCredentials(config, LookupIn(accounts), &clock)),
        chain(ChainOf(config, clock, published, issued, std::move(tls))),
        authenticator(accounts, authorizer, clock, chain) {}

  const std::function<std::string()> local_users;
  auth::Accounts accounts;
  auth::RbacAuthorizer authorizer;
  const IssuedCredentials issued;
  const auth::ChainOptions chain;
  auth::ChainAuthenticator authenticator;
};

Access::Access(const DaemonConfig& config, const Clock& clock, std::function<ConfigPtr()> published,
               std::shared_ptr<const net::TlsSource> tls)
    : impl_(std::make_unique<Impl>(config, clock, std::move(published), std::move(tls))) {}
Access::~Access() = default;

const auth::Authorizer& Access::authorizer() const { return impl_->authorizer; }
const auth::Authenticator& Access::authenticator() const { return impl_->authenticator; }
const std::vector<std::string>& Access::accepted() const { return impl_->chain.accepted; }

std::vector<std::string> Access::Problems() const {
  std::vector<std::string> problems;
  if (impl_->issued.jwt != nullptr) problems = impl_->issued.jwt->Warnings();
  if (std::string one = impl_->local_users(); !one.empty()) problems.push_back(std::move(one));
  return problems;
}

// Once others than the users of this host may come, a loopback connection may be that of a proxy
// or a tunnel, whose account is not that of the user behind it.
bool KnowsLoopbackPeers(const DaemonConfig& config) {
  if (config.access.loopback_peers_set) return config.access.loopback_peers;
  return !HasRemoteMethod(config) && !net::LoopbackAddress(config.rest.host).empty() &&
         !net::LoopbackAddress(config.grpc.host).empty();
}

std::string RestSocketOf(const DaemonConfig& config) { return SocketNamed(config, "muster.sock"); }

// Beside the socket of REST, whatever name that has.
std::string GrpcSocketOf(const DaemonConfig& config) {
  const std::string rest = RestSocketOf(config);
  if (rest.empty()) return "";
  return (std::filesystem::path(rest).parent_path() / "muster-grpc.sock").string();
}

}  // namespace muster

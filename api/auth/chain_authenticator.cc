// The order is fixed: what a request itself brings (Authorization) before what its connection
// brings (a certificate), before what the kernel says of it. The first that is there decides alone:
// a wrong token on the socket of root is a 401 and not root.
//
// Groups whose names begin with "system:" are Muster's and Kubernetes' own. A name service that
// has such a group, or such a user, gives nobody their rights: the names are dropped.
#include "api/auth/chain_authenticator.h"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <utility>

#include "api/auth/audit_sink.h"
#include "api/auth/user_resource.h"
#include "schedd/base/limits.h"
#include "schedd/model/access.h"

namespace muster::auth {
namespace {

constexpr char kAnonymousUser[] = "system:anonymous";
// Of groups that no name service gives.
constexpr std::string_view kSystemPrefix = "system:";
// Of the credential of an account.
constexpr std::string_view kUidPrefix = "uid:";

void AddGroup(std::string group, std::vector<std::string>* groups) {
  if (std::find(groups->begin(), groups->end(), group) == groups->end())
    groups->push_back(std::move(group));
}

Error NotKnown(std::string sentence) { return {Code::kUnauthenticated, std::move(sentence)}; }

// The name of a user or group in a header: anything that can be shown in one line.
bool ShownName(std::string_view name) {
  return !name.empty() && name.size() <= limits::kUserNameBytes &&
         std::none_of(name.begin(), name.end(),
                      [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; });
}

}  // namespace

std::string SourceOf(const net::Peer* peer) {
  if (peer == nullptr) return "";
  if (peer->kind != net::Peer::Kind::kUnix) return peer->address;
  return "unix:" + (peer->uid ? std::to_string(*peer->uid) : std::string("unknown"));
}

ChainAuthenticator::ChainAuthenticator(Accounts& accounts, const Authorizer& authorizer,
                                       const Clock& clock, ChainOptions options)
    : accounts_(accounts), authorizer_(authorizer), clock_(clock), options_(std::move(options)) {}

Result<Principal> ChainAuthenticator::Authenticate(const Evidence& evidence) const {
  Result<Principal> who = Established(evidence);
  if (!who.ok()) return who;
  if (who->expires.set() && who->expires <= clock_.WallNow())
    return NotKnown("the credentials have expired");
  AddGroup(kAuthenticatedGroup, &who->groups);
  who->source = SourceOf(evidence.peer);
  who->request_id = evidence.request_id;
  static std::atomic<std::uint64_t> requests{0};
  who->request = ++requests;
  return Impersonate(std::move(who).value(), evidence);
}

Result<Principal> ChainAuthenticator::Established(const Evidence& evidence) const {
  if (evidence.authorization != nullptr && !evidence.authorization->empty())
    return ByHeader(evidence);
  const net::Peer* peer = evidence.peer;
  if (peer == nullptr) return Nobody(peer);
  if (peer->certificate != nullptr) return ByCertificate(*peer);
  return AccountOf(*peer) ? ByAccount(*peer, evidence.may_wait) : Result<Principal>(Nobody(peer));
}

Result<Principal> ChainAuthenticator::ByHeader(const Evidence& evidence) const {
  for (const auto& method : options_.methods) {
    if (method->Recognises(*evidence.authorization)) return method->Check(evidence);
  }
  std::string sentence = "the server does not know this kind of credentials";
  for (std::size_t i = 0; i < options_.accepted.size(); ++i)
    sentence += (i == 0 ? "; it accepts " : ", ") + options_.accepted[i];
  return NotKnown(std::move(sentence));
}

// Mirrors Established.
bool ChainAuthenticator::MayBlock(const Authorization& authorization, const net::Peer* peer) const {
  if (authorization.empty()) {
    if (peer == nullptr || peer->certificate != nullptr) return false;
    const auto uid = AccountOf(*peer);
    return uid && !accounts_.Known(*uid);
  }
  for (const auto& method : options_.methods) {
    if (method->Recognises(authorization)) return method->MayBlock(authorization);
  }
  return false;
}

void ChainAuthenticator::Prepare(const net::Peer& peer, std::function<void()> ready) const {
  const auto uid = AccountOf(peer);
  if (!uid) return ready();
  accounts_.WhenKnown(*uid, std::move(ready));
}

// Kubernetes' mapping: the common name is the user, the organizations are the groups.
Result<Principal> ChainAuthenticator::ByCertificate(const net::Peer& peer) const {
  const net::PeerCertificate& certificate = *peer.certificate;
  if (!ShownName(certificate.common_name))
    return NotKnown("the client certificate has no common name that could be a user");
  Principal who;
  who.user = certificate.common_name;
  who.groups = certificate.organizations;
  who.method = "certificate";
  who.expires = WallTime{SecondsToMicros(certificate.not_after_s)};
  who.credential = certificate.issuer + ":" + certificate.serial;
  if (options_.certificate_still_good) {
    const Status good = options_.certificate_still_good(who);
    if (!good.ok()) return good.error();
  }
  return who;
}

std::optional<std::uint32_t> ChainAuthenticator::AccountOf(const net::Peer& peer) const {
  const bool counts = peer.kind == net::Peer::Kind::kUnix ||
                      (peer.kind == net::Peer::Kind::kLoopback && options_.loopback_peers);
  return counts ? peer.uid : std::nullopt;
}

Result<Principal> ChainAuthenticator::ByAccount(const net::Peer& peer, bool may_wait) const {
  const std::uint32_t uid = *AccountOf(peer);
  if (!may_wait && !accounts_.Known(uid)) {
    static_cast<void>(accounts_.Recall(uid));  // its thread asks
    Error unknown = Unavailable("the account of the client is being looked up");
    unknown.retry_after_ms = limits::kAccountRetryMs;
    return unknown;
  }
  const Result<AccountPtr> account = accounts_.Find(uid);
  if (!account.ok()) return account.error();
  Principal who = PrincipalOfAccount(**account, uid);
  if (uid == 0 || uid == options_.own_uid) AddGroup(kMastersGroup, &who.groups);
  who.method = peer.kind == net::Peer::Kind::kUnix ? "unix" : "loopback";
  who.credential = std::string(kUidPrefix) + std::to_string(uid);
  return who;
}

Error ChainAuthenticator::Nobody(const net::Peer* peer) const {
  std::string sentence = "the request says nothing of who sends it";
  if (peer != nullptr && peer->kind == net::Peer::Kind::kLoopback) {
    sentence += options_.loopback_peers
                    ? ", and the account of the client's process could not be found"
                    : ", and clients on loopback are not known by their account here "
                      "(loopback-peers is off)";
  }
  sentence += ": use the server's Unix socket";
  for (const std::string& one : options_.accepted) sentence += ", or " + one;
  return NotKnown(std::move(sentence));
}

Status ChainAuthenticator::MayImpersonate(const Principal& who, const Evidence& evidence) const {
  const auto may_be = [&](const ResourceRef& what) {
    Status allowed = authorizer_.Authorize(who, Verb::kImpersonate, what);
    if (allowed.ok() || evidence.audit == nullptr) return allowed;
    evidence.audit->Refused(who, VerbName(Verb::kImpersonate), what, allowed.error());
    allowed.error().audited = true;
    return allowed;
  };
  Status allowed = may_be(UserResource(evidence.as_user));
  for (const std::string_view group : evidence.as_groups) {
    if (!allowed.ok()) break;
    allowed = may_be({"", "groups", "", "", group});
  }
  return allowed;
}

// Naming oneself changes nothing. Otherwise the right `impersonate` is needed for the user and for
// each group (Kubernetes, "User impersonation"), and the account of the one who asks is not that of
// the user: jobs do not run as it.
Result<Principal> ChainAuthenticator::Impersonate(Principal who, const Evidence& evidence) const {
  if (evidence.as_user.empty()) {
    if (evidence.as_groups.empty()) return who;
    return InvalidArgument("the request names groups to act as (Impersonate-Group) but no user");
  }
  if (evidence.as_groups.empty() && evidence.as_user == who.user) return who;
  if (!ShownName(evidence.as_user) ||
      !std::all_of(evidence.as_groups.begin(), evidence.as_groups.end(), ShownName) ||
      evidence.as_groups.size() > limits::kImpersonatedGroups) {
    return InvalidArgument("the users and groups to act as must be 1 to 256 visible characters");
  }
  if (Status allowed = MayImpersonate(who, evidence); !allowed.ok()) return allowed.error();
  Principal other = who;
  other.impersonator = who.user;
  other.impersonator_groups = who.groups;
  other.user = std::string(evidence.as_user);
  other.uid.reset();
  other.groups.clear();
  for (const std::string_view group : evidence.as_groups)
    AddGroup(std::string(group), &other.groups);
  AddGroup(other.user == kAnonymousUser ? kUnauthenticatedGroup : kAuthenticatedGroup,
           &other.groups);
  return other;
}

// As MayImpersonate, without a note for the audit trail: this is asked every few seconds. The
// groups that Impersonate adds itself need no right.
Status ChainAuthenticator::MayStillImpersonate(const Principal& who) const {
  if (who.impersonator.empty()) return Done{};
  Principal actor;
  actor.user = who.impersonator;
  actor.groups = who.impersonator_groups;
  actor.method = who.method;
  const char* added = who.user == kAnonymousUser ? kUnauthenticatedGroup : kAuthenticatedGroup;
  const auto allowed = [&](const std::string& group) {
    return group == added ||
           authorizer_.Allows(actor, Verb::kImpersonate, {"", "groups", "", "", group});
  };
  if (authorizer_.Allows(actor, Verb::kImpersonate, UserResource(who.user)) &&
      std::all_of(who.groups.begin(), who.groups.end(), allowed)) {
    return Done{};
  }
  return Error{Code::kPermissionDenied, "the user \"" + who.impersonator + "\" may not act as \"" +
                                            who.user + "\" any more"};
}

Status ChainAuthenticator::StillGood(const Principal& who) const {
  const Status good = CredentialStillGood(who);
  return good.ok() ? MayStillImpersonate(who) : good;
}

// Every method is asked; those that did not establish the principal say that it is good.
Status ChainAuthenticator::CredentialStillGood(const Principal& who) const {
  if (who.expires.set() && who.expires <= clock_.WallNow())
    return NotKnown("the credentials have expired");
  for (const auto& method : options_.methods) {
    Status good = method->StillGood(who);
    if (!good.ok()) return good;
  }
  if (who.method == "certificate" && options_.certificate_still_good)
    return options_.certificate_still_good(who);
  const bool by_account = who.method == "unix" || who.method == "loopback" || who.method == "munge";
  return by_account ? AccountStillGood(who) : Done{};
}

// A name service that does not answer ends no stream; one that takes a group away does, because
// whoever had it may read by it. A munge credential is used up, so that its account is all that can
// change.
Status ChainAuthenticator::AccountStillGood(const Principal& who) const {
  std::uint32_t uid = 0;
  const char* end = who.credential.data() + who.credential.size();
  const bool told = who.credential.starts_with(kUidPrefix) &&
                    std::from_chars(who.credential.data() + kUidPrefix.size(), end, uid).ptr == end;
  if (!told) return NotKnown("the account is not known");
  const AccountPtr account = accounts_.Recall(uid);
  if (account == nullptr) return Done{};
  const bool itself = who.impersonator.empty();
  const std::string& user = itself ? who.user : who.impersonator;
  const Principal now = PrincipalOfAccount(*account, uid);
  if (user != now.user && user != std::to_string(uid))
    return NotKnown("the account \"" + user + "\" does not exist any more");
  for (const std::string& group : itself ? who.groups : who.impersonator_groups) {
    if (group.starts_with(kSystemPrefix) ||
        std::find(now.groups.begin(), now.groups.end(), group) != now.groups.end()) {
      continue;
    }
    return NotKnown("the account \"" + user + "\" is no member of the group \"" + group +
                    "\" any more");
  }
  return Done{};
}

}  // namespace muster::auth

// Who sent a request: from the connection and the credentials of a request to a Principal.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "api/auth/authorization.h"
#include "api/auth/principal.h"
#include "api/net/peer.h"
#include "schedd/base/result.h"

namespace muster::auth {

class AuditSink;

/// What a request and its connection say of the sender. Views; valid for the call only.
struct Evidence {
  const net::Peer* peer = nullptr;
  const Authorization* authorization = nullptr;  // null or empty: the request has no such header
  // Impersonation: X-Muster-User or Impersonate-User, and Impersonate-Group.
  std::string_view as_user;
  std::vector<std::string_view> as_groups;
  // What a munge credential is bound to.
  std::string_view method, target, body;
  // The principal's id of the request.
  std::string_view request_id;
  // Where an impersonation that is refused is noted in the name of who asked for it, so that nobody
  // notes it again (Error::audited); null: nowhere.
  AuditSink* audit = nullptr;
  // Whether the thread may wait for an issuer's keys or for the name service. If not, a token whose
  // key is not known, and an account that is not known, are kUnavailable, with a time to try again,
  // while they are fetched.
  bool may_wait = true;
};

/// How the source of a request is written in the audit trail: "unix:UID" or the client's address;
/// "" if nothing is known of the connection.
std::string SourceOf(const net::Peer* peer);

/// Thread-safe.
class Authenticator {
 public:
  virtual ~Authenticator() = default;
  /// The first of these that the request has decides alone, and what is wrong with it is
  /// kUnauthenticated: the Authorization header (Bearer: an access token or a JWT; Munge), the
  /// client certificate, the account that the kernel tells. Without any of them: kUnauthenticated.
  /// Never an anonymous principal. An impersonation that is not allowed is kPermissionDenied.
  virtual Result<Principal> Authenticate(const Evidence& evidence) const = 0;
  /// Whether a credential that was good still is: not expired, not revoked, its user still bound to
  /// something. Asked again of open streams, every limits::kAskAgainMs.
  /// Does not block for long.
  virtual Status StillGood(const Principal& who) const = 0;
  /// Whether Authenticate may wait for another program when it is asked about this Authorization
  /// header or, if that is empty, about this peer (null: nothing is known of it). It must then not
  /// run on a thread that other connections wait for.
  virtual bool MayBlock(const Authorization&, const net::Peer*) const { return false; }
  /// Learns what Authenticate would wait for about this peer, and then calls `ready`, which must
  /// not block: at once, or on another thread; also if nothing could be learnt. For servers whose
  /// threads may not wait.
  virtual void Prepare(const net::Peer&, std::function<void()> ready) const { ready(); }
};

/// A credential in the Authorization header: one scheme, or one form of token.
class CredentialMethod {
 public:
  virtual ~CredentialMethod() = default;
  /// True if the header is of this method; then no other method is asked.
  virtual bool Recognises(const Authorization& authorization) const = 0;
  /// Asked only about a header that Recognises takes. The principal without impersonation, `source`
  /// and `request_id`; or kUnauthenticated with a sentence that gives nothing of the credential
  /// away. kUnavailable: it cannot be checked now.
  virtual Result<Principal> Check(const Evidence& evidence) const = 0;
  /// Done for principals of other methods: every method is asked about every principal.
  virtual Status StillGood(const Principal& who) const = 0;
  /// Whether Check may wait for another program. Asked only about what Recognises takes.
  virtual bool MayBlock(const Authorization&) const { return false; }
};

}  // namespace muster::auth

// Certificates, keys and authorities from PEM texts into OpenSSL contexts, for servers and clients
// alike.
//
// The functions are thread-safe as long as each has a context of its own.
#pragma once

#include <openssl/types.h>

#include <memory>
#include <string>
#include <vector>

namespace muster {

struct FreeX509 {
  void operator()(X509* certificate) const;
};
using X509Ptr = std::unique_ptr<X509, FreeX509>;

/// Every certificate of the text, in order; none if one of them is malformed.
std::vector<X509Ptr> ReadCertificates(const std::string& pem);

/// TLS 1.2 or later with forward secrecy and authenticated encryption only (rule U40).
void RequireModernTls(SSL_CTX* context);

/// Trusts the certificates of `pem`, and no others. False if it has none.
bool TrustAuthorities(SSL_CTX* context, const std::string& pem);

enum class CertificateProblem {
  kNone,
  kCertificate,  // not a PEM certificate
  kKey,          // not a PEM key, encrypted, or of another certificate
};
/// The certificate that this end shows, with the chain that follows it in `certificate_pem`.
CertificateProblem UseCertificate(SSL_CTX* context, const std::string& certificate_pem,
                                  const std::string& key_pem);

/// Whether OpenSSL's `reason` (ERR_GET_REASON) is an alert by which a server says that it does not
/// take the client's certificate.
bool RefusesCertificate(int reason);

/// Prepares one connection of a client: the server's name for SNI and, with `verify`, for the check
/// of its certificate. An IP address is checked against the certificate's addresses and is not sent
/// as SNI. False if OpenSSL refuses the name.
bool ExpectPeer(SSL* ssl, const std::string& name, bool verify);

}  // namespace muster

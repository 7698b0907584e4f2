// What a certificate says, as plain values. Pure functions, thread-safe.
#pragma once

#include <openssl/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "api/net/peer.h"

namespace muster::net {

/// Hexadecimal, in capital letters.
std::string SerialOf(const X509* certificate);
std::string SerialText(const ASN1_INTEGER* serial);
/// The SHA-256 of the name in DER, in hexadecimal; "" if it cannot be made. A list of revocations
/// names its issuer with the very bytes of the certificates (RFC 5280, 5.1.2.3 and 4.1.2.6).
std::string NameDigest(const X509_NAME* name);
/// Seconds since 1970.
std::int64_t NotAfterOf(const X509* certificate);
/// The DNS names, in lower case, and IP addresses of the subject's alternative names.
std::vector<std::string> NamesOf(const X509* certificate);
/// False if a name has control characters, so that none can forge a line of a log, and if the
/// certificate has no end.
bool ReadPeerCertificate(X509* certificate, PeerCertificate* out);

}  // namespace muster::net

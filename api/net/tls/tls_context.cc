// Builds an SSL_CTX (rules U40, U41). Client certificates are asked for and not required: OpenSSL
// ends the handshake of a client that sends one which does not verify, and lets pass a client that
// sends none; what it may do then is decided by its other credentials.
//
// With client certificates no session is resumed, because a resumed session is not verified again:
// a certificate that was revoked meanwhile would still be good.
#include "api/net/tls/tls_context.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>

#include <algorithm>
#include <cctype>
#include <cstring>

#include "api/net/tls/certificate_text.h"
#include "schedd/credentials/tls_material.h"

namespace muster::net {
namespace {

// Connections say which protocol they speak (TlsFilter); a client that offers others is refused.
int ChooseProtocol(SSL* ssl, const unsigned char** out, unsigned char* size,
                   const unsigned char* offered, unsigned int offered_size, void*) {
  const auto* ours = static_cast<const std::string*>(SSL_get_app_data(ssl));
  for (unsigned int at = 0; ours != nullptr && at < offered_size;) {
    const unsigned int length = offered[at++];
    if (length > offered_size - at) break;
    if (length == ours->size() && std::memcmp(offered + at, ours->data(), length) == 0) {
      *out = offered + at;
      *size = static_cast<unsigned char>(length);
      return SSL_TLSEXT_ERR_OK;
    }
    at += length;
  }
  return SSL_TLSEXT_ERR_ALERT_FATAL;
}

// Adds what one list revokes. False if its issuer's name cannot be read.
bool ReadRevoked(X509_CRL* list, RevokedSerials* out) {
  const std::string issuer = NameDigest(X509_CRL_get_issuer(list));
  if (issuer.empty()) return false;
  std::unordered_set<std::string>& serials = (*out)[issuer];
  STACK_OF(X509_REVOKED)* entries = X509_CRL_get_REVOKED(list);
  for (int i = 0; i < sk_X509_REVOKED_num(entries); ++i) {
    const X509_REVOKED* entry = sk_X509_REVOKED_value(entries, i);
    serials.insert(SerialText(X509_REVOKED_get0_serialNumber(entry)));
  }
  return true;
}

// Adds the lists of revoked certificates. False if the text has none or one is malformed.
bool UseRevocations(SSL_CTX* context, const std::string& pem, RevokedSerials* revoked) {
  const std::unique_ptr<BIO, decltype(&BIO_free_all)> bio(
      BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())), &BIO_free_all);
  X509_STORE* store = SSL_CTX_get_cert_store(context);
  int lists = 0;
  ERR_clear_error();
  while (X509_CRL* list = PEM_read_bio_X509_CRL(bio.get(), nullptr, nullptr, nullptr)) {
    const bool added = X509_STORE_add_crl(store, list) == 1 && ReadRevoked(list, revoked);
    X509_CRL_free(list);
    if (!added) return false;
    ++lists;
  }
  const bool at_end = ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
  ERR_clear_error();
  return at_end && lists > 0;
}

Status AskForCertificates(SSL_CTX* context, const TlsMaterial& material, RevokedSerials* revoked) {
  if (!TrustAuthorities(context, material.client_ca_pem))
    return InvalidArgument("client-ca has no PEM certificate, or a malformed one");
  for (const X509Ptr& one : ReadCertificates(material.client_ca_pem))
    SSL_CTX_add_client_CA(context, one.get());
  if (!material.client_crl_pem.empty()) {
    if (!UseRevocations(context, material.client_crl_pem, revoked))
      return InvalidArgument("client-crl has no PEM list of revocations, or a malformed one");
    X509_VERIFY_PARAM_set_flags(SSL_CTX_get0_param(context),
                                X509_V_FLAG_CRL_CHECK | X509_V_FLAG_CRL_CHECK_ALL);
  }
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nullptr);
  SSL_CTX_set_options(context, SSL_OP_NO_TICKET);
  SSL_CTX_set_num_tickets(context, 0);
  return Done{};
}

std::string LowerCase(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

}  // namespace

TlsContext::~TlsContext() { SSL_CTX_free(context_); }

bool TlsContext::IsRevoked(const PeerCertificate& certificate) const {
  const auto list = revoked_.find(certificate.issuer);
  return list != revoked_.end() && list->second.contains(certificate.serial);
}

Result<TlsContextPtr> TlsContext::Make(const TlsMaterial& material) {
  SSL_CTX* handle = SSL_CTX_new(TLS_server_method());
  if (handle == nullptr) return Internal("TLS cannot be set up");
  const std::shared_ptr<TlsContext> made(new TlsContext(handle));
  RequireModernTls(handle);
  SSL_CTX_set_options(handle, SSL_OP_CIPHER_SERVER_PREFERENCE | SSL_OP_PRIORITIZE_CHACHA);
  SSL_CTX_set_session_cache_mode(handle, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_alpn_select_cb(handle, &ChooseProtocol, nullptr);
  switch (UseCertificate(handle, material.certificate_pem, material.key_pem)) {
    case CertificateProblem::kCertificate:
      return InvalidArgument(
          "tls-cert is no PEM certificate, or one that is too weak (RSA below 2048 bits, SHA-1)");
    case CertificateProblem::kKey:
      return InvalidArgument(
          "tls-key is not the PEM key of the certificate in tls-cert, or it needs a passphrase");
    case CertificateProblem::kNone:
      break;
  }
  const X509* certificate = SSL_CTX_get0_certificate(handle);
  if (X509_cmp_current_time(X509_get0_notAfter(certificate)) < 0)
    return InvalidArgument("the certificate in tls-cert has expired");
  if (!material.client_ca_pem.empty()) {
    if (Status asked = AskForCertificates(handle, material, &made->revoked_); !asked.ok())
      return asked.error();
  }
  made->names_ = material.names.empty() ? NamesOf(certificate) : material.names;
  std::transform(made->names_.begin(), made->names_.end(), made->names_.begin(), &LowerCase);
  made->serial_ = SerialOf(certificate);
  made->not_after_s_ = NotAfterOf(certificate);
  return TlsContextPtr(made);
}

}  // namespace muster::net

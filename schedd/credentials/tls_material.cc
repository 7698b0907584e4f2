// PEM texts are read through memory BIOs. A key with a passphrase is refused, because a daemon has
// nobody to ask and OpenSSL would ask on the terminal.
#include "schedd/credentials/tls_material.h"

#include <arpa/inet.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/sslerr.h>
#include <openssl/x509v3.h>

#include <climits>

namespace muster {
namespace {

struct FreeBio {
  void operator()(BIO* bio) const { BIO_free_all(bio); }
};
using BioPtr = std::unique_ptr<BIO, FreeBio>;
struct FreeKey {
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
};

BioPtr TextBio(const std::string& text) {
  if (text.empty() || text.size() > INT_MAX) return nullptr;
  return BioPtr(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

int NoPassphrase(char*, int, int, void*) { return -1; }

}  // namespace

void FreeX509::operator()(X509* certificate) const { X509_free(certificate); }

std::vector<X509Ptr> ReadCertificates(const std::string& pem) {
  std::vector<X509Ptr> out;
  const BioPtr bio = TextBio(pem);
  if (bio == nullptr) return out;
  ERR_clear_error();
  while (X509* one = PEM_read_bio_X509(bio.get(), nullptr, &NoPassphrase, nullptr))
    out.emplace_back(one);
  // The end of the text is told as a missing first line; any other error is of a certificate.
  if (ERR_GET_REASON(ERR_peek_last_error()) != PEM_R_NO_START_LINE) out.clear();
  ERR_clear_error();
  return out;
}

// The suites of TLS 1.3 are all authenticated; those of TLS 1.2 are listed. Level 2 refuses RSA
// below 2048 bits and signatures with SHA-1.
void RequireModernTls(SSL_CTX* context) {
  SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
  SSL_CTX_set_security_level(context, 2);
  SSL_CTX_set_cipher_list(context, "ECDHE+AESGCM:ECDHE+CHACHA20");
  SSL_CTX_set1_groups_list(context, "X25519:P-256:P-384");
  SSL_CTX_set_options(context, SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION);
  // Gives back 34 KB of buffers of each idle connection.
  SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS);
}

bool TrustAuthorities(SSL_CTX* context, const std::string& pem) {
  const std::vector<X509Ptr> authorities = ReadCertificates(pem);
  X509_STORE* store = SSL_CTX_get_cert_store(context);
  for (const X509Ptr& one : authorities) {
    if (X509_STORE_add_cert(store, one.get()) != 1) return false;
  }
  return !authorities.empty();
}

CertificateProblem UseCertificate(SSL_CTX* context, const std::string& certificate_pem,
                                  const std::string& key_pem) {
  const std::vector<X509Ptr> chain = ReadCertificates(certificate_pem);
  if (chain.empty() || SSL_CTX_use_certificate(context, chain.front().get()) != 1)
    return CertificateProblem::kCertificate;
  SSL_CTX_clear_chain_certs(context);
  for (std::size_t i = 1; i < chain.size(); ++i) {
    if (SSL_CTX_add1_chain_cert(context, chain[i].get()) != 1)
      return CertificateProblem::kCertificate;
  }
  const BioPtr bio = TextBio(key_pem);
  if (bio == nullptr) return CertificateProblem::kKey;
  const std::unique_ptr<EVP_PKEY, FreeKey> key(
      PEM_read_bio_PrivateKey(bio.get(), nullptr, &NoPassphrase, nullptr));
  const bool fits = key != nullptr && SSL_CTX_use_PrivateKey(context, key.get()) == 1 &&
                    SSL_CTX_check_private_key(context) == 1;
  ERR_clear_error();
  return fits ? CertificateProblem::kNone : CertificateProblem::kKey;
}

bool RefusesCertificate(int reason) {
  switch (reason) {
    case SSL_R_SSLV3_ALERT_BAD_CERTIFICATE:
    case SSL_R_SSLV3_ALERT_UNSUPPORTED_CERTIFICATE:
    case SSL_R_SSLV3_ALERT_CERTIFICATE_REVOKED:
    case SSL_R_SSLV3_ALERT_CERTIFICATE_EXPIRED:
    case SSL_R_SSLV3_ALERT_CERTIFICATE_UNKNOWN:
    case SSL_R_TLSV1_ALERT_UNKNOWN_CA:
    case SSL_R_TLSV1_ALERT_ACCESS_DENIED:
    case SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED:
      return true;
    default:
      return false;
  }
}

bool ExpectPeer(SSL* ssl, const std::string& name, bool verify) {
  unsigned char bytes[sizeof(in6_addr)];
  const bool is_address = ::inet_pton(AF_INET, name.c_str(), bytes) == 1 ||
                          ::inet_pton(AF_INET6, name.c_str(), bytes) == 1;
  if (!is_address && SSL_set_tlsext_host_name(ssl, name.c_str()) != 1) return false;
  if (!verify) return true;
  X509_VERIFY_PARAM* wanted = SSL_get0_param(ssl);
  if (is_address) return X509_VERIFY_PARAM_set1_ip_asc(wanted, name.c_str()) == 1;
  X509_VERIFY_PARAM_set_hostflags(wanted, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
  return X509_VERIFY_PARAM_set1_host(wanted, name.c_str(), name.size()) == 1;
}

}  // namespace muster

// OpenSSL settings of a member's connections. Errors of OpenSSL become sentences about the part of
// the kubeconfig that caused them.
#include "backends/k8s/client/tls_setup.h"

#include <openssl/err.h>
#include <openssl/ssl.h>

#include <boost/asio/ssl/error.hpp>

#include "schedd/credentials/tls_material.h"

namespace muster::k8s {
namespace {

namespace asio = boost::asio;
using ErrorCode = boost::system::error_code;

Error TlsRefused(std::string detail) { return {Code::kUnauthenticated, std::move(detail)}; }

}  // namespace

// Verification is switched off only with skip_verify, which kubeconfig.cc permits on loopback
// alone.
Result<std::shared_ptr<TlsContext>> MakeTlsContext(const TlsMaterial& material) {
  ErrorCode error;
  std::shared_ptr<TlsContext> context;
  try {
    context = std::make_shared<TlsContext>(TlsContext::tls_client);
  } catch (const std::exception&) {
    return TlsRefused("TLS cannot be set up");
  }
  SSL_CTX_set_min_proto_version(context->native_handle(), TLS1_2_VERSION);
  // This saves 34 KB of buffers per idle connection.
  SSL_CTX_set_mode(context->native_handle(), SSL_MODE_RELEASE_BUFFERS);
  context->set_verify_mode(material.skip_verify ? asio::ssl::verify_none : asio::ssl::verify_peer,
                           error);
  if (material.ca_pem.empty()) {
    context->set_default_verify_paths(error);
  } else if (!TrustAuthorities(context->native_handle(), material.ca_pem)) {
    return TlsRefused("the certificate authority is not a PEM certificate");
  }
  if (material.certificate_pem.empty()) return context;
  switch (UseCertificate(context->native_handle(), material.certificate_pem, material.key_pem)) {
    case CertificateProblem::kCertificate:
      return TlsRefused("the client certificate is not a PEM certificate");
    case CertificateProblem::kKey:
      return TlsRefused("the client key is not the PEM key of the client certificate");
    case CertificateProblem::kNone:
      break;
  }
  return context;
}

Error HandshakeError(void* ssl, const ErrorCode& error) {
  const long verdict = SSL_get_verify_result(static_cast<SSL*>(ssl));
  if (verdict != X509_V_OK) {
    return TlsRefused(std::string("its certificate is not trusted: ") +
                      X509_verify_cert_error_string(verdict));
  }
  if (RefusesOurCertificate(error)) return TlsRefused("it refuses our client certificate");
  return Unavailable("the TLS handshake failed: " + error.message());
}

bool RefusesOurCertificate(const ErrorCode& error) {
  if (error.category() != asio::error::get_ssl_category()) return false;
  return RefusesCertificate(ERR_GET_REASON(static_cast<unsigned long>(error.value())));
}

}  // namespace muster::k8s

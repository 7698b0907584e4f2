// OpenSSL settings of a member's connections. Errors of OpenSSL become sentences about the part of
// the kubeconfig that caused them.
#include "backends/k8s/client/tls_setup.h"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/sslerr.h>
#include <openssl/x509v3.h>

#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/ssl/error.hpp>

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
  } else {
    context->add_certificate_authority(asio::buffer(material.ca_pem), error);
    if (error) return TlsRefused("the certificate authority is not a PEM certificate");
  }
  if (material.certificate_pem.empty()) return context;
  context->use_certificate_chain(asio::buffer(material.certificate_pem), error);
  if (error) return TlsRefused("the client certificate is not a PEM certificate");
  context->use_private_key(asio::buffer(material.key_pem), TlsContext::pem, error);
  if (error || SSL_CTX_check_private_key(context->native_handle()) != 1)
    return TlsRefused("the client key is not the PEM key of the client certificate");
  return context;
}

// An IP address is checked against the certificate's addresses and is not sent as SNI.
bool ExpectPeer(void* ssl, const std::string& name, bool skip_verify) {
  auto* handle = static_cast<SSL*>(ssl);
  ErrorCode error;
  asio::ip::make_address(name, error);
  const bool is_address = !error;
  if (!is_address && SSL_set_tlsext_host_name(handle, name.c_str()) != 1) return false;
  if (skip_verify) return true;
  X509_VERIFY_PARAM* wanted = SSL_get0_param(handle);
  if (is_address) return X509_VERIFY_PARAM_set1_ip_asc(wanted, name.c_str()) == 1;
  X509_VERIFY_PARAM_set_hostflags(wanted, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
  return X509_VERIFY_PARAM_set1_host(wanted, name.c_str(), name.size()) == 1;
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
  switch (ERR_GET_REASON(static_cast<unsigned long>(error.value()))) {
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

}  // namespace muster::k8s

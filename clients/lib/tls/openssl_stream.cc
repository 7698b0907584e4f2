// OpenSSL works on two memory BIOs; Advance moves bytes between them and the socket, so that the
// socket's deadlines and its MSG_NOSIGNAL hold for TLS too. Verification is OpenSSL's: the chain
// against the trusted authorities, and the name or address that the user asked for.
#include "clients/lib/tls_client.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <climits>

#include "clients/lib/pem_file.h"
#include "schedd/credentials/tls_material.h"

namespace muster::client {
namespace {

constexpr std::size_t kTlsPiece = 16 << 10;

// OpenSSL's sentences, with what the user can do.
std::string VerdictText(long verdict, const std::string& host) {
  switch (verdict) {
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_IP_ADDRESS_MISMATCH:
      return "its certificate is not for " + host;
    case X509_V_ERR_CERT_HAS_EXPIRED:
      return "its certificate has expired";
    case X509_V_ERR_CERT_NOT_YET_VALID:
      return "its certificate is not valid yet";
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
      return "its certificate is of an unknown authority (--ca or MUSTER_CA names a file of known "
             "ones)";
    default:
      return std::string("its certificate is not trusted: ") +
             X509_verify_cert_error_string(verdict);
  }
}

std::string OpenSslProblem() {
  const unsigned long code = ERR_peek_error();
  const char* text = code == 0 ? nullptr : ERR_reason_error_string(code);
  const bool refused = code != 0 && RefusesCertificate(ERR_GET_REASON(code));
  ERR_clear_error();
  if (refused) return "it refuses the client certificate";
  return std::string("the TLS connection failed") + (text == nullptr ? "" : ": ") +
         (text == nullptr ? "" : text);
}

class OpenSslStream : public TlsStream {
 public:
  explicit OpenSslStream(SocketStream& socket) : socket_(socket) {}
  ~OpenSslStream() override;
  OpenSslStream(const OpenSslStream&) = delete;
  OpenSslStream& operator=(const OpenSslStream&) = delete;

  std::size_t Read(void* bytes, std::size_t size, ErrorCode& ec) override;
  std::size_t Write(const void* bytes, std::size_t size, ErrorCode& ec) override;
  const std::string& problem() const override { return problem_; }

  Status Prepare(const TlsSettings& settings, const std::string& host);
  Status Shake(const TlsSettings& settings, const std::string& host, bool* timed_out);

 private:
  // After a call of OpenSSL that returned `result`: sends and receives what it waits for. True:
  // call it again.
  bool Advance(int result, ErrorCode& ec);
  bool Flush(ErrorCode& ec);

  SocketStream& socket_;
  SSL_CTX* context_ = nullptr;
  SSL* ssl_ = nullptr;
  BIO *in_ = nullptr, *out_ = nullptr;  // owned by ssl_
  bool plain_ = false;                  // the server's first bytes are not TLS
  bool begun_ = false;
  std::string problem_;
};

OpenSslStream::~OpenSslStream() {
  if (ssl_ != nullptr) {
    // The server should hear that this is the end; whether it does is of no consequence.
    ErrorCode ec;
    if (SSL_is_init_finished(ssl_) == 1) {
      ERR_clear_error();
      SSL_shutdown(ssl_);
      char* bytes = nullptr;
      const long size = BIO_get_mem_data(out_, &bytes);
      if (size > 0) socket_.SendNow(bytes, static_cast<std::size_t>(size));
    }
    ERR_clear_error();
  }
  SSL_free(ssl_);
  SSL_CTX_free(context_);
}

Status OpenSslStream::Prepare(const TlsSettings& settings, const std::string& host) {
  context_ = SSL_CTX_new(TLS_client_method());
  if (context_ == nullptr) return Internal("TLS cannot be set up");
  RequireModernTls(context_);
  if (settings.ca_file.empty()) {
    SSL_CTX_set_default_verify_paths(context_);
  } else {
    auto ca = ReadPemFile(settings.ca_file);
    if (!ca.ok()) return ca.error();
    if (!TrustAuthorities(context_, *ca))
      return InvalidArgument(settings.ca_file + ": has no PEM certificate of an authority");
  }
  std::string certificate = settings.certificate_pem, key = settings.key_pem;
  if (certificate.empty() && !settings.certificate_file.empty()) {
    auto chain = ReadPemFile(settings.certificate_file);
    if (!chain.ok()) return chain.error();
    auto secret = ReadPemFile(settings.key_file);
    if (!secret.ok()) return secret.error();
    certificate = *chain;
    key = *secret;
  }
  if (!certificate.empty()) {
    const CertificateProblem problem = UseCertificate(context_, certificate, key);
    if (problem == CertificateProblem::kCertificate)
      return InvalidArgument("the client certificate is no PEM certificate");
    if (problem == CertificateProblem::kKey)
      return InvalidArgument("the client key is not the PEM key of the client certificate");
  }
  SSL_CTX_set_verify(context_, settings.skip_verify ? SSL_VERIFY_NONE : SSL_VERIFY_PEER, nullptr);
  ssl_ = SSL_new(context_);
  in_ = BIO_new(BIO_s_mem());
  out_ = BIO_new(BIO_s_mem());
  if (ssl_ == nullptr || in_ == nullptr || out_ == nullptr) return Internal("TLS cannot be set up");
  SSL_set_bio(ssl_, in_, out_);
  SSL_set_connect_state(ssl_);
  if (!ExpectPeer(ssl_, host, !settings.skip_verify))
    return InvalidArgument("\"" + host + "\" cannot be the name of a certificate");
  static constexpr unsigned char kHttp11[] = "\x08http/1.1";
  SSL_set_alpn_protos(ssl_, kHttp11, sizeof kHttp11 - 1);
  return Done{};
}

Status OpenSslStream::Shake(const TlsSettings& settings, const std::string& host, bool* timed_out) {
  for (;;) {
    ERR_clear_error();
    const int done = SSL_do_handshake(ssl_);
    ErrorCode ec;
    if (done == 1) {
      // The client's last flight.
      if (Flush(ec)) return Done{};
      return Unavailable("the TLS handshake failed: " + ec.message());
    }
    if (Advance(done, ec)) continue;
    *timed_out = ec == boost::asio::error::timed_out;
    if (plain_) return Unavailable("this port does not speak TLS: use http://");
    const long verdict = SSL_get_verify_result(ssl_);
    if (verdict != X509_V_OK && !settings.skip_verify)
      return Error{Code::kUnauthenticated, VerdictText(verdict, host)};
    return Unavailable(problem_.empty() ? "the TLS handshake failed: " + ec.message() : problem_);
  }
}

// What could not be sent is dropped: the connection is broken, but the server's last words, such as
// the alert that says why, may still be read.
bool OpenSslStream::Flush(ErrorCode& ec) {
  ec = {};
  char* bytes = nullptr;
  const long size = BIO_get_mem_data(out_, &bytes);
  for (std::size_t sent = 0; !ec && size > 0 && sent < static_cast<std::size_t>(size);) {
    sent += socket_.write_some(
        boost::asio::const_buffer(bytes + sent, static_cast<std::size_t>(size) - sent), ec);
  }
  (void)BIO_reset(out_);
  return !ec;
}

bool OpenSslStream::Advance(int result, ErrorCode& ec) {
  const int error = SSL_get_error(ssl_, result);
  if (error == SSL_ERROR_SSL || error == SSL_ERROR_SYSCALL) {
    const std::string what = OpenSslProblem();
    if (problem_.empty()) problem_ = what;
    // The server should get the alert, if there is one.
    ErrorCode ignored;
    Flush(ignored);
    ec = boost::asio::error::connection_reset;
    return false;
  }
  if (error == SSL_ERROR_ZERO_RETURN) return ec = boost::asio::error::eof, false;
  if (!Flush(ec)) return false;
  if (error != SSL_ERROR_WANT_READ) return true;
  char bytes[kTlsPiece];
  const std::size_t n = socket_.read_some(boost::asio::mutable_buffer(bytes, sizeof bytes), ec);
  // TLS has an end of its own; without it the connection was cut.
  if (ec == boost::asio::error::eof) ec = boost::asio::error::connection_reset;
  if (ec) return false;
  // The first record of a server is a handshake or an alert.
  if (!begun_ && bytes[0] != 0x16 && bytes[0] != 0x15) plain_ = true;
  begun_ = true;
  if (plain_) return ec = boost::asio::error::connection_reset, false;
  BIO_write(in_, bytes, static_cast<int>(n));
  return true;
}

std::size_t OpenSslStream::Read(void* bytes, std::size_t size, ErrorCode& ec) {
  const int most = static_cast<int>(size < INT_MAX ? size : INT_MAX);
  for (;;) {
    ec = {};
    ERR_clear_error();
    const int n = SSL_read(ssl_, bytes, most);
    if (n > 0) return static_cast<std::size_t>(n);
    if (!Advance(n, ec)) return 0;
  }
}

std::size_t OpenSslStream::Write(const void* bytes, std::size_t size, ErrorCode& ec) {
  const int most = static_cast<int>(size < kTlsPiece ? size : kTlsPiece);
  if (most == 0) return ec = {}, 0;
  for (;;) {
    ec = {};
    ERR_clear_error();
    const int n = SSL_write(ssl_, bytes, most);
    if (n > 0) return Flush(ec) ? static_cast<std::size_t>(n) : 0;
    if (!Advance(n, ec)) return 0;
  }
}

}  // namespace

Result<std::unique_ptr<TlsStream>> OpenTls(SocketStream& socket, const TlsSettings& settings,
                                           const std::string& host, bool* timed_out) {
  *timed_out = false;
  auto made = std::make_unique<OpenSslStream>(socket);
  Status ready = made->Prepare(settings, host);
  if (ready.ok()) ready = made->Shake(settings, host, timed_out);
  if (!ready.ok()) return ready.error();
  return std::unique_ptr<TlsStream>(std::move(made));
}

}  // namespace muster::client

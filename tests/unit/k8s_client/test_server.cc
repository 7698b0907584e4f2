#include "tests/unit/k8s_client/test_server.h"

#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <list>

namespace muster::k8s::test {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using Tcp = asio::ip::tcp;
using ErrorCode = boost::system::error_code;

std::string Hex(std::size_t n) {
  char text[32];
  std::snprintf(text, sizeof(text), "%zx", n);
  return text;
}

std::string HeadOf(const Reply& reply, bool chunked) {
  std::string out = "HTTP/1.1 " + std::to_string(reply.status) + " X\r\n";
  for (const auto& [name, value] : reply.headers) out += name + ": " + value + "\r\n";
  out += chunked ? "Transfer-Encoding: chunked\r\n"
                 : "Content-Length: " + std::to_string(reply.body.size()) + "\r\n";
  return out + "\r\n";
}

std::string SubjectOf(SSL* ssl) {
  std::unique_ptr<X509, decltype(&X509_free)> peer(SSL_get1_peer_certificate(ssl), &X509_free);
  if (peer == nullptr) return "";
  char name[128] = {};
  X509_NAME_get_text_by_NID(X509_get_subject_name(peer.get()), NID_commonName, name, sizeof(name));
  return name;
}

}  // namespace

struct TestServer::Impl {
  Impl(Handler its_handler, std::optional<TlsOptions> options, int port)
      : handler(std::move(its_handler)), acceptor(io) {
    if (options) SetUpTls(*options);
    acceptor.open(Tcp::v4());
    acceptor.set_option(Tcp::acceptor::reuse_address(true));
    acceptor.bind({asio::ip::address_v4::loopback(), static_cast<unsigned short>(port)});
    acceptor.listen();
    accepting = std::thread([this] { Accept(); });
  }

  ~Impl() {
    stopping = true;
    ErrorCode ignored;
    {
      // Wakes the accepting thread.
      Tcp::socket poke(io);
      poke.connect(acceptor.local_endpoint(), ignored);
    }
    accepting.join();
    {
      std::lock_guard lock(mutex);
      for (auto* socket : open) socket->shutdown(Tcp::socket::shutdown_both, ignored);
    }
    for (auto& thread : threads) thread.join();
  }

  void SetUpTls(const TlsOptions& options) {
    tls.emplace(asio::ssl::context::tls_server);
    tls->use_certificate_chain(asio::buffer(options.identity.certificate_pem));
    tls->use_private_key(asio::buffer(options.identity.key_pem), asio::ssl::context::pem);
    if (options.client_ca_pem.empty()) return;
    tls->add_certificate_authority(asio::buffer(options.client_ca_pem));
    tls->set_verify_mode(asio::ssl::verify_peer |
                         (options.requires_client ? asio::ssl::verify_fail_if_no_peer_cert : 0));
  }

  void Accept() {
    while (!stopping) {
      auto socket = std::make_unique<Tcp::socket>(io);
      ErrorCode error;
      acceptor.accept(*socket, error);
      if (error || stopping) return;
      std::lock_guard lock(mutex);
      const int number = ++accepted;
      open.push_back(socket.get());
      threads.emplace_back([this, number, owned = std::move(socket)] {
        if (tls) {
          asio::ssl::stream<Tcp::socket&> stream(*owned, *tls);
          ErrorCode failed;
          stream.handshake(asio::ssl::stream_base::server, failed);
          if (!failed) Serve(stream, number, SubjectOf(stream.native_handle()));
        } else {
          Serve(*owned, number, "");
        }
        ErrorCode ignored;
        std::lock_guard inner(mutex);
        open.remove(owned.get());
        owned->close(ignored);
      });
    }
  }

  template <class Stream>
  void Serve(Stream& stream, int number, const std::string& subject) {
    boost::beast::flat_buffer buffer;
    for (;;) {
      http::request<http::string_body> request;
      ErrorCode error;
      http::read(stream, buffer, request, error);
      if (error) return;
      SeenRequest one{std::string(request.method_string()),
                      std::string(request.target()),
                      std::string(request[http::field::authorization]),
                      std::string(request[http::field::content_type]),
                      request.body(),
                      std::string(request[http::field::host]),
                      number,
                      subject};
      {
        std::lock_guard lock(mutex);
        seen.push_back(one);
      }
      if (!Answer(stream, handler(one))) return;
    }
  }

  template <class Stream>
  bool Answer(Stream& stream, const Reply& reply) {
    ErrorCode error;
    if (reply.drop) return false;
    if (!reply.stream) {
      std::string all = HeadOf(reply, false) + reply.body;
      if (reply.cut_after > 0) all.resize(std::min(all.size(), reply.cut_after));
      asio::write(stream, asio::buffer(all), error);
      return !error && !reply.close_after && reply.cut_after == 0;
    }
    asio::write(stream, asio::buffer(HeadOf(reply, true)), error);
    if (error) return false;
    const bool whole = reply.stream([&](const std::string& bytes) {
      asio::write(stream, asio::buffer(Hex(bytes.size()) + "\r\n" + bytes + "\r\n"), error);
      return !error;
    });
    if (!whole || error) return false;
    asio::write(stream, asio::buffer(std::string("0\r\n\r\n")), error);
    return !error;
  }

  const Handler handler;
  asio::io_context io;
  Tcp::acceptor acceptor;
  std::optional<asio::ssl::context> tls;
  std::atomic<bool> stopping{false};
  std::mutex mutex;  // guards what follows
  std::list<Tcp::socket*> open;
  std::list<std::thread> threads;
  std::vector<SeenRequest> seen;
  int accepted = 0;
  std::thread accepting;
};

TestServer::TestServer(Handler handler, std::optional<TlsOptions> tls, int port)
    : impl_(std::make_unique<Impl>(std::move(handler), std::move(tls), port)) {}
TestServer::~TestServer() = default;
int TestServer::port() const { return impl_->acceptor.local_endpoint().port(); }
std::string TestServer::url() const {
  return std::string(impl_->tls ? "https" : "http") + "://127.0.0.1:" + std::to_string(port());
}
std::vector<SeenRequest> TestServer::seen() const {
  std::lock_guard lock(impl_->mutex);
  return impl_->seen;
}
int TestServer::accepted() const {
  std::lock_guard lock(impl_->mutex);
  return impl_->accepted;
}

}  // namespace muster::k8s::test

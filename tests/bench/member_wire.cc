#include "tests/bench/member_wire.h"

#include <sys/socket.h>

#include <boost/asio.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <fstream>
#include <iterator>
#include <optional>

#include "backends/k8s/client/kubeconfig.h"

namespace muster::bench {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using boost::system::error_code;

std::string Read(const k8s::Material& material) {
  if (!material.data.empty() || material.file.empty()) return material.data;
  std::ifstream file(material.file, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

Error Broke(const char* what, const error_code& failed) {
  return Unavailable(std::string(what) + ": " + failed.message());
}

// Hands over complete lines and keeps the rest.
void Lines(std::string* pending, const std::function<void(std::string_view)>& line) {
  std::size_t begin = 0;
  for (auto end = pending->find('\n'); end != std::string::npos; end = pending->find('\n', begin)) {
    line(std::string_view(*pending).substr(begin, end - begin));
    begin = end + 1;
  }
  pending->erase(0, begin);
}

}  // namespace

Result<MemberTarget> LoadTarget(const std::string& kubeconfig) {
  auto access = k8s::LoadKubeconfig(kubeconfig, {});
  if (!access.ok()) return access.error();
  MemberTarget target{access->host, access->port, Read(access->token), Read(access->ca),
                      access->tls};
  while (!target.token.empty() && target.token.back() == '\n') target.token.pop_back();
  return target;
}

// A plain socket, or TLS over it.
struct MemberWire::Connection {
  asio::io_context io;
  asio::ssl::context context{asio::ssl::context::tls_client};
  asio::ssl::stream<asio::ip::tcp::socket> stream{io, context};
  beast::flat_buffer buffer;
  bool tls = false;

  asio::ip::tcp::socket& socket() { return stream.next_layer(); }
  template <class Do>
  void On(Do&& work) {
    tls ? work(stream) : work(socket());
  }
};

MemberWire::MemberWire(MemberTarget target) : target_(std::move(target)) {}
MemberWire::~MemberWire() = default;

Status MemberWire::Connect() {
  if (connection_) return Done{};
  auto made = std::make_unique<Connection>();
  error_code failed;
  asio::ip::tcp::resolver resolver(made->io);
  asio::connect(made->socket(), resolver.resolve(target_.host, target_.port, failed), failed);
  if (failed) return Broke("no connection", failed);
  made->socket().set_option(asio::ip::tcp::no_delay(true), failed);
  made->tls = target_.tls;
  if (target_.tls) {
    made->context.add_certificate_authority(asio::buffer(target_.ca), failed);
    made->stream.set_verify_mode(asio::ssl::verify_peer, failed);
    made->stream.handshake(asio::ssl::stream_base::client, failed);
    if (failed) return Broke("no TLS", failed);
  }
  const std::lock_guard lock(mutex_);
  if (aborted_) return Unavailable("it was stopped");
  connection_ = std::move(made);
  return Done{};
}

void MemberWire::Disconnect() {
  const std::lock_guard lock(mutex_);
  connection_.reset();
}

Result<std::string> MemberWire::Call(const std::string& method, const std::string& path,
                                     const std::string& body, const std::string& content_type) {
  const Status connected = Connect();
  if (!connected.ok()) return connected.error();
  http::request<http::string_body> request{http::string_to_verb(method), path, 11, body};
  request.set(http::field::host, target_.host);
  request.set(http::field::authorization, "Bearer " + target_.token);
  if (!body.empty()) request.set(http::field::content_type, content_type);
  request.prepare_payload();
  http::response_parser<http::string_body> answer;
  answer.body_limit(boost::none);
  error_code failed;
  connection_->On([&](auto& stream) {
    http::write(stream, request, failed);
    if (!failed) http::read(stream, connection_->buffer, answer, failed);
  });
  if (failed || !answer.get().keep_alive()) Disconnect();
  if (failed) return Broke("no answer", failed);
  if (answer.get().result_int() > 299)
    return Internal(std::to_string(answer.get().result_int()) + " " + answer.get().body());
  return std::move(answer.get().body());
}

Status MemberWire::Follow(const std::string& path,
                          const std::function<void(std::string_view)>& line) {
  const Status connected = Connect();
  if (!connected.ok()) return connected;
  http::request<http::empty_body> request{http::verb::get, path, 11};
  request.set(http::field::host, target_.host);
  request.set(http::field::authorization, "Bearer " + target_.token);
  http::response_parser<http::buffer_body> answer;
  answer.body_limit(boost::none);
  error_code failed;
  connection_->On([&](auto& stream) {
    http::write(stream, request, failed);
    if (!failed) http::read_header(stream, connection_->buffer, answer, failed);
    std::string pending;
    char chunk[1 << 16];
    while (!failed && !answer.is_done()) {
      answer.get().body().data = chunk;
      answer.get().body().size = sizeof chunk;
      http::read_some(stream, connection_->buffer, answer, failed);
      if (failed == http::error::need_buffer) failed = {};
      pending.append(chunk, sizeof chunk - answer.get().body().size);
      Lines(&pending, line);
    }
  });
  if (failed || !answer.get().keep_alive()) Disconnect();
  const std::lock_guard lock(mutex_);
  if (failed && !aborted_) return Broke("the stream broke", failed);
  if (answer.get().result_int() > 299)
    return Internal("the watch was answered " + std::to_string(answer.get().result_int()));
  return Done{};
}

void MemberWire::Abort() {
  const std::lock_guard lock(mutex_);
  aborted_ = true;
  if (connection_) shutdown(connection_->socket().native_handle(), SHUT_RDWR);
}

}  // namespace muster::bench

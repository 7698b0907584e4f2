// PlainClient: requests to a fake member over sockets, a connection for each, and long answers line
// by line. It blocks for at most half a minute.
#pragma once

#include <sys/socket.h>
#include <sys/time.h>

#include <boost/asio.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <map>
#include <optional>
#include <string>

#include "tests/support/fake_member/fake_member.h"

namespace muster::fake {

namespace http = boost::beast::http;

/// The answer of a request.
struct PlainAnswer {
  int status = 0;  // 0: the connection broke
  std::string body, retry_after;
  json::object object() const { return OwnObject(body); }
};

class PlainClient {
 public:
  explicit PlainClient(const FakeMember& member, std::string token = "")
      : port_(member.port()), token_(std::move(token)) {}

  PlainAnswer Ask(const std::string& method, const std::string& target,
                  const std::string& body = "",
                  const std::string& type = "application/json") const {
    boost::asio::io_context io;
    boost::asio::ip::tcp::socket socket(io);
    boost::beast::flat_buffer buffer;
    http::response_parser<http::string_body> answer;
    answer.body_limit(std::uint64_t{1} << 30);
    boost::system::error_code failed;
    Send(socket, method, target, body, type, failed);
    if (!failed) http::read(socket, buffer, answer, failed);
    if (failed) return {};
    return {static_cast<int>(answer.get().result_int()), answer.get().body(),
            std::string(answer.get()[http::field::retry_after])};
  }
  PlainAnswer Get(const std::string& target) const { return Ask("GET", target); }
  PlainAnswer Post(const std::string& target, const std::string& body) const {
    return Ask("POST", target, body);
  }
  PlainAnswer JsonPatch(const std::string& target, const std::string& body) const {
    return Ask("PATCH", target, body, "application/json-patch+json");
  }

 private:
  friend class LongRead;
  void Send(boost::asio::ip::tcp::socket& socket, const std::string& method,
            const std::string& target, const std::string& body, const std::string& type,
            boost::system::error_code& failed) const {
    socket.connect({boost::asio::ip::address_v4::loopback(), static_cast<std::uint16_t>(port_)},
                   failed);
    if (failed) return;
    const timeval patience{30, 0};
    setsockopt(socket.native_handle(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    http::request<http::string_body> request(http::string_to_verb(method), target, 11);
    request.set(http::field::host, "fake");
    request.set(http::field::content_type, type);
    if (!token_.empty()) request.set(http::field::authorization, "Bearer " + token_);
    request.body() = body;
    request.prepare_payload();
    http::write(socket, request, failed);
  }

  int port_;
  std::string token_;
};

/// A watch or a followed log.
class LongRead {
 public:
  LongRead(const PlainClient& client, const std::string& target) : socket_(io_) {
    boost::system::error_code failed;
    client.Send(socket_, "GET", target, "", "", failed);
    parser_.body_limit(boost::none);
    if (!failed) http::read_header(socket_, buffer_, parser_, failed);
    status_ = failed ? 0 : static_cast<int>(parser_.get().result_int());
    over_ = failed.failed();
  }
  int status() const { return status_; }

  /// The next line, without its end; nullopt at the end of the stream (see broken()).
  std::optional<std::string> Line() {
    while (true) {
      if (const std::size_t at = text_.find('\n'); at != std::string::npos) {
        std::string line = text_.substr(0, at);
        text_.erase(0, at + 1);
        return line;
      }
      if (over_ || parser_.is_done()) return std::nullopt;
      char chunk[8192];
      parser_.get().body().data = chunk;
      parser_.get().body().size = sizeof(chunk);
      boost::system::error_code failed;
      http::read_some(socket_, buffer_, parser_, failed);
      if (failed == http::error::need_buffer) failed = {};
      text_.append(chunk, sizeof(chunk) - parser_.get().body().size);
      broken_ = failed.failed();
      over_ = broken_;
    }
  }
  /// The stream ended with an error, or nothing came for half a minute.
  bool broken() const { return broken_; }

  /// The next event of a watch; an empty object at the end.
  json::object Event() {
    const std::optional<std::string> line = Line();
    return line ? OwnObject(*line) : json::object();
  }
  /// "ADDED name" of the next event; "" at the end.
  std::string Told() {
    const json::object event = Event();
    if (event.empty()) return "";
    return Text(event, {"type"}) + " " + Text(event, {"object", "metadata", "name"});
  }

 private:
  boost::asio::io_context io_;
  boost::asio::ip::tcp::socket socket_;
  boost::beast::flat_buffer buffer_;
  http::response_parser<http::buffer_body> parser_;
  std::string text_;
  int status_ = 0;
  bool over_ = false, broken_ = false;
};

}  // namespace muster::fake

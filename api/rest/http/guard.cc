// The steps of a request: Next starts a parser; ReadHeader feeds it until the header block is
// complete; CheckHeader judges version, target, Host, Origin and method and finds the route;
// CheckFraming judges the headers that say how long the body is and sets the route's body limit;
// ReadBody collects the body; Finish hands the request over. Each step returns at once if bytes are
// missing, and any of them may refuse, which ends the reader.
//
// Limits are checked before bytes are stored: 16 KiB for the header block, the route's limit for
// the body, and a multiple of that for a chunked body with its framing. A Content-Length is
// compared with the limit, but no memory is reserved for it.
#include "api/rest/http/guard.h"

#include <algorithm>
#include <boost/asio/ip/address.hpp>
#include <boost/beast/core/buffers_range.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/optional.hpp>
#include <utility>

#include "api/rest/http/target.h"
#include "schedd/base/chunked_body.h"
#include "schedd/base/limits.h"

namespace muster::rest {
namespace {

namespace beast = boost::beast;
namespace http = boost::beast::http;

// A Beast body type that appends to a string and never reserves what a Content-Length only claims.
struct GrowingBody {
  using value_type = std::string;
  static std::uint64_t size(const value_type& body) { return body.size(); }
  class reader {
   public:
    template <bool isRequest, class Fields>
    reader(http::header<isRequest, Fields>&, value_type& body) : body_(body) {}
    void init(const boost::optional<std::uint64_t>&, beast::error_code& ec) { ec = {}; }
    template <class ConstBuffers>
    std::size_t put(const ConstBuffers& buffers, beast::error_code& ec) {
      std::size_t taken = 0;
      for (const auto buffer : beast::buffers_range_ref(buffers)) {
        body_.append(static_cast<const char*>(buffer.data()), buffer.size());
        taken += buffer.size();
      }
      ec = {};
      return taken;
    }
    void finish(beast::error_code& ec) { ec = {}; }

   private:
    value_type& body_;
  };
};

// Optional white space around a header's value is blanks and tabs (RFC 9110, 5.5).
std::string Trimmed(beast::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return std::string(text);
}

// True for at most 18 decimal digits, which always fit an integer.
bool AllDigits(std::string_view text) {
  return !text.empty() && text.size() < 19 &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// False for methods that no route has. HEAD is GET with a flag.
bool MethodOf(http::verb verb, Request* request) {
  switch (verb) {
    case http::verb::get:
      request->method = Method::kGet;
      return true;
    case http::verb::head:
      request->method = Method::kGet;
      request->head = true;
      return true;
    case http::verb::post:
      request->method = Method::kPost;
      return true;
    case http::verb::put:
      request->method = Method::kPut;
      return true;
    case http::verb::patch:
      request->method = Method::kPatch;
      return true;
    case http::verb::delete_:
      request->method = Method::kDelete;
      return true;
    default:
      return false;
  }
}

// "http://host:1/a" becomes "/a"; other targets are unchanged. Servers must accept the absolute
// form (RFC 9112, 3.2.2).
std::string_view OriginForm(std::string_view target) {
  if (!target.starts_with("http://") && !target.starts_with("https://")) return target;
  const std::size_t slash = target.find('/', target.find("//") + 2);
  return slash == std::string_view::npos ? std::string_view("/") : target.substr(slash);
}

// Beast's error as a sentence for the client.
std::string_view ParserComplaint(const beast::error_code& error) {
  if (error == http::error::bad_method) return "the request's method is malformed";
  if (error == http::error::bad_target) return "the request's target is malformed";
  if (error == http::error::bad_version)
    return "the request line does not end in HTTP/1.0 or HTTP/1.1";
  if (error == http::error::bad_field) return "a header's name is malformed";
  if (error == http::error::bad_value) return "a header's value is malformed";
  if (error == http::error::bad_chunk) return "the chunked body is malformed";
  if (error == http::error::bad_chunk_extension) return "a chunk's extension is malformed";
  if (error == http::error::bad_line_ending) return "a line does not end in CR LF";
  if (error == http::error::bad_content_length || error == http::error::multiple_content_length) {
    return "Content-Length is malformed, given twice, or beside Transfer-Encoding";
  }
  if (error == http::error::bad_transfer_encoding) {
    return "Transfer-Encoding is malformed, given twice, or beside Content-Length";
  }
  return "the request is malformed";
}

// More unparsed bytes than this mean a chunk line or trailer that never ends.
constexpr std::size_t kStuckBytes = limits::kHeaderBytes + (8 << 10);

}  // namespace

struct RequestReader::Parser {
  http::request_parser<GrowingBody> http;
};

// An IPv6 address is in brackets; a port after the host must be digits.
bool IsLocalAuthority(std::string_view authority) {
  std::string host(authority);
  if (host.starts_with('[')) {
    const std::size_t close = host.find(']');
    if (close == std::string::npos) return false;
    const std::string_view after = std::string_view(host).substr(close + 1);
    if (!after.empty() && (after[0] != ':' || !AllDigits(after.substr(1)))) return false;
    boost::system::error_code error;
    boost::asio::ip::make_address_v6(host.substr(1, close - 1), error);
    return !error;
  }
  const std::size_t colon = host.find(':');
  if (colon != std::string::npos) {
    if (!AllDigits(std::string_view(host).substr(colon + 1))) return false;
    host.resize(colon);
  }
  if (beast::iequals(host, "localhost")) return true;
  boost::system::error_code error;
  boost::asio::ip::make_address_v4(host, error);
  return !error;
}

bool IsNamedAuthority(std::string_view authority, const std::vector<std::string>& names) {
  const std::size_t colon = authority.find(':');
  if (colon != std::string_view::npos && !AllDigits(authority.substr(colon + 1))) return false;
  std::string host(authority.substr(0, colon));
  for (char& c : host)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  const std::size_t dot = host.find('.');
  const std::string any = dot == std::string::npos || dot == 0 ? "" : "*" + host.substr(dot);
  return std::any_of(names.begin(), names.end(), [&](const std::string& name) {
    return !host.empty() && (name == host || (!any.empty() && name == any));
  });
}

RequestReader::RequestReader(const RouteTable& routes, bool unix_socket)
    : routes_(routes), unix_socket_(unix_socket) {}
RequestReader::~RequestReader() = default;

void RequestReader::Feed(std::string_view bytes) {
  if (!dead_) in_.append(bytes);
}

std::size_t RequestReader::held() const {
  return unparsed() + (parser_ ? parser_->http.get().body().size() : 0);
}

// Marks bytes as parsed, and returns the memory of a large buffer.
void RequestReader::Consume(std::size_t bytes) {
  parsed_ += bytes;
  if (parsed_ == in_.size()) {
    in_.clear();
    parsed_ = 0;
    if (in_.capacity() > (64 << 10)) in_.shrink_to_fit();
  } else if (parsed_ > (64 << 10)) {
    in_.erase(0, parsed_);
    parsed_ = 0;
  }
}

// Ends the reader: bytes after a malformed request cannot be trusted to begin a request.
RequestReader::Step RequestReader::Refuse(int status, std::string detail) {
  dead_ = true;
  refusal_.status = status;
  refusal_.detail = std::move(detail);
  refusal_.kubernetes = current_.request.IsKubernetesPath();
  in_.clear();
  parsed_ = 0;
  parser_.reset();
  return Step::kRefused;
}

RequestReader::Step RequestReader::Next() {
  if (dead_) return Step::kRefused;
  if (!started_) {
    if (unparsed() == 0) return Step::kNeedMore;
    // One blank line before a request is ignored (RFC 9112, 2.2).
    if (!skipped_blank_line_ && in_[parsed_] == '\r') {
      if (unparsed() < 2) return Step::kNeedMore;
      if (in_[parsed_ + 1] == '\n') Consume(2);
      skipped_blank_line_ = true;
      if (unparsed() == 0) return Step::kNeedMore;
    }
    started_ = true;
    header_done_ = false;
    current_ = {};
    wire_bytes_ = 0;
    parser_ = std::make_unique<Parser>();
    parser_->http.header_limit(limits::kHeaderBytes);
    parser_->http.body_limit(limits::kRequestBytes);
    // Not eager: the parser stops after the header block, so that the body's limit is known before
    // its first byte.
    parser_->http.eager(false);
  }
  return header_done_ ? ReadBody() : ReadHeader();
}

// Called again with every new piece of the header block.
RequestReader::Step RequestReader::ReadHeader() {
  auto& parser = parser_->http;
  const std::string_view bytes = std::string_view(in_).substr(parsed_);
  beast::error_code error;
  const std::size_t used = parser.put(boost::asio::const_buffer(bytes.data(), bytes.size()), error);
  Consume(used);
  // Beast's own header limit starts again at each call that made progress, so bytes are counted.
  wire_bytes_ += used;
  if (wire_bytes_ > limits::kHeaderBytes)
    return Refuse(431, "the request's headers are over 16 KiB");
  if (error == http::error::need_more) {
    if (wire_bytes_ + unparsed() > limits::kHeaderBytes)
      return Refuse(431, "the request's headers are over 16 KiB");
    return Step::kNeedMore;
  }
  if (error == http::error::header_limit)
    return Refuse(431, "the request's headers are over 16 KiB");
  if (error == http::error::body_limit) return Refuse(413, "the request's body is over 8 MiB");
  if (error == http::error::bad_version) return Refuse(505, std::string(ParserComplaint(error)));
  if (error) return Refuse(400, std::string(ParserComplaint(error)));
  if (!parser.is_header_done()) return Step::kNeedMore;
  header_done_ = true;
  wire_bytes_ = 0;
  return CheckHeader();
}

// Reads the header block into `current_.request` and finds the route.
RequestReader::Step RequestReader::CheckHeader() {
  const auto& head = parser_->http.get();
  Request& request = current_.request;
  if (head.version() != 10 && head.version() != 11)
    return Refuse(505, "only HTTP/1.0 and HTTP/1.1 are spoken here");
  current_.http_1_0 = head.version() == 10;
  current_.keep_alive = head.keep_alive();
  const std::string_view target(head.target().data(), head.target().size());
  if (!ParseTarget(OriginForm(target), &request)) {
    return Refuse(400, "the request's target is not a path with valid percent-encoding");
  }
  if (const Step judged = CheckOrigin(); judged == Step::kRefused) return judged;
  if (head.method() == http::verb::unknown) return Refuse(501, "the request's method is unknown");
  if (!MethodOf(head.method(), &request)) {
    refusal_.allow = routes_.Allowed(request.segments);
    return Refuse(405, "the method " + std::string(head.method_string()) +
                           " is not supported by this version");
  }
  request.content_type = Trimmed(head[http::field::content_type]);
  request.idempotency_key = Trimmed(head["Idempotency-Key"]);
  request.last_event_id = Trimmed(head["Last-Event-ID"]);
  request.accept_encoding = Trimmed(head[http::field::accept_encoding]);
  request.if_none_match = Trimmed(head[http::field::if_none_match]);
  request.raw_method = std::string(head.method_string());
  request.raw_target = std::string(target);
  if (const Step read = ReadSender(); read == Step::kRefused) return read;
  current_.match = routes_.Match(request.method, request.segments);
  return CheckFraming();
}

// What a web page in a user's browser could send. kNeedMore: nothing to refuse.
RequestReader::Step RequestReader::CheckOrigin() {
  const auto& head = parser_->http.get();
  if (head.count(http::field::host) > 1) return Refuse(400, "the Host header is given twice");
  const std::string host = Trimmed(head[http::field::host]);
  if (!current_.http_1_0 && head.count(http::field::host) == 0)
    return Refuse(400, "the Host header is missing");
  // DNS rebinding: a web page whose own name resolves to this host would pass the same-origin rule.
  const bool named = https_names_ != nullptr && IsNamedAuthority(host, *https_names_);
  if (!unix_socket_ && !host.empty() && !named && !IsLocalAuthority(host)) {
    return Refuse(403, https_names_ == nullptr
                           ? "the Host header names neither localhost nor an IP address: this "
                             "server answers on loopback only"
                           : "the Host header names neither this server (server-names) nor an IP "
                             "address");
  }
  const std::string origin = Trimmed(head[http::field::origin]);
  // A browser sends Origin with requests of a page; only pages of this very server may call it.
  if (!origin.empty() && origin != (https_names_ == nullptr ? "http://" : "https://") + host) {
    return Refuse(403, "requests of web pages from another origin are not answered");
  }
  // What a page makes a browser load or send without Origin: images, old forms, fetches whose
  // answer it may not read. To follow a link to this server stays possible (Fetch Metadata, rule
  // U43).
  const std::string site = Trimmed(head["Sec-Fetch-Site"]);
  const bool follows_link =
      head.method() == http::verb::get && Trimmed(head["Sec-Fetch-Mode"]) == "navigate";
  if (!site.empty() && site != "same-origin" && site != "none" && !follows_link) {
    return Refuse(403, "requests of web pages from another site are not answered");
  }
  return Step::kNeedMore;
}

// The headers that say who sends the request (rules U11, U13). A header that is given twice is
// refused: two programs could each take another one. kNeedMore: nothing to refuse.
RequestReader::Step RequestReader::ReadSender() {
  const auto& head = parser_->http.get();
  Request& request = current_.request;
  for (const char* name : {"Authorization", "X-Muster-User", "Impersonate-User", "X-Request-Id"}) {
    if (head.count(name) > 1)
      return Refuse(400, std::string("the ") + name + " header is given twice");
  }
  request.authorization = Trimmed(head[http::field::authorization]);
  if (head.count(http::field::authorization) == 1 && request.authorization.empty())
    return Refuse(400, "the Authorization header is empty");
  if (request.authorization.text().size() > limits::kAuthorizationBytes)
    return Refuse(431, "the Authorization header is over 12 KiB");
  for (const char* name : {"X-Muster-User", "Impersonate-User"}) {
    // Who is to be acted as, and is nobody, is not to be oneself.
    if (head.count(name) > 0 && Trimmed(head[name]).empty())
      return Refuse(400, std::string("the ") + name + " header is empty");
  }
  request.as_user = Trimmed(head["Impersonate-User"]);
  const std::string other = Trimmed(head["X-Muster-User"]);
  if (!request.as_user.empty() && !other.empty() && other != request.as_user)
    return Refuse(400, "X-Muster-User and Impersonate-User name different users");
  if (request.as_user.empty()) request.as_user = other;
  for (const auto& field : head) {
    const std::string_view name(field.name_string().data(), field.name_string().size());
    if (beast::iequals(name, "Impersonate-Group")) {
      request.as_groups.push_back(Trimmed(field.value()));
    } else if (beast::iequals(name, "Impersonate-Uid") ||
               beast::iequals(beast::string_view(name.data(), name.size()).substr(0, 18),
                              "Impersonate-Extra-")) {
      return Refuse(400, "only users and groups can be acted as: the header " + std::string(name) +
                             " is not supported");
    }
  }
  request.request_id = Trimmed(head["X-Request-Id"]);
  return Step::kNeedMore;
}

// Two headers that both say how long the body is, or one that is given twice, would let another
// parser see another request, so they are refused and not interpreted.
RequestReader::Step RequestReader::CheckFraming() {
  auto& parser = parser_->http;
  const auto& head = parser.get();
  const std::size_t lengths = head.count(http::field::content_length);
  const std::size_t encodings = head.count(http::field::transfer_encoding);
  if (lengths + encodings > 1)
    return Refuse(400, "Content-Length and Transfer-Encoding are given more than once");
  if (lengths == 1 && !AllDigits(Trimmed(head[http::field::content_length]))) {
    return Refuse(400, "Content-Length is not a number");
  }
  if (encodings == 1) {
    if (current_.http_1_0) return Refuse(400, "HTTP/1.0 has no Transfer-Encoding");
    if (!beast::iequals(Trimmed(head[http::field::transfer_encoding]), "chunked")) {
      return Refuse(501, "the only Transfer-Encoding taken is chunked");
    }
  }
  if (!head[http::field::content_encoding].empty() &&
      !beast::iequals(Trimmed(head[http::field::content_encoding]), "identity")) {
    return Refuse(415, "compressed request bodies are not taken");
  }
  // Without a route the body is read up to this bound, so that the client can read the 404.
  body_limit_ = current_.match.index < 0
                    ? limits::kManifestBytes
                    : routes_.routes()[static_cast<std::size_t>(current_.match.index)].body_limit;
  const auto length = parser.content_length();
  if (length && *length > body_limit_) {
    return Refuse(413, "the request's body is over this path's limit of " +
                           std::to_string(body_limit_) + " bytes");
  }
  parser.eager(true);
  const std::string expect = Trimmed(head[http::field::expect]);
  if (!expect.empty() && !beast::iequals(expect, "100-continue"))
    return Refuse(417, "the only Expect known is 100-continue");
  // The client waits before it sends the body; a body that is there already needs no answer.
  if (!expect.empty() && !current_.http_1_0 && !parser.is_done() && unparsed() == 0)
    return Step::kContinue;
  return ReadBody();
}

// Called again with every new piece of the body.
RequestReader::Step RequestReader::ReadBody() {
  auto& parser = parser_->http;
  while (!parser.is_done()) {
    if (unparsed() == 0 || (parser.chunked() && !MayParseChunk(unparsed()))) return Step::kNeedMore;
    const std::string_view bytes = std::string_view(in_).substr(parsed_);
    beast::error_code error;
    const std::size_t used =
        parser.put(boost::asio::const_buffer(bytes.data(), bytes.size()), error);
    Consume(used);
    wire_bytes_ += used;
    const std::size_t body = parser.get().body().size();
    // Framing may be several times the data if chunks are small; beyond that it is an attack.
    if (body > body_limit_ || wire_bytes_ > 8 * body_limit_ + kStuckBytes ||
        error == http::error::body_limit) {
      return Refuse(413, "the request's body is over this path's limit of " +
                             std::to_string(body_limit_) + " bytes");
    }
    if (error == http::error::need_more) {
      if (unparsed() > kStuckBytes) return Refuse(400, "the chunked body is malformed");
      if (used == 0) return Step::kNeedMore;
      continue;
    }
    if (error == http::error::header_limit)
      return Refuse(431, "the chunked body's trailers are over 16 KiB");
    if (error) return Refuse(400, std::string(ParserComplaint(error)));
  }
  return Finish();
}

RequestReader::Step RequestReader::Finish() {
  current_.request.body = std::move(parser_->http.get().body());
  parser_.reset();
  started_ = false;
  skipped_blank_line_ = false;
  return Step::kRequest;
}

ParsedRequest RequestReader::Take() {
  current_.request.params = std::move(current_.match.params);
  return std::exchange(current_, {});
}

}  // namespace muster::rest

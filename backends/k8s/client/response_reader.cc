// ResponseReader: Boost.Beast's parser, fed piece by piece. Bytes that the parser does not consume
// yet are kept in unread_ and come first in the next piece. Interim answers (1xx) are skipped.
#include "backends/k8s/client/response_reader.h"

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <charconv>
#include <limits>
#include <utility>

#include "schedd/base/chunked_body.h"

namespace muster::k8s {
namespace {

namespace http = boost::beast::http;

constexpr std::uint32_t kHeaderBytes = 64 << 10;
constexpr std::int64_t kLongestRetryS = 3600;

}  // namespace

struct ResponseReader::Parser {
  http::response_parser<http::string_body> http;
};

ResponseReader::ResponseReader(std::size_t max_body) : max_body_(max_body) { Begin(); }
ResponseReader::~ResponseReader() = default;

// A new parser; called for the first response, and after each interim one.
void ResponseReader::Begin() {
  parser_ = std::make_unique<Parser>();
  auto& parser = parser_->http;
  parser.eager(true);
  parser.header_limit(kHeaderBytes);
  parser.body_limit(max_body_ == 0 ? std::numeric_limits<std::uint64_t>::max()
                                   : static_cast<std::uint64_t>(max_body_));
}

Status ResponseReader::Feed(std::string_view bytes) {
  if (unread_.empty()) {
    const auto used = Parse(bytes);
    if (!used) return used.error();
    unread_.assign(bytes.substr(*used));
  } else {
    unread_.append(bytes);
    // In a body only the syntax of chunks is left unread.
    if (head_done() && !MayParseChunk(unread_.size())) return muster::Done{};
    const auto used = Parse(unread_);
    if (!used) return used.error();
    unread_.erase(0, *used);
  }
  return muster::Done{};
}

// Parses what it can; answers with the number of bytes that were consumed.
Result<std::size_t> ResponseReader::Parse(std::string_view bytes) {
  std::size_t used = 0;
  while (used < bytes.size() && !done()) {
    boost::system::error_code error;
    used += parser_->http.put(boost::asio::buffer(bytes.data() + used, bytes.size() - used), error);
    if (error == http::error::need_more) break;
    if (error == http::error::body_limit)
      return Unavailable("its answer has over " + std::to_string(max_body_ >> 20) + " MiB");
    if (error) return Unavailable("its answer is not HTTP: " + error.message());
    // 100 Continue, 103 Early Hints: the final answer follows.
    if (done() && status() / 100 == 1) Begin();
  }
  return used;
}

Status ResponseReader::FeedEnd() {
  boost::system::error_code error;
  if (parser_->http.got_some()) parser_->http.put_eof(error);
  if (!done() || error) return Unavailable("it closed the connection before its answer was over");
  return muster::Done{};
}

bool ResponseReader::head_done() const { return parser_->http.is_header_done(); }
bool ResponseReader::done() const { return parser_->http.is_done(); }
int ResponseReader::status() const { return static_cast<int>(parser_->http.get().result_int()); }
// With bytes left over the connection is not reused: they would be read as the next answer.
bool ResponseReader::keep_alive() const { return parser_->http.keep_alive() && unread_.empty(); }

std::int64_t ResponseReader::retry_after_ms() const {
  const auto text = parser_->http.get()[http::field::retry_after];
  if (text.empty()) return 0;
  std::int64_t seconds = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  // API servers send seconds; an HTTP date counts as one second.
  if (error != std::errc{} || end != text.data() + text.size() || seconds < 0) seconds = 1;
  return std::clamp<std::int64_t>(seconds, 1, kLongestRetryS) * 1000;
}

std::string ResponseReader::TakeBody() { return std::exchange(parser_->http.get().body(), {}); }

}  // namespace muster::k8s

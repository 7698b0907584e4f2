// Parsing of a member's answers, and what its refusals mean.
//
// A document is parsed as it is first; only if that fails, bytes that are not UTF-8 are replaced
// and it is parsed again, so that valid documents (nearly all) are not copied. A monotonic arena
// makes parsing and dropping cheap: one allocation per document.
#include "backends/k8s/member_json.h"

#include <cstdint>
#include <utility>

#include "schedd/text/lenient.h"

namespace muster::k8s {
namespace {

// Schemas in CRDs nest deeper than anything that users write.
constexpr std::size_t kDepth = 200;
constexpr std::size_t kShownBytes = 300;
// Parsed values take two to three times the bytes of the text.
constexpr std::size_t kSmallestArena = 4096, kArenaShare = 3;

// The length of the UTF-8 character at the front of `text`; 0 if there is none (RFC 3629).
std::size_t CharacterAt(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return 1;
  const std::size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
  }
  // Overlong forms, surrogates, and code points beyond U+10FFFF.
  if (first == 0xE0 && byte(1) < 0xA0) return 0;
  if (first == 0xED && byte(1) > 0x9F) return 0;
  if (first == 0xF0 && byte(1) < 0x90) return 0;
  if (first == 0xF4 && byte(1) > 0x8F) return 0;
  return length;
}

// The text with every byte that is not UTF-8 replaced by U+FFFD.
std::string MadeUtf8(std::string_view text) {
  std::string out;
  out.reserve(text.size() + 16);
  while (!text.empty()) {
    const std::size_t length = CharacterAt(text);
    if (length == 0) {
      out += "\xEF\xBF\xBD";
    } else {
      out += text.substr(0, length);
    }
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return out;
}

json::value Parse(std::string_view text, boost::system::error_code& error,
                  json::storage_ptr arena) {
  json::parse_options options;
  options.max_depth = kDepth;
  return json::parse(text, error, std::move(arena), options);
}

Error NoJson(const boost::system::error_code& error) {
  return {Code::kDataLoss, "the member's answer is not JSON: " + error.message()};
}

// The table of ErrorOf.
Code CodeOf(int status, const std::string& reason) {
  if (status == 409 && reason == "AlreadyExists") return Code::kAlreadyExists;
  if (status == 410) return Code::kOutOfRange;
  return status >= 500 ? Code::kUnavailable : CodeOfHttpStatus(status);
}

}  // namespace

Result<json::value> ParseMemberJson(std::string_view text) {
  const auto arena = [] { return json::make_shared_resource<json::monotonic_resource>(); };
  boost::system::error_code error;
  json::value value = Parse(text, error, arena());
  if (!error) return value;
  const std::string mended = MadeUtf8(text);
  if (mended != text) value = Parse(mended, error, arena());
  if (error) return NoJson(error);
  return value;
}

MemberDocument::MemberDocument(std::string_view text)
    : arena_(std::max(kSmallestArena, text.size() * kArenaShare)) {
  boost::system::error_code error;
  // Emplaced, because an assignment would copy into another arena.
  value_.emplace(Parse(text, error, &arena_));
  if (!error) return;
  const std::string mended = MadeUtf8(text);
  if (mended != text) value_.emplace(Parse(mended, error, &arena_));
  if (error) error_ = NoJson(error);
}

ApiStatus ReadApiStatus(const json::value& status) {
  ApiStatus out;
  if (ViewAt(status, "kind") != "Status") return out;
  out.reason = TextAt(status, "reason");
  out.message = TextAt(status, "message");
  if (const auto code = IntegerAt(status, "code")) out.code = static_cast<int>(*code);
  return out;
}

ApiStatus ReadApiStatus(const ApiResponse& response) {
  ApiStatus out;
  if (const auto value = ParseMemberJson(response.body); value) out = ReadApiStatus(*value);
  out.code = response.status;
  if (out.reason.empty() && out.message.empty())
    out.message = MadeUtf8(std::string_view(response.body).substr(0, kShownBytes));
  while (!out.message.empty() && out.message.back() == '\n') out.message.pop_back();
  if (out.message.empty()) out.message = "HTTP " + std::to_string(response.status);
  return out;
}

Error ErrorOf(const ApiResponse& response) {
  const ApiStatus status = ReadApiStatus(response);
  Error out{CodeOf(response.status, status.reason), status.message};
  out.retry_after_ms = response.retry_after_ms;
  return out;
}

}  // namespace muster::k8s

// The text form of LogPlace: two decimal numbers with a point between them.
#include "api/rest/log_place.h"

#include <charconv>

namespace muster::rest {
namespace {

bool ReadCount(std::string_view text, std::int64_t* out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *out);
  return error == std::errc() && end == text.data() + text.size() && text.front() != '-';
}

}  // namespace

std::string LogPlaceText(const LogPlace& place, bool times) {
  const std::string offset = std::to_string(place.offset);
  return times ? offset + "." + std::to_string(place.skipped) : offset;
}

Result<LogPlace> ParseLogPlace(std::string_view text) {
  LogPlace out;
  if (text.empty()) return out;
  const std::size_t point = text.find('.');
  const bool read =
      ReadCount(text.substr(0, point), &out.offset) &&
      (point == std::string_view::npos || ReadCount(text.substr(point + 1), &out.skipped));
  if (!read)
    return InvalidField("offset", "is not what Muster-Log-Offset says: bytes, as 1024 or 1024.17");
  return out;
}

}  // namespace muster::rest

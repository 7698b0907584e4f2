// A file with a hash in its name never changes and is kept for a year; the page that names the
// files is asked for each time, and is 304 while it is the same.
#include "api/ui/page_answer.h"

#include <algorithm>
#include <cctype>

#include "api/ui/page_files.h"

namespace muster::ui {
namespace {

// Nothing from elsewhere, no script or style in the text, no frame around it, and no text becomes
// script: no policy of trusted types is allowed. The page asks the daemon alone, and the providers
// at which its reader signs in. data: is for the small images of style sheets.
std::string Policy(std::string_view sign_in_origins) {
  return "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
         "connect-src 'self'" +
         std::string(sign_in_origins) +
         "; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
         "require-trusted-types-for 'script'; trusted-types 'none'";
}

std::string_view Trimmed(std::string_view text) {
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front())) != 0)
    text.remove_prefix(1);
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back())) != 0)
    text.remove_suffix(1);
  return text;
}

// Takes the next part of a list off `rest`.
std::string_view NextPart(std::string_view* rest, char separator) {
  const std::size_t end = rest->find(separator);
  const std::string_view part = rest->substr(0, end);
  *rest = end == std::string_view::npos ? std::string_view() : rest->substr(end + 1);
  return Trimmed(part);
}

bool EqualNoCase(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](unsigned char x, unsigned char y) {
    return std::tolower(x) == std::tolower(y);
  });
}

// Whether the parameters of a coding give it the weight 0. "q=0", "q=0.0" and "q=0.000" do.
bool IsRefused(std::string_view parameters) {
  while (!parameters.empty()) {
    const std::string_view one = NextPart(&parameters, ';');
    if (one.size() < 3 || (one[0] != 'q' && one[0] != 'Q') || one[1] != '=') continue;
    return one.substr(2).find_first_not_of("0.") == std::string_view::npos;
  }
  return false;
}

// Whether an If-None-Match header names the tag; a weak one is as good (RFC 9110, 13.1.2).
bool Matches(std::string_view if_none_match, std::string_view tag) {
  while (!if_none_match.empty()) {
    std::string_view one = NextPart(&if_none_match, ',');
    if (one.starts_with("W/")) one.remove_prefix(2);
    if (one == "*" || one == tag) return true;
  }
  return false;
}

PageAnswer AnswerWith(const PageFile& file, const PageAsk& ask, const char* keep) {
  PageAnswer answer;
  std::string_view coding;
  std::string_view body = file.plain;
  if (TakesCoding(ask.accept_encoding, "br")) {
    coding = "br";
    body = file.brotli;
  } else if (TakesCoding(ask.accept_encoding, "gzip")) {
    coding = "gzip";
    body = file.gzip;
  }
  // Each form of the content has a tag of its own, as a strong tag must.
  std::string tag = "\"" + std::string(file.hash);
  if (!coding.empty()) tag += "-" + std::string(coding);
  tag += '"';
  answer.type = file.type;
  answer.headers = {{"ETag", tag},
                    {"Cache-Control", keep},
                    {"Vary", "Accept-Encoding"},
                    {"Content-Security-Policy", Policy(ask.sign_in_origins)},
                    {"Referrer-Policy", "no-referrer"},
                    {"X-Frame-Options", "DENY"},
                    {"Cross-Origin-Opener-Policy", "same-origin"},
                    {"Cross-Origin-Resource-Policy", "same-origin"}};
  if (Matches(ask.if_none_match, tag)) {
    answer.status = 304;
    return answer;
  }
  if (!coding.empty()) answer.headers.emplace_back("Content-Encoding", coding);
  answer.body = body;
  return answer;
}

}  // namespace

bool TakesCoding(std::string_view accept_encoding, std::string_view coding) {
  bool others = false;
  while (!accept_encoding.empty()) {
    std::string_view one = NextPart(&accept_encoding, ',');
    const std::string_view name = NextPart(&one, ';');
    if (EqualNoCase(name, coding)) return !IsRefused(one);
    if (name == "*") others = !IsRefused(one);
  }
  return others;
}

PageAnswer IndexAnswer(const PageAsk& ask) {
  for (const PageFile& file : PageFiles()) {
    if (file.name == "index.html") return AnswerWith(file, ask, "no-cache");
  }
  return {404, {}, {}, {}};
}

PageAnswer FileAnswer(std::string_view name, const PageAsk& ask) {
  for (const PageFile& file : PageFiles()) {
    if (file.name == name && name != "index.html")
      return AnswerWith(file, ask, "public, max-age=31536000, immutable");
  }
  return {404, {}, {}, {}};
}

}  // namespace muster::ui

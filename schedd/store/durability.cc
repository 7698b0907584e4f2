// synchronous_standby_names is read as PostgreSQL's syncrep_gram.y does: a list of names, or a
// number of a list in parentheses, with FIRST or ANY before it.
#include "schedd/store/durability.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <string_view>

namespace muster {
namespace {

std::string_view WithoutSpace(std::string_view text) {
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front())) != 0)
    text.remove_prefix(1);
  return text;
}

// Takes the word off the front if a space or a number follows it: a standby may be called "first".
bool TakeWord(std::string_view word, std::string_view* text) {
  if (text->size() <= word.size()) return false;
  const bool same = std::equal(word.begin(), word.end(), text->begin(), [](char a, char b) {
    return a == std::tolower(static_cast<unsigned char>(b));
  });
  const std::string_view rest = WithoutSpace(text->substr(word.size()));
  if (!same || rest.empty() || std::isdigit(static_cast<unsigned char>(rest.front())) == 0)
    return false;
  *text = rest;
  return true;
}

// "a synchronous standby" or "2 synchronous standbys".
std::string Standbys(int count) {
  return count == 1 ? "a synchronous standby" : std::to_string(count) + " synchronous standbys";
}

bool WritesThrough(const DatabaseFacts& facts) {
  return facts.synchronous_commit == "on" || facts.synchronous_commit == "remote_apply";
}

}  // namespace

const char* NameOf(Durability durability) {
  switch (durability) {
    case Durability::kNone:
      return "none";
    case Durability::kCrash:
      return "crash";
    case Durability::kServerLoss:
      return "server-loss";
  }
  return "none";
}

// A number alone is the name of a standby; one before a parenthesis counts.
int RequiredStandbys(const std::string& synchronous_standby_names) {
  std::string_view text = WithoutSpace(synchronous_standby_names);
  if (text.empty()) return 0;
  if (!TakeWord("first", &text)) TakeWord("any", &text);
  int count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  const std::string_view rest =
      WithoutSpace(text.substr(static_cast<std::size_t>(end - text.data())));
  return error == std::errc() && count > 0 && rest.starts_with('(') ? count : 1;
}

Durability DurabilityOf(const DatabaseFacts& facts) {
  if (!facts.fsync || !facts.full_page_writes || !WritesThrough(facts)) return Durability::kNone;
  return RequiredStandbys(facts.synchronous_standby_names) > 0 ? Durability::kServerLoss
                                                               : Durability::kCrash;
}

std::string DurabilityText(const DatabaseFacts& facts) {
  if (!WritesThrough(facts)) {
    return "acknowledged jobs may be lost: synchronous_commit of the daemon's session is " +
           (facts.synchronous_commit.empty() ? "not known" : facts.synchronous_commit);
  }
  if (!facts.fsync)
    return "acknowledged jobs may be lost when the database's host crashes: fsync is off";
  if (!facts.full_page_writes) {
    return "a crash of the database's host may damage the database: full_page_writes is off";
  }
  const int required = RequiredStandbys(facts.synchronous_standby_names);
  if (required == 0) {
    return "an acknowledged job survives crashes; it is lost with the database's disk, because no "
           "synchronous standby is configured";
  }
  std::string text = "an acknowledged job is on the primary and on " + Standbys(required) +
                     ", and survives the loss of " +
                     (required == 1 ? "one server" : std::to_string(required) + " servers") +
                     " if a synchronous standby is promoted";
  if (facts.standbys && *facts.standbys < required) {
    text += "; nothing is acknowledged now, because " + std::to_string(*facts.standbys) + " of " +
            std::to_string(required) + " synchronous standbys stream";
  }
  return text;
}

}  // namespace muster

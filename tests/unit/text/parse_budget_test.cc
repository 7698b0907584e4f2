// What the text of one request may become in memory: counted, refused by the limit's name, and
// measured in a process of its own.
#include "schedd/text/parse_budget.h"
#include "schedd/text/documents.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <malloc.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <optional>
#include <string>

#include "schedd/base/limits.h"
#include "schedd/text/yaml.h"

namespace muster {
namespace {

using testing::HasSubstr;

// Anchors that grow to some 100,000 values in each of 1,000 documents: 183 KiB of text.
std::string AnchorsInEveryDocument() {
  std::string one = "---\na: &a [1,1,1,1,1,1,1,1,1,1]\n";
  for (char name = 'b'; name <= 'e'; ++name) {
    one += std::string(1, name) + ": &" + name + " [";
    for (int i = 0; i < 10; ++i) one += (i == 0 ? "*" : ",*") + std::string(1, name - 1);
    one += "]\n";
  }
  std::string all;
  for (std::size_t i = 0; i < limits::kYamlDocuments; ++i) all += one;
  return all;
}

// Anchors within anchors: each keeps a copy of all that it holds.
std::string NestedAnchors() {
  std::string text;
  for (int i = 0; i < 60; ++i) text += "&a" + std::to_string(i) + " [";
  for (int i = 0; i < 60'000; ++i) text += "1,";
  return text + std::string(60, ']');
}

std::string Wide(std::string_view piece, std::size_t bytes, std::string_view open,
                 std::string_view close) {
  std::string text(open);
  while (text.size() + piece.size() + close.size() < bytes) text += piece;
  if (text.back() == ',') text.pop_back();
  return text + std::string(close);
}

std::string Documents(const std::string& one, std::size_t count) {
  std::string all;
  for (std::size_t i = 0; i < count; ++i) all += "---\n" + one;
  return all;
}

TEST(ParseBudget, CountsTheValuesOfAllDocumentsTogether) {
  const auto bomb = ParseYaml(AnchorsInEveryDocument());
  ASSERT_FALSE(bomb.ok());
  EXPECT_EQ(bomb.error().code, Code::kInvalidArgument);
  EXPECT_THAT(bomb.error().detail,
              HasSubstr("more than 500000 values in one request, copies made by anchors and "
                        "aliases included"));
  EXPECT_THAT(bomb.error().detail, HasSubstr("YAML document "));
}

TEST(ParseBudget, CountsWhatAnAnchorKeeps) {
  const auto nested = ParseYaml(NestedAnchors());
  ASSERT_FALSE(nested.ok());
  EXPECT_THAT(nested.error().detail, HasSubstr("more than 500000 values"));
}

TEST(ParseBudget, CountsRepeatedTextOfAllDocumentsTogether) {
  std::string one = "a: &a " + std::string(10'000, 'x') + "\nb: [*a,*a,*a,*a,*a,*a,*a,*a]\n";
  const auto bomb = ParseYaml(Documents(one, 200));
  ASSERT_FALSE(bomb.ok());
  EXPECT_THAT(bomb.error().detail, HasSubstr("repeat more than 8388608 bytes of text"));
}

TEST(ParseBudget, IsSharedByAllTextsOfARequest) {
  ParseBudget budget = ParseBudget::ForRequest();
  const std::string half = Wide("0,", 2 * limits::kRequestValues * 3 / 4, "[", "]");
  EXPECT_TRUE(ParseJson(half, &budget).ok());
  const auto second = ParseDocuments(half, &budget);
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.error().code, Code::kInvalidArgument);
  EXPECT_THAT(second.error().detail, HasSubstr("JSON: more than 500000 values in one request"));
  EXPECT_TRUE(ParseJson(half + " ").ok()) << "text that no request brought has no such bound";
}

TEST(ParseBudget, OfTooManyLargeRequestsAtOnceOneIsAskedToComeAgain) {
  const std::string most = Wide("0,", 2 * limits::kRequestValues - 100, "[", "]");
  std::optional<ParseBudget> first(ParseBudget::ForRequest()), second(ParseBudget::ForRequest());
  ASSERT_TRUE(ParseJson(most, &*first).ok());
  ASSERT_TRUE(ParseJson(most, &*second).ok());
  ParseBudget third = ParseBudget::ForRequest();
  for (const auto& refused : {ParseDocuments(most, &third), ParseYaml("- 1\n", &third)}) {
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code, Code::kResourceExhausted);
    EXPECT_GT(refused.error().retry_after_ms, 0);
  }
  ParseBudget small = ParseBudget::ForRequest();
  EXPECT_TRUE(ParseJson("{\"a\":[1,2,3]}", &small).ok()) << "small ones pass";
  first.reset();
  ParseBudget again = ParseBudget::ForRequest();
  EXPECT_TRUE(ParseJson(most, &again).ok());
}

TEST(ParseBudget, TakesAThousandManifestsOfFourKiB) {
  std::string job = "apiVersion: batch/v1\nkind: Job\nmetadata:\n  name: a\nspec:\n  env:\n";
  while (job.size() < 4096) job += "  - name: VARIABLE\n    value: some value of it\n";
  const auto documents = ParseYaml(Documents(job, limits::kYamlDocuments));
  ASSERT_TRUE(documents.ok()) << documents.error().detail;
  EXPECT_EQ(documents->size(), limits::kYamlDocuments);
}

// How many MB the peak of a fresh process grows while it runs `work`; -1 if it cannot be measured.
std::int64_t PeakMb(const std::function<void()>& work) {
  int ends[2];
  if (::pipe(ends) != 0) return -1;
  // Memory that earlier cases left free would hide what this one takes.
  ::malloc_trim(0);
  const pid_t child = ::fork();
  if (child == 0) {
    rusage before{}, after{};
    ::getrusage(RUSAGE_SELF, &before);
    work();
    ::getrusage(RUSAGE_SELF, &after);
    const std::int64_t grown = (after.ru_maxrss - before.ru_maxrss) / 1024;
    (void)!::write(ends[1], &grown, sizeof grown);
    ::_exit(0);
  }
  std::int64_t grown = -1;
  if (::read(ends[0], &grown, sizeof grown) != sizeof grown) grown = -1;
  ::close(ends[0]);
  ::close(ends[1]);
  ::waitpid(child, nullptr, 0);
  return grown;
}

TEST(ParseBudget, TheWorstTextsStayWithin64MB) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  constexpr std::int64_t kMost = 640;  // the shadow memory of a sanitizer does not count
#else
  constexpr std::int64_t kMost = 64;
#endif
  struct Case {
    const char* name;
    std::string text;
  };
  std::string keys = "{";
  for (int i = 0; keys.size() < limits::kRequestBytes - 16; ++i)
    keys += "\"" + std::to_string(i) + "\":0,";
  keys.back() = '}';
  std::string map;
  for (int i = 0; map.size() < limits::kRequestBytes - 16; ++i) map += std::to_string(i) + ":\n";
  const std::size_t most = limits::kRequestBytes;
  const Case cases[] = {
      {"anchors in every document", AnchorsInEveryDocument()},
      {"anchors within anchors", NestedAnchors()},
      {"JSON, a wide array", Wide("0,", most, "[", "]")},
      {"JSON, empty arrays", Wide("[],", most, "[", "]")},
      {"JSON, small arrays", Wide("[0],", most, "[", "]")},
      {"JSON, small objects", Wide("{\"a\":0},", most, "[", "]")},
      {"JSON, many keys", keys},
      {"JSON, short strings", Wide("\"0123456789abcdef\",", most, "[", "]")},
      {"JSON, one string", "\"" + std::string(most - 2, 'x') + "\""},
      {"YAML, a wide array", Wide("0,", most, "[", "]")},
      {"YAML, small objects", Wide("{a: 0},", most, "[", "]")},
      {"YAML, many keys", map},
      {"YAML, short strings", Wide("- 0123456789abcdef\n", most, "", "")},
      {"YAML, one string", std::string(most, 'x')},
      {"YAML, documents", Documents(Wide("{a: 0},", 8000, "[", "]") + "\n", 1000)},
  };
  for (const Case& one : cases) {
    // The text itself is held before. A request's bytes add at most 8 MiB.
    const std::int64_t grown = PeakMb([&] {
      const bool json = std::string_view(one.name).starts_with("JSON");
      ParseBudget budget = ParseBudget::ForRequest();
      if (json) {
        const auto value = ParseJson(one.text, &budget);
      } else {
        const auto values = ParseYaml(one.text, &budget);
      }
    });
    EXPECT_GE(grown, 0) << one.name;
    EXPECT_LE(grown, kMost - 8) << one.name;
    RecordProperty(std::string(one.name), static_cast<int>(grown));
    std::printf("%-28s %3lld MB\n", one.name, static_cast<long long>(grown));
  }
}

}  // namespace
}  // namespace muster

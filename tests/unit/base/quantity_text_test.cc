// Texts of quantities as an API server writes them.
#include "schedd/base/quantity_text.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

TEST(CanonicalText, IsWhatAnApiServerAnswers) {
  const std::pair<const char*, const char*> cases[] = {
      {"1", "1"},         {"0", "0"},
      {"1000m", "1"},     {"0.5", "500m"},
      {"1.5", "1500m"},   {"100m", "100m"},
      {"1024Mi", "1Gi"},  {"1.5Gi", "1536Mi"},
      {"1Ki", "1Ki"},     {"1023Mi", "1023Mi"},
      {"0.5Ki", "512"},   {"10000", "10k"},
      {"1500", "1500"},   {"2000M", "2G"},
      {"1e3", "1e3"},     {"1500e3", "1500e3"},
      {"12E3", "12e3"},   {"1E", "1E"},
      {"0.1n", "1n"},     {"-500m", "-500m"},
      {"+2", "2"},        {"1048576", "1048576"},
      {"0.000001", "1u"}, {"5e-1", "500e-3"},
      {"7812.5Ki", "8M"}, {"1000.5Ki", "1024512"},
  };
  for (const auto& [text, wanted] : cases) EXPECT_EQ(CanonicalText(text), wanted) << text;
  for (const char* text : {"", "much", "1 Gi", "1e", "99999999999E"})
    EXPECT_FALSE(CanonicalText(text).has_value()) << text;
}

TEST(IsWholeAmount, KnowsFractionsOfAllButCpu) {
  EXPECT_TRUE(IsWholeAmount("cpu", "1.5"));
  EXPECT_TRUE(IsWholeAmount("memory", "1.5Gi"));
  EXPECT_TRUE(IsWholeAmount("nvidia.com/gpu", "2000m"));
  EXPECT_FALSE(IsWholeAmount("memory", "100m"));
  EXPECT_FALSE(IsWholeAmount("nvidia.com/gpu", "1.5"));
  EXPECT_FALSE(IsWholeAmount("pods", "2500m"));
  EXPECT_TRUE(IsWholeAmount("pods", "many")) << "no quantity: said by who reads it";
}

}  // namespace
}  // namespace muster

// Quantities beyond plain amounts: reals, billionths and what stands for a refused one.
#include "schedd/base/quantity.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

TEST(ParseReal, ReadsWeights) {
  EXPECT_DOUBLE_EQ(*ParseReal("100m"), 0.1);
  EXPECT_DOUBLE_EQ(*ParseReal("0"), 0);
  EXPECT_DOUBLE_EQ(*ParseReal("2Ki"), 2048);
  EXPECT_DOUBLE_EQ(*ParseReal("-1.5"), -1.5);
  EXPECT_DOUBLE_EQ(*ParseReal("2n"), 2e-9);
  EXPECT_FALSE(ParseReal("heavy").ok());
}

TEST(ParseBillionths, KeepsFractionsAndSigns) {
  EXPECT_EQ(static_cast<std::int64_t>(*ParseBillionths("3m")), 3'000'000);
  EXPECT_EQ(static_cast<std::int64_t>(*ParseBillionths("-1024")), -1'024'000'000'000);
  EXPECT_EQ(static_cast<std::int64_t>(*ParseBillionths("0.1n")), 1) << "rounded up";
  EXPECT_FALSE(ParseBillionths("100E").ok());
}

TEST(NearestQuantity, IsAnEndOfTheRange) {
  EXPECT_EQ(NearestQuantity("-10m"), 0);
  EXPECT_EQ(NearestQuantity("99999999999999999999E"), kUnlimited);
  EXPECT_FALSE(NearestQuantity("much").has_value());
}

}  // namespace
}  // namespace muster

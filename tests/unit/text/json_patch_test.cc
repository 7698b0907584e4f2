#include "schedd/text/json_patch.h"

#include <gtest/gtest.h>

#include <string>

namespace muster {
namespace {

constexpr char kDocument[] = R"({"a":{"x/y":1,"b~c":2,"d":3},"list":[1,2]})";

TEST(JsonPatchTest, ChangesThePartThatThePathNames_OrSaysWhyNot) {
  struct Case {
    const char* name;
    const char *op, *path, *value;
    const char *problem, *expected;  // "": as it was
  };
  const Case cases[] = {
      {"a new member", "add", "/a/n", "7", "",
       R"({"a":{"x/y":1,"b~c":2,"d":3,"n":7},"list":[1,2]})"},
      {"escaped keys", "replace", "/a/x~1y", "7", "",
       R"({"a":{"x/y":7,"b~c":2,"d":3},"list":[1,2]})"},
      {"the others keep their order", "remove", "/a/b~0c", "", "",
       R"({"a":{"x/y":1,"d":3},"list":[1,2]})"},
      {"between entries", "add", "/list/1", "7", "",
       R"({"a":{"x/y":1,"b~c":2,"d":3},"list":[1,7,2]})"},
      {"behind the last", "add", "/list/-", "7", "",
       R"({"a":{"x/y":1,"b~c":2,"d":3},"list":[1,2,7]})"},
      {"an entry", "remove", "/list/0", "", "", R"({"a":{"x/y":1,"b~c":2,"d":3},"list":[2]})"},
      {"no such member", "replace", "/a/n", "7", "there is nothing at the path", ""},
      {"no such parent", "add", "/b/n", "7", "there is nothing at /b", ""},
      {"no such entry", "replace", "/list/2", "7", "the list there has 2 entries", ""},
      {"a position with a nought before it", "remove", "/list/01", "",
       "the list there has 2 entries", ""},
      {"inside a number", "add", "/a/d/n", "7", "there is neither an object nor a list at /a/d",
       ""},
      {"no pointer", "add", "a", "7", "the path does not start with /", ""},
      {"half an escape in the way", "add", "/a~/n", "7", "there is nothing at /a~", ""},
  };
  for (const Case& one : cases) {
    json::value document = ParseJson(kDocument).value();
    const std::string op = one.op;
    const json::value value = *one.value == 0 ? json::value() : ParseJson(one.value).value();
    const std::string problem = op == "add"       ? AddAt(one.path, value, &document)
                                : op == "replace" ? ReplaceAt(one.path, value, &document)
                                                  : RemoveAt(one.path, &document);
    EXPECT_EQ(problem, one.problem) << one.name;
    EXPECT_EQ(WriteJson(document), *one.expected == 0 ? kDocument : one.expected) << one.name;
  }
}

}  // namespace
}  // namespace muster

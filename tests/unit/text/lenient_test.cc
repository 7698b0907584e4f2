#include "schedd/text/lenient.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace muster {
namespace {

const json::value& Document() {
  static const json::value document = json::parse(
      R"({"object":{"object":{"text":"in"},"text":"below","a/b":"slash","a.b":"dot","":"none"},)"
      R"("array":[{"text":"first"}],"emptyObject":{},"emptyArray":[],"text":"t","emptyText":"",)"
      R"("number":7,"negative":-7,"huge":18446744073709551615,"double":1.0,"digits":"7",)"
      R"("yes":true,"no":false,"yesText":"true","null":null})");
  return document;
}

const std::vector<std::string>& Types() {
  static const std::vector<std::string> types = {"object", "array",  "text", "number",
                                                 "double", "yes",    "null", "absent",
                                                 "huge",   "digits", "no",   "yesText"};
  return types;
}

std::string Shown(const json::value* value) {
  return value == nullptr ? "absent" : json::serialize(*value);
}

TEST(LenientTest, AValueIsFoundAlongObjectsOnly) {
  const auto expect = [](const char* name, const JsonPath& path, const char* expected) {
    EXPECT_EQ(Shown(FindValue(Document(), path)), expected) << name;
    EXPECT_EQ(Shown(FindValue(&Document(), path)), expected) << name;
    EXPECT_EQ(Shown(FindValue(Document().get_object(), path)), expected) << name;
    EXPECT_EQ(Shown(FindValue(&Document().get_object(), path)), expected) << name;
  };
  expect("one key", "text", "\"t\"");
  expect("a string as the key", std::string("text"), "\"t\"");
  expect("a view as the key", std::string_view("text"), "\"t\"");
  expect("a list of one key", {"text"}, "\"t\"");
  expect("two keys", {"object", "text"}, "\"below\"");
  expect("three keys", {"object", "object", "text"}, "\"in\"");
  expect("null is a value", "null", "null");
  expect("an absent member", "none", "absent");
  expect("an absent member below", {"object", "none"}, "absent");
  expect("below an absent one", {"none", "text", "text"}, "absent");
  expect("below a string", {"text", "text"}, "absent");
  expect("below null", {"null", "text"}, "absent");
  expect("an index is no key", {"array", "0"}, "absent");
  expect("a key may hold a slash", {"object", "a/b"}, "\"slash\"");
  expect("a key may hold a dot", {"object", "a.b"}, "\"dot\"");
  expect("one key is not split at its dots", "object.text", "absent");
  expect("a key may be empty", {"object", ""}, "\"none\"");
  expect("dots: one key", JsonPath::Dotted("text"), "\"t\"");
  expect("dots: two keys", JsonPath::Dotted("object.text"), "\"below\"");
  expect("dots: three keys", JsonPath::Dotted("object.object.text"), "\"in\"");
  expect("dots: absent", JsonPath::Dotted("object.none"), "absent");
  expect("dots: below a string", JsonPath::Dotted("text.text"), "absent");
  expect("dots: one at the end adds no key", JsonPath::Dotted("object.text."), "\"below\"");
}

TEST(LenientTest, APathWithoutKeysNamesTheRoot) {
  const json::value text = "t";
  EXPECT_EQ(FindValue(text, {}), &text);
  EXPECT_EQ(FindValue(text, JsonPath::Dotted("")), &text);
  EXPECT_EQ(TextAt(text, {}), "t");
  EXPECT_EQ(FindObject(text, {}), nullptr);
  EXPECT_EQ(FindObject(Document(), {}), &Document().get_object());
  EXPECT_EQ(&ObjectOrEmpty(Document()), &Document().get_object());
  EXPECT_TRUE(ObjectOrEmpty(text).empty());
  EXPECT_EQ(FindValue(Document().get_object(), {}), nullptr) << "an object is no value";
}

TEST(LenientTest, NothingIsFoundInNothingAndInWhatIsNoObject) {
  const json::value text = "t", list = json::array{1}, null;
  for (const json::value* root : {static_cast<const json::value*>(nullptr), &text, &list, &null}) {
    EXPECT_EQ(FindValue(root, "text"), nullptr);
    EXPECT_EQ(FindValue(root, {"object", "text"}), nullptr);
    EXPECT_EQ(FindValue(root, JsonPath::Dotted("object.text")), nullptr);
    EXPECT_EQ(FindObject(root, "object"), nullptr);
    EXPECT_EQ(FindArray(root, "array"), nullptr);
    EXPECT_EQ(FindText(root, "text"), nullptr);
    EXPECT_TRUE(ObjectOrEmpty(root, "object").empty());
    EXPECT_TRUE(ArrayOrEmpty(root, "array").empty());
    EXPECT_EQ(TextAt(root, "text"), "");
    EXPECT_EQ(ViewAt(root, "text"), "");
    EXPECT_EQ(IntegerAt(root, "number"), std::nullopt);
    EXPECT_FALSE(FlagAt(root, "yes"));
  }
  const json::object* no_object = nullptr;
  EXPECT_EQ(FindValue(no_object, "text"), nullptr);
  EXPECT_EQ(FindValue(no_object, {}), nullptr);
}

TEST(LenientTest, EachFormTakesItsTypeAlone) {
  for (const std::string& key : Types()) {
    const json::value* value = Document().get_object().if_contains(key);
    EXPECT_EQ(FindObject(Document(), key), key == "object" ? value->if_object() : nullptr) << key;
    EXPECT_EQ(FindArray(Document(), key), key == "array" ? value->if_array() : nullptr) << key;
    const bool text = key == "text" || key == "digits" || key == "yesText";
    EXPECT_EQ(FindText(Document(), key), text ? value->if_string() : nullptr) << key;
    EXPECT_EQ(ObjectOrEmpty(Document(), key).size(), key == "object" ? 5u : 0u) << key;
    EXPECT_EQ(ArrayOrEmpty(Document(), key).size(), key == "array" ? 1u : 0u) << key;
    const std::string expected = text ? std::string(value->get_string()) : "";
    EXPECT_EQ(TextAt(Document(), key), expected) << key;
    EXPECT_EQ(ViewAt(Document(), key), expected) << key;
    EXPECT_EQ(IntegerAt(Document(), key),
              key == "number" ? std::optional<std::int64_t>(7) : std::nullopt)
        << key;
    EXPECT_EQ(FlagAt(Document(), key), key == "yes") << key;
  }
}

TEST(LenientTest, EachFormReadsBelow) {
  const json::value deep = json::object{{"a", {{"b", Document()}}}};
  EXPECT_NE(FindObject(deep, {"a", "b", "object"}), nullptr);
  EXPECT_NE(FindArray(deep, JsonPath::Dotted("a.b.array")), nullptr);
  ASSERT_NE(FindText(deep, {"a", "b", "text"}), nullptr);
  EXPECT_EQ(*FindText(deep, {"a", "b", "text"}), "t");
  EXPECT_EQ(ObjectOrEmpty(deep, {"a", "b", "object", "object"}).size(), 1u);
  EXPECT_EQ(ArrayOrEmpty(deep, {"a", "b", "array"}).size(), 1u);
  EXPECT_EQ(TextAt(deep, {"a", "b", "object", "text"}), "below");
  EXPECT_EQ(ViewAt(deep, JsonPath::Dotted("a.b.object.text")), "below");
  EXPECT_EQ(IntegerAt(deep, {"a", "b", "negative"}), -7);
  EXPECT_TRUE(FlagAt(deep, {"a", "b", "yes"}));
  EXPECT_FALSE(FlagAt(deep, {"a", "b", "no"}));
}

TEST(LenientTest, EmptyIsFound) {
  EXPECT_NE(FindObject(Document(), "emptyObject"), nullptr);
  EXPECT_NE(FindArray(Document(), "emptyArray"), nullptr);
  EXPECT_NE(FindText(Document(), "emptyText"), nullptr);
}

TEST(LenientTest, WhatIsToBeChangedIsTheMemberItself) {
  json::value document = Document();
  json::object& root = document.get_object();
  ASSERT_NE(MutableMember(&document, "text"), nullptr);
  *MutableMember(&document, "text") = "changed";
  EXPECT_EQ(TextAt(document, "text"), "changed");
  EXPECT_EQ(MutableMember(&document, "null"), root.if_contains("null"));
  EXPECT_EQ(MutableMember(&document, "absent"), nullptr);
  EXPECT_EQ(MutableMember(MutableMember(&document, "array"), "text"), nullptr);
  EXPECT_EQ(MutableMember(MutableMember(&document, "absent"), "text"), nullptr);
  ASSERT_NE(MutableObject(&root, "object"), nullptr);
  MutableObject(&root, "object")->erase("text");
  EXPECT_EQ(FindValue(document, {"object", "text"}), nullptr);
  EXPECT_NE(MutableObject(MutableObject(&root, "object"), "object"), nullptr);
  for (const std::string& key : Types()) {
    EXPECT_EQ(MutableObject(&root, key) != nullptr, key == "object") << key;
  }
  EXPECT_EQ(MutableObject(MutableObject(&root, "absent"), "object"), nullptr);
}

TEST(LenientTest, AnObjectIsMadeWhereThereIsNone) {
  for (const std::string& key : Types()) {
    json::value document = Document();
    json::object& root = document.get_object();
    const bool kept = key == "object";
    const json::object before = ObjectOrEmpty(root, key);
    json::object& made = MakeObjectAt(root, key);
    EXPECT_EQ(&made, FindObject(root, key)) << key;
    EXPECT_EQ(made, kept ? before : json::object()) << key;
  }
  json::object root;
  MakeObjectAt(MakeObjectAt(root, "metadata"), "labels")["a"] = "b";
  EXPECT_EQ(TextAt(root, {"metadata", "labels", "a"}), "b");
}

TEST(LenientTest, AnObjectThatIsThere_MovesNoOtherMember) {
  // Made in one piece, so there is no room for another member.
  json::object root = {{"a", "text"}, {"b", json::object()}};
  const json::value* before = root.if_contains("a");
  MakeObjectAt(root, "b");
  EXPECT_EQ(root.if_contains("a"), before);
}

}  // namespace
}  // namespace muster

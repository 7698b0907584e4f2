// For each kind of job the places of its pod templates are known (template_places.h). From there
// the manifest is walked beside the table of field types in pod_fields.h: a name that the type does
// not have is a warning, a field with a type of its own is walked with that type, and any other
// value is not looked into.
//
// The walk is made for each job of a batch, so it allocates nothing until it finds something: the
// path is a chain of Place values on the stack, and field names are found by binary search.
#include "schedd/shapes/parts/manifest_warnings.h"

#include <algorithm>
#include <map>
#include <string_view>

#include "schedd/base/limits.h"
#include "schedd/base/names.h"
#include "schedd/base/quantity_text.h"
#include "schedd/shapes/parts/field.h"
#include "schedd/shapes/parts/pod_fields.h"
#include "schedd/shapes/parts/template_places.h"
#include "schedd/text/lenient.h"

namespace muster::shapes {
namespace {

// One field of a type, with its own type or null.
struct TypeField {
  std::string_view name;
  const struct Type* type = nullptr;
};
// Short names first: most names differ in their length, so most comparisons compare two numbers.
bool NameBefore(std::string_view a, std::string_view b) {
  return a.size() != b.size() ? a.size() < b.size() : a < b;
}

struct Type {
  std::vector<TypeField> fields;  // in the order of NameBefore
  bool has_amounts = false;       // the type has requests and limits: ResourceRequirements

  const TypeField* Find(std::string_view name) const {
    const auto at = std::lower_bound(fields.begin(), fields.end(), name,
                                     [](const TypeField& field, std::string_view other) {
      return NameBefore(field.name, other);
    });
    return at == fields.end() || at->name != name ? nullptr : &*at;
  }
};
using Types = std::map<std::string_view, Type>;

// Parses the table of pod_fields.h. All types are made before the first field, so that a field can
// point at a type that stands later in the table; std::map keeps the pointers valid.
Types MakeTypes() {
  Types types;
  for (const PodType& type : PodTypes()) types[type.name];
  for (const PodType& type : PodTypes()) {
    Type& made = types[type.name];
    made.has_amounts = type.name == "ResourceRequirements";
    std::string_view rest = type.fields;
    while (!rest.empty()) {
      const std::size_t end = std::min(rest.find(' '), rest.size());
      const std::string_view word = rest.substr(0, end);
      rest.remove_prefix(std::min(end + 1, rest.size()));
      const std::size_t colon = word.find(':');
      const bool plain = colon == std::string_view::npos;
      made.fields.push_back(
          {word.substr(0, colon), plain ? nullptr : &types[word.substr(colon + 1)]});
    }
    std::sort(made.fields.begin(), made.fields.end(),
              [](const TypeField& one, const TypeField& other) {
      return NameBefore(one.name, other.name);
    });
  }
  return types;
}

const Type& TypeOf(std::string_view name) {
  static const Types types = MakeTypes();
  return types.find(name)->second;
}

// The place that the walk has reached: a member's name or an element's index below another place.
// Places lie on the stack; the text of a path is made only for a warning.
struct Place {
  const Place* above = nullptr;
  std::string_view member;
  std::size_t index = 0;
  bool is_element = false;
};

// The key without control characters, cut to what a person reads.
std::string Shown(std::string_view key) {
  const std::string quoted = Quoted(key);
  return quoted.substr(1, quoted.size() - 2);
}

std::string PathOf(const Place* place) {
  if (place == nullptr) return "";
  std::string path = PathOf(place->above);
  if (place->is_element) return path + "[" + std::to_string(place->index) + "]";
  return path + (path.empty() ? "" : ".") + Shown(place->member);
}

class Walk {
 public:
  // Follows the path of a template from position `at`.
  void Descend(const json::value& value, const std::vector<std::string_view>& path, std::size_t at,
               const Place* here) {
    if (Full()) return;
    if (at == path.size()) return Template(value, here);
    if (path[at] == "[]") {
      if (!value.is_array()) return;
      for (std::size_t i = 0; i < value.get_array().size(); ++i) {
        const Place element{here, "", i, true};
        Descend(value.get_array()[i], path, at + 1, &element);
      }
    } else if (path[at] == "{}") {
      if (!value.is_object()) return;
      for (const auto& member : value.get_object()) {
        const Place inside{here, member.key()};
        Descend(member.value(), path, at + 1, &inside);
      }
    } else if (const json::value* inner = FindValue(value, path[at])) {
      const Place inside{here, path[at]};
      Descend(*inner, path, at + 1, &inside);
    }
  }

  ManifestWarnings Take() { return std::move(found_); }

 private:
  bool Full() const {
    return found_.unknown_fields.size() + found_.others.size() >= limits::kManifestWarnings;
  }

  // The value at the end of a path: a pod template.
  void Template(const json::value& value, const Place* here) {
    static const Type& pod_template = TypeOf(PodTypes().front().name);
    static const Type& pod_spec = TypeOf("PodSpec");
    // Workloads of early API versions have a pod spec in place of the template.
    const bool flat =
        FindValue(value, "spec") == nullptr && FindValue(value, "containers") != nullptr;
    Visit(value, flat ? pod_spec : pod_template, here);
  }

  // Compares an object, or each object of a list, with its type.
  void Visit(const json::value& value, const Type& type, const Place* here) {
    if (Full()) return;
    if (const json::array* array = value.if_array()) {
      for (std::size_t i = 0; i < array->size(); ++i) {
        const Place element{here, "", i, true};
        Visit((*array)[i], type, &element);
      }
      return;
    }
    const json::object* object = value.if_object();
    if (object == nullptr) return;
    for (const auto& member : *object) {
      const TypeField* known = type.Find(member.key());
      const Place inside{here, member.key()};
      if (known == nullptr) {
        if (!Full()) found_.unknown_fields.push_back("unknown field \"" + PathOf(&inside) + "\"");
      } else if (known->type != nullptr) {
        Visit(member.value(), *known->type, &inside);
      } else if (type.has_amounts) {
        Amounts(member.value(), inside);
      }
    }
  }

  // Requests or limits: an amount of bytes must be a whole number.
  void Amounts(const json::value& amounts, const Place& here) {
    if (!amounts.is_object()) return;
    for (const auto& member : amounts.get_object()) {
      const std::string_view resource = member.key();
      if (Full() || !IsByteResource(resource)) continue;
      const auto text = QuantityText(member.value());
      if (!text || IsWholeAmount(resource, *text)) continue;
      found_.others.push_back(PathOf(&here) + "[" + std::string(resource) +
                              "]: fractional byte value " + Quoted(*text) +
                              " is invalid, must be an integer");
    }
  }

  ManifestWarnings found_;
};

}  // namespace

std::vector<std::string> ManifestWarnings::All() const {
  std::vector<std::string> all = unknown_fields;
  all.insert(all.end(), others.begin(), others.end());
  return all;
}

ManifestWarnings WarningsOf(const json::value& manifest) {
  Walk walk;
  const json::string* kind = FindText(manifest, "kind");
  if (kind == nullptr) return {};
  const std::string_view name(*kind);
  for (const TemplatePlace& place : TemplatePlaces()) {
    if (place.kind != name) continue;
    walk.Descend(manifest, place.path, 0, nullptr);
  }
  return walk.Take();
}

}  // namespace muster::shapes

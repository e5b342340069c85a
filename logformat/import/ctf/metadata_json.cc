#include "logformat/import/ctf/metadata_json.h"

#include <algorithm>

#include "absl/strings/str_format.h"

namespace countrace::importer {

const Json* PropertyOf(const Json& object, const char* name) {
  if (!object.is_object()) return nullptr;
  const auto found = object.find(name);
  return found == object.end() ? nullptr : &*found;
}

std::string TextOf(const Json& object, const char* name) {
  const Json* const property = PropertyOf(object, name);
  return property != nullptr && property->is_string()
             ? property->get_ref<const std::string&>()
             : "";
}

std::uint64_t NumberOf(const Json& object, const char* name,
                       std::uint64_t otherwise) {
  const Json* const property = PropertyOf(object, name);
  return property != nullptr && property->is_number_unsigned()
             ? property->get<std::uint64_t>()
             : otherwise;
}

bool HasRole(const Json& field_class, std::string_view role) {
  const Json* const roles = PropertyOf(field_class, "roles");
  return roles != nullptr && roles->is_array() &&
         std::any_of(roles->begin(), roles->end(), [&](const Json& one) {
           return one.is_string() && one.get_ref<const std::string&>() == role;
         });
}

std::string Identifier(std::string_view name) {
  std::string identifier(name);
  for (char& c : identifier) {
    const bool is_kept = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                         (c >= '0' && c <= '9') || c == '_';
    if (!is_kept) c = '_';
  }
  const bool needs_more =
      identifier.empty() || (identifier[0] >= '0' && identifier[0] <= '9');
  return needs_more ? "_" + identifier : identifier;
}

std::string Quoted(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      quoted += '\\';
      quoted += c;
    } else if (static_cast<unsigned char>(c) < ' ') {
      absl::StrAppendFormat(&quoted, "\\%03o", static_cast<unsigned char>(c));
    } else {
      quoted += c;
    }
  }
  return quoted + "\"";
}

}  // namespace countrace::importer

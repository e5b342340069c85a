// Properties of untrusted JSON, and texts of TSDL. Thread: any.
#ifndef COUNTRACE_LOGFORMAT_IMPORT_CTF_METADATA_JSON_H_
#define COUNTRACE_LOGFORMAT_IMPORT_CTF_METADATA_JSON_H_

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace countrace::importer {

using Json = nlohmann::json;

// Null: it is no object, or has no such property.
const Json* PropertyOf(const Json& object, const char* name);
// Empty: likewise, or it is no string.
std::string TextOf(const Json& object, const char* name);
// `otherwise`: likewise, or it is no unsigned integer.
std::uint64_t NumberOf(const Json& object, const char* name,
                       std::uint64_t otherwise);
bool HasRole(const Json& field_class, std::string_view role);

// An identifier of TSDL like `name`, which may be any text.
std::string Identifier(std::string_view name);
// A string literal of it.
std::string Quoted(std::string_view text);

}  // namespace countrace::importer

#endif  // COUNTRACE_LOGFORMAT_IMPORT_CTF_METADATA_JSON_H_

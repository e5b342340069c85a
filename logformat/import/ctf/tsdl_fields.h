// Field classes of CTF 2 (JSON) as types of TSDL. Section numbers are those of
// CTF2-SPEC-2.0; the spellings of its drafts, which traces of 2021 to 2024
// have, are read, too.
#ifndef COUNTRACE_LOGFORMAT_IMPORT_CTF_TSDL_FIELDS_H_
#define COUNTRACE_LOGFORMAT_IMPORT_CTF_TSDL_FIELDS_H_

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "logformat/import/ctf/metadata_json.h"

namespace countrace::importer {

// The six root structures of a trace (5.3.2).
enum class Root {
  kPacketHeader,
  kPacketContext,
  kEventHeader,
  kCommonContext,
  kSpecificContext,
  kPayload,
};

// Writes types. The first error ends it: what follows is empty text.
class TsdlFields {
 public:
  void AddAlias(const std::string& name, Json field_class) {
    aliases_[name] = std::move(field_class);
  }
  // The clock of the data streams whose classes follow; empty: none.
  void SetClock(std::string clock) { clock_ = std::move(clock); }

  // Null, or a structure; `of` names it in errors.
  std::string TypeOf(const Json* field_class, Root root, std::string of);
  // The structure itself: aliases are followed. Null: there is none.
  const Json* Resolve(const Json* field_class) const;
  const absl::Status& status() const { return status_; }

 private:
  // A structure around the field, and its absolute path; empty: it has none, as
  // an array or a variant is around it.
  struct Level {
    const Json* structure;
    std::string path;
  };

  std::string Type(const Json* field_class, std::string& suffix);
  std::string Structure(const Json& structure, const std::string& path);
  std::string Integer(const Json& integer, const Json* options);
  std::string Variant(const Json& variant, const std::string& selector);
  std::string Element(const Json& array, std::string& suffix);
  std::string Length(const Json& field_class);
  std::string Location(const Json& field_class, const char* property);
  // The member of the structure around it whose value selects.
  std::string Selector(const Json& variant);
  std::string NameOf(const Json& member) const;
  const Json* MemberOf(const Json& structure, std::string_view name) const;
  std::string Refuse(const std::string& what);

  std::map<std::string, Json> aliases_;
  std::string clock_;
  Root root_ = Root::kPayload;
  std::vector<std::string> field_;  // being written: its path, for errors
  std::vector<Level> levels_;
  std::size_t nodes_ = 0;
  absl::Status status_;
};

}  // namespace countrace::importer

#endif  // COUNTRACE_LOGFORMAT_IMPORT_CTF_TSDL_FIELDS_H_

// The metadata of a CTF 2 trace (JSON) as that of CTF 1.8 (TSDL), which is all
// that libbabeltrace2 before 2.1 reads. Packets have the same layout in both
// (CTF2-SPEC-2.0, section 6; CTF 1.8.3, sections 4 to 6).
#ifndef COUNTRACE_LOGFORMAT_IMPORT_CTF_TSDL_TRANSLATION_H_
#define COUNTRACE_LOGFORMAT_IMPORT_CTF_TSDL_TRANSLATION_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace countrace::importer {

// CTF 2 metadata is a sequence of JSON texts, each after a record separator
// (RFC 7464).
inline bool IsCtf2Metadata(std::string_view begin) {
  return begin.starts_with("\x1e");
}

// Errors: INVALID_ARGUMENT these are no such texts; UNIMPLEMENTED a field that
// TSDL cannot describe, by its name. Thread: any.
absl::StatusOr<std::string> TranslateToTsdl(std::string_view metadata);

}  // namespace countrace::importer

#endif  // COUNTRACE_LOGFORMAT_IMPORT_CTF_TSDL_TRANSLATION_H_
